/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts patterns of kernel functions with ftrace's function tracer, on kernels that cannot attach
 * one BPF program to many functions at once (CONFIG_FPROBE), and with funccount -F. Attaching a
 * kprobe to each of 400 functions takes such a kernel up to a minute; the tracer's filter is one
 * write. Events are read in binary and counted here; events for which the buffer had no room are
 * counted and reported.
 */
#include "cmd/tools/count.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/glob.h"
#include "base/hashmap.h"
#include "cmd/ftrace/session.h"
#include "kernel/tracefs/function_filter.h"
#include "kernel/kernel.h"
#include "kernel/symbols/ksyms.h"
#include "view/sink.h"
#include "view/value.h"

#define PID_OFFSET 4 /* of common_pid */
#define IP_OFFSET \
	8 /* of ip in struct ftrace_entry, after the common fields (include/linux/trace_events.h, \
	     trace_entries.h) */

struct counter {
	u64 ip, count;
	char *name;
};

struct counting {
	struct ftrace_session session;
	const struct count_request *request;
	struct hashmap places; /* ip -> index into counters + 1 */
	VECTOR(struct counter) counters;
	u32 function_id;
	pid_t self; /* the thread whose calls are not counted */
	u64 next_ns; /* CLOCK_MONOTONIC of the next report; 0 = only at the end */
	struct sink sink;
};

static int by_count(const void *a, const void *b)
{
	const struct counter *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void name_counters(struct counting *c)
{
	for (size_t i = 0; i < c->counters.len; i++) {
		struct counter *n = &c->counters.items[i];
		struct kernel_symbol symbol;

		if (kernel_symbol_at(c->session.kernel, n->ip, &symbol))
			n->name = xstrdup(symbol.name);
		else
			n->name = xasprintf("0x%" PRIx64, n->ip);
	}
}

static void forget(struct counting *c)
{
	for (size_t i = 0; i < c->counters.len; i++)
		free(c->counters.items[i].name);
	c->counters.len = 0;
	hashmap_release(&c->places);
	c->places = (struct hashmap){0};
}

/* Prints what was counted since the last report. */
static void report(struct counting *c)
{
	const struct count_request *r = c->request;
	struct strbuf *out = &c->session.out.text, time = STRBUF_INIT;
	size_t first;

	name_counters(c);
	if (c->counters.len)
		qsort(c->counters.items, c->counters.len, sizeof(*c->counters.items), by_count);
	first = r->top && c->counters.len > r->top ? c->counters.len - (size_t)r->top : 0;
	if (r->timestamp)
		time_text(&time, "%H:%M:%S", clock_now_ns(CLOCK_REALTIME));
	if (r->timestamp && !r->common.json)
		strbuf_addf(out, "%s\n", time.data);
	sink_header(&c->sink);
	for (size_t i = first; i < c->counters.len; i++) {
		const struct counter *n = &c->counters.items[i];

		if (r->timestamp)
			sink_row(&c->sink, SINK_STRING(time.data, time.len), SINK_TEXT(n->name),
				 SINK_NUMBER(n->count));
		else
			sink_row(&c->sink, SINK_TEXT(n->name), SINK_NUMBER(n->count));
	}
	strbuf_release(&time);
	forget(c);
}

static void report_until(struct counting *c, u64 now_ns)
{
	while (c->next_ns && now_ns >= c->next_ns) {
		report(c);
		c->next_ns += c->request->interval_ns;
	}
}

static void count_event(struct ftrace_session *s, const struct raw_event *e, struct strbuf *out)
{
	struct counting *c = s->arg;
	bool is_new;
	void **place;
	s32 pid;
	u64 ip;

	report_until(c, e->event.time);
	if (page_event_id(&e->event) != c->function_id || e->event.size < IP_OFFSET + sizeof(ip))
		return;
	memcpy(&pid, e->event.data + PID_OFFSET, sizeof(pid));
	if (pid == c->self || pid == s->reader_thread)
		return;
	memcpy(&ip, e->event.data + IP_OFFSET, sizeof(ip));
	place = hashmap_put(&c->places, &ip, sizeof(ip), &is_new);
	if (is_new) {
		vector_push(&c->counters, (struct counter){.ip = ip});
		*place = (void *)(uintptr_t)c->counters.len;
	}
	c->counters.items[(uintptr_t)*place - 1].count++;
}

static void tick(struct ftrace_session *s, u64 now_ns)
{
	report_until(s->arg, now_ns);
}

static int count_functions(struct counting *c)
{
	const struct count_request *r = c->request;
	struct ftrace_session *s = &c->session;
	const struct event_info *function = event_table_find(s->text.events, "ftrace", "function");
	int rc;

	if (!function) {
		diag_error(&s->diag, NO_SPAN,
			   "the kernel does not describe the events of its function tracer");
		return EXIT_UNSUPPORTED;
	}
	c->function_id = function->id;
	if (function_filter_set(s->instance, "set_ftrace_filter", r->functions) ||
	    instance_set_tracer(s->instance, "function"))
		return (int)diag_exit_code(&s->diag);
	if (r->interval_ns)
		c->next_ns = clock_now_ns(CLOCK_MONOTONIC) + r->interval_ns;
	s->print = count_event;
	s->tick = tick;
	s->arg = c;
	rc = ftrace_session_run(s);
	if (!s->out.error)
		report(c);
	return rc;
}

bool tool_count_is_better(const char *functions)
{
	struct kernel *k;
	bool yes;

	if (!functions || !glob_has_wildcard(functions))
		return false;
	k = kernel_new();
	yes = !kernel_ask(k, KERNEL_KPROBE_MULTI)->yes &&
	      kernel_ask(k, KERNEL_FUNCTION_TRACER)->yes;
	kernel_release(k);
	return yes;
}

int tool_count(const struct command_spec *spec, struct count_request *r)
{
	static const struct sink_column columns[] = {
		{.key = "time"}, {"func", "FUNC", 30}, {"count", "COUNT", -8}, {0}};
	struct counting c = {.request = r,
			     .self = getpid(),
			     .sink = {.format = sink_of(r->common.json),
				      .columns = columns + !r->timestamp,
				      .out = &c.session.out.text}};
	int rc;

	r->common.quiet = r->common.only_counts = true;
	r->common.buffer_kb = 8192;
	r->common.any_clock = !r->interval_ns;
	rc = ftrace_session_open(&c.session, spec, &r->common, "function");
	if (!rc)
		rc = count_functions(&c);
	rc = ftrace_session_close(&c.session, rc);
	forget(&c);
	vector_free(&c.counters);
	return rc;
}
