/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a run, which several specifications may share, and reports of them. */
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "cmd/hist/hist.h"
#include "kernel/symbols/ksyms.h"
#include "view/width.h"

static struct hist_table *hist_table_of(struct hist_run *run, u32 spec)
{
	return &run->tables[run->table_of[spec]];
}

static const char *symbol_of(void *arg, u64 address, u64 *ret_offset)
{
	struct hist_run *run = arg;
	struct kernel_symbol s;

	if (!kernel_symbol_at(run->kernel, address, &s))
		return NULL;
	*ret_offset = address - s.address;
	return s.name;
}

static const char *syscall_of(void *arg, u64 number)
{
	return arch_syscall_name(number);
}

static bool same_columns(const struct hist_spec *a, const struct hist_spec *b)
{
	if (a->nkeys != b->nkeys || a->ncolumns != b->ncolumns)
		return false;
	for (u32 c = 0; c < a->ncolumns; c++)
		if (!str_eq(a->columns[c].name, b->columns[c].name) ||
		    a->columns[c].form != b->columns[c].form ||
		    a->columns[c].width != b->columns[c].width)
			return false;
	return true;
}

static int table_with_name(struct hist_run *run, u32 spec, u32 *ret)
{
	const struct hist_spec *s = &run->specs.items[spec];

	*ret = run->ntables;
	for (u32 i = 0; i < spec && s->name; i++) {
		const struct hist_spec *other = &run->specs.items[i];

		if (!other->name || !str_eq(other->name, s->name))
			continue;
		*ret = run->table_of[i];
		if (same_columns(s, other))
			return 0;
		diag_error(run->diag, s->places[0],
			   "the histograms named '%s' have different keys or values", s->name);
		return -EINVAL;
	}
	return 0;
}

int hist_make_tables(struct hist_run *run)
{
	run->tables = arena_new_array(run->arena, struct hist_table, run->specs.len);
	run->table_of = arena_new_array(run->arena, u32, run->specs.len);
	for (u32 i = 0; i < run->specs.len; i++) {
		const struct hist_spec *s = &run->specs.items[i];
		struct hist_table *t;
		int err = table_with_name(run, i, &run->table_of[i]);

		if (err)
			return err;
		t = hist_table_of(run, i);
		if (run->table_of[i] < run->ntables) {
			t->title = arena_printf(run->arena, "%s, %s:%s", t->title, s->system,
						s->event);
			continue;
		}
		run->ntables++;
		*t = (struct hist_table){
			.title = hist_spec_title(run->arena, s),
			.columns = s->columns,
			.nkeys = s->nkeys,
			.ncolumns = s->ncolumns,
			.nsorts = s->nsorts,
			.is_paused = s->is_paused,
			.arg = run,
			.symbol = symbol_of,
			.syscall = syscall_of,
		};
		memcpy(t->sorts, s->sorts, sizeof(t->sorts));
	}
	return 0;
}

static void add_time(struct strbuf *out)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[16];

	localtime_r(&now, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	strbuf_addf(out, "%s\n", text);
}

void hist_report(struct hist_run *run, struct strbuf *out)
{
	const size_t begin = out->len;

	if (run->o->interval_ns && !run->o->config.is_json && !run->o->as_kernel)
		add_time(out);
	for (u32 i = 0; i < run->ntables; i++) {
		struct hist_table *t = &run->tables[i];

		hist_table_sort(t);
		if (run->o->config.is_json)
			hist_table_json(out, t, run->o->top);
		else if (run->o->as_kernel)
			hist_table_kernel_text(out, t);
		else
			hist_table_text(out, t, run->o->top);
		hist_table_clear(t);
	}
	if (!run->o->config.is_json && !run->o->config.output)
		text_fit(out, begin, terminal_width(STDOUT_FILENO));
}
