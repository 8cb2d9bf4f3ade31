/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/graph_text.h"

#include <stdio.h>

#include "trace/ftrace/number_text.h"

#define INDENT	   2
#define MAX_NESTED 50 /* FTRACE_RETFUNC_DEPTH: deeper ones are not checked for a matching entry */
#define PROC_WIDTH 14

enum fill { FILL_FULL, FILL_START, FILL_END };

/* struct fgraph_cpu_data */
struct graph_cpu {
	s32 last_pid, depth, irq_depth;
	bool seen;
	u64 entered[MAX_NESTED];
};

struct graph_text {
	struct trace_text *text;
	struct graph_text_options options;
	struct raw_buffer *buffer;
	int cpu_width;
	u64 irq_start, irq_end; /* __irqentry_text_start, _end */
	bool newer; /* 6.13: "ret=" instead of "=" before return values */
	struct graph_cpu *cpus;
	u32 cpu_count;
};

/* ---- records ---- */

/* The number of a field at an offset that was looked up by name. */
static u64 load_field(const struct page_event *e, const struct type_member *m)
{
	u64 v = 0;

	if (m->type->size > 8 || m->offset + m->type->size > e->size)
		return 0;
	memcpy(&v, e->data + m->offset, m->type->size);
	return v;
}

bool graph_record_parse(const struct event_info *info, const struct page_event *e,
			struct graph_record *ret)
{
	struct graph_record r = {0};

	if (!str_eq(info->system, "ftrace"))
		return false;
	r.is_return = str_eq(info->name, "funcgraph_exit");
	if (!r.is_return && !str_eq(info->name, "funcgraph_entry") &&
	    !str_eq(info->name, "fgraph_retaddr_entry"))
		return false;
	for (u32 i = 0; i < info->record->count; i++) {
		const struct type_member *m = &info->record->members[i];

		if (str_eq(m->name, "func"))
			r.function = load_field(e, m);
		else if (str_eq(m->name, "depth"))
			r.depth = (s32)load_field(e, m);
		else if (str_eq(m->name, "calltime"))
			r.call_time = load_field(e, m);
		else if (str_eq(m->name, "rettime"))
			r.return_time = load_field(e, m);
		else if (str_eq(m->name, "overrun"))
			r.overrun = (u32)load_field(e, m);
		else if (str_eq(m->name, "common_pid"))
			r.pid = (s32)load_field(e, m);
		else if (str_eq(m->name, "retaddr")) {
			r.return_address = load_field(e, m);
			r.has_return_address = true;
		} else if (str_eq(m->name, "retval")) {
			r.retval = load_field(e, m);
			r.has_retval = true;
		} else if (str_eq(m->name, "args") && m->offset < e->size) {
			r.args = e->data + m->offset;
			r.arg_count = (e->size - m->offset) / 8;
		}
	}
	*ret = r;
	return true;
}

/* ---- columns ---- */

static char duration_mark(u64 ns)
{
	static const struct {
		u64 above; /* ns */
		char mark;
	} marks[] = {{1000000000, '$'}, {100000000, '@'}, {10000000, '*'},
		     {1000000, '#'},	{100000, '!'},	  {10000, '+'}};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (ns > marks[i].above)
			return marks[i].mark;
	return ' ';
}

/* trace_print_graph_duration(): at most seven digits. */
static void graph_text_duration(u64 ns, struct strbuf *out)
{
	const size_t begin = out->len;
	int len;

	text_unsigned(out, ns / 1000);
	len = (int)(out->len - begin);
	if (len < 7) {
		char digits[8];
		const int room = MIN(4, 7 - len);

		snprintf(digits, sizeof(digits), "%03u", (unsigned int)(ns % 1000));
		strbuf_addch(out, '.');
		strbuf_add(out, digits, (size_t)MIN(room, 3));
		len += 1 + MIN(room, 3);
	}
	strbuf_addstr(out, " us ");
	strbuf_addchars(out, ' ', 8 - len);
}

static void print_fill(struct graph_text *g, enum fill fill, struct strbuf *out)
{
	static const char *const texts[] = {"              |  ", "  ", " |"};

	if (!g->options.no_duration)
		strbuf_addstr(out, texts[fill]);
}

static void print_duration(struct graph_text *g, u64 ns, struct strbuf *out)
{
	if (g->options.no_duration)
		return;
	strbuf_addch(out, g->options.no_overhead ? ' ' : duration_mark(ns));
	strbuf_addch(out, ' ');
	graph_text_duration(ns, out);
	strbuf_addstr(out, "|  ");
}

