/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A DWARF expression (DWARF 5, 2.5 and 2.6) is evaluated with unknowns: each number on its stack is
 * a node of a tree over registers, constants and memory, which at the end is written as steps.
 * Constants are folded, so that what compilers write for "8 bytes above that" is a chain. What is
 * not understood to the last operation is refused.
 */
#include "binary/debug/access.h"

#include <dwarf.h>

#include "arch/arch.h"
#include "binary/debug/unwind.h"
#include "binary/elf/internal.h"

enum { MAX_NODES = 128, MAX_OPERATIONS = 256, MAX_NESTING = 4, WORD = 8 };

/* Names of the DWARF registers (System V ABI of each machine). */
static const char *const dwarf_registers[] = {
#if defined(__x86_64__)
	"ax", "dx",  "cx",  "bx",  "si",  "di",	 "bp",	"sp", "r8",
	"r9", "r10", "r11", "r12", "r13", "r14", "r15", "ip",
#endif
};
enum { FIRST_FLOAT = 17, LAST_FLOAT = 40 }; /* xmm0 to 15, st0 to 7 */

/* A base type of an operation; size 0 = the generic type, 64 bits without a sign. */
struct number_type {
	u8 size;
	bool is_signed;
};

struct node {
	struct access_step step;
	u16 a, b; /* operands of step.op, as it has them */
	u32 steps; /* that the tree under it takes */
	struct number_type type;
};

struct translator {
	const struct access_site *site;
	Dwarf_Attribute *attribute; /* that the operations are of */
	struct node nodes[MAX_NODES];
	u32 count;
	u16 stack[ACCESS_MAX_STACK];
	u32 depth;
	enum access_result result;
	u64 pieces; /* bytes of the result that pieces were put together to; 0 = there were none */
	const char *reason; /* not NULL: it has failed */
	u32 nesting;
};

/* ---- nodes ---- */

static bool is_binary(u8 op)
{
	return op >= ACCESS_PLUS;
}

static bool is_leaf(u8 op)
{
	return op <= ACCESS_STATIC;
}

static bool fail(struct translator *t, const char *reason)
{
	if (!t->reason)
		t->reason = reason;
	return false;
}

static bool push(struct translator *t, u16 n)
{
	if (t->depth == ACCESS_MAX_STACK)
		return fail(t, "its location is too complicated");
	t->stack[t->depth++] = n;
	return true;
}

static u16 pop(struct translator *t)
{
	if (t->depth)
		return t->stack[--t->depth];
	fail(t, "its location is damaged");
	return 0;
}

static u16 add_node(struct translator *t, const struct node *n)
{
	struct node copy = *n;

	copy.steps = 1;
	if (!is_leaf(n->step.op))
		copy.steps += t->nodes[n->a].steps;
	if (is_binary(n->step.op))
		copy.steps += t->nodes[n->b].steps;
	if (t->count == MAX_NODES || copy.steps > ACCESS_MAX_STEPS) {
		fail(t, "its location is too complicated");
		return 0;
	}
	t->nodes[t->count] = copy;
	return (u16)t->count++;
}

static u16 constant(struct translator *t, s64 value)
{
	return add_node(t, &(struct node){.step = {.op = ACCESS_CONSTANT, .value = value}});
}

static u16 add_constant(struct translator *t, u16 a, s64 value)
{
	const struct node *n = &t->nodes[a];
	struct node sum;

	if (!value)
		return a;
	if (n->step.op == ACCESS_CONSTANT || n->step.op == ACCESS_STATIC ||
	    n->step.op == ACCESS_ADD) {
		sum = *n;
		sum.step.value = (s64)((u64)sum.step.value + (u64)value);
		return add_node(t, &sum);
	}
	return add_node(t, &(struct node){.step = {.op = ACCESS_ADD, .value = value}, .a = a});
}

