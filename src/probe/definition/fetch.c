/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of a definition at one place, as the kernel fetches them. */
#include <ctype.h>
#include <stdio.h>

#include "arch/arch.h"
#include "binary/debug/access.h"
#include "binary/debug/lines.h"
#include "kernel/symbols/ksyms.h"
#include "probe/definition/internal.h"
#include "probe/function.h"

#define NAME_LEN_MAX 31 /* kernel/trace/trace_probe.h, MAX_ARG_NAME_LEN, without the NUL */

struct fetcher {
	struct translator *t;
	const struct point_definition *def;
	const struct place *place;
	struct fetched_list *out;
};

/* ---- names ---- */

/* As a C name, not longer than the kernel takes. */
static const char *plain_name(struct arena *a, const char *name)
{
	char *copy = arena_strndup(a, name, NAME_LEN_MAX);
	size_t n = strlen(copy);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)copy[i]) && copy[i] != '_')
			copy[i] = '_';
	while (n > 1 && copy[n - 1] == '_' && !isalnum((unsigned char)name[n - 1]) &&
	       name[n - 1] != '_')
		copy[--n] = '\0';
	return copy;
}

/* The last member's, else the variable's, with its type where one was written. */
static const char *made_name(struct arena *a, const struct point_argument *from)
{
	const char *name = from->variable;

	for (size_t i = 0; i < from->steps.len; i++)
		if (from->steps.items[i].member)
			name = from->steps.items[i].member;
	if (!from->steps.len && from->type)
		name = arena_printf(a, "%s_%s", name, from->type);
	return plain_name(a, name);
}

static bool has_name(const struct fetched_list *l, const char *name)
{
	for (size_t i = 0; i < l->list.len; i++)
		if (l->list.items[i].name && str_eq(l->list.items[i].name, name))
			return true;
	return false;
}

/* Two of one name: the kernel takes neither. */
static const char *own_name(struct fetcher *f, const char *name)
{
	const char *own = name;

	for (u32 i = 2; has_name(f->out, own); i++)
		own = arena_printf(&f->t->arena, "%.*s_%u", NAME_LEN_MAX - 4, name, i);
	return own;
}

/* ---- what the kernel takes as it is ---- */

static int fetch_raw(struct fetcher *f, const struct point_argument *a)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	const struct definition_word word = {.text = a->text, .at = a->at};
	struct argument_place at = {.diag = f->t->diag,
				    .is_user = f->t->is_user,
				    .is_return = f->def->point.is_return,
				    .at_entry = f->place->at_entry,
				    .file = f->t->file};
	struct fetched new = {.from = a, .at = a->at, .name = a->name};
	int err = 0;

	if (f->t->is_user)
		err = elf_file_offset(f->t->file, f->place->address, &at.offset);
	if (!err)
		err = definition_argument(&at, &word, &c);
	if (!err) {
		/* " NAME=VALUE" */
		const char *value = c.text.data + 1;

		if (a->name)
			value += strlen(a->name) + 1;
		new.text = arena_strdup(&f->t->arena, value);
		vector_push(&f->out->list, new);
	}
	tracefs_command_release(&c);
	return err;
}

/* ---- variables ---- */

static struct debug_point point_of(const struct translator *t, const struct place *place)
{
	return (struct debug_point){t->file, place->address, place->scope};
}

static void push_variable(struct fetcher *f, const struct debug_variable *v,
			  const struct point_argument *from, bool is_one_of_many)
{
	struct fetched new = {.from = from, .at = from->at, .is_one_of_many = is_one_of_many};
	struct fetch_maker m = {.translator = f->t, .place = f->place, .result = &new};
	struct fetch_value value;
	bool ok = fetch_value_of(&m, v, &value);

	for (size_t i = 0; i < from->steps.len && ok; i++)
		ok = fetch_value_step(&m, v, &from->steps.items[i], from->is_user, &value);
	if (ok)
		fetch_value_text(&m, &value, from->type, from->is_user);
	new.name = from->name	    ? from->name
		   : is_one_of_many ? plain_name(&f->t->arena, v->name)
				    : made_name(&f->t->arena, from);
	if (!from->name)
		new.name = own_name(f, new.name);
	if (new.why && is_one_of_many)
		new.why = arena_printf(&f->t->arena, "%s: %s", v->name, new.why);
	vector_push(&f->out->list, new);
}

