/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms by the kernel's triggers (kernel/trace/trace_events_hist.c), in an instance of our
 * own. The kernel is asked for plain numbers (.sym, .hex and .syscall only change how it prints),
 * so that the tables of both engines look alike.
 *
 * A latency uses what the kernel documents as inter-event hist triggers: the first event saves its
 * time under the number that is matched, the second one fires a synthetic event with the
 * difference, and that event is counted.
 */
#include "cmd/hist/hist.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "kernel/sandbox/sandbox.h"
#include "cmd/hist/text.h"
#include "engine/child.h"
#include "engine/run_signals.h"
#include "kernel/tracefs/dynamic_event.h"
#include "kernel/tracefs/instance.h"
#include "kernel/tracefs/tracefs.h"
#include "types/tracefs_format.h"

/* How many first events can wait for their second one. */
#define LATENCY_SIZE 16384u

struct counted {
	const char *system, *event; /* where the trigger is */
	struct tracefs_command trigger;
};

struct kernel_hist {
	struct hist_run *run;
	struct instance *instance;
	struct counted *counted; /* one per specification */
	struct hist_history *histories; /* one per table: its contents at the last report */
	struct child child;
	int process; /* of -p, readable when it has ended; -1 = none */
	bool was_asked; /* to end, by a signal */
	bool has_child;
	struct output out;
	int signals;
	struct run_signals run_signals;
	u64 deadline; /* CLOCK_MONOTONIC ns; 0 = none */
};

bool hist_kernel_can(struct hist_run *run, const char **ret_why)
{
	const struct kernel_answer *hist = kernel_ask(run->kernel, KERNEL_HIST_TRIGGERS);
	const struct kernel_answer *synthetic = kernel_ask(run->kernel, KERNEL_SYNTHETIC_EVENTS);

	*ret_why = NULL;
	if (!hist->yes)
		*ret_why = hist->why ? hist->why : "there are none";
	else if (run->latency.from_event && !synthetic->yes)
		*ret_why = synthetic->why ? synthetic->why : "there are no synthetic events";
	else if (run->o->config.ends_with)
		/*
		 * kernel/trace/trace.h, __event_trigger_test_discard(): triggers run before
		 * set_event_pid is checked
		 */
		*ret_why = "they count the events of every process (-p)";
	for (size_t i = 0; i < run->specs.len && !*ret_why; i++)
		if (run->specs.items[i].condition &&
		    !predicate_kernel_can(run->specs.items[i].condition, run->diag))
			*ret_why = "the condition";
	for (size_t i = 0; i < run->specs.len && !*ret_why; i++)
		for (u32 c = 0; c < run->specs.items[i].nkeys; c++)
			if (run->specs.items[i].is_user_string[c])
				*ret_why = ".string";
	return !*ret_why;
}

/* ---- triggers ---- */

static void add_user(struct tracefs_command *t, const struct hist_spec *s, struct span at,
		     size_t len)
{
	tracefs_command_user(t, s->text + at.begin, len, s->file, at.begin);
}

static void add_key(struct tracefs_command *t, const struct hist_spec *s, u32 column)
{
	const struct hist_column *c = &s->columns[column];

	add_user(t, s, s->places[column], strlen(c->name));
	if (c->form == HIST_LOG2 || c->form == HIST_EXECNAME || c->form == HIST_USECS)
		tracefs_command_add(t, "%s", hist_form_words[c->form]);
	else if (c->form == HIST_BUCKETS)
		tracefs_command_add(t, ".buckets=%" PRIu64, c->width);
}

/* Names of histograms are shared by all instances of the kernel. */
static void add_shared_name(struct tracefs_command *t, const struct kernel_hist *k,
			    const struct hist_spec *s)
{
	const char *p = instance_name(k->instance);

	if (!s->name)
		return;
	tracefs_command_add(t, ":name=");
	for (; *p; p++)
		tracefs_command_add(t, "%c", isalnum((unsigned char)*p) ? *p : '_');
	tracefs_command_add(t, "_%s", s->name);
}

