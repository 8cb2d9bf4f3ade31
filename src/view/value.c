/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/value_internal.h"

#include "base/escape.h"
#include "view/disk.h"

/* Of one value; damaged types are their own members. */
enum { MAX_NESTING = 64, MAX_MEMBERS = 1 << 16 };

static s64 widen(u64 v, u32 bits, bool is_signed)
{
	if (!bits || bits >= 64)
		return (s64)v;
	v &= (1ULL << bits) - 1;
	if (is_signed && (v >> (bits - 1)))
		v |= ~0ULL << bits;
	return (s64)v;
}

s64 value_integer(const struct type *t, const void *data)
{
	u32 size = t->size ? t->size : 8;

	return widen(value_load(data, size), size * 8, t->is_signed);
}

s64 value_bit_field(const struct type_member *m, const void *record)
{
	const u8 *p = (const u8 *)record + m->offset;
	const u32 shift = m->bit_offset & 63, end = shift + m->bit_size;
	u64 bits = 0;

	/* Of packed structs up to nine bytes. */
	for (u32 i = 0; i < MIN((end + 7) / 8, 8u); i++)
		bits |= (u64)p[i] << (8 * i);
	bits >>= shift;
	if (end > 64)
		bits |= (u64)p[8] << (64 - shift);
	return widen(bits, m->bit_size, m->type->is_signed);
}

void value_decimal(struct strbuf *out, s64 n, bool is_signed)
{
	u64 v = is_signed && n < 0 ? -(u64)n : (u64)n;
	char buf[24], *p = buf + sizeof(buf);

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	if (is_signed && n < 0)
		*--p = '-';
	strbuf_add(out, p, (size_t)(buf + sizeof(buf) - p));
}

void value_buffer_text(struct strbuf *out, const u8 *data, size_t n, bool keep_ascii, bool with_x)
{
	for (size_t i = 0; i < n; i++) {
		if (keep_ascii && data[i] >= 32 && data[i] <= 126)
			strbuf_addch(out, (char)data[i]);
		else if (with_x)
			strbuf_addf(out, "\\x%02x", data[i]);
		else
			strbuf_addf(out, i + 1 == n ? "%02x" : "%02x ", data[i]);
	}
}

static void buffer_bytes(const struct type *t, const u8 *data, const u8 **ret, size_t *ret_len)
{
	u64 room = t->size > 4 ? t->size - 4 : 0;

	*ret = data + 4;
	*ret_len = t->size >= 4 ? (size_t)MIN(value_load(data, 4), room) : 0;
}

/* False: a number of a kind that is not shown. */
static bool load_float(const struct value_printer *p, const struct type *t, const u8 *data,
		       double *ret)
{
	float f;

	if (p->is_compatible || (t->size != sizeof(f) && t->size != sizeof(*ret)))
		return false;
	memcpy(&f, data, sizeof(f));
	if (t->size == sizeof(*ret))
		memcpy(ret, data, sizeof(*ret));
	else
		*ret = f;
	return true;
}

static void add_float(const struct value_printer *p, struct strbuf *out, const struct type *t,
		      const u8 *data)
{
	double d;

	if (load_float(p, t, data, &d))
		strbuf_addf(out, "%.9g", d);
	else
		strbuf_addstr(out, "null");
}

void value_add(struct value_printer *p, const struct medium *to, const struct type *t,
	       const void *data)
{
	if (to->json)
		value_json(p, to->json, t, data);
	else
		value_text(p, to->out, t, data);
}

/* Calls fn for each printable member; those of anonymous structs and unions are taken as the outer
 * one's. */
struct member_walk {
	struct value_printer *p;
	struct medium to;
	bool any;
};

static void add_member(struct member_walk *w, const char *name, const struct type *t,
		       const void *data)
{
	if (w->to.json)
		json_key(w->to.json, name);
	else
		strbuf_addf(w->to.out, "%s.%s = ", w->any ? ", " : "", name);
	value_add(w->p, &w->to, t, data);
}

