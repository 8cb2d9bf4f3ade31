/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loops. */
#include "lang/syntax/ast_walk.h"
#include "lang/check/internal.h"
#include "lang/lower/loop_steps.h"

#define UNROLL_MAX 100
/*
 * Loops that cost the verifier no more instructions than this stay in place. It is low: in ten
 * rounds with a call in each the verifier may follow every combination of the paths through them
 * (it keeps only some of the states that it met in a loop).
 */
#define IN_PLACE_STEPS 400
/*
 * The kernel allows 8 frames (MAX_CALL_FRAMES); in a nest of many short loops the inner ones stay
 * in place.
 */
#define CALLBACKS_NESTED 4
/*
 * Lower than the number of the frame's fields (FRAME_MAX_FIELDS), as loops and functions have
 * variables of their own.
 */
#define VARIABLES_BEFORE 36

/*
 * May a loop that could stay in place become a callback? Each variable before it may take a field
 * of the frame.
 */
static bool has_room(const struct check *c)
{
	const struct check_scopes *scopes = c->scopes;

	return c->callback_depth < CALLBACKS_NESTED && scopes->next < VARIABLES_BEFORE;
}

/* Checks the body, which the verifier walks as often as the loop has rounds. */
static void check_loop_body(struct check *c, struct block *body, u32 rounds)
{
	const u64 outer = c->loop_rounds;

	c->loop_rounds = MIN(outer * rounds, (u64)LOOP_STEPS_MAX);
	c->loop_depth++;
	check_block(c, body);
	c->loop_depth--;
	c->loop_rounds = outer;
}

/* ---- what a while ends by ---- */

struct bounds {
	struct ast_walk walk;
	struct check *c;
	bool has_exit;
};

static void bound_by(struct ast_walk *w, struct expr **slot)
{
	struct bounds *b = container_of(w, struct bounds, walk);
	struct variable_symbol *v = (*slot)->kind == EXPR_VARIABLE ? (*slot)->variable : NULL;

	if (v && !v->is_bound) {
		v->is_bound = true;
		b->c->changed = true;
	}
	ast_walk_children(w, *slot);
}

void check_bounds(struct check *c, struct expr *e)
{
	struct bounds b = {.walk = {.expr = bound_by, .skip_types = true}, .c = c};

	if (e)
		bound_by(&b.walk, &e);
}

static void look_in_expr(struct ast_walk *w, struct expr **slot)
{
	ast_walk_children(w, *slot);
}

static bool is_loop(const struct stmt *s)
{
	return s->kind == STMT_WHILE || s->kind == STMT_UNROLL || s->kind == STMT_FOR_MAP ||
	       s->kind == STMT_FOR_RANGE;
}

/* while ($i < 10), while ($i < 10 && $more) */
static bool ends_by_itself(const struct expr *e)
{
	if (e->kind != EXPR_BINARY)
		return false;
	if (e->op == OP_LAND)
		return ends_by_itself(e->left) || ends_by_itself(e->right);
	return (e->op == OP_LT || e->op == OP_LE || e->op == OP_GT || e->op == OP_GE) &&
	       e->left->is_comptime_known != e->right->is_comptime_known;
}

static void find_exit(struct ast_walk *w, struct stmt **slot)
{
	struct bounds *b = container_of(w, struct bounds, walk);

	b->has_exit |= (*slot)->kind == STMT_RETURN || (*slot)->kind == STMT_BREAK;
	if (!is_loop(*slot)) /* a break of the inner loop */
		ast_walk_stmt(w, *slot);
}

static void bound_by_exit(struct ast_walk *w, struct stmt **slot)
{
	struct bounds *outer = container_of(w, struct bounds, walk);
	struct bounds b = {.walk = {.expr = look_in_expr, .stmt = find_exit, .skip_types = true}};

	if ((*slot)->kind == STMT_IF) {
		ast_walk_stmt(&b.walk, *slot);
		if (b.has_exit)
			check_bounds(outer->c, (*slot)->condition);
	}
	ast_walk_stmt(w, *slot);
}

