/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of trace_dat: the file (trace_dat.c), its parts (contents.c), its pages (pages.c). */
#ifndef PANTRACE_TRACE_DAT_INTERNAL_H
#define PANTRACE_TRACE_DAT_INTERNAL_H

#include "base/cursor.h"
#include "trace/dat/trace_dat.h"
#include "trace/dat/writer.h"

/* A section or a chunk is unpacked into memory: more than this is not believed. */
#define TRACE_DAT_UNPACKED_MAX (1u << 29)
#define TRACE_DAT_PAGE_MAX     (16u << 20)

/* In version 6 the parts stand in this order, too. */
enum section_id {
	OPTION_DONE = 0,
	OPTION_DATE = 1,
	OPTION_CPUSTAT = 2,
	OPTION_BUFFER = 3,
	OPTION_TRACECLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_HOOK = 6,
	OPTION_OFFSET = 7,
	OPTION_CPUCOUNT = 8,
	OPTION_VERSION = 9,
	OPTION_PROCMAPS = 10,
	OPTION_TRACEID = 11,
	OPTION_TIME_SHIFT = 12,
	OPTION_GUEST = 13,
	OPTION_TSC2NSEC = 14,
	OPTION_STRINGS = 15,
	OPTION_HEADER_INFO = 16,
	OPTION_FTRACE_EVENTS = 17,
	OPTION_EVENT_FORMATS = 18,
	OPTION_KALLSYMS = 19,
	OPTION_PRINTK = 20,
	OPTION_CMDLINES = 21,
	OPTION_BUFFER_TEXT = 22,
};

enum codec { CODEC_NONE, CODEC_ZLIB, CODEC_ZSTD };

struct cpu_data {
	u32 cpu;
	u64 offset, size;
};

struct buffer {
	struct trace_dat_buffer shown;
	u32 page_size;
	VECTOR(struct cpu_data) cpus; /* that have data */
	VECTOR(u32) listed; /* all of them */
};

struct trace_dat {
	int fd;
	u64 len;
	bool was_cut; /* the file was cut short while it was read: told once */
	const char *path;
	struct diag *diag;
	struct dat_contents *keep; /* copies of its parts and options; NULL = nobody asked */
	u32 version, page_size;
	enum codec codec;
	struct page_layout layout;
	struct arena arena;
	const char *uname, *clock, *boot, *said; /* said: option VERSION; NULL = no such option */
	s64 date_ns, offset_ns; /* of the options DATE and OFFSET */
	s64 realtime_ns; /* of the option VERSION, if our recorder wrote it */
	bool has_date, has_realtime;
	const char *latency; /* the text of a latency trace; NULL = none */
	VECTOR(struct buffer) buffers;
	struct event_table *events;
	struct task_names *tasks;
	struct ksyms *symbols;
	struct string_table *strings;
};

/* The text of a latency trace, in the section at this place (version 7). */
int trace_dat_read_latency(struct trace_dat *t, u64 offset);
/*
 * A copy of n bytes of the file, malloc'ed: others may cut it short or write over it. NULL with a
 * diagnostic.
 */
u8 *trace_dat_read(struct trace_dat *t, u64 offset, u64 n);
/* n bytes into a buffer; false with a diagnostic. */
bool trace_dat_read_into(struct trace_dat *t, u64 offset, void *to, u64 n);
/* Exactly to_len bytes, or false. */
bool trace_dat_unpack(const struct trace_dat *t, const void *from, size_t from_len, void *to,
		      size_t to_len);

/* Says so; -EINVAL. */
int trace_dat_damaged(struct trace_dat *t, const char *what);
/* OPTION_HEADER_INFO to OPTION_CMDLINES are such parts. 0 or -errno with a diagnostic. */
bool trace_dat_has_part(u16 id);
int trace_dat_read_part(struct trace_dat *t, u16 id, struct cursor *c);
/* Options that are text in both versions; others are ignored. */
void trace_dat_text_option(struct trace_dat *t, u16 id, const char *data, size_t size);

#endif
