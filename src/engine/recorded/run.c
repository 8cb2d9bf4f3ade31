/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a script over recordings, on their clock: begin runs at the first event, timers fire between
 * events as they would have then, end runs at the last event. Records are acted upon as soon as the
 * program that sent them has run, so nothing is late and nothing is lost.
 */
#include "engine/recorded/source.h"

#include "base/clock.h"
#include "base/hashmap.h"
#include "engine/actions.h"
#include "engine/child.h"
#include "engine/event_loop.h"
#include "engine/recorded/live.h"
#include "engine/recorded/machine.h"

#define EVENTS_PER_LOOK 1024 /* between checks for signals */
#define LIVE_MS		100 /* the longest time until an event is handled */

/* The programs that run at events of a kind. */
struct listener {
	u32 program, cookie;
	u32 size; /* the least size of the event's record, whose fields are read */
	const struct probe_target *probe; /* whose registers the record has; NULL = it has fields */
};

struct listeners {
	VECTOR(struct listener) list;
};

struct timer {
	u32 program, cookie;
	u64 period, due; /* ns */
};

struct run {
	struct loop *loop;
	struct engine *e;
	struct recordings *all;
	struct machine machine;
	struct hashmap kinds; /* "sched:sched_switch" -> struct listeners * */
	VECTOR(struct timer) timers;
	struct recording *at; /* the recording of the current event */
	struct live_source *live; /* NULL = over files */
	bool is_at_rest; /* live: tracing has stopped; programs still run on what is left */
	int err; /* live: of a program */
	s64 origin_ns; /* where the clock starts on the time line */
	u64 first, now; /* on the clock */
	struct recorded_stack stack; /* of the last event whose stack was read */
	struct hashmap frames; /* struct frame_key -> struct symbol_name * */
	u64 unknown, damaged; /* events that no program could run on */
	struct machine_failure unknown_why; /* of the first of them */
};

static const struct listeners nobody;

/* ---- who had the event ---- */

static void ask_thread(void *arg, struct machine_thread *ret)
{
	const struct run *const run = arg;
	struct recorded_place place = {.cpu = -1, .pid = -1, .tid = -1};
	size_t n;

	if (run->at)
		place = recording_place(run->at);
	*ret = (struct machine_thread){.cpu = place.cpu, .pid = place.pid, .tid = place.tid};
	if (!place.tid && place.cpu >= 0) { /* the kernel's own name; readers use others */
		snprintf(ret->comm, sizeof(ret->comm), "swapper/%d", (int)place.cpu);
		return;
	}
	n = place.comm ? strnlen(place.comm, place.comm_size) : 0;
	/* Placeholders for an unknown name: <...>, and perf's :TID. */
	if (!n || (n == 5 && !memcmp(place.comm, "<...>", n)) || place.comm[0] == ':' ||
	    (n == 5 && !memcmp(place.comm, "<XXX>", n)))
		return;
	memcpy(ret->comm, place.comm, MIN(n, sizeof(ret->comm) - 1));
}

/* ---- stacks ---- */

/* Names come from the recording; they are noted when a frame is first seen. */
struct frame_key {
	u64 address;
	u32 process; /* 0: of the kernel */
	u32 padding;
};

static void note_frame(struct run *run, u32 process, const struct recorded_frame *f)
{
	const struct frame_key key = {.address = f->address, .process = process};
	struct symbol_name *name;
	bool is_new;
	void **const at = hashmap_put(&run->frames, &key, sizeof(key), &is_new);

	if (!is_new)
		return;
	*at = name = arena_new(run->e->env->arena, struct symbol_name);
	*name = (struct symbol_name){.function = f->symbol,
				     .module = f->object,
				     .offset = f->offset,
				     .build_id = f->build_id && *f->build_id ? f->build_id : NULL,
				     .file_offset = f->in_file};
}

