/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of xentrace (Xen 4.6 to 4.17 and later): pieces of the trace buffers of all CPUs, in the
 * order they were read. Little endian, words of 32 bits (xen/include/public/trace.h):
 *
 *	file	= piece...
 *	piece	= cpu_change, then the bytes of that CPU's records
 *	record	= header, [TSC: low word, high word], 0 to 7 words of data
 *	header	= bits 0-27 event, 28-30 words of data, 31 has a TSC
 *
 *	cpu_change (0x1f003)	CPU, number of bytes
 *	lost_records (0x1f001)	how many, domain and virtual CPU that run now (16 bits each),
 *				TSC of the first one
 *	wrap_buffer (0x1f002)	fills the end of a buffer
 *
 * A record without a TSC has the time of the one before it.
 */
#ifndef PANTRACE_TRACE_XEN_FILE_H
#define PANTRACE_TRACE_XEN_FILE_H

#include "base/diag.h"

#define XEN_WORDS_MAX 7

enum {
	XEN_LOST_RECORDS = 0x1f001,
	XEN_WRAP_BUFFER = 0x1f002,
	XEN_CPU_CHANGE = 0x1f003,
	XEN_LOST_RECORDS_END = 0x1f032, /* in no file: see xen_file_next() */
	XEN_RUNSTATE_CHANGE = 0x21001, /* bits 4-7: the new state, 8-11: the old one */
	XEN_CONTINUE_RUNNING = 0x21002,
	XEN_64 = 0x100, /* many events: with addresses of 64 bits */
};

struct xen_record {
	u32 event; /* 28 bits */
	u32 nr_words;
	u32 words[XEN_WORDS_MAX];
	u64 tsc;
	u32 cpu;
	/* what the CPU runs, by its last runstate_change; unknown before that, and after losses */
	bool has_vcpu;
	u16 domain, vcpu;
	u64 lost; /* lost_records: how many */
};

/* Both states are of enum xen_state. */
static inline bool xen_is_runstate_change(u32 event)
{
	return (event & ~0xff0u) == XEN_RUNSTATE_CHANGE;
}

enum xen_state { XEN_RUNNING, XEN_RUNNABLE, XEN_BLOCKED, XEN_OFFLINE, XEN_STATES };

#define XEN_IDLE_DOMAIN 0x7fff

/* A thread number for a virtual CPU; 0 = of the idle domain, as in the kernel's events. */
static inline s64 xen_tid(u32 domain, u32 vcpu)
{
	return domain == XEN_IDLE_DOMAIN ? 0 : ((s64)domain << 16 | (vcpu & 0xffff)) + 1;
}

/* "d1v0"; cut to the size. */
static inline void xen_name(u32 domain, u32 vcpu, char *ret, size_t size)
{
	if (domain == XEN_IDLE_DOMAIN)
		snprintf(ret, size, "d[IDLE]v%u", vcpu);
	else
		snprintf(ret, size, "d%uv%u", domain, vcpu);
}

struct xen_file;

bool xen_file_is(const void *head, size_t len);
/* 0 or -errno with a diagnostic. */
int xen_file_open(const char *path, struct diag *d, struct xen_file **ret);
/*
 * The next record in time order, without cpu_change and wrap_buffer. lost_records is placed where
 * the loss began, and lost_records_end where it was written: in between, what the CPU did is
 * unknown. False: the end.
 */
bool xen_file_next(struct xen_file *f, struct xen_record *ret);
/*
 * Calls fn for all records, CPU by CPU, until it returns other than 0; returns that. Independent of
 * xen_file_next(). What a CPU runs is not filled in.
 */
int xen_file_each(struct xen_file *f, int (*fn)(void *arg, const struct xen_record *r), void *arg);
/* Reports damage in what was read so far. */
void xen_file_damage(const struct xen_file *f, struct diag *d);
void xen_file_close(struct xen_file *f);

#endif
