/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/actions.h"
#include "engine/in_process_maps.h"
#include "engine/engine.h"
#include "engine/packets.h"

#include <signal.h>
#include <linux/bpf.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "base/stall.h"
#include "engine/map_switch.h"
#include "engine/wakeup.h"
#include "engine/run_signals.h"
#include "kernel/kernel.h"
#include "kernel/sandbox/sandbox.h"
#include "user/in_process_session.h"

/* Records in one go before signals and the end of the child are looked at again. */
#define RECORDS_PER_ROUND 4096u
#define ROUND_NS	  20000000u
#define DRAIN_NS	  1000000000u
/* Lost events are looked for this often while records flow. */
#define LOST_INTERVAL_NS 500000000u

enum waiting_for {
	WAIT_RING,
	WAIT_SIGNAL,
	WAIT_PROCESS,
	WAIT_CHILD,
	WAIT_TIMER,
	WAIT_WATCH,
	WAIT_COUNTING,
	WAIT_LATER,
	WAIT_REPORTER,
	WAIT_READER
};

struct loop {
	struct engine *e;
	int epoll, signals, process, timer;
	u32 budget; /* records left in this round */
	u32 read; /* records of the last round */
	struct wakeup wakeup;
	u64 round_ends;
	u64 next_lost_check;
	bool is_over;
	struct run_signals run_signals;
};

/* ---- the loop ---- */

static void announce(struct engine *e)
{
	static const char notice[] = "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n";

	if (!e->options->quiet && !e->options->is_tool) {
		if (e->out->is_json)
			action_json_count(e, "attached_probes", "probes", e->attached);
		else
			fprintf(stderr, "Attached %" PRIu64 " probe%s\n", e->attached,
				e->attached == 1 ? "" : "s");
	}
	if (e->options->announcement)
		fprintf(stderr, "%s\n", e->options->announcement);
	output_flush(e->out);
	if (getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED"))
		write_all(STDOUT_FILENO, notice, sizeof(notice) - 1);
}

static bool handle_record(void *arg, const void *data, u32 size, const void *next, u32 next_size)
{
	struct loop *l = arg;

	if (!engine_handle_record(l->e, data, size, next, next_size))
		return false;
	/* Most actions take less than a microsecond; some run a command. */
	if (--l->budget % 64 == 0 || l->e->was_slow)
		l->budget = clock_now_ns(CLOCK_MONOTONIC) > l->round_ends ? 0 : l->budget;
	l->e->was_slow = false;
	return l->budget > 0;
}

/* Returns true if there may be more. */
static bool read_records(struct loop *l)
{
	packets_read(l->e);
	if (!l->e->ring)
		return false;
	l->budget = RECORDS_PER_ROUND;
	l->round_ends = clock_now_ns(CLOCK_MONOTONIC) + ROUND_NS;
	engine_read_watch(l->e); /* records may need what it tells */
	ring_consume(l->e->ring, handle_record, l);
	l->read = RECORDS_PER_ROUND - l->budget;
	if (l->e->out->error)
		l->is_over = true;
	return !l->budget;
}

/*
 * Everything that was sent before the end is worth showing, but not at any price: a script whose
 * actions are slow (system()) may have a backlog of minutes. What is given up is counted as lost.
 */
static void read_all_records(struct loop *l)
{
	u64 until = clock_now_ns(CLOCK_MONOTONIC) + DRAIN_NS;

	while (read_records(l) && !l->e->out->error)
		if (clock_now_ns(CLOCK_MONOTONIC) > until)
			l->e->is_giving_up = true;
	l->e->is_giving_up = false;
}

static int add_source(struct loop *l, int fd, enum waiting_for what)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = what};

	if (fd < 0)
		return 0;
	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* Told when nobody reads the output any more, also by a script that prints nothing until then. */
