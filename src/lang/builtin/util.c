/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/debug/unwind.h"
#include "lang/builtin/util.h"

const char *builtin_kind(const struct type *t)
{
	static const char *const names[TYPE_KIND_COUNT] = {
		[TYPE_NONE] = "none",
		[TYPE_VOID] = "void",
		[TYPE_INT] = "int",
		[TYPE_BOOL] = "bool",
		[TYPE_FLOAT] = "float",
		[TYPE_ENUM] = "enum",
		[TYPE_POINTER] = "pointer",
		[TYPE_ARRAY] = "array",
		[TYPE_STRUCT] = "struct",
		[TYPE_UNION] = "union",
		[TYPE_FUNCTION] = "function",
		[TYPE_STRING] = "string",
		[TYPE_BUFFER] = "buffer",
		[TYPE_TUPLE] = "tuple",
		[TYPE_RECORD] = "record",
		[TYPE_KSTACK] = "kstack",
		[TYPE_USTACK] = "ustack",
		[TYPE_KSYM] = "ksym_t",
		[TYPE_USYM] = "usym_t",
		[TYPE_INET] = "inet",
		[TYPE_MAC] = "mac_address",
		[TYPE_TIMESTAMP] = "timestamp",
		[TYPE_CGROUP_PATH] = "cgroup_path_t",
		[TYPE_USERNAME] = "username",
		[TYPE_COUNT] = "count_t",
		[TYPE_SUM] = "sum_t",
		[TYPE_MIN] = "min_t",
		[TYPE_MAX] = "max_t",
		[TYPE_AVG] = "avg_t",
		[TYPE_STATS] = "stats_t",
		[TYPE_HIST] = "hist_t",
		[TYPE_LHIST] = "lhist_t",
		[TYPE_LLHIST] = "llhist_t",
		[TYPE_STDDEV] = "stddev_t",
		[TYPE_TSERIES] = "tseries_t",
	};

	if (t->kind >= TYPE_KIND_COUNT || !names[t->kind])
		return "string"; /* names that are resolved at print time */
	return names[t->kind];
}

void builtin_set_integer(struct expr *call, const struct type *t, s64 value)
{
	call->type = t;
	call->is_comptime_known = true;
	call->integer = value;
}

void builtin_set_string(struct check *c, struct expr *call, const char *text, size_t len)
{
	call->string.data = arena_text(c->arena, text, len);
	call->string.len = len;
	call->type = type_string(c->types, len + 1);
	call->is_comptime_known = true;
}

void builtin_lower_literal(struct lower *l, struct expr *call, struct value *ret)
{
	struct expr *literal;

	if (call->type->kind != TYPE_STRING) {
		*ret = value_constant(call->type, call->integer);
		return;
	}
	literal = arena_new(l->arena, struct expr);
	literal->kind = EXPR_STRING;
	literal->span = call->span;
	literal->string.data = call->string.data;
	literal->string.len = call->string.len;
	literal->type = call->type;
	literal->is_comptime_known = true;
	lower_expr(l, literal, ret);
}

const char *builtin_literal(const struct expr *e)
{
	return e->string.data && (e->kind == EXPR_STRING || e->is_comptime_known) ? e->string.data
										  : NULL;
}

enum address_space builtin_space(const struct expr *e)
{
	if (e->type && e->type->kind == TYPE_POINTER && e->type->space != SPACE_UNKNOWN)
		return e->type->space;
	/*
	 * The space of a member is where the member itself is; it says nothing about an address in
	 * it (mm->arg_start).
	 */
	if (e->kind == EXPR_MEMBER || e->kind == EXPR_INDEX || e->kind == EXPR_UNARY)
		return SPACE_UNKNOWN;
	/* The space of an integer is only a hint; user space alone needs no check at run time. */
	return e->space == SPACE_USER || e->space == SPACE_KERNEL ? e->space : SPACE_UNKNOWN;
}

bool builtin_is_number(const struct type *t)
{
	return type_is_integer(t) || t->kind == TYPE_POINTER ||
	       (t->kind >= TYPE_COUNT && t->kind <= TYPE_AVG);
}

