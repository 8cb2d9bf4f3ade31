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
	const char *id = feed->root == ROOT_TID ? "tid" : "pid";
	const struct field_value comm = r->reader->value(r, "comm", false);
	const struct field_value number = r->reader->value(r, id, false);
	const bool has_number = feed->root != ROOT_COMM && number.kind == FIELD_INTEGER;
	const int size = comm.kind == FIELD_TEXT ? (int)comm.size : 0;
	const char *name;

	if (feed->root == ROOT_NONE || (!size && !has_number))
		return;
	name = has_number ? arena_printf(names, "%.*s %lld", size, comm.text,
					 (long long)number.integer)
			  : arena_strndup(names, comm.text, (size_t)size);
	vector_push(&feed->frames,
		    (struct flame_frame){.name = name, .len = strlen(name), .kind = FLAME_OTHER});
}

/* False: the event has no such number. */
static bool weight_of(const struct stack_feed *feed, struct recording *r, u64 *ret)
{
	struct field_value v;

	*ret = 1;
	if (!feed->weight)
		return true;
	v = r->reader->value(r, feed->weight, true);
	if (v.kind == FIELD_DECIMAL && v.decimal >= 0 && v.decimal < 0x1p64)
		*ret = (u64)v.decimal;
	else if (v.kind == FIELD_INTEGER && !(v.is_signed && (s64)v.integer < 0))
		*ret = v.integer;
	else
		return false;
	return true;
}

void stack_feed_add(struct stack_feed *feed, struct recording *r)
{
	struct arena names = ARENA_INIT;
	u64 weight;

	if (!weight_of(feed, r, &weight)) {
		feed->without_weight++;
	} else if (!recording_stack(r, &feed->stack)) {
		feed->without_stack++;
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
