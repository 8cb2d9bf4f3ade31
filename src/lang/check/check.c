/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The driver of the checker: passes over all units until nothing new is learnt, then one that
 * reports errors.
 */
#include "lang/check/internal.h"
#include "base/nearest.h"

#include <stdio.h>

/* Passes that a script without maps may need; every map may need two more. */
#define CHECK_MAX_PASSES 10
/* More errors than anybody reads; a wildcard with hundreds of layouts would repeat itself. */
#define CHECK_MAX_ERRORS 20

static bool same_span(struct span a, struct span b)
{
	return a.begin == b.begin && a.end == b.end && a.file == b.file;
}

/* One body may be checked once per context layout: each message is reported once. */
static bool was_said(const struct diag *d, enum diag_level level, struct span at, const char *text)
{
	for (size_t i = 0; i < d->messages.len; i++) {
		const struct diag_message *m = &d->messages.items[i];

		if (m->level == level && same_span(m->span, at) && str_eq(m->text, text))
			return true;
	}
	return false;
}

static char *format_text(struct check *c, const char *fmt, va_list ap)
{
	va_list copy;
	char *text;
	int n;

	va_copy(copy, ap);
	n = vsnprintf(NULL, 0, fmt, copy);
	va_end(copy);
	text = arena_alloc(c->arena, (size_t)MAX(n, 0) + 1);
	vsnprintf(text, (size_t)MAX(n, 0) + 1, fmt, ap);
	/* The user does not see thread-local variables as maps. */
	for (char *at = text; (at = strstr(at, "@self."));)
		memmove(at, at + 1, strlen(at));
	return text;
}

static void say(struct check *c, enum diag_level level, struct span at, const char *fmt, va_list ap)
{
	const char *text;

	c->said = false;
	if (!c->final)
		return;
	text = format_text(c, fmt, ap);
	c->failed |= level == DIAG_ERROR;
	if (was_said(c->diag, level, at, text) ||
	    (level == DIAG_ERROR && c->diag->errors >= CHECK_MAX_ERRORS))
		return;
	if (level == DIAG_ERROR)
		diag_error(c->diag, at, "%s", text);
	else
		diag_warning(c->diag, at, "%s", text);
	c->said = true;
}

void check_error(struct check *c, struct span at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(c, DIAG_ERROR, at, fmt, ap);
	va_end(ap);
}

void check_warning(struct check *c, struct span at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(c, DIAG_WARNING, at, fmt, ap);
	va_end(ap);
}

void check_hint(struct check *c, const char *fmt, ...)
{
	va_list ap;

	if (!c->final || !c->said)
		return;
	va_start(ap, fmt);
	diag_hint(c->diag, "%s", format_text(c, fmt, ap));
	va_end(ap);
}

void check_hint_nearest(struct check *c, const char *word, const char *const *candidates, size_t n)
{
	if (c->final && c->said)
		diag_hint_nearest(c->diag, word, candidates, n);
}

/* An error inside of e already says why it has no type. */
static bool has_error_inside(const struct check *c, const struct expr *e)
{
	for (size_t i = 0; i < c->diag->messages.len; i++) {
		const struct diag_message *m = &c->diag->messages.items[i];

		if (m->level == DIAG_ERROR && m->span.file == e->span.file &&
		    m->span.begin >= e->span.begin && m->span.end <= e->span.end)
			return true;
	}
	return false;
}

bool check_known(struct check *c, struct expr *e)
{
	if (e->type && !type_is(e->type, TYPE_NONE))
		return true;
	if (!c->final || has_error_inside(c, e))
		return false;
	if (e->kind == EXPR_MAP || (e->kind == EXPR_INDEX && e->map))
		check_error(c, e->span, "Undefined map: @%s", e->map ? e->map->name : e->name);
	else if (e->kind == EXPR_VARIABLE && e->variable && e->variable->is_parameter && c->failed)
		return false; /* an error about its type was reported */
	else if (e->kind == EXPR_VARIABLE && e->variable)
		check_error(c, e->span, "Could not resolve the type of this variable");
	else if (e->kind == EXPR_VARIABLE)
		check_error(c, e->span, "Undefined or undeclared variable: $%s",
			    check_variable_name(e->name));
	else if (e->kind == EXPR_CALL)
		check_error(c, e->span, "%s() gives no value", e->name);
	else
		check_error(c, e->span, "The type of this expression is not known");
	return false;
}

