/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/stacks.h"

/* ---- texts ---- */

static u32 text_number(struct stacks *s, const char *text, size_t n)
{
	void **at = hashmap_put(&s->texts, text, n, NULL);

	if (!*at)
		*at = (void *)(uintptr_t)s->texts.len;
	return (u32)(uintptr_t)*at - 1;
}

u32 stacks_text_id(struct stacks *s, const char *text, size_t n)
{
	if (!s->texts.len)
		text_number(s, "", 0);
	return text_number(s, text, n);
}

const char *stacks_text(const struct stacks *s, u32 text, size_t *ret_size)
{
	const struct hashmap_entry *const e = &s->texts.entries[text];

	*ret_size = e->key_len;
	return e->key;
}

static u32 text_of(struct stacks *s, const char *text)
{
	return stacks_text_id(s, text, strlen(text));
}

static void text_begin(struct stacks *s)
{
	if (!s->text.data)
		s->text = (struct strbuf)STRBUF_INIT;
	strbuf_reset(&s->text);
}

/* Without a symbol it is its file in brackets, as stackcollapse-perf.pl has it. */
static u32 name_of(struct stacks *s, const struct recorded_frame *f)
{
	const char *slash;

	if (f->symbol || !f->object || str_eq(f->object, "[unknown]"))
		return text_of(s, f->symbol ?: "[unknown]");
	slash = strrchr(f->object, '/');
	text_begin(s);
	strbuf_addf(&s->text, "[%s]", slash && slash[1] ? slash + 1 : f->object);
	return stacks_text_id(s, s->text.data, s->text.len);
}

static u32 root_of(struct stacks *s, const struct recorded_place *place)
{
	const s64 number = s->root == STACKS_TID ? place->tid : place->pid;
	const char *const comm = place->comm ?: "[unknown]";
	const size_t size = place->comm ? place->comm_size : strlen(comm);

	if (s->root == STACKS_NONE)
		return stacks_text_id(s, "", 0);
	if (s->root == STACKS_COMM || number < 0)
		return stacks_text_id(s, comm, size);
	text_begin(s);
	strbuf_add(&s->text, comm, size);
	strbuf_addf(&s->text, " %lld", (long long)number);
	return stacks_text_id(s, s->text.data, s->text.len);
}

/* ---- frames ---- */

static u32 frame_new(struct stacks *s, const struct recorded_frame *f)
{
	struct stack_frame frame;
	void **at;

	memset(&frame, 0, sizeof(frame)); /* a key, with what lies between members */
	frame.name = name_of(s, f);
	frame.object = text_of(s, f->object ?: "");
	frame.address = s->by_address ? f->in_file : 0;
	frame.build_id = text_of(s, f->build_id ?: "");
	frame.is_kernel = f->is_kernel;
	frame.is_inlined = f->is_inlined;
	frame.has_symbol = f->symbol;
	at = hashmap_put(&s->frame_ids, &frame, sizeof(frame), NULL);
	if (!*at) {
		vector_push(&s->frames, frame);
		*at = (void *)(uintptr_t)s->frames.len;
	}
	return (u32)(uintptr_t)*at - 1;
}

/* Strings of a recording stay where they are: the same pointers are the same frame. */
struct frame_key {
	u64 symbol, object, address, flags;
};

static struct frame_key key_of(const struct stacks *s, const struct recorded_frame *f)
{
	return (struct frame_key){(uintptr_t)f->symbol, (uintptr_t)f->object,
				  s->by_address ? f->in_file : 0,
				  (u64)f->is_inlined << 1 | f->is_kernel};
}

u32 stacks_frame(struct stacks *s, const struct recorded_frame *f)
{
	const struct frame_key key = key_of(s, f);
	void **at = hashmap_put(&s->known, &key, sizeof(key), NULL);

	if (!*at)
		*at = (void *)(uintptr_t)(frame_new(s, f) + 1);
	return (u32)(uintptr_t)*at - 1;
}

/* ---- weights ---- */

/* False: the event has no such number. */
static bool field_weight(struct recording *r, const char *field, u64 *ret)
{
	const struct field_value v = r->reader->value(r, field, true);

	if (v.kind == FIELD_DECIMAL && v.decimal >= 0 && v.decimal < 0x1p64)
		*ret = (u64)v.decimal;
	else if (v.kind == FIELD_INTEGER && !(v.is_signed && (s64)v.integer < 0))
		*ret = v.integer;
	else
		return false;
	return true;
}

