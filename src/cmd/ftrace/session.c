/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/ftrace/session.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "base/stall.h"
#include "kernel/sandbox/sandbox.h"
#include "kernel/tracefs/tracefs.h"

#define MANY_PROBES  16 /* more than people wait for */
#define LIVE_PERCENT "25" /* of a CPU's buffer, at which the reader is woken */
#define LIVE_MS	     100 /* how long an event waits at most to be seen */
#define BUFFERED_MS  1000 /* -d: the size is looked at */
/* What may wait in memory to be printed: a quarter of what is free, within these. */
#define QUEUE_MOST	((size_t)1 << 30)
#define QUEUE_LEAST	((size_t)16 << 20)
#define LATE_BYTES	((size_t)64 << 20) /* still to be printed at the end: worth a word */
#define EVENTS_PER_LOOK 4096 /* printed events after which signals and the output are looked at */

const struct option_field ftrace_event_fields[] = {
	{"TASK-PID", "the thread's name and number"},
	{"CPU#", "the processor"},
	{"flags", "interrupts off (d, b, D), reschedule wanted (N, n, p), in a hard (h, H), soft "
		  "(s) interrupt or NMI (Z, z), "
		  "depth of preempt_disable(), of migrate_disable()"},
	{"TIMESTAMP", "seconds since boot (CLOCK_MONOTONIC)"},
	{"FUNCTION", "the event, and what its own format makes of its fields"},
	{0},
};

/* ---- options ---- */

int ftrace_options_command(const struct command_spec *spec, int *argc, char **argv,
			   struct ftrace_options *o)
{
	const int end = options_end(*argc, argv);

	if (end + 1 == *argc)
		return options_usage_error(spec, "a command is missing behind '--'");
	if (end < *argc) {
		o->command = argv + end + 1;
		argv[end] = NULL; /* as behind the last word of all */
	}
	*argc = end;
	return OPTIONS_GO_ON;
}

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
 * Before anything is made: a process that is not there is said first, and what is traced ends with
 * it.
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
	/* What this process does to print is no news, and would never end. Kernels before 5.7
	 * cannot leave it out. */
	snprintf(self, sizeof(self), s->reader_thread ? "%d %d\n" : "%d\n", (int)getpid(),
		 (int)s->reader_thread);
	if (instance_has(s->instance, "set_event_notrace_pid"))
		instance_try(s->instance, "set_event_notrace_pid", self);
	if (functions && instance_has(s->instance, "set_ftrace_notrace_pid"))
		instance_try(s->instance, "set_ftrace_notrace_pid", self);
	return 0;
}

/* KiB of memory that is free or could be; 0 = unknown (proc(5), /proc/meminfo). */
static u64 available_kb(void)
{
	const char *at;
	u64 kb = 0;
	char *text;

	if (file_read("/proc/meminfo", 1 << 16, &text, NULL))
		return 0;
	at = strstr(text, "MemAvailable:");
	if (at)
		kb = strtoull(at + strlen("MemAvailable:"), NULL, 10);
	free(text);
	return kb;
}

/*
 * KiB per CPU: what a tenth of a second of four million events needs, for so long a reader may have
 * to wait for a CPU; within a quarter of a gigabyte and an eighth of the free memory for all, but
 * never less than what the kernel takes of itself.
 */
static u64 default_buffer(struct kernel *k)
{
	const u32 *cpus;
	const u32 count = MAX(kernel_online_cpus(k, &cpus), 1u);
	const u64 share = MIN((u64)256 << 10, available_kb() / 8) / count;

	return MAX(MIN(share, (u64)16384), (u64)1408);
}

static size_t queue_bound(void)
{
	const size_t share = (size_t)available_kb() / 4 * 1024;

	return MAX(MIN(share, QUEUE_MOST), QUEUE_LEAST);
}

/*
 * The kernel takes page after page until there are none: the machine would swap, or kill programs,
 * first.
 */
