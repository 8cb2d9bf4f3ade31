/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace funcgraph`: what kernel functions call and how long it takes, by ftrace's
 * function_graph tracer. */
#include <stdio.h>

#include "base/json.h"
#include "cmd/ftrace/session.h"
#include "kernel/tracefs/function_filter.h"
#include "cmd/ftrace/functrace.h"
#include "trace/ftrace/graph_text.h"

struct funcgraph_options {
	struct ftrace_options common;
	const char *only, *notrace;
	u64 depth;
	double min_us;
	bool all, on_cpu, no_duration, proc, abstime, tail, no_irqs, flags;
	bool retval, hex, args, retaddr, no_cpu, overrun;
};

#define FIELD(name) offsetof(struct funcgraph_options, name)

static const struct option_spec options[] = {
	FTRACE_OPTION_ROWS(struct funcgraph_options, common),
	{'a', "all", NULL, "all columns: the same as -HPt", OPTION_FLAG, FIELD(all)},
	{'C', "on-cpu", NULL, "times on a CPU only: without those asleep", OPTION_FLAG,
	 FIELD(on_cpu)},
	{'m', "max-depth", "N", "follow calls only this deep", OPTION_POSITIVE, FIELD(depth)},
	{'F', "min-duration", "US",
	 "only functions that took longer, in microseconds; each at its end", OPTION_DOUBLE,
	 FIELD(min_us)},
	{'I', "no-irqs", NULL, "without what interrupts do meanwhile", OPTION_FLAG, FIELD(no_irqs)},
	{'l', "only", "FUNCTIONS", "of what is called show only these", OPTION_STRING, FIELD(only)},
	{'n', "notrace", "FUNCTIONS", "leave these out, with all that they call", OPTION_STRING,
	 FIELD(notrace)},
	{'R', "retval", NULL, "what the functions return (kernels since 6.5)", OPTION_FLAG,
	 FIELD(retval)},
	{'x', "hex", NULL, "-R in hex, errors too", OPTION_FLAG, FIELD(hex)},
	{'A', "args", NULL, "the arguments, named and typed by BTF (kernels since 6.15)",
	 OPTION_FLAG, FIELD(args)},
	{'r', "retaddr", NULL, "where the call was made (kernels since 6.13)", OPTION_FLAG,
	 FIELD(retaddr)},
	{0, NULL, NULL, "Columns", OPTION_HEADING, 0},
	{'D', "no-duration", NULL, "without durations", OPTION_FLAG, FIELD(no_duration)},
	{'P', "proc", NULL, "name and id of the thread", OPTION_FLAG, FIELD(proc)},
	{'t', "time", NULL, "time, in seconds since boot", OPTION_FLAG, FIELD(abstime)},
	{'T', "tail", NULL, "the function's name behind its closing brace", OPTION_FLAG,
	 FIELD(tail)},
	{'f', "flags", NULL, "interrupt and preemption flags", OPTION_FLAG, FIELD(flags)},
	{0, "no-cpu", NULL, "without the CPU", OPTION_FLAG, FIELD(no_cpu)},
	{0, "overrun", NULL, "calls nested too deeply to be traced", OPTION_FLAG, FIELD(overrun)},
	{0},
};

static const struct option_field fields[] = {
	{"TIME", "seconds since boot (-t)"},
	{"CPU", "the CPU that it ran on"},
	{"TASK/PID", "the thread: seven characters of its name, and its id (-P)"},
	{"DURATION",
	 "from call to return; + more than 10 us, ! 100 us, # 1 ms, * 10 ms, @ 100 ms, $ 1 s"},
	{"FUNCTION CALLS",
	 "calls, nested; one that calls nothing (that is traced) is a line of its own"},
	{0},
};

static const struct command_spec spec = {
	.name = "funcgraph",
	.synopsis = "[options] FUNCTION[,FUNCTION...] [-- COMMAND [ARGUMENT...]]",
	.summary = "trace what kernel functions call, as a graph with times",
	.examples =
		"pantrace funcgraph do_nanosleep                  # what it calls, until Ctrl-C\n"
		"pantrace funcgraph -m 3 vfs_read                 # three levels of it\n"
		"pantrace funcgraph -a -d 1 -p 181 vfs_write      # all columns, one second, one "
		"process\n"
		"pantrace funcgraph -F 1000 -C 'ext4_*'           # what kept a CPU for longer "
		"than a millisecond\n"
		"pantrace funcgraph -m 1 -T 'tcp_*,udp_*'         # only durations, with names at "
		"the end\n"
		"pantrace funcgraph -R -m 2 do_sys_openat2        # results: which function said "
		"ENOENT\n"
		"pantrace funcgraph -A -m 1 vfs_write             # what it was given\n",
	.details = "FUNCTION may have wildcards (* ? [...]).\n"
		   "function_graph makes the traced paths at least half as slow again. With -d the "
		   "events stay in the kernel's buffer until the time is over, which costs less; "
		   "those that it has no room for are counted and said.\n",
	.fields = fields,
	.options = options,
	.command = COMMAND_TRACED,
};

#define CALLS_NESTED 64 /* deeper calls are printed without the arguments of their entries */

struct funcgraph {
	struct ftrace_session session;
	struct funcgraph_options o;
	struct graph_text_options columns;
	struct graph_text *text;
	u64 min_ns;
	struct hashmap calls; /* JSON: thread -> struct calls */
};

/* ---- printing ---- */

/* The arguments of a thread's open calls, by depth: a call is printed at its return. */
struct calls {
	struct call {
		u64 function, return_address;
		bool has_return_address, has_args;
		u8 args[FUNCTION_ARGS_RECORDED * 8];
	} at[CALLS_NESTED];
};

static struct call *call_of(struct funcgraph *f, const struct graph_record *r, bool make)
{
	struct calls *c = hashmap_get(&f->calls, &r->pid, sizeof(r->pid));

	if (r->depth < 0 || r->depth >= CALLS_NESTED)
		return NULL;
	if (!c && make) {
		c = xzalloc(sizeof(*c));
		*hashmap_put(&f->calls, &r->pid, sizeof(r->pid), NULL) = c;
	}
	return c ? &c->at[r->depth] : NULL;
}

static void note_call(struct funcgraph *f, const struct graph_record *r)
{
	struct call *c = f->o.args || f->o.retaddr ? call_of(f, r, true) : NULL;

	if (!c)
		return;
	c->function = r->function;
	c->return_address = r->return_address;
	c->has_return_address = r->has_return_address;
	c->has_args = r->arg_count >= FUNCTION_ARGS_RECORDED;
	if (c->has_args)
		memcpy(c->args, r->args, sizeof(c->args));
}

/* The entry may have been lost, or have been before tracing began. */
static void json_call(struct funcgraph *f, const struct graph_record *r, struct json *j)
{
	struct trace_text *const t = &f->session.text;
	struct call *c = call_of(f, r, false);
	struct strbuf caller = STRBUF_INIT;

	if (!c || c->function != r->function)
		return;
	if (f->o.args && c->has_args) {
		json_key(j, "args");
		function_args_json(&t->args, t->context.symbols, r->function, c->args,
				   FUNCTION_ARGS_RECORDED, j);
	}
	if (f->o.retaddr && c->has_return_address) {
		symbol_print(t->context.symbols, c->return_address, SYMBOL_OFFSET, &caller);
		json_member_string(j, "caller", caller.data, caller.len);
		strbuf_release(&caller);
	}
	c->function = 0;
}

/* A call that has returned; its time is that of the return. */
static void print_json(struct ftrace_session *s, const struct raw_event *e,
		       const struct graph_record *r, struct strbuf *out)
{
	struct json j = JSON_INIT(out);
	struct strbuf name = STRBUF_INIT;

	symbol_print(s->text.context.symbols, r->function, SYMBOL_PLAIN, &name);
	ftrace_json_begin(s, e, e->event.time, r->pid, &j);
	json_member_string(&j, "function", name.data, name.len);
	json_member_s64(&j, "depth", r->depth);
	json_member_u64(&j, "duration_ns", r->return_time - r->call_time);
	json_call(s->arg, r, &j);
	if (r->has_retval)
		json_member_s64(&j, "retval", (s64)r->retval);
	if (r->has_retval && graph_text_error(r->retval))
		json_member_s64(&j, "error", graph_text_error(r->retval));
	json_end(&j, '}');
	json_end_line(&j);
	strbuf_release(&name);
}

static void print(struct ftrace_session *s, const struct raw_event *e, struct strbuf *out)
{
	struct funcgraph *f = s->arg;
	struct event_info *info = event_table_get(s->text.events, page_event_id(&e->event));
	struct graph_record r;
	const bool is_graph = info && graph_record_parse(info, &e->event, &r);

	if (is_graph && !r.is_return && s->options->json)
		note_call(f, &r);
	/*
	 * With a minimum duration, as with tracing_thresh: no entries, and only returns of calls
	 * that took longer.
	 */
	if (is_graph && f->min_ns && (!r.is_return || r.return_time - r.call_time < f->min_ns))
		return;
	if (s->options->json) {
		if (is_graph && r.is_return)
			print_json(s, e, &r, out);
		return;
	}
	if (!f->text)
		f->text = graph_text_new(&s->text, &f->columns, s->buffer,
					 kernel_possible_cpus(s->kernel));
	graph_text_event(f->text, e, out);
}

static void print_columns(struct funcgraph *f)
{
	struct graph_text *g = graph_text_new(&f->session.text, &f->columns, NULL, 1);

	graph_text_columns(g, &f->session.out.text);
	graph_text_release(g);
}

/* ---- setting up ---- */

/* Records with both came later than either. */
static bool has_args(const struct event_info *info)
{
	for (u32 i = 0; info && i < info->record->count; i++)
		if (str_eq(info->record->members[i].name, "args"))
			return true;
	return false;
}

static int check_records(struct funcgraph *f)
{
	struct ftrace_session *const s = &f->session;

	if (!f->o.args || !f->o.retaddr ||
	    has_args(event_table_find(s->text.events, "ftrace", "fgraph_retaddr_entry")))
		return 0;
	diag_error(&s->diag, NO_SPAN,
		   "this kernel records a call's arguments or where it was made, not both");
	diag_hint(&s->diag, "leave one of -A and -r out; newer kernels (7.3) record both");
	diag_code(&s->diag, EXIT_UNSUPPORTED);
	return -EOPNOTSUPP;
}

static int set_options(struct funcgraph *f)
{
	const struct funcgraph_options *o = &f->o;
	struct instance *in = f->session.instance;
	const struct {
		bool wanted;
		const char *option;
		bool on;
		const char *needs;
	} rows[] = {
		{o->on_cpu, "sleep-time", false, NULL},
		{o->no_irqs, "funcgraph-irqs", false, NULL},
		{o->retval, "funcgraph-retval", true, "6.5, with CONFIG_FUNCTION_GRAPH_RETVAL"},
		{o->args, "funcgraph-args", true, "6.15, with CONFIG_DEBUG_INFO_BTF"},
		{o->retaddr, "funcgraph-retaddr", true, "6.13, with CONFIG_FUNCTION_GRAPH_RETADDR"},
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && !err; i++) {
		if (!rows[i].wanted)
			continue;
		err = instance_set_option(in, rows[i].option, rows[i].on);
		if (err == -ENOENT && rows[i].needs)
			diag_hint(&f->session.diag, "kernels have it since %s", rows[i].needs);
	}
	return err ? err : check_records(f);
}

/*
 * Set before the tracer starts, as it reads it once. If an instance has no such file, all calls are
 * recorded.
 */
static void set_threshold(struct funcgraph *f)
{
	char us[32];

	if (!f->min_ns || !instance_has(f->session.instance, "tracing_thresh"))
		return;
	snprintf(us, sizeof(us), "%" PRIu64, f->min_ns / 1000);
	instance_try(f->session.instance, "tracing_thresh", us);
}

static int set_up(struct funcgraph *f, const char *functions)
{
	const struct funcgraph_options *o = &f->o;
	struct instance *in = f->session.instance;
	char depth[24];
	/*
	 * If only slow functions are wanted, what they call does not matter: other functions then
	 * cost nothing.
	 */
	int err = function_filter_set(
		in, f->min_ns && !o->only ? "set_ftrace_filter" : "set_graph_function", functions);

	if (!err && o->only)
		err = function_filter_set(in, "set_ftrace_filter", o->only);
	if (!err && o->notrace)
		err = function_filter_set(in, "set_graph_notrace", o->notrace);
	snprintf(depth, sizeof(depth), "%" PRIu64, o->depth);
	if (!err && o->depth)
		err = instance_write(in, "max_graph_depth", depth);
	if (!err)
		set_threshold(f);
	if (!err)
		err = instance_set_tracer(in, "function_graph");
	/* A tracer's own options exist only while it is the current one. */
	return err ? err : set_options(f);
}

static int trace(struct funcgraph *f, const char *functions)
{
	struct ftrace_session *s = &f->session;

	if (set_up(f, functions))
		return (int)diag_exit_code(&s->diag);
	s->text.args.btf = f->o.args ? event_table_btf(s->text.events) : NULL;
	s->text.args.types = event_table_types(s->text.events);
	s->print = print;
	s->arg = f;
	if (f->o.common.header && !f->o.common.json)
		print_columns(f);
	f->o.common.header = false;
	ftrace_session_say(s, "Tracing %s", functions);
	return ftrace_session_run(s);
}

static int check_options(struct funcgraph *f)
{
	struct funcgraph_options *o = &f->o;

	if (o->all)
		o->common.header = o->proc = o->abstime = true;
	if (o->depth > 1000)
		return options_usage_error(&spec, "-m takes at most 1000 levels");
	if (o->min_us > 1e12)
		return options_usage_error(&spec, "-F takes at most 1e12 microseconds");
	f->min_ns = (u64)(o->min_us * 1000);
	f->columns = (struct graph_text_options){
		.no_cpu = o->no_cpu,
		.no_duration = o->no_duration,
		.proc = o->proc,
		.abstime = o->abstime,
		.flags = o->flags,
		.tail = o->tail,
		.no_irqs = o->no_irqs,
		.overrun = o->overrun,
		.retval = o->retval || o->hex,
		.retval_hex = o->hex,
		.retaddr = o->retaddr,
	};
	o->retval |= o->hex;
	return 0;
}

int cmd_funcgraph(int argc, char **argv)
{
	struct funcgraph f = {0};
	int first, rc = options_command(&spec, &argc, argv, &f.o.common.command);

	if (rc == OPTIONS_GO_ON)
		rc = options_parse(&spec, argc, argv, &f.o, &first);
	if (rc != OPTIONS_GO_ON)
		return rc;
	rc = check_options(&f);
	if (rc)
		return rc;
	rc = function_filter_word(&spec, argc, argv, first);
	if (rc != OPTIONS_GO_ON)
		return rc;
	rc = ftrace_session_open(&f.session, &spec, &f.o.common, "function_graph");
	if (!rc)
		rc = trace(&f, argv[first]);
	rc = ftrace_session_close(&f.session, rc);
	graph_text_release(f.text);
	hashmap_each (&f.calls, entry)
		free(entry->value);
	hashmap_release(&f.calls);
	return rc;
}
