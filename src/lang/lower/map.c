/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps: keys, lookup, exact updates, reading aggregations over all CPUs. */
#include "lang/lower/internal.h"

#include "lib/vm.h"

static const struct script_map *script_map_of(const struct lower *l, const struct map_symbol *m)
{
	return &l->script->maps.items[m->index];
}

/* A scalar map that is not per CPU is an array of one: the kernel lets code refer to its value
 * without a lookup. */
static bool is_direct(const struct lower *l, const struct map_symbol *m)
{
	return script_map_of(l, m)->bpf_type == BPF_MAP_TYPE_ARRAY &&
	       !script_map_of(l, m)->switched;
}

ir_reg lower_map_address(struct lower *l, u32 map)
{
	return ir_map(l->f, map);
}

u32 lower_bucket_offset(const struct map_symbol *m)
{
	return type_is(m->key, TYPE_NONE) ? 0 : ALIGN_UP(m->key->size, 8u);
}

/* A single key that is already there as it must be. */
static bool usable_as_key(const struct map_symbol *m, const struct value *v,
			  const struct script_map *sm)
{
	return !sm->is_bucketed && v->kind == VALUE_MEMORY && v->space == SPACE_BPF &&
	       type_equal(v->type, m->key) && (!type_is(v->type, TYPE_STRING) || v->is_zero_padded);
}

static bool has_padding(const struct type *t)
{
	u32 used = 0;

	for (u32 i = 0; i < t->count; i++)
		used += t->members[i].type->size;
	return used != t->size;
}

ir_reg lower_map_key(struct lower *l, struct map_symbol *m, struct expr *const *args, u32 nargs,
		     struct span at)
{
	const struct script_map *sm = script_map_of(l, m);
	struct type room = {.kind = TYPE_ARRAY};
	struct value v;
	ir_reg address;
	u32 slot;

	if (is_direct(l, m))
		return 0;
	if (nargs == 1 && !type_is(m->key, TYPE_NONE)) {
		lower_expr(l, args[0], &v);
		if (usable_as_key(m, &v, sm))
			return lower_address(l, v.reg, v.constant);
	}
	room.size = MAX(sm->key_size, 8u);
	slot = lower_slot(l, &room, "key", &address);
	if (!nargs || type_is(m->key, TYPE_NONE)) {
		ir_store_imm(l->f, address, 0, 8, 0);
		return address;
	}
	if (nargs == 1) {
		lower_store_value(l, address, 0, m->key, &v, at);
	} else {
		if (has_padding(m->key))
			lower_zero(l, address, 0, m->key->size);
		for (u32 i = 0; i < nargs && i < m->key->count; i++) {
			const struct type_member *member = &m->key->members[i];

			lower_expr(l, args[i], &v);
			lower_store_value(l, ir_slot_address(l->f, slot), member->offset,
					  member->type, &v, at);
		}
		address = ir_slot_address(l->f, slot);
	}
	if (sm->is_bucketed && m->key->size < lower_bucket_offset(m))
		lower_zero(l, address, m->key->size, lower_bucket_offset(m) - m->key->size);
	return address;
}

ir_reg lower_map_pointer(struct lower *l, const struct map_symbol *m)
{
	const struct script_map *sm = script_map_of(l, m);
	ir_reg key, inner;
	u32 found;

	if (!sm->switched)
		return ir_map(l->f, m->index);
	lower_slot(l, type_int(4, false), "generation", &key);
	ir_store_imm(l->f, key, 0, 4, 0);
	inner = ir_call_n(l->f, BPF_FUNC_map_lookup_elem, ir_map(l->f, sm->switched - 1), key);
	found = ir_block_new(l->f, "generation");
	ir_branch_imm(l->f, IR_NE, inner, 0, found, l->return_block); /* it is always there */
	ir_switch_to(l->f, found);
	return inner;
}

ir_reg lower_map_lookup(struct lower *l, struct map_symbol *m, ir_reg key)
{
	ir_reg r;

	if (!is_direct(l, m))
		return ir_call_n(l->f, BPF_FUNC_map_lookup_elem, lower_map_pointer(l, m), key);
	r = ir_reg_new(l->f);
	ir_add(l->f, (struct ir_insn){.op = IR_MAP_VALUE, .dst = r, .imm = m->index, .imm2 = 0});
	return r;
}

u32 lower_lost_map(struct script *s)
{
	if (s->lost_map != IR_NO_MAP)
		return s->lost_map;
	s->lost_map = (u32)s->maps.len;
	vector_push(&s->maps, (struct script_map){.role = MAP_LOST,
						  .name = "lost",
						  .bpf_type = BPF_MAP_TYPE_PERCPU_ARRAY,
						  .key_size = 4,
						  .value_size = 8,
						  .max_entries = LOST_COUNT,
						  .is_percpu = true});
	return s->lost_map;
}