static void watch_reader(struct loop *l)
{
	struct epoll_event ev = {.events = 0, .data.u32 = WAIT_READER}; /* EPOLLERR comes unasked */

	if (l->e->out->may_stall)
		epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->e->out->fd, &ev);
}

static void block_signals(struct loop *l)
{
	static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGWINCH};
	sigset_t *const set = &l->run_signals.ours;

	sigemptyset(set);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		sigaddset(set, wanted[i]);
	sigprocmask(SIG_BLOCK, set, &l->run_signals.old);
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of the output, which ends the run */
	l->signals = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void end_by_signal(struct loop *l)
{
	l->is_over = l->e->was_asked = true;
	stall_end();
}

static void handle_signals(struct loop *l)
{
	struct signalfd_siginfo info;

	while (read(l->signals, &info, sizeof(info)) == sizeof(info)) {
		bool probed = engine_has_signal(l->e, info.ssi_signo);

		if (probed || info.ssi_signo == SIGUSR1)
			engine_run_signal(l->e, info.ssi_signo);
		else if (info.ssi_signo != SIGWINCH && info.ssi_signo != SIGUSR2)
			end_by_signal(l);
	}
}

static void open_pace(struct loop *l)
{
	const struct engine *e = l->e;
	const u32 globals = e->script->global_map;
	const bool has_flags = globals < e->script->maps.len &&
			       e->script->maps.items[globals].map_flags & BPF_F_MMAPABLE;

	/* Processes of which names are wanted may end any time: their records are read at once. */
	wakeup_open(&l->wakeup, has_flags && !e->notes_processes ? e->maps[globals].fd : -1,
		    e->ring, e->out->buffering == OUTPUT_FULL);
}

static int loop_open(struct loop *l)
{
	const struct run_config *o = l->e->options;
	const int *fds = NULL;
	u32 n = l->e->ring ? ring_fds(l->e->ring, &fds) : 0;
	int err;

	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		return -errno;
	open_pace(l);
	watch_reader(l);
	err = add_source(l, l->signals, WAIT_SIGNAL);
	for (u32 i = 0; i < n && !err; i++)
		err = add_source(l, fds[i], WAIT_RING);
	n = l->e->packets ? packets_fds(l->e->packets, &fds) : 0;
	for (u32 i = 0; i < n && !err; i++)
		err = add_source(l, fds[i], WAIT_RING);
	if (!err && l->e->child)
		err = add_source(l, l->e->child->pidfd, WAIT_CHILD);
	if (!err && l->process >= 0)
		err = add_source(l, l->process, WAIT_PROCESS);
	if (!err && o->reporter && o->reporter->fd >= 0)
		err = add_source(l, o->reporter->fd, WAIT_REPORTER);
	if (!err && o->duration_ns) {
		struct itimerspec when = {.it_value = {(time_t)(o->duration_ns / 1000000000),
						       (long)(o->duration_ns % 1000000000)}};

		l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		timerfd_settime(l->timer, 0, &when, NULL);
		err = add_source(l, l->timer, WAIT_TIMER);
	}
	return err;
}

static int add_watch(struct loop *l)
{
	const int *fds = NULL;
	u32 n = l->e->watch ? watch_fds(l->e->watch, &fds) : 0;
	int err = 0;

	for (u32 i = 0; i < n && !err; i++)
		err = add_source(l, fds[i], WAIT_WATCH);
	return err;
}

