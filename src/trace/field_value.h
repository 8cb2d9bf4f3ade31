/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The value of an event's field, whatever the recording is. */
#ifndef PANTRACE_TRACE_FIELD_VALUE_H
#define PANTRACE_TRACE_FIELD_VALUE_H

#include "base/base.h"

enum field_kind {
	FIELD_NONE, /* the event has no such field, or no single value in it */
	FIELD_INTEGER,
	FIELD_DECIMAL,
	FIELD_TEXT,
};

struct field_value {
	enum field_kind kind;
	bool is_signed;
	u64 integer; /* sign-extended if is_signed */
	double decimal;
	/* where the event lies, without a NUL; FIELD_INTEGER: the label of an enum, or NULL */
	const char *text;
	size_t size;
};

#endif
