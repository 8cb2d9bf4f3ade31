/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms by BPF: the specifications become a script,
 *
 *	tracepoint:SYSTEM:EVENT /FILTER/ { $k = (KEYS); @h0[$k] = count(); if (has_key(@h0, $k)) {
 *@h0v0[$k] = sum(VALUE); } else { @h0d = count(); } }
 *
 * whose maps are read into the tables.
 */

#include "cmd/hist/hist.h"
#include "cmd/run/run.h"
#include "cmd/tools/tools.h"
#include "engine/engine.h"

#define STACK_DEPTH "16" /* HIST_STACKTRACE_DEPTH of the kernel's triggers */

/* ---- the script ---- */

/* ceil(log2(n)), 0 of 0 and 1: hist_field_log2() of the kernel. */
static const char log2_function[] = "fn ceil_log2($n : uint64) : uint64\n"
				    "{\n"
				    "	$v = $n > 1 ? $n - 1 : (uint64)0;\n"
				    "	$r = (uint64)0;\n"
				    "	if ($v >> 32) { $r += 32; $v = $v >> 32; }\n"
				    "	if ($v >> 16) { $r += 16; $v = $v >> 16; }\n"
				    "	if ($v >> 8) { $r += 8; $v = $v >> 8; }\n"
				    "	if ($v >> 4) { $r += 4; $v = $v >> 4; }\n"
				    "	if ($v >> 2) { $r += 2; $v = $v >> 2; }\n"
				    "	if ($v >> 1) { $r += 1; }\n"
				    "	return $n > 1 ? $r + 1 : (uint64)0;\n"
				    "}\n";

/* The arguments of a dynamic event are variables of the script. */
static const char *fields_of(const struct hist_spec *s)
{
	return s->definition ? "$" : "args.";
}

static const char *number_of(struct arena *a, const struct hist_spec *s, u32 column)
{
	const struct hist_column *c = &s->columns[column];

	switch (s->sources[column]) {
	case HIST_FROM_THREAD:
		return "tid";
	case HIST_FROM_CPU:
		return "cpu";
	case HIST_FROM_TIME:
		return c->form == HIST_USECS ? "nsecs / 1000" : "nsecs";
	case HIST_FROM_STACK:
		return "kstack(" STACK_DEPTH ")";
	case HIST_FROM_LATENCY:
		return "$latency";
	case HIST_FROM_FIELD:
		break;
	}
	return arena_printf(a, "%s%s%s", c->is_signed ? "" : "(uint64)", fields_of(s), c->name);
}

static const char *key_of(struct arena *a, const struct hist_spec *s, u32 column)
{
	const struct hist_column *c = &s->columns[column];
	const char *number = number_of(a, s, column);

	switch (c->form) {
	case HIST_STRING:
		if (s->is_user_string[column] || s->is_dynamic_string[column])
			return arena_printf(a, "str(%s%s)", fields_of(s), c->name);
		return arena_printf(a, "%s%s", fields_of(s), c->name);
	case HIST_LOG2:
		return arena_printf(a, "ceil_log2((uint64)%s)", number);
	case HIST_BUCKETS:
		return arena_printf(a, "(uint64)%s / %" PRIu64 " * %" PRIu64, number, c->width,
				    c->width);
	default:
		return number;
	}
}

static void add_counts(struct hist_run *run, struct strbuf *out, const struct hist_spec *s,
		       u32 table)
{
	strbuf_addf(out, "\t$k = (");
	for (u32 c = 0; c < s->nkeys; c++)
		strbuf_addf(out, "%s%s", c ? ", " : "", key_of(run->arena, s, c));
	strbuf_addf(out, ");\n\t@h%u[$k] = count();\n", table);
	strbuf_addf(out, "\tif (has_key(@h%u, $k)) {\n", table);
	for (u32 c = 0; c < s->ncolumns; c++) {
		if (c >= s->nkeys)
			strbuf_addf(out, "\t\t@h%uv%u[$k] = sum(%s);\n", table, c - s->nkeys,
				    number_of(run->arena, s, c));
		else if (s->columns[c].form == HIST_EXECNAME)
			strbuf_addf(out, "\t\tif (!has_key(@h%uc, $k)) { @h%uc[$k] = comm; }\n",
				    table, table);
	}
	strbuf_addf(out, "\t} else { @h%ud = count(); }\n", table);
}

