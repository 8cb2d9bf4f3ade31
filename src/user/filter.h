/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Predicates that run in the traced program, as this room needs them: whoever begins sessions
 * passes their compiler down (lang/predicate/process.h).
 */
#ifndef PANTRACE_USER_FILTER_H
#define PANTRACE_USER_FILTER_H

#include "base/diag.h"
#include "base/strbuf.h"

struct user_filter_compiler {
	/*
	 * Appends the line "filter PROVIDER:NAME HEX HASH" (pantrace/protocol.h) of PREDICATE for
	 * the event that LINE describes ("event ...", as a program's answer to list has it). 0,
	 * or -errno with a diagnostic at its place: unknown field, types that do not fit, what only
	 * the kernel could do; -EBADMSG: LINE is none.
	 */
	int (*line)(const char *line, const char *predicate, struct diag *diag, struct strbuf *ret);
	/*
	 * Appends such a line for each event that one of the globs names in the programs that run
	 * now, for each of its layouts. LATER: others will ask (user/announce.h), and none is fine.
	 * -ENOENT with a diagnostic if there is none.
	 */
	int (*lines)(const char *const *globs, u32 nr_globs, const char *predicate, bool later,
		     struct diag *diag, struct strbuf *ret);
};

#endif
