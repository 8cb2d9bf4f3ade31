/* SPDX-License-Identifier: GPL-2.0-or-later */
/* print(@m), clear(@m), zero(@m) and the maps at the end of a run. */
#include "engine/actions.h"

static struct open_map *action_map(struct engine *e, const struct action *a)
{
	return a->map < e->script->maps.len ? &e->maps[a->map] : NULL;
}

static void map_failed(struct engine *e, const struct open_map *m, const char *what, int err)
{
	diag_warning(e->env->diag, NO_SPAN, "cannot %s the map @%s: %s", what, m->info->name,
		     strerror(-err));
	action_print_diagnostics(e);
}

static void print_map(struct engine *e, const struct open_map *m, bool remove, bool with_empty,
		      const struct map_print_options *options)
{
	struct map_view view;
	int err = map_view_read(m, remove, &view);
	bool is_histogram = type_is_histogram(m->info->value);

	if (err < 0)
		map_failed(e, m, "read", err);
	else if (view.nrows || (with_empty && !is_histogram)) {
		map_view_arrange(&view, options->top);
		map_view_print(&e->printer, e->out, &view, options);
	}
	map_view_release(&view);
}

/*
 * print(@m); clear(@m); is how scripts report an interval. Done one after the other, updates in
 * between would be lost; so when the clear() is already there the elements are taken out of the map
 * as they are read.
 */
void do_print_map(struct engine *e, const struct record *r)
{
	struct map_print_options options = {.top = record_u64(r, 0), .divisor = record_u64(r, 1)};
	struct open_map *m = action_map(e, r->action);
	bool remove;

	if (!m)
		return;
	remove = r->next && r->next->kind == ACTION_CLEAR && r->next->map == r->action->map &&
		 !m->is_array;
	print_map(e, m, remove, true, &options);
	if (remove)
		e->prefetched_clear = r->action->map + 1;
}

void do_print_map_key(struct engine *e, const struct record *r)
{
	const struct type *t = r->action->payload;
	struct open_map *m = action_map(e, r->action);
	struct map_row row;
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
	if (e->out->is_json) {
		strbuf_addstr(&e->out->text, "{\"type\": \"value\", \"data\": ");
		map_value_json(&e->printer, &e->out->text, m->info->value, &row, 1);
		strbuf_addstr(&e->out->text, "}\n");
	} else {
		map_value_text(&e->printer, &e->out->text, m->info->value, &row, 1);
		strbuf_addch(&e->out->text, '\n');
	}
	free(value);
}

void do_clear(struct engine *e, const struct record *r)
{
	struct open_map *m = action_map(e, r->action);
	bool done = e->prefetched_clear == r->action->map + 1;
	int err;

	e->prefetched_clear = 0;
	if (!m || done)
		return;
	err = map_clear(m);
	if (err < 0)
		map_failed(e, m, "clear", err);
}

void do_zero(struct engine *e, const struct record *r)
{
	struct open_map *m = action_map(e, r->action);
	int err = m ? map_zero(m) : 0;

	if (err < 0)
		map_failed(e, m, "zero", err);
}

void do_table(struct engine *e, const struct record *r)
{
	struct open_map *m = action_map(e, r->action);
	struct map_view view;
	int err;

	if (!m)
		return;
	err = map_view_read(m, false, &view);
	if (err < 0)
		map_failed(e, m, "read", err);
	else {
		map_view_arrange(&view, record_u64(r, 0));
		row_table(e->rows, &e->printer, e->out, &r->action->format, &view,
			  record_u64(r, 0));
	}
	map_view_release(&view);
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
		if (e->script->maps.items[i].role == MAP_USER && e->script->maps.items[i].value)
			sorted[n++] = &e->maps[i];
	qsort(sorted, n, sizeof(*sorted), by_name);
	if (!e->out->is_json && (n || e->options->is_compatible))
		strbuf_addstr(&e->out->text, "\n\n");
	for (size_t i = 0; i < n; i++)
		print_map(e, sorted[i], false, false, &all);
	free(sorted);
}
