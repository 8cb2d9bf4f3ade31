/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in alphabetical order, each once. */
#ifndef PANTRACE_CMD_LIST_NAME_LIST_H
#define PANTRACE_CMD_LIST_NAME_LIST_H

#include "base/arena.h"
#include "base/vector.h"

struct name_list {
	VECTOR(const char *) names;
	struct arena arena;
};

/* Copies the name. */
void name_list_add(struct name_list *l, const char *name);
/* Sorts l->names and removes duplicates. Called when all are added. */
void name_list_finish(struct name_list *l);
void name_list_release(struct name_list *l);

#endif