void hist_trigger(const struct hist_spec *s, struct tracefs_command *t)
{
	tracefs_command_add(t, "hist:keys=");
	for (u32 c = 0; c < s->nkeys; c++) {
		if (c)
			tracefs_command_add(t, ",");
		add_key(t, s, c);
	}
	for (u32 c = s->nkeys; c < s->ncolumns; c++) {
		tracefs_command_add(t, c > s->nkeys ? "," : ":vals=");
		add_user(t, s, s->places[c], strlen(s->columns[c].name));
	}
	tracefs_command_add(t, ":size=%" PRIu64, s->size);
}

/* order: "", ":pause", ":continue", ":clear" */
static void make_trigger(struct tracefs_command *t, const struct kernel_hist *k,
			 const struct hist_spec *s, const char *order)
{
	hist_trigger(s, t);
	add_shared_name(t, k, s);
	tracefs_command_add(t, "%s", order);
	if (s->condition) {
		tracefs_command_add(t, " if ");
		predicate_kernel(s->condition, NULL, k->run->diag, t); /* asked before */
	}
}

static int put_trigger(struct kernel_hist *k, u32 spec, const char *order)
{
	struct tracefs_command t = TRACEFS_COMMAND_INIT;
	const struct counted *c = &k->counted[spec];
	int err;

	make_trigger(&t, k, &k->run->specs.items[spec], order);
	err = instance_add_trigger(k->instance, c->system, c->event, &t);
	tracefs_command_release(&t);
	return err;
}

static int order_all(struct kernel_hist *k, const char *order)
{
	int err = 0;

	for (u32 i = 0; i < k->run->specs.len && !err; i++)
		err = put_trigger(k, i, order);
	return err;
}

/* ---- latency ---- */

static bool is_used(const struct hist_spec *s, const char *name)
{
	const size_t n = strlen(name);

	for (u32 c = 0; c < s->ncolumns; c++)
		if (str_eq(s->columns[c].name, name))
			return true;
	for (const char *p = s->filter ? s->filter : ""; (p = strstr(p, name)); p += n)
		if (!isalnum((unsigned char)p[n]) && p[n] != '_' &&
		    (p == s->filter || (!isalnum((unsigned char)p[-1]) && p[-1] != '_')))
			return true;
	return false;
}

/* "u64 latency; char next_comm[16]; s32 next_prio", and ",next_comm,next_prio" */
static int add_fields(struct kernel_hist *k, const struct hist_spec *s, struct strbuf *fields,
		      struct strbuf *values)
{
	const struct type *record;
	const char *print;
	char *format;
	int err = tracefs_event_format(k->run->kernel, s->system, s->event, &format);

	if (err)
		return err;
	err = tracefs_format_parse(k->run->types, s->system, arena_strdup(k->run->arena, format),
				   &record, &print);
	free(format);
	for (u32 i = 0; !err && i < record->count; i++) {
		const struct type_member *m = &record->members[i];

		if (!m->name || str_starts(m->name, "common_") || !is_used(s, m->name))
			continue;
		if (m->is_data_loc)
			strbuf_addf(fields, " char[] %s;", m->name);
		else if (hist_member_is_string(m))
			strbuf_addf(fields, " char %s[%u];", m->name, m->type->count);
		else
			strbuf_addf(fields, " %c%u %s;", m->type->is_signed ? 's' : 'u',
				    m->type->size * 8, m->name);
		strbuf_addf(values, ",%s", m->name);
	}
	return err;
}

static int put_text(struct kernel_hist *k, const char *system, const char *event, const char *text)
{
	struct tracefs_command t = TRACEFS_COMMAND_INIT;
	int err;

	tracefs_command_add(&t, "%s", text);
	err = instance_add_trigger(k->instance, system, event, &t);
	tracefs_command_release(&t);
	return err;
}

