/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/writers/ctf_shapes.h"

#include "lib/ctf.h"

#define SHAPES_MOST 65536 /* a recording with more has made-up event names */

struct ctf_shape_field {
	char *name; /* letters, digits, '_'; unique in its shape */
	u8 type; /* enum pantrace_type */
	struct strbuf labels; /* of an enum: "name=value,...", in the order they came */
	struct hashmap met; /* these labels, by value and name */
};

struct ctf_shape {
	char *name; /* of the event */
	struct ctf_shape_field *fields;
	size_t count;
};

void ctf_shapes_init(struct ctf_shapes *s)
{
	*s = (struct ctf_shapes){.signature = STRBUF_INIT, .payload = STRBUF_INIT};
}

void ctf_shapes_begin(struct ctf_shapes *s)
{
	s->count = 0;
	s->labels.len = 0;
	strbuf_reset(&s->signature);
	strbuf_reset(&s->payload);
}

/* ---- values ---- */

static u8 integer_type(const struct field_value *v)
{
	static const u8 unsigned_types[] = {PANTRACE_T_U8, PANTRACE_T_U16, PANTRACE_T_U32,
					    PANTRACE_T_U64};
	const u32 bits = v->bits ?: 64;
	const u32 i = bits <= 8 ? 0 : bits <= 16 ? 1 : bits <= 32 ? 2 : 3;

	/* the signed type stands before the unsigned one */
	return (u8)((unsigned_types[i] - v->is_signed) | (v->is_hex ? PANTRACE_T_HEX : 0));
}

static void add_integer(struct strbuf *to, u64 value, const struct field_value *v)
{
	strbuf_add(to, &value, v->bits ? v->bits / 8 : 8);
}

static void add_count(struct strbuf *to, size_t n)
{
	const u16 count = (u16)n;

	strbuf_add(to, &count, sizeof(count));
}

/* Adds the value and returns its type. 0: CTF cannot have it; nothing is added. */
static u8 add_value(struct ctf_shapes *s, const struct field_value *v)
{
	struct strbuf *const to = &s->payload;

	switch (v->kind) {
	case FIELD_INTEGER:
		add_integer(to, v->integer, v);
		if (!v->text)
			return integer_type(v);
		vector_push(&s->labels, (struct ctf_label){v->text, v->size, v->integer, s->count});
		return (integer_type(v) & PANTRACE_T_ELEMENT) | PANTRACE_T_ENUM;
	case FIELD_DECIMAL:
		strbuf_add(to, &v->decimal, sizeof(v->decimal));
		return PANTRACE_T_F64;
	case FIELD_TEXT:
		if (!memchr(v->text, 0, v->size)) {
			strbuf_add(to, v->text, v->size);
			strbuf_addch(to, 0);
			return PANTRACE_T_STRING;
		}
		if (v->size > UINT16_MAX)
			return 0;
		add_count(to, v->size);
		strbuf_add(to, v->text, v->size);
		return PANTRACE_T_TEXT;
	case FIELD_LIST:
		if (v->count > UINT16_MAX)
			return 0;
		add_count(to, v->count);
		for (size_t i = 0; i < v->count; i++)
			add_integer(to, v->items[i], v);
		return (v->is_decimal ? PANTRACE_T_F64 : integer_type(v)) | PANTRACE_T_SEQUENCE;
	case FIELD_NONE:
		break;
	}
	return 0;
}

bool ctf_shapes_field(struct ctf_shapes *s, const char *name, size_t size,
		      const struct field_value *v)
{
	const u8 type = add_value(s, v);

	if (!type)
		return false;
	strbuf_addch(&s->signature, 0);
	strbuf_addch(&s->signature, (char)type);
	strbuf_add(&s->signature, name, strnlen(name, size));
	s->count++;
	return true;
}

/* ---- shapes ---- */

static bool has_field(const struct ctf_shape *shape, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(shape->fields[i].name, name))
			return true;
	return false;
}

