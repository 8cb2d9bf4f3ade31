/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records for user space: their layout, and the code that fills them in and sends them. */
#include "lang/builtin/util.h"
#include "lang/lower/internal.h"

#define RECORD_HEADER 8 /* u32 action, u32 reserved */
/* A string or buffer larger than this is sent only as far as it is used. */
#define TAIL_BYTES	   32
#define PAGE		   4096u
#define DEFAULT_RING_PAGES 1024u

static u32 ring_bytes(const struct script *s)
{
	u64 pages = s->config.perf_rb_pages ? s->config.perf_rb_pages : DEFAULT_RING_PAGES, n = 1;

	while (n < pages && n < 1u << 18)
		n *= 2;
	return (u32)(n * PAGE);
}

static u32 lower_output_map(struct lower *l)
{
	struct script *s = l->script;

	if (s->output_map != IR_NO_MAP)
		return s->output_map;
	s->output_map = (u32)s->maps.len;
	vector_push(&s->maps, (struct script_map){.role = MAP_OUTPUT,
						  .name = "output",
						  .bpf_type = BPF_MAP_TYPE_RINGBUF,
						  .max_entries = ring_bytes(s)});
	return s->output_map;
}

static bool can_be_tail(const struct type *t)
{
	return (type_is(t, TYPE_STRING) || type_is(t, TYPE_BUFFER)) && t->size > TAIL_BYTES;
}

/* The members in the order of the arguments; the largest string is laid out last, so that the
 * record can end with it. */
static const struct type *payload_type(struct lower *l, const struct type *const *types, u32 n,
				       bool *ret_tail)
{
	struct type_member *members = arena_new_array(l->arena, struct type_member, n + 1);
	struct type *t = arena_new(l->arena, struct type);
	u32 tail = UINT32_MAX, offset = 0;

	for (u32 i = 0; i < n; i++)
		if (can_be_tail(types[i]) &&
		    (tail == UINT32_MAX || types[i]->size >= types[tail]->size))
			tail = i;
	for (u32 k = 0; k <= n; k++) {
		const u32 i = k < n ? k : tail;

		if (i == UINT32_MAX || (k < n && i == tail))
			continue;
		offset = ALIGN_UP(offset, MAX(type_align(types[i]), 1u));
		members[i] = (struct type_member){.name = arena_printf(l->arena, "%u", i),
						  .type = types[i],
						  .offset = offset};
		offset += types[i]->size;
	}
	*t = (struct type){.kind = TYPE_TUPLE,
			   .size = ALIGN_UP(offset, 8u),
			   .align = 8,
			   .is_complete = true,
			   .count = n,
			   .members = members};
	*ret_tail = tail != UINT32_MAX;
	return t;
}

u32 lower_action(struct lower *l, enum action_kind kind, const struct type *const *types,
		 u32 ntypes, struct span at)
{
	struct action a = {.kind = kind, .span = at};

	if (ntypes)
		a.payload = payload_type(l, types, ntypes, &a.has_tail);
	lower_output_map(l);
	vector_push(&l->script->actions, a);
	return (u32)l->script->actions.len - 1;
}

/* ---- sending ---- */

static u32 tail_member(const struct type *payload)
{
	u32 tail = 0;

	for (u32 i = 1; i < payload->count; i++)
		if (payload->members[i].offset > payload->members[tail].offset)
			tail = i;
	return tail;
}

/* ---- speculation ---- */

void lower_speculation_begin(struct lower *l)
{
	struct lower_private *p = lower_private(l);

	p->speculation = 0;
	if (!l->unit->speculates)
		return;
	p->speculation = ir_reg_new(l->f);
	ir_assign_const(l->f, p->speculation, 0);
}

void lower_speculation_set(struct lower *l, ir_reg id)
{
	const struct lower_private *p = lower_private(l);

	if (p->frame)
		ir_store(l->f, p->frame, FRAME_SPECULATION, 8, id);
	else
		ir_assign(l->f, p->speculation, id);
}

/* Only what is shown waits. */
static bool can_wait(enum action_kind kind)
{
	static const enum action_kind at_once[] = {
		ACTION_EXIT,	     ACTION_CLEAR,  ACTION_ZERO,       ACTION_TRUNC,
		ACTION_NORMALIZE,    ACTION_SORT,   ACTION_COMMIT,     ACTION_DISCARD,
		ACTION_HELPER_ERROR, ACTION_SYSTEM, ACTION_WATCHPOINT,
	};

	for (size_t i = 0; i < ARRAY_SIZE(at_once); i++)
		if (kind == at_once[i])
			return false;
	return true;
}

