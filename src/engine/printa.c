/* SPDX-License-Identifier: GPL-2.0-or-later */
/* printa(): maps side by side, joined by their keys, each row through a format. */
#include "engine/actions.h"
#include "view/printf_text.h"
#include "engine/map_switch.h"

struct join {
	struct engine *e;
	const struct action *action;
	struct map_view *views;
	struct hashmap *rows; /* per map: key -> row + 1 */
	u32 n, key_size;
	u8 *zeros;
};

static const u8 *key_of(const struct map_row *row)
{
	return row->key ? row->key : (const u8 *)"";
}

static void index_rows(struct join *j, u32 map)
{
	for (size_t i = 0; i < j->views[map].nrows; i++)
		*hashmap_put(&j->rows[map], key_of(&j->views[map].rows[i]), j->key_size, NULL) =
			(void *)(uintptr_t)(i + 1);
}

/* Keys that only other maps have: 0 in the first, which gives the order. */
static void complete_first(struct join *j)
{
	struct map_view *first = &j->views[0];
	size_t cap = first->nrows;

	for (u32 map = 1; map < j->n; map++) {
		for (size_t i = 0; i < j->views[map].nrows; i++) {
			const struct map_row *row = &j->views[map].rows[i];
			bool is_new;

			hashmap_put(&j->rows[0], key_of(row), j->key_size, &is_new);
			if (!is_new)
				continue;
			if (first->nrows >= cap) {
				cap = MAX(cap * 2, (size_t)16);
				first->rows = xreallocarray(first->rows, cap, sizeof(*first->rows));
			}
			first->rows[first->nrows++] =
				(struct map_row){.key = row->key, .value = j->zeros};
		}
	}
	map_view_sort(first);
}

static const struct map_row *row_of(const struct join *j, u32 map, const struct map_row *first,
				    const struct map_row *absent)
{
	uintptr_t at;

	if (!map)
		return first;
	at = (uintptr_t)hashmap_get(&j->rows[map], key_of(first), j->key_size);
	return at ? &j->views[map].rows[at - 1] : absent;
}

/* One argument of the format: its type, and its bytes at the end of out. */
static void add_argument(struct join *j, struct strbuf *out, struct type_member *member,
			 struct type *own, const struct map_row *first, u32 source)
{
	const struct map_row absent = {.value = j->zeros};
	const struct map_view *view;
	const struct map_row *row;
	u32 part = source;

	strbuf_addchars(out, 0, (int)(ALIGN_UP(out->len, (size_t)8) - out->len));
	member->offset = (u32)out->len;
	if (source < PRINTA_MAP) {
		const struct type *key = j->views[0].key;
		const bool is_list = j->views[0].key_is_list && type_is(key, TYPE_TUPLE);

		member->type = is_list ? key->members[part].type : key;
		strbuf_add(out,
			   (const char *)first->key + (is_list ? key->members[part].offset : 0),
			   member->type->size);
		return;
	}
	view = &j->views[source - PRINTA_MAP];
	row = row_of(j, source - PRINTA_MAP, first, &absent);
	if (!type_is_aggregation(view->value)) {
		member->type = view->value;
		strbuf_add(out, (const char *)row->value, view->value->size);
		return;
	}
	if (type_is_histogram(view->value) || type_is(view->value, TYPE_STATS) ||
	    type_is(view->value, TYPE_TSERIES)) {
		strbuf_addstr(out, type_is_histogram(view->value) ? "\n" : "");
		map_value_add(&j->e->printer, &(struct medium){.out = out}, view->value, row, 1);
		*own = (struct type){.kind = TYPE_STRING,
				     .size = (u32)(out->len - member->offset) + 1};
		strbuf_addch(out, 0);
	} else {
		const u64 n = map_row_number(view->value, row);

		*own = *type_int(8, view->value->is_signed && !type_is(view->value, TYPE_STDDEV));
		strbuf_add(out, (const char *)&n, sizeof(n));
	}
	member->type = own;
}

static void print_row(struct join *j, const struct map_row *first)
{
	struct type_member members[64] = {0};
	struct type own[64],
		payload = {.kind = TYPE_TUPLE, .is_complete = true, .members = members};
	struct strbuf data = STRBUF_INIT, *text = &j->e->text;
	const struct format *f = &j->action->format;
	const bool raw = j->e->printer.raw;

	for (u32 i = 0; i < f->nparts; i++) {
		if (f->parts[i].kind != CONVERSION_ARGUMENT || payload.count == ARRAY_SIZE(members))
			continue;
		add_argument(j, &data, &members[payload.count], &own[payload.count], first,
			     j->action->printa_sources[payload.count]);
		payload.count++;
	}
	payload.size = (u32)data.len;
	strbuf_reset(text);
	format_text(&j->e->printer, text, f, &payload, (const u8 *)data.data);
	j->e->printer.raw = raw;
	action_text(j->e, "printf", text->data, text->len, false);
	strbuf_release(&data);
}

static int read_maps(struct join *j)
{
	const struct action *a = j->action;
	int err = 0;

	for (u32 i = 0; i < j->n && !err; i++) {
		const u32 map = a->printa_maps[i];
		const bool clears = a->clears >> i & 1, zeroes = a->zeroes >> i & 1;

		if (clears || zeroes)
			err = engine_take_map(j->e, map, zeroes && !clears, &j->views[i]);
		else
			err = map_view_read(&j->e->maps[map], false, &j->views[i]);
		if (err < 0)
			engine_map_failed(j->e, &j->e->maps[map], "read", err);
	}
	return err;
}

void do_printa(struct engine *e, const struct record *r)
{
	const struct action *a = r->action;
	struct join j = {.e = e, .action = a, .n = a->nprinta_maps};
	u32 size = 8;

	j.views = xzalloc(j.n * sizeof(*j.views));
	j.rows = xzalloc(j.n * sizeof(*j.rows));
	if (read_maps(&j) == 0) {
		for (u32 i = 0; i < j.n; i++)
			size = MAX(size, j.views[i].value->size);
		j.zeros = xzalloc(size);
		j.key_size = j.views[0].key->size;
		for (u32 i = 0; i < j.n; i++)
			index_rows(&j, i);
		complete_first(&j);
		map_view_arrange(&j.views[0], record_u64(r, 0));
		for (size_t i = 0; i < j.views[0].nrows; i++)
			print_row(&j, &j.views[0].rows[i]);
	}
	for (u32 i = 0; i < j.n; i++) {
		map_view_release(&j.views[i]);
		hashmap_release(&j.rows[i]);
	}
	free(j.views);
	free(j.rows);
	free(j.zeros);
}