static void loop_close(struct loop *l)
{
	int fds[] = {l->epoll, l->signals, l->process, l->timer};

	wakeup_close(&l->wakeup);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* How long to sleep, in ms: for ever, but for what no descriptor tells (kernels without pidfd,
 * losses still to be said). */
static int poll_timeout(const struct loop *l)
{
	const struct child *child = l->e->child;

	if (l->e->unwind_due)
		return 2;
	return child && child->pidfd < 0 ? 50 : -1;
}

static void wait_and_handle(struct loop *l, bool more)
{
	struct epoll_event events[16];
	int timeout = 0, wakeup, n;

	if (!more) {
		output_idle(l->e->out);
		timeout = poll_timeout(l);
		wakeup = l->e->ring ? wakeup_wait(&l->wakeup, l->read, l->e->ring) : -1;
		if (wakeup >= 0)
			timeout = timeout < 0 ? wakeup : MIN(timeout, wakeup);
	}
	n = epoll_wait(l->epoll, events, ARRAY_SIZE(events), timeout);
	for (int i = 0; i < n; i++) {
		switch (events[i].data.u32) {
		case WAIT_SIGNAL:
			handle_signals(l);
			break;
		case WAIT_PROCESS:
		case WAIT_TIMER:
		case WAIT_READER: /* of our output: it is gone */
			l->is_over = true;
			break;
		case WAIT_CHILD: /* looked at below */
		case WAIT_RING: /* read by the caller */
			break;
		case WAIT_WATCH:
			engine_read_watch(l->e);
			break;
		case WAIT_COUNTING:
			aggregates_refresh(l->e->aggregates);
			break;
		case WAIT_LATER:
			probe_later(l->e->env);
			break;
		case WAIT_REPORTER:
			l->is_over |=
				!l->e->options->reporter->wake(l->e->options->reporter->arg, l->e);
			break;
		}
	}
	engine_refresh_unwind(l->e);
	if (l->e->child && child_poll(l->e->child)) {
		handle_signals(l); /* of Ctrl-C, which ends both */
		l->is_over = true;
	}
}

static void check_lost(struct loop *l)
{
	u64 now = clock_now_ns(CLOCK_MONOTONIC);

	if (now < l->next_lost_check)
		return;
	l->next_lost_check = now + LOST_INTERVAL_NS;
	engine_report_lost(l->e, false);
}

/* exit() was called, but its record found no room: the script must end all the same. */
static void check_over(struct loop *l)
{
	struct script_globals g;
	const struct script *s = l->e->script;
	u32 zero = 0;

	if (!s->has_exit || s->global_map >= s->maps.len ||
	    s->maps.items[s->global_map].value_size != sizeof(g) ||
	    map_lookup(&l->e->maps[s->global_map], &zero, &g) < 0 || !g.is_over)
		return;
	read_all_records(l);
	if (l->e->is_exiting)
		return;
	l->e->exit_code = (int)(g.is_over - 1);
	l->e->is_exiting = l->e->has_exit_code = true;
}

static void run_loop(struct loop *l)
{
	while (!l->is_over && !l->e->is_exiting) {
		bool more = read_records(l);

		if (l->e->is_exiting || l->is_over)
			break;
		check_lost(l);
		if (!more)
			check_over(l);
		if (!l->e->is_exiting)
			wait_and_handle(l, more);
	}
}

/* Iterators run while their sequence file is read; its text is what bpf_seq_printf() wrote. */
static void run_iterators(struct loop *l)
{
	l->e->is_iterating = true;
	for (size_t i = 0; i < l->e->iterators.len; i++) {
		int fd = l->e->iterators.items[i];
		char buf[4096];
		ssize_t n;

		while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) != 0) {
			if (n < 0 && errno != EINTR && errno != EAGAIN)
				break;
			if (n > 0)
				strbuf_add(&l->e->out->text, buf, (size_t)n);
			read_all_records(l);
		}
		read_all_records(l);
	}
	l->e->is_iterating = false;
}

/* ---- a run from begin to end ---- */

static int write_globals(struct engine *e)
{
	struct script_globals g = {.start_ns = clock_now_ns(CLOCK_MONOTONIC),
				   .self_pid = (u64)getpid()};
	const struct open_map *m;
	u32 zero = 0;
	u8 *value;
	int err;

	if (e->script->global_map >= e->script->maps.len)
		return 0;
	if (e->child)
		g.child_pid = (u64)e->child->pid;
	err = engine_fill_unwind(e, &g);
	if (err < 0)
		return err;
	m = &e->maps[e->script->global_map];
	value = xzalloc(m->stride);
	memcpy(value, &g, MIN(sizeof(g), m->info->value_size));
	err = map_update(m, &zero, value);
	free(value);
	return err;
}

