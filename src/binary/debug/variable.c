/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The variables that the source sees at an address. */
#include "binary/debug/variable.h"

#include <dwarf.h>
#include <stdio.h>

#include "binary/debug/access.h"
#include "binary/elf/internal.h"

enum { MAX_RANGES = 64, MAX_NAMESPACES = 16 };

struct walk {
	struct access_site site;
	struct type_store *types;
	u32 which;
	const char *only; /* this name; NULL = all */
	int (*fn)(void *arg, const struct debug_variable *v);
	void *arg;
	VECTOR(const char *) taken; /* names of the frame's inner blocks */
	/* of the scope that is walked: */
	u32 frame, depth;
	const char *function;
	bool is_static;
};

static bool has_flag(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute a;
	bool is_set = false;

	return dwarf_attr_integrate(die, name, &a) && !dwarf_formflag(&a, &is_set) && is_set;
}

static const char *keep(struct walk *w, const char *s)
{
	return s ? arena_strdup(&w->types->arena, s) : NULL;
}

static bool is_taken(const struct walk *w, const char *name)
{
	for (size_t i = 0; i < w->taken.len; i++)
		if (str_eq(w->taken.items[i], name))
			return true;
	return false;
}

static enum debug_variable_kind kind_of(const struct walk *w, Dwarf_Die *die)
{
	if (dwarf_tag(die) == DW_TAG_formal_parameter)
		return DEBUG_PARAMETER;
	if (!w->is_static)
		return DEBUG_LOCAL;
	return has_flag(die, DW_AT_external) ? DEBUG_GLOBAL : DEBUG_FILE_STATIC;
}

static void fetch(struct walk *w, Dwarf_Die *die, struct debug_variable *v)
{
	struct debug_range ranges[MAX_RANGES];
	bool by_convention;

	v->access = access_of(&w->site, die, &by_convention);
	if (by_convention && v->kind == DEBUG_PARAMETER)
		v->access = access_by_convention(&w->site, die, w->types);
	if (v->kind == DEBUG_GLOBAL && v->access.count && v->access.steps[0].op == ACCESS_STATIC &&
	    elf_file_may_be_copied(w->site.file, (u64)v->access.steps[0].value))
		v->access = access_refuse("a program may use a copy of its own of a library's "
					  "exported variable");
	v->stored_at = by_convention ? access_site_body(&w->site) : 0;
	v->range_count = access_ranges(die, ranges, MAX_RANGES);
	v->ranges = arena_memdup(&w->types->arena, ranges, v->range_count * sizeof(*ranges));
}

static int offer(struct walk *w, Dwarf_Die *die, const char *name)
{
	struct debug_variable v = {
		.kind = kind_of(w, die),
		.is_artificial = has_flag(die, DW_AT_artificial),
		.is_hidden = is_taken(w, name),
		.frame = w->frame,
		.depth = w->depth,
		.function = w->function,
		.dwarf = dwarf_cu_getdwarf(die->cu),
		.offset = dwarf_dieoffset(die),
	};
	Dwarf_Die memory, *type = debug_type_of(die, &memory);

	v.name = keep(w, name);
	if (!v.is_hidden)
		vector_push(&w->taken, v.name);
	v.type = debug_convert_type(w->site.file, w->types, type);
	v.spelling = debug_spell_type(w->types, type);
	fetch(w, die, &v);
	return w->fn(w->arg, &v);
}

/* One child of a scope; 0 if it is no variable, or not asked for. */
static int offer_child(struct walk *w, Dwarf_Die *child, u32 parameter)
{
	const int tag = dwarf_tag(child);
	char unnamed[16];
	const char *name;

	if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter)
		return 0;
	name = dwarf_diename(child);
	if (!name && tag == DW_TAG_formal_parameter) {
		snprintf(unnamed, sizeof(unnamed), "arg%u", parameter);
		name = unnamed;
	}
	if (!name || (w->only && !str_eq(name, w->only)))
		return 0;
	/* `extern int x;` in a block: the variable itself is elsewhere. */
	if (dwarf_hasattr(child, DW_AT_declaration))
		return 0;
	return offer(w, child, name);
}

