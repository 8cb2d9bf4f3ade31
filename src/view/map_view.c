/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/map_view.h"

#include "view/histogram.h"
#include "view/stddev.h"
#include "view/tseries.h"

static s64 average_of(const struct type *t, u64 total, u64 count)
{
	if (!count)
		return 0;
	return (s64)total / (s64)count;
}

static int compare_u64(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

static int compare_s64(s64 a, s64 b)
{
	return (a > b) - (a < b);
}

static int compare_integers(const struct type *t, s64 a, s64 b)
{
	return t->is_signed ? compare_s64(a, b) : compare_u64((u64)a, (u64)b);
}

/* Integers by number, lists from their first member on, everything else bytewise (strings are
 * zero-padded). */
static int compare_keys(const struct type *t, const u8 *a, const u8 *b)
{
	if (type_is_integer(t) || t->kind == TYPE_POINTER)
		return compare_integers(t, value_integer(t, a), value_integer(t, b));
	if (t->kind == TYPE_TUPLE || t->kind == TYPE_RECORD) {
		for (u32 i = 0; i < t->count; i++) {
			u32 at = t->members[i].offset;
			int c = compare_keys(t->members[i].type, a + at, b + at);

			if (c)
				return c;
		}
		return 0;
	}
	return memcmp(a, b, t->size);
}

static int compare_values(const struct map_view *m, const struct map_row *a,
			  const struct map_row *b)
{
	const struct type *t = m->value;

	switch (t->kind) {
	case TYPE_INT:
	case TYPE_ENUM:
		return compare_integers(t, value_integer(t, a->value), value_integer(t, b->value));
	case TYPE_COUNT:
	case TYPE_HIST:
	case TYPE_LHIST:
	case TYPE_LLHIST:
		return compare_u64(a->total, b->total);
	case TYPE_STDDEV:
		return compare_u64(stddev_of((s64)a->total, a->count, a->squares),
				   stddev_of((s64)b->total, b->count, b->squares));
	case TYPE_SUM:
	case TYPE_MIN:
	case TYPE_MAX:
		return compare_integers(t, (s64)a->total, (s64)b->total);
	case TYPE_AVG:
	case TYPE_STATS:
		return compare_s64(average_of(t, a->total, a->count),
				   average_of(t, b->total, b->count));
	default:
		return 0;
	}
}

static int compare_rows(const void *x, const void *y, void *arg)
{
	const struct map_view *m = arg;
	const struct map_row *a = x, *b = y;
	int c = compare_values(m, a, b);

	if (c || !a->key || !b->key)
		return c;
	return compare_keys(m->key, a->key, b->key);
}

void map_view_sort(struct map_view *m)
{
	if (m->nrows > 1)
		qsort_r(m->rows, m->nrows, sizeof(*m->rows), compare_rows, m);
}

static int map_view_compare_keys(const struct map_view *m, const u8 *a, const u8 *b)
{
	return a && b ? compare_keys(m->key, a, b) : 0;
}

static int compare_printed(const void *x, const void *y, void *arg)
{
	const struct map_view *m = arg;
	const struct map_row *a = x, *b = y;
	const int keys = map_view_compare_keys(m, a->key, b->key);
	const int values = m->order == ORDER_KEY ? 0 : compare_values(m, a, b);
	const int c = values ? values : keys;

	return m->is_descending ? -c : c;
}

void map_view_arrange(struct map_view *m, u64 top)
{
	if (top && m->nrows > top) {
		const size_t cut = m->nrows - (size_t)top;

		for (size_t i = 0; i < cut; i++)
			free(m->rows[i].buckets);
		memmove(m->rows, m->rows + cut, (size_t)top * sizeof(*m->rows));
		m->nrows = (size_t)top;
	}
	if (m->order != ORDER_DEFAULT && m->nrows > 1)
		qsort_r(m->rows, m->nrows, sizeof(*m->rows), compare_printed, m);
}

void map_view_release(struct map_view *m)
{
	for (size_t i = 0; i < m->nrows; i++)
		free(m->rows[i].buckets);
	free(m->rows);
	free(m->storage);
	m->rows = NULL;
	m->storage = NULL;
	m->nrows = 0;
}

static bool is_stats(const struct type *t)
{
	return t->kind == TYPE_AVG || t->kind == TYPE_STATS;
}

u64 map_row_number(const struct type *t, const struct map_row *row)
{
	if (t->kind == TYPE_AVG)
		return (u64)average_of(t, row->total, row->count);
	if (t->kind == TYPE_STDDEV)
		return stddev_of((s64)row->total, row->count, row->squares);
	return row->total;
}

/* A number of this type after division, in the medium's spelling. */
static void add_number(const struct medium *to, const struct type *t, u64 v, u64 divisor)
{
	if (t->is_signed || is_stats(t)) {
		const s64 quotient = divisor > 1 ? (s64)v / (s64)divisor : (s64)v;

		if (to->json)
			json_s64(to->json, quotient);
		else
			strbuf_addf(to->out, "%" PRId64, quotient);
		return;
	}
	if (divisor > 1)
		v /= divisor;
	if (to->json)
		json_u64(to->json, v);
	else
		strbuf_addf(to->out, "%" PRIu64, v);
}

static void add_stats(const struct medium *to, const struct type *t, const struct map_row *row,
		      u64 divisor)
{
	const u64 average = (u64)average_of(t, row->total, row->count);

	if (to->json) {
		json_object(to->json);
		json_member_u64(to->json, "count", row->count);
		json_key(to->json, "average");
		add_number(to, t, average, divisor);
		json_key(to->json, "total");
		add_number(to, t, row->total, 1);
		json_end(to->json, '}');
		return;
	}
	strbuf_addf(to->out, "{ .count = %" PRIu64 ", .average = ", row->count);
	add_number(to, t, average, divisor);
	strbuf_addstr(to->out, ", .total = ");
	add_number(to, t, row->total, 1);
	strbuf_addstr(to->out, " }");
}

static void add_tseries(const struct medium *to, const struct type *t, const struct map_row *row)
{
	const struct tseries_view v = {.ts = type_tseries_of(t),
				       .points = (const struct tseries_point *)row->buckets,
				       .npoints = row->nbuckets / 2,
				       .last_epoch = row->count};

	if (to->json)
		tseries_json(to->json, &v);
	else
		tseries_text(to->out, &v);
}

static void add_histogram(const struct medium *to, const struct type *t, const struct map_row *row,
			  u64 divisor)
{
	const struct histogram h = {
		.type = t, .buckets = row->buckets, .nbuckets = row->nbuckets, .divisor = divisor};

	if (to->json)
		histogram_json(to->json, &h);
	else
		histogram_text(to->out, &h);
}

static const char *json_kind(const struct type *t)
{
	if (type_is_histogram(t))
		return "hist";
	if (t->kind == TYPE_TSERIES)
		return "tseries";
	return is_stats(t) ? "stats" : "map";
}

void map_value_add(struct value_printer *p, const struct medium *to, const struct type *t,
		   const struct map_row *row, u64 divisor)
{
	switch (t->kind) {
	case TYPE_COUNT:
	case TYPE_SUM:
	case TYPE_MIN:
	case TYPE_MAX:
	case TYPE_AVG:
		add_number(to, t, map_row_number(t, row), divisor);
		return;
	case TYPE_STDDEV:
		add_number(to, type_int(8, false), map_row_number(t, row), divisor);
		return;
	case TYPE_TSERIES:
		add_tseries(to, t, row);
		return;
	case TYPE_STATS:
		add_stats(to, t, row, divisor);
		return;
	case TYPE_HIST:
	case TYPE_LHIST:
	case TYPE_LLHIST:
		add_histogram(to, t, row, divisor);
		return;
	case TYPE_INT:
		if (divisor > 1) {
			add_number(to, t, (u64)value_integer(t, row->value), divisor);
			return;
		}
		break;
	default:
		break;
	}
	value_add(p, to, t, row->value);
}

/*
 *	@name: value		@name[key]: value
 *	@name:			@name[key]:
 *	<histogram>		<histogram>
 *	(empty line)		(empty line)
 */
static void print_text(struct value_printer *p, struct output *out, const struct map_view *m,
		       const struct map_print_options *options, size_t first)
{
	for (size_t i = first; i < m->nrows; i++) {
		strbuf_addf(&out->text, "@%s", m->name);
		if (m->key->kind != TYPE_NONE) {
			strbuf_addch(&out->text, '[');
			value_key_text(p, &out->text, m->key, m->key_is_list, m->rows[i].key);
			strbuf_addch(&out->text, ']');
		}
		strbuf_addstr(&out->text, type_is_bucketed(m->value) ? ":\n" : ": ");
		map_value_add(p, &(struct medium){.out = &out->text}, m->value, &m->rows[i],
			      options->divisor);
		strbuf_addch(&out->text, '\n');
	}
}

/*
 * Different keys may print alike: functions of two programs, or ("a,b", "c") and ("a", "b,c"). The
 * names in a JSON object must differ, so a number is appended to all but the first.
 */
static void add_json_key(struct json *j, struct hashmap *seen, struct strbuf *key)
{
	bool is_new;
	void **count = hashmap_put(seen, key->data, key->len, &is_new);

	*count = (void *)((is_new ? 0 : (uintptr_t)*count) + 1);
	if (!is_new)
		strbuf_addf(key, " (%zu)", (size_t)(uintptr_t)*count);
	json_key_bytes(j, key->data, key->len);
}

static void print_json(struct value_printer *p, struct output *out, const struct map_view *m,
		       const struct map_print_options *options, size_t first)
{
	const bool is_scalar = m->key->kind == TYPE_NONE;
	struct json j = JSON_SPACED_INIT(&out->text);
	struct strbuf key = STRBUF_INIT;
	struct hashmap seen = {0};

	json_object(&j);
	json_member_text(&j, "type", json_kind(m->value));
	json_key(&j, "data");
	json_object(&j);
	strbuf_addf(&key, "@%s", m->name);
	json_key(&j, key.data);
	if (!is_scalar)
		json_object(&j);
	for (size_t i = first; i < m->nrows; i++) {
		if (!is_scalar) {
			strbuf_reset(&key);
			value_key_json(p, &key, m->key, m->rows[i].key);
			add_json_key(&j, &seen, &key);
		}
		map_value_add(p, &(struct medium){.json = &j}, m->value, &m->rows[i],
			      options->divisor);
	}
	if (!is_scalar)
		json_end(&j, '}');
	json_end(&j, '}');
	json_end(&j, '}');
	json_end_line(&j);
	hashmap_release(&seen);
	strbuf_release(&key);
}

void map_view_print(struct value_printer *p, struct output *out, const struct map_view *m,
		    const struct map_print_options *options)
{
	u8 zeros[512] = {0};
	struct map_row empty = {.value = zeros};
	struct map_view scalar = *m;
	size_t first =
		options->top && m->nrows > options->top ? m->nrows - (size_t)options->top : 0;

	if (!m->nrows && m->key->kind == TYPE_NONE) {
		if (m->value->size > sizeof(zeros))
			return;
		scalar.rows = &empty;
		scalar.nrows = 1;
		m = &scalar;
	}
	if (!m->nrows)
		return;
	if (out->is_json)
		print_json(p, out, m, options, first);
	else
		print_text(p, out, m, options, first);
	output_commit(out);
}