/*
 * Names that are no fields of the event are variables: the latency, and the arguments of a dynamic
 * event.
 */
static void add_filter(struct hist_run *run, struct strbuf *out, const struct hist_spec *s)
{
	strbuf_addstr(out, "\tif (!");
	predicate_script(s->condition, run->diag,
			 s->definition	  ? "*"
			 : s->has_latency ? "latency"
					  : NULL,
			 out);
	strbuf_addstr(out, ") { return; }\n");
}

static void add_predicate(struct hist_run *run, struct strbuf *out)
{
	strbuf_addstr(out, "{\n");
	if (run->control)
		strbuf_addstr(out, "\tif (@paused) { return; }\n");
	if (run->o->config.ends_with)
		strbuf_addf(out, "\tif (pid != %d) { return; }\n", run->o->config.ends_with);
}

/* The thread that ends a latency is seldom the one that began it, so -p filters the first event. */
static void add_latency(struct hist_run *run, struct strbuf *out)
{
	const struct hist_latency *l = &run->latency;

	strbuf_addf(out, "tracepoint:%s:%s\n", l->from_system, l->from_event);
	add_predicate(run, out);
	strbuf_addf(out, "\t@from[(uint64)%s] = nsecs;\n}\n",
		    str_eq(l->from_field, "common_pid")
			    ? "tid"
			    : arena_printf(run->arena, "args.%s", l->from_field));
}

static void add_latency_end(struct hist_run *run, struct strbuf *out)
{
	const struct hist_latency *l = &run->latency;

	strbuf_addf(out,
		    "\t$to = (uint64)%s;\n\t$since = @from[$to];\n\tif (!$since) { return; }\n"
		    "\tdelete(@from, $to);\n\t$latency = (nsecs - $since) / 1000;\n",
		    str_eq(l->to_field, "common_pid")
			    ? "tid"
			    : arena_printf(run->arena, "args.%s", l->to_field));
}

static int add_histogram(struct hist_run *run, struct strbuf *out, u32 i)
{
	const struct hist_spec *s = &run->specs.items[i];
	int err = 0;

	if (s->definition)
		strbuf_addf(out, "%s\n", s->definition->probe);
	else
		strbuf_addf(out, "tracepoint:%s:%s\n", s->system, s->event);
	if (run->latency.from_event) {
		strbuf_addstr(out, "{\n");
		add_latency_end(run, out);
	} else {
		add_predicate(run, out);
	}
	if (s->definition)
		strbuf_addstr(out, s->definition->assignments);
	if (s->condition)
		add_filter(run, out, s);
	add_counts(run, out, s, run->table_of[i]);
	strbuf_addstr(out, "}\n");
	return err;
}

static int make_script(struct hist_run *run, struct strbuf *out)
{
	u64 size = 0;
	bool paused = false;
	int err = 0;

	for (size_t i = 0; i < run->specs.len; i++) {
		size = MAX(size, run->specs.items[i].size);
		paused = paused || run->specs.items[i].is_paused;
	}
	strbuf_addf(out, "config = { print_maps_on_exit = false; max_map_keys = %" PRIu64 "; }\n%s",
		    size, log2_function);
	if (run->control)
		strbuf_addf(out, "begin { @paused = %d; }\n", paused);
	if (run->latency.from_event)
		add_latency(run, out);
	for (size_t i = 0; i < run->specs.len && !err; i++)
		err = add_histogram(run, out, (u32)i);
	return err;
}

/* ---- the maps ---- */

