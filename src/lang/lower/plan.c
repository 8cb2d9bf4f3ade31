/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/lower/plan.h"

#include <linux/bpf.h>

#include "lang/check/internal.h"

/* A histogram has many elements per key. */
#define BUCKETS_PER_KEY 2
/*
 * Larger maps are filled in as needed where the kernel can do that in any context (6.1). It holds
 * back a few dozen elements for moments in which it cannot get memory (interrupts off), but only
 * three of per-CPU maps: more new keys in one go would be lost, so these are only left unfilled
 * when they are very large.
 */
#define PREALLOC_MAX	    (256u << 10)
#define PREALLOC_MAX_PERCPU (2u << 20)

/* They are built in the scratch memory of one CPU (PCPU_MIN_UNIT_SIZE). */
#define MAX_KEY	  16384u
#define MAX_VALUE 32768u

/* Integers are kept in 64 bits, so that keys of different widths are the same and additions can be
 * atomic. */
static const struct type *storage_type(struct check *c, const struct type *t, bool deep)
{
	const struct type **types;
	const char **names;

	if (type_is(t, TYPE_INT))
		return type_int(8, t->is_signed);
	if (!deep || (!type_is(t, TYPE_TUPLE) && !type_is(t, TYPE_RECORD)))
		return t;
	types = arena_new_array(c->arena, const struct type *, t->count + 1);
	names = arena_new_array(c->arena, const char *, t->count + 1);
	for (u32 i = 0; i < t->count; i++) {
		types[i] = storage_type(c, t->members[i].type, true);
		names[i] = t->members[i].name;
	}
	return type_is(t, TYPE_TUPLE) ? type_tuple(c->types, types, t->count)
				      : type_record(c->types, names, types, t->count);
}

/* ---- who updates what ---- */

static void count_block(struct unit *u, const struct block *b);

static bool count_expr(void *arg, struct expr *e)
{
	struct unit *u = arg;

	if (e->kind == EXPR_BLOCK)
		count_block(u, e->block);
	return true;
}

static void count_assignment(struct unit *u, const struct stmt *s)
{
	struct map_symbol *m = s->target ? s->target->map : NULL;

	if (!m || m->last_unit == u)
		return;
	m->last_unit = u;
	/* A uprobe can be preempted by the same probe in another process of the same CPU. */
	m->programs +=
		u->context.kind == CONTEXT_REGISTERS && u->context.space == SPACE_USER ? 2 : 1;
}

static void count_block(struct unit *u, const struct block *b)
{
	for (u32 i = 0; b && i < b->count; i++) {
		const struct stmt *s = b->stmts[i];

		if (s->kind == STMT_ASSIGN)
			count_assignment(u, s);
		if (s->value)
			ast_each_expr_in(s->value, count_expr, u);
		count_block(u, s->body);
		count_block(u, s->else_body);
	}
}

/* ---- kinds and sizes ---- */

static const struct map_kind {
	const char *name;
	u32 type;
	bool is_percpu;
} map_kinds[] = {
	{"hash", BPF_MAP_TYPE_HASH, false},
	{"lruhash", BPF_MAP_TYPE_LRU_HASH, false},
	{"percpuhash", BPF_MAP_TYPE_PERCPU_HASH, true},
	{"percpulruhash", BPF_MAP_TYPE_LRU_PERCPU_HASH, true},
	{"array", BPF_MAP_TYPE_ARRAY, false},
	{"percpuarray", BPF_MAP_TYPE_PERCPU_ARRAY, true},
};

static const struct map_kind *kind_of(u32 type)
{
	for (size_t i = 0; i < ARRAY_SIZE(map_kinds); i++)
		if (map_kinds[i].type == type)
			return &map_kinds[i];
	return &map_kinds[0];
}

u32 plan_map_type(const char *name)
{
	for (size_t i = 0; i < 4; i++)
		if (str_eq(map_kinds[i].name, name))
			return map_kinds[i].type;
	return 0;
}

static bool is_bucketed(const struct type *t)
{
	return type_is_bucketed(t);
}

/* Buckets of a histogram: for each power of two and each of the 2^k steps in it, below and above.
 */
static u32 bucket_count(const struct type *t)
{
	if (type_is(t, TYPE_LHIST))
		return (u32)MIN((t->lhist_max - t->lhist_min) / MAX(t->lhist_step, 1) + 2, 1 << 16);
	if (type_is(t, TYPE_LLHIST)) {
		const struct llhist h = type_llhist_of(t);

		return llhist_buckets(&h);
	}
	if (type_is(t, TYPE_TSERIES))
		return type_tseries_of(t).count;
	return (66u << t->hist_bits) + 2;
}

static u32 element_size(const struct type *t)
{
	if (type_is(t, TYPE_TSERIES))
		return TSERIES_ELEMENT_SIZE;
	return is_bucketed(t) ? 8 : ALIGN_UP(MAX(t->size, 1u), 8u);
}

/*
 * No more functions are counted than are traced, and an empty map of 100,000 takes the kernel
 * milliseconds.
 */
