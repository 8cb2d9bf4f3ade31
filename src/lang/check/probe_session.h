/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions (Linux 6.10 for functions of the kernel, 6.13 for those of programs): a probe on the
 * entries of functions and one on their returns become one program and one link. The kernel runs it
 * at both, and it asks bpf_session_is_return() which it is.
 */
#ifndef PANTRACE_LANG_CHECK_PROBE_SESSION_H
#define PANTRACE_LANG_CHECK_PROBE_SESSION_H

#include "lang/check/check.h"

/* After checking: joins the units that can be joined. The others stay two programs. */
void session_join_units(struct check *c);

#endif
