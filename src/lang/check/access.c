/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members, indexes, the probe's own `args`, and the source's `vars`. */
#include "binary/debug/lines.h"
#include "lang/builtin/util.h"
#include "lang/check/internal.h"
#include "probe/variables.h"

static bool is_builtin(const struct expr *e, const char *name)
{
	return (e->kind == EXPR_NAME || (e->kind == EXPR_CALL && e->nargs == 0)) && e->name &&
	       str_eq(e->name, name);
}

bool check_is_args(const struct expr *e)
{
	return is_builtin(e, "args");
}

bool check_is_vars(const struct expr *e)
{
	return is_builtin(e, "vars");
}

static void hint_members(struct check *c, const struct type *t, const char *name)
{
	VECTOR(const char *) names = {0};

	for (u32 i = 0; t->members && i < t->count; i++)
		if (t->members[i].name)
			vector_push(&names, t->members[i].name);
	check_hint_nearest(c, name, names.items, names.len);
	vector_free(&names);
}

bool check_readable(const struct location *at, const struct type *t)
{
	return at->kind != LOCATION_NONE && !type_is(t, TYPE_FLOAT);
}

/* Events of libpantrace have values of types that the language lacks. */
static bool is_user_event(const struct check *c)
{
	return c->unit && unit_provider(c->unit)->is_user_event;
}

static const char *word_for_argument(const struct check *c)
{
	return c->unit && unit_provider(c->unit)->has_fields ? "field" : "function parameter";
}

static void unreadable_hint(struct check *c, const struct location *at, const struct type *t)
{
	if (at->access && at->access->reason)
		check_hint(c, "%s", at->access->reason);
	else if (type_is(t, TYPE_FLOAT) && is_user_event(c))
		check_hint(c, "the language has no floating-point numbers; let the program give an "
			      "integer, as in PT_NAMED(permille, (int)(ratio * 1000))");
	else if (type_is(t, TYPE_FLOAT))
		check_hint(c, "the language has no floating-point numbers; as a part of a whole, "
			      "as in print(vars), it is shown");
	else if (type_is_record(t))
		check_hint(c, "it is passed in registers, and has no address");
	else
		check_hint(c, "it was optimised away, or is not in a register or in memory");
}

/* The value that a location says. */
static void check_located(struct check *c, struct expr *e, const struct location *at,
			  const struct type_member *m, const char *what)
{
	struct probe_context *context = &c->unit->context;

	if (!check_readable(at, m->type)) {
		check_error(c, e->span, "Can't read %s %s here", what, e->name);
		unreadable_hint(c, at, m->type);
	}
	e->location = at;
	e->type = check_field_type(c, m->type, context->space, m->is_user);
	e->space = context->space;
	if (type_is(e->type, TYPE_ARRAY) || type_is_record(e->type) ||
	    type_is(e->type, TYPE_STRING))
		e->space = location_is_in_register(at)	  ? SPACE_BPF
			   : context->space == SPACE_USER ? SPACE_USER
							  : SPACE_KERNEL;
}

bool check_has_variables(struct check *c, const struct expr *e)
{
	const struct unit *u = c->unit && !c->unit->subprogram ? c->unit : NULL;

	if (!u) {
		check_error(c, e->span, "Builtin %s not supported outside probe", "vars");
		return false;
	}
	if (!u->context.place) {
		check_error(c, e->span, "The vars builtin can not be used with this probe");
		check_hint(c,
			   u->context.is_return
				   ? "the function has returned: its variables are gone"
				   : "it shows the variables of programs, in uprobes, and of the "
				     "kernel, in kprobes");
		return false;
	}
	if (!u->context.place->at.file || !debug_available(u->context.place->at.file))
		return true;
	check_error(c, e->span, "%s has no debug information: its variables are not known",
		    elf_file_path(u->context.place->at.file));
	check_hint(c, "build it with -g, install its debug symbols, or name their place by "
		      "--debuginfo DIR");
	return false;
}

static void hint_variables(struct check *c, const char *name)
{
	VECTOR(const char *) names = {0};

	for (const struct probe_variable *v = probe_all_variables(c->unit->context.place, c->types);
	     v; v = v->next)
		vector_push(&names, v->is.name);
	check_hint_nearest(c, name, names.items, names.len);
	vector_free(&names);
}

/* A variable of the source, as debug info has it. */
static void check_vars_member(struct check *c, struct expr *e)
{
	struct probe_place *place = c->unit->context.place;
	const bool is_parameter = check_is_args(e->left);
	const struct probe_variable *v;
	struct type_member m = {0};

	c->unit->uses_args = true;
	e->left->type = type_none();
	if (!check_has_variables(c, e->left))
		return;
	if (probe_variable(place, c->types, e->name, &v) ||
	    (is_parameter && v->is.kind != DEBUG_PARAMETER)) {
		check_error(c, e->name_span, "No %s '%s' is visible here",
			    is_parameter ? "parameter" : "variable", e->name);
		if (!place->at.file)
			check_hint(c, "the cache's definition of this line says which are; one "
				      "with others can be added where the kernel has debug "
				      "information");
		else
			hint_variables(c, e->name);
		return;
	}
	m.type = v->is.type;
	check_located(c, e, &v->location, &m, is_parameter ? "parameter" : "variable");
}

