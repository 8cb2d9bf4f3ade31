/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/hot_stacks.h"

#include "base/clock.h"
#include "engine/engine.h"

#define MOST_NAMED 300 /* the heaviest stacks, with different addresses */
#define MOST_SHOWN 50

/* A stack as counted in the kernel. key: in a map's view. */
struct weighed {
	const struct type *type;
	const u8 *key;
	u64 weight;
};

struct gathered {
	VECTOR(struct weighed) items;
	struct hashmap index; /* key -> index + 1 */
	u64 total;
};

static void set(struct engine *e, const char *name, u64 value)
{
	const u32 zero = 0;
	const struct open_map *const m = engine_find_map(e, name);

	if (m)
		map_update(m, &zero, &value);
}

void hot_stacks_watch(struct hot_stacks *s, struct engine *e, u32 id, bool by_thread,
		      const char *name)
{
	static const char *const maps[] = {"on", "off", "left", "at"};

	set(e, "watched", 0);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		map_clear(engine_find_map(e, maps[i]));
	set(e, "by_thread", by_thread);
	set(e, "watched", id);
	s->id = id;
	s->by_thread = by_thread;
	s->since_ns = s->now_ns = clock_now_ns(CLOCK_MONOTONIC);
	s->total = s->items.len = 0;
	snprintf(s->name, sizeof(s->name), "%s", name);
}

static void gather(struct gathered *g, const struct type *type, const u8 *key, u64 weight)
{
	bool is_new;
	void **const at = hashmap_put(&g->index, key, type->size, &is_new);

	g->total += weight;
	if (is_new) {
		vector_push(&g->items, ((struct weighed){type, key, weight}));
		*at = (void *)(uintptr_t)g->items.len;
	} else {
		g->items.items[(size_t)(uintptr_t)*at - 1].weight += weight;
	}
}

/* Threads that are off-CPU now: the stack where they left, and the time since. */
static void gather_absent(struct hot_stacks *s, struct gathered *g, struct engine *e,
			  const struct map_view *left)
{
	const struct open_map *const at = engine_find_map(e, "at");

	for (size_t i = 0; i < left->nrows; i++) {
		const u64 since = (u64)value_integer(left->value, left->rows[i].value);
		u8 *const key = arena_alloc(&s->arena, at->stride);

		if (!map_lookup(at, left->rows[i].key, key))
			gather(g, at->info->value, key, s->now_ns > since ? s->now_ns - since : 0);
	}
}

static int by_weight(const void *a, const void *b)
{
	const struct weighed *const x = a, *const y = b;

	return x->weight == y->weight ? 0 : x->weight > y->weight ? -1 : 1;
}

/* Leaves out the frames above the tracepoint, which are the tracer's. */
static const char *without_tracer(const char *frames)
{
	const char *const tracepoint = strstr(frames, "__traceiter_"),
			  *const end = tracepoint ? strchr(tracepoint, '\n') : NULL;

	return end ? end : frames;
}

/* The functions of a stack, without offsets. */
static const char *functions(struct hot_stacks *s, struct engine *e, const struct weighed *w,
			     u32 member)
{
	const struct type_member *const m = &w->type->members[member];
	struct strbuf text = STRBUF_INIT, lines = STRBUF_INIT;
	const char *result;

	value_text(&e->printer, &text, m->type, w->key + m->offset);
	for (const char *p = without_tracer(text.data); *(p += strspn(p, " \n"));) {
		const size_t n = strcspn(p, "\n");
		const char *const plus = memrchr(p, '+', n);
		const bool has_offset =
			plus && plus > p && plus + 1 + strspn(plus + 1, "0123456789") == p + n;

		strbuf_add(&lines, p, has_offset ? (size_t)(plus - p) : n);
		strbuf_addch(&lines, '\n');
		p += n;
	}
	result = arena_strdup(&s->arena, lines.data);
	strbuf_release(&text);
	strbuf_release(&lines);
	return result;
}

static int by_lines_weight(const void *a, const void *b)
{
	const struct stack_lines *const x = a, *const y = b;

	return x->weight == y->weight ? 0 : x->weight > y->weight ? -1 : 1;
}

/* Stacks that differ only in offsets become one. */
static void name_stacks(struct hot_stacks *s, struct engine *e, const struct gathered *g)
{
	struct hashmap index = {0};

	for (size_t i = 0; i < MIN(g->items.len, (size_t)MOST_NAMED); i++) {
		const struct weighed *const w = &g->items.items[i];
		const struct stack_lines l = {
			.weight = w->weight,
			.kernel = functions(s, e, w, 0),
			.user = functions(s, e, w, 1),
		};
		const char *const key = arena_printf(&s->arena, "%s\t%s", l.kernel, l.user);
		bool is_new;
		void **const at = hashmap_put(&index, key, strlen(key), &is_new);

		if (is_new) {
			vector_push(&s->items, l);
			*at = (void *)(uintptr_t)s->items.len;
		} else {
			s->items.items[(size_t)(uintptr_t)*at - 1].weight += l.weight;
		}
	}
	if (s->items.len)
		qsort(s->items.items, s->items.len, sizeof(struct stack_lines), by_lines_weight);
	s->items.len = MIN(s->items.len, (size_t)MOST_SHOWN);
	hashmap_release(&index);
}

void hot_stacks_read(struct hot_stacks *s, struct engine *e)
{
	const struct open_map *const m = engine_find_map(e, s->is_off ? "off" : "on");
	struct map_view counts = {0}, left = {0};
	struct gathered g = {0};

	s->items.len = 0;
	arena_release(&s->arena);
	s->now_ns = clock_now_ns(CLOCK_MONOTONIC);
	if (map_view_read(m, false, &counts))
		counts.nrows = 0;
	for (size_t i = 0; i < counts.nrows; i++)
		gather(&g, counts.key, counts.rows[i].key, counts.rows[i].total);
	if (s->is_off && !map_view_read(engine_find_map(e, "left"), false, &left))
		gather_absent(s, &g, e, &left);
	if (g.items.len)
		qsort(g.items.items, g.items.len, sizeof(struct weighed), by_weight);
	s->total = g.total;
	name_stacks(s, e, &g);
	map_view_release(&counts);
	map_view_release(&left);
	hashmap_release(&g.index);
	vector_free(&g.items);
}

void hot_stacks_release(struct hot_stacks *s)
{
	vector_free(&s->items);
	arena_release(&s->arena);
}