static void print_cpu(struct graph_text *g, u32 cpu, struct strbuf *out)
{
	strbuf_addf(out, " %*u) ", g->cpu_width, cpu);
}

/* Seven characters of the name, centred with the number. */
static void print_proc(struct graph_text *g, s32 pid, struct strbuf *out)
{
	size_t len;
	const char *comm = task_name(g->text->tasks, pid, &len);
	char number[16];
	int spaces;

	len = MIN(len, (size_t)7);
	snprintf(number, sizeof(number), "%d", pid);
	spaces = PROC_WIDTH - (int)(len + strlen(number) + 1);
	strbuf_addchars(out, ' ', spaces > 0 ? spaces / 2 : 0);
	strbuf_add(out, comm, len);
	strbuf_addch(out, '-');
	strbuf_addstr(out, number);
	strbuf_addchars(out, ' ', spaces > 0 ? spaces - spaces / 2 : 0);
}

static void print_columns(struct graph_text *g, const struct raw_event *e, s32 pid,
			  struct strbuf *out)
{
	if (g->options.abstime) {
		strbuf_addf(out, "%5" PRIu64 ".%06" PRIu64 " |  ", e->event.time / 1000000000,
			    e->event.time % 1000000000 / 1000);
	}
	if (!g->options.no_cpu)
		print_cpu(g, e->cpu, out);
	if (g->options.proc) {
		print_proc(g, pid, out);
		strbuf_addstr(out, " | ");
	}
	if (g->options.flags) {
		char flags[5];

		trace_text_flags(e->event.data[2], e->event.data[3], flags);
		strbuf_addch(out, ' ');
		strbuf_add(out, flags, sizeof(flags));
		strbuf_addstr(out, " | ");
	}
}

static bool is_irq_text(const struct graph_text *g, u64 function)
{
	return function >= g->irq_start && function < g->irq_end;
}

/* "==========>" around what interrupts do. */
static void print_irq(struct graph_text *g, const struct raw_event *e, s32 pid, u64 function,
		      bool enter, struct strbuf *out)
{
	if (!is_irq_text(g, function))
		return;
	print_columns(g, e, pid, out);
	print_fill(g, FILL_START, out);
	strbuf_addstr(out, enter ? "==========>" : "<==========");
	print_fill(g, FILL_END, out);
	strbuf_addch(out, '\n');
}

/* verif_pid() */
static void print_switch(struct graph_text *g, struct graph_cpu *c, u32 cpu, s32 pid,
			 struct strbuf *out)
{
	static const char rule[] = " ------------------------------------------\n";
	const s32 before = c->last_pid;
	const bool seen = c->seen;

	c->last_pid = pid;
	c->seen = true;
	if (!seen || before == pid)
		return;
	strbuf_addstr(out, rule);
	print_cpu(g, cpu, out);
	print_proc(g, before, out);
	strbuf_addstr(out, " => ");
	print_proc(g, pid, out);
	strbuf_addch(out, '\n');
	strbuf_addstr(out, rule);
	strbuf_addch(out, '\n');
}

/* ---- lines ---- */

static void print_name(struct graph_text *g, u64 function, struct strbuf *out)
{
	symbol_print(g->text->context.symbols, function, SYMBOL_MODULE, out);
}

static void print_call(struct graph_text *g, const struct graph_record *r, struct strbuf *out)
{
	print_name(g, r->function, out);
	if (r->arg_count >= FUNCTION_ARGS_RECORDED)
		function_args_print(&g->text->args, g->text->context.symbols, r->function, r->args,
				    r->arg_count, out);
	else
		strbuf_addstr(out, "()");
}

static void print_return_address(struct graph_text *g, const struct graph_record *r,
				 struct strbuf *out)
{
	strbuf_addstr(out, " <-");
	if (r->return_address)
		symbol_print(g->text->context.symbols, r->return_address, SYMBOL_OFFSET, out);
	else
		strbuf_addch(out, '0');
}

/* print_graph_retval(): of an int, the upper half is not set. */
s64 graph_text_error(u64 retval)
{
	const s64 v = retval & 1u << 31 && !(retval >> 32) ? (s32)retval : (s64)retval;

	return v < 0 && v >= -4095 ? v : 0;
}

/* An error as a number, anything else in hex. */
static void print_retval(struct graph_text *g, u64 v, struct strbuf *out)
{
	const s64 error = g->options.retval_hex ? 0 : graph_text_error(v);

	strbuf_addstr(out, g->newer ? " ret=" : " = ");
	if (error) {
		text_signed(out, error);
		return;
	}
	strbuf_addstr(out, "0x");
	text_hex(out, v);
}