static s64 ask_stack(void *arg, bool is_user, u64 *frames, u32 most)
{
	struct run *const run = arg;
	const u32 process = is_user ? (u32)machine_thread(&run->machine)->pid : 0;
	u32 n = 0;

	if (!run->at || (is_user && run->machine.unplaced & PLACE_USER_STACK) ||
	    !recording_stack(run->at, &run->stack))
		return -1;
	for (size_t i = 0; i < run->stack.len && n < most; i++) {
		const struct recorded_frame *const f = &run->stack.items[i];

		if (f->is_kernel == is_user || f->is_inlined)
			continue;
		note_frame(run, process, f);
		frames[n++] = f->address;
	}
	/* A kernel thread has no user frames, only those of the kernel. */
	return n || is_user ? (s64)n : -1;
}

static bool name_frame(void *arg, bool is_user, u32 process, u64 address, struct symbol_name *ret)
{
	const struct run *const run = arg;
	const struct frame_key key = {.address = address, .process = is_user ? process : 0};
	const struct symbol_name *const found = hashmap_get(&run->frames, &key, sizeof(key));

	if (!found || !found->function)
		return false;
	*ret = *found;
	return true;
}

/* ---- programs ---- */

static void act(struct run *run)
{
	struct machine *const m = &run->machine;

	for (size_t i = 0; i < m->records.len; i++)
		if (m->records.items[i].is_sent)
			engine_handle_record(run->e, m->records.items[i].data,
					     m->records.items[i].size, NULL, 0);
	if (m->records.len)
		run->loop->is_over |= run->e->out->error != 0;
	machine_clear(m);
}

/* 0, or -EINVAL with a diagnostic. */
static int run_program(struct run *run, u32 program, u32 cookie)
{
	struct machine *const m = &run->machine;
	const bool is_done = (m->event.cookie = cookie, machine_run(m, program));

	act(run);
	if (is_done)
		return 0;
	if (m->failure.is_unknown) {
		if (!run->unknown++)
			run->unknown_why = m->failure;
		return 0;
	}
	diag_error(run->e->env->diag, m->failure.span, "%s", m->failure.why);
	return -EINVAL;
}

static void set_time(struct run *run, u64 now, const u8 *record, u32 size)
{
	const struct machine_event event = {
		.record = record, .size = size, .now = now, .wall_ns = now + (u64)run->origin_ns};

	run->now = now;
	run->e->recorded_ns = event.wall_ns;
	if (!machine_event(&run->machine, &event))
		run->machine.event.record = NULL;
}

/* Runs all programs of this kind (begin, end), in the order of the script. */
static int run_at(struct run *run, enum probe_runner runner)
{
	const struct script *const s = run->e->script;
	int err = 0;

	run->at = NULL;
	set_time(run, run->now, NULL, 0);
	for (u32 i = 0; i < s->programs.len; i++)
		for (u32 t = 0; t < s->programs.items[i].ntargets && !err; t++)
			if (engine_provider(&s->programs.items[i])->runner == runner)
				err = run_program(run, i, s->programs.items[i].targets[t]->cookie);
	return err;
}

/* Fires the timers that are due before `until`, in order of time. */
static int run_timers(struct run *run, u64 until)
{
	for (;;) {
		struct timer *next = NULL;
		int err;

		for (size_t i = 0; i < run->timers.len; i++)
			if (!next || run->timers.items[i].due < next->due)
				next = &run->timers.items[i];
		if (!next || next->due > until || run->e->is_exiting || run->loop->is_over)
			return 0;
		run->at = NULL;
		set_time(run, next->due, NULL, 0);
		next->due += next->period;
		err = run_program(run, next->program, next->cookie);
		if (err)
			return err;
	}
}

/* ---- events ---- */

static const struct listeners *listeners_of(const struct run *run, struct recorded_kind *kind)
{
	const struct listeners *found;

	if (!kind->listener) {
		found = hashmap_gets(&run->kinds, kind->name);
		kind->listener = found ? found : &nobody;
	}
	return kind->listener;
}

/* A probe in a file may be of one process only (-p, -c): tracefs has it in all. */
static bool is_of_process(struct run *run, const struct probe_target *t)
{
	return !t || !t->path || !t->pid || machine_thread(&run->machine)->pid == t->pid;
}