static int check_memory(struct ftrace_session *s, u64 kb)
{
	const u32 *cpus;
	const u32 count = kernel_online_cpus(s->kernel, &cpus);
	const u64 available = available_kb();

	if (!available || kb * MAX(count, 1u) < available)
		return 0;
	diag_error(&s->diag, NO_SPAN,
		   "%" PRIu64 " KB for each of %u CPUs are more than the %" PRIu64
		   " KB of memory that are free",
		   kb, count, available);
	diag_hint(&s->diag, "a smaller buffer (-b) may do: what it has no room for is counted");
	return -ENOMEM;
}

static int open_instance(struct ftrace_session *s, const char *tracer)
{
	const u64 asked = s->options->buffer_kb;
	int err = asked ? check_memory(s, asked) : 0;

	if (err)
		return err;
	if (tracer)
		err = instance_open_for_tracer(s->kernel, &s->diag, tracer, s->options->any_clock,
					       &s->instance);
	else
		err = instance_open(s->kernel, &s->diag, INSTANCE_OWN, &s->instance);
	if (!err)
		err = instance_set_buffer(s->instance, asked ? asked : default_buffer(s->kernel));
	/*
	 * Live: woken early, there is more time to come. With -d each page is left for as long as
	 * it can be.
	 */
	if (!err && !s->options->duration_ns && instance_has(s->instance, "buffer_percent"))
		instance_try(s->instance, "buffer_percent", LIVE_PERCENT);
	if (!err && s->options->stack)
		err = instance_set_option(s->instance, "stacktrace", true);
	return err ? err : follow(s, tracer != NULL);
}

/* From the start: what is switched on must be taken back. */
static int open_signals(struct run_signals *p)
{
	sigemptyset(&p->ours);
	sigaddset(&p->ours, SIGINT);
	sigaddset(&p->ours, SIGTERM);
	sigaddset(&p->ours, SIGHUP);
	sigaddset(&p->ours, SIGQUIT);
	sigprocmask(SIG_BLOCK, &p->ours, &p->old);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &p->ours, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * Before anything is traced: what the thread does is left out. Without it all is read between
 * lines.
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

/* ftrace's own records: no list of events has them, and they have no id file, only a format. */
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
 * Held until all is traced. Before there are threads and signals are blocked, which it would
 * inherit.
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
	s->signals = open_signals(&s->run_signals);
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
	/* The process may be gone when its stack is printed: what it maps is noted as it happens.
	 */
	s->watch = watch_open(s->kernel, 0);
	return instance_set_option(s->instance, "userstacktrace", true);
}

/* ---- the loop ---- */

struct loop {
	struct ftrace_session *session;
	struct raw_buffer *buffer;
	int signals; /* signalfd */
	u64 end; /* 0 = none */
	size_t bound; /* bytes that may wait in memory */
	bool stop;
	bool by_signal; /* it was one that stopped it */
};

static void print_event(struct ftrace_session *s, const struct raw_event *e)
{
	struct strbuf *out = &s->out.text;
	struct event_info *info;

	ftrace_names_at(s, e);
	s->printed++;
	if (s->print) {
		s->print(s, e, out);
	} else if (s->options->json) {
		ftrace_json_event(s, e, out);
	} else {
		info = s->user_stacks ? event_table_get(s->text.events, page_event_id(&e->event))
				      : NULL;
		if (!info || !ftrace_user_stack(s, info, e, out))
			trace_text_event(&s->text, e, out);
	}
	output_commit(&s->out);
}

static void end_by_signal(struct loop *l)
{
	l->stop = l->by_signal = true;
	stall_end();
}

static void check_signals(struct loop *l)
{
	struct signalfd_siginfo info;

	while (read(l->signals, &info, sizeof(info)) == sizeof(info))
		end_by_signal(l);
	/* Whoever read us is gone (| head). */
	if (l->session->out.error)
		l->stop = true;
}

/*
 * Prints what is older than `until`. While it runs it ends early if it shall stop: tracing is ended
 * first.
 */
static void print_until(struct loop *l, u64 until, bool running)
{
	struct raw_event e;

	for (u32 n = 1; raw_buffer_next(l->buffer, until, &e); n++) {
		print_event(l->session, &e);
		if (n % EVENTS_PER_LOOK)
			continue;
		if (running)
			check_signals(l);
		if (l->session->out.error || (running && l->stop))
			return;
	}
	output_idle(&l->session->out);
}