static void check_unit(struct check *c, struct unit *u)
{
	struct check_scopes scopes = {0};

	c->unit = u;
	c->scopes = &scopes;
	c->loop_depth = c->callback_depth = 0;
	c->loop_rounds = 1;
	check_scope_begin(c);
	if (u->predicate) {
		check_expr(c, u->predicate);
		check_condition(c, u->predicate);
	}
	check_block(c, u->body);
	check_scope_end(c);
	c->scopes = NULL;
	c->unit = NULL;
}

static void check_pass(struct check *c)
{
	c->changed = false;
	for (size_t i = 0; i < c->units.len; i++)
		check_unit(c, c->units.items[i]);
}

static void check_unused_maps(struct check *c)
{
	hashmap_each (&c->maps, e) {
		struct map_symbol *m = e->value;

		if (m->declared_type && !m->is_read && !m->is_written)
			check_warning(c, m->span, "Unused map: @%s", m->name);
		if (!m->is_default || m->is_written)
			continue;
		check_warning(c, m->span,
			      "@%s is read, but nothing is ever assigned to it: it is 0", m->name);
		check_hint_map(c, m->name);
	}
}

/* Passes until nothing new is learnt: maps may get their types from each other in any order. */
static void check_settle(struct check *c)
{
	for (u32 i = 0; i < CHECK_MAX_PASSES + 2 * c->maps.len; i++) {
		check_pass(c);
		if (!c->changed)
			break;
	}
}

int check_units(struct check *c)
{
	c->final = false;
	c->failed = false;
	do
		check_settle(c);
	while (check_default_maps(c));
	c->final = true;
	check_pass(c);
	check_unused_maps(c);
	return c->failed ? -EINVAL : 0;
}

bool check_constant(struct expr *e, s64 *ret)
{
	if (!e->is_comptime_known || !e->type || !type_is_integer(e->type))
		return false;
	*ret = e->integer;
	return true;
}

static const char *kind_word(const struct type *t)
{
	static const char *const words[TYPE_KIND_COUNT] = {
		[TYPE_NONE] = "none",	  [TYPE_VOID] = "void",	    [TYPE_INT] = "int",
		[TYPE_BOOL] = "bool",	  [TYPE_ENUM] = "enum",	    [TYPE_POINTER] = "pointer",
		[TYPE_ARRAY] = "array",	  [TYPE_STRUCT] = "struct", [TYPE_UNION] = "union",
		[TYPE_STRING] = "string", [TYPE_BUFFER] = "buffer", [TYPE_TUPLE] = "tuple",
		[TYPE_RECORD] = "record", [TYPE_KSTACK] = "kstack", [TYPE_USTACK] = "ustack",
	};

	return words[t->kind];
}

const char *check_kind_text(struct check *c, const struct type *t)
{
	const char *word = kind_word(t);

	return word ? word : check_type_text(c, t);
}

bool check_arg_integer(struct check *c, struct expr *call, u32 n)
{
	struct expr *arg = call->args[n];

	if (!check_known(c, arg))
		return false;
	if (type_is_integer(arg->type))
		return true;
	check_error(c, arg->span, "%s() only supports int arguments (%s provided)", call->name,
		    check_kind_text(c, arg->type));
	return false;
}

bool check_arg_pointer_or_integer(struct check *c, struct expr *call, u32 n)
{
	struct expr *arg = call->args[n];

	if (!check_known(c, arg))
		return false;
	if (type_is_integer(arg->type) || type_is(arg->type, TYPE_POINTER))
		return true;
	check_error(c, arg->span, "%s() expects an integer or pointer argument (%s provided)",
		    call->name, check_kind_text(c, arg->type));
	return false;
}

bool check_arg_literal_string(struct check *c, struct expr *call, u32 n)
{
	struct expr *arg = call->args[n];

	if (arg->kind == EXPR_STRING || (arg->is_comptime_known && arg->string.data))
		return true;
	check_error(c, arg->span, "%s() expects a string literal (%s provided)", call->name,
		    arg->type ? check_kind_text(c, arg->type) : "none");
	if (arg->kind == EXPR_POSITIONAL)
		check_hint(c, "use str($%" PRId64 ") to treat $%" PRId64 " as a string",
			   arg->integer, arg->integer);
	return false;
}

bool check_arg_constant(struct check *c, struct expr *call, u32 n, s64 *ret)
{
	struct expr *arg = call->args[n];

	if (check_constant(arg, ret))
		return true;
	if (check_known(c, arg))
		check_error(c, arg->span, "%s() expects a int literal (%s provided)", call->name,
			    check_kind_text(c, arg->type));
	return false;
}
