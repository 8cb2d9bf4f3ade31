/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recordings that a script runs over: the compiler asks them for events and formats instead of
 * the kernel, and the engine reads one event after the other.
 */
#ifndef PANTRACE_ENGINE_RECORDED_SOURCE_H
#define PANTRACE_ENGINE_RECORDED_SOURCE_H

#include "probe/probe.h"
#include "trace/recording.h"

struct live_source; /* engine/recorded/live.h */
struct recorded_source;
struct loop; /* engine/event_loop.h */

/* 0, or -errno with a diagnostic. */
int recorded_source_open(const struct string_list *paths, struct diag *d,
			 struct recorded_source **ret);
/* The same for the running kernel (live.h). */
struct recorded_source *recorded_source_of_kernel(struct kernel *k);
void recorded_source_close(struct recorded_source *s);
/* For probe_env.recorded; its arg is the source. */
const struct probe_recorded *recorded_source_events(struct recorded_source *s);
struct recordings *recorded_source_recordings(struct recorded_source *s);
struct live_source *recorded_source_live(struct recorded_source *s); /* NULL: it reads files */

/* run.c: runs the script of l->e over env->recorded. Returns 0, or -errno with a diagnostic. */
int recorded_run(struct loop *l);

#endif