static int wait_ms(const struct loop *l, bool buffered)
{
	const u64 limit = buffered ? BUFFERED_MS : LIVE_MS, now = clock_now_ns(CLOCK_MONOTONIC);

	if (!l->end)
		return (int)limit;
	return now >= l->end ? 0 : (int)MIN((l->end - now) / 1000000 + 1, limit);
}

enum { POLL_SIGNALS, POLL_BUFFER, POLL_OUTPUT, POLL_PROCESS, POLL_FIXED };

/* What is waited for; the descriptors of the watch come last. Malloc'ed. */
static struct pollfd *poll_set(const struct loop *l, nfds_t *ret_count)
{
	const int *fds = NULL;
	const u32 n = l->session->watch ? watch_fds(l->session->watch, &fds) : 0;
	struct pollfd *set = xreallocarray(NULL, POLL_FIXED + n, sizeof(*set));

	set[POLL_SIGNALS] = (struct pollfd){.fd = l->signals, .events = POLLIN};
	set[POLL_BUFFER] = (struct pollfd){.fd = raw_buffer_fd(l->buffer), .events = POLLIN};
	/* POLLERR: nobody reads any more. It comes also when nothing is written. */
	set[POLL_OUTPUT] = (struct pollfd){.fd = l->session->out.fd};
	set[POLL_PROCESS] = (struct pollfd){.fd = l->session->process, .events = POLLIN};
	for (u32 i = 0; i < n; i++)
		set[POLL_FIXED + i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	*ret_count = POLL_FIXED + n;
	return set;
}

/*
 * -d: what is in memory is printed before the end only if there is much of it. Without a thread,
 * this is also where it gets there.
 */
static bool has_to_print(struct loop *l)
{
	if (!l->session->reader_thread)
		raw_buffer_drain(l->buffer);
	return raw_buffer_pending(l->buffer) > l->bound / 4 * 3;
}

static int loop(struct loop *l)
{
	struct ftrace_session *s = l->session;
	const bool buffered = l->end != 0 && !s->tick;
	nfds_t count;
	struct pollfd *set = poll_set(l, &count);
	int err = 0;

	while (!l->stop && !err && (!l->end || clock_now_ns(CLOCK_MONOTONIC) < l->end)) {
		u64 until;

		poll(set, count, wait_ms(l, buffered));
		check_signals(l);
		l->stop |= (set[POLL_OUTPUT].revents & (POLLERR | POLLHUP)) != 0 ||
			   set[POLL_PROCESS].revents;
		if (s->watch)
			watch_read(s->watch, ftrace_session_symbols(s));
		if (buffered)
			ftrace_names_read(s);
		if (set[POLL_BUFFER].revents)
			raw_buffer_heard(l->buffer);
		if (buffered && !has_to_print(l))
			continue;
		err = raw_buffer_drain(l->buffer);
		ftrace_names_read(s);
		/* What happens from now on may come out of order. */
		until = raw_buffer_complete(l->buffer);
		print_until(l, until, true);
		if (s->tick && !l->stop)
			s->tick(s, until);
		check_signals(l);
	}
	free(set);
	return err;
}

static bool was_switched_off(struct ftrace_session *s)
{
	char *value;
	bool off;

	if (instance_read(s->instance, "tracing_on", &value))
		return false;
	off = *value == '0';
	free(value);
	return off;
}

static int say_losses(struct ftrace_session *s, struct raw_buffer *buffer)
{
	struct raw_buffer_stats stats;

	if (raw_buffer_stats(buffer, &stats))
		return EXIT_OK;
	if (stats.damaged)
		diag_warning(&s->diag, NO_SPAN,
			     "%" PRIu64 " pages of the buffer could not be read to their end",
			     stats.damaged);
	if (!stats.lost)
		return stats.damaged ? EXIT_LOST : EXIT_OK;
	diag_warning(&s->diag, NO_SPAN, "%" PRIu64 " events were lost, %" PRIu64 " were printed",
		     stats.lost, s->printed);
	diag_hint(&s->diag,
		  "a filter (-p, FILTER) makes them fewer, -b KB makes the buffer larger");
	return EXIT_LOST;
}

/*
 * All that was recorded. Who has no time for it says so once more, which kills: the guard cleans
 * up.
 */
static void print_rest(struct loop *l)
{
	struct ftrace_session *s = l->session;
	const size_t pending = raw_buffer_pending(l->buffer);

	if (l->by_signal && pending > LATE_BYTES && !s->options->quiet)
		fprintf(stderr,
			"Printing what was recorded, %zu MB; Ctrl-C once more ends it at once.\n",
			pending >> 20);
	if (l->by_signal)
		run_signals_begin(&s->run_signals);
	print_until(l, UINT64_MAX, false);
	if (!l->by_signal)
		return;
	run_signals_end(&s->run_signals);
	sigprocmask(SIG_BLOCK, &s->run_signals.ours, NULL);
}

static int run_loop(struct ftrace_session *s, struct loop *l)
{
	int err, rc;

	if (s->options->header && !s->options->json)
		trace_text_columns(&s->text, &s->out.text);
	output_idle(&s->out);
	err = loop(l);
	if (was_switched_off(s))
		diag_warning(&s->diag, NO_SPAN,
			     "somebody wrote 0 to %s/tracing_on: nothing was recorded since then",
			     instance_directory(s->instance));
	instance_try(s->instance, "tracing_on", "0");
	if (!err && !s->out.error)
		err = raw_buffer_drain_all(l->buffer);
	ftrace_names_read(s);
	if (s->watch)
		watch_read(s->watch, ftrace_session_symbols(s));
	if (!s->out.error)
		print_rest(l);
	if (err)
		diag_error(&s->diag, NO_SPAN, "the trace buffer cannot be read: %s",
			   strerror(-err));
	rc = say_losses(s, l->buffer);
	return err ? EXIT_FAILED : rc;
}

static void enter(u32 needs)
{
	sandbox_enter(needs);
}

/*
 * ftrace is switched off by files that belong to root; no more is needed. Each thread has
 * capabilities of its own.
 */
static void drop_privileges(const struct ftrace_session *s)
{
	const u32 needs = SANDBOX_TRACEFS | SANDBOX_KERNEL_NAMES |
			  (s->user_stacks ? SANDBOX_USER_FILES : 0) |
			  (s->has_child ? SANDBOX_CHILD : 0);

	if (s->options->keep_privileges)
		return;
	raw_buffer_order(s->buffer, enter, needs);
	enter(needs);
}

/* For tests and scripts that must not begin before we do. */
static void notify_attached(struct ftrace_session *s)
{
	if (getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED")) {
		strbuf_addstr(&s->out.text, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n");
		output_flush(&s->out);
	}
}

int ftrace_session_run(struct ftrace_session *s)
{
	struct loop l = {.session = s, .signals = s->signals, .bound = queue_bound()};
	int rc, err;

	err = raw_buffer_open_with(instance_directory(s->instance), s->reader, l.bound, &l.buffer);
	s->reader = NULL;
	if (err) {
		diag_error(&s->diag, NO_SPAN, "cannot read %s/per_cpu/*/trace_pipe_raw: %s",
			   instance_directory(s->instance), strerror(-err));
		return EXIT_FAILED;
	}
	s->buffer = l.buffer;
	if (s->options->duration_ns)
		l.end = clock_now_ns(CLOCK_MONOTONIC) + s->options->duration_ns;
	drop_privileges(s);
	notify_attached(s);
	if (s->has_child) /* one that cannot run has ended, too */
		child_release(&s->child, &s->diag);
	rc = run_loop(s, &l);
	s->was_asked = s->has_child && !child_poll(&s->child);
	s->buffer = NULL;
	raw_buffer_close(l.buffer);
	return rc;
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
 * The kernel takes probes out one after the other and waits for a grace period of RCU after each,
 * under one lock, whichever way it is told (probe_event_disable() in kernel/trace/trace_uprobe.c):
 * 50 ms for each, for which nobody should have to wait.
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
