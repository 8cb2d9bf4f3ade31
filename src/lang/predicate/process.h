/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conditions on events of programs, compiled to the bytecode of lib/vm.h, which decides there. */
#ifndef PANTRACE_LANG_PREDICATE_PROCESS_H
#define PANTRACE_LANG_PREDICATE_PROCESS_H

#include "user/filter.h"

extern const struct user_filter_compiler predicate_for_processes;

#endif
