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
	FIELD_LIST, /* of numbers; only where all values of an event are told */
};

struct field_value {
	enum field_kind kind;
	bool is_signed;
	u64 integer; /* sign-extended if is_signed */
	double decimal;
	/* where the event lies, without a NUL; FIELD_INTEGER: the label of an enum, or NULL */
	const char *text;
	size_t size;
	/* ---- where all values of an event are told ---- */
	u8 bits; /* of an integer, of each of a list: 8, 16, 32 or 64; 0 = not known */
	bool is_hex; /* it is shown with base 16 */
	const u64 *items; /* FIELD_LIST: as integer; of decimals, the bits of each */
	bool is_decimal; /* FIELD_LIST */
	size_t count;
};

/* A field that is in others: "outer.inner". All is valid until it returns. */
typedef void field_value_fn(void *arg, const char *name, size_t name_size,
			    const struct field_value *value);

#endif
