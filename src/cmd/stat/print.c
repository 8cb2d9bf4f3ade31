/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the counts as text, as JSON, or as CSV with the columns of perf stat -x. */
#include <math.h>
#include <stdio.h>

#include "cmd/stat/stat.h"
#include "view/sink.h"

enum column {
	TIME,
	CPU,
	TID,
	THREAD,
	COUNT,
	UNIT,
	EVENT,
	CGROUP,
	SPREAD,
	RATE,
	RUNNING,
	SHARE,
	COLUMNS
};

/* Under which condition a column is printed. */
enum { ALWAYS = 0, BY_INTERVAL = 1, BY_CPU = 2, BY_THREAD = 4, BY_CGROUP = 8, REPEATED = 16 };

static const struct {
	struct sink_column column;
	u32 when;
} table[COLUMNS] = {
	[TIME] = {{"time", "TIME", 11}, BY_INTERVAL},
	[CPU] = {{"cpu", "CPU", -4}, BY_CPU},
	[TID] = {{"tid", "TID", -7}, BY_THREAD},
	[THREAD] = {{"comm", "COMM", 16}, BY_THREAD},
	[COUNT] = {{"count", "COUNT", -18}, ALWAYS},
	[UNIT] = {{"unit", "", 2}, ALWAYS},
	[EVENT] = {{"event", "EVENT", 36}, ALWAYS},
	[CGROUP] = {{"cgroup", "CGROUP", 24}, BY_CGROUP},
	[SPREAD] = {{"spread_percent", "+-", -9}, REPEATED},
	[RATE] = {{NULL, "RATE", -12}, ALWAYS},
	[RUNNING] = {{"running_ns", NULL, 0}, ALWAYS},
	[SHARE] = {{"running_percent", "", 0}, ALWAYS},
};

struct report {
	struct stat_run *run;
	struct sink sink;
	struct sink_column columns[COLUMNS + 1];
	enum column which[COLUMNS]; /* the columns printed */
	u32 count;
	bool of_interval;
	u64 end_ns; /* of the interval, since counting began */
	u64 span_ns; /* length of the interval that the counts cover */
	u32 hidden;
};

/* Formats a number for JSON. */
struct number {
	double value;
	bool is_missing;
};

static void write_number(const void *arg, struct json *j)
{
	const struct number *n = arg;

	if (n->is_missing)
		json_null(j);
	else
		json_double(j, n->value);
}

static u32 wanted_columns(const struct stat_run *run, bool of_interval)
{
	return (of_interval ? BY_INTERVAL : 0) | (run->o.per_cpu ? BY_CPU : 0) |
	       (run->o.per_thread ? BY_THREAD : 0) | (run->o.cgroups.count ? BY_CGROUP : 0) |
	       (run->o.repeat > 1 ? REPEATED : 0);
}

/* ---- text of numbers ---- */

static const char *with_commas(struct stat_run *run, u64 n)
{
	char digits[24];
	struct strbuf s = STRBUF_INIT;
	const int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	const char *ret;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			strbuf_addch(&s, ',');
		strbuf_addch(&s, digits[i]);
	}
	ret = arena_strdup(&run->arena, s.data);
	strbuf_release(&s);
	return ret;
}

static const char *rate_text(struct stat_run *run, const struct perf_choice *e, double count,
			     u64 span_ns)
{
	static const char units[] = " KMGT";
	double rate = span_ns ? count / ((double)span_ns / 1e9) : 0;
	u32 unit = 0;

	if (!span_ns)
		return "";
	if (e->is_time)
		return arena_printf(&run->arena, "%.3f CPUs", rate / 1e9);
	while (rate >= 1000 && units[unit + 1]) {
		rate /= 1000;
		unit++;
	}
	return unit ? arena_printf(&run->arena, "%.3f %c/s", rate, units[unit])
		    : arena_printf(&run->arena, "%.3f /s", rate);
}

/* ---- one row ---- */

struct cells {
	struct number count, spread, share;
	struct sink_value values[COLUMNS];
};

/* Standard deviation of the mean, as a percentage of the mean. */
static double spread(const struct stat_sum *s, u64 runs)
{
	const double n = (double)runs, mean = s->sum / n;
	const double variance = runs > 1 ? (s->squares - n * mean * mean) / (n - 1) : 0;

	return mean > 0 && variance > 0 ? 100 * sqrt(variance / n) / mean : 0;
}

