/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --annotate FUNCTION: how many samples were taken in each line of the function's source, and at
 * which addresses of the file (as objdump -d prints them). Only the samples in the function itself
 * count, as in the rows of --top symbol.
 */
#include <math.h>

#include "base/hashmap.h"
#include "binary/debug/lines.h"
#include "binary/debug/listing.h"
#include "binary/process/maps.h"
#include "cmd/report/analysis.h"
#include "cmd/report/source_text.h"
#include "trace/recorded_file.h"

#define LINES_MAX 20000 /* of a function that are shown without a sample */

/* A program or library. */
struct object {
	struct elf_file *elf; /* NULL = it cannot be read */
	char *directory; /* where it was compiled; NULL = unknown */
};

struct source_line {
	const char *file; /* NULL = unknown */
	u32 number;
	u64 count, weight;
	VECTOR(struct spot *) spots; /* set by finish */
};

/* An address with samples. */
struct spot {
	struct source_line *line;
	const char *name; /* the address */
	u64 address, count, weight;
};

struct annotate {
	const struct analysis_request *request;
	struct arena arena;
	struct hashmap objects; /* by path */
	struct hashmap spots; /* by object's path and address in it */
	struct hashmap lines; /* by file and number */
	struct object *main; /* the first object with the function */
	u64 count, weight;
	const struct recorded_kind *only;
	bool is_weighed, has_several_kinds;
	bool is_too_large; /* a weight, or their sum */
	struct recorded_stack stack;
	struct strbuf text;
};

static void *annotate_begin(const struct analysis_request *q, struct diag *d)
{
	struct annotate *const a = xzalloc(sizeof(*a));

	a->request = q;
	a->text = (struct strbuf)STRBUF_INIT;
	return a;
}

static void annotate_release(void *state)
{
	struct annotate *const a = state;

	hashmap_each (&a->objects, e) {
		elf_file_close(((struct object *)e->value)->elf);
		free(((struct object *)e->value)->directory);
	}
	hashmap_each (&a->lines, e)
		vector_free(&((struct source_line *)e->value)->spots);
	hashmap_release(&a->objects);
	hashmap_release(&a->spots);
	hashmap_release(&a->lines);
	vector_free(&a->stack);
	strbuf_release(&a->text);
	arena_release(&a->arena);
	free(a);
}

/* ---- events ---- */

static struct object *object_of(struct annotate *a, const struct recorded_frame *f)
{
	const struct recorded_file_search search = {
		.places = a->request->files.items,
		.nr_places = a->request->files.count,
		.path = f->object ?: "",
		.build_id = f->build_id ?: "",
	};
	void **const at = hashmap_put(&a->objects, search.path, strlen(search.path) + 1, NULL);

	if (!*at) {
		struct object *const o = *at = arena_new(&a->arena, struct object);

		o->elf = f->is_kernel || !f->object ? NULL : recorded_file_open(&search);
	}
	return *at;
}

static struct source_line *line_of(struct annotate *a, const char *file, u32 number)
{
	struct source_line *line;
	void **at;

	strbuf_reset(&a->text);
	strbuf_add(&a->text, &number, sizeof(number));
	strbuf_addstr(&a->text, file ?: "");
	at = hashmap_put(&a->lines, a->text.data, a->text.len, NULL);
	if (*at)
		return *at;
	line = *at = arena_new(&a->arena, struct source_line);
	line->file = file ? arena_strdup(&a->arena, file) : NULL;
	line->number = number;
	return line;
}

/* Where a frame's address is in its object, and in its source. */
static struct spot *spot_of(struct annotate *a, const struct recorded_frame *f)
{
	struct object *object;
	struct spot *spot;
	const char *file = NULL;
	u32 number = 0;
	void **at;

	strbuf_reset(&a->text);
	strbuf_add(&a->text, &f->in_file, sizeof(f->in_file));
	strbuf_addstr(&a->text, f->object ?: "");
	at = hashmap_put(&a->spots, a->text.data, a->text.len, NULL);
	if (*at)
		return *at;
	spot = *at = arena_new(&a->arena, struct spot);
	object = object_of(a, f);
	a->main = a->main ?: object;
	if (!object->elf || elf_file_address(object->elf, f->in_file, &spot->address))
		spot->address = f->in_file;
	else if (debug_line_at(object->elf, spot->address, &file, &number))
		file = NULL;
	spot->name = arena_printf(&a->arena, "0x%" PRIx64, spot->address);
	spot->line = line_of(a, file, file ? number : 0);
	return spot;
}

/* NULL: the event was not in the function. */
static struct spot *spot_of_event(struct annotate *a, struct recording *r)
{
	if (!recording_stack(r, &a->stack) || !a->stack.items[0].symbol ||
	    !str_eq(a->stack.items[0].symbol, a->request->function))
		return NULL;
	return spot_of(a, &a->stack.items[0]);
}

static void annotate_feed(void *state, struct recording *r, u8 role)
{
	struct annotate *const a = state;
	struct spot *const spot = spot_of_event(a, r);
	u64 weight;

	if (!spot)
		return;
	weight = recording_place(r).period;
	a->is_weighed |= weight;
	weight = weight ?: 1;
	a->has_several_kinds |= a->only && a->only != r->kind;
	a->only = r->kind;
	a->count++;
	a->is_too_large |= weight > INT64_MAX || a->weight > INT64_MAX - weight;
	a->weight += weight;
	spot->count++;
	spot->weight += weight;
	spot->line->count++;
	spot->line->weight += weight;
}

