/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Definitions of probes in terms of the source, as `perf probe` has them:
 *
 *	DEFINITION := [[GROUP:]EVENT=]POINT [ARG...]
 *	POINT := FUNCTION[@SOURCE][+OFFSET|%return|:LINE|;PATTERN]
 *		| SOURCE:LINE | SOURCE;PATTERN
 *		| 0xADDRESS | %[sdt_PROVIDER:]EVENT | sdt_PROVIDER:EVENT
 *	ARG := [NAME=]VALUE[:TYPE][@user]
 *	VALUE := VARIABLE{->MEMBER|.MEMBER|[INDEX]} | $vars | $params | what ftrace takes
 *
 * The LINE of a FUNCTION counts from its own line; a PATTERN is a glob of the text of lines. A
 * backslash takes the meaning from the character behind it, quotes from all that is in them:
 * 'ns::f(int)' is a name. "::" belongs to a name also without them.
 */
#ifndef PANTRACE_PROBE_DEFINITION_POINT_H
#define PANTRACE_PROBE_DEFINITION_POINT_H

#include "base/diag.h"

struct point {
	struct span at;
	const char *text; /* as written */
	const char *group, *event; /* NULL = not given */
	const char *function; /* NULL: the point is a line, an address, or an SDT event */
	bool is_exact; /* the function's name was quoted: its wildcards are none */
	const char *source; /* NULL = none; matches the end of a path at a '/' */
	const char *pattern; /* of a line's text; NULL = none */
	const char *sdt_provider, *sdt_event; /* both may be globs; event NULL = no SDT event */
	u64 address; /* of has_address */
	u64 offset; /* 0 = none */
	u32 line; /* 0 = none */
	bool has_address, is_return;
};

enum point_value {
	VALUE_RAW, /* registers, memory, immediates: what ftrace takes */
	VALUE_VARIABLE,
	VALUE_PARAMETERS, /* $params */
	VALUE_VARIABLES, /* $vars */
};

/* One step from a variable to a part of it. */
struct point_step {
	const char *member; /* NULL: an index */
	s64 index;
	bool is_arrow; /* "->": the left side is a pointer; also of an index */
	struct span at;
};

struct point_argument {
	struct span at;
	const char *text; /* as written */
	enum point_value kind;
	const char *name; /* NULL = not given */
	struct span value; /* what stands between the name and the type */
	const char *variable;
	VECTOR(struct point_step) steps;
	const char *type; /* NULL = by debug info */
	bool is_user; /* in the program's memory, though the probe is in the kernel */
};

struct point_definition {
	struct point point;
	VECTOR(struct point_argument) arguments;
};

/*
 * Parses a definition. text must outlive the diag, in which it is a source; strings are in the
 * arena or in the text. 0, or -EINVAL with a diagnostic. To be released in any case.
 */
int point_parse(struct arena *arena, struct diag *d, const char *text,
		struct point_definition *ret);
void point_definition_release(struct point_definition *def);

/* Has it arguments that are variables? */
bool point_wants_variables(const struct point_definition *def);
/* Between a pattern of a line's text and a line: blanks do not count. */
bool point_pattern_matches(const char *pattern, const char *line);

#endif