static int make_latency(struct kernel_hist *k)
{
	const struct hist_latency *l = &k->run->latency;
	const struct hist_spec *s = &k->run->specs.items[0];
	struct strbuf fields = STRBUF_INIT, values = STRBUF_INIT, text = STRBUF_INIT;
	struct tracefs_command definition = TRACEFS_COMMAND_INIT;
	const struct dynamic_event *synthetic = NULL;
	int err = add_fields(k, s, &fields, &values);

	if (!err) {
		tracefs_command_add(&definition, "u64 latency;%s", fields.data);
		err = dynamic_events_define(k->run->events, DYNAMIC_SYNTHETIC, "latency",
					    &definition, &synthetic);
	}
	if (!err) {
		strbuf_addf(&text, "hist:keys=%s:pantrace_ts=common_timestamp.usecs:size=%u",
			    l->from_field, LATENCY_SIZE);
		err = put_text(k, l->from_system, l->from_event, text.data);
	}
	if (!err) {
		strbuf_reset(&text);
		strbuf_addf(&text,
			    "hist:keys=%s:pantrace_lat=common_timestamp.usecs-$pantrace_ts:size=%u:"
			    "onmatch(%s.%s)."
			    "trace(%s,$pantrace_lat%s)",
			    l->to_field, LATENCY_SIZE, l->from_system, l->from_event,
			    synthetic->name, values.data);
		err = put_text(k, s->system, s->event, text.data);
	}
	if (!err) {
		k->counted[0].system = synthetic->group;
		k->counted[0].event = synthetic->name;
	}
	tracefs_command_release(&definition);
	strbuf_release(&fields);
	strbuf_release(&values);
	strbuf_release(&text);
	return err;
}

/* ---- reports ---- */

/* A table's first specification: its file has the rows. */
static u32 spec_of(const struct hist_run *run, u32 table)
{
	u32 i = 0;

	while (run->table_of[i] != table)
		i++;
	return i;
}

static int report(struct kernel_hist *k, struct strbuf *out, bool since_last)
{
	struct hist_run *run = k->run;
	int err = 0;

	for (u32 t = 0; t < run->ntables && !err; t++) {
		const struct counted *c = &k->counted[spec_of(run, t)];
		char file[512], *text;

		snprintf(file, sizeof(file), "events/%s/%s/hist", c->system, c->event);
		err = instance_read(k->instance, file, &text);
		if (!err)
			err = hist_text_read(text, &run->tables[t],
					     since_last ? &k->histories[t] : NULL);
		free(text);
		if (err)
			diag_error(run->diag, NO_SPAN,
				   "cannot read the kernel's histogram of %s:%s: %s", c->system,
				   c->event, strerror(-err));
	}
	if (!err)
		hist_report(run, out);
	return err;
}

static void set_paused(struct kernel_hist *k, bool on)
{
	if (order_all(k, on ? ":pause" : ":continue") == 0)
		for (u32 t = 0; t < k->run->ntables; t++)
			k->run->tables[t].is_paused = on;
}

static int follow_orders(struct kernel_hist *k, bool *ret_over)
{
	struct strbuf text = STRBUF_INIT;
	enum hist_order order;
	int err = 0;

	while (!err && !*ret_over &&
	       (order = hist_control_order(k->run->control)) != HIST_NOTHING) {
		strbuf_reset(&text);
		if (order == HIST_SHOW)
			err = report(k, &text, false);
		else if (order == HIST_CLEAR)
			err = order_all(k, ":clear");
		else if (order == HIST_STOP)
			*ret_over = true;
		else
			set_paused(k, order == HIST_PAUSE);
		hist_control_answer(k->run->control, text.data, text.len);
	}
	strbuf_release(&text);
	return err;
}

/* ---- the loop ---- */

static int wait_ms(const struct kernel_hist *k)
{
	u64 now = clock_now_ns(CLOCK_MONOTONIC);

	if (k->has_child && k->child.pidfd < 0)
		return 50;
	if (!k->deadline)
		return -1;
	return now >= k->deadline
		       ? 0
		       : (int)MIN((k->deadline - now + 999999) / 1000000, (u64)INT32_MAX);
}

static int loop(struct kernel_hist *k)
{
	struct hist_run *run = k->run;
	struct pollfd fds[] = {
		{.fd = k->signals, .events = POLLIN},
		{.fd = run->control ? hist_control_fd(run->control) : -1, .events = POLLIN},
		{.fd = k->has_child ? k->child.pidfd : -1, .events = POLLIN},
		{.fd = k->process, .events = POLLIN},
		{.fd = k->out.may_stall ? k->out.fd : -1}, /* told when its reader is gone */
	};
	bool over = false;
	int err = 0;

	while (!over && !err && !k->out.error) {
		if (poll(fds, ARRAY_SIZE(fds), wait_ms(k)) < 0 && errno != EINTR)
			return -errno;
		over = (fds[0].revents & POLLIN) || fds[3].revents || fds[4].revents ||
		       (k->deadline && clock_now_ns(CLOCK_MONOTONIC) >= k->deadline) ||
		       (k->has_child && child_poll(&k->child));
		if (!run->control || over)
			continue;
		if (hist_control_tick(run->control)) {
			err = report(k, &k->out.text, run->o->clear);
			output_flush(&k->out);
		}
		if (!err)
			err = follow_orders(k, &over);
	}
	return err;
}