static int run_event(struct run *run, const struct listeners *who)
{
	struct recording *const r = run->at;
	u32 size = 0;
	const u8 *const record = r->reader->raw ? r->reader->raw(r, &size) : NULL;
	const u32 full = size;
	int err = 0;

	for (size_t i = 0; i < who->list.len && !err; i++) {
		const struct listener *const l = &who->list.items[i];
		const u8 *const context =
			l->probe ? live_source_registers(run->live, l->probe, record, full, &size)
				 : record;

		set_time(run, run->now, context, size);
		if (context && l->probe)
			memcpy(&run->machine.event.function, record + 8, 8);
		if (l->size > size || (l->probe && !context))
			run->damaged++;
		else if (is_of_process(run, l->probe))
			err = run_program(run, l->program, l->cookie);
	}
	return err;
}

static bool is_over(struct run *run, u32 n)
{
	const u64 duration = run->e->options->duration_ns;

	if (run->is_at_rest)
		return run->e->is_exiting || run->e->out->error;
	if (n % EVENTS_PER_LOOK == 0)
		loop_take_signals(run->loop);
	return run->loop->is_over || run->e->is_exiting ||
	       (duration && run->now - run->first >= duration);
}

static int run_events(struct run *run)
{
	struct diag *const d = run->e->env->diag;
	u32 n = 0;
	int err = 0;

	while (!err && !is_over(run, n++)) {
		const struct listeners *who;
		struct recording *const r = recordings_next(run->all, d);
		u64 now;

		if (!r)
			break;
		now = (u64)(r->ns - run->origin_ns);
		/* Damaged recordings may jump back in time; the clock does not. */
		now = MAX(now, run->now);
		if (run->timers.len)
			err = run_timers(run, now);
		run->at = r;
		run->now = now;
		who = listeners_of(run, r->kind);
		if (who->list.len && !err && !run->e->is_exiting)
			err = run_event(run, who);
	}
	return err;
}

/* ---- before and after ---- */

static void add_listener(struct run *run, const char *name, const struct listener *l)
{
	struct listeners *who = hashmap_gets(&run->kinds, name);

	if (!who) {
		who = arena_new(run->e->env->arena, struct listeners);
		hashmap_puts(&run->kinds, name, who);
	}
	vector_push(&who->list, *l);
}

/* A tracepoint, or a probe that becomes an event when it is enabled. */
static void listen(struct run *run, const struct script_program *p, u32 program,
		   const struct probe_target *t)
{
	const struct listener l = {.program = program,
				   .cookie = t->cookie,
				   .size = p->context.args ? p->context.args->size : 0};
	char *name;

	if (t->provider->is_made_live)
		return;
	name = xasprintf("%s:%s", t->module, t->function);
	add_listener(run, name, &l);
	free(name);
}

static void add_timer(struct run *run, u32 program, const struct probe_target *t)
{
	const u64 period = t->is_frequency ? 1000000000u / MAX(t->config, (u64)1) : t->config;
	const struct timer timer = {.program = program,
				    .cookie = t->cookie,
				    .period = MAX(period, (u64)1),
				    .due = run->first + MAX(period, (u64)1)};

	vector_push(&run->timers, timer);
}

/* A value that one recording has is not refused because another lacks it. */
static int note_unplaced(struct recording *r, void *arg)
{
	struct run *const run = arg;

	run->machine.unplaced &= r->reader->unplaced ? r->reader->unplaced(r)
				 : r->reader->stack  ? 0
						     : PLACE_STACK;
	return 0;
}

static int load(struct run *run)
{
	const struct script *const s = run->e->script;
	int err = 0, rc;

	run->machine.unplaced = run->live ? PLACE_USER_STACK : UINT32_MAX;
	recordings_each(run->all, note_unplaced, run);
	for (u32 i = 0; i < s->programs.len; i++) {
		const struct script_program *const p = &s->programs.items[i];
		const struct probe_provider *const provider = engine_provider(p);

		rc = machine_load(&run->machine, i);
		err = err ?: rc;
		for (u32 t = 0; t < p->ntargets && provider->runner == PROBE_BY_EVENT; t++)
			if (provider->is_timer)
				add_timer(run, i, p->targets[t]);
			else
				listen(run, p, i, p->targets[t]);
	}
	return err;
}

