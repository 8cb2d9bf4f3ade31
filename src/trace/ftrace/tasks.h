/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of threads and their processes, as the kernel remembers them for its traces
 * (saved_cmdlines, saved_tgids): a name that a thread had when one of its events was recorded.
 * Escaped for a terminal.
 */
#ifndef PANTRACE_TRACE_FTRACE_TASKS_H
#define PANTRACE_TRACE_FTRACE_TASKS_H

#include "base/base.h"

struct task_names;

struct task_names *task_names_new(bool raw_strings);
void task_names_release(struct task_names *t);
/* Reads "PID NAME" lines, "PID TGID" lines. Later ones replace. */
void task_names_add_cmdlines(struct task_names *t, const char *text);
void task_names_add_tgids(struct task_names *t, const char *text);
void task_names_set(struct task_names *t, s32 pid, const char *comm);
void task_names_set_tgid(struct task_names *t, s32 pid, long tgid);
/*
 * Of a running kernel: the files of this directory (tracefs) are read again when a pid is asked for
 * that is unknown, at most ten times a second.
 */
void task_names_follow(struct task_names *t, const char *tracefs);
void task_names_reload(struct task_names *t);
/* "<idle>" for 0, "<...>" if unknown. *ret_len may be NULL. */
const char *task_name(struct task_names *t, s32 pid, size_t *ret_len);
/* Whether any was added. */
bool task_names_have_tgids(const struct task_names *t);
/* 0 = unknown. */
s32 task_tgid(struct task_names *t, s32 pid);

#endif