/* As TSDL takes it, and different from those of the fields before. */
static char *name_of(const struct ctf_shape *shape, size_t count, const char *raw)
{
	char *const bare = xstrdup(*raw ? raw : "_"), *name;

	for (char *p = bare; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9')))
			*p = '_';
	name = xstrdup(bare);
	for (u32 n = 2; has_field(shape, count, name); n++) {
		free(name);
		name = xasprintf("%s_%u", bare, n);
	}
	free(bare);
	return name;
}

static void shape_new(struct ctf_shapes *s)
{
	struct ctf_shape *const shape = xzalloc(sizeof(*shape));
	const char *p = s->signature.data;

	shape->name = xstrdup(p);
	shape->count = s->count;
	shape->fields = xzalloc((s->count + 1) * sizeof(*shape->fields));
	for (size_t i = 0; i < s->count; i++) {
		p += strlen(p) + 1;
		shape->fields[i].type = (u8)*p++;
		shape->fields[i].name = name_of(shape, i, p);
		shape->fields[i].labels = (struct strbuf)STRBUF_INIT;
	}
	vector_push(&s->by_id, shape);
}

static void add_label(struct ctf_shape_field *f, const char *text, size_t size, u64 value)
{
	struct strbuf *const to = &f->labels;
	struct strbuf key = STRBUF_INIT;
	bool is_new;

	strbuf_add(&key, &value, sizeof(value));
	strbuf_add(&key, text, size);
	hashmap_put(&f->met, key.data, key.len, &is_new);
	strbuf_release(&key);
	if (!is_new)
		return;
	if (to->len)
		strbuf_addch(to, ',');
	for (size_t i = 0; i < size; i++)
		strbuf_addch(to, strchr("=,", text[i]) ? '_' : text[i]);
	strbuf_addf(to, "=%" PRId64, (s64)value);
}

u32 ctf_shapes_id(struct ctf_shapes *s)
{
	const struct strbuf *const key = &s->signature;
	uintptr_t id = (uintptr_t)hashmap_get(&s->ids, key->data, key->len);

	if (!id && s->by_id.len == SHAPES_MOST)
		return 0;
	if (!id) {
		shape_new(s);
		id = s->by_id.len;
		*hashmap_put(&s->ids, key->data, key->len, NULL) = (void *)id;
	}
	for (size_t i = 0; i < s->labels.len; i++) {
		const struct ctf_label *const l = &s->labels.items[i];

		add_label(&s->by_id.items[id - 1]->fields[l->field], l->text, l->size, l->value);
	}
	return (u32)id;
}

/* ---- metadata ---- */

static void put_shape(FILE *file, const struct ctf_shape *s, u32 id)
{
	struct pantrace_event_type *const type =
		xzalloc(sizeof(*type) + s->count * sizeof(type->field[0]));

	*type = (struct pantrace_event_type){
		.id = id, .nr_fields = (u32)s->count, .level = 14, .provider = "", .name = s->name};
	for (size_t i = 0; i < s->count; i++)
		type->field[i] = (struct pantrace_field_type){
			.name = s->fields[i].name,
			.type = s->fields[i].type,
			.extra = s->fields[i].labels.len ? s->fields[i].labels.data : ""};
	pt_ctf_put_event(file, type);
	free(type);
}

void ctf_shapes_put(FILE *file, const struct ctf_shapes *s)
{
	for (size_t i = 0; i < s->by_id.len; i++)
		put_shape(file, s->by_id.items[i], (u32)i + 1);
}

void ctf_shapes_release(struct ctf_shapes *s)
{
	for (size_t i = 0; i < s->by_id.len; i++) {
		struct ctf_shape *const shape = s->by_id.items[i];

		for (size_t f = 0; f < shape->count; f++) {
			free(shape->fields[f].name);
			strbuf_release(&shape->fields[f].labels);
			hashmap_release(&shape->fields[f].met);
		}
		free(shape->fields);
		free(shape->name);
		free(shape);
	}
	vector_free(&s->by_id);
	vector_free(&s->labels);
	hashmap_release(&s->ids);
	strbuf_release(&s->signature);
	strbuf_release(&s->payload);
}
