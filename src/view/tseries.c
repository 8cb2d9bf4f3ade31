/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/tseries.h"

#include <time.h>

#include "view/value.h"

#define GRAPH_WIDTH 53
#define LABEL_WIDTH 21 /* of the smallest value; the largest has the rest */
#define NS_PER_S    1000000000u

struct element {
	u64 value, meta, epoch;
};

static bool is_less(const struct tseries *ts, u64 a, u64 b)
{
	return ts->is_signed ? (s64)a < (s64)b : a < b;
}

static void combine(const struct tseries *ts, struct element *sum, const struct element *e)
{
	switch (ts->how) {
	case TSERIES_LAST: /* meta is when */
		if (e->meta > sum->meta)
			*sum = *e;
		break;
	case TSERIES_AVG:
		sum->meta += e->meta;
		sum->value += e->value;
		break;
	case TSERIES_SUM:
		sum->value += e->value;
		break;
	case TSERIES_MIN:
		if (is_less(ts, e->value, sum->value))
			sum->value = e->value;
		break;
	case TSERIES_MAX:
		if (is_less(ts, sum->value, e->value))
			sum->value = e->value;
		break;
	}
}

struct tseries_point tseries_fold(const struct tseries *ts, const u8 *elements, u32 ncpus)
{
	struct element sum = {0}, e;

	for (u32 cpu = 0; cpu < ncpus; cpu++) {
		memcpy(&e, elements + (size_t)cpu * TSERIES_ELEMENT_SIZE, sizeof(e));
		if (e.epoch > sum.epoch)
			sum = e;
		else if (e.epoch && e.epoch == sum.epoch)
			combine(ts, &sum, &e);
	}
	if (ts->how == TSERIES_AVG && sum.meta)
		sum.value = ts->is_signed ? (u64)((s64)sum.value / (s64)sum.meta)
					  : sum.value / sum.meta;
	return (struct tseries_point){.epoch = sum.epoch, .value = sum.value};
}

/* ---- the intervals to show ---- */

struct range {
	u64 first, last; /* none if last < first */
};

static int compare_points(const void *a, const void *b)
{
	const struct tseries_point *x = a, *y = b;

	return (x->epoch > y->epoch) - (x->epoch < y->epoch);
}

static struct tseries_point *sorted(const struct tseries_view *v)
{
	struct tseries_point *points = xreallocarray(NULL, v->npoints + 1, sizeof(*points));

	if (v->npoints) {
		memcpy(points, v->points, v->npoints * sizeof(*points));
		qsort(points, v->npoints, sizeof(*points), compare_points);
	}
	return points;
}

static const struct tseries_point *point_at(const struct tseries_point *points, u32 n, u64 epoch)
{
	const struct tseries_point key = {.epoch = epoch};

	return n ? bsearch(&key, points, n, sizeof(*points), compare_points) : NULL;
}

/* From the key's first value within the series on. */
static struct range range_of(const struct tseries_view *v, const struct tseries_point *points)
{
	struct range r = {.first = v->last_epoch - v->ts.count + 1, .last = v->last_epoch};

	for (u32 i = 0; i < v->npoints; i++) {
		if (points[i].epoch < r.first)
			continue;
		r.first = MIN(points[i].epoch, r.last + 1);
		return r;
	}
	return (struct range){1, 0};
}

/* ---- text ---- */

static void add_number(struct strbuf *out, const struct tseries *ts, u64 v)
{
	if (ts->is_signed)
		strbuf_addf(out, "%" PRId64, (s64)v);
	else
		strbuf_addf(out, "%" PRIu64, v);
}

struct bounds {
	u64 min, max;
};

/* One value alone stands in the middle. */
static struct bounds bounds_of(const struct tseries *ts, const struct tseries_point *points, u32 n,
			       const struct range *r)
{
	struct bounds b = {0, 0};
	bool any = false;

	for (u32 i = 0; i < n; i++) {
		const u64 v = points[i].value;

		if (points[i].epoch < r->first || points[i].epoch > r->last)
			continue;
		if (!any || is_less(ts, v, b.min))
			b.min = v;
		if (!any || is_less(ts, b.max, v))
			b.max = v;
		any = true;
	}
	if (b.min == b.max) {
		b.min -= b.min != (ts->is_signed ? (u64)INT64_MIN : 0);
		b.max += b.max != (ts->is_signed ? (u64)INT64_MAX : UINT64_MAX);
	}
	return b;
}

static float distance(const struct tseries *ts, u64 from, u64 to)
{
	return ts->is_signed ? (float)(s64)to - (float)(s64)from : (float)to - (float)from;
}

static u32 column(const struct tseries *ts, const struct bounds *b, u64 v, u32 width)
{
	const float all = distance(ts, b->min, b->max);
	const int at =
		all > 0 ? (int)((float)width * distance(ts, b->min, v) / all) : GRAPH_WIDTH / 2;

	return (u32)MAX(0, MIN(GRAPH_WIDTH - 1, at));
}

