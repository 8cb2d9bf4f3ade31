/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes the records of the programs and carries out their actions, in the order in which they
 * were sent.
 */
#include <linux/bpf.h>

#include "engine/actions.h"
#include "engine/in_process_maps.h"
#include "engine/packets.h"
#include "user/in_process_session.h"

/* ---- records ---- */

/*
 * Notes the mappings of a process when it is first seen: it may end before its stacks are printed.
 */
static void note_processes(struct engine *e, const struct type *t, const u8 *data)
{
	u32 tgid;

	if (t->kind == TYPE_TUPLE || t->kind == TYPE_RECORD) {
		for (u32 i = 0; i < t->count; i++)
			note_processes(e, t->members[i].type, data + t->members[i].offset);
	} else if (t->kind == TYPE_USTACK || t->kind == TYPE_USYM) {
		memcpy(&tgid, data + 8, sizeof(tgid));
		engine_note_process(e, (pid_t)tgid);
	}
}

static const struct action *action_of(const struct engine *e, const void *data, u32 size)
{
	u32 index;

	if (!data || size < 8)
		return NULL;
	memcpy(&index, data, sizeof(index));
	return index < e->script->actions.len ? &e->script->actions.items[index] : NULL;
}

/* Members are in the order of the arguments; the tail is the one that is laid out last. */
static u32 tail_offset(const struct type *payload)
{
	u32 offset = 0;

	for (u32 i = 0; i < payload->count; i++)
		offset = MAX(offset, payload->members[i].offset);
	return offset;
}

/* The payload with all its bytes: a cut tail is completed by zeros. NULL if it does not fit the
 * action. */
static const u8 *payload_of(struct engine *e, const struct action *a, const u8 *data, u32 size)
{
	size_t want = a->payload ? a->payload->size : 0;

	/* Values are read by memcpy: their alignment does not matter. */
	if (size >= want)
		return data;
	if (!a->has_tail || size < tail_offset(a->payload))
		return NULL;
	if (e->record_size < want) {
		e->record = xrealloc(e->record, want);
		e->record_size = want;
	}
	memcpy(e->record, data, size);
	memset(e->record + size, 0, want - size);
	return e->record;
}

bool engine_handle_record(void *arg, const void *data, u32 size, const void *next, u32 next_size)
{
	struct engine *e = arg;
	struct record r = {.action = action_of(e, data, size)};
	u32 id;

	if (e->is_exiting)
		return true;
	if (e->is_giving_up) {
		e->given_up++;
		return true;
	}
	if (r.action) {
		memcpy(&id, (const u8 *)data + 4, sizeof(id));
		if (id) {
			engine_hold(e, id, data, size);
			return true;
		}
	}
	if (r.action)
		r.payload = payload_of(e, r.action, (const u8 *)data + 8, size - 8);
	if (!r.payload) {
		e->malformed++;
		return true;
	}
	r.used = size - 8;
	r.next = action_of(e, next, next_size);
	if (r.action->payload && e->notes_processes)
		note_processes(e, r.action->payload, r.payload);
	if (!action_perform(e, &r))
		e->malformed++;
	output_commit(e->out);
	return !e->out->error;
}

/* ---- losses ---- */

static u64 lost_now(const struct engine *e, enum lost_counter c)
{
	u64 n = c == LOST_EVENTS && e->ring ? packets_lost(e->packets) + e->given_up : 0;

	if (e->script->lost_map < e->script->maps.len)
		n += map_sum_u64(&e->maps[e->script->lost_map], c);
	if (e->aggregates && c == LOST_EVENTS)
		n += aggregates_losses(e->aggregates).events;
	if (e->aggregates && c == LOST_MAP_FULL)
		n += aggregates_losses(e->aggregates).full;
	return n;
}

static void say_lost(struct engine *e, u64 n)
{
	if (e->out->is_json) {
		action_json_count(e, "lost_events", "events", n);
		return;
	}
	output_flush(e->out);
	fprintf(stderr, "Lost %" PRIu64 " events\n", n);
}