/* Of a record that is only declared the size comes with its definition. */
static bool fits(struct value_printer *p, const struct type *t, const struct type_member *m)
{
	const u32 bits_end = (m->bit_offset & 63) + m->bit_size;

	if (type_is_record(m->type))
		type_complete(p->types, m->type);
	return (u64)m->offset + (m->bit_size ? (bits_end + 7) / 8 : m->type->size) <= t->size;
}

static void walk_members(struct member_walk *w, const struct type *t, const u8 *data)
{
	struct value_printer *const p = w->p;

	if (type_complete(p->types, t) < 0 || p->nesting == MAX_NESTING)
		return;
	p->members = p->nesting++ ? p->members : 0;
	for (u32 i = 0; i < t->count && p->members++ < MAX_MEMBERS; i++) {
		const struct type_member *m = &t->members[i];
		struct type widened =
			*(m->type->kind == TYPE_ENUM ? m->type : type_int(8, m->type->is_signed));
		s64 bits;

		if (!fits(p, t, m))
			continue;
		if (!m->name && type_is_record(m->type)) {
			walk_members(w, m->type, data + m->offset);
			continue;
		}
		if (!m->name &&
		    w->to.json) /* padding; there may be more of it, and names are unique */
			continue;
		widened.size = 8;
		if (m->bit_size)
			bits = value_bit_field(m, data);
		add_member(w, m->name ? m->name : "", m->bit_size ? &widened : m->type,
			   m->bit_size ? (const void *)&bits : data + m->offset);
		w->any = true;
	}
	p->nesting--;
}

static void text_record(struct value_printer *p, struct strbuf *out, const struct type *t,
			const u8 *data)
{
	struct member_walk w = {.p = p, .to = {.out = out}};
	size_t start = out->len;

	strbuf_addstr(out, "{ ");
	walk_members(&w, t, data);
	if (w.any) {
		strbuf_addstr(out, " }");
		return;
	}
	out->len = start;
	strbuf_addstr(out, "{}");
}

static void text_list(struct value_printer *p, struct strbuf *out, const struct type *t,
		      const u8 *data)
{
	for (u32 i = 0; i < t->count; i++) {
		if (i)
			strbuf_addstr(out, ", ");
		value_text(p, out, t->members[i].type, data + t->members[i].offset);
	}
}

/* Those of no size are not shown: there may be any number of them. */
static u32 elements_of(const struct type *array)
{
	const u32 size = array->element->size;

	return size ? MIN(array->count, array->size / size) : 0;
}

static void text_array(struct value_printer *p, struct strbuf *out, const struct type *t,
		       const u8 *data)
{
	strbuf_addch(out, '[');
	for (u32 i = 0; i < elements_of(t); i++) {
		if (i)
			strbuf_addch(out, ',');
		value_text(p, out, t->element, data + (size_t)i * t->element->size);
	}
	strbuf_addch(out, ']');
}

void value_text(struct value_printer *p, struct strbuf *out, const struct type *t, const void *data)
{
	const char *name;
	const u8 *bytes = NULL;
	size_t n;

	if (value_word(p, out, t, data))
		return;
	switch (t->kind) {
	case TYPE_INT:
		value_decimal(out, value_integer(t, data), t->is_signed);
		break;
	case TYPE_BOOL:
		strbuf_addstr(out, value_load(data, 1) ? "true" : "false");
		break;
	case TYPE_ENUM:
		name = type_enumerator_name(p->types, t, value_integer(t, data));
		if (name)
			strbuf_addstr(out, name);
		else
			strbuf_addf(out, "%" PRId64, value_integer(t, data));
		break;
	case TYPE_POINTER:
		strbuf_addf(out, "0x%" PRIx64, value_load(data, 8));
		break;
	case TYPE_FLOAT:
		add_float(p, out, t, data);
		break;
	case TYPE_BUFFER:
		buffer_bytes(t, data, &bytes, &n);
		value_buffer_text(out, bytes, n, true, true);
		break;
	case TYPE_ARRAY:
		text_array(p, out, t, data);
		break;
	case TYPE_TUPLE:
		strbuf_addch(out, '(');
		text_list(p, out, t, data);
		strbuf_addch(out, ')');
		break;
	case TYPE_STRUCT:
	case TYPE_UNION:
	case TYPE_RECORD:
		text_record(p, out, t, data);
		break;
	default:
		strbuf_addstr(out, "null");
	}
}