static void store_speculation(struct lower *l, ir_reg record, enum action_kind kind)
{
	const struct lower_private *p = lower_private(l);

	if (!l->unit->speculates || !can_wait(kind))
		ir_store_imm(l->f, record, 4, 4, 0);
	else
		ir_store(l->f, record, 4, 4,
			 p->frame ? ir_load(l->f, p->frame, FRAME_SPECULATION, 8, false)
				  : p->speculation);
}

static void store_members(struct lower *l, ir_reg record, const struct action *a,
			  const struct value *values, u32 n, u32 skip, struct span at)
{
	ir_store_imm(l->f, record, 0, 4, (s64)(a - l->script->actions.items));
	store_speculation(l, record, a->kind);
	for (u32 i = 0; i < n && a->payload && i < a->payload->count; i++)
		if (i != skip)
			lower_store_value(l, record, RECORD_HEADER + a->payload->members[i].offset,
					  a->payload->members[i].type, &values[i], at);
}

/* r cut to [0, max]; negative counts as `least`. */
static ir_reg bounded(struct lower *l, ir_reg r, u32 least, u32 max)
{
	struct ir_function *f = l->f;
	const u32 low = ir_block_new(f, "low"), look = ir_block_new(f, "look"),
		  high = ir_block_new(f, "high"), end = ir_block_new(f, "bounded");
	ir_reg n = ir_move(f, r);

	ir_branch_imm(f, IR_SLT, n, least, low, look);
	ir_switch_to(f, low);
	ir_assign_const(f, n, least);
	ir_jump(f, end);
	ir_switch_to(f, look);
	ir_branch_imm(f, IR_GT, n, max, high, end);
	ir_switch_to(f, high);
	ir_assign_const(f, n, max);
	ir_jump(f, end);
	ir_switch_to(f, end);
	return n;
}

/* Puts the used part of v at record + offset; returns its length, which the verifier knows to be at
 * most the type's. */
static ir_reg store_tail(struct lower *l, ir_reg record, s64 offset, const struct type *to,
			 const struct value *v, struct span at)
{
	struct ir_function *f = l->f;
	const enum address_space space =
		v->space == SPACE_USER || v->space == SPACE_UNKNOWN ? v->space : SPACE_KERNEL;
	const ir_reg from = lower_address(l, v->reg, v->constant);
	const u32 helper = BPF_FUNC_probe_read_kernel;
	const u32 max = MIN(to->size, v->type->size);
	ir_reg n;

	if (type_is(to, TYPE_BUFFER)) {
		const struct value local = lower_materialise(l, v, at);
		const ir_reg used = ir_load(f, local.reg, local.constant, 4, false);

		n = bounded(l, ir_binary_imm(f, IR_ADD, used, 4), 4, max);
		ir_call_n(f, helper, lower_address(l, record, offset), n,
			  lower_address(l, local.reg, local.constant));
		return n;
	}
	if (v->space == SPACE_BPF && v->length) {
		n = bounded(l, v->length, 1, max);
		ir_store_imm(f, record, offset, 1, 0);
		ir_call_n(f, helper, lower_address(l, record, offset), n, from);
		return n;
	}
	ir_store_imm(f, record, offset, 1, 0);
	if (v->space == SPACE_BPF && !v->is_zero_padded)
		n = lower_read_string(l, record, offset, max, from, space);
	else
		n = lower_read_chars(l, record, offset, max, from, space);
	return bounded(l, n, 1, max);
}

static void count_failure(struct lower *l, ir_reg result)
{
	const u32 lost = ir_block_new(l->f, "full"), end = ir_block_new(l->f, "sent");

	ir_branch_imm(l->f, IR_SLT, result, 0, lost, end);
	ir_switch_to(l->f, lost);
	lower_count_lost(l, LOST_EVENTS);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
}

/* Whether the reader is to be woken; it says so itself (engine/wakeup.h). */
static ir_reg wake_flags(struct lower *l)
{
	const u32 map = builtin_map(l->script, MAP_GLOBAL);

	l->script->maps.items[map].map_flags |= BPF_F_MMAPABLE;
	return builtin_global(l, offsetof(struct script_globals, wake_flags));
}

