/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The language's own macros. A call becomes a copy of the macro's body as an EXPR_BLOCK in which
 * parameters are replaced:
 *
 *	$x  by the caller's variable, @x by the caller's map,
 *	x   by the argument's expression (a variable or map in a block of its own, so that it cannot
 *	    be assigned to) or, where a type may stand, by the type of a typeof() argument.
 *
 * Variables that the body itself assigns are renamed, maps that were not passed are refused.
 */
#include "lang/syntax/ast_walk.h"
#include "lang/builtin/builtin.h"
#include "lang/syntax/parse.h"
#include "lang/check/thread_local.h"

#define MACRO_MAX_NODES 100000 /* of all expansions of a script */

struct expander {
	struct arena *arena;
	struct diag *diag;
	const struct ast *ast;
	u32 nodes, expansions;
	u32 depth; /* of the tree that is being built */
	bool failed;
};

/* One expansion, or the script itself (macro NULL). */
struct frame {
	struct ast_walk walk;
	struct expander *x;
	const struct frame *caller;
	const struct macro *macro;
	struct expr *const *args;
	u32 number;
	u16 file; /* for the spans of what the macro becomes */
	struct hashmap assigned; /* names of variables that the body assigns */
};

static void visit(struct ast_walk *w, struct expr **slot);
static void visit_stmt(struct ast_walk *w, struct stmt **slot);

/* --- finding the macro --- */

static bool fits(const struct macro *m, const struct expr *call)
{
	if (m->nparams != call->nargs)
		return false;
	for (u32 i = 0; i < m->nparams; i++) {
		const enum expr_kind kind = m->params[i]->kind;

		if (kind != EXPR_NAME && call->args[i]->kind != kind)
			return false;
	}
	return true;
}

static const char *kind_word(const struct expr *e)
{
	return e->kind == EXPR_VARIABLE ? "a variable"
	       : e->kind == EXPR_MAP	? "a map"
					: "an expression";
}

static void explain_mismatch(struct expander *x, const struct expr *call, const struct macro *m)
{
	if (m->is_function) {
		diag_error(x->diag, call->span, "Function `%s` requires %u argument%s, got %s%u",
			   m->name, m->nparams, plural(m->nparams),
			   call->nargs < m->nparams ? "only " : "", call->nargs);
		x->failed = true;
		return;
	}
	diag_error(x->diag, call->span,
		   "Call to %s() has arguments that do not match any definition.", m->name);
	x->failed = true;
	if (m->nparams != call->nargs) {
		diag_error(x->diag, m->span,
			   "The closest definition of %s() has a different number of arguments. "
			   "Expected: %u but got %u",
			   m->name, m->nparams, call->nargs);
		return;
	}
	for (u32 i = 0; i < m->nparams; i++) {
		const struct expr *param = m->params[i], *arg = call->args[i];

		if (param->kind == EXPR_NAME || arg->kind == param->kind)
			continue;
		diag_error(x->diag, arg->span,
			   "Mismatched arg. %s() expects %s for arg %s%s but got %s.", m->name,
			   kind_word(param), param->kind == EXPR_MAP ? "@" : "$", param->name,
			   kind_word(arg));
		diag_error(x->diag, param->span, "This is the argument in the closest definition.");
	}
}

/* NULL: not a macro (or an error). */
static const struct macro *find(struct expander *x, const struct expr *call)
{
	const struct macro *same_name = NULL;

	for (u32 i = 0; i < x->ast->nmacros; i++) {
		const struct macro *m = &x->ast->macros[i];

		if (!str_eq(m->name, call->name))
			continue;
		if (fits(m, call)) {
			x->ast->macros[i].is_called = true;
			return m;
		}
		same_name = m;
	}
	if (same_name && !builtin_find(call->name))
		explain_mismatch(x, call, same_name);
	return NULL;
}

/* --- names within a body --- */

static void collect_target(struct frame *f, const struct expr *target)
{
	if (target && target->kind == EXPR_VARIABLE)
		hashmap_puts(&f->assigned, target->name, f);
}

static void collect_expr(struct ast_walk *w, struct expr **slot)
{
	ast_walk_children(w, *slot);
}

