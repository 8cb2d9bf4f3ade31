/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/in_process_maps.h"

#include <linux/bpf.h>
#include <pantrace/aggregate.h>

#include "engine/actions.h"
#include "engine/engine.h"
#include "lang/bpf/process_image.h"
#include "probe/user_event.h"
#include "user/in_process_session.h"

/* ---- what is sent to the programs ---- */

static u32 kind_of(const struct type *t)
{
	switch (t->kind) {
	case TYPE_COUNT:
	case TYPE_HIST:
	case TYPE_LHIST:
		return PANTRACE_AGGREGATE_COUNT;
	case TYPE_MIN:
		return t->is_signed ? PANTRACE_AGGREGATE_MIN : PANTRACE_AGGREGATE_UMIN;
	case TYPE_MAX:
		return t->is_signed ? PANTRACE_AGGREGATE_MAX : PANTRACE_AGGREGATE_UMAX;
	default: /* sums have a count beside them, which tells a sum of 0 from no value */
		return PANTRACE_AGGREGATE_PAIR;
	}
}

static bool is_scalar(const struct script_map *info)
{
	return type_is(info->key, TYPE_NONE);
}

static struct aggregates_map layout_of(const struct script_map *info)
{
	return (struct aggregates_map){
		.kind = kind_of(info->value),
		.key_size = is_scalar(info) ? 8 : info->key_size,
		.entries = MIN(MAX(info->max_entries, 1u), PANTRACE_AGGREGATE_ENTRIES)};
}

struct plan {
	struct aggregates_map maps[PANTRACE_AGGREGATE_MAPS];
	VECTOR(struct aggregates_program) programs;
	pid_t pid;
	u32 events;
	bool counts_pids;
};

static bool is_counting(const struct script_program *p)
{
	return engine_provider(p)->runner == PROBE_IN_PROCESS;
}

static int add_program(struct engine *e, const struct script_program *p, struct plan *plan)
{
	struct strbuf image = STRBUF_INIT;
	int err = process_image(e->script, p, e->env->diag, &image);

	for (u32 i = 0; i < p->code.count; i++)
		plan->counts_pids |= p->code.insns[i].code == (BPF_JMP | BPF_CALL) &&
				     p->code.insns[i].imm == BPF_FUNC_get_current_pid_tgid;

	for (u32 i = 0; i < p->ntargets && !err; i++) {
		const struct user_event *event = p->targets[i]->private;
		const struct aggregates_program one = {
			.event = arena_printf(e->env->arena, "%s:%s", event->provider, event->name),
			.hash = event->hash,
			.image = arena_memdup(e->env->arena, image.data, image.len),
			.size = image.len};

		vector_push(&plan->programs, one);
		plan->pid = p->targets[i]->pid;
		plan->events++;
	}
	strbuf_release(&image);
	return err;
}

int in_process_begin(struct engine *e)
{
	struct plan plan = {0};
	struct aggregates_options options = {.maps = plan.maps,
					     .nr_maps = e->script->nprocess_maps};
	int err = 0;

	if (!options.nr_maps)
		return 0;
	if (options.nr_maps > PANTRACE_AGGREGATE_MAPS) {
		diag_error(e->env->diag, NO_SPAN, "programs cannot count into more than %u maps",
			   PANTRACE_AGGREGATE_MAPS);
		return -E2BIG;
	}
	for (size_t i = 0; i < e->script->maps.len; i++)
		if (e->script->maps.items[i].process)
			plan.maps[e->script->maps.items[i].process - 1] =
				layout_of(&e->script->maps.items[i]);
	for (size_t i = 0; i < e->script->programs.len && !err; i++)
		if (is_counting(&e->script->programs.items[i]))
			err = add_program(e, &e->script->programs.items[i], &plan);
	options.programs = plan.programs.items;
	options.nr_programs = (u32)plan.programs.len;
	options.pid = plan.pid;
	options.counts_pids = plan.counts_pids;
	options.is_child = plan.pid && plan.pid == e->env->child;
	if (!err)
		err = aggregates_begin(&options, e->env->diag, &e->aggregates);
	vector_free(&plan.programs);
	if (err)
		return err;
	for (size_t i = 0; i < e->script->maps.len; i++) {
		if (!e->script->maps.items[i].process)
			continue;
		e->maps[i].aggregates = e->aggregates;
		e->maps[i].aggregates_map = e->script->maps.items[i].process - 1;
	}
	e->attachments.attached += plan.events;
	return 0;
}

