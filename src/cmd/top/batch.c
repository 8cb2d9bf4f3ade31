/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Without a screen: the rows of each interval as text or as JSON lines. */
#include <time.h>

#include "cmd/top/top.h"

static const struct sink_column json_columns[] = {
	{.key = "time_ns"},
	{.key = "interval_ns"},
	{.key = "pid"},
	{.key = "tid"},
	{.key = "parent"},
	{.key = "comm"},
	{.key = "state"},
	{.key = "threads"},
	{.key = "cpu_ns"},
	{.key = "runq_ns"},
	{.key = "off_cpu_ns"},
	{.key = "syscalls"},
	{.key = "minor_faults"},
	{.key = "major_faults"},
	{.key = "read_bytes"},
	{.key = "written_bytes"},
	{.key = "disk_read_bytes"},
	{.key = "disk_written_bytes"},
	{.key = "total_cpu_ns"},
	{0},
};

static void print_json(struct top *t, const struct row *r)
{
	const char state[] = {r->state, '\0'};
	const u64 *const n = r->counts;

	sink_row(&t->sink, SINK_NUMBER(t->shown->to_ns), SINK_NUMBER(r->span_ns),
		 SINK_NUMBER(r->task->process), SINK_NUMBER(r->task->tid),
		 SINK_NUMBER(r->task->parent), SINK_TEXT(r->task->comm), SINK_TEXT(state),
		 SINK_NUMBER(r->threads), SINK_NUMBER(n[COUNT_CPU]), SINK_NUMBER(n[COUNT_RUNQ]),
		 SINK_NUMBER(n[COUNT_OFF]), SINK_NUMBER(n[COUNT_CALLS]),
		 SINK_NUMBER(n[COUNT_MINOR]), SINK_NUMBER(n[COUNT_MAJOR]),
		 SINK_NUMBER(n[COUNT_READ]), SINK_NUMBER(n[COUNT_WRITTEN]),
		 SINK_NUMBER(n[COUNT_DISK_READ]), SINK_NUMBER(n[COUNT_DISK_WRITTEN]),
		 SINK_NUMBER(r->cpu_ns));
}

static void add_padded(struct strbuf *out, const struct column *c, const char *text)
{
	if (c->is_text)
		strbuf_addstr(out, text);
	else
		strbuf_addf(out, "%*s ", (int)c->width, text);
}

static void print_heading(struct top *t, struct strbuf *out)
{
	const time_t now = time(NULL);
	struct tm tm;
	char clock[16];

	localtime_r(&now, &tm);
	strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	strbuf_addf(out, "%s%s  %u processes, %u threads, %u running; ", t->round > 1 ? "\n" : "",
		    clock, t->rows.processes, t->rows.threads, t->rows.running);
	share_text(t->rows.total.counts[COUNT_CPU], t->rows.total.span_ns * MAX(t->cpus, 1u), out);
	strbuf_addf(out, "%% of %u CPUs\n", t->cpus);
	for (const struct column *c = top_columns; c->key; c++)
		add_padded(out, c, c->title);
	strbuf_addch(out, '\n');
}

static void print_text(struct strbuf *out, const struct row *r, bool as_tree)
{
	struct strbuf text = STRBUF_INIT;

	for (const struct column *c = top_columns; c->key; c++) {
		strbuf_reset(&text);
		if (c->is_text && as_tree)
			strbuf_addchars(&text, ' ', (int)(2 * r->depth));
		c->text(r, &text);
		add_padded(out, c, text.data);
	}
	strbuf_addch(out, '\n');
	strbuf_release(&text);
}

void top_print(struct top *t, struct output *out)
{
	const size_t n =
		t->o->limit ? MIN(t->rows.items.len, (size_t)t->o->limit) : t->rows.items.len;

	t->sink.columns = json_columns;
	t->sink.format = &sink_as_json;
	t->sink.out = &out->text;
	if (!t->o->config.is_json)
		print_heading(t, &out->text);
	for (size_t i = 0; i < n; i++)
		if (t->o->config.is_json)
			print_json(t, &t->rows.items.items[i]);
		else
			print_text(&out->text, &t->rows.items.items[i], t->choice.as_tree);
}