/* The result of an operation, or a number, as its type has it. */
static u16 as_type(struct translator *t, u16 a, struct number_type type)
{
	struct node n = t->nodes[a];

	if (type.size && type.size < WORD) {
		if (n.step.op == ACCESS_CONSTANT) {
			const u32 shift = 64 - 8 * type.size;
			const u64 v = (u64)n.step.value << shift;

			n.step.value = type.is_signed ? (s64)v >> shift : (s64)(v >> shift);
		} else {
			n = (struct node){.step = {.op = ACCESS_EXTEND,
						   .size = type.size,
						   .is_signed = type.is_signed},
					  .a = a};
		}
	}
	n.type = type;
	return add_node(t, &n);
}

/* A mask of the lowest bytes. 0: it is none. */
static u8 bytes_of_mask(s64 mask)
{
	return mask == UINT8_MAX    ? 1
	       : mask == UINT16_MAX ? 2
	       : mask == UINT32_MAX ? 4
	       : mask == -1	    ? WORD
				    : 0;
}

static const struct arch_register *machine_register(u64 number)
{
	return number < ARRAY_SIZE(dwarf_registers) ? arch_register_find(dwarf_registers[number])
						    : NULL;
}

static bool push_register(struct translator *t, u64 number, s64 offset)
{
	const struct arch_register *r = machine_register(number);
	u16 n;

	if (!r && number >= FIRST_FLOAT && number <= LAST_FLOAT)
		return fail(t, "it is in a floating-point register, which programs of the kernel "
			       "cannot read");
	if (!r)
		return fail(t, "it is in a register that the kernel does not save");
	n = add_node(
		t,
		&(struct node){.step = {.op = ACCESS_REGISTER, .size = WORD, .offset = r->offset}});
	return push(t, add_constant(t, n, offset));
}

/* ---- what an expression refers to ---- */

static bool run(struct translator *t, Dwarf_Attribute *attribute, const Dwarf_Op *ops, size_t n);

static bool push_cfa(struct translator *t)
{
	struct unwind_row row;

	if (unwind_cfa_at(t->site->file, t->site->address, &row))
		return fail(t, "it lies in the function's frame, and no call frame information "
			       "says where that is here");
	if (row.kind == UNWIND_SP)
		return push_register(t, 7, row.cfa_offset);
	if (!push_register(t, 6, row.cfa_offset))
		return false;
	if (row.kind == UNWIND_BP)
		return true;
	return push(t, add_node(t, &(struct node){.step = {.op = ACCESS_DEREF, .size = WORD},
						  .a = pop(t)}));
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
		return fail(t, "its location is damaged");
	if (!dwarf_attr_integrate(&function, DW_AT_frame_base, &a) ||
	    dwarf_getlocation_addr(&a, s->address, &ops, &n, 1) != 1 || !n)
		return fail(t, "it lies in the function's frame, and the debug information does "
			       "not say where that is");
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
		if (ops[0].atom == DW_OP_reg6 && !is_frame_pointer_set(t))
			return fail(t, "it lies in the function's frame, and the frame pointer "
				       "does not point there here");
		return push_register(t, ops[0].atom - DW_OP_reg0, offset);
	}
	if (!run(t, &a, ops, n))
		return false;
	return push(t, add_constant(t, pop(t), offset));
}

/* The value that a register (or what is made of it) had when the function was entered. */
static bool push_entry_value(struct translator *t, const Dwarf_Op *op)
{
	Dwarf_Attribute a;
	Dwarf_Op *ops;
	size_t n;

	if (++t->nesting > MAX_NESTING || dwarf_getlocation_attr(t->attribute, op, &a) ||
	    dwarf_getlocation(&a, &ops, &n) || !n)
		return fail(t, "its location is damaged");
	if (t->site->address != t->site->entry)
		return fail(t, "it is what the caller passed, which nothing holds any more here; "
			       "it can be read where the function begins");
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return push_register(t, ops[0].atom - DW_OP_reg0, 0);
	if (n == 1 && ops[0].atom == DW_OP_regx)
		return push_register(t, ops[0].number, 0);
	return run(t, &a, ops, n);
}

static bool push_address(struct translator *t, u64 address)
{
	return push(t, add_node(t, &(struct node){
					   .step = {.op = ACCESS_STATIC, .value = (s64)address}}));
}

