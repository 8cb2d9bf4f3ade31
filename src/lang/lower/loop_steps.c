/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/lower/loop_steps.h"

#include "lang/syntax/ast_walk.h"

/* Rounds assumed for a while whose condition does not tell. */
#define WHILE_GUESS 8
/* The largest loop bound that is distinguished: beyond it the verifier gives up anyway. */
#define WHILE_MAX 1000
/* A for over a map: its callback, and what makes the pair of key and value. */
#define PAIR_STEPS 40

/* Instructions of an expression without its operands, in the code that we generate. */
static const u16 steps_of[] = {
	[EXPR_STRING] = 4, [EXPR_NAME] = 8,	 [EXPR_MAP] = 25,    [EXPR_INDEX] = 25,
	[EXPR_MEMBER] = 6, [EXPR_INCREMENT] = 6, [EXPR_BINARY] = 3,  [EXPR_TERNARY] = 4,
	[EXPR_CALL] = 40,  [EXPR_TUPLE] = 12,	 [EXPR_RECORD] = 12, [EXPR_COMPTIME] = 1,
};

/* Builtins with loops of their own: over the frames of a stack, the bytes of a string, the
 * components of a path. */
static const struct {
	const char *name;
	u16 steps;
	u16 per_frame; /* where the last argument is the number of frames */
} loops[] = {
	{"kstack", 1000, 12}, {"ustack", 1000, 12},    {"dw_ustack", 1000, 12},
	{"strstr", 500, 0},   {"strcontains", 500, 0}, {"path", 1000, 0},
};

struct aggregates {
	struct ast_walk walk;
	u64 steps;
	bool decided; /* which ranges are callbacks: else long ones are taken to be */
};

static u64 add(u64 a, u64 b)
{
	return MIN(a + b, (u64)LOOP_STEPS_MAX);
}

/* 0 = it has no loop. */
static u32 steps_of_builtin(const struct expr *e)
{
	const struct expr *last = e->nargs ? e->args[e->nargs - 1] : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		if (!str_eq(e->name, loops[i].name))
			continue;
		if (loops[i].per_frame && last && last->kind == EXPR_INTEGER &&
		    last->integer >= 0 && last->integer < loops[i].steps / loops[i].per_frame)
			return 40 + (u32)last->integer * loops[i].per_frame;
		return loops[i].steps;
	}
	return 0;
}

static void count_expr(struct ast_walk *w, struct expr **slot)
{
	struct aggregates *c = container_of(w, struct aggregates, walk);
	const struct expr *e = *slot;
	u32 steps = 0;

	if (e->kind == EXPR_CALL || e->kind == EXPR_NAME)
		steps = steps_of_builtin(e);
	if (!steps && (size_t)e->kind < ARRAY_SIZE(steps_of))
		steps = steps_of[e->kind];
	c->steps = add(c->steps, MAX(steps, 1u));
	ast_walk_children(w, *slot);
}

u32 loop_range_rounds(const struct stmt *s)
{
	const struct expr *b = s->range_begin, *e = s->range_end;
	u64 n;

	if (!b->is_comptime_known || !e->is_comptime_known)
		return 0;
	if (e->integer <= b->integer)
		return 1;
	n = (u64)e->integer - (u64)b->integer;
	return (u32)MIN(n, (u64)UINT32_MAX);
}

u32 loop_while_rounds(const struct stmt *s)
{
	const struct expr *e = s->condition;

	if (e->kind != EXPR_BINARY)
		return WHILE_GUESS;
	if (e->right->kind == EXPR_INTEGER && e->right->integer > 0)
		return (u32)MIN(e->right->integer, WHILE_MAX);
	if (e->left->kind == EXPR_INTEGER && e->left->integer > 0)
		return (u32)MIN(e->left->integer, WHILE_MAX);
	return WHILE_GUESS;
}

static u32 rounds_of(const struct stmt *s, bool decided)
{
	u32 n;

	switch (s->kind) {
	case STMT_WHILE:
		return s->is_callback ? LOOP_CALLBACK_ROUNDS : loop_while_rounds(s);
	case STMT_UNROLL:
		return s->condition->is_comptime_known && s->condition->integer > 0
			       ? (u32)MIN(s->condition->integer, WHILE_MAX)
			       : 1;
	case STMT_FOR_MAP:
		return LOOP_CALLBACK_ROUNDS;
	case STMT_FOR_RANGE:
		n = loop_range_rounds(s);
		if (decided)
			return s->is_callback ? LOOP_CALLBACK_ROUNDS : MAX(n, 1u);
		return n && n <= LOOP_IN_PLACE_ROUNDS ? n : LOOP_CALLBACK_ROUNDS;
	default:
		return 1;
	}
}

static void count_stmt(struct ast_walk *w, struct stmt **slot)
{
	struct aggregates *c = container_of(w, struct aggregates, walk);
	const u64 before = c->steps;

	c->steps = 2 + ((*slot)->kind == STMT_FOR_MAP ? PAIR_STEPS : 0);
	ast_walk_stmt(w, *slot);
	c->steps = add(before, c->steps * rounds_of(*slot, c->decided));
}

u64 loop_steps(const struct block *body)
{
	struct aggregates c = {
		.walk = {.expr = count_expr, .stmt = count_stmt, .skip_types = true}};

	if (body)
		ast_walk_block(&c.walk, (struct block *)body);
	return c.steps;
}

/* ---- the heaviest ---- */

struct search {
	struct ast_walk walk;
	const struct stmt *found;
	u64 steps;
};

static void weigh_expr(struct ast_walk *w, struct expr **slot)
{
	ast_walk_children(w, *slot);
}

static void weigh_stmt(struct ast_walk *w, struct stmt **slot)
{
	struct search *search = container_of(w, struct search, walk);
	struct aggregates c = {.walk = {.expr = count_expr, .stmt = count_stmt, .skip_types = true},
			       .decided = true};
	struct stmt *s = *slot;

	if (s->kind != STMT_WHILE && s->kind != STMT_UNROLL && s->kind != STMT_FOR_MAP &&
	    s->kind != STMT_FOR_RANGE) {
		ast_walk_stmt(w, s);
		return;
	}
	count_stmt(&c.walk, slot);
	if (c.steps <= search->steps)
		return;
	search->steps = c.steps;
	search->found = s;
}

const struct stmt *loop_heaviest(const struct block *body)
{
	struct search search = {
		.walk = {.expr = weigh_expr, .stmt = weigh_stmt, .skip_types = true}};

	if (body)
		ast_walk_block(&search.walk, (struct block *)body);
	return search.found;
}