/* Digits behind the second. */
static u32 digits_of(u64 interval_ns)
{
	if (interval_ns >= NS_PER_S)
		return 0;
	if (interval_ns >= 1000000)
		return 3;
	return interval_ns >= 1000 ? 6 : 9;
}

static void add_time(struct strbuf *out, u64 ns, u32 digits)
{
	static const u32 units[] = {[3] = 1000000, [6] = 1000, [9] = 1};
	const time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm tm;
	char text[16];

	localtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	strbuf_addstr(out, text);
	if (digits)
		strbuf_addf(out, ".%0*" PRIu64, (int)digits, ns % NS_PER_S / units[digits]);
}

static void add_scale(struct strbuf *out, const struct tseries *ts, const struct bounds *b,
		      u32 indent)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_addchars(out, ' ', (int)indent);
	add_number(&text, ts, b->min);
	strbuf_addf(out, "%-*s", LABEL_WIDTH, text.data);
	strbuf_reset(&text);
	add_number(&text, ts, b->max);
	strbuf_addf(out, "%*s\n", GRAPH_WIDTH - LABEL_WIDTH, text.data);
	strbuf_release(&text);
}

static void add_line(struct strbuf *out, const struct tseries *ts, const struct bounds *b, u32 zero,
		     const struct tseries_point *point)
{
	char line[GRAPH_WIDTH + 1];

	memset(line, ' ', GRAPH_WIDTH);
	line[GRAPH_WIDTH] = '\0';
	line[0] = line[GRAPH_WIDTH - 1] = '|';
	if (zero)
		line[zero] = '.';
	if (point)
		line[column(ts, b, point->value, GRAPH_WIDTH - 1)] = '*';
	strbuf_addf(out, "%s ", line);
	if (point)
		add_number(out, ts, point->value);
	else
		strbuf_addch(out, '-');
	strbuf_addch(out, '\n');
}

static void add_graph(struct strbuf *out, const struct tseries_view *v,
		      const struct tseries_point *points, const struct range *r)
{
	static const char *const units[] = {[0] = "", [3] = ".ms", [6] = ".\u03bcs", [9] = ".ns"};
	const struct tseries *ts = &v->ts;
	const struct bounds b = bounds_of(ts, points, v->npoints, r);
	const u32 digits = digits_of(r->first == r->last ? 0 : ts->interval_ns);
	const u32 indent = 8 + (digits ? digits + 1 : 0) + 1;
	u32 zero = 0;

	if (ts->is_signed && (s64)b.min < 0 && (s64)b.max > 0)
		zero = column(ts, &b, 0, GRAPH_WIDTH);
	add_scale(out, ts, &b, indent);
	strbuf_addf(out, "hh:mm:ss%s", units[digits]);
	strbuf_addchars(out, ' ', (int)(indent - 8 - strlen(units[digits])));
	strbuf_addch(out, '|');
	strbuf_addchars(out, '_', GRAPH_WIDTH - 2);
	strbuf_addstr(out, "|\n");
	for (u64 epoch = r->first; epoch <= r->last; epoch++) {
		add_time(out, epoch * ts->interval_ns, digits);
		strbuf_addch(out, ' ');
		add_line(out, ts, &b, zero, point_at(points, v->npoints, epoch));
	}
	strbuf_addchars(out, ' ', (int)indent);
	strbuf_addch(out, 'v');
	strbuf_addchars(out, '_', GRAPH_WIDTH - 2);
	strbuf_addstr(out, "v\n");
	add_scale(out, ts, &b, indent);
}

void tseries_text(struct strbuf *out, const struct tseries_view *v)
{
	struct tseries_point *points = sorted(v);
	const struct range r = range_of(v, points);

	if (r.last < r.first)
		strbuf_addstr(out, "<no data>");
	else
		add_graph(out, v, points, &r);
	free(points);
}

/* ---- JSON ---- */

void tseries_json(struct json *j, const struct tseries_view *v)
{
	struct tseries_point *points = sorted(v);
	const struct range r = range_of(v, points);

	json_array(j);
	for (u32 i = 0; i < v->npoints; i++) {
		const u64 ns = points[i].epoch * v->ts.interval_ns;
		const time_t seconds = (time_t)(ns / NS_PER_S);
		struct tm tm;
		char text[32], whole[48];

		if (points[i].epoch < r.first || points[i].epoch > r.last)
			continue;
		gmtime_r(&seconds, &tm);
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
		snprintf(whole, sizeof(whole), "%s.%09u", text, (u32)(ns % NS_PER_S));
		json_object(j);
		json_member_text(j, "interval_start", whole);
		if (v->ts.is_signed)
			json_member_s64(j, "value", (s64)points[i].value);
		else
			json_member_u64(j, "value", points[i].value);
		json_end(j, '}');
	}
	json_end(j, ']');
	free(points);
}
