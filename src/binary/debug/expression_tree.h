/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack machine of DWARF expressions, with unknowns: each number on its stack is a node of a
 * tree over registers, constants and memory. Constants are folded, so that what compilers write for
 * "8 bytes above that" becomes one step.
 */
#ifndef PANTRACE_BINARY_DEBUG_EXPRESSION_TREE_H
#define PANTRACE_BINARY_DEBUG_EXPRESSION_TREE_H

#include "binary/debug/access.h"

#define TREE_NODES 128
#define TREE_WORD  8 /* bytes */

/* A base type of an operation; size 0 = the generic type, 64 bits without a sign. */
struct number_type {
	u8 size;
	bool is_signed;
};

struct node {
	struct access_step step;
	u16 a, b; /* operands, if step.op has any */
	u32 steps; /* of the tree below it, and its own */
	struct number_type type;
};

struct expression_tree {
	struct node nodes[TREE_NODES];
	u32 count;
	u16 stack[ACCESS_MAX_STACK]; /* numbers of nodes */
	u32 depth;
	const char *reason; /* not NULL: it has failed; the first reason stays */
};

/* Sets the reason, returns false. The others return false, or node 0, after they have failed. */
bool tree_fail(struct expression_tree *t, const char *reason);
bool tree_push(struct expression_tree *t, u16 node);
u16 tree_pop(struct expression_tree *t);
/* Pushes a register, by DWARF's number, plus an offset. */
bool tree_push_register(struct expression_tree *t, u64 number, s64 offset);
/* What a register was when the function was entered. */
bool tree_push_entered(struct expression_tree *t, u64 number);
bool tree_push_address(struct expression_tree *t, u64 address);

/* Nodes that are not pushed. */
u16 tree_constant(struct expression_tree *t, s64 value);
u16 tree_add_constant(struct expression_tree *t, u16 a, s64 value);
/* Cuts a number to its type. */
u16 tree_as_type(struct expression_tree *t, u16 a, struct number_type type);

/* Operations, enum access_op, on the top of the stack. */
bool tree_binary(struct expression_tree *t, u8 op);
bool tree_unary(struct expression_tree *t, u8 op);
bool tree_deref(struct expression_tree *t, u64 size, struct number_type type);
bool tree_pick(struct expression_tree *t, u64 from_top);
/* Moves the top below the n - 1 numbers under it. */
bool tree_rotate(struct expression_tree *t, u32 n);

/* The tree's steps. False: they need too deep a stack. */
bool tree_write(const struct expression_tree *t, u16 root, struct arena *arena, struct access *ret);

#endif
