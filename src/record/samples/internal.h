/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of perf events, recorded to a perf.data. samples.c is the source, attributes.c sets what
 * a sample contains, open.c opens the events, state.c writes the tasks and mappings that exist
 * before the first sample, pump.c copies records from the rings to the file.
 *
 * Each event has a descriptor per CPU, or, if tasks are sampled, per task and CPU. All descriptors
 * of a CPU write to one ring. Task records (fork, exit, mmap, comm) come from a dummy event, the
 * last one, which is enabled before the others: so each sample's task is known.
 */
#ifndef PANTRACE_RECORD_SAMPLES_INTERNAL_H
#define PANTRACE_RECORD_SAMPLES_INTERNAL_H

#include "base/hashmap.h"
#include "base/recording_file.h"
#include "kernel/bpf/perf_ring.h"
#include "record/perf_events.h"
#include "record/record.h"
#include "trace/perf/writer.h"

#define RING_MOST_KB ((u64)1 << 20) /* of a CPU */

/* Identifies the file of a mapping. */
struct sample_file {
	u32 major, minor;
	u64 inode;
};

struct sample_event {
	const struct perf_choice *choice; /* NULL: the dummy event for task records */
	const char *name;
	struct perf_event_attr attr;
	VECTOR(int) fds;
	VECTOR(u64) ids; /* of the descriptors */
	u64 kept, lost;
};

struct sample_ring {
	struct perf_ring ring;
	int cpu, fd; /* fd: event through which it was mapped */
};

struct sample_id {
	u64 id;
	u32 event;
};

struct samples {
	struct record_run *run;
	const struct record_request *request;
	struct arena arena;
	/* used to look up event names */
	struct type_store types;
	struct btf_source *btf;
	struct probe_env env;
	struct perf_events chosen;
	VECTOR(struct sample_event) events; /* the last one is the dummy event for task records */
	VECTOR(pid_t) threads; /* threads whose events are open */
	VECTOR(int) cgroups; /* descriptors of cgroup directories */
	VECTOR(struct sample_ring) rings;
	VECTOR(struct sample_id) ids; /* sorted, once all are open */
	struct sample_id last_id;
	bool only_user; /* this user may not sample the kernel */
	bool is_decided; /* another tracer's BPF program filters what is recorded */
	bool counts_lost; /* per event: PERF_FORMAT_LOST, Linux 6.0 */
	int epoll;
	/* the file */
	char *path;
	struct recording_file file;
	struct perf_writer *writer;
	struct hashmap build_ids; /* key: struct sample_file, those looked at already */
	struct hashmap files; /* mapped since: path -> struct mapped_file */
	u64 first_ns, last_ns; /* times of samples */
	u64 lost_records; /* as counted by the rings */
	u64 throttled;
};

static inline struct sample_event *samples_tracking(struct samples *s)
{
	return &vector_last(&s->events);
}

/* attributes.c: applies -F, -c, -g to the chosen events. Returns 0 or -errno with a diagnostic. */
int samples_set_attributes(struct samples *s);
/*
 * open.c: opens all descriptors and rings; enables only task records. Returns 0 or -errno with a
 * diagnostic.
 */
int samples_open(struct samples *s);
void samples_close(struct samples *s);
/* state.c: writes records of the kernel, its modules, tasks and their mappings. */
void samples_write_state(struct samples *s);
/* Writes the build-ids of the kernel and of the files noted as a feature section. */
void samples_write_build_ids(struct samples *s);
/* Notes a file that a process has mapped, and its build-id as long as the process is there. */
void samples_note_file(struct samples *s, pid_t pid, const char *path,
		       const struct sample_file *file);
/* pump.c: writes the contents of the rings. Returns the number of bytes. */
size_t samples_pump(struct samples *s);
/* Counts lost events per event, and writes records of them. */
void samples_count_lost(struct samples *s);

#endif
