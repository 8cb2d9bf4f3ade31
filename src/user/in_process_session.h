/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that programs count by themselves (pantrace/aggregate.h), as the tool sees them: a session
 * with maps and programs is described, the tables of all processes that take part are found, read
 * and added up.
 *
 * The tables are other processes' memory, and may hold anything: a table that is not what was asked
 * for is left out and told, and numbers in it are only ever numbers.
 */
#ifndef PANTRACE_USER_IN_PROCESS_SESSION_H
#define PANTRACE_USER_IN_PROCESS_SESSION_H

#include <sys/types.h>

#include "base/diag.h"
#include "base/vector.h"

struct aggregates_map {
	u32 kind; /* enum pantrace_aggregate_kind */
	u32 key_size; /* bytes */
	u32 entries;
};

struct aggregates_program {
	const char *event; /* "provider:name" */
	u64 hash; /* of names and fields (struct user_event) */
	const void *image; /* lib/vm.h */
	size_t size;
};

struct aggregates_options {
	const struct aggregates_map *maps;
	u32 nr_maps;
	const struct aggregates_program *programs;
	u32 nr_programs;
	pid_t pid; /* 0 = all processes, those that start later, too */
	bool is_child; /* pid has not begun */
	bool counts_pids; /* only where they are those that we know: in our pid namespace */
};

struct aggregates;

/* 0 or -errno with a diagnostic. From now on events are counted. */
int aggregates_begin(const struct aggregates_options *options, struct diag *d,
		     struct aggregates **ret);
/* The programs stop counting; what they have counted can still be read. */
void aggregates_stop(struct aggregates *c);
void aggregates_end(struct aggregates *c);
/* For poll(): readable when counting_refresh() has something to do. */
int aggregates_fd(const struct aggregates *c);
/* Takes in new processes and what those that have ended leave. */
void aggregates_refresh(struct aggregates *c);

/* What the keys have now. Sums: a; pairs: a = sum, b = how many; extremes: a. */
struct aggregates_element {
	u64 a, b;
	bool is_zero; /* zeroed, and nothing has come since */
};

struct aggregates_elements {
	VECTOR(struct aggregates_element) values;
	u8 *keys; /* key_size each */
	u32 key_size;
};

enum aggregates_take {
	COUNTING_KEEP,
	/* in the same step: what comes after is in the next reading, what came before is not */
	COUNTING_CLEAR,
	COUNTING_ZERO, /* likewise; the keys stay */
};

void aggregates_read(struct aggregates *c, u32 map, enum aggregates_take take,
		     struct aggregates_elements *ret);
void aggregates_elements_release(struct aggregates_elements *e);
/* What a key has now is no more. */
void aggregates_forget(struct aggregates *c, u32 map, const void *key);

struct aggregates_losses {
	u64 full; /* updates that found no room for their key */
	u64 events; /* events that found no table, as in the first moment of a child */
	u64 mismatched; /* events of the right name with other fields */
	u32 damaged; /* processes whose table is not what was asked for */
	u32 refused; /* tables whose owner is not the user of the process that they name */
};
struct aggregates_losses aggregates_losses(const struct aggregates *c);

#endif
