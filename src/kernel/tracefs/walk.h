/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the directories of a trace buffer and appends to its list files. Paths are absolute; a
 * directory that cannot be read counts as empty.
 */
#ifndef PANTRACE_KERNEL_TRACEFS_WALK_H
#define PANTRACE_KERNEL_TRACEFS_WALK_H

#include "base/base.h"

/* The names of the folders in a folder, in no order. */
void tracefs_each_folder(const char *path, void (*fn)(void *arg, const char *name), void *arg);
/*
 * The events that a buffer has: events/SYSTEM/EVENT below its directory; also ftrace's own records.
 */
void tracefs_each_event_folder(const char *directory,
			       void (*fn)(void *arg, const char *system, const char *event),
			       void *arg);
/* Is the word one of those in a file: of available_tracers? */
bool tracefs_lists(const char *directory, const char *file, const char *word);
/* Writes to the end of a file: a command. 0 or -errno. */
int tracefs_append(const char *directory, const char *file, const char *text);

#endif