static void drain_records(void *loop)
{
	read_all_records(loop);
}

/* Instead of start() and run_loop(). */
static int run_trials(struct loop *l)
{
	struct engine *e = l->e;
	int err = engine_run_begin_end(e, PROBE_AT_BEGIN);

	if (err >= 0)
		err = engine_run_tests(e, drain_records, l);
	output_flush(e->out);
	return err;
}

static int refuse_nothing(const struct engine *e)
{
	diag_error(e->env->diag, NO_SPAN, "%s",
		   engine_count_targets(e, PROBE_AS_TEST)
			   ? "No probes attached; use --test to run test probes."
		   : engine_count_targets(e, PROBE_AS_BENCH)
			   ? "No probes attached; use --bench to run benchmark probes."
			   : "Attachment failed for all probes.");
	return -ENOENT;
}

/* begin, attach, go. Returns 0 or -errno with a diagnostic. */
static int start(struct loop *l)
{
	struct engine *e = l->e;
	int begin = engine_run_begin_end(e, PROBE_AT_BEGIN), err;
	u32 by_engine;

	if (begin < 0)
		return begin;
	engine_read_kernel_names(e);
	engine_watch_processes(e);
	err = add_watch(l);
	in_process_filters(e);
	if (!err)
		err = engine_attach(e);
	if (!err)
		err = add_source(l, probe_later_fd(e->env), WAIT_LATER);
	if (!err)
		err = in_process_begin(e);
	if (!err && e->aggregates)
		err = add_source(l, aggregates_fd(e->aggregates), WAIT_COUNTING);
	if (err < 0)
		return err;
	by_engine = (u32)begin + engine_count_targets(e, PROBE_AT_END) +
		    engine_count_targets(e, PROBE_BY_SIGNAL);
	e->attached = e->attachments.attached + by_engine - engine_count_internal(e);
	diag_tell(e->env->diag);
	if (!e->attached)
		return refuse_nothing(e);
	if (e->child && (err = child_release(e->child, e->env->diag)) < 0)
		return err;
	engine_drop_privileges(e);
	announce(e);
	engine_print_header(e);
	if (!e->attachments.attached && !engine_count_targets(e, PROBE_BY_SIGNAL) && !e->child)
		l->is_over = true; /* nothing more can come */
	return 0;
}

static void finish(struct loop *l)
{
	struct engine *e = l->e;

	run_signals_begin(&l->run_signals);
	probe_detach_all(&e->attachments);
	in_process_stop(e);
	map_switch_rest(e);
	if (e->child)
		child_stop(e->child);
	engine_read_watch(e);
	if (e->was_asked)
		e->system_until_ns = clock_now_ns(CLOCK_MONOTONIC) + DRAIN_NS;
	read_all_records(l); /* after exit(): dropped */
	e->system_until_ns = 0;
	e->is_exiting = false;
	engine_run_begin_end(e, PROBE_AT_END);
	read_all_records(l);
	engine_report_lost(e, true);
	if (e->options->reporter)
		e->options->reporter->report(e->options->reporter->arg, e);
	else if (e->script->config.print_maps_on_exit && !e->options->is_tool)
		engine_print_maps(e);
	output_flush(e->out);
}

static int watch_process(struct loop *l)
{
	const struct run_config *o = l->e->options;
	const pid_t pid = o->ends_with ? o->ends_with : o->pid;

	if (!pid)
		return 0;
	l->process = process_open(pid);
	if (l->process >= 0 || l->process == -ENOSYS)
		return 0;
	diag_error(l->e->env->diag, NO_SPAN, "cannot watch process %d: %s", pid,
		   strerror(-l->process));
	return l->process;
}