static void print_leaf(struct graph_text *g, struct graph_cpu *c, const struct raw_event *e,
		       const struct graph_record *entry, const struct graph_record *ret,
		       struct strbuf *out)
{
	const bool retval = g->options.retval && ret->has_retval,
		   retaddr = g->options.retaddr && entry->has_return_address;

	c->depth = entry->depth - 1;
	if (entry->depth >= 0 && entry->depth < MAX_NESTED)
		c->entered[entry->depth] = 0;
	print_duration(g, ret->return_time - ret->call_time, out);
	strbuf_addchars(out, ' ', MIN(entry->depth, 1000) * INDENT);
	print_call(g, entry, out);
	strbuf_addch(out, ';');
	if (retval || retaddr)
		strbuf_addstr(out, " /*");
	if (retaddr)
		print_return_address(g, entry, out);
	if (retval)
		print_retval(g, ret->retval, out);
	strbuf_addstr(out, retval || retaddr ? " */\n" : "\n");
	print_irq(g, e, entry->pid, ret->function, false, out);
}

static void print_nested(struct graph_text *g, struct graph_cpu *c,
			 const struct graph_record *entry, struct strbuf *out)
{
	c->depth = entry->depth;
	if (entry->depth >= 0 && entry->depth < MAX_NESTED)
		c->entered[entry->depth] = entry->function;
	print_fill(g, FILL_FULL, out);
	strbuf_addchars(out, ' ', MIN(entry->depth, 1000) * INDENT);
	print_call(g, entry, out);
	strbuf_addstr(out, " {");
	if (g->options.retaddr && entry->has_return_address) {
		strbuf_addstr(out, " /*");
		print_return_address(g, entry, out);
		strbuf_addstr(out, " */");
	}
	strbuf_addch(out, '\n');
}

static bool next_is_return(struct graph_text *g, const struct graph_record *entry,
			   struct graph_record *ret)
{
	struct page_event next;
	struct event_info *info;

	if (!g->buffer || !raw_buffer_peek(g->buffer, &next))
		return false;
	info = event_table_get(g->text->events, page_event_id(&next));
	return info && graph_record_parse(info, &next, ret) && ret->is_return &&
	       ret->pid == entry->pid && ret->function == entry->function;
}

static void print_entry(struct graph_text *g, struct graph_cpu *c, const struct raw_event *e,
			const struct graph_record *entry, struct strbuf *out)
{
	struct graph_record ret;

	if (g->options.no_irqs) {
		if (c->irq_depth >= 0)
			return;
		if (is_irq_text(g, entry->function)) {
			c->irq_depth = entry->depth;
			return;
		}
	}
	print_switch(g, c, e->cpu, entry->pid, out);
	print_irq(g, e, entry->pid, entry->function, true, out);
	print_columns(g, e, entry->pid, out);
	if (next_is_return(g, entry, &ret)) {
		raw_buffer_skip(g->buffer);
		print_leaf(g, c, e, entry, &ret, out);
	} else {
		print_nested(g, c, entry, out);
	}
}

static bool matches(struct graph_cpu *c, const struct graph_record *r)
{
	bool match;

	c->depth = r->depth - 1;
	if (r->depth < 0 || r->depth >= MAX_NESTED)
		return true;
	match = c->entered[r->depth] == r->function;
	c->entered[r->depth] = 0;
	return match;
}

static void print_return(struct graph_text *g, struct graph_cpu *c, const struct raw_event *e,
			 const struct graph_record *r, struct strbuf *out)
{
	const bool retval = g->options.retval && r->has_retval;
	bool match;

	if (g->options.no_irqs && c->irq_depth != -1) {
		if (c->irq_depth >= r->depth)
			c->irq_depth = -1;
		return;
	}
	match = matches(c, r);
	print_switch(g, c, e->cpu, r->pid, out);
	print_columns(g, e, r->pid, out);
	print_duration(g, r->return_time - r->call_time, out);
	strbuf_addchars(out, ' ', MIN(r->depth, 1000) * INDENT);
	strbuf_addch(out, '}');
	/* A name where its entry was not seen: nobody should have to guess. */
	if (retval || !match || g->options.tail) {
		strbuf_addstr(out, " /* ");
		print_name(g, r->function, out);
		if (retval)
			print_retval(g, r->retval, out);
		strbuf_addstr(out, " */");
	}
	strbuf_addch(out, '\n');
	if (g->options.overrun)
		strbuf_addf(out, " (Overruns: %u)\n", r->overrun);
	print_irq(g, e, r->pid, r->function, false, out);
}