/* "demo.c:12" */
static const char *place_of(struct annotate *a, const struct source_line *l)
{
	return l->file ? arena_printf(&a->arena, "%s:%u", path_base_name(l->file), l->number)
		       : "[no source]";
}

static bool annotate_holds(void *state, struct recording *r, const char *const *names, u32 depth)
{
	struct annotate *const a = state;
	struct spot *const spot = spot_of_event(a, r);
	const char *place;
	size_t n;

	if (!spot)
		return false;
	place = place_of(a, spot->line);
	n = strlen(place);
	return !strncmp(names[0], place, n) && (!names[0][n] || names[0][n] == ':') &&
	       (!depth || str_eq(names[1], spot->name));
}

/* ---- the table ---- */

/* Lines of the function that have no sample, and where its files are relative to. */
static void add_listing(struct annotate *a)
{
	struct object *const o = a->main;
	struct debug_listing listing;

	if (o->elf &&
	    !debug_list_function(o->elf, a->request->function, NULL, 0, UINT32_MAX, &listing)) {
		const u32 last = vector_last(&listing.lines).line,
			  first = MIN(MAX(listing.base, 1u), listing.lines.items[0].line);

		for (u32 n = first; n <= last && n - first < LINES_MAX; n++)
			line_of(a, listing.file, n);
	}
	if (o->elf) {
		o->directory = listing.directory;
		listing.directory = NULL;
		debug_listing_release(&listing);
	}
}

/* Lines of unknown files last. */
static int by_place(const void *x, const void *y)
{
	const struct source_line *const a = *(struct source_line *const *)x,
					*const b = *(struct source_line *const *)y;
	const int order = !a->file || !b->file ? !a->file - !b->file : strcmp(a->file, b->file);

	return order ? order : a->number < b->number ? -1 : a->number > b->number;
}

static int by_address(const void *x, const void *y)
{
	const u64 a = (*(struct spot *const *)x)->address, b = (*(struct spot *const *)y)->address;

	return a < b ? -1 : a > b;
}

static const struct table_column columns[] = {
	{"percent", "PERCENT", TABLE_PERCENT, false},
	{"count", "COUNT", TABLE_COUNT, true},
	{0},
};

static void fill(const struct annotate *a, u64 count, u64 weight, struct table_row *row)
{
	const bool by_weight = a->is_weighed && !a->has_several_kinds;
	const double part = by_weight ? (double)weight / (double)MAX(a->weight, 1u)
				      : (double)count / (double)MAX(a->count, 1u);

	row->values[0] = (u64)llrint(part * 10000);
	row->values[1] = count;
}

static void add_line(struct annotate *a, struct source_line *l, const char *text,
		     struct report_table *to)
{
	const char **const names = arena_new_array(&to->arena, const char *, 1);
	const char *const place = place_of(a, l);

	names[0] = text ? arena_printf(&to->arena, "%s: %s", place, text)
			: arena_strdup(&to->arena, place);
	fill(a, l->count, l->weight, table_add(to, 0, names));
	if (l->spots.len)
		qsort(l->spots.items, l->spots.len, sizeof(*l->spots.items), by_address);
	for (size_t i = 0; i < l->spots.len; i++) {
		const struct spot *const s = l->spots.items[i];
		const char **const both = arena_new_array(&to->arena, const char *, 2);

		both[0] = names[0];
		both[1] = arena_strdup(&to->arena, s->name);
		fill(a, s->count, s->weight, table_add(to, 1, both));
	}
}

static void add_lines(struct annotate *a, struct report_table *to, struct diag *d)
{
	struct source_texts texts = {.directory = a->main->directory, .places = &a->request->files};
	VECTOR(struct source_line *) lines = {0};

	hashmap_each (&a->lines, e)
		vector_push(&lines, (struct source_line *)e->value);
	qsort(lines.items, lines.len, sizeof(*lines.items), by_place);
	for (size_t i = 0; i < lines.len; i++) {
		struct source_line *const l = lines.items[i];
		const char *const text =
			l->file ? source_texts_line(&texts, l->file, l->number, d) : NULL;

		add_line(a, l, text, to);
	}
	source_texts_release(&texts);
	vector_free(&lines);
}

static void annotate_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct annotate *const a = state;

	if (!a->count) {
		diag_error(d, NO_SPAN, "no event was in the function '%s' itself",
			   a->request->function);
		diag_hint(d, "--top symbol lists functions; --calls %s has what it called, too",
			  a->request->function);
		return;
	}
	if (a->is_too_large) {
		analysis_refuse_sum("period", d);
		return;
	}
	hashmap_each (&a->spots, e)
		vector_push(&((struct spot *)e->value)->line->spots, (struct spot *)e->value);
	add_listing(a);
	*ret = (struct report_table){
		.keys = {"line", "address"}, .nr_keys = 2, .columns = columns, .main = 1};
	add_lines(a, ret, d);
}

const struct report_analysis analysis_annotate = {
	.record_samples = true,
	.needs_no_times = true,
	.begin = annotate_begin,
	.feed = annotate_feed,
	.holds = annotate_holds,
	.finish = annotate_finish,
	.release = annotate_release,
};
