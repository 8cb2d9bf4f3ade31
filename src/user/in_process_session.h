/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that programs count by themselves (pantrace/aggregate.h), as the tool sees them: a session with maps and
 * programs is described, the tables of all processes that take part are found, read and added up.
 *
 * The tables are other processes' memory, and may hold anything: a table that is not what was asked for is left
 * out and told, and numbers in it are only ever numbers.
 */
#ifndef PANTRACE_USER_IN_PROCESS_SESSION_H
#define PANTRACE_USER_IN_PROCESS_SESSION_H

#include <sys/types.h>

#include "base/diag.h"
#include "base/vector.h"

struct counting_map {
	u32 kind;     /* enum pantrace_aggregate_kind */
	u32 key_size; /* bytes */
	u32 entries;
};

struct counting_program {
	const char *event; /* "provider:name" */
	u64 hash;	   /* of names and fields (struct user_event) */
	const void *image; /* lib/vm.h */
	size_t size;
};

struct counting_options {
	const struct counting_map *maps;
	u32 nr_maps;
	const struct counting_program *programs;
	u32 nr_programs;
	pid_t pid;     /* 0 = all processes, those that start later, too */
	bool is_child; /* pid has not begun */
	bool counts_pids; /* only where they are those that we know: in our pid namespace */
};

struct counting;

/* 0 or -errno with a diagnostic. From now on events are counted. */
int counting_begin(const struct counting_options *options, struct diag *d, struct counting **ret);
/* The programs stop counting; what they have counted can still be read. */
void counting_stop(struct counting *c);
void counting_end(struct counting *c);
/* For poll(): readable when counting_refresh() has something to do. */
int counting_fd(const struct counting *c);
/* Takes in new processes and what those that have ended leave. */
void counting_refresh(struct counting *c);

/* What the keys have now. Sums: a; pairs: a = sum, b = how many; extremes: a. */
struct counting_element {
	u64 a, b;
	bool is_zero; /* zeroed, and nothing has come since */
};

struct counting_elements {
	VECTOR(struct counting_element) values;
	u8 *keys; /* key_size each */
	u32 key_size;
};

enum counting_take {
	COUNTING_KEEP,
	COUNTING_CLEAR, /* in the same step: what comes after is in the next reading, what came before is not */
	COUNTING_ZERO,	/* likewise; the keys stay */
};

void counting_read(struct counting *c, u32 map, enum counting_take take, struct counting_elements *ret);
void counting_elements_release(struct counting_elements *e);
/* What a key has now is no more. */
void counting_forget(struct counting *c, u32 map, const void *key);

struct counting_losses {
	u64 full;	/* updates that found no room for their key */
	u64 events;	/* events that found no table, as in the first moment of a child */
	u64 mismatched; /* events of the right name with other fields */
	u32 damaged;	/* processes whose table is not what was asked for */
	u32 refused; /* tables whose owner is not the user of the process that they name */
};
struct counting_losses counting_losses(const struct counting *c);

#endif
