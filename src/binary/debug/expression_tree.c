/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/debug/expression_tree.h"

#include "arch/arch.h"
#include "binary/debug/evaluate.h"

/* Names of the DWARF registers (System V ABI of each machine). */
static const char *const dwarf_registers[] = {
#if defined(__x86_64__)
	"ax", "dx",  "cx",  "bx",  "si",  "di",	 "bp",	"sp", "r8",
	"r9", "r10", "r11", "r12", "r13", "r14", "r15", "ip",
#endif
};
enum { FIRST_FLOAT = 17, LAST_FLOAT = 40 }; /* xmm0 to 15, st0 to 7 */

/* ---- nodes ---- */

static bool is_binary(u8 op)
{
	return op >= ACCESS_PLUS;
}

static bool is_leaf(u8 op)
{
	return op <= ACCESS_STATIC;
}

bool tree_fail(struct expression_tree *t, const char *reason)
{
	if (!t->reason)
		t->reason = reason;
	return false;
}

bool tree_push(struct expression_tree *t, u16 n)
{
	if (t->depth == ACCESS_MAX_STACK)
		return tree_fail(t, "its location is too complicated");
	t->stack[t->depth++] = n;
	return true;
}

u16 tree_pop(struct expression_tree *t)
{
	if (t->depth)
		return t->stack[--t->depth];
	tree_fail(t, "its location is damaged");
	return 0;
}

static u16 add_node(struct expression_tree *t, const struct node *n)
{
	struct node copy = *n;

	copy.steps = 1;
	if (!is_leaf(n->step.op))
		copy.steps += t->nodes[n->a].steps;
	if (is_binary(n->step.op))
		copy.steps += t->nodes[n->b].steps;
	if (t->count == TREE_NODES || copy.steps > ACCESS_MAX_STEPS) {
		tree_fail(t, "its location is too complicated");
		return 0;
	}
	t->nodes[t->count] = copy;
	return (u16)t->count++;
}

u16 tree_constant(struct expression_tree *t, s64 value)
{
	return add_node(t, &(struct node){.step = {.op = ACCESS_CONSTANT, .value = value}});
}