/* ---- a run from begin to end ---- */

static int set_up(struct kernel_hist *k)
{
	struct hist_run *run = k->run;
	int err = instance_open(run->kernel, run->diag, INSTANCE_OWN, &k->instance);

	if (err)
		return err;
	k->counted = arena_new_array(run->arena, struct counted, run->specs.len);
	k->histories = arena_new_array(run->arena, struct hist_history, run->ntables);
	for (size_t i = 0; i < run->specs.len; i++)
		k->counted[i] = (struct counted){.system = run->specs.items[i].system,
						 .event = run->specs.items[i].event};
	for (u32 t = 0; t < run->ntables; t++)
		run->tables[t].engine = "kernel";
	err = output_open(&k->out, run->o->config.output, OUTPUT_LINE, run->o->config.is_json);
	if (err) {
		diag_error(run->diag, NO_SPAN, "cannot write to %s: %s", run->o->config.output,
			   strerror(-err));
		return err;
	}
	if (run->o->config.words) {
		err = child_start_words(&k->child, run->o->config.words, run->diag);
		k->has_child = err == 0;
	}
	if (!err && run->latency.from_event)
		err = make_latency(k);
	return err;
}

static int count(struct kernel_hist *k)
{
	struct hist_run *run = k->run;
	int err = 0;

	for (u32 i = 0; i < run->specs.len && !err; i++)
		err = put_trigger(k, i, run->specs.items[i].is_paused ? ":pause" : "");
	if (!err && k->has_child)
		err = child_release(&k->child, run->diag);
	if (err)
		return err;
	if (run->o->config.duration_ns)
		k->deadline = clock_now_ns(CLOCK_MONOTONIC) + run->o->config.duration_ns;
	if (!run->o->config.keep_privileges)
		sandbox_enter(SANDBOX_TRACEFS | SANDBOX_KERNEL_NAMES | SANDBOX_USER_FILES |
			      (k->has_child ? SANDBOX_CHILD : 0));
	err = loop(k);
	/* Not stopped first: the write that stops it would itself be counted. */
	if (!err)
		err = report(k, &k->out.text, run->o->clear && run->o->interval_ns);
	return err;
}

static void take_back(struct kernel_hist *k)
{
	struct pollfd ended = {.fd = k->signals, .events = POLLIN};

	if (k->has_child)
		child_stop(&k->child);
	k->was_asked = clock_poll(&ended, 1, 0) > 0;
	/* this also removes its triggers, which use the synthetic event */
	instance_close(k->instance);
	for (u32 t = 0; k->histories && t < k->run->ntables; t++)
		hist_history_release(&k->histories[t]);
	if (k->signals >= 0)
		close(k->signals);
	if (k->process >= 0)
		close(k->process);
	run_signals_end(&k->run_signals);
}

int hist_run_kernel(struct hist_run *run)
{
	struct kernel_hist k = {
		.run = run, .signals = -1, .process = -1, .out = {.fd = -1, .text = STRBUF_INIT}};
	enum exit_code written;
	u64 dropped = 0;
	int err;

	k.signals = run_signals_open(&k.run_signals);
	if (run->o->config.ends_with)
		k.process = process_open(run->o->config.ends_with);
	err = set_up(&k);
	if (!err)
		err = count(&k);
	take_back(&k);
	for (u32 t = 0; t < run->ntables; t++)
		dropped += run->tables[t].dropped;
	if (k.out.fd >= 0)
		output_close(&k.out);
	written = output_exit_code(&k.out, run->diag);
	if (err || written == EXIT_FAILED) {
		int code = (int)diag_exit_code(run->diag);

		return code ? code : EXIT_FAILED;
	}
	if (!k.was_asked && child_exit_code(&k.child))
		return child_exit_code(&k.child);
	return dropped || written ? EXIT_LOST : EXIT_OK;
}
