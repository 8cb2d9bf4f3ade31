/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Speculation: records that are held back until it is known whether they matter. Also what removes
 * thread-local variables.
 */
#include "lang/builtin/util.h"
#include "lang/lower/internal.h"
#include "lang/check/thread_local.h"

/* ---- speculation ---- */

static void check_speculation(struct check *c, struct expr *call)
{
	call->type = type_int(8, false);
	if (!c->options->features.atomic_fetch)
		check_error(c, call->span,
			    "Missing required kernel feature: atomic fetch-and-add (Linux 5.12)");
}

/* The next id: 1, 2, ... */
static void lower_speculation(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 map = builtin_map(l->script, MAP_GLOBAL);
	const u32 found = ir_block_new(l->f, "speculation"),
		  end = ir_block_new(l->f, "speculation.end");
	const ir_reg id = ir_reg_new(l->f), old = ir_reg_new(l->f);
	const ir_reg key = builtin_spill(l, ir_const(l->f, 0), "index");
	const ir_reg element = ir_call_n(l->f, BPF_FUNC_map_lookup_elem, ir_map(l->f, map), key);

	ir_assign_const(l->f, id, 0);
	ir_branch_imm(l->f, IR_NE, element, 0, found, end);
	ir_switch_to(l->f, found);
	ir_add(l->f, (struct ir_insn){.op = IR_ATOMIC_ADD,
				      .size = 8,
				      .dst = old,
				      .a = element,
				      .imm = offsetof(struct script_globals, speculations),
				      .b = ir_const(l->f, 1)});
	ir_assign(l->f, id, ir_binary_imm(l->f, IR_ADD, old, 1));
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	*ret = value_register(call->type, id);
}

/* ---- speculate ---- */

static void check_id(struct check *c, struct expr *call)
{
	call->type = type_none();
	if (str_eq(call->builtin->name, "speculate"))
		c->unit->speculates = true;
	if (check_known(c, call->args[0]))
		check_arg_integer(c, call, 0);
}

static void lower_speculate(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 none = ir_block_new(l->f, "speculate.none"),
		  end = ir_block_new(l->f, "speculate");
	const ir_reg id = ir_move(l->f, lower_scalar(l, call->args[0]));

	ir_branch_imm(l->f, IR_EQ, id, 0, none, end);
	ir_switch_to(l->f, none);
	ir_assign_const(l->f, id, SPECULATION_NONE);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	lower_speculation_set(l, id);
	*ret = (struct value){0};
}

static void lower_decide(struct lower *l, struct expr *call, struct value *ret)
{
	const bool commits = str_eq(call->builtin->name, "commit");
	const struct type *types[] = {type_int(8, false)};
	const struct value value = value_register(types[0], lower_scalar(l, call->args[0]));
	const u32 action =
		lower_action(l, commits ? ACTION_COMMIT : ACTION_DISCARD, types, 1, call->span);

	lower_send(l, action, &value, 1, call->span);
	*ret = (struct value){0};
}

/* ---- __forget(self.x, ...): what thread_local.c calls ---- */

static void check_forget(struct check *c, struct expr *call)
{
	call->type = type_none();
	for (u32 i = 0; i < call->nargs; i++) {
		struct expr *e = call->args[i];
		struct map_symbol *m;

		if (e->kind != EXPR_INDEX || e->left->kind != EXPR_MAP) {
			check_error(c, e->span, "__forget() expects thread-local variables");
			continue;
		}
		m = e->map = check_map_symbol(c, e->left->name, e->left->span);
		m->declared_size = THREAD_LOCAL_MAX;
		for (u32 k = 0; k < e->nargs; k++)
			check_expr(c, e->args[k]);
		check_map_key(c, m, e->args, e->nargs, e->span);
		if (m->value && type_is_aggregation(m->value))
			check_error(c, e->span, "%s cannot hold an aggregation: it is not printed",
				    m->name);
	}
}

static void lower_forget(struct lower *l, struct expr *call, struct value *ret)
{
	for (u32 i = 0; i < call->nargs; i++) {
		struct expr *e = call->args[i];

		/* the probe that sets it may match nothing: then there is no map */
		if (!e->map->value || !e->map->key)
			continue;
		lower_map_delete(l, e->map, lower_map_key(l, e->map, e->args, e->nargs, e->span));
	}
	*ret = (struct value){0};
}

#define STATEMENT (BUILTIN_CALL | BUILTIN_STATEMENT)

const struct builtin builtins_speculate[] = {
	{"speculation", "uint64 speculation()",
	 "A new speculation: an id, never 0, for speculate(), commit() and discard().", "5.12",
	 BUILTIN_CALL, 0, 0, check_speculation, lower_speculation},
	{"speculate", "void speculate(uint64 id)",
	 "From here on this probe's output is held back under the id until commit(id) or "
	 "discard(id). Changes of maps, exit() and system() are not; without an id (0) the output "
	 "is dropped.",
	 "", STATEMENT, 1, 1, check_id, lower_speculate},
	{"commit", "void commit(uint64 id)",
	 "Prints what is held back under the id, in the order in which it happened.", "", STATEMENT,
	 1, 1, check_id, lower_decide},
	{"discard", "void discard(uint64 id)", "Drops what is held back under the id.", "",
	 STATEMENT, 1, 1, check_id, lower_decide},
	{"__forget", "void __forget(self.x, ...)", "Deletes thread-local variables.", "",
	 STATEMENT | BUILTIN_RAW_ARGS, 1, 255, check_forget, lower_forget},
	{0},
};
