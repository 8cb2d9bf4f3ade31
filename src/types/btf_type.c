/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BTF types -> struct type, one at a time, as they are asked for. */
#include "types/btf_internal.h"

/*
 * Limits of modifiers (const, typedef ...) on one type, and of types within types: foreign data may
 * be cyclic.
 */
#define MAX_CHAIN 64
#define MAX_DEPTH 64

/* Is it a modifier, between a reference and the type that it means? */
struct chain {
	u32 id; /* 0 = void */
	const char *alias;
	bool is_user, is_percpu;
};

static struct chain follow(const struct btf_blob *b, u32 id)
{
	struct chain c = {.id = id};

	for (u32 i = 0; i < MAX_CHAIN; i++) {
		const struct btf_type *t = btf_raw(b, c.id, NULL);

		switch (t ? btf_raw_kind(t) : BTF_KIND_UNKN) {
		case BTF_KIND_TYPEDEF:
			if (!c.alias)
				c.alias = btf_name_at(b, t->name_off);
			break;
		case PT_BTF_TYPE_TAG:
			c.is_user |= str_eq(btf_name_at(b, t->name_off), "user");
			c.is_percpu |= str_eq(btf_name_at(b, t->name_off), "percpu");
			break;
		case BTF_KIND_CONST:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_RESTRICT:
			break;
		default:
			return c;
		}
		c.id = t->type;
	}
	c.id = 0;
	return c;
}

static const char *name_or_null(const struct btf_blob *b, u32 offset)
{
	const char *name = offset ? btf_name_at(b, offset) : "";

	return *name ? name : NULL;
}

static int complete(struct type_store *store, struct type *type);

static struct type *new_lazy(const struct btf_blob *b, u32 id, enum type_kind kind)
{
	struct type *t = type_new(b->owner->store, kind);

	t->source_id = (u64)b->index << 32 | id;
	t->complete = complete;
	return t;
}

/* ---- one function per kind ---- */

static const struct type *convert_int(const struct btf_blob *b, const struct btf_type *raw, u32 id)
{
	const u32 data = *(const u32 *)(raw + 1);
	const bool is_signed = BTF_INT_ENCODING(data) & BTF_INT_SIGNED;
	struct type *t;

	if (raw->size == 1 && (BTF_INT_ENCODING(data) & BTF_INT_BOOL))
		return type_bool();
	if (raw->size == 1 && str_eq(btf_name_at(b, raw->name_off), "char")) {
		/* Kernels since 6.2 are compiled with -funsigned-char. */
		if (is_signed)
			return type_char();
		t = type_new(b->owner->store, TYPE_INT);
		*t = *type_char();
		t->is_signed = false;
		return t;
	}
	if (raw->size == 1 || raw->size == 2 || raw->size == 4 || raw->size == 8 || raw->size == 16)
		return type_int(raw->size, is_signed);
	return type_array(b->owner->store, type_int(1, false), raw->size);
}

static const struct type *convert_pointer(const struct btf_blob *b, const struct btf_type *raw,
					  u32 id)
{
	const struct chain c = follow(b, raw->type);
	const enum address_space space = c.is_user ? SPACE_USER : SPACE_KERNEL;
	const struct type *shared = type_pointer(b->owner->store, btf_convert(b, raw->type), space);
	struct type *t;

	if (!c.is_percpu)
		return shared;
	t = type_new(b->owner->store, TYPE_POINTER);
	*t = *shared;
	t->is_percpu_pointer = true;
	return t;
}

static const struct type *convert_array(const struct btf_blob *b, const struct btf_type *raw,
					u32 id)
{
	const struct btf_array *a = (const void *)(raw + 1);

	return type_array(b->owner->store, btf_convert(b, a->type), a->nelems);
}

static const struct type *convert_record(const struct btf_blob *b, const struct btf_type *raw,
					 u32 id)
{
	struct type *t =
		new_lazy(b, id, btf_raw_kind(raw) == BTF_KIND_STRUCT ? TYPE_STRUCT : TYPE_UNION);

	t->name = name_or_null(b, raw->name_off);
	t->size = raw->size;
	return t;
}

static const struct type *convert_forward(const struct btf_blob *b, const struct btf_type *raw,
					  u32 id)
{
	struct type *t = new_lazy(b, id, btf_raw_flag(raw) ? TYPE_UNION : TYPE_STRUCT);

	t->name = name_or_null(b, raw->name_off);
	return t;
}

static const struct type *convert_enum(const struct btf_blob *b, const struct btf_type *raw, u32 id)
{
	struct type *t = new_lazy(b, id, TYPE_ENUM);
	const u32 size = raw->size;

	t->name = name_or_null(b, raw->name_off);
	t->size = t->align = size == 1 || size == 2 || size == 8 ? size : 4;
	t->is_signed = btf_raw_flag(raw);
	return t;
}