/* The verifier must know as much as it can of the variables that end the loop. */
static void note_bounds(struct check *c, struct stmt *s)
{
	struct bounds b = {
		.walk = {.expr = look_in_expr, .stmt = bound_by_exit, .skip_types = true}, .c = c};

	check_bounds(c, s->condition);
	if (!ends_by_itself(s->condition))
		ast_walk_block(&b.walk, s->body);
}

/*
 * Numbers that the body changes and that existed before. In a heavy loop the verifier forgets at
 * each round what it knows of them: otherwise each path through a round would give them another
 * value in the next one.
 */
struct changes {
	struct ast_walk walk;
	VECTOR(struct variable_symbol *) before, found;
};

static void note_change(struct changes *changes, struct expr *target)
{
	struct variable_symbol *v = target->kind == EXPR_VARIABLE ? target->variable : NULL;

	if (!v || v->is_bound || !type_is_integer(v->type))
		return;
	for (size_t i = 0; i < changes->found.len; i++)
		if (changes->found.items[i] == v)
			return;
	for (size_t i = 0; i < changes->before.len; i++)
		if (changes->before.items[i] == v) {
			vector_push(&changes->found, v);
			return;
		}
}

static void change_in_expr(struct ast_walk *w, struct expr **slot)
{
	if ((*slot)->kind == EXPR_INCREMENT)
		note_change(container_of(w, struct changes, walk), (*slot)->left);
	ast_walk_children(w, *slot);
}

static void change_in_stmt(struct ast_walk *w, struct stmt **slot)
{
	if ((*slot)->kind == STMT_ASSIGN && (*slot)->target)
		note_change(container_of(w, struct changes, walk), (*slot)->target);
	ast_walk_stmt(w, *slot);
}

static void changes_begin(const struct check *c, struct changes *changes)
{
	const struct check_scopes *scopes = c->scopes;

	*changes = (struct changes){
		.walk = {.expr = change_in_expr, .stmt = change_in_stmt, .skip_types = true}};
	for (u32 i = 0; i < scopes->next; i++)
		if (c->unit->variables.items[i]->is_visible)
			vector_push(&changes->before, c->unit->variables.items[i]);
}

static void changes_end(const struct check *c, struct changes *changes, struct stmt *s)
{
	ast_walk_block(&changes->walk, s->body);
	s->forgotten = arena_new_array(c->arena, struct variable_symbol *, changes->found.len + 1);
	for (size_t i = 0; i < changes->found.len; i++)
		s->forgotten[i] = changes->found.items[i];
	vector_free(&changes->before);
	vector_free(&changes->found);
}

struct aggregates {
	struct ast_walk walk;
	const char *name;
	enum op step;
	bool found;
};

static void count_in_expr(struct ast_walk *w, struct expr **slot)
{
	struct aggregates *c = container_of(w, struct aggregates, walk);
	const struct expr *e = *slot;

	c->found |= e->kind == EXPR_INCREMENT && e->op == c->step &&
		    e->left->kind == EXPR_VARIABLE && str_eq(e->left->name, c->name);
	ast_walk_children(w, *slot);
}

static void count_in_stmt(struct ast_walk *w, struct stmt **slot)
{
	struct aggregates *c = container_of(w, struct aggregates, walk);
	const struct stmt *s = *slot;

	c->found |= s->kind == STMT_ASSIGN && s->op == c->step && s->target &&
		    s->target->kind == EXPR_VARIABLE && str_eq(s->target->name, c->name);
	ast_walk_stmt(w, *slot);
}

static bool counts(const struct expr *v, enum op step, struct block *body)
{
	struct aggregates c = {
		.walk = {.expr = count_in_expr, .stmt = count_in_stmt, .skip_types = true},
		.name = v->name,
		.step = step};

	if (v->kind == EXPR_VARIABLE)
		ast_walk_block(&c.walk, body);
	return c.found;
}

