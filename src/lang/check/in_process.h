/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that run in the traced program itself: those of events of libpantrace whose body does
 * nothing but count into maps. Their bytecode is that of lib/vm.h, and an event costs no trap. The
 * engine adds up what the programs have counted when a map is read.
 */
#ifndef PANTRACE_LANG_CHECK_IN_PROCESS_H
#define PANTRACE_LANG_CHECK_IN_PROCESS_H

#include "lang/syntax/ast.h"

/* Marks the probes of the script that can (probe.in_process). Before names and types are known. */
void in_process_choose(struct ast *ast);
/*
 * A probe that must run in the kernel: what the program can tell of its predicate, as a probe whose
 * body is `return 1`; NULL: nothing. An event for which it says no costs no trap.
 */
struct probe *in_process_filter(struct arena *arena, const struct probe *p);

#endif
