/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ctf/decode.h"

static u64 give_up(struct ctf_cursor *c)
{
	c->failed = true;
	return 0;
}

u64 ctf_integer_slowly(struct ctf_cursor *c, const struct ctf_type *t)
{
	u64 value = 0;

	ctf_align(c, t->align);
	if (c->failed || c->at > c->end || t->size > c->end - c->at)
		return give_up(c);
	/* CTF 1.8, 4.1.3: little endian fills bytes from their lowest bit, big endian from their
	 * highest */
	for (u32 done = 0; done < t->size;) {
		const u32 bit = (u32)(c->at & 7), n = MIN(8 - bit, t->size - done);
		const u8 byte = c->data[c->at / 8];

		if (t->byte_order == CTF_BIG)
			value = value << n | ((byte >> (8 - bit - n)) & ((1u << n) - 1));
		else
			value |= (u64)((byte >> bit) & ((1u << n) - 1)) << done;
		done += n;
		c->at += n;
	}
	if (t->is_signed && t->size < 64 && value >> (t->size - 1))
		value |= ~0ull << t->size;
	return value;
}

double ctf_float(struct ctf_cursor *c, const struct ctf_type *t)
{
	const struct ctf_type as = {.kind = CTF_INTEGER,
				    .size = t->size,
				    .align = t->align,
				    .byte_order = t->byte_order};
	const u64 bits = ctf_integer(c, &as);
	const u32 half = (u32)bits;
	float single;
	double value;

	if (t->size == 32) {
		memcpy(&single, &half, sizeof(single));
		return (double)single;
	}
	memcpy(&value, &bits, sizeof(value));
	return value;
}

const char *ctf_string(struct ctf_cursor *c, size_t *ret_size)
{
	const u8 *p, *end;

	*ret_size = 0;
	ctf_align(c, 8);
	p = c->data + c->at / 8;
	end = c->failed || c->at > c->end ? NULL : memchr(p, 0, (c->end - c->at) / 8);
	if (!end) {
		give_up(c);
		return NULL;
	}
	*ret_size = (size_t)(end - p);
	c->at += (*ret_size + 1) * 8;
	return (const char *)p;
}

u64 ctf_count(struct ctf_cursor *c, const struct ctf_type *t)
{
	const u64 count = t->kind == CTF_ARRAY ? t->count : c->slots[t->reference_slot];

	if (t->tag && t->tag->is_signed && (s64)count < 0)
		return give_up(c);
	if (count && (c->failed || c->at > c->end || count > (c->end - c->at) / t->element->least))
		return give_up(c);
	return count;
}

bool ctf_is_text(const struct ctf_type *t)
{
	return (t->kind == CTF_ARRAY || t->kind == CTF_SEQUENCE) &&
	       t->element->kind == CTF_INTEGER && t->element->size == 8 && t->element->is_text &&
	       t->element->align == 8;
}

const char *ctf_text(struct ctf_cursor *c, const struct ctf_type *t, size_t *ret_size)
{
	const char *p;
	u64 count;

	*ret_size = 0;
	ctf_align(c, 8);
	count = ctf_count(c, t);
	if (c->failed)
		return NULL;
	p = (const char *)c->data + c->at / 8;
	*ret_size = strnlen(p, count);
	c->at += count * 8;
	return p;
}

const struct ctf_field *ctf_option(struct ctf_cursor *c, const struct ctf_type *t)
{
	u32 at = 0;

	while (ctf_label(t->tag, c->slots[t->reference_slot], &at))
		if (t->option_of[at - 1] >= 0)
			return &t->fields[t->option_of[at - 1]];
	give_up(c);
	return NULL;
}

const char *ctf_label(const struct ctf_type *t, u64 value, u32 *at)
{
	while (*at < t->count) {
		const struct ctf_mapping *m = &t->mappings[(*at)++];

		if (t->is_signed ? (s64)value >= m->low && (s64)value <= m->high
				 : value >= (u64)m->low && value <= (u64)m->high)
			return m->label;
	}
	return NULL;
}

void ctf_skip(struct ctf_cursor *c, const struct ctf_type *t)
{
	const struct ctf_field *option;
	size_t size;
	u64 count;

	if (c->failed)
		return;
	switch (t->kind) {
	case CTF_INTEGER:
		ctf_integer(c, t);
		break;
	case CTF_ENUM:
		ctf_integer(c, t->element);
		break;
	case CTF_FLOAT:
		ctf_float(c, t);
		break;
	case CTF_STRING:
		ctf_string(c, &size);
		break;
	case CTF_STRUCT:
		ctf_align(c, t->align);
		for (u32 i = 0; i < t->count && !c->failed; i++) {
			if (t->fields[i].slot != CTF_NO_SLOT)
				ctf_noted(c, t->fields[i].type, t->fields[i].slot);
			else
				ctf_skip(c, t->fields[i].type);
		}
		break;
	case CTF_VARIANT:
		option = ctf_option(c, t);
		if (option)
			ctf_skip(c, option->type);
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		ctf_align(c, t->align);
		count = ctf_count(c, t);
		if (t->element->kind == CTF_INTEGER && t->element->size % 8 == 0 &&
		    t->element->align <= 8) {
			ctf_align(c, t->element->align);
			c->at += count * t->element->size;
			break;
		}
		while (count-- && !c->failed)
			ctf_skip(c, t->element);
		break;
	}
}