bool builtin_in_probe(struct check *c, struct expr *call)
{
	if (!c->unit || c->unit->subprogram) {
		check_error(c, call->span, "Builtin %s not supported outside probe",
			    call->builtin->name);
		return false;
	}
	return true;
}

static const struct {
	const char *name;
	u32 bpf_type, key_size, value_size, max_entries;
	bool is_percpu;
} internal_maps[] = {
	[MAP_GLOBAL] = {"global", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct script_globals), 1, false},
	[MAP_KSTACKS] = {"kstacks", BPF_MAP_TYPE_HASH, 8, 8, 65536, false},
	[MAP_USTACKS] = {"ustacks", BPF_MAP_TYPE_HASH, 8, 8, 65536, false},
	[MAP_PACKETS] = {"packets", BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 0, false},
	[MAP_UNWIND] = {"unwind", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct unwind_row), 1, false},
};

u32 builtin_map(struct script *s, enum map_role role)
{
	u32 *index = role == MAP_GLOBAL	   ? &s->global_map
		     : role == MAP_KSTACKS ? &s->kstack_map
		     : role == MAP_UNWIND  ? &s->unwind_map
		     : role == MAP_PACKETS ? &s->packet_map
					   : &s->ustack_map;
	struct script_map m = {
		.role = role,
		.name = internal_maps[role].name,
		.bpf_type = internal_maps[role].bpf_type,
		.key_size = internal_maps[role].key_size,
		.value_size = internal_maps[role].value_size,
		.max_entries = internal_maps[role].max_entries,
		.is_percpu = internal_maps[role].is_percpu,
	};

	if (*index != IR_NO_MAP)
		return *index;
	*index = s->maps.len;
	vector_push(&s->maps, m);
	return *index;
}

ir_reg builtin_spill(struct lower *l, ir_reg r, const char *label)
{
	ir_reg slot;

	lower_slot(l, type_int(8, false), label, &slot);
	ir_store(l->f, slot, 0, 8, r);
	return slot;
}

/* Address of the globals. */
static ir_reg globals(struct lower *l)
{
	const u32 map = builtin_map(l->script, MAP_GLOBAL);
	const ir_reg r = ir_reg_new(l->f);

	ir_add(l->f, (struct ir_insn){.op = IR_MAP_VALUE, .dst = r, .imm = map, .imm2 = 0});
	return r;
}

void builtin_global_set(struct lower *l, u32 offset, ir_reg value)
{
	ir_store(l->f, globals(l), offset, 8, value);
}

ir_reg builtin_global(struct lower *l, u32 offset)
{
	return ir_load(l->f, globals(l), offset, 8, false);
}

ir_reg builtin_bound(struct lower *l, ir_reg r, u64 max)
{
	const u32 cut = ir_block_new(l->f, "bound.cut"), end = ir_block_new(l->f, "bound.end");
	ir_reg bounded = ir_move(l->f, r);

	ir_branch_imm(l->f, IR_GT, bounded, max, cut, end);
	ir_switch_to(l->f, cut);
	ir_assign_const(l->f, bounded, max);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return bounded;
}

ir_reg builtin_test(struct lower *l, enum ir_cond cond, ir_reg a, s64 imm)
{
	const u32 yes = ir_block_new(l->f, "test.yes"), end = ir_block_new(l->f, "test.end");
	ir_reg result = ir_reg_new(l->f);

	/*
	 * The operand may be the register that the caller uses for the result: it is copied before
	 * that is set.
	 */
	a = ir_move(l->f, a);
	ir_assign_const(l->f, result, 0);
	ir_branch_imm(l->f, cond, a, imm, yes, end);
	ir_switch_to(l->f, yes);
	ir_assign_const(l->f, result, 1);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return result;
}

ir_reg builtin_address(struct lower *l, const struct value *v)
{
	return v->constant ? ir_binary_imm(l->f, IR_ADD, v->reg, v->constant) : v->reg;
}

bool builtin_member(struct check *c, const char *structure, const char *member,
		    const struct type **ret_type, u32 *ret_offset)
{
	const struct type *t = type_named(c->types, structure);
	const struct type_member *m;

	if (!t || type_complete(c->types, t))
		return false;
	m = type_find_member(c->types, t, member, ret_offset);
	if (!m)
		return false;
	*ret_type = m->type;
	return true;
}
