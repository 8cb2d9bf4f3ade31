/* SPDX-License-Identifier: GPL-2.0-or-later */
/* print(@m), clear(@m), zero(@m) and the maps at the end of a run. */
#include <time.h>

#include "base/clock.h"
#include "engine/actions.h"
#include "engine/in_process_maps.h"
#include "engine/map_switch.h"
#include "lang/check/thread_local.h"

static struct open_map *action_map(struct engine *e, const struct action *a)
{
	return a->map < e->script->maps.len ? &e->maps[a->map] : NULL;
}

void engine_map_failed(struct engine *e, const struct open_map *m, const char *what, int err)
{
	diag_warning(e->env->diag, NO_SPAN, "cannot %s the map @%s: %s", what, m->info->name,
		     strerror(-err));
	action_print_diagnostics(e);
}

static void show_map(struct engine *e, const struct open_map *m, struct map_view *view, int err,
		     bool with_empty, const struct map_print_options *options)
{
	if (err < 0)
		engine_map_failed(e, m, "read", err);
	else if (view->nrows || (with_empty && !type_is_bucketed(m->info->value))) {
		map_view_arrange(view, options->top);
		map_view_print(&e->printer, e->out, view, options);
	}
	map_view_release(view);
}

static void print_map(struct engine *e, const struct open_map *m, bool remove, bool with_empty,
		      const struct map_print_options *options)
{
	struct map_view view;
	int err = map_view_read(m, remove, &view);

	show_map(e, m, &view, err, with_empty, options);
}

/* What the action shows: taken out of the map if a clear() or zero() follows. */
static int read_map(struct engine *e, const struct action *a, struct map_view *ret)
{
	if ((a->clears | a->zeroes) & 1)
		return engine_take_map(e, a->map, a->zeroes & ~a->clears & 1, ret);
	return map_view_read(&e->maps[a->map], false, ret);
}

/* For the columns of a page's heat map: when the histogram behind this line was printed. */
static void add_time_of_print(struct engine *e)
{
	const u64 ns = e->recorded_ns ?: clock_now_ns(CLOCK_REALTIME);

	strbuf_reset(&e->text);
	time_text(&e->text, "%H:%M:%S", ns);
	strbuf_addf(&e->text, ".%03u", (u32)(ns / 1000000 % 1000));
	action_text(e, "printed", e->text.data, e->text.len, false);
}

void do_print_map(struct engine *e, const struct record *r)
{
	struct map_print_options options = {.top = record_u64(r, 0), .divisor = record_u64(r, 1)};
	struct open_map *m = action_map(e, r->action);
	struct map_view view;
	int err;

	if (!m)
		return;
	err = read_map(e, r->action, &view);
	if (e->out->held_most && type_is_bucketed(m->info->value))
		add_time_of_print(e);
	show_map(e, m, &view, err, true, &options);
}

void do_print_map_key(struct engine *e, const struct record *r)
{
	const struct type *t = r->action->payload;
	struct open_map *m = action_map(e, r->action);
	struct map_row row;
	struct medium to;
	struct json j;
	u8 *value;

	if (!m || !t || !t->count)
		return;
	if (t->count > 1) {
		action_print_value(e, t->members[1].type, r->payload + t->members[1].offset);
		return;
	}
	if (t->members[0].type->size < m->info->key_size)
		return;
	value = xzalloc(m->stride);
	map_row_read(m, r->payload + t->members[0].offset, value, &row); /* absent: zeros */
	if (!row.value)
		row.value = value;
	to = action_value_begin(e, &j);
	map_value_add(&e->printer, &to, m->info->value, &row, 1);
	action_value_end(&to);
	free(value);
}

void do_clear(struct engine *e, const struct record *r)
{
	struct open_map *m = action_map(e, r->action);
	struct map_view ignored = {0};
	int err;

	if (!m)
		return;
	if (m->info->switched) {
		err = engine_take_map(e, r->action->map, false, &ignored);
		map_view_release(&ignored);
	} else {
		err = map_clear(m);
	}
	if (err < 0)
		engine_map_failed(e, m, "clear", err);
}

