/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/ftrace/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "kernel/tracefs/buffer_size.h"
#include "kernel/tracefs/tracefs.h"

#define MANY_PROBES  16 /* more than people wait for */
#define LIVE_PERCENT "25" /* of a CPU's buffer, at which the reader is woken */

const struct option_field ftrace_event_fields[] = {
	{"TASK-PID", "the thread's name and number"},
	{"CPU#", "the processor"},
	{"flags", "interrupts off (d, b, D), reschedule wanted (N, n, p), in a hard (h, H), soft "
		  "(s) interrupt or NMI (Z, z), depth of preempt_disable(), of migrate_disable()"},
	{"TIMESTAMP", "seconds since boot (CLOCK_MONOTONIC)"},
	{"FUNCTION", "the event, and what its own format makes of its fields"},
	{0},
};

/* ---- options ---- */

static int check_options(const struct ftrace_session *s)
{
	const struct ftrace_options *o = s->options;

	if (o->buffer_kb > 1u << 24)
		return options_usage_error(s->spec, "-b takes at most %u KB", 1u << 24);
	if (o->pid && o->thread)
		return options_usage_error(s->spec, "-p and -L cannot be combined");
	if (o->command && (o->pid || o->thread))
		return options_usage_error(s->spec, "-%c and a command cannot be combined",
					   o->pid ? 'p' : 'L');
	return EXIT_OK;
}

/* ---- open ---- */

/*
 * Done before anything is made: a missing process is reported first, and the run ends when it does.
 */
static int open_process(struct ftrace_session *s)
{
	const pid_t thread = s->options->thread;

	if (s->pid)
		s->process = process_open(s->pid);
	else if (thread)
		s->process = process_open_thread(thread);
	if (s->process != -ESRCH && !(thread && !process_exists(thread)))
		return 0;
	diag_error(&s->diag, NO_SPAN, "there is no %s %d (%s)", s->pid ? "process" : "thread",
		   (int)(s->pid ? s->pid : thread), s->pid ? "-p" : "-L");
	return -ESRCH;
}

static int follow(struct ftrace_session *s, bool functions)
{
	const unsigned int what =
		(s->options->only_counts ? 0 : FOLLOW_EVENTS) | (functions ? FOLLOW_FUNCTIONS : 0);
	char self[32];

	if (s->pid)
		return instance_follow_process(s->instance, s->pid, what | FOLLOW_CHILDREN);
	if (s->options->thread)
		return instance_follow_threads(s->instance, &s->options->thread, 1, what);
	if (s->options->only_counts)
		return 0;
	/*
	 * Leaves out what this process does to print: that would be recorded and printed again,
	 * without end.
	 */
	snprintf(self, sizeof(self), s->reader_thread ? "%d %d\n" : "%d\n", (int)getpid(),
		 (int)s->reader_thread);
	if (instance_has(s->instance, "set_event_notrace_pid"))
		instance_try(s->instance, "set_event_notrace_pid", self);
	if (functions && instance_has(s->instance, "set_ftrace_notrace_pid"))
		instance_try(s->instance, "set_ftrace_notrace_pid", self);
	return 0;
}

static int open_instance(struct ftrace_session *s, const char *tracer)
{
	const u64 asked = s->options->buffer_kb;
	int err = asked ? buffer_check(s->kernel, &s->diag, asked) : 0;

	if (err)
		return err;
	if (tracer)
		err = instance_open_for_tracer(s->kernel, &s->diag, tracer, s->options->any_clock,
					       &s->instance);
	else
		err = instance_open(s->kernel, &s->diag, INSTANCE_OWN, &s->instance);
	if (!err)
		err = instance_set_buffer(s->instance,
					  asked ? asked : buffer_default_kb(s->kernel));
	/*
	 * Live: the reader is woken early, as more events will come. With -d pages stay in the
	 * kernel as long as possible.
	 */
	if (!err && !s->options->duration_ns && instance_has(s->instance, "buffer_percent"))
		instance_try(s->instance, "buffer_percent", LIVE_PERCENT);
	if (!err && s->options->stack)
		err = instance_set_option(s->instance, "stacktrace", true);
	return err ? err : follow(s, tracer != NULL);
}

/*
 * Started before anything is traced, so that what the thread does is left out. Without it, reading
 * and printing take turns.
 */
static void open_reader(struct ftrace_session *s)
{
	s->reader = page_reader_new();
	if (page_reader_thread(s->reader, &s->reader_thread))
		s->reader_thread = 0;
}

/* Constant strings of formats (printk_formats); often empty. */
static const struct string_table *live_strings(struct kernel *k)
{
	char *path = xasprintf("%s/printk_formats", kernel_tracefs(k)), *text;
	const struct string_table *t = NULL;

	if (!file_read(path, (size_t)16 << 20, &text, NULL)) {
		t = string_table_new(text);
		free(text);
	}
	free(path);
	return t;
}

/* ftrace's own records: they are in no list of events and have no id file, only a format. */
static void announce_own(struct ftrace_session *s)
{
	static const char *const names[] = {"function",	      "funcgraph_entry",
					    "funcgraph_exit", "kernel_stack",
					    "user_stack",     "print",
					    "bprint",	      "bputs",
					    "raw_data",	      "fgraph_retaddr_entry"};
	char *text;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!tracefs_event_format(s->kernel, "ftrace", names[i], &text)) {
			event_table_add(s->text.events, "ftrace", text, strlen(text));
			free(text);
		}
}

