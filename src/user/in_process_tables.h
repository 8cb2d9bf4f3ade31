/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of one process (pantrace/aggregate.h), and what of them was taken already. */
#ifndef PANTRACE_USER_IN_PROCESS_TABLES_H
#define PANTRACE_USER_IN_PROCESS_TABLES_H

#include <pantrace/aggregate.h>

#include "base/shared_range.h"
#include "user/in_process_session.h"

/*
 * What a record had when its map was last taken. Extremes: one a stripe, of the epoch that ended.
 */
struct aggregate_base {
	u64 a, b;
};

struct aggregate_source {
	/* as it was when it was checked: what is shared may change */
	struct pantrace_aggregates header;
	struct pantrace_aggregates *shm;
	struct aggregate_base *base[PANTRACE_AGGREGATE_MAPS];
	u64 epoch[PANTRACE_AGGREGATE_MAPS];
	char *name; /* of the file, or NULL */
	ino_t inode;
	uid_t owner;
	pid_t pid; /* in its namespace */
	u64 pid_namespace;
	int pidfd; /* -1: its end is not seen */
	bool has_ended;
	struct shared_range range;
};

/*
 * Takes a copy of fd. 0; -EAGAIN: not made yet; -EBADMSG: not these maps, or damaged; -ENOENT: of
 * another session.
 */
int aggregates_source_open(int fd, const struct aggregates_map *maps, u32 nr_maps,
			   const char *session, struct aggregate_source **ret);
void aggregates_source_close(struct aggregate_source *s);
bool aggregates_source_has_ended(struct aggregate_source *s);
/*
 * Calls fn for each key that was counted since the map was last taken. take: it is taken now. What
 * a file that was cut short no longer has is not among them.
 */
void aggregates_source_each(struct aggregate_source *s, u32 map, bool take,
			    void (*fn)(void *arg, const void *key,
				       const struct aggregates_element *element),
			    void *arg);
void aggregates_source_forget(struct aggregate_source *s, u32 map, const void *key);
/* Whether a is the smaller (greater), as the kind has it. */
bool aggregates_better(u32 kind, u64 a, u64 b);

#endif
