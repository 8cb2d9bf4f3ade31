/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distributions over ranges that the user of a tool chose. */

#include "base/clock.h"
#include "view/heatmap.h"
#include "view/row.h"

#define BAR_WIDTH  38
#define BAR_BEFORE 41 /* columns beside the bar */
#define BAR_LEAST  8
#define MAX_BOUNDS 128

struct ranges {
	char unit[32], title[32];
	u64 divisor; /* of the keys: the unit in which they are shown */
	bool is_list;
	u64 lower[MAX_BOUNDS]; /* ascending, the first one is 0 */
	u64 counts[MAX_BOUNDS];
	u64 negative; /* below all of them */
	u32 n;
};

static void add_bound(struct ranges *r, u64 lower)
{
	if (r->n < MAX_BOUNDS && (!r->n || lower > r->lower[r->n - 1]))
		r->lower[r->n++] = lower;
}

/* "UNIT/DIVISOR TITLE: BOUNDS" */
static bool parse_bounds(struct ranges *r, const char *text)
{
	unsigned long long power, max, bound;
	int used = 0;

	*r = (struct ranges){.divisor = 1};
	if (*text != '/')
		text += sscanf(text, "%31[^/]", r->unit) == 1 ? strlen(r->unit) : 0;
	if (sscanf(text, "/%llu %31[^:]:%n", &bound, r->title, &used) != 2 || !used || !bound)
		return false;
	r->divisor = bound;
	text += used;
	add_bound(r, 0);
	r->is_list = sscanf(text, " *%llu %llu", &power, &max) != 2;
	if (!r->is_list) {
		for (bound = 1; power > 1 && bound <= max && r->n < MAX_BOUNDS; bound *= power) {
			add_bound(r, bound);
			if (bound > max / power)
				break;
		}
		return true;
	}
	while (sscanf(text, "%llu%n", &bound, &used) == 1) {
		add_bound(r, bound * r->divisor);
		text += used;
		text += strspn(text, ", ");
	}
	return true;
}

static void count(struct ranges *r, const struct map_view *m)
{
	for (size_t i = 0; i < m->nrows; i++) {
		const u64 key = (u64)value_integer(m->key, m->rows[i].key);
		u32 b = r->n - 1;

		if (m->key->is_signed && (s64)key < 0) {
			r->negative += map_row_number(m->value, &m->rows[i]);
			continue;
		}
		while (b && r->lower[b] > key)
			b--;
		r->counts[b] += map_row_number(m->value, &m->rows[i]);
	}
}

/*
 * A bound in the unit that is shown; with decimals if that unit is larger than the one that was
 * counted.
 */
static void add_scaled(struct strbuf *out, const struct ranges *r, u64 value, int width)
{
	if (r->divisor == 1 || r->is_list)
		strbuf_addf(out, "%*" PRIu64, width, value / r->divisor);
	else
		strbuf_addf(out, "%*.3f", width, (double)value / (double)r->divisor);
}

static int bar_width(const struct row_style *s)
{
	return s->width && (int)s->width < BAR_BEFORE + BAR_WIDTH
		       ? MAX((int)s->width - BAR_BEFORE, BAR_LEAST)
		       : BAR_WIDTH;
}

static void print_bar(struct strbuf *out, u64 n, u64 most, int full)
{
	/* A count that is not 0 has at least one character. */
	const int width = n ? MAX(1, (int)((double)n * full / (double)most)) : 0;

	strbuf_addch(out, '|');
	strbuf_addchars(out, '#', width);
	strbuf_addchars(out, ' ', full - width);
	strbuf_addstr(out, "|\n");
}

static void print_text(const struct row_style *s, const struct ranges *r, struct strbuf *out,
		       u32 first, u32 last, u64 most)
{
	const int full = bar_width(s);
	char from[48], to[48];

	snprintf(from, sizeof(from), *r->unit ? ">=(%s)" : ">=", r->unit);
	snprintf(to, sizeof(to), *r->unit ? "<(%s)" : "<", r->unit);
	strbuf_addf(out, "%12s .. %-12s: %-8s |%-*.*s|\n", from, to, r->title, full, full,
		    "Distribution");
	for (u32 i = first; i <= last; i++) {
		struct strbuf end = STRBUF_INIT;

		add_scaled(out, r, r->lower[i], 12);
		if (i + 1 < r->n)
			add_scaled(&end, r, r->lower[i + 1], 0);
		strbuf_addf(out, " -> %-12s: %-8" PRIu64 " ", end.data, r->counts[i]);
		print_bar(out, r->counts[i], most, full);
		strbuf_release(&end);
	}
	if (r->negative)
		strbuf_addf(out, "negative: %" PRIu64 "\n", r->negative);
}

static void add_json_bound(struct json *j, const char *key, const struct ranges *r, u64 value)
{
	struct strbuf text = STRBUF_INIT;

	json_key(j, key);
	add_scaled(&text, r, value, 0);
	if (r->divisor == 1 || r->is_list)
		json_u64(j, value / r->divisor);
	else
		json_decimal(j, text.data, text.len);
	strbuf_release(&text);
}

static void print_json(struct row_style *s, const struct ranges *r, struct strbuf *out, u32 first,
		       u32 last)
{
	struct json j = JSON_INIT(out);

	json_object(&j);
	row_report_time(s, &j);
	json_member_text(&j, "unit", r->unit);
	json_key(&j, "buckets");
	json_array(&j);
	for (u32 i = first; i <= last; i++) {
		json_object(&j);
		add_json_bound(&j, "min", r, r->lower[i]);
		if (i + 1 < r->n)
			add_json_bound(&j, "below", r, r->lower[i + 1]);
		json_member_u64(&j, "count", r->counts[i]);
		json_end(&j, '}');
	}
	json_end(&j, ']');
	if (r->negative)
		json_member_u64(&j, "negative", r->negative);
	json_end(&j, '}');
	json_end_line(&j);
}

/* What was counted since the last report. */
static void add_to_heatmap(struct row_style *s, const struct map_view *m)
{
	const u64 now = clock_now_ns(CLOCK_REALTIME);

	heatmap_begin_column(s->heatmap, s->heatmap_from_ns ? s->heatmap_from_ns : now, now);
	s->heatmap_from_ns = now;
	for (size_t i = 0; i < m->nrows; i++)
		heatmap_add(s->heatmap, (u64)value_integer(m->key, m->rows[i].key),
			    map_row_number(m->value, &m->rows[i]));
}

void row_ranges(struct row_style *s, struct value_printer *p, struct output *out,
		const char *bounds, const struct map_view *m)
{
	struct ranges r;
	u32 first = 0, last;
	u64 most = 0;

	if (!parse_bounds(&r, bounds) || !type_is_integer(m->key))
		return;
	count(&r, m);
	if (s->heatmap)
		add_to_heatmap(s, m);
	for (u32 i = 0; i < r.n; i++)
		most = MAX(most, r.counts[i]);
	last = r.n - 1;
	if (!r.is_list && most) {
		while (last && !r.counts[last])
			last--;
		while (first < last && !r.counts[first])
			first++;
	} else if (!r.is_list) {
		last = 0;
	}
	if (out->is_json)
		print_json(s, &r, &out->text, first, last);
	else
		print_text(s, &r, &out->text, first, last, most);
}