static bool push_indexed(struct translator *t, const Dwarf_Op *op)
{
	Dwarf_Attribute a;
	Dwarf_Addr address;
	Dwarf_Word value;

	if (dwarf_getlocation_attr(t->attribute, op, &a))
		return fail(t, "its location is damaged");
	if (op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index)
		return dwarf_formaddr(&a, &address) ? fail(t, "its location is damaged")
						    : push_address(t, address);
	return dwarf_formudata(&a, &value) ? fail(t, "its location is damaged")
					   : push(t, constant(t, (s64)value));
}

/* Up to 8 bytes, as they lie in memory. */
bool access_bytes(const u8 *data, u64 n, s64 *ret)
{
	if (!data || !n || n > WORD)
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
		return fail(t, "it is a constant of more than 8 bytes, which is nowhere in memory");
	return push(t, constant(t, value));
}

static bool type_of(struct translator *t, const Dwarf_Op *op, struct number_type *ret)
{
	Dwarf_Attribute a;
	Dwarf_Word size, encoding;
	Dwarf_Die die;

	if (dwarf_getlocation_die(t->attribute, op, &die) ||
	    !dwarf_attr_integrate(&die, DW_AT_byte_size, &a) || dwarf_formudata(&a, &size) ||
	    !dwarf_attr_integrate(&die, DW_AT_encoding, &a) || dwarf_formudata(&a, &encoding))
		return fail(t, "its location is damaged");
	if (encoding == DW_ATE_float || encoding == DW_ATE_complex_float || size > WORD)
		return fail(t, "it is computed with floating-point numbers");
	*ret = (struct number_type){(u8)size,
				    encoding == DW_ATE_signed || encoding == DW_ATE_signed_char};
	return true;
}

/* ---- operations ---- */

/* Of constants. False: it is none of these. */
static bool fold(u8 op, s64 a, s64 b, s64 *ret)
{
	const u64 x = (u64)a, y = (u64)b;

	switch (op) {
	case ACCESS_PLUS:
		*ret = (s64)(x + y);
		return true;
	case ACCESS_MINUS:
		*ret = (s64)(x - y);
		return true;
	case ACCESS_TIMES:
		*ret = (s64)(x * y);
		return true;
	case ACCESS_AND:
		*ret = (s64)(x & y);
		return true;
	case ACCESS_OR:
		*ret = (s64)(x | y);
		return true;
	case ACCESS_XOR:
		*ret = (s64)(x ^ y);
		return true;
	case ACCESS_SHIFT_LEFT:
		*ret = y < 64 ? (s64)(x << y) : 0;
		return true;
	default:
		return false;
	}
}

static bool binary(struct translator *t, u8 op)
{
	const u16 b = pop(t), a = pop(t);
	const struct node *x = &t->nodes[a], *y = &t->nodes[b];
	const struct number_type type = x->type;
	s64 value;
	u16 n;

	if (t->reason)
		return false;
	if (type.size && type.is_signed && op == ACCESS_SHIFT_RIGHT)
		op = ACCESS_SHIFT_SIGNED;
	if (op >= ACCESS_EQUAL && type.size == WORD && !type.is_signed && op > ACCESS_NOT_EQUAL)
		return fail(t, "its location is too complicated");
	if (x->step.op == ACCESS_CONSTANT && y->step.op == ACCESS_CONSTANT &&
	    fold(op, x->step.value, y->step.value, &value))
		n = constant(t, value);
	else if (op == ACCESS_AND && y->step.op == ACCESS_CONSTANT && bytes_of_mask(y->step.value))
		n = as_type(t, a, (struct number_type){bytes_of_mask(y->step.value), false});
	else if (op == ACCESS_PLUS && y->step.op == ACCESS_CONSTANT)
		n = add_constant(t, a, y->step.value);
	else if (op == ACCESS_PLUS && x->step.op == ACCESS_CONSTANT)
		n = add_constant(t, b, x->step.value);
	else if (op == ACCESS_MINUS && y->step.op == ACCESS_CONSTANT)
		n = add_constant(t, a, (s64)(0 - (u64)y->step.value));
	else
		n = add_node(t, &(struct node){.step = {.op = op}, .a = a, .b = b});
	return push(t, as_type(t, n, op >= ACCESS_EQUAL ? (struct number_type){0} : type));
}