/* ---- by BTF alone: what a function of the kernel is passed ---- */

static bool is_by_btf(struct fetcher *f)
{
	return !f->t->file && f->place->at_entry && f->place->symbol && translator_find_btf(f->t);
}

/* NULL: it is not known, or of which function of that name. */
static const struct type *function_by_btf(struct fetcher *f)
{
	const struct place *const at = f->place;
	struct btf_function found;

	if (!is_by_btf(f) || ksyms_count(kernel_ksyms(f->t->kernel), at->symbol) != 1 ||
	    btf_find_function(f->t->env.btf, at->module, at->symbol, &found))
		return NULL;
	return found.type;
}

static struct debug_variable parameter_by_btf(struct fetcher *f, const struct type *function, u32 n)
{
	const struct access_step step = {
		.op = ACCESS_REGISTER, .size = 8, .offset = (u16)arch_argument_offset(n)};
	const bool is_known = n < function_register_parameters(function);
	const char *const name = function->members[n].name;

	return (struct debug_variable){
		.name = name ? name : arena_printf(&f->t->arena, "arg%u", n),
		.kind = DEBUG_PARAMETER,
		.type = function->members[n].type,
		.access = is_known ? access_simple(&f->t->arena, ACCESS_VALUE, &step, 0)
				   : access_refuse("BTF does not say where it is passed")};
}

/* False: BTF has no such parameter. */
static bool fetch_by_btf(struct fetcher *f, const struct point_argument *a)
{
	const struct type *const function = function_by_btf(f);
	bool is_found = false;

	for (u32 i = 0; function && i < function->count; i++) {
		const struct debug_variable v = parameter_by_btf(f, function, i);

		if (a->kind == VALUE_VARIABLE && !str_eq(v.name, a->variable))
			continue;
		push_variable(f, &v, a, a->kind != VALUE_VARIABLE);
		is_found = true;
	}
	return is_found;
}

static int push_missing(struct fetcher *f, const struct point_argument *a)
{
	struct arena *const arena = &f->t->arena;
	const char *const point = f->def->point.text;
	struct fetched missing = {.from = a,
				  .at = a->value,
				  .name = a->name ? a->name : made_name(arena, a),
				  .why = "there is no variable of this name"};

	if (is_by_btf(f)) {
		missing.why = "without debug information only what a function is passed is known, "
			      "and not under this name";
		missing.hint = "install the kernel's debug symbols (linux-image-...-dbg, "
			       "kernel-debuginfo)";
	} else if (f->t->is_user) {
		missing.hint = arena_printf(
			arena, "`pantrace probe -x %s -V '%s'` shows those that there are",
			f->t->path, point);
	} else {
		missing.hint = arena_printf(
			arena, "`pantrace probe -V '%s'` shows those that there are", point);
	}
	vector_push(&f->out->list, missing);
	return 0;
}

static int fetch_variable(struct fetcher *f, const struct point_argument *a)
{
	const struct debug_point at = point_of(f->t, f->place);
	struct debug_variable v;
	int err;

	if (is_by_btf(f))
		return fetch_by_btf(f, a) ? 0 : push_missing(f, a);
	err = at.file ? debug_variable_named(&at, &f->t->types, a->variable, &v) : -ENODATA;
	if (err == -ENODATA || (err && f->t->file && debug_lacks(f->t->file)))
		return translator_refuse(f->t, a->at);
	if (err)
		return push_missing(f, a);
	push_variable(f, &v, a, false);
	return 0;
}

struct collected {
	VECTOR(struct debug_variable) list;
	bool only_parameters;
	u32 deepest;
};

static int collect(void *arg, const struct debug_variable *v)
{
	struct collected *all = arg;

	if (v->is_hidden || v->frame || (all->only_parameters && v->kind != DEBUG_PARAMETER))
		return 0;
	all->deepest = MAX(all->deepest, v->depth);
	vector_push(&all->list, *v);
	return 0;
}