static int offer_children(struct walk *w, Dwarf_Die *scope)
{
	Dwarf_Die child;
	u32 parameters = 0;
	int result = 0;

	for (int more = dwarf_child(scope, &child); more == 0 && !result;
	     more = debug_next_sibling(&child)) {
		result = offer_child(w, &child, parameters);
		parameters += dwarf_tag(&child) == DW_TAG_formal_parameter;
	}
	return result;
}

/* ---- blocks ---- */

/* What the compiler dropped from a copy altogether is still in the function's own description. */
static int offer_dropped(struct walk *w, Dwarf_Die *scope)
{
	Dwarf_Attribute a;
	Dwarf_Die origin;
	Dwarf_Die child;
	u32 parameters = 0;
	int result = 0;

	if (!dwarf_attr(scope, DW_AT_abstract_origin, &a) || !dwarf_formref_die(&a, &origin))
		return 0;
	for (int more = dwarf_child(&origin, &child); more == 0 && !result;
	     more = debug_next_sibling(&child)) {
		const char *name = dwarf_diename(&child);

		if (name && !is_taken(w, name))
			result = offer_child(w, &child, parameters);
		parameters += dwarf_tag(&child) == DW_TAG_formal_parameter;
	}
	return result;
}

static bool is_function(Dwarf_Die *scope)
{
	const int tag = dwarf_tag(scope);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static bool is_named(Dwarf_Die *function, const char *name)
{
	const char *const own = dwarf_diename(function), *const linkage =
								 debug_linkage_name(function);

	return (own && str_eq(own, name)) || (linkage && str_eq(linkage, name));
}

/* The innermost scope of the function that is meant. */
static u32 first_scope(Dwarf_Die *scopes, u32 n, const char *function)
{
	u32 first = 0;

	for (u32 i = 0; function && i < n; i++) {
		if (!is_function(&scopes[i]))
			continue;
		if (is_named(&scopes[i], function))
			return first;
		first = i + 1;
	}
	return 0;
}

static int walk_blocks(struct walk *w, Dwarf_Die *unit, const char *function, u32 last_frame)
{
	Dwarf_Die *scopes;
	const u32 n = debug_scopes_at(w->site.file, unit, w->site.address,
				      !(w->which & DEBUG_WITH_CODE), &scopes);
	int result = 0;
	u32 frame = 0;

	w->frame = w->depth = 0;
	for (u32 i = first_scope(scopes, n, function); i < n && !result && frame <= last_frame;
	     i++) {
		const int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_lexical_block && !is_function(&scopes[i]))
			continue;
		w->function = NULL;
		for (u32 k = i; k < n && !w->function; k++)
			if (is_function(&scopes[k]))
				w->function = keep(w, dwarf_diename(&scopes[k]));
		w->frame = frame;
		result = offer_children(w, &scopes[i]);
		if (!result && is_function(&scopes[i]))
			result = offer_dropped(w, &scopes[i]);
		w->depth++;
		if (is_function(&scopes[i])) {
			w->taken.len = 0;
			w->depth = 0;
			frame++;
		}
		if (tag == DW_TAG_subprogram)
			break;
	}
	free(scopes);
	return result;
}

/* ---- statics ---- */

static bool is_namespace(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module;
}

/* A variable of namespaces is one of the unit. */
static int each_static(Dwarf_Die *scope, u32 depth, int (*fn)(void *arg, Dwarf_Die *variable),
		       void *arg)
{
	Dwarf_Die child;
	int result = 0;

	for (int more = dwarf_child(scope, &child); more == 0 && !result;
	     more = debug_next_sibling(&child)) {
		const int tag = dwarf_tag(&child);

		if (is_namespace(tag) && depth < MAX_NAMESPACES)
			result = each_static(&child, depth + 1, fn, arg);
		else if (tag == DW_TAG_variable)
			result = fn(arg, &child);
	}
	return result;
}

static int offer_static(void *arg, Dwarf_Die *variable)
{
	return offer_child(arg, variable, 0);
}

struct each_external {
	int (*fn)(void *arg, Dwarf_Die *variable);
	void *arg;
};