static bool unary(struct translator *t, u8 op)
{
	const u16 a = pop(t);
	const struct node *x = &t->nodes[a];
	const struct number_type type = x->type;
	u16 n;

	if (t->reason)
		return false;
	if (x->step.op == ACCESS_CONSTANT)
		n = constant(t, op == ACCESS_NOT ? ~x->step.value : (s64)(0 - (u64)x->step.value));
	else
		n = add_node(t, &(struct node){.step = {.op = op}, .a = a});
	return push(t, as_type(t, n, type));
}

static bool deref(struct translator *t, u64 size, struct number_type type)
{
	const u16 a = pop(t);
	u16 n;

	if (size != 1 && size != 2 && size != 4 && size != WORD)
		return fail(t, "its location is damaged");
	n = add_node(t, &(struct node){.step = {.op = ACCESS_DEREF, .size = (u8)size}, .a = a});
	return push(t, as_type(t, n, type));
}

static bool pick(struct translator *t, u64 from_top)
{
	if (from_top >= t->depth)
		return fail(t, "its location is damaged");
	return push(t, t->stack[t->depth - 1 - from_top]);
}

static bool rotate(struct translator *t, u32 n)
{
	u16 top;

	if (t->depth < n)
		return fail(t, "its location is damaged");
	top = t->stack[t->depth - 1];
	memmove(&t->stack[t->depth - n + 1], &t->stack[t->depth - n], (n - 1) * sizeof(top));
	t->stack[t->depth - n] = top;
	return true;
}

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
		return push_register(t, op->number, 0) && push(t, as_type(t, pop(t), type));
	case DW_OP_deref_type:
	case DW_OP_GNU_deref_type:
		return deref(t, op->number, type);
	case DW_OP_const_type:
	case DW_OP_GNU_const_type:
		return push_block(t, op) && push(t, as_type(t, pop(t), type));
	default:
		return push(t, as_type(t, pop(t), type));
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
		good = push(t, constant(t, atom - DW_OP_lit0));
	else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		good = push_register(t, atom - DW_OP_breg0, (s64)op->number);
	else if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
		good = push(t, constant(t, (s64)op->number));
	else
		switch (atom) {
		case DW_OP_bregx:
			good = push_register(t, op->number, (s64)op->number2);
			break;
		case DW_OP_addr:
			good = push_address(t, op->number);
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
	return good && !t->reason ? 1 : -1;
}