static const struct type *convert_prototype(const struct btf_blob *b, const struct btf_type *raw,
					    u32 id)
{
	return new_lazy(b, id, TYPE_FUNCTION);
}

static const struct type *convert_float(const struct btf_blob *b, const struct btf_type *raw,
					u32 id)
{
	struct type *t = type_new(b->owner->store, TYPE_FLOAT);

	t->name = name_or_null(b, raw->name_off);
	t->size = raw->size;
	t->is_complete = true;
	return t;
}

static const struct type *convert_modified(const struct btf_blob *b, const struct btf_type *raw,
					   u32 id)
{
	const struct chain c = follow(b, id);
	const struct type *to = btf_convert(b, c.id);
	struct type *t;

	if (!c.alias || to->kind == TYPE_VOID || (to->alias && str_eq(to->alias, c.alias)))
		return to;
	t = type_new(b->owner->store, to->kind);
	*t = *to;
	t->alias = c.alias;
	return t;
}

/* FUNC and VAR: the type that the named entry refers to. */
static const struct type *convert_declared(const struct btf_blob *b, const struct btf_type *raw,
					   u32 id)
{
	return btf_convert(b, raw->type);
}

static const struct type *(*const converters[PT_BTF_KIND_MAX + 1])(const struct btf_blob *b,
								   const struct btf_type *raw,
								   u32 id) = {
	[BTF_KIND_INT] = convert_int,
	[BTF_KIND_PTR] = convert_pointer,
	[BTF_KIND_ARRAY] = convert_array,
	[BTF_KIND_STRUCT] = convert_record,
	[BTF_KIND_UNION] = convert_record,
	[BTF_KIND_ENUM] = convert_enum,
	[BTF_KIND_FWD] = convert_forward,
	[BTF_KIND_TYPEDEF] = convert_modified,
	[BTF_KIND_VOLATILE] = convert_modified,
	[BTF_KIND_CONST] = convert_modified,
	[BTF_KIND_RESTRICT] = convert_modified,
	[BTF_KIND_FUNC] = convert_declared,
	[BTF_KIND_FUNC_PROTO] = convert_prototype,
	[BTF_KIND_VAR] = convert_declared,
	[BTF_KIND_FLOAT] = convert_float,
	[PT_BTF_TYPE_TAG] = convert_modified,
	[PT_BTF_ENUM64] = convert_enum,
};

const struct type *btf_convert(const struct btf_blob *b, u32 id)
{
	const struct btf_blob *owner;
	const struct btf_type *raw = btf_raw(b, id, &owner);
	const struct type *t;

	if (!raw || !converters[btf_raw_kind(raw)] || b->owner->depth >= MAX_DEPTH)
		return type_void();
	t = owner->cache[id - owner->first_id];
	if (t)
		return t;
	b->owner->depth++;
	t = converters[btf_raw_kind(raw)](owner, raw, id);
	b->owner->depth--;
	owner->cache[id - owner->first_id] = (struct type *)t;
	return t;
}

/* ---- members, enumerators, parameters ---- */

/*
 * Places a bit-field in a storage unit of its type's size, or, if it crosses such a unit, in one
 * that begins at its first byte.
 */
static void place_bits(struct type_member *m, u32 bit, u32 size)
{
	const u32 unit = m->type->size;

	if (!type_is_integer(m->type) || unit > 8 || !size || size > 64) {
		m->offset = bit / 8;
		return;
	}
	m->offset = bit / (8 * unit) * unit;
	m->bit_offset = (u8)(bit - 8 * m->offset);
	m->bit_size = (u8)size;
	if (m->bit_offset + size > 8 * unit) { /* packed */
		m->offset = bit / 8;
		m->bit_offset = bit % 8;
	}
}

/* Size of a bit-field in the older encoding, where the integer type has it; 0 = not a bit-field. */
static u32 old_bit_size(const struct btf_blob *b, u32 type_id, u32 *bit)
{
	const struct btf_type *t = btf_raw(b, follow(b, type_id).id, NULL);
	u32 data;

	if (!t || btf_raw_kind(t) != BTF_KIND_INT)
		return 0;
	data = *(const u32 *)(t + 1);
	if (BTF_INT_BITS(data) == 8 * t->size && !BTF_INT_OFFSET(data) && *bit % 8 == 0)
		return 0;
	*bit += BTF_INT_OFFSET(data);
	return BTF_INT_BITS(data);
}

static void fill_member(const struct btf_blob *b, const struct btf_member *raw, bool with_bits,
			struct type_member *m)
{
	u32 bit = with_bits ? BTF_MEMBER_BIT_OFFSET(raw->offset) : raw->offset;
	u32 size = with_bits ? BTF_MEMBER_BITFIELD_SIZE(raw->offset) : 0;