void do_zero(struct engine *e, const struct record *r)
{
	struct open_map *m = action_map(e, r->action);
	int err = m && !map_switch_is_answered(e, m) ? map_zero(m) : 0;

	if (err < 0)
		engine_map_failed(e, m, "zero", err);
}

void do_table(struct engine *e, const struct record *r)
{
	struct open_map *m = action_map(e, r->action);
	struct map_view view;
	int err;

	if (!m)
		return;
	err = read_map(e, r->action, &view);
	if (err < 0)
		engine_map_failed(e, m, "read", err);
	else {
		map_view_arrange(&view, record_u64(r, 0));
		if (r->action->separator)
			row_ranges(e->rows, &e->printer, e->out, r->action->separator, &view);
		else
			row_table(e->rows, &e->printer, e->out, &r->action->format, &view,
				  record_u64(r, 0));
	}
	map_view_release(&view);
}

/* ---- how maps are shown from now on ---- */

static void delete_row(const struct open_map *m, const struct map_row *row, u8 *key)
{
	u64 bucket;

	if (!m->info->is_bucketed) {
		map_delete(m, row->key);
		in_process_delete(m, row->key);
		return;
	}
	memset(key, 0, m->info->key_size);
	memcpy(key, row->key, m->info->key_size - 8);
	for (bucket = 0; bucket < row->nbuckets; bucket++) {
		if (!row->buckets[bucket])
			continue;
		memcpy(key + m->info->key_size - 8, &bucket, 8);
		map_delete(m, key);
		in_process_delete(m, key);
	}
}

void do_trunc(struct engine *e, const struct record *r)
{
	struct open_map *m = action_map(e, r->action);
	const s64 keep = (s64)record_u64(r, 0);
	const u64 n = keep < 0 ? -(u64)keep : (u64)keep;
	struct map_view view = {0};
	size_t first, last;
	u8 *key;
	u64 normal;
	int err;

	if (!m || m->is_array)
		return;
	normal = m->normal;
	m->normal = 0;
	err = map_view_read(m, false, &view);
	m->normal = normal;
	if (err < 0)
		engine_map_failed(e, m, "read", err);
	/* Ascending: the largest are the last. */
	first = keep < 0 ? (size_t)MIN(n, view.nrows) : 0;
	last = keep < 0 ? view.nrows : view.nrows - (size_t)MIN(n, view.nrows);
	key = xzalloc(m->info->key_size);
	for (size_t i = first; i < last; i++)
		delete_row(m, &view.rows[i], key);
	free(key);
	map_view_release(&view);
}

void do_normalize(struct engine *e, const struct record *r)
{
	struct open_map *m = action_map(e, r->action);
	const s64 by = (s64)record_u64(r, 0);

	if (!m)
		return;
	if (by > 0) {
		m->normal = (u64)by;
		return;
	}
	diag_warning(e->env->diag, r->action->span,
		     "normalize(@%s, %" PRId64 "): the divisor must be at least 1; ignored",
		     m->info->name, by);
	action_print_diagnostics(e);
}

void do_sort(struct engine *e, const struct record *r)
{
	struct open_map *m = action_map(e, r->action);

	if (!m)
		return;
	m->order = record_u64(r, 0) == ORDER_KEY ? ORDER_KEY : ORDER_VALUE;
	m->is_descending = record_u64(r, 1);
}

static int by_name(const void *a, const void *b)
{
	const struct open_map *const *x = a, *const *y = b;

	return strcmp((*x)->info->name, (*y)->info->name);
}

void engine_print_maps(struct engine *e)
{
	const struct open_map **sorted =
		xreallocarray(NULL, e->script->maps.len + 1, sizeof(*sorted));
	static const struct map_print_options all = {0};
	size_t n = 0;

	for (size_t i = 0; i < e->script->maps.len; i++)
		if (e->script->maps.items[i].role == MAP_USER && e->script->maps.items[i].value &&
		    !thread_local_is(e->script->maps.items[i].name))
			sorted[n++] = &e->maps[i];
	qsort(sorted, n, sizeof(*sorted), by_name);
	if (!e->out->is_json && (n || e->options->is_compatible))
		strbuf_addstr(&e->out->text, "\n\n");
	for (size_t i = 0; i < n; i++)
		print_map(e, sorted[i], false, false, &all);
	free(sorted);
}