static const char *stack_lines(struct engine *e, struct arena *a, const struct type *t,
			       const u8 *data)
{
	struct strbuf text = STRBUF_INIT, lines = STRBUF_INIT;
	const char *result;

	value_text(&e->printer, &text, t, data);
	for (const char *p = text.data + strspn(text.data, "\n"); *p;) {
		p += strspn(p, " ");
		strbuf_add(&lines, p, strcspn(p, "\n"));
		p += strcspn(p, "\n");
		if (*p && p[1])
			strbuf_addch(&lines, '\n');
		p += *p == '\n';
	}
	result = arena_strdup(a, lines.data);
	strbuf_release(&text);
	strbuf_release(&lines);
	return result;
}

static void fill_key(struct engine *e, struct hist_table *t, struct hist_cell *cell,
		     const struct hist_column *c, const struct type *type, const u8 *data)
{
	if (c->form == HIST_STACK)
		cell->text = stack_lines(e, &t->arena, type, data);
	else if (c->form == HIST_STRING)
		cell->text = arena_strndup(&t->arena, (const char *)data,
					   strnlen((const char *)data, type->size));
	else
		cell->number = (u64)value_integer(type, data);
}

static void fill_keys(struct engine *e, struct hist_table *t, struct hist_row *r,
		      const struct type *key, const u8 *data)
{
	if (t->nkeys == 1 && key->kind != TYPE_TUPLE) {
		fill_key(e, t, &r->cells[0], &t->columns[0], key, data);
		return;
	}
	for (u32 c = 0; c < t->nkeys && c < key->count; c++)
		fill_key(e, t, &r->cells[c], &t->columns[c], key->members[c].type,
			 data + key->members[c].offset);
}

/* A map that holds a part of a table: the hits, a value or the names. */
struct part_of_table {
	struct engine *e;
	struct hist_table *t;
	struct hashmap rows; /* bytes of the key -> index of the row */
	u32 column;
};

static struct hist_row *row_of(struct part_of_table *p, const struct map_view *v, const u8 *key)
{
	const size_t size = v->key->size;
	bool is_new;
	void **index = hashmap_put(&p->rows, key, size, &is_new);
	struct hist_row *r;

	if (!is_new)
		return &p->t->rows.items[(size_t)(uintptr_t)*index];
	*index = (void *)(uintptr_t)p->t->rows.len;
	r = hist_table_add(p->t);
	for (u32 c = 0; c < p->t->nkeys; c++)
		r->cells[c].text = "";
	fill_keys(p->e, p->t, r, v->key, key);
	return r;
}

static void store_hits(struct part_of_table *p, struct hist_row *r, const struct map_view *v,
		       const struct map_row *m)
{
	r->hits = m->total;
}

static void store_value(struct part_of_table *p, struct hist_row *r, const struct map_view *v,
			const struct map_row *m)
{
	r->cells[p->column].number = m->total;
}

static void store_name(struct part_of_table *p, struct hist_row *r, const struct map_view *v,
		       const struct map_row *m)
{
	for (u32 c = 0; c < p->t->nkeys; c++)
		if (p->t->columns[c].form == HIST_EXECNAME)
			r->cells[c].text =
				arena_strndup(&p->t->arena, (const char *)m->value,
					      strnlen((const char *)m->value, v->value->size));
}

static void read_part(struct part_of_table *p, const char *name, bool remove,
		      void (*store)(struct part_of_table *, struct hist_row *,
				    const struct map_view *, const struct map_row *))
{
	const struct open_map *m = engine_find_map(p->e, name);
	struct map_view v = {0};

	if (!m || map_view_read(m, remove, &v) < 0)
		return;
	for (size_t i = 0; i < v.nrows; i++)
		store(p, row_of(p, &v, v.rows[i].key), &v, &v.rows[i]);
	map_view_release(&v);
}

