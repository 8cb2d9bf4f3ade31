/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/syntax/cdecl.h"

struct layout {
	u64 bits; /* end of the last member, from the start */
	u64 size; /* bytes that a union needs */
	u32 align;
	bool is_union, is_packed;
};

static u32 member_align(const struct layout *l, const struct c_member *m)
{
	const u32 natural = l->is_packed || m->attributes.is_packed ? 1 : type_align(m->m.type);

	return MAX(MAX(natural, m->attributes.align), 1u);
}

/*
 * A bit-field lies within one unit of its type's size, unless packed. type_member wants a unit to
 * load: the aligned one of the type; of a packed field, the smallest power of two of bytes that
 * covers it.
 */
static void place_bits(struct layout *l, struct c_member *m, struct type_member *out)
{
	const u64 unit = (u64)m->m.type->size * 8;
	const bool packed = l->is_packed || m->attributes.is_packed;
	u64 at = l->is_union ? 0 : l->bits;

	if (!m->bits) { /* `int : 0` ends the unit */
		if (!l->is_union)
			l->bits = ALIGN_UP(at, unit);
		return;
	}
	if (m->attributes.align)
		at = ALIGN_UP(at, (u64)m->attributes.align * 8);
	if (!packed && at / unit != (at + m->bits - 1) / unit)
		at = ALIGN_UP(at, unit);
	out->offset = (u32)(at / unit * m->m.type->size);
	if (at / unit != (at + m->bits - 1) / unit)
		out->offset = (u32)(at / 8);
	out->bit_offset = (u8)(at - (u64)out->offset * 8);
	out->bit_size = (u8)m->bits;
	l->bits = at + m->bits;
	l->size = MAX(l->size, (l->bits + 7) / 8);
	/* An unnamed bit-field does not align the struct. */
	if (m->m.name)
		l->align = MAX(l->align, member_align(l, m));
}

static void place(struct layout *l, struct c_member *m, struct type_member *out)
{
	const u32 align = member_align(l, m);
	const u64 at = l->is_union ? 0 : ALIGN_UP((l->bits + 7) / 8, (u64)align);

	out->offset = (u32)at;
	l->bits = (at + m->m.type->size) * 8;
	l->size = MAX(l->size, at + m->m.type->size);
	l->align = MAX(l->align, align);
}

int cdecl_layout(struct parser *p, struct type *t, const struct c_member *members, u32 count,
		 const struct c_attributes *attributes)
{
	struct layout l = {
		.align = 1, .is_union = t->kind == TYPE_UNION, .is_packed = attributes->is_packed};
	struct type_member *out =
		arena_new_array(&p->types->arena, struct type_member, MAX(count, 1u));
	u32 kept = 0;

	for (u32 i = 0; i < count; i++) {
		struct c_member m = members[i];

		out[kept] = m.m;
		if (m.bits != UINT32_MAX)
			place_bits(&l, &m, &out[kept]);
		else
			place(&l, &m, &out[kept]);
		kept += m.bits == UINT32_MAX || m.m.name != NULL;
		if (l.bits / 8 > CDECL_MAX_SIZE) {
			parse_error(p, m.span, "type is too large (limit %u bytes)",
				    CDECL_MAX_SIZE);
			return -EINVAL;
		}
	}
	l.align = MAX(l.align, attributes->align);
	t->size = (u32)ALIGN_UP(l.is_union ? l.size : (l.bits + 7) / 8, (u64)l.align);
	t->align = l.align;
	t->count = kept;
	t->members = out;
	t->is_complete = true;
	return 0;
}
