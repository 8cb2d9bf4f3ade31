/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that run in the traced program itself: those of events of libpantrace whose body does nothing
 * but count into maps. Their bytecode is that of lib/vm.h, and an event costs no trap. The engine adds up
 * what the programs have counted when a map is read.
 */
#ifndef PANTRACE_LANG_IN_PROCESS_H
#define PANTRACE_LANG_IN_PROCESS_H

#include "lang/ast.h"

/* Marks the probes of the script that can (probe.in_process). Before names and types are known. */
void in_process_choose(struct arena *arena, struct ast *ast);

#endif