static void print_comment(struct graph_text *g, struct graph_cpu *c, struct event_info *info,
			  const struct raw_event *e, struct strbuf *out)
{
	s32 pid = 0;
	size_t begin;

	memcpy(&pid, e->event.data + 4, sizeof(pid));
	print_switch(g, c, e->cpu, pid, out);
	print_columns(g, e, pid, out);
	print_fill(g, FILL_FULL, out);
	if (c->depth > 0)
		strbuf_addchars(out, ' ', (MIN(c->depth, 1000) + 1) * INDENT);
	strbuf_addstr(out, "/* ");
	begin = out->len;
	trace_text_body(g->text, info, e, out);
	/* A note of the user's without the place that it was written from. */
	if (str_eq(info->system, "ftrace") &&
	    (str_eq(info->name, "print") || str_eq(info->name, "bputs"))) {
		const char *colon = memmem(out->data + begin, out->len - begin, ": ", 2);

		if (colon) {
			const size_t cut = (size_t)(colon + 2 - (out->data + begin));

			memmove(out->data + begin, out->data + begin + cut, out->len - begin - cut);
			out->len -= cut;
		}
	}
	if (out->len && out->data[out->len - 1] == '\n')
		out->len--;
	strbuf_addstr(out, " */\n");
}

/* ---- everything ---- */

static struct graph_cpu *cpu_of(struct graph_text *g, u32 cpu)
{
	if (cpu >= g->cpu_count) {
		const u32 n = cpu + 1;

		g->cpus = xreallocarray(g->cpus, n, sizeof(*g->cpus));
		for (u32 i = g->cpu_count; i < n; i++)
			g->cpus[i] = (struct graph_cpu){.irq_depth = -1};
		g->cpu_count = n;
	}
	return &g->cpus[cpu];
}

void graph_text_event(struct graph_text *g, const struct raw_event *e, struct strbuf *out)
{
	struct event_info *info = event_table_get(g->text->events, page_event_id(&e->event));
	struct graph_cpu *c = cpu_of(g, e->cpu);
	struct graph_record r;

	trace_text_lost(e, out);
	if (!info || e->event.size < 8)
		return;
	if (!graph_record_parse(info, &e->event, &r)) {
		/* Stacks have lines of their own, which are no comments. */
		if (str_eq(info->system, "ftrace") &&
		    (str_eq(info->name, "kernel_stack") || str_eq(info->name, "function")))
			trace_text_event(g->text, e, out);
		else
			print_comment(g, c, info, e, out);
	} else if (r.is_return) {
		print_return(g, c, e, &r, out);
	} else {
		print_entry(g, c, e, &r, out);
	}
}

void graph_text_columns(const struct graph_text *g, struct strbuf *out)
{
	const struct graph_text_options *o = &g->options;

	strbuf_addf(out, "#%s%s%s%s%s               FUNCTION CALLS\n",
		    o->abstime ? "     TIME       " : "", o->no_cpu ? "" : " CPU",
		    o->proc ? "  TASK/PID       " : "", o->flags ? "||||   " : "",
		    o->no_duration ? "" : "  DURATION   ");
	strbuf_addf(out, "#%s%s%s%s%s               |   |   |   |\n",
		    o->abstime ? "      |         " : "", o->no_cpu ? "" : " |  ",
		    o->proc ? "   |    |        " : "", o->flags ? "||||   " : "",
		    o->no_duration ? "" : "   |   |      ");
}

static bool has_args(const struct event_info *info)
{
	for (u32 i = 0; info && i < info->record->count; i++)
		if (str_eq(info->record->members[i].name, "args"))
			return true;
	return false;
}

struct graph_text *graph_text_new(struct trace_text *t, const struct graph_text_options *o,
				  struct raw_buffer *buffer, u32 possible_cpus)
{
	struct graph_text *g = xzalloc(sizeof(*g));

	g->text = t;
	g->options = *o;
	g->buffer = buffer;
	g->cpu_width = snprintf(NULL, 0, "%u", possible_cpus ? possible_cpus - 1 : 0);
	g->irq_start = ksyms_address(t->context.symbols, "__irqentry_text_start");
	g->irq_end = ksyms_address(t->context.symbols, "__irqentry_text_end");
	g->newer = event_table_find(t->events, "ftrace", "fgraph_retaddr_entry") ||
		   has_args(event_table_find(t->events, "ftrace", "funcgraph_entry"));
	return g;
}

void graph_text_release(struct graph_text *g)
{
	if (!g)
		return;
	free(g->cpus);
	free(g);
}