/* --dry-run: what the kernel would refuse, as far as it can be asked without attaching anything. */
static int ask(struct engine *e)
{
	int err;

	e->env->only_ask = true;
	err = engine_attach(e);
	if (err < 0)
		return err;
	for (size_t i = 0; i < e->script->programs.len; i++) {
		const struct script_program *p = &e->script->programs.items[i];
		const enum probe_runner runner = engine_provider(p)->runner;

		if (p->ntargets && runner != PROBE_AS_TEST && runner != PROBE_AS_BENCH)
			return 0;
	}
	return e->script->programs.len ? refuse_nothing(e) : 0;
}

static int run(struct loop *l)
{
	struct engine *e = l->e;
	int err = watch_process(l);

	if (!err)
		err = engine_prepare_unwind(e);
	if (!err)
		err = engine_create_maps(e);
	if (!err)
		err = engine_load_programs(e);
	if (!err)
		err = write_globals(e);
	if (err < 0)
		return err;
	if (e->options->dry_run)
		return e->options->test_mode ? 0 : ask(e);
	if (e->options->test_mode)
		return run_trials(l);
	err = loop_open(l);
	if (!err)
		err = start(l);
	if (err < 0)
		return err;
	if (l->is_over)
		read_all_records(l);
	if (e->iterators.len) {
		run_iterators(l);
		l->is_over = true;
	}
	run_loop(l);
	finish(l);
	return 0;
}

static int exit_code(const struct engine *e, int err)
{
	u64 lost = e->lost[LOST_EVENTS] + e->lost[LOST_MAP_FULL] + e->lost[LOST_STACKS];
	enum exit_code written;

	if (err < 0) {
		int code = diag_exit_code(e->env->diag);

		return code ? code : EXIT_FAILED;
	}
	if (sandbox_refused()) /* told when it was */
		return EXIT_FAILED;
	written = output_exit_code(e->out, e->env->diag);
	if (written == EXIT_FAILED)
		return EXIT_FAILED;
	/* A script that says exit() knows better; who was ended by Ctrl-C ended well. */
	if (e->child && !e->options->is_compatible && !e->has_exit_code && !e->was_asked &&
	    child_exit_code(e->child))
		return child_exit_code(e->child);
	if (!e->exit_code && (lost || written) && !e->options->is_compatible)
		return EXIT_LOST;
	return e->exit_code;
}

int engine_run(struct script *script, struct probe_env *env, const struct run_config *options,
	       struct output *out, struct child *child)
{
	struct engine e = {.script = script,
			   .env = env,
			   .options = options,
			   .out = out,
			   .child = child,
			   .text = STRBUF_INIT};
	struct loop l = {.e = &e, .epoll = -1, .signals = -1, .process = -1, .timer = -1};
	int err, code;

	e.maps = xreallocarray(NULL, script->maps.len + 1, sizeof(*e.maps));
	e.programs = xreallocarray(NULL, script->programs.len + 1, sizeof(*e.programs));
	for (size_t i = 0; i < script->maps.len; i++)
		e.maps[i].fd = -1;
	for (size_t i = 0; i < script->programs.len; i++)
		e.programs[i] = -1;
	e.rows = options->rows ? options->rows : &e.plain_rows;
	engine_printer_init(&e);
	block_signals(&l);
	err = run(&l);
	if (err < 0) {
		probe_detach_all(&e.attachments);
		if (child)
			child_stop(child);
	}
	run_signals_end(&l.run_signals);
	code = exit_code(&e, err);
	in_process_end(&e);
	engine_unload(&e);
	loop_close(&l);
	engine_printer_release(&e);
	row_style_release(&e.plain_rows);
	vector_free(&e.iterators);
	vector_free(&e.attachments.list);
	strbuf_release(&e.text);
	engine_release_speculations(&e);
	free(e.record);
	free(e.element);
	free(e.maps);
	free(e.programs);
	return code;
}
