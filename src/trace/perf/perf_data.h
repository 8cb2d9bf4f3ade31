/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.data, the recordings of perf record: a file, or what it writes to a pipe
 * (tools/perf/Documentation/perf.data-file-format.txt of Linux). Little endian, compressed or not.
 *
 *	"PERFILE2" u64 size, then a pipe's records; of a file (size 104):
 *	    u64 size of an attr, {u64 offset, size} of attrs, data and event types, 256 bits of
 *	    features
 *	attrs: {struct perf_event_attr, {u64 offset, size} of its ids}
 *	behind the data, for each feature: {u64 offset, size}
 *	data: {u32 type, u16 misc, u16 size}, as the kernel writes them (perf_event_open(2)); types
 *	    from 64 on are perf's own. Of a pipe attrs, features and formats are such records, too.
 *
 * Records of a CPU are in order, those of several are not. "Finished round" says that nothing older
 * comes than what was there at the one before: perf_data_next() holds records back until then, and
 * somewhat longer, as it is not always so (order.c).
 */
#ifndef PANTRACE_TRACE_PERF_PERF_DATA_H
#define PANTRACE_TRACE_PERF_PERF_DATA_H

#include <linux/perf_event.h>

#include "base/cursor.h"
#include "base/diag.h"
#include "base/vector.h"
#include "trace/dat/trace_dat.h"

/* What an event that was recorded is. Attrs of older and newer kernels: what lacks is 0. */
struct perf_kind {
	struct perf_event_attr attr;
	const char *name; /* "sched:sched_switch", "cpu-clock"; never NULL once records are read */
};

struct perf_build_id {
	u8 bytes[20];
	u8 size; /* 0 = none */
};

/* The GNU build-id among the notes of a file of sysfs; size 0 = none. */
struct perf_build_id perf_build_id_of_notes(const char *path);

/* A file that was mapped, as features tell of it. */
struct perf_file_id {
	const char *path;
	struct perf_build_id id;
};

struct perf_record {
	u32 type;
	u16 misc;
	u32 kind; /* index */
	u64 time; /* 0 = it has none */
	struct cursor body; /* what is behind the header, without the fields of sample_id_all */
	/* of those */
	u32 pid, tid;
	bool has_task;
};

struct perf_data;

bool perf_data_is(const void *head, size_t len);
/* Reads what stands before the events. 0 or -errno with a diagnostic. */
int perf_data_open(const char *path, struct diag *d, struct perf_data **ret);
void perf_data_close(struct perf_data *p);
/* Before the first record: in the order of perf script, which believes "finished round". */
void perf_data_as_perf(struct perf_data *p);
/*
 * The next record of the kernel, by time; valid until the next call. False: the end, or damage,
 * which is told once.
 */
bool perf_data_next(struct perf_data *p, struct perf_record *ret);
/* Records so far that came after later ones had gone. */
u64 perf_data_late(const struct perf_data *p);

size_t perf_data_kinds(const struct perf_data *p);
struct perf_kind *perf_data_kind(const struct perf_data *p, size_t i);
/* Formats of tracepoints; NULL = none were recorded. */
struct trace_dat *perf_data_formats(const struct perf_data *p);
const char *perf_data_host(const struct perf_data *p); /* NULL = not said */
/* The build-id of a file by its path, as perf wrote it at the end; NULL = none. */
const struct perf_build_id *perf_data_build_id(const struct perf_data *p, const char *path);
/*
 * The recorded kernel's functions as text of kallsyms, malloc'ed, as ksyms_new() takes it; NULL =
 * not in the file, or damaged.
 */
char *perf_data_kernel_symbols(const struct perf_data *p, size_t *ret_len);
/* Which clock its times are of: CLOCK_MONOTONIC ...; -1: the kernel's own for perf. */
int perf_data_clock(const struct perf_data *p);
/* The time of day when that clock showed *ret_clock_ns. False: it does not say. */
bool perf_data_clock_at(const struct perf_data *p, u64 *ret_clock_ns, u64 *ret_day_ns);
/* When the file was last written, since the epoch. */
s64 perf_data_written(const struct perf_data *p);
/* What was left out so far, said in d: records of unknown types, hardware traces. */
void perf_data_left_out(const struct perf_data *p, struct diag *d);

/* ---- sample.c ---- */

struct perf_sample {
	u64 ip, addr, time, id, period, weight, data_src, transaction, phys_addr, cgroup;
	u32 pid, tid, cpu;
	u32 raw_size;
	const u8 *raw; /* NULL = none */
	const u8 *chain; /* u64 each; may be unaligned */
	u64 nr_chain;
	/* of the thread outside of the kernel: those of attr.sample_regs_user; NULL = none */
	const u8 *user_registers;
	const u8 *user_stack; /* from the stack pointer on; NULL = none */
	u64 user_stack_size; /* so much of it is the stack's */
};

/* False: it does not fit into its record. */
bool perf_sample_parse(const struct perf_event_attr *attr, struct cursor c,
		       struct perf_sample *ret);
/*
 * Fields of sample_id_all at the end of other records, which are cut off from *c. ret: time, id,
 * pid, tid, cpu; 0 where there is none. False: they do not fit.
 */
bool perf_sample_id_parse(u64 sample_type, struct cursor *c, struct perf_sample *ret);
/* Where the id of a sample lies, in bytes from its begin; -1: it has none. */
int perf_sample_id_at(u64 sample_type);

/* ---- name.c ---- */

/* "cpu-clock" and the like; NULL: it has no name of its own. */
const char *perf_kind_name(const struct perf_event_attr *attr);

#endif
