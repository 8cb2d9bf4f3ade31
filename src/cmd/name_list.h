/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in the order of the alphabet. They are sorted while they come: who tells them mostly waits for the kernel. */
#ifndef PANTRACE_CMD_NAME_LIST_H
#define PANTRACE_CMD_NAME_LIST_H

#include "base/arena.h"
#include "base/vector.h"

struct listed_name {
	u64 head[2]; /* its first bytes behind what all begin with, as big-endian numbers: nearly always tell two apart */
	const char *text;
};

struct name_list {
	const char *prefix; /* that all begin with, to be sorted fast; borrowed */
	size_t skip; /* its length; 0 once a name begins otherwise */
	size_t sorted; /* in runs */
	VECTOR(struct listed_name) names;
	struct arena arena;
};

#define NAME_LIST_INIT(prefix_)                                                   \
	{                                                                         \
		.prefix = (prefix_), .skip = strlen(prefix_), .arena = ARENA_INIT \
	}

/* Copies the name. */
void name_list_add(struct name_list *l, const char *name);
/* All are there: l->names is sorted from here on, without those that were added twice. */
void name_list_finish(struct name_list *l);
void name_list_release(struct name_list *l);

#endif