static void json_list(struct value_printer *p, struct json *j, const struct type *t, const u8 *data)
{
	const u8 *bytes = NULL;
	size_t n = t->kind == TYPE_ARRAY ? elements_of(t) : t->count;

	json_array(j);
	if (t->kind == TYPE_BUFFER)
		buffer_bytes(t, data, &bytes, &n);
	for (size_t i = 0; i < n; i++) {
		if (t->kind == TYPE_BUFFER)
			json_u64(j, bytes[i]);
		else if (t->kind == TYPE_TUPLE)
			value_json(p, j, t->members[i].type, data + t->members[i].offset);
		else
			value_json(p, j, t->element, data + i * t->element->size);
	}
	json_end(j, ']');
}

static void json_record(struct value_printer *p, struct json *j, const struct type *t,
			const u8 *data)
{
	struct member_walk w = {.p = p, .to = {.json = j}};

	json_object(j);
	walk_members(&w, t, data);
	json_end(j, '}');
}

static void json_float(const struct value_printer *p, struct json *j, const struct type *t,
		       const u8 *data)
{
	double d;

	if (load_float(p, t, data, &d))
		json_double(j, d);
	else
		json_null(j);
}

void value_json(struct value_printer *p, struct json *j, const struct type *t, const void *data)
{
	struct strbuf word = STRBUF_INIT;
	bool raw = p->raw;

	p->raw = true;
	if (value_word(p, &word, t, data)) {
		json_string(j, word.data, word.len);
		goto out;
	}
	switch (t->kind) {
	case TYPE_INT:
	case TYPE_ENUM:
		if (t->is_signed)
			json_s64(j, value_integer(t, data));
		else
			json_u64(j, (u64)value_integer(t, data));
		break;
	case TYPE_BOOL:
		json_bool(j, value_load(data, 1));
		break;
	case TYPE_FLOAT:
		json_float(p, j, t, data);
		break;
	case TYPE_POINTER:
		json_u64(j, value_load(data, 8));
		break;
	case TYPE_BUFFER:
	case TYPE_ARRAY:
	case TYPE_TUPLE:
		json_list(p, j, t, data);
		break;
	case TYPE_STRUCT:
	case TYPE_UNION:
	case TYPE_RECORD:
		json_record(p, j, t, data);
		break;
	default:
		json_null(j);
	}
out:
	strbuf_release(&word);
	p->raw = raw;
}

void value_key_text(struct value_printer *p, struct strbuf *out, const struct type *t, bool is_list,
		    const void *data)
{
	/* A tuple that is the only key prints as the list of its members: it is the same key. */
	if (t->kind == TYPE_TUPLE)
		text_list(p, out, t, data);
	else
		value_text(p, out, t, data);
}

void value_key_json(struct value_printer *p, struct strbuf *out, const struct type *t,
		    const void *data)
{
	bool raw = p->raw;

	p->raw = true;
	if (t->kind != TYPE_TUPLE) {
		value_text(p, out, t, data);
	} else {
		for (u32 i = 0; i < t->count; i++) {
			const struct type *m = t->members[i].type;

			if (i)
				strbuf_addch(out, ',');
			if (m->kind == TYPE_TUPLE) {
				strbuf_addch(out, '(');
				value_key_json(p, out, m, (const u8 *)data + t->members[i].offset);
				strbuf_addch(out, ')');
			} else {
				value_text(p, out, m, (const u8 *)data + t->members[i].offset);
			}
		}
	}
	p->raw = raw;
}

void value_printer_release(struct value_printer *p)
{
	hashmap_each (&p->users, e)
		free(e->value);
	hashmap_release(&p->users);
	p->have_users = false;
	disk_names_release(&p->disks);
}
