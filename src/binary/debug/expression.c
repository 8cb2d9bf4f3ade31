/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Translates DWARF expressions (DWARF 5, 2.5 and 2.6): operations build a tree
 * (expression_tree.h), which at the end becomes steps. An expression with any operation that is not
 * understood is refused.
 */
#include <dwarf.h>

#include "binary/debug/expression_tree.h"
#include "binary/debug/unwind.h"
#include "binary/elf/internal.h"

enum { MAX_OPERATIONS = 256, MAX_NESTING = 4 };

struct translator {
	struct expression_tree tree;
	const struct access_site *site;
	Dwarf_Attribute *attribute; /* that the operations are of */
	enum access_result result;
	u64 pieces; /* bytes of the result that pieces were put together to; 0 = there were none */
	u32 nesting;
};

/* ---- what an expression refers to ---- */

static bool run(struct translator *t, Dwarf_Attribute *attribute, const Dwarf_Op *ops, size_t n);

static bool push_cfa(struct translator *t)
{
	struct unwind_row row;

	if (unwind_cfa_at(t->site->file, t->site->address, &row))
		return tree_fail(&t->tree,
				 "it lies in the function's frame, and no call frame information "
				 "says where that is here");
	if (row.kind == UNWIND_SP)
		return tree_push_register(&t->tree, 7, row.cfa_offset);
	if (!tree_push_register(&t->tree, 6, row.cfa_offset))
		return false;
	return row.kind == UNWIND_BP || tree_deref(&t->tree, TREE_WORD, (struct number_type){0});
}

/* A frame base in the frame pointer counts while that points to the frame. */
static bool is_frame_pointer_set(const struct translator *t)
{
	struct unwind_row row;

	return unwind_cfa_at(t->site->file, t->site->address, &row) || row.kind != UNWIND_SP;
}

static bool push_frame_base(struct translator *t, s64 offset)
{
	const struct access_site *s = t->site;
	Dwarf_Attribute a;
	Dwarf_Die function = s->function;
	Dwarf_Op *ops;
	size_t n;

	if (!function.addr || ++t->nesting > MAX_NESTING)
		return tree_fail(&t->tree, "its location is damaged");
	if (!dwarf_attr_integrate(&function, DW_AT_frame_base, &a) ||
	    dwarf_getlocation_addr(&a, s->address, &ops, &n, 1) != 1 || !n)
		return tree_fail(&t->tree,
				 "it lies in the function's frame, and the debug information does "
				 "not say where that is");
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
		if (ops[0].atom == DW_OP_reg6 && !is_frame_pointer_set(t))
			return tree_fail(&t->tree,
					 "it lies in the function's frame, and the frame pointer "
					 "does not point there here");
		return tree_push_register(&t->tree, ops[0].atom - DW_OP_reg0, offset);
	}
	if (!run(t, &a, ops, n))
		return false;
	return tree_push(&t->tree, tree_add_constant(&t->tree, tree_pop(&t->tree), offset));
}

