/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace.dat, the recordings of trace-cmd and KernelShark (trace-cmd's
 * Documentation/trace-cmd/trace-cmd.dat.v7.5.txt, .v6.5.txt). Reads versions 6 and 7, 64-bit little
 * endian, uncompressed, zlib or zstd.
 *
 *	17 08 44 "tracing" VERSION\0 u8 endian u8 long_size u32 page_size
 *	v6: header_page, header_event, ftrace formats, event formats, kallsyms, printk, cmdlines,
 *	u32 cpus, options, per-CPU data v7: compression\0 version\0 u64 offset of the first options;
 *	everything else in sections:
 *	    u16 id, u16 flags (1 = compressed), u32 name, u64 size
 *	    options: {u16 id, u32 size, data}*, the last one DONE (0) with the offset of the next
 *	    options section
 *	A compressed section: {u32 compressed, u32 size, data}*; a CPU's pages: u32 chunks, then the
 *	same.
 *
 * The file is mapped; pages are unpacked a chunk at a time. What a damaged file says is checked
 * against its length.
 */
#ifndef PANTRACE_TRACE_DAT_TRACE_DAT_H
#define PANTRACE_TRACE_DAT_TRACE_DAT_H

#include "base/diag.h"
#include "trace/ring/page_merge.h"
#include "trace/ftrace/trace_text.h"

struct trace_dat;

struct trace_dat_buffer {
	const char *name; /* of the instance; "" = top */
	const char *clock; /* "mono"; "" = unknown */
	u32 cpus; /* that have data */
	u64 bytes; /* in the file */
};

/* True if these first bytes are of such a file. */
bool trace_dat_is(const void *data, size_t len);
/* Diagnostics name the file. 0 or -errno. */
int trace_dat_open(const char *path, struct diag *d, struct trace_dat **ret);
/* The same; *keep, which is initialised, gets what the file says besides its pages. */
struct dat_contents;
int trace_dat_open_whole(const char *path, struct dat_contents *keep, struct diag *d,
			 struct trace_dat **ret);
/*
 * perf's tracing data: the formats and names that a trace.dat begins with, and no events. path: for
 * diagnostics.
 */
int trace_dat_formats(const void *data, size_t size, const char *path, struct diag *d,
		      struct trace_dat **ret);
void trace_dat_close(struct trace_dat *t);
/* "Linux HOST RELEASE MACHINE"; "" = not recorded */
const char *trace_dat_uname(const struct trace_dat *t);
/* What is to be added to all times (trace-cmd's --ts-offset); 0 = nothing. */
s64 trace_dat_offset(const struct trace_dat *t);
/*
 * What is to be added to times of this buffer to have them since the epoch (trace-cmd's --date).
 * False: it does not say.
 */
bool trace_dat_date(const struct trace_dat *t, size_t buffer, s64 *ret_ns);
/*
 * What is to be added to times of the clock mono to have them since the epoch, as our own recorder
 * saw it. False: it does not say.
 */
bool trace_dat_realtime(const struct trace_dat *t, s64 *ret_ns);
/* What stands before that number, in the text of the option VERSION, which others show. */
#define TRACE_DAT_REALTIME "CLOCK_REALTIME - CLOCK_MONOTONIC = "
/*
 * What is to be added to times of a clock, which counts nanoseconds, to have them on the clock
 * mono, as our own recorder saw it. False: it does not say.
 */
bool trace_dat_monotonic(const struct trace_dat *t, const char *clock, s64 *ret_ns);
/* How the text of the option VERSION says it: the clock's name, and a number s64. */
#define TRACE_DAT_MONOTONIC "CLOCK_MONOTONIC - trace clock %s = %" PRId64
/* The number that the kernel gave the boot it was recorded in; "" = it does not say. */
const char *trace_dat_boot(const struct trace_dat *t);
#define TRACE_DAT_BOOT "boot "
u32 trace_dat_version(const struct trace_dat *t); /* 6 or 7 */
bool trace_dat_is_packed(const struct trace_dat *t); /* compressed */
size_t trace_dat_buffers(const struct trace_dat *t);
/* The CPUs that the file lists for a buffer, also those without data. */
const u32 *trace_dat_cpus(const struct trace_dat *t, size_t buffer, u32 *ret_count);
struct page_layout trace_dat_layout(const struct trace_dat *t, size_t buffer);
const struct trace_dat_buffer *trace_dat_buffer(const struct trace_dat *t, size_t i);
/*
 * The text that the kernel printed for a latency tracer (trace/ftrace/latency_trace.h); NULL =
 * none. There are no events then.
 */
const char *trace_dat_latency(const struct trace_dat *t);
/*
 * For printing: events, names of threads, symbols and strings of the recorded kernel. They belong
 * to the file.
 */
void trace_dat_text(struct trace_dat *t, struct trace_text *ret);
/*
 * Events of a buffer by time; several may be read at once. page_merge_release() ends it, before the
 * file is closed.
 */
int trace_dat_events(struct trace_dat *t, size_t buffer, struct page_merge *ret);

#endif