	m->name = name_or_null(b, raw->name_off);
	m->type = btf_convert(b, raw->type);
	m->is_user = m->type->kind == TYPE_POINTER && m->type->space == SPACE_USER;
	if (!with_bits)
		size = old_bit_size(b, raw->type, &bit);
	if (size)
		place_bits(m, bit, size);
	else
		m->offset = bit / 8;
}

static void fill_record(const struct btf_blob *b, const struct btf_type *raw, struct type *t)
{
	const struct btf_member *from = (const void *)(raw + 1);
	const u32 n = btf_raw_vlen(raw);
	struct type_member *m = arena_new_array(&b->owner->store->arena, struct type_member, n);
	u32 align = 1;

	for (u32 i = 0; i < n; i++) {
		fill_member(b, &from[i], btf_raw_flag(raw), &m[i]);
		align = MAX(align, type_align(m[i].type));
	}
	/* Packed structs have no alignment. */
	for (u32 i = 0; i < n; i++)
		if (!m[i].bit_size && m[i].offset % type_align(m[i].type))
			align = 1;
	t->align = t->size % align ? 1 : align;
	t->members = m;
	t->count = n;
}

static void fill_enum(const struct btf_blob *b, const struct btf_type *raw, struct type *t)
{
	const u32 n = btf_raw_vlen(raw);
	struct type_enumerator *e =
		arena_new_array(&b->owner->store->arena, struct type_enumerator, n);
	const struct btf_enum *narrow = (const void *)(raw + 1);
	const u32 *wide = (const void *)(raw + 1); /* name, low half, high half */

	for (u32 i = 0; i < n; i++) {
		if (btf_raw_kind(raw) == PT_BTF_ENUM64) {
			e[i].name = btf_name_at(b, wide[3 * i]);
			e[i].value = (s64)((u64)wide[3 * i + 2] << 32 | wide[3 * i + 1]);
		} else {
			e[i].name = btf_name_at(b, narrow[i].name_off);
			e[i].value = t->is_signed ? narrow[i].val : (s64)(u32)narrow[i].val;
		}
	}
	t->enumerators = e;
	t->count = n;
}

static void fill_prototype(const struct btf_blob *b, const struct btf_type *raw, struct type *t)
{
	const struct btf_param *from = (const void *)(raw + 1);
	u32 n = btf_raw_vlen(raw);
	struct type_member *m;

	if (n && !from[n - 1].type) { /* "..." */
		t->is_variadic = true;
		n--;
	}
	m = arena_new_array(&b->owner->store->arena, struct type_member, n);
	for (u32 i = 0; i < n; i++) {
		m[i].name = name_or_null(b, from[i].name_off);
		m[i].type = btf_convert(b, from[i].type);
		m[i].offset = 8 * i;
		m[i].is_user = m[i].type->kind == TYPE_POINTER && m[i].type->space == SPACE_USER;
	}
	t->element = btf_convert(b, raw->type);
	t->members = m;
	t->count = n;
}

/* A forward declaration: the definition may be in another object. */
static int fill_forward(const struct btf_blob *b, const struct btf_type *raw, struct type *t)
{
	const u32 kind = btf_raw_flag(raw) ? BTF_KIND_UNION : BTF_KIND_STRUCT;
	const struct type *definition =
		t->name ? btf_find_definition(b->owner, t->name, kind) : NULL;
	int err;

	t->complete = NULL; /* do not search again */
	if (!definition)
		return -ENOENT;
	err = type_complete(b->owner->store, definition);
	if (err)
		return err;
	t->size = definition->size;
	t->align = definition->align;
	t->members = definition->members;
	t->count = definition->count;
	return 0;
}

static int complete(struct type_store *store, struct type *t)
{
	struct btf_source *s = store->source;
	const u32 index = (u32)(t->source_id >> 32);
	const struct btf_blob *b;
	const struct btf_type *raw;
	int err = 0;

	if (!s || index > s->modules.len)
		return -ENOENT;
	b = index ? s->modules.items[index - 1] : &s->vmlinux;
	raw = btf_raw(b, (u32)t->source_id, NULL);
	if (!raw)
		return -ENOENT;
	switch (btf_raw_kind(raw)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		fill_record(b, raw, t);
		break;
	case BTF_KIND_ENUM:
	case PT_BTF_ENUM64:
		fill_enum(b, raw, t);
		break;
	case BTF_KIND_FUNC_PROTO:
		fill_prototype(b, raw, t);
		break;
	case BTF_KIND_FWD:
		err = fill_forward(b, raw, t);
		break;
	default:
		return -EINVAL;
	}
	t->is_complete = !err;
	return err;
}
