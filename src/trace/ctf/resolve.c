/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second half of reading metadata: byte orders, references between scopes, options of variants,
 * events to streams. */
#include "trace/ctf/metadata.h"

#define SMALL_ID  4096
#define DEPTH_MAX 64
#define WEIGHT_MAX \
	(1u << 20) /* small text can describe a value without end: structs of structs of structs \
		    */

struct resolver {
	struct ctf_metadata *m;
	struct diag *d;
	struct ctf_stream_class *stream;
	struct ctf_event_class *event;
	bool failed;
};

static void fail(struct resolver *r, const char *what, const char *name)
{
	if (!r->failed)
		diag_error(r->d, NO_SPAN, "metadata: %s '%.200s'", what, name);
	r->failed = true;
}

/* The field that an absolute path ("stream.event.context._len") names. */
static struct ctf_field *absolute(struct resolver *r, const char *path)
{
	const struct {
		const char *prefix;
		const struct ctf_type *type;
	} scopes[] = {
		{"trace.packet.header.", r->m->packet_header},
		{"stream.packet.context.", r->stream ? r->stream->packet_context : NULL},
		{"stream.event.header.", r->stream ? r->stream->event_header : NULL},
		{"stream.event.context.", r->stream ? r->stream->event_context : NULL},
		{"event.context.", r->event ? r->event->context : NULL},
		{"event.fields.", r->event ? r->event->fields : NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		const struct ctf_type *t = scopes[i].type;
		struct ctf_field *f = NULL;
		const char *rest = path + strlen(scopes[i].prefix);

		if (!t || !str_starts(path, scopes[i].prefix))
			continue;
		while (t && t->kind == CTF_STRUCT) {
			const size_t n = strcspn(rest, ".");

			f = NULL;
			for (u32 j = 0; j < t->count && !f; j++)
				if (!strncmp(t->fields[j].name, rest, n) && !t->fields[j].name[n])
					f = &t->fields[j];
			if (!f || !rest[n])
				return f;
			rest += n + 1;
			t = f->type;
		}
	}
	return NULL;
}

static void options_bind(struct resolver *r, struct ctf_type *t)
{
	s32 *options;

	if (t->option_of)
		return;
	options = arena_new_array(&r->m->arena, s32, t->tag->count + 1);
	for (u32 i = 0; i < t->tag->count; i++) {
		options[i] = -1;
		for (u32 j = 0; j < t->count; j++)
			if (str_eq(t->fields[j].name, t->tag->mappings[i].label) ||
			    (t->fields[j].name[0] == '_' &&
			     str_eq(t->fields[j].name + 1, t->tag->mappings[i].label)))
				options[i] = (s32)j;
	}
	t->option_of = options;
}

/* How long a value is at least, and how much work: a hostile description must not cost more than
 * the data is long. */
static void measure(struct resolver *r, struct ctf_type *t)
{
	u64 weight = 1, least = 0;

	switch (t->kind) {
	case CTF_STRUCT:
		for (u32 i = 0; i < t->count; i++) {
			weight += t->fields[i].type->weight;
			least += t->fields[i].type->least;
		}
		break;
	case CTF_VARIANT:
		least = t->count ? UINT32_MAX : 0;
		for (u32 i = 0; i < t->count; i++) {
			weight = MAX(weight, 1 + (u64)t->fields[i].type->weight);
			least = MIN(least, t->fields[i].type->least);
		}
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		weight += t->element->weight;
		least = t->kind == CTF_ARRAY ? (u64)t->count * t->element->least : 0;
		if (!t->element->least)
			fail(r, "an array of what has no size in",
			     r->event ? r->event->name : "a stream");
		break;
	case CTF_STRING:
		least = 8;
		break;
	default:
		least = t->size;
	}
	if (weight > WEIGHT_MAX)
		fail(r, "a type that is too large in", r->event ? r->event->name : "a stream");
	t->weight = (u32)MIN(weight, WEIGHT_MAX);
	t->least = (u32)MIN(least, UINT32_MAX);
}

/* Types are not const to this file: it finishes them. */
static void resolve(struct resolver *r, const struct ctf_type *given, int depth)
{
	struct ctf_type *t = (struct ctf_type *)given;

	if (!t || r->failed || t->weight)
		return;
	if (depth > DEPTH_MAX) {
		fail(r, "types nested too deeply in", r->event ? r->event->name : "a stream");
		return;
	}
	if (t->byte_order == CTF_NATIVE)
		t->byte_order = r->m->byte_order == CTF_BIG ? CTF_BIG : CTF_LITTLE;
	if (t->reference && t->reference_slot == CTF_NO_SLOT) {
		struct ctf_field *f = absolute(r, t->reference);

		if (!f || (f->type->kind != CTF_ENUM &&
			   (f->type->kind != CTF_INTEGER || t->kind == CTF_VARIANT))) {
			fail(r, "no length or tag", t->reference);
			return;
		}
		if (f->slot == CTF_NO_SLOT)
			f->slot = r->m->nr_slots++;
		t->reference_slot = f->slot;
		t->tag = f->type;
	}
	if (t->kind == CTF_VARIANT) {
		if (!t->tag) {
			fail(r, "a variant without a tag in",
			     r->event ? r->event->name : "a stream");
			return;
		}
		options_bind(r, t);
	}
	if (t->kind == CTF_STRUCT || t->kind == CTF_VARIANT)
		for (u32 i = 0; i < t->count; i++)
			resolve(r, t->fields[i].type, depth + 1);
	else
		resolve(r, t->element, depth + 1);
	if (!r->failed)
		measure(r, t);
}

static void index_events(struct ctf_metadata *m, struct ctf_stream_class *s)
{
	u64 most = 0;

	for (size_t i = 0; i < s->events.len; i++)
		if (s->events.items[i]->id < SMALL_ID)
			most = MAX(most, s->events.items[i]->id + 1);
	s->nr_by_id = (u32)most;
	s->by_id = arena_new_array(&m->arena, struct ctf_event_class *, most + 1);
	for (size_t i = 0; i < s->events.len; i++)
		if (s->events.items[i]->id < most)
			s->by_id[s->events.items[i]->id] = s->events.items[i];
}

int ctf_metadata_resolve(struct ctf_metadata *m, struct diag *d)
{
	struct resolver r = {.m = m, .d = d};

	if (!m->streams.len) /* a trace may leave it out: one stream, one kind of event header: none
			      */
		vector_push(&m->streams, arena_new(&m->arena, struct ctf_stream_class));
	resolve(&r, m->packet_header, 0);
	for (size_t i = 0; i < m->streams.len; i++) {
		r.stream = m->streams.items[i];
		resolve(&r, r.stream->packet_context, 0);
		resolve(&r, r.stream->event_header, 0);
		resolve(&r, r.stream->event_context, 0);
	}
	for (size_t i = 0; i < m->all_events.len; i++) {
		struct ctf_event_class *e = m->all_events.items[i];

		e->stream = ctf_metadata_stream(m, e->stream_id);
		if (!e->stream) {
			fail(&r, "no stream for event", e->name);
			break;
		}
		r.stream = e->stream;
		r.event = e;
		resolve(&r, e->context, 0);
		resolve(&r, e->fields, 0);
		vector_push(&e->stream->events, e);
	}
	for (size_t i = 0; i < m->streams.len; i++)
		index_events(m, m->streams.items[i]);
	return r.failed ? -EINVAL : 0;
}

struct ctf_stream_class *ctf_metadata_stream(const struct ctf_metadata *m, u64 id)
{
	for (size_t i = 0; i < m->streams.len; i++)
		if (m->streams.items[i]->id == id)
			return m->streams.items[i];
	return NULL;
}

struct ctf_event_class *ctf_stream_event(const struct ctf_stream_class *s, u64 id)
{
	if (id < s->nr_by_id)
		return s->by_id[id];
	for (size_t i = 0; i < s->events.len; i++)
		if (s->events.items[i]->id == id)
			return s->events.items[i];
	return NULL;
}

const struct ctf_clock *ctf_metadata_clock(const struct ctf_metadata *m, const char *name)
{
	for (size_t i = 0; i < m->clocks.len; i++)
		if (str_eq(m->clocks.items[i]->name, name))
			return m->clocks.items[i];
	return NULL;
}

const struct ctf_env *ctf_metadata_env(const struct ctf_metadata *m, const char *name)
{
	for (size_t i = 0; i < m->env.len; i++)
		if (str_eq(m->env.items[i].name, name))
			return &m->env.items[i];
	return NULL;
}

void ctf_metadata_release(struct ctf_metadata *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->streams.len; i++)
		vector_free(&m->streams.items[i]->events);
	vector_free(&m->streams);
	vector_free(&m->all_events);
	vector_free(&m->clocks);
	vector_free(&m->env);
	arena_release(&m->arena);
	free(m);
}