/* The value that a register (or what is made of it) had when the function was entered. */
static bool push_entry_value(struct translator *t, const Dwarf_Op *op)
{
	Dwarf_Attribute a;
	Dwarf_Op *ops;
	size_t n;

	if (++t->nesting > MAX_NESTING || dwarf_getlocation_attr(t->attribute, op, &a) ||
	    dwarf_getlocation(&a, &ops, &n) || !n)
		return tree_fail(&t->tree, "its location is damaged");
	if (t->site->address != t->site->entry && t->site->from_caller && n == 1 &&
	    ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return tree_push_entered(&t->tree, ops[0].atom - DW_OP_reg0);
	if (t->site->address != t->site->entry)
		return tree_fail(&t->tree,
				 "it is what the caller passed, which nothing holds any more here; "
				 "it can be read where the function begins");
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return tree_push_register(&t->tree, ops[0].atom - DW_OP_reg0, 0);
	if (n == 1 && ops[0].atom == DW_OP_regx)
		return tree_push_register(&t->tree, ops[0].number, 0);
	return run(t, &a, ops, n);
}

static bool push_indexed(struct translator *t, const Dwarf_Op *op)
{
	Dwarf_Attribute a;
	Dwarf_Addr address;
	Dwarf_Word value;

	if (dwarf_getlocation_attr(t->attribute, op, &a))
		return tree_fail(&t->tree, "its location is damaged");
	if (op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index)
		return dwarf_formaddr(&a, &address) ? tree_fail(&t->tree, "its location is damaged")
						    : tree_push_address(&t->tree, address);
	return dwarf_formudata(&a, &value)
		       ? tree_fail(&t->tree, "its location is damaged")
		       : tree_push(&t->tree, tree_constant(&t->tree, (s64)value));
}

/* Up to 8 bytes, as they lie in memory. */
bool access_bytes(const u8 *data, u64 n, s64 *ret)
{
	if (!data || !n || n > TREE_WORD)
		return false;
	*ret = 0;
	memcpy(ret, data, n);
	return true;
}

static bool push_block(struct translator *t, const Dwarf_Op *op)
{
	Dwarf_Block block;
	s64 value;

	if (dwarf_getlocation_implicit_value(t->attribute, op, &block) ||
	    !access_bytes(block.data, block.length, &value))
		return tree_fail(
			&t->tree,
			"it is a constant of more than 8 bytes, which is nowhere in memory");
	return tree_push(&t->tree, tree_constant(&t->tree, value));
}

static bool type_of(struct translator *t, const Dwarf_Op *op, struct number_type *ret)
{
	Dwarf_Attribute a;
	Dwarf_Word size, encoding;
	Dwarf_Die die;

	if (dwarf_getlocation_die(t->attribute, op, &die) ||
	    !dwarf_attr_integrate(&die, DW_AT_byte_size, &a) || dwarf_formudata(&a, &size) ||
	    !dwarf_attr_integrate(&die, DW_AT_encoding, &a) || dwarf_formudata(&a, &encoding))
		return tree_fail(&t->tree, "its location is damaged");
	if (encoding == DW_ATE_float || encoding == DW_ATE_complex_float || size > TREE_WORD)
		return tree_fail(&t->tree, "it is computed with floating-point numbers");
	*ret = (struct number_type){(u8)size,
				    encoding == DW_ATE_signed || encoding == DW_ATE_signed_char};
	return true;
}

/* ---- operations ---- */

static bool typed(struct translator *t, const Dwarf_Op *op)
{
	struct number_type type = {0};

	if (((op->atom != DW_OP_convert && op->atom != DW_OP_GNU_convert &&
	      op->atom != DW_OP_reinterpret && op->atom != DW_OP_GNU_reinterpret) ||
	     op->number) &&
	    !type_of(t, op, &type))
		return false;
	switch (op->atom) {
	case DW_OP_regval_type:
	case DW_OP_GNU_regval_type:
		return tree_push_register(&t->tree, op->number, 0) &&
		       tree_push(&t->tree, tree_as_type(&t->tree, tree_pop(&t->tree), type));
	case DW_OP_deref_type:
	case DW_OP_GNU_deref_type:
		return tree_deref(&t->tree, op->number, type);
	case DW_OP_const_type:
	case DW_OP_GNU_const_type:
		return push_block(t, op) &&
		       tree_push(&t->tree, tree_as_type(&t->tree, tree_pop(&t->tree), type));
	default:
		return tree_push(&t->tree, tree_as_type(&t->tree, tree_pop(&t->tree), type));
	}
}

static const struct {
	u8 atom, op;
} unaries[] = {{DW_OP_neg, ACCESS_NEGATE}, {DW_OP_not, ACCESS_NOT}},
  binaries[] = {
	  {DW_OP_plus, ACCESS_PLUS},
	  {DW_OP_minus, ACCESS_MINUS},
	  {DW_OP_mul, ACCESS_TIMES},
	  {DW_OP_and, ACCESS_AND},
	  {DW_OP_or, ACCESS_OR},
	  {DW_OP_xor, ACCESS_XOR},
	  {DW_OP_shl, ACCESS_SHIFT_LEFT},
	  {DW_OP_shr, ACCESS_SHIFT_RIGHT},
	  {DW_OP_shra, ACCESS_SHIFT_SIGNED},
	  {DW_OP_eq, ACCESS_EQUAL},
	  {DW_OP_ne, ACCESS_NOT_EQUAL},
	  {DW_OP_lt, ACCESS_LESS},
	  {DW_OP_le, ACCESS_LESS_EQUAL},
	  {DW_OP_gt, ACCESS_GREATER},
	  {DW_OP_ge, ACCESS_GREATER_EQUAL},
};

/* Why an operation that nothing else knows is refused. */
static const char *refusal(u8 atom)
{
	switch (atom) {
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		return "it is thread-local, and the kernel does not know where a thread's copy is";
	case DW_OP_piece:
	case DW_OP_bit_piece:
		return "it is kept in pieces, in several registers or places";
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		return "it points to something that was optimised away, so it is no address";
	default:
		return "its location is too complicated";
	}
}

/* Operations that push a number. 1: done, 0: it is none of these, -1: failed. */
static int push_number(struct translator *t, const Dwarf_Op *op)
{
	const u8 atom = op->atom;
	bool good;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		good = tree_push(&t->tree, tree_constant(&t->tree, atom - DW_OP_lit0));
	else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		good = tree_push_register(&t->tree, atom - DW_OP_breg0, (s64)op->number);
	else if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
		good = tree_push(&t->tree, tree_constant(&t->tree, (s64)op->number));
	else
		switch (atom) {
		case DW_OP_bregx:
			good = tree_push_register(&t->tree, op->number, (s64)op->number2);
			break;
		case DW_OP_addr:
			good = tree_push_address(&t->tree, op->number);
			break;
		case DW_OP_addrx:
		case DW_OP_GNU_addr_index:
		case DW_OP_constx:
		case DW_OP_GNU_const_index:
			good = push_indexed(t, op);
			break;
		case DW_OP_fbreg:
			good = push_frame_base(t, (s64)op->number);
			break;
		case DW_OP_call_frame_cfa:
			good = push_cfa(t);
			break;
		case DW_OP_entry_value:
		case DW_OP_GNU_entry_value:
			good = push_entry_value(t, op);
			break;
		default:
			return 0;
		}
	return good && !t->tree.reason ? 1 : -1;
}

static bool operate(struct translator *t, const Dwarf_Op *op)
{
	const int pushed = push_number(t, op);

	if (pushed)
		return pushed > 0;
	for (size_t i = 0; i < ARRAY_SIZE(binaries); i++)
		if (binaries[i].atom == op->atom)
			return tree_binary(&t->tree, binaries[i].op);
	for (size_t i = 0; i < ARRAY_SIZE(unaries); i++)
		if (unaries[i].atom == op->atom)
			return tree_unary(&t->tree, unaries[i].op);
	switch (op->atom) {
	case DW_OP_nop:
		return true;
	case DW_OP_dup:
		return tree_pick(&t->tree, 0);
	case DW_OP_over:
		return tree_pick(&t->tree, 1);
	case DW_OP_pick:
		return tree_pick(&t->tree, op->number);
	case DW_OP_drop:
		tree_pop(&t->tree);
		return !t->tree.reason;
	case DW_OP_swap:
		return tree_rotate(&t->tree, 2);
	case DW_OP_rot:
		return tree_rotate(&t->tree, 3);
	case DW_OP_plus_uconst:
		return tree_push(&t->tree,
				 tree_add_constant(&t->tree, tree_pop(&t->tree), (s64)op->number));
	case DW_OP_deref:
		return tree_deref(&t->tree, TREE_WORD, (struct number_type){0});
	case DW_OP_deref_size:
		return tree_deref(&t->tree, op->number, (struct number_type){0});
	case DW_OP_regval_type:
	case DW_OP_GNU_regval_type:
	case DW_OP_deref_type:
	case DW_OP_GNU_deref_type:
	case DW_OP_const_type:
	case DW_OP_GNU_const_type:
	case DW_OP_convert:
	case DW_OP_GNU_convert:
	case DW_OP_reinterpret:
	case DW_OP_GNU_reinterpret:
		return typed(t, op);
	default:
		return tree_fail(&t->tree, refusal(op->atom));
	}
}

/* What pushes a value is the whole location; the reading of a place may be part of one. */
static bool is_register(const Dwarf_Op *op, u64 *ret)
{
	if (op->atom == DW_OP_regx)
		*ret = op->number;
	else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		*ret = (u64)op->atom - DW_OP_reg0;
	else
		return false;
	return true;
}

/*
 * What was pushed is one piece of a value. Pieces that make up to 8 bytes are put together into one
 * number, whose lowest bytes are the first piece.
 */
static bool add_piece(struct translator *t, u64 size, bool is_value, u32 depth, u64 *bytes)
{
	const u64 at = *bytes;
	u16 n;

	if (t->tree.depth == depth + (at != 0))
		return tree_fail(&t->tree, "a part of it is optimised out");
	if (at + size > TREE_WORD)
		return tree_fail(&t->tree, refusal(DW_OP_piece));
	if (!is_value && !tree_deref(&t->tree, size, (struct number_type){0}))
		return false;
	n = tree_as_type(&t->tree, tree_pop(&t->tree), (struct number_type){(u8)size, false});
	if (size != 1 && size != 2 && size != 4 && size != TREE_WORD)
		return tree_fail(&t->tree, refusal(DW_OP_piece));
	*bytes += size;
	if (!at)
		return tree_push(&t->tree, n);
	t->tree.nodes[n].type = (struct number_type){0};
	return tree_push(&t->tree, n) &&
	       tree_push(&t->tree, tree_constant(&t->tree, (s64)at * 8)) &&
	       tree_binary(&t->tree, ACCESS_SHIFT_LEFT) && tree_binary(&t->tree, ACCESS_OR);
}

/* Leaves one more number on the stack; t->result says what it is. */
static bool run(struct translator *t, Dwarf_Attribute *attribute, const Dwarf_Op *ops, size_t n)
{
	Dwarf_Attribute *const outer = t->attribute;
	const u32 depth = t->tree.depth;
	bool is_value = false;
	u64 number, pieces = 0; /* bytes that have been put together */

	if (n > MAX_OPERATIONS)
		return tree_fail(&t->tree, "its location is too complicated");
	t->attribute = attribute;
	for (size_t i = 0; i < n && !t->tree.reason; i++) {
		if (ops[i].atom == DW_OP_piece) {
			add_piece(t, ops[i].number, is_value, depth, &pieces);
			is_value = false;
			continue;
		}
		/* A complete description: nothing but pieces may follow. */
		if (is_value)
			return tree_fail(&t->tree, refusal(ops[i].atom));
		if (ops[i].atom == DW_OP_stack_value) {
			is_value = true;
		} else if (ops[i].atom == DW_OP_implicit_value) {
			is_value = push_block(t, &ops[i]);
		} else if (is_register(&ops[i], &number)) {
			is_value = tree_push_register(&t->tree, number, 0);
		} else {
			operate(t, &ops[i]);
		}
	}
	t->attribute = outer;
	t->result = is_value || pieces ? ACCESS_VALUE : ACCESS_PLACE;
	t->pieces = pieces;
	if (pieces && t->tree.depth != depth + 1)
		tree_fail(&t->tree, "its location is damaged");
	if (!t->tree.reason && t->tree.depth <= depth)
		tree_fail(&t->tree, "its location is damaged");
	return !t->tree.reason;
}

/* ---- results ---- */

struct access access_translate(const struct access_site *s, Dwarf_Attribute *a, const Dwarf_Op *ops,
			       size_t n, u64 size)
{
	struct translator t = {.site = s};
	struct access ret = {0};
	u16 top;

	if (!run(&t, a, ops, n))
		return access_refuse(t.tree.reason);
	if (t.pieces && t.pieces < size)
		return access_refuse("a part of it is optimised out");
	top = t.tree.stack[t.tree.depth - 1];
	/* Of a value only the bytes of its type count. */
	while (t.result == ACCESS_VALUE && t.tree.nodes[top].step.op == ACCESS_EXTEND &&
	       t.tree.nodes[top].step.size >= size)
		top = t.tree.nodes[top].a;
	if (!tree_write(&t.tree, top, s->arena, &ret))
		return access_refuse("its location is too complicated");
	ret.result = t.result;
	return ret;
}