u16 tree_add_constant(struct expression_tree *t, u16 a, s64 value)
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
u16 tree_as_type(struct expression_tree *t, u16 a, struct number_type type)
{
	struct node n = t->nodes[a];

	if (type.size && type.size < TREE_WORD) {
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
	       : mask == -1	    ? TREE_WORD
				    : 0;
}

const struct arch_register *dwarf_register(u64 number)
{
	return number < ARRAY_SIZE(dwarf_registers) ? arch_register_find(dwarf_registers[number])
						    : NULL;
}

static bool push_known(struct expression_tree *t, enum access_op op, u64 number, s64 offset)
{
	const struct arch_register *r = dwarf_register(number);
	u16 n;

	if (!r && number >= FIRST_FLOAT && number <= LAST_FLOAT)
		return tree_fail(t,
				 "it is in a floating-point register, which programs of the kernel "
				 "cannot read");
	if (!r)
		return tree_fail(t, "it is in a register that the kernel does not save");
	n = add_node(
		t, &(struct node){.step = {.op = (u8)op, .size = TREE_WORD, .offset = r->offset}});
	return tree_push(t, tree_add_constant(t, n, offset));
}

bool tree_push_register(struct expression_tree *t, u64 number, s64 offset)
{
	return push_known(t, ACCESS_REGISTER, number, offset);
}

bool tree_push_entered(struct expression_tree *t, u64 number)
{
	return push_known(t, ACCESS_ENTERED, number, 0);
}

bool tree_push_address(struct expression_tree *t, u64 address)
{
	return tree_push(t, add_node(t, &(struct node){.step = {.op = ACCESS_STATIC,
								.value = (s64)address}}));
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

bool tree_binary(struct expression_tree *t, u8 op)
{
	const u16 b = tree_pop(t), a = tree_pop(t);
	const struct node *x = &t->nodes[a], *y = &t->nodes[b];
	const struct number_type type = x->type;
	s64 value;
	u16 n;

	if (t->reason)
		return false;
	if (type.size && type.is_signed && op == ACCESS_SHIFT_RIGHT)
		op = ACCESS_SHIFT_SIGNED;
	if (op >= ACCESS_EQUAL && type.size == TREE_WORD && !type.is_signed &&
	    op > ACCESS_NOT_EQUAL)
		return tree_fail(t, "its location is too complicated");
	if (x->step.op == ACCESS_CONSTANT && y->step.op == ACCESS_CONSTANT &&
	    fold(op, x->step.value, y->step.value, &value))
		n = tree_constant(t, value);
	else if (op == ACCESS_AND && y->step.op == ACCESS_CONSTANT && bytes_of_mask(y->step.value))
		n = tree_as_type(t, a, (struct number_type){bytes_of_mask(y->step.value), false});
	else if (op == ACCESS_PLUS && y->step.op == ACCESS_CONSTANT)
		n = tree_add_constant(t, a, y->step.value);
	else if (op == ACCESS_PLUS && x->step.op == ACCESS_CONSTANT)
		n = tree_add_constant(t, b, x->step.value);
	else if (op == ACCESS_MINUS && y->step.op == ACCESS_CONSTANT)
		n = tree_add_constant(t, a, (s64)(0 - (u64)y->step.value));
	else
		n = add_node(t, &(struct node){.step = {.op = op}, .a = a, .b = b});
	return tree_push(t,
			 tree_as_type(t, n, op >= ACCESS_EQUAL ? (struct number_type){0} : type));
}

bool tree_unary(struct expression_tree *t, u8 op)
{
	const u16 a = tree_pop(t);
	const struct node *x = &t->nodes[a];
	const struct number_type type = x->type;
	u16 n;

	if (t->reason)
		return false;
	if (x->step.op == ACCESS_CONSTANT)
		n = tree_constant(t, op == ACCESS_NOT ? ~x->step.value
						      : (s64)(0 - (u64)x->step.value));
	else
		n = add_node(t, &(struct node){.step = {.op = op}, .a = a});
	return tree_push(t, tree_as_type(t, n, type));
}

bool tree_deref(struct expression_tree *t, u64 size, struct number_type type)
{
	const u16 a = tree_pop(t);
	u16 n;

	if (size != 1 && size != 2 && size != 4 && size != TREE_WORD)
		return tree_fail(t, "its location is damaged");
	n = add_node(t, &(struct node){.step = {.op = ACCESS_DEREF, .size = (u8)size}, .a = a});
	return tree_push(t, tree_as_type(t, n, type));
}

bool tree_pick(struct expression_tree *t, u64 from_top)
{
	if (from_top >= t->depth)
		return tree_fail(t, "its location is damaged");
	return tree_push(t, t->stack[t->depth - 1 - from_top]);
}

bool tree_rotate(struct expression_tree *t, u32 n)
{
	u16 top;

	if (t->depth < n)
		return tree_fail(t, "its location is damaged");
	top = t->stack[t->depth - 1];
	memmove(&t->stack[t->depth - n + 1], &t->stack[t->depth - n], (n - 1) * sizeof(top));
	t->stack[t->depth - n] = top;
	return true;
}

/* Operands first. The recursion is not deep: add_node() limits the steps. */
static void write_steps(const struct expression_tree *t, u16 n, struct access_step *steps,
			u32 *count)
{
	const struct node *x = &t->nodes[n];

	if (!is_leaf(x->step.op))
		write_steps(t, x->a, steps, count);
	if (is_binary(x->step.op))
		write_steps(t, x->b, steps, count);
	steps[(*count)++] = x->step;
}

bool tree_write(const struct expression_tree *t, u16 root, struct arena *arena, struct access *ret)
{
	struct access_step steps[ACCESS_MAX_STEPS];
	u32 depth = 0, deepest = 0;

	ret->count = 0;
	write_steps(t, root, steps, &ret->count);
	for (u32 i = 0; i < ret->count; i++) {
		depth += is_leaf(steps[i].op);
		depth -= is_binary(steps[i].op);
		deepest = MAX(deepest, depth);
	}
	ret->steps = arena_memdup(arena, steps, ret->count * sizeof(*steps));
	return deepest <= ACCESS_MAX_STACK;
}