/* $params or $vars has nothing: says whether there is nothing, or nothing is known. */
static void push_none(struct fetcher *f, const struct point_argument *a)
{
	const struct place *const at = f->place;
	const char *const where = at->symbol ? at->symbol : "this place";
	const bool is_known =
		f->t->file ? debug_function_of_line(f->t->file, at->address, "", 0) != NULL
			   : function_by_btf(f) != NULL;
	const bool is_params = a->kind == VALUE_PARAMETERS;
	struct fetched none = {.from = a, .at = a->at, .is_one_of_many = true};

	none.why = is_known ? arena_printf(&f->t->arena, "%s has no %s",
					   at->function ? at->function : where,
					   is_params ? "parameters" : "variables")
			    : arena_printf(&f->t->arena, "%s describes no function at %s",
					   f->t->file ? "the debug information" : "BTF", where);
	none.why = arena_printf(&f->t->arena, "%s: %s", is_params ? "$params" : "$vars", none.why);
	vector_push(&f->out->list, none);
}

/* $params, $vars: as they stand in the source, inner blocks behind the outer ones. */
static int fetch_many(struct fetcher *f, const struct point_argument *a)
{
	const bool externs = a->kind == VALUE_VARIABLES && f->t->config->externs;
	struct collected all = {.only_parameters = a->kind == VALUE_PARAMETERS};
	const u32 which = DEBUG_LOCALS | (externs ? DEBUG_STATICS | DEBUG_EXTERNALS : 0u);
	const struct debug_point at = point_of(f->t, f->place);
	int err;

	if (all.only_parameters && is_by_btf(f)) {
		if (!fetch_by_btf(f, a))
			push_none(f, a);
		return 0;
	}
	err = at.file ? debug_each_variable(&at, &f->t->types, which, collect, &all) : -ENODATA;
	for (u32 depth = all.deepest + 1; depth-- > 0;)
		for (size_t i = 0; i < all.list.len; i++)
			if (all.list.items[i].depth == depth)
				push_variable(f, &all.list.items[i], a, true);
	if (!all.list.len && f->t->file && debug_lacks(f->t->file))
		err = -ENODATA;
	else if (!all.list.len && err != -ENODATA)
		push_none(f, a);
	vector_free(&all.list);
	return err == -ENODATA ? translator_refuse(f->t, a->at) : 0;
}

int fetch_arguments(struct translator *t, const struct point_definition *def,
		    const struct place *place, struct fetched_list *ret)
{
	struct fetcher f = {.t = t, .def = def, .place = place, .out = ret};
	int err = 0;

	for (size_t i = 0; i < def->arguments.len && !err; i++) {
		const struct point_argument *a = &def->arguments.items[i];

		if (a->kind == VALUE_RAW)
			err = fetch_raw(&f, a);
		else if (a->kind == VALUE_VARIABLE)
			err = fetch_variable(&f, a);
		else
			err = fetch_many(&f, a);
	}
	return err;
}

/* ---- unoptimised code ---- */

struct beginning {
	const struct point_definition *def;
	u64 body; /* where something that is wanted is stored; 0 = nothing is */
	bool is_optimised; /* a parameter is where DWARF says from the first instruction on */
};

static bool is_wanted(const struct point_definition *def, const struct debug_variable *v)
{
	for (size_t i = 0; i < def->arguments.len; i++) {
		const struct point_argument *a = &def->arguments.items[i];

		if (a->kind == VALUE_VARIABLES ||
		    (a->kind == VALUE_PARAMETERS && v->kind == DEBUG_PARAMETER) ||
		    (a->kind == VALUE_VARIABLE && str_eq(a->variable, v->name)))
			return true;
	}
	return false;
}

static int look_at(void *arg, const struct debug_variable *v)
{
	struct beginning *b = arg;

	if (v->frame)
		return 0;
	if (v->kind == DEBUG_PARAMETER && !v->stored_at &&
	    (v->range_count || (v->access.result == ACCESS_VALUE && v->access.count == 1)))
		b->is_optimised = true;
	if (v->stored_at && is_wanted(b->def, v))
		b->body = v->stored_at;
	return 0;
}

void place_skip_prologue(struct translator *t, const struct point_definition *def,
			 struct place *place)
{
	const struct debug_point at = point_of(t, place);
	struct beginning b = {.def = def};

	if (!place->at_entry || !t->is_user || !point_wants_variables(def) ||
	    def->point.is_return || !t->file ||
	    debug_each_variable(&at, &t->types, DEBUG_LOCALS, look_at, &b) || b.is_optimised ||
	    b.body <= place->address)
		return;
	place->into += b.body - place->address;
	place->address = b.body;
	place->at_entry = false;
}
