/* SPDX-License-Identifier: GPL-2.0-or-later */
/* str_concat(): a new string from two. */
#include "lang/builtin/util.h"
#include "lang/lower/internal.h"

static void check_concat(struct check *c, struct expr *call)
{
	/* Of one size whatever the parts are, so that $s = str_concat($s, "x") keeps its type. */
	call->type = type_string(c->types, (u32)c->script->config.max_strlen);
	for (u32 i = 0; i < 2; i++)
		if (check_known(c, call->args[i]) && call->args[i]->type->kind != TYPE_STRING)
			check_error(c, call->span,
				    "str_concat() only supports string arguments (%s provided)",
				    type_str(c->arena, call->args[i]->type));
}

/*
 * Reads a string to dst, which has room for one byte more than its type, as char arrays may have no
 * NUL. Returns the bytes before the NUL, at most max.
 */
static ir_reg append(struct lower *l, ir_reg dst, struct expr *e, u32 max)
{
	struct value v, m;
	ir_reg n;

	lower_expr(l, e, &v);
	m = lower_materialise(l, &v, e->span);
	n = lower_read_string(l, dst, 0, MIN(m.type->size, max) + 1, builtin_address(l, &m),
			      SPACE_KERNEL);
	return builtin_bound(l, ir_binary_imm(l->f, IR_SUB, n, 1), max);
}

static void lower_concat(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 size = call->type->size;
	/*
	 * The second string is written in full after the first; what exceeds size is cut off
	 * afterwards.
	 */
	const u32 room = ALIGN_UP(2 * size, 8u);
	const u32 slot = ir_slot(l->f, room, 8, "concat");
	ir_reg used, length;

	lower_zero(l, ir_slot_address(l->f, slot), 0, room);
	used = ir_move(l->f, append(l, ir_slot_address(l->f, slot), call->args[0], size - 1));
	length = append(l, ir_binary(l->f, IR_ADD, ir_slot_address(l->f, slot), used),
			call->args[1], size - 1);
	length = builtin_bound(l, ir_binary(l->f, IR_ADD, used, length), size - 1);
	ir_store_imm(l->f, ir_slot_address(l->f, slot), size - 1, 1, 0);
	*ret = value_memory(call->type, ir_slot_address(l->f, slot), 0, SPACE_BPF);
	ret->is_zero_padded = true;
	ret->length = ir_binary_imm(l->f, IR_ADD, length, 1);
}

const struct builtin builtins_concat[] = {
	{"str_concat", "string str_concat(string s1, string s2)",
	 "Both strings as one, cut to max_strlen.", "", BUILTIN_CALL, 2, 2, check_concat,
	 lower_concat},
	{0},
};