/* A field of the event: in the record itself, or where the provider says. */
static void check_args_member(struct check *c, struct expr *e)
{
	struct probe_context *context = &c->unit->context;
	const struct type *args = context->args;
	const struct type_member *m;
	u32 offset = 0;

	if (!args && context->place) { /* in the middle of a function */
		check_vars_member(c, e);
		return;
	}
	c->unit->uses_args = true;
	e->left->type = args ? args : type_none();
	e->left->space = SPACE_CONTEXT;
	if (!args) {
		check_error(c, e->left->span, "The args builtin can not be used with this probe");
		check_hint(c, "its arguments are not known by name; arg0, arg1 ... may be");
		return;
	}
	type_complete(c->types, args);
	m = type_find_member(c->types, args, e->name, &offset);
	if (!m) {
		/* The kernel stores a pointer of its own there (perf_trace_run_bpf_submit). */
		if (context->kind == CONTEXT_TRACEPOINT && str_starts(e->name, "common_"))
			check_error(c, e->span,
				    "BPF does not support accessing common tracepoint fields");
		else if (context->kind == CONTEXT_TRACEPOINT)
			check_error(c, e->name_span, "The event has no field named '%s'", e->name);
		else
			check_error(c, e->name_span, "Can't find %s %s", word_for_argument(c),
				    e->name);
		hint_members(c, args, e->name);
		return;
	}
	e->member = m;
	e->member_offset = offset;
	e->location = NULL;
	e->space = SPACE_CONTEXT;
	if (context->in_process && type_is(m->type, TYPE_FLOAT)) {
		check_error(c, e->span, "Can't read %s %s here", word_for_argument(c), e->name);
		unreadable_hint(c, &(struct location){0}, m->type);
	}
	if (context->locations) {
		for (u32 i = 0; i < args->count; i++)
			if (&args->members[i] == m)
				check_located(c, e, &context->locations[i], m,
					      word_for_argument(c));
		if (!e->location) { /* inside of an anonymous one: it has no place of its own */
			e->type = check_field_type(c, m->type, context->space, m->is_user);
			e->space = context->space;
		}
		return;
	}
	if (m->is_data_loc || m->is_rel_loc) {
		const struct type *element =
			type_is(m->type, TYPE_ARRAY) ? m->type->element : m->type;

		e->type = type_pointer(c->types, element, SPACE_KERNEL);
		return;
	}
	e->type = check_field_type(c, m->type, SPACE_KERNEL, m->is_user);
	if (type_is_scalar(e->type))
		e->space = m->is_user ? SPACE_USER : SPACE_KERNEL;
}

static void check_tuple_member(struct check *c, struct expr *e, const struct type *t)
{
	for (u32 i = 0; i < t->count; i++) {
		if (!str_eq(t->members[i].name, e->name))
			continue;
		e->member = &t->members[i];
		e->member_offset = t->members[i].offset;
		e->type = t->members[i].type;
		e->space = type_is_scalar(e->type) ? SPACE_UNKNOWN : e->left->space;
		return;
	}
	if (type_is(t, TYPE_TUPLE) && e->name[0] >= '0' && e->name[0] <= '9') {
		check_error(c, e->span, "Invalid tuple index: %s. Found %u elements in tuple.",
			    e->name, t->count);
		return;
	}
	check_error(c, e->name_span, "Can not access field '%s' on expression of type '%s'",
		    e->name, check_type_text(c, t));
	hint_members(c, t, e->name);
}

/*
 * A member of a literal tuple or record is itself a literal: (1, 2).0, config.max_strlen,
 * typeinfo($x).full_type.
 */
static void check_literal_member(struct expr *e)
{
	const struct expr *record = e->left, *value = NULL;

	if (record->kind == EXPR_CALL && record->builtin &&
	    str_eq(record->builtin->name, "typeinfo")) {
		typeinfo_member(record, e);
		return;
	}
	if (record->kind != EXPR_RECORD && record->kind != EXPR_TUPLE)
		return;
	for (u32 i = 0; i < record->nargs; i++) {
		if (!record->args[i]->is_comptime_known)
			return;
		if (str_eq(record->type->members[i].name, e->name))
			value = record->args[i];
	}
	if (!value)
		return;
	e->is_comptime_known = true;
	e->integer = value->integer;
	e->string = value->string;
}