static bool is_too_far(const struct expr *bound)
{
	return bound->is_comptime_known && bound->integer > (s64)LOOP_ROUNDS_MAX;
}

/*
 * while ($i < $n) { ... $i++; ... }, and the like: does the body move the sides towards each other?
 */
static bool counts_to_end(const struct expr *e, struct block *body)
{
	const bool less = e->op == OP_LT || e->op == OP_LE;

	if (e->kind != EXPR_BINARY)
		return false;
	if (e->op == OP_LAND)
		return counts_to_end(e->left, body) || counts_to_end(e->right, body);
	if ((!less && e->op != OP_GT && e->op != OP_GE) || is_too_far(e->left) ||
	    is_too_far(e->right))
		return false;
	return counts(e->left, less ? OP_ADD : OP_SUB, body) ||
	       counts(e->right, less ? OP_SUB : OP_ADD, body);
}

/*
 * A while that counts is also better as a callback if it is heavy, or if the verifier cannot know
 * how far it counts. Others stay in place, where the verifier says whether they end.
 */
static bool while_as_callback(const struct check *c, const struct stmt *s)
{
	if (!c->options->features.bpf_loop || !has_room(c))
		return false;
	if (ends_by_itself(s->condition) &&
	    c->loop_rounds * loop_while_rounds(s) * loop_steps(s->body) <= IN_PLACE_STEPS)
		return false;
	return counts_to_end(s->condition, s->body);
}

/* The body of a loop in place; if it is heavy, the loop forgets numbers. */
static void check_body_in_place(struct check *c, struct stmt *s, u32 rounds)
{
	struct changes changes;

	if (!c->final || c->loop_rounds * rounds * loop_steps(s->body) <= IN_PLACE_STEPS) {
		check_loop_body(c, s->body, rounds);
		return;
	}
	changes_begin(c, &changes);
	check_loop_body(c, s->body, rounds);
	changes_end(c, &changes, s);
}

void check_while(struct check *c, struct stmt *s)
{
	check_expr(c, s->condition);
	s->is_callback |= while_as_callback(c, s);
	if (s->is_callback) {
		c->callback_depth++;
		c->unit->has_callbacks = true;
		check_expr(c, s->condition);
	}
	check_condition(c, s->condition);
	if (s->is_callback) {
		check_loop_body(c, s->body, LOOP_CALLBACK_ROUNDS);
		c->callback_depth--;
		return;
	}
	check_body_in_place(c, s, loop_while_rounds(s));
	note_bounds(c, s);
}

void check_unroll(struct check *c, struct stmt *s)
{
	s64 n = 0;

	check_expr(c, s->condition);
	if (!check_constant(s->condition, &n))
		check_error(c, s->condition->span, "invalid unroll value");
	else if (n > UNROLL_MAX)
		check_error(c, s->condition->span, "unroll maximum value is %d", UNROLL_MAX);
	else if (n < 1)
		check_error(c, s->condition->span, "unroll minimum value is 1");
	check_body_in_place(c, s, n > 0 && n <= UNROLL_MAX ? (u32)n : 1);
}

static struct variable_symbol *declare_loop_variable(struct check *c, struct stmt *s,
						     const struct type *type)
{
	struct variable_symbol *v;
	const struct check_scopes *scopes = c->scopes;

	for (u32 i = 0; i < scopes->next; i++) {
		v = c->unit->variables.items[i];
		if (!v->is_visible || !str_eq(v->name, s->target->name))
			continue;
		check_error(c, s->target->span, "Loop declaration shadows existing variable: $%s",
			    check_variable_name(v->name));
		check_variable_origin(c, v);
	}
	v = check_variable_declare(c, s->target->name, s->target->span);
	v->is_loop = true;
	if (type && !type_equal(v->type, type)) {
		v->type = type;
		c->changed = true;
	}
	s->variable = v;
	s->target->variable = v;
	s->target->type = v->type;
	return v;
}

