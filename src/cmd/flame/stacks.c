/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains of recorded events as stacks of a flame graph. */
#include <stdio.h>

#include "base/vector.h"
#include "cmd/flame/flame.h"

/* What flamegraph.pl's inputs put behind names: main_[k] */
static const struct {
	char letter;
	enum flame_kind kind;
} suffixes[] = {{'k', FLAME_KERNEL}, {'i', FLAME_INLINED}, {'j', FLAME_COMPILED}};

static enum flame_kind kind_of_suffix(const char *name, size_t *len)
{
	const char *end = name + *len;

	if (*len < 5 || end[-4] != '_' || end[-3] != '[' || end[-1] != ']')
		return FLAME_OTHER;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (suffixes[i].letter == end[-2]) {
			*len -= 4;
			return suffixes[i].kind;
		}
	return FLAME_OTHER;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static enum flame_kind kind_of_object(const struct recorded_frame *frame)
{
	if (frame->is_kernel)
		return FLAME_KERNEL;
	if (!frame->object)
		return FLAME_OTHER;
	if (str_starts(frame->object, "//anon") || str_starts(frame->object, "/tmp/perf-"))
		return FLAME_COMPILED;
	return strstr(base_of(frame->object), ".so") || *frame->object == '[' ? FLAME_LIBRARY
									      : FLAME_USER;
}

/* Without a symbol it is its file, as stackcollapse-perf.pl has it; "[vdso]" stays so. */
static void add_frame(struct stack_feed *feed, const struct recorded_frame *frame,
		      struct arena *names)
{
	const char *name = frame->symbol;
	struct flame_frame out;

	if (!name)
		name = !frame->object ? "[unknown]"
		       : *frame->object == '['
			       ? frame->object
			       : arena_printf(names, "[%s]", base_of(frame->object));
	out = (struct flame_frame){.name = name, .len = strlen(name)};
	out.kind = kind_of_suffix(out.name, &out.len);
	if (out.kind == FLAME_OTHER)
		out.kind = kind_of_object(frame);
	vector_push(&feed->frames, out);
}

static void add_root(struct stack_feed *feed, struct recording *r, struct arena *names)
{
	const struct recorded_place place = recording_place(r);
	const s64 number = feed->root == ROOT_TID ? place.tid : place.pid;
	const bool has_number = feed->root != ROOT_COMM && number >= 0;
	const char *name;

	if (feed->root == ROOT_NONE || (!place.comm && !has_number))
		return;
	name = arena_text(names, place.comm ?: "", place.comm ? place.comm_size : 0);
	if (has_number)
		name = arena_printf(names, "%s %lld", name, (long long)number);
	vector_push(&feed->frames,
		    (struct flame_frame){.name = name, .len = strlen(name), .kind = FLAME_OTHER});
}

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
static bool weight_of(struct stack_feed *feed, struct recording *r, u64 *ret)
{
	u64 period;

	*ret = 1;
	if (feed->weight)
		return field_weight(r, feed->weight, ret);
	period = feed->counts ? 0 : recording_place(r).period;
	feed->has_periods |= period != 0;
	*ret = period ?: 1;
	return true;
}

static bool is_kind(struct stack_feed *feed, const struct recording *r)
{
	if (!feed->kind)
		feed->kind = r->kind->name;
	return feed->kind == r->kind->name || str_eq(feed->kind, r->kind->name);
}

void stack_feed_add(struct stack_feed *feed, struct recording *r)
{
	struct arena names = ARENA_INIT;
	u64 weight;

	if (!recording_stack(r, &feed->stack)) {
		feed->without_stack++;
	} else if (!is_kind(feed, r)) {
		feed->other_kinds++;
	} else if (!weight_of(feed, r, &weight)) {
		feed->without_weight++;
	} else {
		feed->frames.len = 0;
		add_root(feed, r, &names);
		for (size_t i = feed->stack.len; i-- > 0;)
			add_frame(feed, &feed->stack.items[i], &names);
		feed->taken++;
		feed->is_full |= !flame_add(feed->flame, feed->frames.items, feed->frames.len,
					    weight, feed->side);
	}
	arena_release(&names);
}

void stack_feed_release(struct stack_feed *feed)
{
	vector_free(&feed->stack);
	vector_free(&feed->frames);
}