void lower_count_lost(struct lower *l, enum lost_counter counter)
{
	const u32 found = ir_block_new(l->f, "lost"), end = ir_block_new(l->f, "lost.end");
	const u32 map = lower_lost_map(l->script);
	ir_reg key, element;

	lower_slot(l, type_int(4, false), "counter", &key);
	ir_store_imm(l->f, key, 0, 4, counter);
	element = ir_call_n(l->f, BPF_FUNC_map_lookup_elem, ir_map(l->f, map), key);
	ir_branch_imm(l->f, IR_NE, element, 0, found, end);
	ir_switch_to(l->f, found);
	ir_add(l->f, (struct ir_insn){
			     .op = IR_ATOMIC_ADD, .size = 8, .a = element, .b = ir_const(l->f, 1)});
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
}

/* Zeros to create an element from: the value of a new element. */
static ir_reg zero_value(struct lower *l, const struct script_map *sm)
{
	const struct type room = {.kind = TYPE_ARRAY, .size = sm->value_size};
	ir_reg address;

	lower_slot(l, &room, "zero", &address);
	lower_zero(l, address, 0, sm->value_size);
	return address;
}

ir_reg lower_map_element(struct lower *l, struct map_symbol *m, ir_reg key, u32 otherwise,
			 struct span at)
{
	const struct script_map *sm = script_map_of(l, m);
	const bool is_array =
		sm->bpf_type == BPF_MAP_TYPE_ARRAY || sm->bpf_type == BPF_MAP_TYPE_PERCPU_ARRAY;
	struct ir_function *f = l->f;
	ir_reg element, again, made, map;
	u32 found, absent, full;

	if (is_direct(l, m))
		return lower_map_lookup(l, m, key);
	map = sm->switched ? lower_map_pointer(l, m) : 0;
	element = ir_move(
		f, ir_call_n(f, BPF_FUNC_map_lookup_elem, map ? map : ir_map(f, m->index), key));
	found = ir_block_new(f, "element");
	if (is_array) {
		ir_branch_imm(f, IR_NE, element, 0, found, otherwise);
		ir_switch_to(f, found);
		return element;
	}
	absent = ir_block_new(f, "absent");
	full = ir_block_new(f, "full");
	ir_branch_imm(f, IR_NE, element, 0, found, absent);
	ir_switch_to(f, absent);
	/* BPF_NOEXIST: another CPU may have been faster; its element is as good. */
	made = ir_call_n(f, BPF_FUNC_map_update_elem, map ? map : ir_map(f, m->index), key,
			 zero_value(l, sm), ir_const(f, BPF_NOEXIST));
	again = ir_call_n(f, BPF_FUNC_map_lookup_elem, map ? map : ir_map(f, m->index), key);
	ir_assign(f, element, again);
	ir_branch_imm(f, IR_NE, element, 0, found, full);
	ir_switch_to(f, full);
	lower_count_lost(l, LOST_MAP_FULL);
	lower_helper_error(l, BPF_FUNC_map_update_elem, made, at);
	ir_jump(f, otherwise);
	ir_switch_to(f, found);
	return element;
}

void lower_add(struct lower *l, struct map_symbol *m, ir_reg element, s64 offset, ir_reg amount)
{
	const struct script_map *sm = script_map_of(l, m);

	if (sm->is_percpu && m->programs <= 1) {
		const ir_reg old = ir_load(l->f, element, offset, 8, false);

		ir_store(l->f, element, offset, 8, ir_binary(l->f, IR_ADD, old, amount));
		return;
	}
	ir_add(l->f,
	       (struct ir_insn){
		       .op = IR_ATOMIC_ADD, .size = 8, .a = element, .imm = offset, .b = amount});
}

ir_reg lower_map_increment(struct lower *l, struct map_symbol *m, ir_reg key, ir_reg amount,
			   bool want, struct span at)
{
	struct ir_function *f = l->f;
	const u32 end = ir_block_new(f, "added");
	ir_reg old = ir_reg_new(f), element, r = 0;

	if (want)
		ir_assign_const(f, old, 0);
	element = lower_map_element(l, m, key, end, at);
	if (want && !l->features->atomic_fetch)
		ir_assign(f, old, ir_load(f, element, 0, 8, false));
	else if (want)
		r = ir_reg_new(f);
	ir_add(f, (struct ir_insn){
			  .op = IR_ATOMIC_ADD, .size = 8, .dst = r, .a = element, .b = amount});
	if (r)
		ir_assign(f, old, r);
	ir_jump(f, end);
	ir_switch_to(f, end);
	return want ? old : 0;
}

