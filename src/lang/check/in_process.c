/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/check/in_process.h"

#include "base/hashmap.h"
#include "lang/builtin/builtin.h"
#include "probe/probe.h"

/* What the interpreter in the process supports (lib/vm.h). */
static const char *const names[] = {"args", "pid", "tid",   "comm", "uid",
				    "gid",  "cpu", "nsecs", NULL};
static const char *const functions[] = {"str",	  "strncmp", "pid",   "tid",   "int8",
					"int16",  "int32",   "int64", "uint8", "uint16",
					"uint32", "uint64",  "nsecs", NULL};
static const char *const counters[] = {"count", "sum",	"avg",	 "stats", "min",
				       "max",	"hist", "lhist", NULL};
/* Functions that take a whole map: the engine runs them. */
static const char *const reports[] = {"print", "clear", "zero", NULL};

static bool is_one_of(const char *const *words, const char *word)
{
	for (; *words; words++)
		if (word && str_eq(*words, word))
			return true;
	return false;
}

static bool is_map(const struct expr *e)
{
	return e->kind == EXPR_MAP || (e->kind == EXPR_INDEX && e->left->kind == EXPR_MAP);
}

static const char *map_name(const struct expr *e)
{
	return e->kind == EXPR_MAP ? e->name : e->left->name;
}

static bool is_counting(const struct stmt *s)
{
	if (s->kind == STMT_ASSIGN)
		return s->target && is_map(s->target) && s->op == OP_NONE && s->value &&
		       s->value->kind == EXPR_CALL && is_one_of(counters, s->value->name);
	return s->kind == STMT_EXPR && s->value && s->value->kind == EXPR_INCREMENT &&
	       is_map(s->value->left);
}

/* ---- maps that kernel programs look into ---- */

struct uses {
	struct hashmap *bound; /* names of maps that only the kernel can have */
};

static void bind(struct uses *u, const struct expr *map)
{
	hashmap_puts(u->bound, map_name(map), (void *)(uintptr_t)map_name(map));
}

static bool find_use(void *arg, struct expr *e)
{
	struct uses *u = arg;

	if (e->kind == EXPR_CALL && is_one_of(reports, e->name)) {
		for (u32 i = 0; i < e->nargs; i++) {
			if (i || !is_map(e->args[i])) {
				ast_each_expr_in(e->args[i], find_use, u);
				continue;
			}
			for (u32 k = 0; e->args[i]->kind == EXPR_INDEX && k < e->args[i]->nargs;
			     k++)
				ast_each_expr_in(e->args[i]->args[k], find_use, u);
		}
		return false;
	}
	if (is_map(e))
		bind(u, e);
	return true;
}

static void find_uses(struct uses *u, const struct block *b);

static void find_uses_in(struct uses *u, struct expr *e)
{
	if (e)
		ast_each_expr_in(e, find_use, u);
}

static void find_uses_of_keys(struct uses *u, struct expr *map)
{
	for (u32 i = 0; map->kind == EXPR_INDEX && i < map->nargs; i++)
		find_uses_in(u, map->args[i]);
}

static void find_uses(struct uses *u, const struct block *b)
{
	for (u32 i = 0; b && i < b->count; i++) {
		struct stmt *s = b->stmts[i];

		if (is_counting(s)) {
			find_uses_of_keys(u, s->kind == STMT_ASSIGN ? s->target : s->value->left);
			for (u32 k = 0; s->kind == STMT_ASSIGN && k < s->value->nargs; k++)
				find_uses_in(u, s->value->args[k]);
			continue;
		}
		find_uses_in(u, s->target);
		find_uses_in(u, s->value);
		find_uses_in(u, s->condition);
		find_uses_in(u, s->range_begin);
		find_uses_in(u, s->range_end);
		find_uses(u, s->body);
		find_uses(u, s->else_body);
	}
}

/* ---- bodies ---- */

static bool expr_fits(const struct expr *e);

static bool all_fit(struct expr *const *args, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (!expr_fits(args[i]))
			return false;
	return true;
}

static bool is_args(const struct expr *e)
{
	return e->kind == EXPR_NAME && str_eq(e->name, "args");
}