static void collect_stmt(struct ast_walk *w, struct stmt **slot)
{
	struct frame *f = container_of(w, struct frame, walk);

	collect_target(f, (*slot)->target);
	ast_walk_stmt(w, *slot);
}

static u32 find_param(const struct frame *f, enum expr_kind kind, const char *name)
{
	if (f->macro)
		for (u32 i = 0; i < f->macro->nparams; i++)
			if (f->macro->params[i]->kind == kind &&
			    str_eq(f->macro->params[i]->name, name))
				return i;
	return UINT32_MAX;
}

static void rename_variable(struct frame *f, struct expr *e)
{
	const u32 param = find_param(f, EXPR_VARIABLE, e->name);

	if (param != UINT32_MAX)
		e->name = f->args[param]->name;
	else if (f->macro->is_function || hashmap_gets(&f->assigned, e->name))
		e->name = arena_printf(f->x->arena, "%s.%u.%s", f->macro->name, f->number, e->name);
}

static void rename_map(struct frame *f, struct expr *e)
{
	const u32 param = find_param(f, EXPR_MAP, e->name);

	if (f->macro->is_function || thread_local_is(e->name))
		return;
	if (param != UINT32_MAX) {
		e->name = f->args[param]->name;
		return;
	}
	diag_error(
		f->x->diag, e->span,
		"Unhygienic access to map: @%s. Maps must be passed into the macro as arguments.",
		e->name);
	f->x->failed = true;
}

/* --- types that are parameters --- */

/* The name of a type, with or without "struct ", if it is a parameter. */
static u32 find_type_param(const struct frame *f, const char *name, u32 *ret_prefix)
{
	const char *space = strchr(name, ' ');
	const u32 prefix = space && (str_starts(name, "struct ") || str_starts(name, "union ") ||
				     str_starts(name, "enum "))
				   ? (u32)(space - name) + 1
				   : 0;

	*ret_prefix = prefix;
	return find_param(f, EXPR_NAME, name + prefix);
}

static void replace_type(struct frame *f, struct type_name *t)
{
	u32 prefix = 0;
	const u32 param = t && t->name ? find_type_param(f, t->name, &prefix) : UINT32_MAX;
	const struct type_name own = t ? *t : (struct type_name){0};
	const struct expr *arg;
	const struct type_name *with;

	if (param == UINT32_MAX)
		return;
	arg = f->args[param];
	with = arg->kind == EXPR_TYPEOF ? arg->type_name : NULL;
	if (arg->kind == EXPR_NAME) {
		t->name = arena_printf(f->x->arena, "%.*s%s", (int)prefix, own.name, arg->name);
	} else if (with &&
		   (!prefix || (with->name && !strchr(with->name, ' ') && !with->pointers &&
				!with->dimensions)) &&
		   with->dimensions + own.dimensions <= ARRAY_SIZE(t->counts) &&
		   !(with->dimensions && own.pointers)) {
		t->name = with->name ? arena_printf(f->x->arena, "%.*s%s", (int)prefix, own.name,
						    with->name)
				     : NULL;
		t->typeof_expr = ast_clone_expr(f->x->arena, with->typeof_expr);
		t->pointers = with->pointers + own.pointers;
		t->dimensions = with->dimensions + own.dimensions;
		/* In C's order the outer dimension comes first. */
		for (u32 i = 0; i < with->dimensions; i++)
			t->counts[own.dimensions + i] =
				ast_clone_expr(f->x->arena, with->counts[i]);
	} else {
		diag_error(f->x->diag, arg->span,
			   "Invalid replacement for macro '%s' type parameter '%s' which makes up "
			   "the type '%s'",
			   f->macro->name, f->macro->params[param]->name, own.name);
		f->x->failed = true;
	}
}

/* sizeof(t), offsetof(t, ...), typeof(t): a name there is a parameter, a variable or a type, but no
 * macro. */
static bool replace_bare_type(struct frame *f, struct expr **left, struct type_name **ret_type)
{
	u32 param;

	if (!*left || (*left)->kind != EXPR_NAME)
		return false;
	param = find_param(f, EXPR_NAME, (*left)->name);
	if (param == UINT32_MAX)
		return true;
	if (f->args[param]->kind == EXPR_TYPEOF) {
		const struct expr *copy = ast_clone_expr(f->x->arena, f->args[param]);

		*ret_type = copy->type_name;
		*left = NULL;
	} else {
		*left = ast_clone_expr(f->x->arena, f->args[param]);
	}
	return true;
}