static int note_origin(struct recording *r, void *arg)
{
	struct run *const run = arg;

	if (!r->has_event)
		return 0;
	if (!run->origin_ns)
		run->origin_ns = r->origin_ns;
	return 0;
}

static void begin_clock(struct run *run)
{
	s64 ns = 0;

	if (run->live) {
		run->origin_ns = clock_distance_ns(CLOCK_MONOTONIC, CLOCK_REALTIME);
		run->first = run->now = clock_now_ns(CLOCK_MONOTONIC);
	}
	recordings_each(run->all, note_origin, run);
	if (recordings_peek(run->all, &ns))
		run->first = run->now = (u64)(ns - run->origin_ns);
	/* strftime() of nsecs is the time line's */
	run->e->printer.boot_offset_ns = run->e->printer.mono_offset_ns = run->origin_ns;
	run->e->printer.have_offsets = true;
}

/* Events that the recording lost were not seen by the script. */
static void report_losses(struct run *run)
{
	struct diag *const d = run->e->env->diag;
	const struct recording_loss loss = recordings_loss(run->all, d);
	const u64 missed = run->live ? live_source_missed(run->live) : 0;
	u64 n = 0;

	if (loss.events || loss.packets || loss.gaps) {
		n += MAX(loss.events + loss.packets, (u64)1);
		diag_warning(d, NO_SPAN,
			     "events were lost %s (%s%" PRIu64 "): the script did not see them",
			     run->live ? "because the trace buffer was full"
				       : "when this was recorded",
			     loss.gaps ? "at least " : "", n);
	}
	if (missed)
		diag_warning(d, NO_SPAN,
			     "%" PRIu64 " calls of probed functions were missed by the kernel: "
			     "they came within another probe, or too many were open at once",
			     missed);
	if (run->unknown)
		diag_warning(d, run->unknown_why.span, "%s: %" PRIu64 " event%s %s left out for it",
			     run->unknown_why.why, run->unknown, plural(run->unknown),
			     is_are(run->unknown));
	if (run->damaged + loss.damaged)
		diag_warning(d, NO_SPAN,
			     "%" PRIu64
			     " event%s could not be read: their records do not fit their formats",
			     run->damaged + loss.damaged, plural(run->damaged + loss.damaged));
	run->e->lost[LOST_EVENTS] += n + missed + run->unknown + run->damaged + loss.damaged;
	action_print_diagnostics(run->e);
}

static int finish(struct run *run)
{
	struct engine *const e = run->e;
	int err;

	e->is_exiting = false;
	err = run_at(run, PROBE_AT_END);
	if (err)
		return err;
	engine_report_lost(e, true);
	report_losses(run);
	if (e->options->reporter)
		e->options->reporter->report(e->options->reporter->arg, e);
	else if (e->script->config.print_maps_on_exit && !e->options->is_tool)
		engine_print_maps(e);
	output_flush(e->out);
	return 0;
}

/* ---- live ---- */

/* Handles events and timers up to the time until which the buffer is complete. */
static int run_source(void *arg)
{
	struct run *const run = arg;
	u64 next = UINT64_MAX;

	recordings_refresh(run->all, run->e->env->diag);
	run->err = run_events(run);
	if (!run->err && !run->is_at_rest)
		run->err = run_timers(run, live_source_complete(run->live));
	run->loop->is_over |= run->err != 0;
	for (size_t i = 0; i < run->timers.len; i++)
		next = MIN(next, run->timers.items[i].due);
	next -= MIN(next, clock_now_ns(CLOCK_MONOTONIC));
	return (int)MIN(next / 1000000 + 1, (u64)LIVE_MS);
}

