/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/writers/stacks.h"

#include "base/escape.h"

/* ---- texts ---- */

u32 stacks_text_id(struct stacks *s, const char *text, size_t n)
{
	void **at = hashmap_put(&s->texts, text, n, NULL);

	if (!*at)
		*at = (void *)(uintptr_t)s->texts.len;
	return (u32)(uintptr_t)*at - 1;
}

const char *stacks_text(const struct stacks *s, u32 text, size_t *ret_size)
{
	const struct hashmap_entry *const e = &s->texts.entries[text];

	*ret_size = e->key_len;
	return e->key;
}

/* ---- names ---- */

/* Never without bytes, even where nothing is added. */
static void text_begin(struct stacks *s)
{
	if (!s->text.data)
		s->text = (struct strbuf)STRBUF_INIT;
	strbuf_reset(&s->text);
}

/* On one line, without what folded stacks cannot have: a ';' separates frames there. */
static u32 plain_text(struct stacks *s, const char *name, size_t n)
{
	text_begin(s);
	escape_line(&s->text, name, n);
	for (size_t i = 0; i < s->text.len; i++)
		if (s->text.data[i] == ';')
			s->text.data[i] = ':';
	return stacks_text_id(s, s->text.data, s->text.len);
}

/* Without a symbol: the file in brackets. */
static u32 object_name(struct stacks *s, const char *object)
{
	const char *const slash = object ? strrchr(object, '/') : NULL;
	char *const name = xasprintf("[%s]", slash ? slash + 1 : object ?: "unknown");
	const u32 text = plain_text(s, name, strlen(name));

	free(name);
	return text;
}

static u32 comm_text(struct stacks *s, const struct recorded_place *place)
{
	if (!place->comm)
		return stacks_text_id(s, "[unknown]", strlen("[unknown]"));
	text_begin(s);
	escape_line(&s->text, place->comm, place->comm_size);
	for (size_t i = 0; i < s->text.len; i++) {
		char *const c = &s->text.data[i];

		*c = *c == ' ' ? '_' : *c == ';' ? ':' : *c;
	}
	return stacks_text_id(s, s->text.data, s->text.len);
}

/* ---- frames ---- */

static u32 frame_new(struct stacks *s, const struct recorded_frame *f)
{
	const char *const object = f->object ?: "";
	struct stack_frame frame;
	void **at;

	memset(&frame, 0, sizeof(frame)); /* a key, with what lies between members */
	frame.name = f->symbol ? plain_text(s, f->symbol, strlen(f->symbol))
			       : object_name(s, str_eq(object, "[unknown]") ? NULL : f->object);
	frame.object = stacks_text_id(s, object, strlen(object));
	frame.address = s->by_address ? f->in_file : 0;
	frame.build_id = f->build_id && *f->build_id
				 ? stacks_text_id(s, f->build_id, strlen(f->build_id))
				 : 0;
	frame.is_kernel = f->is_kernel;
	frame.has_symbol = f->symbol;
	at = hashmap_put(&s->frame_ids, &frame, sizeof(frame), NULL);
	if (!*at) {
		vector_push(&s->frames, frame);
		*at = (void *)(uintptr_t)s->frames.len;
	}
	return (u32)(uintptr_t)*at - 1;
}

/* Strings of a recording stay where they are: the same pointers are the same frame. */
u32 stacks_frame(struct stacks *s, const struct recorded_frame *f)
{
	const u64 key[3] = {(uintptr_t)f->symbol, (uintptr_t)f->object,
			    (s->by_address ? f->in_file << 1 : 0) | f->is_kernel};
	void **at = hashmap_put(&s->known, key, sizeof(key), NULL);

	if (!*at)
		*at = (void *)(uintptr_t)(frame_new(s, f) + 1);
	return (u32)(uintptr_t)*at - 1;
}

/* ---- chains ---- */

static bool is_counted(struct stacks *s, struct trace_writer *w, struct recording *r)
{
	if (!recording_stack(r, &s->chain)) {
		writer_gap(w, "event without a call chain", "events without a call chain");
		return false;
	}
	if (!s->kind)
		s->kind = r->kind;
	if (s->kind != r->kind && !str_eq(s->kind->name, r->kind->name)) {
		writer_gap(w,
			   "event of another kind than the first one with a call chain; "
			   "-e chooses the kind",
			   "events of other kinds than the first one with a call chain; "
			   "-e chooses the kind");
		return false;
	}
	return true;
}

s64 stacks_add(struct stacks *s, struct trace_writer *w, struct recording *r, u64 *ret_weight)
{
	struct recorded_place place;
	bool is_new;
	void **at;

	if (!is_counted(s, w, r))
		return -1;
	place = recording_place(r);
	*ret_weight = place.period ?: 1;
	s->is_sampled |= place.period != 0;
	s->key.len = 0;
	vector_push(&s->key, comm_text(s, &place));
	for (size_t i = s->chain.len; i--;)
		vector_push(&s->key, stacks_frame(s, &s->chain.items[i]));
	at = hashmap_put(&s->entries, s->key.items, s->key.len * sizeof(u32), &is_new);
	if (is_new) {
		vector_push(&s->counts, (struct stack_count){0});
		*at = (void *)(uintptr_t)s->counts.len;
	}
	s->counts.items[(uintptr_t)*at - 1].samples++;
	s->counts.items[(uintptr_t)*at - 1].weight += *ret_weight;
	return (s64)(uintptr_t)*at - 1;
}

bool stacks_is_time(const struct stacks *s)
{
	const char *const name = s->kind ? s->kind->name : "";

	return s->is_sampled && (str_starts(name, "cpu-clock") || str_starts(name, "task-clock"));
}

struct stack_entry stacks_entry(const struct stacks *s, size_t i)
{
	const struct hashmap_entry *const e = &s->entries.entries[i];
	const u32 *const key = e->key;

	return (struct stack_entry){key[0], key + 1, e->key_len / sizeof(u32) - 1,
				    s->counts.items[i]};
}

void stacks_release(struct stacks *s)
{
	hashmap_release(&s->entries);
	hashmap_release(&s->texts);
	hashmap_release(&s->frame_ids);
	hashmap_release(&s->known);
	vector_free(&s->chain);
	vector_free(&s->key);
	vector_free(&s->frames);
	vector_free(&s->counts);
	strbuf_release(&s->text);
}
