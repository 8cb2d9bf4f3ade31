/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes as people define them for ftrace (Documentation/trace/kprobetrace.rst, uprobetracer.rst),
 * and a little more freely:
 *
 *	p:[NAME] [MODULE:]FUNCTION[+OFFSET] [ARG...]	kernel; the NAME may be left out, also the
 *							"p:"
 *	r[MAX]:[NAME] [MODULE:]FUNCTION [ARG...]
 *	p:[NAME] FILE:FUNCTION[+OFFSET] [ARG...]	user; FILE is a path, a program in $PATH or
 *							a library's name
 *	p:[NAME] FILE:0xOFFSET [ARG...]			offset in the file
 *	p:[NAME] FILE@SOURCE:LINE [ARG...]
 *	p:[NAME] [FILE:]FUNCTION:LINE [ARG...]		LINE counts from the function's own, or is
 *	p:[NAME] [FILE:]SOURCE:LINE [ARG...]		the file's
 *	FUNCTION may have wildcards: then it is an event per function.
 *	ARG := [NAME=]FETCHARG[:TYPE], with these spelled more freely than the kernel takes them:
 *		%rdi %edi %r8d	registers by any name (a part of one gets its size)
 *		$argN		also in user functions, also on the stack
 *		@symbol		also variables of a user program
 *	ARG := [NAME=]VARIABLE{->MEMBER|.MEMBER|[INDEX]}[:TYPE] | $params | $vars, by debug
 *		information, as in probe/definition/point.h
 *
 * Functions that cannot be probed (blacklisted, not in the kernel's text any more, absent, inlined,
 * notrace) are refused with the reason before the kernel is asked; of those that a wildcard matches
 * they are left out and counted.
 */
#ifndef PANTRACE_PROBE_DEFINITION_DEFINITION_H
#define PANTRACE_PROBE_DEFINITION_DEFINITION_H

#include "kernel/tracefs/dynamic_event.h"

struct definition_request {
	const char *text; /* must outlive the diag, in which it is a source: "definition" */
	bool is_user;
	/*
	 * -F: also what is not in the list of traceable functions, and places whose instruction is
	 * unknown
	 */
	bool force;
	pid_t pid; /* user: FILE is looked for in this process first; 0 = none */
};

struct definition_result {
	u32 first, count; /* events of the set: dynamic_events_at(set, first) ... */
	u32 skipped; /* matched by a wildcard, but cannot be probed */
	bool is_return;
	/*
	 * what the kernel was told of the first one, under the user's name: "p:readline
	 * /usr/bin/bash:0xd5690"
	 */
	char *text;
};

/*
 * Parses and defines. 0, or -errno with a diagnostic (what was defined before the failure stays in
 * the set).
 */
int definition_make(struct kernel *k, struct diag *d, struct dynamic_events *set,
		    const struct definition_request *r, struct definition_result *ret);
void definition_result_release(struct definition_result *r);
/*
 * What a definition in terms of the source comes to, for engines other than ftrace, malloc'ed: with
 * fetch arguments, and a place as scripts have it, "p:NAME FILE:0xADDRESS number=%di:s32". 0,
 * -errno with a diagnostic, or 1: it is none, *ret is NULL.
 */
int definition_translate(struct kernel *k, struct diag *d, const struct definition_request *r,
			 char **ret);

/*
 * Every function of FILE that can be probed, sorted, each once (uprobe -l). 0 or -errno with a
 * diagnostic.
 */
int definition_each_function(struct kernel *k, struct diag *d, const char *file, pid_t pid,
			     int (*fn)(void *arg, const char *name), void *arg);

#endif