static const char *member_path(struct arena *a, const struct expr *e)
{
	if (e->kind == EXPR_NAME)
		return e->name;
	if (e->kind == EXPR_MEMBER && !e->is_arrow) {
		const char *left = member_path(a, e->left);

		return left ? arena_printf(a, "%s.%s", left, e->name) : NULL;
	}
	return NULL;
}

/* Also expressions within the type: the walk itself skips types. */
static void visit_type_name(struct frame *f, struct type_name *t)
{
	const u32 own = t ? t->dimensions : 0;

	if (!t)
		return;
	visit_type_name(f, t->inner);
	if (t->typeof_expr && t->typeof_expr->kind == EXPR_NAME) {
		struct type_name *with = NULL;

		replace_bare_type(f, &t->typeof_expr, &with);
		if (with) {
			with->pointers += t->pointers;
			*t = *with;
		}
		return;
	}
	if (t->typeof_expr)
		visit(&f->walk, &t->typeof_expr);
	for (u32 i = 0; i < own; i++)
		if (t->counts[i])
			visit(&f->walk, &t->counts[i]);
	replace_type(f, t);
}

static void visit_typed(struct frame *f, struct expr *e)
{
	if (e->kind == EXPR_OFFSETOF) {
		const u32 param = find_param(f, EXPR_NAME, e->name);
		const char *path =
			param == UINT32_MAX ? NULL : member_path(f->x->arena, f->args[param]);

		if (path)
			e->name = path;
	}
	if (e->type_name)
		visit_type_name(f, e->type_name);
	else if (e->kind != EXPR_CAST && replace_bare_type(f, &e->left, &e->type_name))
		return;
	ast_walk_children(&f->walk, e);
}

/* --- expansion --- */

static bool count_node(void *count, struct expr *e)
{
	++*(u32 *)count;
	return true;
}

static u32 count_nodes(const struct expr *e)
{
	u32 n = 0;

	ast_each_expr_in((struct expr *)e, count_node, &n);
	return n;
}

/* Counts nodes about to be copied; false after reporting the error. */
static bool charge(struct expander *x, struct span at, u32 nodes)
{
	if (nodes > MACRO_MAX_NODES - x->nodes) {
		if (!x->failed)
			diag_error(x->diag, at, "macros expand to more than %d expressions",
				   MACRO_MAX_NODES);
		x->failed = true;
		return false;
	}
	x->nodes += nodes;
	return true;
}

static bool is_recursive(const struct frame *f, const struct macro *m, struct span at)
{
	const struct frame *outer = f;
	struct strbuf chain = STRBUF_INIT;

	while (outer && outer->macro != m)
		outer = outer->caller;
	if (!outer)
		return false;
	strbuf_addstr(&chain, m->name);
	for (; f != outer; f = f->caller) {
		char *rest = xasprintf("%s > %s", f->macro->name, chain.data);

		strbuf_reset(&chain);
		strbuf_addstr(&chain, rest);
		free(rest);
	}
	diag_error(f->x->diag, at, "Recursive %s call detected. Call chain: %s > %s",
		   m->is_function ? "function" : "macro", m->name, chain.data);
	f->x->failed = true;
	strbuf_release(&chain);
	return true;
}

/* A macro that is a single literal may stand where a literal is required. */
static bool is_literal_block(const struct expr *e)
{
	return !e->block->count && e->left &&
	       (e->left->kind == EXPR_STRING || e->left->kind == EXPR_INTEGER ||
		e->left->kind == EXPR_BOOL);
}

