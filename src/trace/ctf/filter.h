/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions on fields: "status>=500", "url=*.html", "name!=x". Fields of the event, of its
 * contexts, and of its packet.
 */
#ifndef PANTRACE_TRACE_CTF_FILTER_H
#define PANTRACE_TRACE_CTF_FILTER_H

#include "trace/ctf/trace.h"

enum ctf_comparison {
	CTF_EQUAL,
	CTF_DIFFERENT,
	CTF_LESS,
	CTF_LESS_EQUAL,
	CTF_GREATER,
	CTF_GREATER_EQUAL
};

struct ctf_condition {
	char *field; /* as it is shown; members behind dots */
	enum ctf_comparison how;
	char *value; /* a glob for CTF_EQUAL and CTF_DIFFERENT */
	bool is_number;
	double number;
	s64 integer; /* when the value is one */
	bool is_integer;
};

/* 0 or -EINVAL. */
int ctf_condition_parse(const char *text, struct ctf_condition *ret);
void ctf_condition_release(struct ctf_condition *c);
/*
 * Whether the event has the field and the field is as asked for; an event without the field does
 * not pass.
 */
bool ctf_condition_holds(const struct ctf_condition *condition, const struct ctf_event *event);

#endif
