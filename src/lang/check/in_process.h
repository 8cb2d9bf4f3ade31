/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that run in the traced program itself: those of events of libpantrace whose body does
 * nothing but count into maps. Their bytecode is that of lib/vm.h, and an event costs no trap. The
 * engine adds up what the programs have counted when a map is read.
 */
#ifndef PANTRACE_LANG_CHECK_IN_PROCESS_H
#define PANTRACE_LANG_CHECK_IN_PROCESS_H

#include "lang/syntax/ast.h"

/*
 * Marks the probes of the script that can run there (probe.in_process). Called before names and
 * types are known.
 */
void in_process_choose(struct ast *ast);
/*
 * For a probe that must run in the kernel: the part of its predicate that the program can evaluate,
 * as a probe whose body is `return 1`; NULL: none. Events for which it is false cost no trap.
 */
struct probe *in_process_filter(struct arena *arena, const struct probe *p);

#endif