static int enable_probe(struct run *run, u32 program, const struct probe_target *t)
{
	const struct listener l = {.program = program, .cookie = t->cookie, .probe = t};
	const char *name;
	const int err = live_source_probe(run->live, t, &name);

	if (!err)
		add_listener(run, name, &l);
	return err;
}

static int enable_events(struct run *run)
{
	const struct script *const s = run->e->script;
	int err = 0;

	for (u32 i = 0; i < s->programs.len; i++) {
		const struct script_program *const p = &s->programs.items[i];
		const struct probe_provider *const provider = engine_provider(p);

		if (provider->runner != PROBE_BY_EVENT || provider->is_timer)
			continue;
		for (u32 t = 0; t < p->ntargets && !err; t++)
			err = provider->is_made_live
				      ? enable_probe(run, i, p->targets[t])
				      : live_source_enable(run->live, p->targets[t]->module,
							   p->targets[t]->function);
	}
	if (!err && run->machine.takes_stacks)
		err = live_source_take_stacks(run->live);
	return err;
}

static u64 count_targets(const struct script *s)
{
	u64 n = 0;

	for (u32 i = 0; i < s->programs.len; i++)
		n += s->programs.items[i].ntargets;
	return n;
}

static int run_live(struct run *run)
{
	const struct loop_source source = {.arg = run, .run = run_source};
	struct engine *const e = run->e;
	struct loop *const l = run->loop;
	int err = loop_open(l);

	engine_read_kernel_names(e);
	engine_watch_processes(e);
	if (!err)
		err = loop_add_watch(l);
	if (!err)
		err = enable_events(run);
	if (!err)
		err = loop_add(l, live_source_fd(run->live), WAIT_RING);
	if (!err && e->child)
		err = child_release(e->child, e->env->diag);
	if (err)
		return err;
	e->attached = count_targets(e->script);
	engine_drop_privileges(e);
	engine_announce(e);
	l->source = &source;
	loop_run(l);
	l->source = NULL;
	run->is_at_rest = true;
	live_source_stop(run->live);
	if (e->child)
		child_stop(e->child);
	if (!run->err)
		run_source(run);
	return run->err;
}

static int run_all(struct run *run)
{
	struct engine *const e = run->e;
	struct script_globals globals = {.self_pid = UINT32_MAX}; /* no process: not recorded */
	int err = machine_begin(&run->machine, e->script, e->env->diag, e->maps);

	if (err)
		return err;
	if (run->live && !e->options->dry_run)
		err = live_source_begin(run->live, e->env->diag);
	begin_clock(run);
	err = err ?: load(run);
	globals.start_ns = run->first;
	if (run->live && e->child)
		globals.child_pid = (u32)e->child->pid;
	if (!err)
		err = engine_write_globals(e, &globals);
	if (err || e->options->dry_run)
		return err;
	diag_tell(e->env->diag);
	err = run_at(run, PROBE_AT_BEGIN);
	engine_print_header(e);
	if (!err && !e->script->only_begin_end)
		err = run->live ? run_live(run) : run_events(run);
	return err ? err : finish(run);
}

int recorded_run(struct loop *l)
{
	struct recorded_source *const source = l->e->env->recorded->arg;
	struct run run = {.loop = l,
			  .e = l->e,
			  .all = recorded_source_recordings(source),
			  .live = recorded_source_live(source)};
	int err;

	run.machine.ask_thread = ask_thread;
	run.machine.ask_stack = ask_stack;
	run.machine.arg = &run;
	if (!run.live) { /* else the running kernel knows */
		l->e->printer.frame = name_frame;
		l->e->printer.frame_arg = &run;
	}
	err = run_all(&run);
	l->e->printer.frame = NULL;
	hashmap_release(&run.frames);
	vector_free(&run.stack);
	hashmap_each (&run.kinds, entry)
		vector_free(&((struct listeners *)entry->value)->list);
	hashmap_release(&run.kinds);
	vector_free(&run.timers);
	machine_end(&run.machine);
	return err;
}