static void fill_table(struct hist_run *run, struct engine *e, u32 table, bool remove)
{
	struct hist_table *t = &run->tables[table];
	struct part_of_table p = {.e = e, .t = t};
	const struct open_map *dropped;
	char name[32];

	snprintf(name, sizeof(name), "h%u", table);
	read_part(&p, name, remove, store_hits);
	for (p.column = t->nkeys; p.column < t->ncolumns; p.column++) {
		snprintf(name, sizeof(name), "h%uv%u", table, p.column - t->nkeys);
		read_part(&p, name, remove, store_value);
	}
	snprintf(name, sizeof(name), "h%uc", table);
	read_part(&p, name, remove, store_name);
	snprintf(name, sizeof(name), "h%ud", table);
	dropped = engine_find_map(e, name);
	t->dropped = dropped ? map_sum_u64(dropped, 0) : 0;
	hashmap_release(&p.rows);
}

/* ---- reports and orders ---- */

static void report(struct hist_run *run, struct engine *e, struct strbuf *out, bool remove)
{
	for (u32 t = 0; t < run->ntables; t++)
		fill_table(run, e, t, remove);
	hist_report(run, out);
}

static void set_paused(struct hist_run *run, struct engine *e, bool on)
{
	const struct open_map *m = engine_find_map(e, "paused");
	u32 zero = 0;
	u64 value = on;

	if (m)
		map_update(m, &zero, &value);
	for (u32 t = 0; t < run->ntables; t++)
		run->tables[t].is_paused = on;
}

static void clear(struct engine *e)
{
	for (size_t i = 0; i < e->script->maps.len; i++)
		if (e->script->maps.items[i].role == MAP_USER &&
		    e->script->maps.items[i].name[0] == 'h')
			map_clear(&e->maps[i]);
}

static bool follow_orders(struct hist_run *run, struct engine *e)
{
	struct strbuf text = STRBUF_INIT;
	enum hist_order order;
	bool go_on = true;

	while (go_on && (order = hist_control_order(run->control)) != HIST_NOTHING) {
		strbuf_reset(&text);
		if (order == HIST_SHOW)
			report(run, e, &text, false);
		else if (order == HIST_CLEAR)
			clear(e);
		else if (order == HIST_STOP)
			go_on = false;
		else
			set_paused(run, e, order == HIST_PAUSE);
		hist_control_answer(run->control, text.data, text.len);
	}
	strbuf_release(&text);
	return go_on;
}

static bool wake(void *arg, struct engine *e)
{
	struct hist_run *run = arg;

	if (hist_control_tick(run->control)) {
		report(run, e, &e->out->text, run->o->clear);
		output_flush(e->out);
	}
	return follow_orders(run, e);
}

static void last_report(void *arg, struct engine *e)
{
	report(arg, e, &e->out->text, false);
}

/* When everything is attached, the run may no longer read the names of kernel addresses. */
static void read_kernel_names(const struct hist_run *run)
{
	u64 offset;

	for (u32 i = 0; i < run->ntables; i++) {
		const struct hist_table *t = &run->tables[i];

		for (u32 c = 0; c < t->ncolumns; c++)
			if (t->columns[c].form == HIST_SYM || t->columns[c].form == HIST_SYM_OFFSET)
				t->symbol(t->arg, 0, &offset);
	}
}

int hist_run_bpf(struct hist_run *run)
{
	const struct engine_reporter reporter = {.arg = run,
						 .fd = run->control ? hist_control_fd(run->control)
								    : -1,
						 .wake = wake,
						 .report = last_report};
	struct strbuf script = STRBUF_INIT;
	struct run_config r = run->o->config;
	int code = EXIT_FAILED;

	for (u32 t = 0; t < run->ntables; t++)
		run->tables[t].engine = "bpf";
	read_kernel_names(run);
	if (make_script(run, &script) == 0) {
		r.name = "hist";
		r.is_tool = r.quiet = true;
		r.is_json = false; /* only its reports are printed */
		r.reporter = &reporter;
		r.text = script.data;
		r.len = script.len;
		code = run_script(&r);
	}
	strbuf_release(&script);
	return code;
}