static int take_external(void *arg, Dwarf_Die *variable)
{
	const struct each_external *e = arg;

	if (dwarf_hasattr(variable, DW_AT_declaration) || !has_flag(variable, DW_AT_external) ||
	    !dwarf_diename(variable))
		return 0;
	return e->fn(e->arg, variable);
}

int debug_each_external(Dwarf_Die *unit, int (*fn)(void *arg, Dwarf_Die *variable), void *arg)
{
	struct each_external e = {fn, arg};

	return each_static(unit, 0, take_external, &e);
}

struct externals {
	struct walk *walk;
	const void *own; /* the unit whose statics have been shown */
};

static int walk_unit(void *arg, Dwarf_Die *unit)
{
	struct externals *e = arg;

	return unit->addr == e->own ? 0 : debug_each_external(unit, offer_static, e->walk);
}

/* Those that the index knows by the name; all of them without one. */
static int offer_indexed(struct walk *w, const struct debug_index *index, const void *own)
{
	struct index_list found = {0};
	Dwarf_Die die, unit;
	int result = 0;

	index_variables(index, w->only, &found);
	for (size_t i = 0; i < found.list.len && !result; i++)
		if (debug_die_at(w->site.file, found.list.items[i], DW_TAG_variable, &die) &&
		    dwarf_diecu(&die, &unit, NULL, NULL) && unit.addr != own)
			result = offer_static(w, &die);
	vector_free(&found.list);
	return result;
}

static int walk(struct walk *w, const struct debug_point *p)
{
	struct elf_file *const f = p->file;
	Dwarf_Die unit;
	int result = 0;

	if (!debug_dwarf(f))
		return -ENODATA;
	if (!debug_unit_at(f, p->address, &unit))
		return -ENOENT;
	access_site_init(&w->site, f, &w->types->arena, &unit, p->address);
	w->site.from_caller = w->which & DEBUG_FROM_CALLER;
	w->site.is_brief = w->which & DEBUG_BRIEF;
	if (w->which & DEBUG_LOCALS)
		result = walk_blocks(w, &unit, p->function,
				     w->which & DEBUG_CALLERS ? UINT32_MAX : 0);
	w->taken.len = 0;
	w->frame = w->depth = 0;
	w->function = NULL;
	w->is_static = true;
	if (!result && w->which & DEBUG_STATICS)
		result = each_static(&unit, 0, offer_static, w);
	if (!result && w->which & DEBUG_EXTERNALS) {
		struct externals e = {w, w->which & DEBUG_STATICS ? unit.addr : NULL};
		const struct debug_index *index = debug_index(f);

		result = index ? offer_indexed(w, index, e.own) : debug_each_unit(f, walk_unit, &e);
	}
	w->is_static = false;
	vector_free(&w->taken);
	return result;
}

int debug_each_variable(const struct debug_point *p, struct type_store *types, u32 which,
			int (*fn)(void *arg, const struct debug_variable *v), void *arg)
{
	struct walk w = {.types = types, .which = which, .fn = fn, .arg = arg};

	return walk(&w, p);
}

bool debug_variable_declared(const struct debug_variable *v, const char **ret_file, u32 *ret_line)
{
	Dwarf_Die die;
	int line;

	if (!v->dwarf || !dwarf_offdie((Dwarf *)(uintptr_t)v->dwarf, v->offset, &die) ||
	    dwarf_decl_line(&die, &line) || line <= 0)
		return false;
	*ret_line = (u32)line;
	*ret_file = debug_declared_in(&die);
	return *ret_file;
}

static int take(void *arg, const struct debug_variable *v)
{
	*(struct debug_variable *)arg = *v;
	return 1;
}

int debug_variable_named(const struct debug_point *p, struct type_store *types, const char *name,
			 struct debug_variable *ret)
{
	static const u32 order[] = {DEBUG_LOCALS, DEBUG_STATICS, DEBUG_EXTERNALS,
				    DEBUG_LOCALS | DEBUG_CALLERS};
	int found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(order) && !found; i++) {
		struct walk w = {
			.types = types, .which = order[i], .only = name, .fn = take, .arg = ret};

		found = walk(&w, p);
	}
	return found > 0 ? 0 : found ? found : -ENOENT;
}