void check_for_map(struct check *c, struct stmt *s)
{
	struct expr *e = s->value;
	const struct type *type = NULL;
	struct map_symbol *m;

	if (e->kind != EXPR_MAP) {
		check_error(c, e->span, "Loop expression must be a map");
		return;
	}
	if (!c->options->features.for_each_map)
		check_error(c, s->span,
			    "Missing required kernel feature: for_each_map_elem (Linux 5.13)");
	m = check_map_symbol(c, e->name, e->span);
	e->map = m;
	e->type = type_none();
	m->is_read = true;
	if (!m->value || !m->key) {
		if (c->final)
			check_error(c, e->span, "Undefined map: @%s", m->name);
	} else if (type_is(m->key, TYPE_NONE)) {
		check_error(
			c, e->span,
			"@%s has no explicit keys (scalar map), and cannot be used for iteration",
			m->name);
	} else if (type_is_aggregation(m->value) && !check_aggregation_scalar(m->value)) {
		check_error(c, e->span, "Loop expression does not support type: %s",
			    check_type_text(c, m->value));
	} else {
		const struct type *scalar = check_aggregation_scalar(m->value);
		const struct type *pair[] = {m->key, scalar ? scalar : m->value};

		type = type_tuple(c->types, pair, 2);
	}
	check_scope_begin(c);
	c->callback_depth++;
	c->unit->has_callbacks = true;
	declare_loop_variable(c, s, type);
	check_loop_body(c, s->body, LOOP_CALLBACK_ROUNDS);
	c->callback_depth--;
	check_scope_end(c);
}

static void check_range_end(struct check *c, struct expr *e, const char *which)
{
	check_expr(c, e);
	if (check_known(c, e) && !type_is_integer(e->type))
		check_error(c, e->span, "Loop range requires an integer for the %s value", which);
}

/*
 * The verifier walks a loop in place round by round, and for nested loops every round of each.
 * Short loops with small bodies are plain ones all the same; the others are callbacks of
 * bpf_loop(), which it walks a few times whatever the number of rounds.
 */
static bool better_as_callback(const struct check *c, const struct stmt *s)
{
	const u32 rounds = loop_range_rounds(s);

	if (!c->options->features.bpf_loop)
		return false;
	if (!rounds || rounds > LOOP_IN_PLACE_ROUNDS)
		return true;
	return has_room(c) && c->loop_rounds * rounds * loop_steps(s->body) > IN_PLACE_STEPS;
}

void check_for_range(struct check *c, struct stmt *s)
{
	struct variable_symbol *v;
	bool callback;

	check_range_end(c, s->range_begin, "start");
	check_range_end(c, s->range_end, "end");
	s->is_callback |= better_as_callback(c, s);
	callback = s->is_callback;
	if (!c->options->features.bpf_loop &&
	    !(s->range_begin->is_comptime_known && s->range_end->is_comptime_known)) {
		check_error(c, s->span, "Missing required kernel feature: loop (Linux 5.17)");
		check_hint(c, "a range of constants works on this kernel");
	}
	if (callback && loop_range_rounds(s) > LOOP_ROUNDS_MAX)
		check_error(c, s->span,
			    "The loop has more than %u rounds, the most that the kernel takes",
			    LOOP_ROUNDS_MAX);
	check_scope_begin(c);
	c->callback_depth += callback;
	c->unit->has_callbacks |= callback;
	v = declare_loop_variable(c, s, type_int(8, true));
	v->is_captured |= callback;
	check_loop_body(c, s->body,
			callback ? LOOP_CALLBACK_ROUNDS : MAX(loop_range_rounds(s), 1u));
	c->callback_depth -= callback;
	check_scope_end(c);
}
