/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/actions.h"
#include "engine/in_process_maps.h"
#include "engine/engine.h"
#include "engine/event_loop.h"

#include <signal.h>
#include <linux/bpf.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "engine/map_switch.h"
#include "engine/recorded/source.h"
#include "engine/run_signals.h"
#include "kernel/sandbox/sandbox.h"
#include "user/in_process_session.h"

int engine_write_globals(struct engine *e, const struct script_globals *g)
{
	const struct open_map *m;
	u32 zero = 0;
	u8 *value;
	int err;

	if (e->script->global_map >= e->script->maps.len)
		return 0;
	m = &e->maps[e->script->global_map];
	value = xzalloc(m->stride);
	memcpy(value, g, MIN(sizeof(*g), m->info->value_size));
	err = map_update(m, &zero, value);
	free(value);
	return err;
}

static int write_globals(struct engine *e)
{
	struct script_globals g = {.start_ns = clock_now_ns(CLOCK_MONOTONIC),
				   .self_pid = (u64)getpid()};
	int err;

	if (e->script->global_map >= e->script->maps.len)
		return 0;
	if (e->child)
		g.child_pid = (u64)e->child->pid;
	err = engine_fill_unwind(e, &g);
	return err < 0 ? err : engine_write_globals(e, &g);
}

static void drain(void *loop)
{
	loop_read_all(loop);
}

/* Instead of start() and run_loop(). */
static int run_trials(struct loop *l)
{
	struct engine *e = l->e;
	int err = engine_run_begin_end(e, PROBE_AT_BEGIN);

	if (err >= 0)
		err = engine_run_tests(e, drain, l);
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

void engine_announce(struct engine *e)
{
	static const char notice[] = "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n";

	if (!e->options->quiet && !e->options->is_tool) {
		if (e->out->is_json)
			action_json_count(e, "attached_probes", "probes", e->attached);
		else
			fprintf(stderr, "Attached %" PRIu64 " probe%s\n", e->attached,
				plural(e->attached));
	}
	if (e->options->announcement)
		fprintf(stderr, "%s\n", e->options->announcement);
	output_flush(e->out);
	if (getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED"))
		write_all(STDOUT_FILENO, notice, sizeof(notice) - 1);
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
	err = loop_add_watch(l);
	in_process_filters(e);
	if (!err)
		err = engine_attach(e);
	if (!err)
		err = loop_add(l, probe_later_fd(e->env), WAIT_LATER);
	if (!err)
		err = in_process_begin(e);
	if (!err && e->aggregates)
		err = loop_add(l, aggregates_fd(e->aggregates), WAIT_COUNTING);
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
	engine_announce(e);
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
	loop_read_all(l); /* after exit(): dropped */
	e->system_until_ns = 0;
	e->is_exiting = false;
	engine_run_begin_end(e, PROBE_AT_END);
	loop_read_all(l);
	engine_report_lost(e, true);
	if (e->options->reporter)
		e->options->reporter->report(e->options->reporter->arg, e);
	else if (e->script->config.print_maps_on_exit && !e->options->is_tool)
		engine_print_maps(e);
	output_flush(e->out);
	if (e->options->guest)
		e->options->guest->end(e->options->guest->arg, e);
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
	int err;

	err = loop_watch_process(l);
	if (!err && e->env->recorded)
		return recorded_run(l);
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
		loop_read_all(l);
	if (e->iterators.len && !e->options->reporter) {
		loop_run_iterators(l);
		l->is_over = true;
	}
	loop_run(l);
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
	if (written == EXIT_FAILED || (e->env->recorded && e->env->diag->errors))
		return EXIT_FAILED; /* recordings: something in them could not be read */
	/*
	 * exit(n) of a script counts more than the end of the child; a run that Ctrl-C ended
	 * succeeded.
	 */
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
	loop_block_signals(&l);
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
