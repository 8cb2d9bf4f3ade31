/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of perf events, into a perf.data. samples.c is the row of the source, attributes.c says
 * what a sample holds, open.c opens the events, state.c writes what was there before, pump.c moves
 * records from the rings into the file.
 *
 * Each event has a descriptor for each CPU, and, if tasks are sampled, for each of these. All
 * descriptors of a CPU write into one ring. What tasks do (start, end, map, get a name) is told by
 * an event of its own, the last one, which counts nothing and is on before any other: so no sample
 * is older than what is known of its task.
 */
#ifndef PANTRACE_RECORD_SAMPLES_INTERNAL_H
#define PANTRACE_RECORD_SAMPLES_INTERNAL_H

#include "base/hashmap.h"
#include "kernel/bpf/perf_ring.h"
#include "record/perf_events.h"
#include "record/record.h"
#include "trace/perf/writer.h"

/* Which file a mapping is of. */
struct sample_file {
	u32 major, minor;
	u64 inode;
};

struct sample_event {
	const struct perf_choice *choice; /* NULL: the one that tells of tasks */
	const char *name;
	struct perf_event_attr attr;
	VECTOR(int) fds;
	VECTOR(u64) ids; /* of the descriptors */
	u64 kept, lost;
};

struct sample_ring {
	struct perf_ring ring;
	int cpu, fd; /* fd: of the event that it was mapped of */
};

struct sample_id {
	u64 id;
	u32 event;
};

struct samples {
	struct record_run *run;
	const struct record_request *request;
	struct arena arena;
	/* what names of events are asked of */
	struct type_store types;
	struct btf_source *btf;
	struct probe_env env;
	struct perf_events chosen;
	VECTOR(struct sample_event) events; /* the last one tells of tasks */
	VECTOR(pid_t) threads; /* whose events are open */
	VECTOR(int) cgroups; /* descriptors of their directories */
	VECTOR(struct sample_ring) rings;
	VECTOR(struct sample_id) ids; /* rising, once all are open */
	struct sample_id last_id;
	bool only_user; /* this user may not sample the kernel */
	bool is_decided; /* another tracer's program decides what is recorded */
	bool counts_lost; /* by event: PERF_FORMAT_LOST, Linux 6.0 */
	bool has_build_ids; /* in records of mappings: Linux 5.12 */
	int epoll;
	/* the file */
	char *path;
	int fd;
	struct perf_writer *writer;
	struct hashmap build_ids; /* by struct sample_file: those that were looked for */
	struct hashmap files; /* mapped ones, whose build-ids the kernel did not say: by path */
	u64 first_ns, last_ns; /* of samples */
	u64 lost_records; /* as the rings tell */
	u64 throttled;
};

static inline struct sample_event *samples_tracking(struct samples *s)
{
	return &vector_last(&s->events);
}

/* attributes.c: what -F, -c, -g make of the chosen events. 0 or -errno with a diagnostic. */
int samples_set_attributes(struct samples *s);
/* open.c: all descriptors and rings. Only tasks are told of yet. 0 or -errno with a diagnostic. */
int samples_open(struct samples *s);
void samples_close(struct samples *s);
/* state.c: what was there before: the kernel, its modules, tasks and what they had mapped. */
void samples_write_state(struct samples *s);
/* Build-ids of the kernel and of files whose records say none, as a feature of the file. */
void samples_write_build_ids(struct samples *s);
/* A mapped file whose build-id the kernel did not say. */
void samples_note_file(struct samples *s, const char *path, const struct sample_file *file);
/* pump.c: writes what the rings hold. Bytes. */
size_t samples_pump(struct samples *s);
/* How many were lost, by event, and the records that say so. */
void samples_count_lost(struct samples *s);

#endif