/* The library does the rest (lib/aggregate.h). */
void lower_process_count(struct lower *l, struct map_symbol *m, struct expr *const *keys, u32 nkeys,
			 ir_reg bucket, ir_reg n, struct span at)
{
	struct script_map *sm = &l->script->maps.items[m->index];
	ir_reg key;

	if (!sm->process)
		sm->process = ++l->script->nprocess_maps;
	if (type_is(m->key, TYPE_NONE)) {
		lower_slot(l, type_int(8, false), "key", &key);
		ir_store_imm(l->f, key, 0, 8, 0);
	} else {
		key = lower_map_key(l, m, keys, nkeys, at);
	}
	if (bucket)
		ir_store(l->f, key, lower_bucket_offset(m), 8, bucket);
	ir_call_n(l->f, PT_VM_COUNT, ir_const(l->f, sm->process - 1), key, n);
}

/* ---- reading ---- */

struct totals {
	ir_reg total, second;
};

static void add_to(struct lower *l, ir_reg total, ir_reg element, s64 offset)
{
	ir_assign(l->f, total,
		  ir_binary(l->f, IR_ADD, total, ir_load(l->f, element, offset, 8, false)));
}

/* min, max: { value, is_set } */
static void take_extreme(struct lower *l, const struct type *t, ir_reg element,
			 const struct totals *sum)
{
	struct ir_function *f = l->f;
	const u32 take = ir_block_new(f, "take"), keep = ir_block_new(f, "keep"),
		  compare = ir_block_new(f, "compare"), set = ir_block_new(f, "set");
	const enum ir_cond less = t->is_signed ? IR_SLT : IR_LT,
			   more = t->is_signed ? IR_SGT : IR_GT;
	ir_reg value;

	ir_branch_imm(f, IR_NE, ir_load(f, element, 8, 8, false), 0, set, keep);
	ir_switch_to(f, set);
	value = ir_load(f, element, 0, 8, false);
	ir_branch_imm(f, IR_EQ, sum->second, 0, take, compare);
	ir_switch_to(f, compare);
	ir_branch(f, type_is(t, TYPE_MIN) ? less : more, value, sum->total, take, keep);
	ir_switch_to(f, take);
	ir_assign(f, sum->total, value);
	ir_assign_const(f, sum->second, 1);
	ir_jump(f, keep);
	ir_switch_to(f, keep);
}

static void add_cpu(struct lower *l, const struct type *t, ir_reg element, const struct totals *sum)
{
	if (type_is(t, TYPE_MIN) || type_is(t, TYPE_MAX)) {
		take_extreme(l, t, element, sum);
		return;
	}
	add_to(l, sum->total, element, 0);
	if (type_is(t, TYPE_AVG))
		add_to(l, sum->second, element, 8);
}

/* Over all possible CPUs; without bpf_map_lookup_percpu_elem (5.19) the checker has refused it. */
static void read_aggregation(struct lower *l, struct map_symbol *m, ir_reg key, struct value *ret)
{
	struct ir_function *f = l->f;
	const struct compile_options *o = l->check->options;
	const u32 cpus = o->recorded ? 1 : MAX(kernel_possible_cpus(o->env->kernel), 1u);
	const struct script_map *sm = script_map_of(l, m);
	const u32 found = ir_block_new(f, "cpu");
	struct totals sum = {ir_reg_new(f), ir_reg_new(f)};
	struct lower_loop loop;
	ir_reg element, limit = ir_const(f, cpus), map = sm->switched ? lower_map_pointer(l, m) : 0;

	ir_assign_const(f, sum.total, 0);
	ir_assign_const(f, sum.second, 0);
	lower_loop_begin(l, &loop, limit, cpus);
	element = ir_call_n(f, BPF_FUNC_map_lookup_percpu_elem, map ? map : ir_map(f, m->index),
			    key, loop.index);
	ir_branch_imm(f, IR_NE, element, 0, found, loop.next);
	ir_switch_to(f, found);
	add_cpu(l, m->value, element, &sum);
	lower_loop_end(l, &loop);
	if (type_is(m->value, TYPE_AVG))
		sum.total =
			ir_binary(f, m->value->is_signed ? IR_SDIV : IR_DIV, sum.total, sum.second);
	*ret = value_register(check_aggregation_scalar(m->value), sum.total);
}