static void expand(struct frame *f, struct expr **slot, const struct macro *m)
{
	struct expr *call = *slot, *e = arena_new(f->x->arena, struct expr);
	struct frame inner = {
		.walk = {.expr = collect_expr, .stmt = collect_stmt, .skip_types = true},
		.x = f->x,
		.caller = f,
		.macro = m,
		.args = call->args,
		.number = ++f->x->expansions,
		.file = m->is_function ? m->span.file
				       : diag_add_expansion(f->x->diag, m->span.file, call->span)};
	const struct expr body = {.kind = EXPR_BLOCK, .block = m->body, .left = m->value};

	if (is_recursive(f, m, call->span) || !charge(f->x, call->span, count_nodes(&body)))
		return;
	*e = (struct expr){.kind = EXPR_BLOCK, .span = call->span, .in_parens = call->in_parens};
	e->block = ast_clone_block(f->x->arena, m->body);
	e->left = ast_clone_expr(f->x->arena, m->value);
	ast_walk_children(&inner.walk, e);
	inner.walk.expr = visit;
	inner.walk.stmt = visit_stmt;
	ast_walk_children(&inner.walk, e);
	hashmap_release(&inner.assigned);
	*slot = is_literal_block(e) ? e->left : e;
}

/* A bare name that is a parameter. */
static void replace_name(struct frame *f, struct expr **slot, u32 param)
{
	struct expr *arg = f->args[param], *e;

	if (!charge(f->x, arg->span, count_nodes(arg)))
		return;
	e = ast_clone_expr(f->x->arena, arg);
	if (e->kind == EXPR_VARIABLE || e->kind == EXPR_MAP) {
		struct expr *block = arena_new(f->x->arena, struct expr);

		block->kind = EXPR_BLOCK;
		block->span = e->span;
		block->block = arena_new(f->x->arena, struct block);
		block->block->span = e->span;
		block->left = e;
		e = block;
	}
	*slot = e;
}

static void visit_call(struct frame *f, struct expr **slot)
{
	struct expr *e = *slot;
	const u32 param = e->kind == EXPR_NAME ? find_param(f, EXPR_NAME, e->name) : UINT32_MAX;
	const struct macro *m;

	if (param != UINT32_MAX) {
		replace_name(f, slot, param);
		return;
	}
	ast_walk_children(&f->walk, e);
	m = f->x->failed ? NULL : find(f->x, e);
	if (m)
		expand(f, slot, m);
}

static void visit(struct ast_walk *w, struct expr **slot)
{
	struct frame *f = container_of(w, struct frame, walk);
	struct expr *e = *slot;

	if (f->x->failed)
		return;
	if (++f->x->depth > LANG_MAX_DEPTH) {
		diag_error(f->x->diag, e->span, "macros are nested too deeply (limit %d)",
			   LANG_MAX_DEPTH);
		f->x->failed = true;
		return;
	}
	if (f->macro && e->span.file == f->macro->span.file)
		e->span.file = e->name_span.file = f->file;
	if (e->kind == EXPR_NAME || e->kind == EXPR_CALL) {
		visit_call(f, slot);
	} else if (e->kind == EXPR_SIZEOF || e->kind == EXPR_OFFSETOF || e->kind == EXPR_TYPEOF ||
		   e->kind == EXPR_CAST) {
		visit_typed(f, e);
	} else {
		if (e->kind == EXPR_VARIABLE && f->macro)
			rename_variable(f, e);
		else if (e->kind == EXPR_MAP && f->macro)
			rename_map(f, e);
		ast_walk_children(w, e);
	}
	f->x->depth--;
}

static void visit_stmt(struct ast_walk *w, struct stmt **slot)
{
	struct frame *f = container_of(w, struct frame, walk);
	struct stmt *s = *slot;
	const bool was_plain = s->kind == STMT_EXPR &&
			       (s->value->kind == EXPR_NAME || s->value->kind == EXPR_CALL);

	if (f->x->failed)
		return;
	if (s->kind == STMT_LET && f->macro &&
	    find_param(f, EXPR_VARIABLE, s->target->name) != UINT32_MAX) {
		diag_error(f->x->diag, s->target->span,
			   "Variable declaration shadows macro arg $%s", s->target->name);
		f->x->failed = true;
		return;
	}
	if (f->macro && s->span.file == f->macro->span.file)
		s->span.file = f->file;
	f->x->depth++;
	visit_type_name(f, s->type_name);
	if (s->kind == STMT_ASSIGN && s->target->kind == EXPR_NAME) {
		struct expr *target = s->target; /* `_` is no macro */

		s->target = NULL;
		ast_walk_stmt(w, s);
		s->target = target;
	} else {
		ast_walk_stmt(w, s);
	}
	f->x->depth--;
	if (was_plain && s->value->kind == EXPR_BLOCK)
		*slot = ast_statement_of(f->x->arena, s->value);
}