void in_process_stop(struct engine *e)
{
	if (e->aggregates)
		aggregates_stop(e->aggregates);
}

void in_process_end(struct engine *e)
{
	aggregates_end(e->aggregates);
	e->aggregates = NULL;
}

/* How many programs that run in this way have the event as a target. */
static u32 targets_of(const struct engine *e, enum probe_runner runner,
		      const struct probe_target *like)
{
	u32 n = 0;

	for (size_t i = 0; i < e->script->programs.len; i++) {
		const struct script_program *p = &e->script->programs.items[i];

		for (u32 k = 0; k < p->ntargets; k++) {
			const struct probe_target *t = p->targets[k];
			const struct user_event *event = t->private;

			if (!t->provider->is_user_event || t->provider->runner != runner ||
			    !str_eq(t->module, like->module) ||
			    !str_eq(t->function, like->function) || event->site.is_repeated)
				continue;
			n++;
		}
	}
	return n;
}

/*
 * The event fires for all programs of the script together. A predicate can suppress it only if
 * there is just one program, and if the event has the same fields in all processes.
 */
void in_process_filters(struct engine *e)
{
	struct strbuf lines = STRBUF_INIT;

	for (size_t i = 0; i < e->script->programs.len; i++) {
		const struct script_program *p = &e->script->programs.items[i];
		const struct probe_target *t = p->ntargets ? p->targets[0] : NULL;
		struct strbuf image = STRBUF_INIT;

		if (!t || t->provider->runner != PROBE_AS_FILTER ||
		    targets_of(e, PROBE_AS_FILTER, t) != 1 || targets_of(e, PROBE_BY_EVENT, t) != 1)
			continue;
		if (!process_image(e->script, p, NULL, &image)) {
			strbuf_addf(&lines, "filter %s:%s ", t->module, t->function);
			strbuf_add_hex(&lines, image.data, image.len);
			strbuf_addch(&lines, '\n');
		}
		strbuf_release(&image);
	}
	e->env->user_filters = lines.len ? arena_strdup(e->env->arena, lines.data) : NULL;
	strbuf_release(&lines);
}

/* ---- reading ---- */

static u64 load(const u8 *p)
{
	u64 v;

	memcpy(&v, p, 8);
	return v;
}

static void store(u8 *p, u64 v)
{
	memcpy(p, &v, 8);
}

/* To the first CPU's value, which is as good as any. */
static void add_value(const struct script_map *info, u8 *value,
		      const struct aggregates_element *from)
{
	const struct type *t = info->value;

	if (from->is_zero)
		return;
	switch (t->kind) {
	case TYPE_MIN:
	case TYPE_MAX: {
		const bool less =
			t->is_signed ? (s64)from->a < (s64)load(value) : from->a < load(value);

		if (!load(value + 8) || (from->a != load(value) && less == (t->kind == TYPE_MIN)))
			store(value, from->a);
		store(value + 8, 1);
		return;
	}
	case TYPE_AVG:
	case TYPE_STATS:
		store(value + 8, load(value + 8) + from->b);
		/* fall through */
	default:
		store(value, load(value) + from->a);
	}
}

static void merge_array(const struct open_map *m, const struct aggregates_elements *from,
			struct map_elements *e)
{
	for (size_t i = 0; i < from->values.len; i++) {
		const u64 index = load(from->keys + i * from->key_size);

		if (index < e->count)
			add_value(m->info, e->values + index * m->stride, &from->values.items[i]);
	}
}

static u8 *element_new(const struct open_map *m, const u8 *key, struct map_elements *e)
{
	const u32 key_size = m->info->key_size;

	if (e->count == e->cap) {
		e->cap = MAX(e->cap * 2, (size_t)64);
		e->keys = xreallocarray(e->keys, e->cap, key_size);
		e->values = xreallocarray(e->values, e->cap, m->stride);
	}
	memcpy(e->keys + e->count * key_size, key, key_size);
	memset(e->values + e->count * m->stride, 0, m->stride);
	return e->values + e->count++ * m->stride;
}