static u64 most_keys(const struct check *c, const struct map_symbol *m)
{
	u64 targets = 0;

	if (m->declared_size)
		return m->declared_size;
	if (m->has_other_keys || c->options->in_process)
		return c->script->config.max_map_keys;
	for (size_t i = 0; i < c->units.len; i++)
		targets += c->units.items[i]->ntargets;
	return MIN(MAX(targets, (u64)1), c->script->config.max_map_keys);
}

static void size_map(struct check *c, const struct map_symbol *m, struct script_map *sm)
{
	const bool scalar = type_is(m->key, TYPE_NONE), bucketed = is_bucketed(m->value);
	const u64 keys = most_keys(c, m);
	u64 bytes;

	sm->value_size = element_size(m->value);
	if (scalar) {
		sm->key_size = 4;
		sm->max_entries = MAX(bucketed ? bucket_count(m->value) : 1, m->declared_size);
		return;
	}
	sm->key_size = bucketed ? ALIGN_UP(m->key->size, 8u) + 8 : m->key->size;
	sm->max_entries = (u32)MIN(keys * (bucketed ? BUCKETS_PER_KEY : 1), 1u << 30);
	bytes = (u64)sm->max_entries * (sm->key_size + (sm->is_percpu ? 2u : 1u) * sm->value_size);
	if (bytes > (sm->is_percpu ? PREALLOC_MAX_PERCPU : PREALLOC_MAX) &&
	    c->options->features.no_prealloc_safe &&
	    (sm->bpf_type == BPF_MAP_TYPE_HASH || sm->bpf_type == BPF_MAP_TYPE_PERCPU_HASH))
		sm->map_flags = BPF_F_NO_PREALLOC;
}

static int plan_map(struct check *c, struct map_symbol *m, struct script_map *sm)
{
	const bool scalar = type_is(m->key, TYPE_NONE), percpu = type_is_aggregation(m->value);
	const u32 natural = scalar ? (percpu ? BPF_MAP_TYPE_PERCPU_ARRAY : BPF_MAP_TYPE_ARRAY)
				   : (percpu ? BPF_MAP_TYPE_PERCPU_HASH : BPF_MAP_TYPE_HASH);
	const struct map_kind *declared = m->declared_type ? kind_of(m->declared_type) : NULL;

	if (declared && declared->is_percpu != percpu) {
		diag_error(c->diag, m->span,
			   "Incompatible map types. Type from declaration: %s. Type from value/key "
			   "type: %s",
			   declared->name, percpu ? "percpuhash" : "hash");
		return -EINVAL;
	}
	m->key = storage_type(c, m->key, true);
	m->value = storage_type(c, m->value, false);
	*sm = (struct script_map){.role = MAP_USER,
				  .name = m->name,
				  .bpf_type = declared ? declared->type : natural,
				  .is_percpu = percpu,
				  .key = m->key,
				  .key_is_list = m->key_is_list,
				  .value = m->value,
				  .is_bucketed = is_bucketed(m->value),
				  .is_read = m->is_read};
	size_map(c, m, sm);
	if (sm->key_size > MAX_KEY || sm->value_size > MAX_VALUE) {
		diag_error(c->diag, m->span,
			   "The keys or values of @%s are too large: %u and %u bytes (at most %u "
			   "and %u)",
			   m->name, sm->key_size, sm->value_size, MAX_KEY, MAX_VALUE);
		diag_hint(c->diag,
			  "make strings shorter: str(p, 64), or config = { max_strlen = 64 }");
		return -E2BIG;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct map_symbol *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* What programs look the map in use up in. */
static void add_switch(struct script *script, u32 map)
{
	script->maps.items[map].switched = (u32)script->maps.len + 1;
	vector_push(&script->maps, (struct script_map){.role = MAP_SWITCH,
						       .name = script->maps.items[map].name,
						       .bpf_type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
						       .key_size = 4,
						       .value_size = 4,
						       .max_entries = 1,
						       .switched = map});
}

int plan_maps(struct check *c, struct script *script)
{
	struct map_symbol **sorted =
		arena_new_array(c->arena, struct map_symbol *, c->maps.len + 1);
	size_t n = 0;

	plan_takes(c);
	for (size_t i = 0; i < c->units.len; i++)
		if (!c->units.items[i]->context.in_process) /* that updates tables of its own */
			count_block(c->units.items[i], c->units.items[i]->body);
	hashmap_each (&c->maps, e)
		sorted[n++] = e->value;
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (size_t i = 0; i < n; i++) {
		struct map_symbol *m = sorted[i];
		struct script_map sm;
		int err;

		m->index = IR_NO_MAP;
		if (!m->value || !m->key)
			continue;
		err = plan_map(c, m, &sm);
		if (err)
			return err;
		m->index = (u32)script->maps.len;
		vector_push(&script->maps, sm);
		if (m->is_taken && !m->is_iterated && !c->options->recorded)
			add_switch(script, m->index);
	}
	return 0;
}

void plan_program(const struct unit *u, struct script_program *program)
{
	program->context.has_cookie = program->context.has_cookie && program->uses_cookie;
	/* The context must not be looked at at all, not even by functions that are given it. */
	program->can_share_raw = u->context.raw_tracepoint && !u->uses_args && !u->uses_context &&
				 !program->uses_cookie;
	if (program->can_share_raw)
		program->context.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
}
