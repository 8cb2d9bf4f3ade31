/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Thread-local variables. The parser turns `self.x` into an element of the map "self.x" (no @map
 * can have such a name) with the thread's id as its key. This file adds two probes to the script
 * that delete a thread's elements: when it exits, and when a thread with the same id is created,
 * because probes may still fire in a thread after its exit probe.
 */
#include "lang/check/thread_local.h"

#include "lang/check/check.h"

struct thread_locals {
	struct arena *arena;
	VECTOR(struct expr *) uses; /* one for each name */
};

bool thread_local_is(const char *map)
{
	return str_starts(map, "self.");
}

static bool find_use(void *arg, struct expr *e)
{
	struct thread_locals *t = arg;

	if (e->kind != EXPR_MAP || !thread_local_is(e->name))
		return true;
	for (size_t i = 0; i < t->uses.len; i++)
		if (str_eq(t->uses.items[i]->name, e->name))
			return true;
	vector_push(&t->uses, e);
	return true;
}

static struct expr *node(struct arena *a, enum expr_kind kind, const char *name, struct span at)
{
	struct expr *e = arena_new(a, struct expr);

	e->kind = kind;
	e->name = name;
	e->span = e->name_span = at;
	return e;
}

static struct expr *with_args(struct arena *a, struct expr *e, u32 n)
{
	e->args = arena_new_array(a, struct expr *, n + 1);
	e->nargs = n;
	return e;
}

struct expr *thread_local_element(struct arena *a, const char *name, struct span at)
{
	struct expr *e = with_args(a, node(a, EXPR_INDEX, NULL, at), 1);

	e->left = node(a, EXPR_MAP, arena_printf(a, "self.%s", name), at);
	e->args[0] = with_args(a, node(a, EXPR_CALL, "tid", at), 1);
	e->args[0]->args[0] = node(a, EXPR_NAME, "init", at);
	return e;
}

/*
 * tracepoint:sched:EVENT { __forget(@self.x[KEY], ...) }; KEY: the current thread, or a field of
 * the event.
 */
static void add_probe(struct thread_locals *t, struct probe *p, const char *event,
		      const char *field)
{
	const struct span at = t->uses.items[0]->span;
	struct expr *call =
		with_args(t->arena, node(t->arena, EXPR_CALL, "__forget", at), (u32)t->uses.len);
	struct stmt *s = arena_new(t->arena, struct stmt);

	for (u32 i = 0; i < t->uses.len; i++) {
		const struct expr *use = t->uses.items[i];
		struct expr *e = thread_local_element(t->arena, use->name + 5, use->span);

		if (field) {
			e->args[0] = node(t->arena, EXPR_MEMBER, field, use->span);
			e->args[0]->left = node(t->arena, EXPR_NAME, "args", use->span);
		}
		call->args[i] = e;
	}
	*s = (struct stmt){.kind = STMT_EXPR, .span = at, .value = call};
	*p = (struct probe){.span = at, .nattach = 1, .is_internal = true};
	p->attach_points = arena_new(t->arena, struct attach_point);
	p->attach_points->span = at;
	p->attach_points->text = arena_printf(t->arena, "tracepoint:sched:%s", event);
	p->attach_points->count = 3;
	p->attach_points->parts = arena_new_array(t->arena, const char *, 3);
	p->attach_points->parts[0] = "tracepoint";
	p->attach_points->parts[1] = "sched";
	p->attach_points->parts[2] = event;
	p->body = arena_new(t->arena, struct block);
	p->body->span = at;
	p->body->count = 1;
	p->body->stmts = arena_new(t->arena, struct stmt *);
	p->body->stmts[0] = s;
}

static bool is_begin_end(const struct probe *p)
{
	for (u32 i = 0; i < p->nattach; i++) {
		const struct probe_provider *provider =
			probe_find_provider(p->attach_points[i].parts[0]);

		if (!provider || !provider->runs_once)
			return false;
	}
	return true;
}

/* They come last: the script's own probes of the same event still see the values. */
void thread_locals_add_probes(struct arena *arena, struct ast *ast)
{
	struct thread_locals t = {.arena = arena};
	struct probe *probes;
	bool only_begin_end = true;

	for (u32 i = 0; i < ast->nprobes; i++) {
		if (ast->probes[i].predicate)
			ast_each_expr_in(ast->probes[i].predicate, find_use, &t);
		ast_each_expr(ast->probes[i].body, find_use, &t);
		only_begin_end &= is_begin_end(&ast->probes[i]);
	}
	if (t.uses.len && !only_begin_end) {
		probes = arena_new_array(arena, struct probe, ast->nprobes + 2);
		memcpy(probes, ast->probes, ast->nprobes * sizeof(*probes));
		add_probe(&t, &probes[ast->nprobes++], "sched_process_exit", NULL);
		add_probe(&t, &probes[ast->nprobes++], "sched_process_fork", "child_pid");
		ast->probes = probes;
	}
	vector_free(&t.uses);
}