static void merge_hash(const struct open_map *m, const struct aggregates_elements *from,
		       struct map_elements *e)
{
	const u32 key_size = m->info->key_size;
	struct hashmap have = {0};

	for (size_t i = 0; i < e->count; i++)
		*hashmap_put(&have, e->keys + i * key_size, key_size, NULL) =
			(void *)(uintptr_t)(i + 1);
	for (size_t i = 0; i < from->values.len; i++) {
		const u8 *key = from->keys + i * key_size;
		const uintptr_t at = (uintptr_t)hashmap_get(&have, key, key_size);
		u8 *value = at ? e->values + (at - 1) * m->stride : element_new(m, key, e);

		add_value(m->info, value, &from->values.items[i]);
	}
	hashmap_release(&have);
}

void in_process_merge(const struct open_map *m, bool take, struct map_elements *e)
{
	struct aggregates_elements now = {0};

	if (!m->frozen)
		aggregates_read(m->aggregates, m->aggregates_map,
				take ? COUNTING_CLEAR : COUNTING_KEEP, &now);
	if (m->is_array)
		merge_array(m, m->frozen ? m->frozen : &now, e);
	else
		merge_hash(m, m->frozen ? m->frozen : &now, e);
	aggregates_elements_release(&now);
}

bool in_process_lookup(const struct open_map *m, const void *key, void *value)
{
	struct aggregates_elements now = {0};
	const struct aggregates_elements *all = m->frozen ? m->frozen : &now;
	u64 index = 0;
	bool found = false;

	if (m->is_array)
		memcpy(&index, key, MIN(m->info->key_size, 4u));
	if (!m->frozen)
		aggregates_read(m->aggregates, m->aggregates_map, COUNTING_KEEP, &now);
	for (size_t i = 0; i < all->values.len; i++) {
		const u8 *have = all->keys + i * all->key_size;

		if (m->is_array ? load(have) != index : memcmp(have, key, all->key_size) != 0)
			continue;
		add_value(m->info, value, &all->values.items[i]);
		found = true;
	}
	aggregates_elements_release(&now);
	return found;
}

void in_process_clear(struct open_map *m, bool is_zero)
{
	struct aggregates_elements gone;

	if (!m->aggregates || m->frozen)
		return;
	aggregates_read(m->aggregates, m->aggregates_map, is_zero ? COUNTING_ZERO : COUNTING_CLEAR,
			&gone);
	aggregates_elements_release(&gone);
}

void in_process_delete(const struct open_map *m, const void *key)
{
	if (m->aggregates)
		aggregates_forget(m->aggregates, m->aggregates_map, key);
}

void in_process_freeze(struct open_map *m, bool is_zero)
{
	if (!m->aggregates)
		return;
	m->frozen = xzalloc(sizeof(*m->frozen));
	aggregates_read(m->aggregates, m->aggregates_map, is_zero ? COUNTING_ZERO : COUNTING_CLEAR,
			m->frozen);
}

void in_process_thaw(struct open_map *m)
{
	if (!m->frozen)
		return;
	aggregates_elements_release(m->frozen);
	free(m->frozen);
	m->frozen = NULL;
}

void in_process_report(struct engine *e)
{
	struct aggregates_losses losses;

	if (!e->aggregates)
		return;
	losses = aggregates_losses(e->aggregates);
	if (losses.mismatched) {
		diag_warning(e->env->diag, NO_SPAN,
			     "%" PRIu64
			     " events were not counted: their fields are others than those that "
			     "the script was compiled for",
			     losses.mismatched);
		diag_hint(e->env->diag,
			  "programs of different versions run; trace one with -p PID");
	}
	if (losses.damaged)
		diag_warning(e->env->diag, NO_SPAN, "the counts of %u %s could not be read",
			     losses.damaged, losses.damaged == 1 ? "process" : "processes");
	if (losses.refused)
		diag_warning(e->env->diag, NO_SPAN,
			     "%u table%s of counts %s not read: the owner is not the user of the "
			     "process that is named",
			     losses.refused, plural(losses.refused), is_are(losses.refused));
}