static bool operate(struct translator *t, const Dwarf_Op *op)
{
	const int pushed = push_number(t, op);

	if (pushed)
		return pushed > 0;
	for (size_t i = 0; i < ARRAY_SIZE(binaries); i++)
		if (binaries[i].atom == op->atom)
			return binary(t, binaries[i].op);
	for (size_t i = 0; i < ARRAY_SIZE(unaries); i++)
		if (unaries[i].atom == op->atom)
			return unary(t, unaries[i].op);
	switch (op->atom) {
	case DW_OP_nop:
		return true;
	case DW_OP_dup:
		return pick(t, 0);
	case DW_OP_over:
		return pick(t, 1);
	case DW_OP_pick:
		return pick(t, op->number);
	case DW_OP_drop:
		pop(t);
		return !t->reason;
	case DW_OP_swap:
		return rotate(t, 2);
	case DW_OP_rot:
		return rotate(t, 3);
	case DW_OP_plus_uconst:
		return push(t, add_constant(t, pop(t), (s64)op->number));
	case DW_OP_deref:
		return deref(t, WORD, (struct number_type){0});
	case DW_OP_deref_size:
		return deref(t, op->number, (struct number_type){0});
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
		return fail(t, refusal(op->atom));
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

	if (t->depth == depth + (at != 0))
		return fail(t, "a part of it is optimised out");
	if (at + size > WORD)
		return fail(t, refusal(DW_OP_piece));
	if (!is_value && !deref(t, size, (struct number_type){0}))
		return false;
	n = as_type(t, pop(t), (struct number_type){(u8)size, false});
	if (size != 1 && size != 2 && size != 4 && size != WORD)
		return fail(t, refusal(DW_OP_piece));
	*bytes += size;
	if (!at)
		return push(t, n);
	t->nodes[n].type = (struct number_type){0};
	return push(t, n) && push(t, constant(t, (s64)at * 8)) && binary(t, ACCESS_SHIFT_LEFT) &&
	       binary(t, ACCESS_OR);
}

/* Leaves one more number on the stack; t->result says what it is. */
static bool run(struct translator *t, Dwarf_Attribute *attribute, const Dwarf_Op *ops, size_t n)
{
	Dwarf_Attribute *const outer = t->attribute;
	const u32 depth = t->depth;
	bool is_value = false;
	u64 number, pieces = 0; /* bytes that have been put together */

	if (n > MAX_OPERATIONS)
		return fail(t, "its location is too complicated");
	t->attribute = attribute;
	for (size_t i = 0; i < n && !t->reason; i++) {
		if (ops[i].atom == DW_OP_piece) {
			add_piece(t, ops[i].number, is_value, depth, &pieces);
			is_value = false;
			continue;
		}
		/* A complete description: nothing but pieces may follow. */
		if (is_value)
			return fail(t, refusal(ops[i].atom));
		if (ops[i].atom == DW_OP_stack_value) {
			is_value = true;
		} else if (ops[i].atom == DW_OP_implicit_value) {
			is_value = push_block(t, &ops[i]);
		} else if (is_register(&ops[i], &number)) {
			is_value = push_register(t, number, 0);
		} else {
			operate(t, &ops[i]);
		}
	}
	t->attribute = outer;
	t->result = is_value || pieces ? ACCESS_VALUE : ACCESS_PLACE;
	t->pieces = pieces;
	if (pieces && t->depth != depth + 1)
		fail(t, "its location is damaged");
	if (!t->reason && t->depth <= depth)
		fail(t, "its location is damaged");
	return !t->reason;
}

/* ---- results ---- */

/* Operands first. The trees are small: add_node() has counted the steps. */
static void write_steps(const struct translator *t, u16 n, struct access_step *steps, u32 *count)
{
	const struct node *x = &t->nodes[n];

	if (!is_leaf(x->step.op))
		write_steps(t, x->a, steps, count);
	if (is_binary(x->step.op))
		write_steps(t, x->b, steps, count);
	steps[(*count)++] = x->step;
}

struct access access_translate(const struct access_site *s, Dwarf_Attribute *a, const Dwarf_Op *ops,
			       size_t n, u64 size)
{
	struct translator t = {.site = s};
	struct access_step steps[ACCESS_MAX_STEPS];
	struct access ret = {0};
	u32 depth = 0, deepest = 0;
	u16 top;

	if (!run(&t, a, ops, n))
		return access_refuse(t.reason);
	if (t.pieces && t.pieces < size)
		return access_refuse("a part of it is optimised out");
	top = t.stack[t.depth - 1];
	/* Of a value only the bytes of its type count. */
	while (t.result == ACCESS_VALUE && t.nodes[top].step.op == ACCESS_EXTEND &&
	       t.nodes[top].step.size >= size)
		top = t.nodes[top].a;
	write_steps(&t, top, steps, &ret.count);
	for (u32 i = 0; i < ret.count; i++) {
		depth += is_leaf(steps[i].op);
		depth -= is_binary(steps[i].op);
		deepest = MAX(deepest, depth);
	}
	if (deepest > ACCESS_MAX_STACK)
		return access_refuse("its location is too complicated");
	ret.result = t.result;
	ret.steps = arena_memdup(s->arena, steps, ret.count * sizeof(*steps));
	return ret;
}