/* A map that is declared has its own size, whatever max_map_keys says. */
static void hint_map_full(const struct engine *e)
{
	const u64 usual = e->script->config.max_map_keys;

	for (size_t i = 0; i < e->script->maps.len; i++) {
		const struct script_map *m = &e->script->maps.items[i];

		if (m->role != MAP_USER || m->is_bucketed || type_is(m->key, TYPE_NONE) ||
		    m->max_entries == usual)
			continue;
		diag_hint(e->env->diag,
			  "raise the size in the declaration of @%s (now %u), or max_map_keys in a "
			  "config block for the maps without one (now %" PRIu64 ")",
			  m->name, m->max_entries, usual);
		return;
	}
	diag_hint(e->env->diag, "raise max_map_keys in a config block (now %" PRIu64 ")", usual);
}

/*
 * The kernel skips a program whose event comes while it, or any other program of a tracepoint or
 * perf event, runs on the same CPU: in an interrupt, or in a thread that preempted it
 * (kernel/trace/bpf_trace.c, kernel/bpf/trampoline.c). The skipped runs are counted since Linux
 * 5.12 for fentry, since 6.1 for raw tracepoints (before, none is skipped there), and since 6.7 for
 * tracepoints and perf events: what older kernels skip on these, nobody can know.
 */
static u64 missed_events(const struct engine *e)
{
	u64 n = 0;

	for (size_t i = 0; i < e->script->programs.len; i++) {
		struct bpf_prog_info info = {0};

		if (e->programs[i] >= 0 && !sys_bpf_info(e->programs[i], &info, sizeof(info)))
			n += info.recursion_misses;
	}
	return n;
}

static void report_missed(struct engine *e)
{
	const u64 n = missed_events(e);

	if (!n)
		return;
	diag_warning(e->env->diag, NO_SPAN,
		     "%" PRIu64
		     " events were missed: they came while the program for them, or one of "
		     "another tracer, was at work on the same CPU",
		     n);
	diag_hint(e->env->diag, "a shorter program, or a filter, misses less");
}

void engine_report_lost(struct engine *e, bool total)
{
	u64 now = lost_now(e, LOST_EVENTS);

	if (now > e->lost[LOST_EVENTS])
		say_lost(e, now - e->lost[LOST_EVENTS]);
	e->lost[LOST_EVENTS] = now;
	if (!total)
		return;
	e->lost[LOST_MAP_FULL] = lost_now(e, LOST_MAP_FULL);
	e->lost[LOST_STACKS] = lost_now(e, LOST_STACKS);
	if (now) {
		diag_warning(e->env->diag, NO_SPAN, "Total lost event count: %" PRIu64, now);
		diag_hint(e->env->diag,
			  "a larger buffer loses less: perf_rb_pages in a config block");
	}
	if (e->lost[LOST_MAP_FULL] && !e->options->reporter) {
		diag_warning(e->env->diag, NO_SPAN,
			     "Map full; can't update element: %" PRIu64 " update%s %s lost",
			     e->lost[LOST_MAP_FULL], plural(e->lost[LOST_MAP_FULL]),
			     was_were(e->lost[LOST_MAP_FULL]));
		hint_map_full(e);
	}
	report_missed(e);
	if (e->lost[LOST_STACKS])
		diag_warning(e->env->diag, NO_SPAN, "%" PRIu64 " stack%s could not be stored",
			     e->lost[LOST_STACKS], plural(e->lost[LOST_STACKS]));
	in_process_report(e);
	engine_report_speculations(e);
	if (e->hasty_takes) {
		diag_warning(e->env->diag, NO_SPAN,
			     "%" PRIu64
			     " reports were read and cleared in a hurry: updates in between may be "
			     "lost",
			     e->hasty_takes);
		diag_hint(e->env->diag,
			  "print less often, or give events a larger buffer: perf_rb_pages");
	}
	if (e->malformed)
		diag_warning(e->env->diag, NO_SPAN, "%" PRIu64 " record%s %s malformed",
			     e->malformed, plural(e->malformed), was_were(e->malformed));
	action_print_diagnostics(e);
}

/* ---- before the first and after the last event ---- */

void engine_print_header(struct engine *e)
{
	for (size_t i = 0; i < e->script->actions.len; i++) {
		const struct action *a = &e->script->actions.items[i];

		if (a->kind == ACTION_ROW) {
			row_header(e->rows, e->out, &a->format);
			return;
		}
	}
}
