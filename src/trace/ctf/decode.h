/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of CTF fields in a packet. Positions are bits from the packet's first one. A read past the
 * end fails, once and for all, as in base/cursor.h.
 */
#ifndef PANTRACE_TRACE_CTF_DECODE_H
#define PANTRACE_TRACE_CTF_DECODE_H

#include "trace/ctf/metadata.h"

struct ctf_cursor {
	const u8 *data;
	u64 at, end; /* bits */
	u64 *slots; /* of the metadata: values that are referred to */
	bool failed;
};

static inline void ctf_align(struct ctf_cursor *c, u32 align)
{
	c->at = (c->at + align - 1) & ~((u64)align - 1);
}

u64 ctf_integer_slowly(struct ctf_cursor *c, const struct ctf_type *t);

/* An integer, sign-extended if it is signed; an enum's container stands for the enum. */
static inline u64 ctf_integer(struct ctf_cursor *c, const struct ctf_type *t)
{
	u64 at = (c->at + t->align - 1) & ~((u64)t->align - 1);
	const u8 *p = c->data + at / 8;
	u64 value = 0;

	if (__builtin_expect(t->byte_order != CTF_LITTLE || (at & 7) || c->failed || at > c->end ||
				     t->size > c->end - at,
			     0))
		return ctf_integer_slowly(c, t);
	switch (t->size) {
	case 8:
		value = t->is_signed ? (u64)(s64)(s8)*p : *p;
		break;
	case 16: {
		u16 v;

		memcpy(&v, p, 2);
		value = t->is_signed ? (u64)(s64)(s16)v : v;
		break;
	}
	case 32: {
		u32 v;

		memcpy(&v, p, 4);
		value = t->is_signed ? (u64)(s64)(s32)v : v;
		break;
	}
	case 64:
		memcpy(&value, p, 8);
		break;
	default:
		return ctf_integer_slowly(c, t);
	}
	c->at = at + t->size;
	return value;
}

double ctf_float(struct ctf_cursor *c, const struct ctf_type *t);
/* NUL-ended, in place; *ret_size without the NUL. NULL (and failed) if there is no NUL. */
const char *ctf_string(struct ctf_cursor *c, size_t *ret_size);
/* Elements of an array or sequence; 0 and failed if they cannot all be there. */
u64 ctf_count(struct ctf_cursor *c, const struct ctf_type *t);
/*
 * Arrays of text (elements of 8 bits with an encoding): in place, up to the first NUL; the cursor
 * goes behind. NULL and failed if they are not all there.
 */
const char *ctf_text(struct ctf_cursor *c, const struct ctf_type *t, size_t *ret_size);
bool ctf_is_text(const struct ctf_type *t);
/* The option that the tag chose, or NULL (and failed). */
const struct ctf_field *ctf_option(struct ctf_cursor *c, const struct ctf_type *t);
void ctf_skip(struct ctf_cursor *c, const struct ctf_type *t);
/* An integer or enum as a field: notes the value where it is referred to. */
static inline u64 ctf_noted(struct ctf_cursor *c, const struct ctf_type *t, u32 slot)
{
	const u64 value = ctf_integer(c, t->kind == CTF_ENUM ? t->element : t);

	if (slot != CTF_NO_SLOT)
		c->slots[slot] = value;
	return value;
}
/* Each label whose range holds the value, from index *at on; NULL at the end. */
const char *ctf_label(const struct ctf_type *t, u64 value, u32 *at);

#endif