/* A sample stands for as many events as its period says. */
static bool weight_of(struct stacks *s, struct recording *r, const struct recorded_place *place,
		      u64 *ret)
{
	if (s->weight)
		return field_weight(r, s->weight, ret);
	if (s->counts)
		*ret = place->samples;
	else if (r->kind->unit || place->period)
		*ret = place->period;
	else
		*ret = 1;
	s->is_sampled |= !s->counts && (r->kind->unit || place->period);
	return true;
}

const char *stacks_unit(const struct stacks *s)
{
	const bool is_time = s->is_sampled && (str_starts(s->kind, "cpu-clock") ||
					       str_starts(s->kind, "task-clock"));

	return s->is_sampled && s->unit ? s->unit : is_time ? "nanoseconds" : "";
}

/* ---- chains ---- */

static bool is_kind(struct stacks *s, const struct recording *r)
{
	if (!s->kind)
		s->kind = r->kind->name;
	return s->kind == r->kind->name || str_eq(s->kind, r->kind->name);
}

static bool is_same_frame(const struct stacks *s, const struct recorded_frame *a,
			  const struct recorded_frame *b)
{
	const struct frame_key x = key_of(s, a), y = key_of(s, b);

	return !memcmp(&x, &y, sizeof(x));
}

/* The frame that is so many further in than the outermost. */
static const struct recorded_frame *frame_at(const struct recorded_stack *chain, size_t depth)
{
	return &chain->items[chain->len - 1 - depth];
}

/* Outer frames are mostly those of the event before, whose numbers are in the key. */
static void take_chain(struct stacks *s, u32 root)
{
	const struct recorded_stack before = s->before, now = s->chain;
	size_t depth = 0;

	while (depth < now.len && depth < before.len &&
	       is_same_frame(s, frame_at(&now, depth), frame_at(&before, depth)))
		depth++;
	vector_reserve(&s->key, 1 + now.len);
	s->key.items[0] = root;
	for (s->key.len = 1 + depth; depth < now.len; depth++)
		vector_push(&s->key, stacks_frame(s, frame_at(&now, depth)));
	s->before = now;
	s->chain = before;
}

static bool has_chain(struct stacks *s, struct recording *r)
{
	return recording_stack(r, &s->chain) &&
	       (!s->only_calls || r->kind->is_sample || s->chain.len > 1);
}

bool stacks_read(struct stacks *s, struct recording *r, u64 *ret_weight)
{
	struct recorded_place place;

	if (!has_chain(s, r)) {
		s->without_stack++;
		return false;
	}
	if (!is_kind(s, r)) {
		s->other_kinds++;
		return false;
	}
	place = recording_place(r);
	if (!weight_of(s, r, &place, ret_weight)) {
		s->without_weight++;
		return false;
	}
	if (*ret_weight > UINT64_MAX - s->sum) {
		s->is_full = true;
		return false;
	}
	s->sum += *ret_weight;
	s->samples = place.samples;
	s->unit = r->kind->unit;
	s->taken++;
	take_chain(s, root_of(s, &place));
	return true;
}

s64 stacks_add(struct stacks *s, struct recording *r, u64 *ret_weight)
{
	bool is_new;
	void **at;

	if (!stacks_read(s, r, ret_weight))
		return -1;
	at = hashmap_put(&s->entries, s->key.items, s->key.len * sizeof(u32), &is_new);
	if (is_new) {
		vector_push(&s->counted, (struct stack_count){0});
		*at = (void *)(uintptr_t)s->counted.len;
	}
	s->counted.items[(uintptr_t)*at - 1].samples += s->samples;
	s->counted.items[(uintptr_t)*at - 1].weight += *ret_weight;
	return (s64)(uintptr_t)*at - 1;
}

struct stack_entry stacks_entry(const struct stacks *s, size_t i)
{
	const struct hashmap_entry *const e = &s->entries.entries[i];
	const u32 *const key = e->key;

	return (struct stack_entry){key[0], key + 1, e->key_len / sizeof(u32) - 1,
				    s->counted.items[i]};
}

void stacks_release(struct stacks *s)
{
	hashmap_release(&s->entries);
	hashmap_release(&s->texts);
	hashmap_release(&s->frame_ids);
	hashmap_release(&s->known);
	vector_free(&s->chain);
	vector_free(&s->before);
	vector_free(&s->key);
	vector_free(&s->frames);
	vector_free(&s->counted);
	strbuf_release(&s->text);
}