void lower_map_read(struct lower *l, struct map_symbol *m, ir_reg key, struct value *ret,
		    struct span at)
{
	struct ir_function *f = l->f;
	const struct type *t = m->value;
	const struct value none = value_constant(type_int(4, true), 0);
	ir_reg element, address, r;
	u32 found, absent, end, slot;

	if (check_aggregation_scalar(t)) {
		if (!l->features->percpu_lookup)
			lower_error(l, at,
				    "Missing required kernel feature: map_lookup_percpu_elem");
		read_aggregation(l, m, key, ret);
		return;
	}
	element = lower_map_lookup(l, m, key);
	if (is_direct(l, m) && type_is_scalar(t)) {
		*ret = value_register(t, ir_load(f, element, 0, t->size, t->is_signed));
		return;
	}
	found = ir_block_new(f, "found");
	absent = ir_block_new(f, "absent");
	end = ir_block_new(f, "read");
	if (type_is_scalar(t)) {
		r = ir_reg_new(f);
		ir_assign_const(f, r, 0);
		ir_branch_imm(f, IR_NE, element, 0, found, absent);
		ir_switch_to(f, found);
		ir_assign(f, r, ir_load(f, element, 0, t->size, t->is_signed));
		ir_jump(f, end);
		ir_switch_to(f, absent);
		lower_helper_failed(l, BPF_FUNC_map_lookup_elem, &none, at);
		ir_jump(f, end);
		ir_switch_to(f, end);
		*ret = value_register(t, r);
		return;
	}
	slot = lower_slot(l, t, "element", &address);
	ir_branch_imm(f, IR_NE, element, 0, found, absent);
	ir_switch_to(f, found);
	lower_copy(l, ir_slot_address(f, slot), 0, element, 0, t->size);
	ir_jump(f, end);
	ir_switch_to(f, absent);
	lower_zero(l, ir_slot_address(f, slot), 0, t->size);
	lower_helper_failed(l, BPF_FUNC_map_lookup_elem, &none, at);
	ir_jump(f, end);
	ir_switch_to(f, end);
	*ret = value_memory(t, ir_slot_address(f, slot), 0, SPACE_BPF);
	ret->is_zero_padded = true;
}

/* ---- writing ---- */

void lower_map_write(struct lower *l, struct map_symbol *m, ir_reg key, const struct value *v,
		     struct span at)
{
	struct ir_function *f = l->f;
	ir_reg result, address;
	u32 slot, failed, end;

	if (is_direct(l, m)) {
		if (type_is_scalar(m->value)) {
			lower_store_value(l, lower_map_lookup(l, m, key), 0, m->value, v, at);
			return;
		}
		/* One call stores the whole value: no reader sees half of it for long. */
		lower_slot(l, type_int(4, false), "key", &key);
		ir_store_imm(f, key, 0, 4, 0);
	}
	/* The map takes whole words; a part of something else ends where it ends. */
	if (v->kind == VALUE_MEMORY && v->space == SPACE_BPF && type_equal(v->type, m->value) &&
	    v->type->size == script_map_of(l, m)->value_size &&
	    (!type_is(v->type, TYPE_STRING) || v->is_zero_padded)) {
		address = lower_address(l, v->reg, v->constant);
	} else {
		slot = lower_slot(l, m->value, "value", &address);
		lower_store_value(l, address, 0, m->value, v, at);
		address = ir_slot_address(f, slot);
	}
	result = ir_call_n(f, BPF_FUNC_map_update_elem, lower_map_pointer(l, m), key, address,
			   ir_const(f, BPF_ANY));
	failed = ir_block_new(f, "update.failed");
	end = ir_block_new(f, "updated");
	ir_branch_imm(f, IR_SLT, result, 0, failed, end);
	ir_switch_to(f, failed);
	lower_count_lost(l, LOST_MAP_FULL);
	lower_helper_error(l, BPF_FUNC_map_update_elem, result, at);
	ir_jump(f, end);
	ir_switch_to(f, end);
}

ir_reg lower_map_delete(struct lower *l, struct map_symbol *m, ir_reg key)
{
	const struct script_map *sm = script_map_of(l, m);
	struct ir_function *f = l->f;

	if (sm->bpf_type == BPF_MAP_TYPE_ARRAY || sm->bpf_type == BPF_MAP_TYPE_PERCPU_ARRAY) {
		lower_slot(l, type_int(4, false), "key", &key);
		ir_store_imm(f, key, 0, 4, 0);
		return ir_call_n(f, BPF_FUNC_map_update_elem, lower_map_pointer(l, m), key,
				 zero_value(l, sm), ir_const(f, BPF_ANY));
	}
	return ir_call_n(f, BPF_FUNC_map_delete_elem, lower_map_pointer(l, m), key);
}