static void send_copy(struct lower *l, const struct action *a, const struct value *values, u32 n,
		      struct span at)
{
	struct ir_function *f = l->f;
	const u32 size = RECORD_HEADER + (a->payload ? a->payload->size : 0);
	const struct type room = {.kind = TYPE_ARRAY, .size = size};
	const u32 tail = a->has_tail ? tail_member(a->payload) : UINT32_MAX;
	ir_reg record, used, result;

	lower_slot(l, &room, "record", &record);
	/* No padding may show what was there before. */
	if (size <= INLINE_BYTES)
		lower_zero(l, record, 0, size);
	store_members(l, record, a, values, n, tail, at);
	if (a->has_tail) {
		const struct type_member *m = &a->payload->members[tail];

		used = store_tail(l, record, RECORD_HEADER + m->offset, m->type, &values[tail], at);
		used = ir_binary_imm(f, IR_ADD, used, RECORD_HEADER + m->offset);
	} else {
		used = ir_const(f, size);
	}
	result = ir_call_n(f, BPF_FUNC_ringbuf_output, ir_map(f, lower_output_map(l)), record, used,
			   wake_flags(l));
	count_failure(l, result);
}

/* Straight into the ring buffer. Nothing between reserve and submit may leave the program. */
static void send_in_place(struct lower *l, const struct action *a, const struct value *values,
			  u32 n, struct span at)
{
	struct ir_function *f = l->f;
	const u32 size = RECORD_HEADER + (a->payload ? a->payload->size : 0);
	const u32 room = ir_block_new(f, "room"), full = ir_block_new(f, "full"),
		  end = ir_block_new(f, "sent");
	const ir_reg record = ir_call_n(f, BPF_FUNC_ringbuf_reserve, ir_map(f, lower_output_map(l)),
					ir_const(f, size), ir_const(f, 0));

	ir_branch_imm(f, IR_NE, record, 0, room, full);
	ir_switch_to(f, full);
	lower_count_lost(l, LOST_EVENTS);
	ir_jump(f, end);
	ir_switch_to(f, room);
	store_members(l, record, a, values, n, UINT32_MAX, at);
	ir_call_n(f, BPF_FUNC_ringbuf_submit, record, wake_flags(l));
	ir_jump(f, end);
	ir_switch_to(f, end);
}

void lower_send(struct lower *l, u32 action, const struct value *values, u32 nvalues,
		struct span at)
{
	const struct action *a = &l->script->actions.items[action];
	struct value *local = arena_new_array(l->arena, struct value, nvalues + 1);

	/* Reads of foreign memory may branch; they come before the record is reserved. */
	for (u32 i = 0; i < nvalues; i++) {
		local[i] = values[i];
		if (values[i].kind == VALUE_MEMORY && type_is_scalar(values[i].type))
			local[i] = lower_fetch(l, &values[i]);
	}
	if (!a->has_tail)
		send_in_place(l, a, local, nvalues, at);
	else
		send_copy(l, a, local, nvalues, at);
}

void lower_runtime_error(struct lower *l, const char *message, struct span at)
{
	const u32 action = lower_action(l, ACTION_RUNTIME_ERROR, NULL, 0, at);

	l->script->actions.items[action].format.text = message;
	lower_send(l, action, NULL, 0, at);
}

void lower_helper_failed(struct lower *l, u32 helper, const struct value *result, struct span at)
{
	const struct type *types[] = {type_int(4, true)};
	u32 action;

	if (!l->check->options->report_helpers)
		return;
	action = lower_action(l, ACTION_HELPER_ERROR, types, 1, at);
	l->script->actions.items[action].helper = helper;
	lower_send(l, action, result, 1, at);
}

void lower_helper_error(struct lower *l, u32 helper, ir_reg result, struct span at)
{
	struct ir_function *f = l->f;
	struct value v = value_register(type_int(4, true), result);
	u32 failed, end;

	if (!l->check->options->report_helpers)
		return;
	failed = ir_block_new(f, "helper.failed");
	end = ir_block_new(f, "helper.done");
	ir_branch_imm(f, IR_SLT, result, 0, failed, end);
	ir_switch_to(f, failed);
	lower_helper_failed(l, helper, &v, at);
	ir_jump(f, end);
	ir_switch_to(f, end);
}