static bool expr_fits(const struct expr *e)
{
	switch (e->kind) {
	case EXPR_INTEGER:
	case EXPR_STRING:
	case EXPR_BOOL:
	case EXPR_VARIABLE:
	case EXPR_POSITIONAL:
		return true;
	case EXPR_NAME:
		return is_one_of(names, e->name) || !builtin_find(e->name);
	case EXPR_MEMBER:
		return is_args(e->left);
	case EXPR_UNARY:
		return e->op != OP_DEREF && e->op != OP_ADDRESS && expr_fits(e->left);
	case EXPR_CAST:
		return expr_fits(e->left);
	case EXPR_BINARY:
		return expr_fits(e->left) && expr_fits(e->right);
	case EXPR_TERNARY:
		return expr_fits(e->condition) && (!e->left || expr_fits(e->left)) &&
		       expr_fits(e->right);
	case EXPR_TUPLE:
		return all_fit(e->args, e->nargs);
	case EXPR_INDEX:
		return e->left->kind == EXPR_MEMBER && is_args(e->left->left) &&
		       all_fit(e->args, e->nargs);
	case EXPR_CALL:
		return is_one_of(functions, e->name) && all_fit(e->args, e->nargs);
	default:
		return false;
	}
}

static bool keys_fit(const struct expr *map, struct hashmap *bound)
{
	return !hashmap_gets(bound, map_name(map)) &&
	       (map->kind != EXPR_INDEX || all_fit(map->args, map->nargs));
}

static bool block_fits(const struct block *b, struct hashmap *bound, bool *counts);

static bool stmt_fits(const struct stmt *s, struct hashmap *bound, bool *counts)
{
	if (is_counting(s)) {
		*counts = true;
		return s->kind == STMT_EXPR ? keys_fit(s->value->left, bound)
					    : keys_fit(s->target, bound) &&
						      all_fit(s->value->args, s->value->nargs);
	}
	switch (s->kind) {
	case STMT_ASSIGN:
		return s->target && s->target->kind == EXPR_VARIABLE && expr_fits(s->value);
	case STMT_LET:
		return (!s->value || expr_fits(s->value)) && !s->type_name;
	case STMT_IF:
		return expr_fits(s->condition) && block_fits(s->body, bound, counts) &&
		       block_fits(s->else_body, bound, counts);
	case STMT_BLOCK:
		return block_fits(s->body, bound, counts);
	case STMT_RETURN:
		return !s->value && !s->target;
	default:
		return false;
	}
}

static bool block_fits(const struct block *b, struct hashmap *bound, bool *counts)
{
	for (u32 i = 0; b && i < b->count; i++)
		if (!stmt_fits(b->stmts[i], bound, counts))
			return false;
	return !b || !b->function;
}

static bool is_user_probe(const struct probe *p)
{
	for (u32 i = 0; i < p->nattach; i++) {
		const struct attach_point *a = &p->attach_points[i];
		const struct probe_provider *provider =
			a->count ? probe_find_provider(a->parts[0]) : NULL;

		if (!provider || !provider->in_process)
			return false;
	}
	return p->nattach;
}

void in_process_choose(struct ast *ast)
{
	struct hashmap bound = {0};
	struct uses u = {.bound = &bound};

	for (u32 i = 0; i < ast->nmaps; i++)
		hashmap_puts(&bound, ast->maps[i].name, (void *)(uintptr_t)ast->maps[i].name);
	for (u32 i = 0; i < ast->nprobes; i++) {
		find_uses_in(&u, ast->probes[i].predicate);
		find_uses(&u, ast->probes[i].body);
	}
	for (u32 i = 0; i < ast->nprobes; i++) {
		struct probe *p = &ast->probes[i];
		bool counts = false;

		p->in_process = is_user_probe(p) && (!p->predicate || expr_fits(p->predicate)) &&
				block_fits(p->body, &bound, &counts) && counts;
	}
	hashmap_release(&bound);
}

struct probe *in_process_filter(struct arena *arena, const struct probe *p)
{
	struct expr *one;
	struct stmt *result;
	struct probe *filter;

	if (p->in_process || !p->predicate || !is_user_probe(p) || !expr_fits(p->predicate))
		return NULL;
	one = arena_new(arena, struct expr);
	*one = (struct expr){.kind = EXPR_INTEGER, .span = p->span, .integer = 1};
	result = arena_new(arena, struct stmt);
	*result = (struct stmt){.kind = STMT_RETURN, .span = p->span, .value = one};
	filter = arena_new(arena, struct probe);
	*filter = *p;
	filter->predicate = ast_clone_expr(arena, p->predicate);
	filter->body = arena_new(arena, struct block);
	filter->body->span = p->span;
	filter->body->stmts = arena_new(arena, struct stmt *);
	filter->body->stmts[0] = result;
	filter->body->count = 1;
	return filter;
}
