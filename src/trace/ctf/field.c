/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ctf/field.h"

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
