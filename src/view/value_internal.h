/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of value: numbers, lists and JSON (value.c), words (value_word.c). */
#ifndef PANTRACE_VIEW_VALUE_INTERNAL_H
#define PANTRACE_VIEW_VALUE_INTERNAL_H

#include "view/value.h"

/* Up to 8 bytes, little endian. */
static inline u64 value_load(const void *p, u32 size)
{
	u64 v = 0;

	memcpy(&v, p, MIN(size, sizeof(v)));
	return v;
}

void value_decimal(struct strbuf *out, s64 n, bool is_signed);
/* Values that are a word or line of text in both media. False: t is something else. */
bool value_word(struct value_printer *p, struct strbuf *out, const struct type *t, const u8 *data);

#endif