void check_member(struct check *c, struct expr *e)
{
	const struct type *t;
	enum address_space space;
	u32 offset = 0;

	if (check_is_args(e->left)) {
		check_args_member(c, e);
		return;
	}
	if (check_is_vars(e->left)) {
		check_vars_member(c, e);
		return;
	}
	check_expr(c, e->left);
	if (!check_known(c, e->left))
		return;
	t = e->left->type;
	space = e->left->space;
	while (type_is(t, TYPE_POINTER)) {
		if (t->is_percpu_pointer)
			check_error(c, e->span,
				    "Attempting to access pointer field '%s' with unsupported tag "
				    "attribute: percpu",
				    e->name);
		space = t->space;
		t = t->element;
		if (type_is(t, TYPE_POINTER))
			t = check_field_type(c, t, space, false);
	}
	if (type_is(t, TYPE_TUPLE) || type_is(t, TYPE_RECORD)) {
		check_tuple_member(c, e, t);
		check_literal_member(e);
		return;
	}
	if (!type_is_record(t)) {
		check_error(c, e->span, "Can not access field '%s' on expression of type '%s'",
			    e->name, check_type_text(c, t));
		if (e->left->kind == EXPR_INTEGER)
			check_hint(c, "the language has no floating-point numbers");
		if (e->left->builtin && btf_available(c->options->env->btf))
			check_hint(c, "the kernel's types are not known: its BTF cannot be read; "
				      "`pantrace doctor` tells more");
		return;
	}
	if (type_complete(c->types, t) < 0) {
		check_error(c, e->span, "Unknown struct/union: '%s'", check_type_text(c, t));
		return;
	}
	e->member = type_find_member(c->types, t, e->name, &offset);
	if (!e->member) {
		check_error(c, e->name_span,
			    "Struct/union of type '%s' does not contain a field named '%s'",
			    check_type_text(c, t), e->name);
		hint_members(c, t, e->name);
		return;
	}
	e->member_offset = offset;
	e->type = check_field_type(c, e->member->type, space, e->member->is_user);
	e->space = space;
	if (type_is_scalar(e->type) && (space == SPACE_CONTEXT || space == SPACE_TRUSTED))
		e->space = SPACE_KERNEL;
	if (type_is_scalar(e->type) && space == SPACE_BPF)
		e->space = SPACE_UNKNOWN;
}

/* "abc"[1], tuple[0] */
static bool check_special_index(struct check *c, struct expr *e, const struct type *t)
{
	s64 index;

	if (type_is(t, TYPE_STRING)) {
		if (e->args[0]->is_comptime_known &&
		    (e->args[0]->integer < 0 || e->args[0]->integer >= t->size)) {
			check_error(c, e->span,
				    "the index %" PRId64 " is out of bounds for array of size %u",
				    e->args[0]->integer, t->size);
			return true;
		}
		e->type = type_int(1, true);
		e->space = SPACE_UNKNOWN;
		if (e->left->is_comptime_known && e->left->string.data &&
		    e->args[0]->is_comptime_known && e->args[0]->integer <= e->left->string.len) {
			e->is_comptime_known = true;
			e->integer = e->left->string.data[e->args[0]->integer];
		}
		return true;
	}
	if (!type_is(t, TYPE_TUPLE))
		return false;
	if (!check_constant(e->args[0], &index)) {
		check_error(c, e->span, "Tuples must be indexed by a constant");
		return true;
	}
	if (index < 0 || index >= t->count) {
		check_error(c, e->span,
			    "Invalid tuple index: %" PRId64 ". Found %u elements in tuple.", index,
			    t->count);
		return true;
	}
	e->member = &t->members[index];
	e->member_offset = e->member->offset;
	e->type = e->member->type;
	e->space = type_is_scalar(e->type) ? SPACE_UNKNOWN : SPACE_BPF;
	return true;
}

void check_index(struct check *c, struct expr *e)
{
	const struct type *t;
	struct expr *index;
	s64 value;

	if (e->left->kind == EXPR_MAP) {
		check_map_access(c, e);
		return;
	}
	check_expr(c, e->left);
	for (u32 i = 0; i < e->nargs; i++)
		check_expr(c, e->args[i]);
	if (!check_known(c, e->left) || e->nargs == 0 || !check_known(c, e->args[0]))
		return;
	index = e->args[0];
	t = e->left->type;
	if (e->nargs != 1 || !type_is_integer(index->type)) {
		check_error(
			c, index->span,
			"The array index operator [] only accepts non-negative integer indices. "
			"Got: %s",
			check_type_text(c, index->type));
		return;
	}
	if (check_special_index(c, e, t))
		return;
	if (!type_is(t, TYPE_ARRAY) && !type_is(t, TYPE_POINTER)) {
		check_error(c, e->span,
			    "The array index operator [] can only be used on arrays, pointers, and "
			    "tuples, found %s.",
			    check_type_text(c, t));
		return;
	}
	if (type_complete(c->types, t->element) < 0 || !t->element->size) {
		check_error(c, e->span,
			    "The array index operator [] cannot be used on a pointer to an unsized "
			    "type (%s).",
			    check_type_text(c, t));
		return;
	}
	if (type_is(t, TYPE_ARRAY) && check_constant(index, &value)) {
		if (value < 0 || (t->count && value >= t->count)) {
			check_error(c, e->span,
				    "the index %" PRId64 " is out of bounds for array of size %u",
				    value, t->count);
			return;
		}
	}
	e->space = type_is(t, TYPE_POINTER) ? t->space : e->left->space;
	e->type = check_field_type(c, t->element, e->space, false);
	if (type_is_scalar(e->type) && (e->space == SPACE_CONTEXT || e->space == SPACE_TRUSTED))
		e->space = SPACE_KERNEL;
}