static void open_text(struct ftrace_session *s)
{
	struct trace_text *t = &s->text;

	t->events = event_table_live(s->kernel);
	announce_own(s);
	t->tasks = task_names_new(s->options->json);
	t->context.symbols = kernel_ksyms(s->kernel);
	t->context.strings = live_strings(s->kernel);
	t->context.raw_strings = s->options->json;
}

/*
 * Started stopped, until everything is traced. Before there are threads and blocked signals, which
 * it would inherit.
 */
static int start_command(struct ftrace_session *s)
{
	int err;

	if (!s->options->command)
		return 0;
	err = child_start_words(&s->child, s->options->command, &s->diag);
	s->has_child = err == 0;
	if (!err)
		s->pid = s->child.pid;
	return err;
}

int ftrace_session_open(struct ftrace_session *s, const struct command_spec *spec,
			const struct ftrace_options *o, const char *tracer)
{
	int rc, err;

	*s = (struct ftrace_session){.spec = spec,
				     .options = o,
				     .pid = o->pid,
				     .diag = DIAG_INIT,
				     .out = {.fd = -1, .text = STRBUF_INIT},
				     .signals = -1,
				     .process = -1};
	s->kernel = kernel_new();
	rc = check_options(s);
	if (rc)
		return rc;
	if (start_command(s) || open_process(s))
		return (int)diag_exit_code(&s->diag);
	/* whatever is switched on from here on must be undone */
	s->signals = run_signals_open(&s->run_signals);
	open_reader(s);
	if (open_instance(s, tracer))
		return diag_exit_code(&s->diag);
	s->events = dynamic_events_new(s->kernel, &s->diag);
	err = output_open(&s->out, o->output, OUTPUT_LINE, o->json);
	if (err) {
		diag_error(&s->diag, NO_SPAN, "cannot write to %s: %s", o->output, strerror(-err));
		return EXIT_FAILED;
	}
	open_text(s);
	if (!o->only_counts)
		ftrace_names_open(s);
	return EXIT_OK;
}

void ftrace_session_expect(struct ftrace_session *s, const char *system, const char *event,
			   const char *shown)
{
	event_table_expect(s->text.events, system, event);
	if (shown)
		event_table_rename(s->text.events, system, event, shown);
}

void ftrace_session_say(struct ftrace_session *s, const char *fmt, ...)
{
	va_list ap;

	if (s->options->quiet || !isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	if (s->has_child)
		fprintf(stderr, ", of %s. Ctrl-C to end.\n", s->options->command[0]);
	else if (s->options->duration_ns)
		fprintf(stderr, " for %g s (buffered).\n", (double)s->options->duration_ns / 1e9);
	else
		fputs(". Ctrl-C to end.\n", stderr);
}

struct symbolizer *ftrace_session_symbols(struct ftrace_session *s)
{
	if (!s->symbolizer)
		s->symbolizer = symbolizer_new(s->kernel, true);
	return s->symbolizer;
}

int ftrace_session_user_stacks(struct ftrace_session *s)
{
	s->user_stacks = true;
	/*
	 * The process may be gone when its stack is printed, so its mappings are recorded as they
	 * happen.
	 */
	s->watch = watch_open(s->kernel, 0, ftrace_session_symbols(s));
	return instance_set_option(s->instance, "userstacktrace", true);
}

static void close_text(struct trace_text *t)
{
	if (t->events)
		event_table_release(t->events);
	if (t->tasks)
		task_names_release(t->tasks);
	if (t->context.strings)
		string_table_release((struct string_table *)t->context.strings);
}

/*
 * The kernel removes probes one after the other, under one lock, and waits for an RCU grace period
 * after each, whichever interface is used (probe_event_disable() in kernel/trace/trace_uprobe.c):
 * 50 ms each, for which nobody should have to wait.
 */
static void leave_many_probes(struct ftrace_session *s)
{
	if (s->instance && s->events && dynamic_events_count(s->events) >= MANY_PROBES &&
	    instance_leave(s->instance))
		dynamic_events_leave(s->events);
}

int ftrace_session_close(struct ftrace_session *s, int rc)
{
	enum exit_code written;

	if (s->has_child)
		child_stop(&s->child);
	page_reader_release(s->reader);
	leave_many_probes(s);
	instance_close(s->instance);
	dynamic_events_release(s->events);
	if (s->out.fd >= 0)
		output_close(&s->out);
	written = output_exit_code(&s->out, &s->diag);
	if (rc == EXIT_OK)
		rc = written;
	rc = diag_close(&s->diag, rc);
	ftrace_names_close(s);
	close_text(&s->text);
	watch_close(s->watch);
	symbolizer_release(s->symbolizer);
	kernel_release(s->kernel);
	if (s->signals >= 0)
		close(s->signals);
	if (s->process >= 0)
		close(s->process);
	if (rc == EXIT_OK && s->has_child && !s->was_asked)
		return child_exit_code(&s->child);
	return rc;
}