static void fill_counts(struct report *r, const struct perf_choice *e, const struct stat_sum *s,
			const struct count_value *v, struct cells *c)
{
	struct stat_run *run = r->run;
	const bool is_repeated = run->o.repeat > 1, is_csv = run->o.separator != NULL;
	const double value = is_repeated ? s->sum / (double)run->runs : stat_whole(v);
	const bool is_missing = v->enabled_ns && !v->running_ns;
	const bool is_exact = !is_repeated && v->running_ns >= v->enabled_ns;

	c->count = (struct number){value, is_missing};
	c->spread = (struct number){spread(s, run->runs), false};
	c->share = (struct number){
		v->enabled_ns ? 100.0 * (double)v->running_ns / (double)v->enabled_ns : 100, false};
	c->values[COUNT] = is_exact ? SINK_NUMBER(v->count) : SINK_PARTS(write_number, &c->count);
	if (is_csv && is_missing)
		c->values[COUNT] = SINK_TEXT("<not counted>");
	c->values[COUNT].shown = is_missing   ? "<not counted>"
				 : e->is_time ? arena_printf(&run->arena, "%.3f", value / 1e6)
					      : with_commas(run, (u64)(value + 0.5));
	c->values[UNIT] = SINK_TEXT(e->is_time ? "ns" : "");
	c->values[UNIT].shown = e->is_time ? "ms" : "";
	c->values[SPREAD] = SINK_PARTS(write_number, &c->spread);
	c->values[SPREAD].shown = arena_printf(&run->arena, "%.2f %%", c->spread.value);
	c->values[RATE] = SINK_SHOWN(is_missing ? "" : rate_text(run, e, value, r->span_ns));
	c->values[RUNNING] = SINK_NUMBER(v->running_ns);
	c->values[SHARE] = SINK_PARTS(write_number, &c->share);
	c->values[SHARE].shown =
		c->share.value >= 100 || is_missing
			? ""
			: arena_printf(&run->arena, "estimated: counted %.1f %% of the time",
				       c->share.value);
}

static void print_row(struct report *r, const struct perf_choice *e, const struct stat_row *row,
		      const struct stat_sum *s)
{
	struct stat_run *run = r->run;
	struct count_value v = s->total;
	struct sink_value values[COLUMNS];
	struct cells c = {0};

	if (r->of_interval) {
		v.count -= s->last.count;
		v.enabled_ns -= s->last.enabled_ns;
		v.running_ns -= s->last.running_ns;
	}
	if (e->is_one_of_many && !run->o.zeros && !(run->o.repeat > 1 ? s->sum > 0 : v.count)) {
		r->hidden++;
		return;
	}
	fill_counts(r, e, s, &v, &c);
	struct number time = {(double)r->end_ns / 1e9, false};

	c.values[TIME] = SINK_PARTS(write_number, &time);
	c.values[TIME].shown = arena_printf(&run->arena, "%.6f", time.value);
	c.values[CPU] = SINK_NUMBER(row->cpu);
	c.values[TID] = SINK_NUMBER(row->thread);
	c.values[THREAD] = SINK_TEXT(row->thread_name ? row->thread_name : "");
	c.values[CGROUP] = SINK_TEXT(row->cgroup ? row->cgroup : "");
	c.values[EVENT] = SINK_TEXT(e->name);
	for (u32 i = 0; i < r->count; i++)
		values[i] = c.values[r->which[i]];
	sink_header(&r->sink);
	r->sink.format->row(&r->sink, values);
}

/* ---- a report ---- */

static void choose_columns(struct report *r)
{
	const u32 wanted = wanted_columns(r->run, r->of_interval);

	for (u32 i = 0; i < COLUMNS; i++)
		if (!(table[i].when & ~wanted)) {
			r->columns[r->count] = table[i].column;
			r->which[r->count++] = (enum column)i;
		}
}

void stat_report(struct stat_run *run, bool of_interval, u64 end_ns)
{
	struct report r = {.run = run, .of_interval = of_interval, .end_ns = end_ns};

	r.span_ns = of_interval ? end_ns - run->reported_ns : run->elapsed_ns / MAX(run->runs, 1);
	r.sink = (struct sink){.format = run->o.separator ? &sink_as_csv : sink_of(run->o.json),
			       .columns = r.columns,
			       .out = &run->out.text,
			       .separator = run->o.separator,
			       .has_header = of_interval && run->reported_ns};
	choose_columns(&r);
	if (!run->o.json && !run->o.separator && !of_interval)
		strbuf_addch(&run->out.text, '\n');
	for (u32 row = 0; row < run->rows.len; row++)
		for (size_t event = 0; event < run->events.list.len; event++)
			print_row(&r, &run->events.list.items[event], &run->rows.items[row],
				  &run->sums[event * run->rows.len + row]);
	if (r.hidden && !of_interval && !run->o.json && !run->o.separator)
		strbuf_addf(&run->out.text, "(%u that did not occur are left out; -z shows them)\n",
			    r.hidden);
	run->reported_ns = end_ns;
	for (size_t i = 0; i < run->events.list.len * run->rows.len; i++)
		run->sums[i].last = run->sums[i].total;
	output_commit(&run->out);
}

void stat_report_end(struct stat_run *run)
{
	const double runs = (double)MAX(run->runs, 1),
		     elapsed = (double)run->elapsed_ns / 1e9 / runs;
	const double user = (double)run->user_us / 1e6 / runs,
		     system = (double)run->system_us / 1e6 / runs;
	struct strbuf *out = &run->out.text;
	struct json j = JSON_INIT(out);

	if (run->o.separator)
		return;
	if (!run->o.json) {
		strbuf_addf(out, "\n%.6f s elapsed", elapsed);
		if (run->o.command)
			strbuf_addf(out, ", %.6f s user, %.6f s system", user, system);
		strbuf_addf(out, run->runs > 1 ? " (means of %" PRIu64 " runs)\n\n" : "\n\n",
			    run->runs);
		return;
	}
	json_object(&j);
	json_key(&j, "elapsed_s");
	json_double(&j, elapsed);
	if (run->o.command) {
		json_key(&j, "user_s");
		json_double(&j, user);
		json_key(&j, "system_s");
		json_double(&j, system);
	}
	json_member_u64(&j, "runs", run->runs);
	json_end(&j, '}');
	json_end_line(&j);
}
