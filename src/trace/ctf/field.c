/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ctf/field.h"

#include "base/strbuf.h"
#include "trace/ctf/value.h"

/* The smallest of C's integers that holds it. */
static u8 bits_of(const struct ctf_type *t)
{
	return t->size <= 8 ? 8 : t->size <= 16 ? 16 : t->size <= 32 ? 32 : 64;
}

static struct field_value value_of(struct ctf_cursor *c, const struct ctf_field *f)
{
	const struct ctf_type *t = f->type;
	struct field_value v = {.is_signed = t->is_signed};
	u32 at = 0;

	if (t->kind == CTF_INTEGER || t->kind == CTF_ENUM) {
		v.kind = FIELD_INTEGER;
		v.integer = ctf_noted(c, t, f->slot);
		v.text = t->kind == CTF_ENUM ? ctf_label(t, v.integer, &at) : NULL;
		v.size = v.text ? strlen(v.text) : 0;
	} else if (t->kind == CTF_FLOAT) {
		v.kind = FIELD_DECIMAL;
		v.decimal = ctf_float(c, t);
	} else if (t->kind == CTF_STRING || ctf_is_text(t)) {
		v.kind = FIELD_TEXT;
		v.text = t->kind == CTF_STRING ? ctf_string(c, &v.size) : ctf_text(c, t, &v.size);
	}
	return v;
}

/* True: there is such a field, with or without a value. */
static bool find(const char *name, struct ctf_cursor *c, const struct ctf_type *t,
		 struct field_value *ret)
{
	const size_t n = strcspn(name, ".");

	ctf_align(c, t->align);
	for (u32 i = 0; i < t->count && !c->failed; i++) {
		const struct ctf_field *f = &t->fields[i];

		if (!strncmp(f->shown, name, n) && !f->shown[n]) {
			if (!name[n])
				*ret = value_of(c, f);
			else if (f->type->kind == CTF_STRUCT)
				return find(name + n + 1, c, f->type, ret);
			return true;
		}
		if (f->slot != CTF_NO_SLOT)
			ctf_noted(c, f->type, f->slot);
		else
			ctf_skip(c, f->type);
	}
	return false;
}

/* Of the first NR parts: contexts, and what the event itself has. */
static struct field_value look_up(const struct ctf_event *event, const char *name, size_t nr)
{
	const struct ctf_type *parts[] = {event->stream->class->event_context,
					  event->class->context, event->class->fields};
	const struct ctf_type *packet = event->stream->class->packet_context;
	struct ctf_cursor c = ctf_event_cursor(event);
	struct field_value v = {0};
	bool found = false;

	for (size_t i = 0; i < nr && !found; i++)
		if (parts[i])
			found = find(name, &c, parts[i], &v);
	if (!found && packet && !c.failed) {
		c = ctf_event_cursor(event);
		c.at = event->stream->context_at;
		find(name, &c, packet, &v);
	}
	return c.failed ? (struct field_value){0} : v;
}

struct field_value ctf_event_field(const struct ctf_event *event, const char *name)
{
	return look_up(event, name, 3);
}

struct field_value ctf_event_context(const struct ctf_event *event, const char *name)
{
	return look_up(event, name, 2);
}

struct ctf_cursor ctf_event_payload(const struct ctf_event *event)
{
	const struct ctf_type *contexts[] = {event->stream->class->event_context,
					     event->class->context};
	struct ctf_cursor c = ctf_event_cursor(event);
	struct field_value none = {0};

	for (size_t i = 0; i < ARRAY_SIZE(contexts); i++)
		if (contexts[i])
			find("", &c, contexts[i], &none); /* no field is called so */
	return c;
}

/* ---- all values ---- */

struct teller {
	struct ctf_cursor *cursor;
	struct strbuf name; /* "outer.inner" */
	VECTOR(u64) items;
	field_value_fn *fn;
	void *arg;
};

static void tell(struct teller *t, const struct ctf_type *type, u32 slot, const char *name);

static void tell_members(struct teller *t, const struct ctf_type *type)
{
	ctf_align(t->cursor, type->align);
	for (u32 i = 0; i < type->count && !t->cursor->failed; i++) {
		const struct ctf_field *const f = &type->fields[i];

		if (ctf_is_length(type, i))
			ctf_noted(t->cursor, f->type, f->slot);
		else
			tell(t, f->type, f->slot, f->shown);
	}
}

static u64 number(struct ctf_cursor *c, const struct ctf_type *t)
{
	double decimal;
	u64 bits;

	if (t->kind == CTF_INTEGER)
		return ctf_integer(c, t);
	decimal = ctf_float(c, t);
	memcpy(&bits, &decimal, sizeof(bits));
	return bits;
}

/* Where the packet holds them all, they fit into memory: an element has a bit at least. */
static struct field_value list_of(struct teller *t, const struct ctf_type *type)
{
	const struct ctf_type *element = type->element;
	u64 count;

	if (element->kind == CTF_ENUM)
		element = element->element;
	if (element->kind != CTF_INTEGER && element->kind != CTF_FLOAT) {
		ctf_skip(t->cursor, type);
		return (struct field_value){0};
	}
	ctf_align(t->cursor, type->align);
	count = ctf_count(t->cursor, type);
	t->items.len = 0;
	for (u64 i = 0; i < count && !t->cursor->failed; i++)
		vector_push(&t->items, number(t->cursor, element));
	return (struct field_value){.kind = FIELD_LIST,
				    .is_signed = element->is_signed,
				    .is_hex = element->base == 16,
				    .is_decimal = element->kind == CTF_FLOAT,
				    .bits = element->kind == CTF_FLOAT ? 64 : bits_of(element),
				    .items = t->items.items,
				    .count = t->items.len};
}

static void tell(struct teller *t, const struct ctf_type *type, u32 slot, const char *name)
{
	const struct ctf_field field = {.type = type, .slot = slot};
	const size_t len = t->name.len;
	const struct ctf_field *option;
	struct field_value v = {0};
	bool is_told = false;

	strbuf_addf(&t->name, "%s%s", len ? "." : "", name);
	if (type->kind == CTF_STRUCT) {
		tell_members(t, type);
		is_told = true;
	} else if (type->kind == CTF_VARIANT) {
		option = ctf_option(t->cursor, type);
		if (option)
			tell(t, option->type, option->slot, option->shown);
		is_told = option;
	} else if ((type->kind == CTF_ARRAY || type->kind == CTF_SEQUENCE) && !ctf_is_text(type)) {
		v = list_of(t, type);
	} else {
		v = value_of(t->cursor, &field);
		v.bits = bits_of(type->kind == CTF_ENUM ? type->element : type);
		v.is_hex = type->kind == CTF_INTEGER && type->base == 16;
	}
	if (!is_told && !t->cursor->failed)
		t->fn(t->arg, t->name.data, t->name.len, &v);
	t->name.len = len;
}

void ctf_event_values(const struct ctf_event *event, field_value_fn *fn, void *arg)
{
	struct ctf_cursor c = ctf_event_payload(event);
	struct teller t = {.cursor = &c, .name = STRBUF_INIT, .fn = fn, .arg = arg};

	if (event->class->fields)
		tell_members(&t, event->class->fields);
	strbuf_release(&t.name);
	vector_free(&t.items);
}
