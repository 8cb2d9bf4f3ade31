/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * print(@m); clear(@m); in one block reports an interval. Done one after the other, updates between
 * the two would be lost. Here such pairs become one request: the print takes what it shows out of
 * the map, in a step that no update can fall into (engine/map_switch.c), and the clear() or zero()
 * goes away.
 */
#include "lang/check/internal.h"
#include "lang/lower/plan.h"
#include "lang/lower/present.h"

static bool is_call(const struct stmt *s)
{
	return s->kind == STMT_EXPR && s->value->kind == EXPR_CALL && s->value->builtin;
}

/* What may stand between the two: nothing that could leave the block. */
static bool is_passable(const struct stmt *s)
{
	static const char *const leaving[] = {"exit", "fail", "assert", "speculate"};

	/* a clear() that was paired */
	if (s->kind == STMT_ASSIGN || (s->kind == STMT_BLOCK && !s->body->count))
		return true;
	if (!is_call(s) || !(s->value->builtin->flags & BUILTIN_STATEMENT))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(leaving); i++)
		if (str_eq(s->value->name, leaving[i]))
			return false;
	return true;
}

/*
 * print(@m ...), printa(fmt, @m ...), table(fmt, @m ...): the position of m among the maps that are
 * printed, -1 = none.
 */
static int position_of(const struct stmt *s, const struct map_symbol *m)
{
	struct expr *e = s->value;
	u32 first;

	if (!is_call(s))
		return -1;
	first = str_eq(e->name, "printa") || str_eq(e->name, "table") || str_eq(e->name, "ranges");
	if (!first && !str_eq(e->name, "print"))
		return -1;
	for (u32 i = first; i < e->nargs; i++)
		if (e->args[i]->kind == EXPR_MAP && e->args[i]->map == m)
			return (int)(i - first);
	return -1;
}

static void take(struct check *c, struct expr *print, u32 position, bool is_zero)
{
	struct present_taken *taken = print->annotation;

	if (!taken)
		print->annotation = taken = arena_new(c->arena, struct present_taken);
	if (is_zero)
		taken->zeroes |= 1ULL << position;
	else
		taken->clears |= 1ULL << position;
}

static void pair(struct check *c, struct block *b, u32 clear)
{
	struct stmt *s = b->stmts[clear];
	struct map_symbol *m = s->value->nargs ? s->value->args[0]->map : NULL;

	for (u32 i = clear; m && i-- > 0;) {
		const int position = position_of(b->stmts[i], m);

		if (position >= 0 && position < PRINTA_MAX_MAPS) {
			take(c, b->stmts[i]->value, (u32)position, str_eq(s->value->name, "zero"));
			m->is_taken = true;
			*s = (struct stmt){.kind = STMT_BLOCK,
					   .span = s->span,
					   .body = arena_new(c->arena, struct block)};
			return;
		}
		if (!is_passable(b->stmts[i]))
			return;
	}
}

static void note_iterated(const struct stmt *s)
{
	if (s->kind == STMT_FOR_MAP && s->value->map)
		s->value->map->is_iterated = true;
}

static bool note_len(void *arg, struct expr *e)
{
	if (e->kind == EXPR_CALL && str_eq(e->name, "len") && e->nargs &&
	    e->args[0]->kind == EXPR_MAP && e->args[0]->map)
		e->args[0]->map->is_iterated = true;
	return true;
}

static void pair_block(struct check *c, struct block *b)
{
	for (u32 i = 0; b && i < b->count; i++) {
		struct stmt *s = b->stmts[i];

		note_iterated(s);
		if (is_call(s) &&
		    (str_eq(s->value->name, "clear") || str_eq(s->value->name, "zero")))
			pair(c, b, i);
		pair_block(c, s->body);
		pair_block(c, s->else_body);
	}
}

void plan_takes(struct check *c)
{
	for (size_t i = 0; i < c->units.len; i++) {
		struct unit *u = c->units.items[i];

		ast_each_expr(u->body, note_len, NULL);
		if (!u->speculates) /* a print may wait, a clear() does not */
			pair_block(c, u->body);
	}
}
