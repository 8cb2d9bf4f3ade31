/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_LANG_CHECK_THREAD_LOCAL_H
#define PANTRACE_LANG_CHECK_THREAD_LOCAL_H

#include "lang/syntax/ast.h"

/* How many threads can have a value at the same time. */
#define THREAD_LOCAL_MAX 65536u

/* self.name, which stands at `at`. */
struct expr *thread_local_element(struct arena *a, const char *name, struct span at);
bool thread_local_is(const char *map);
/* If the script has such variables, the probes that clean them up. */
void thread_locals_add_probes(struct arena *arena, struct ast *ast);

#endif