/* A parameter's name, and the prefix before it. */
static const char *const *argument_words(const struct macro *m, const struct expr *param)
{
	static const char *const words[][2] = {{"Map", "@"}, {"Variable", "$"}, {"Ident", ""}};

	return words[param->kind == EXPR_MAP			      ? 0
		     : param->kind == EXPR_VARIABLE || m->is_function ? 1
								      : 2];
}

static void check_definitions(struct expander *x)
{
	for (u32 i = 0; i < x->ast->nmacros && !x->failed; i++) {
		const struct macro *m = &x->ast->macros[i];
		struct expr call = {
			.kind = EXPR_CALL, .name = m->name, .args = m->params, .nargs = m->nparams};

		for (u32 j = 0; j < i && !x->failed; j++) {
			if (!str_eq(x->ast->macros[j].name, m->name) ||
			    !fits(&x->ast->macros[j], &call))
				continue;
			diag_error(x->diag, m->span, "Redefinition of %s: %s",
				   m->is_function ? "function" : "macro", m->name);
			x->failed = true;
		}
		for (u32 j = 0; j < m->nparams && !m->is_function; j++) {
			const struct builtin *b = m->params[j]->kind == EXPR_NAME
							  ? builtin_find(m->params[j]->name)
							  : NULL;

			if (!b || !(b->flags & BUILTIN_VARIABLE))
				continue;
			diag_error(x->diag, m->params[j]->span,
				   "syntax: builtin '%s' can't be used as a macro argument",
				   b->name);
			x->failed = true;
		}
		for (u32 j = 0; j < m->nparams; j++)
			for (u32 k = 0; k < j && !x->failed; k++) {
				const char *const *words = argument_words(m, m->params[j]);

				if (m->params[j]->kind != m->params[k]->kind ||
				    !str_eq(m->params[j]->name, m->params[k]->name))
					continue;
				diag_error(x->diag, m->params[j]->span,
					   "%s for %s argument has already been used: %s%s",
					   words[0], m->is_function ? "function" : "macro",
					   words[1], m->params[j]->name);
				x->failed = true;
			}
	}
}

/* The body of a function, for arguments of which only the types are known. */
static void add_uncalled(struct frame *script, struct macro *m, struct ast *ast)
{
	struct expander *x = script->x;
	struct expr *call = arena_new(x->arena, struct expr), *e = call;
	struct probe *p = &ast->uncalled[ast->nuncalled];

	call->kind = EXPR_CALL;
	call->span = m->span;
	call->name = m->name;
	call->nargs = m->nparams;
	call->args = arena_new_array(x->arena, struct expr *, m->nparams + 1);
	for (u32 i = 0; i < m->nparams; i++) {
		call->args[i] = arena_new(x->arena, struct expr);
		call->args[i]->kind = EXPR_INTEGER;
		call->args[i]->span = m->span;
	}
	expand(script, &e, m);
	if (x->failed || e->kind != EXPR_BLOCK)
		return;
	for (u32 i = 0; i < m->nparams; i++)
		e->block->stmts[i]->value = NULL;
	p->span = m->span;
	p->body = e->block;
	ast->nuncalled++;
}

int ast_expand_macros(struct arena *arena, struct diag *diag, struct ast *ast)
{
	struct expander x = {.arena = arena, .diag = diag, .ast = ast};
	struct frame script = {.walk = {.expr = visit, .stmt = visit_stmt, .skip_types = true},
			       .x = &x};

	if (!ast->nmacros)
		return 0;
	check_definitions(&x);
	for (u32 i = 0; i < ast->nprobes && !x.failed; i++) {
		if (ast->probes[i].predicate)
			visit(&script.walk, &ast->probes[i].predicate);
		ast_walk_block(&script.walk, ast->probes[i].body);
	}
	ast->uncalled = arena_new_array(arena, struct probe, ast->nmacros);
	for (u32 i = 0; i < ast->nmacros && !x.failed; i++)
		if (ast->macros[i].is_function && !ast->macros[i].is_called)
			add_uncalled(&script, &ast->macros[i], ast);
	return x.failed ? -EINVAL : 0;
}
