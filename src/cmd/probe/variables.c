/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -V: the variables that a probe can read at a place. */
#include <stdio.h>

#include "arch/arch.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/name_filter.h"
#include "binary/debug/lines.h"
#include "binary/debug/variable.h"
#include "cmd/probe/commands.h"

#define DEFAULT_FILTER "!__k???tab_* & !__crc_*"

struct variable_line {
	char *text;
};

struct variable_view {
	struct probe_command *command;
	struct translator *translator;
	struct elf_file *file;
	struct type_store types;
	const struct name_filter *filter;
	struct arena arena;
	const char *point;
	/* the place being shown */
	const struct point_place *place;
	struct elf_symbol symbol; /* name NULL = none */
	u64 into;
	VECTOR(struct variable_line) lines;
	struct strbuf out;
	u32 places;
};

/* ---- types ---- */

static void drop(char *s, const char *what)
{
	const size_t n = strlen(what);

	for (char *p; (p = strstr(s, what));)
		memmove(p, p + n, strlen(p + n) + 1);
}

/* as_perf: an array is shown as a pointer. */
static void add_type(struct strbuf *out, const struct type *t, bool as_perf)
{
	if (t->kind == TYPE_ARRAY && !as_perf) {
		add_type(out, t->element, false);
		strbuf_addf(out, "[%u]", t->count);
	} else if (t->kind == TYPE_POINTER || t->kind == TYPE_ARRAY) {
		add_type(out, t->element, as_perf);
		strbuf_addch(out, '*');
	} else if (t->kind == TYPE_FUNCTION) {
		strbuf_addstr(out, "(function_type)");
	} else {
		strbuf_addf(out, "%s%s",
			    t->kind == TYPE_STRUCT  ? "struct "
			    : t->kind == TYPE_UNION ? "union "
			    : t->kind == TYPE_ENUM  ? "enum "
						    : "",
			    t->name ? t->name : "");
	}
}

/* perf's spelling: without qualifiers, an array as a pointer. Malloc'ed. */
static char *perf_type(const struct debug_variable *v)
{
	struct strbuf out = STRBUF_INIT;
	char *s, *bracket;

	if (!v->spelling) {
		add_type(&out, v->type, true);
		return strbuf_detach(&out);
	}
	s = xasprintf("%s ", v->spelling);
	drop(s, "const ");
	drop(s, "volatile ");
	s[strlen(s) - 1] = '\0';
	for (char *p; (p = strstr(s, " *"));)
		memmove(p, p + 1, strlen(p));
	bracket = strchr(s, '[');
	if (bracket)
		strcpy(bracket, "*");
	return s;
}

/* The spelling of the source. Malloc'ed. */
static char *source_type(const struct debug_variable *v)
{
	struct strbuf out = STRBUF_INIT;

	if (v->spelling)
		strbuf_addstr(&out, v->spelling);
	else
		add_type(&out, v->type, false);
	return strbuf_detach(&out);
}

/* ---- locations ---- */

static void add_register(struct strbuf *out, u16 offset)
{
	const struct arch_register *r = arch_register_at(offset);

	strbuf_addf(out, "%%%s", r ? r->name : "?");
}

/*
 * Appends a chain of dereferences as a fetch argument: "%di", "+8(%di)", "+0(+16(%di))", "@0x4040",
 * "\5".
 */
static void add_chain(struct strbuf *out, const struct access *a)
{
	struct strbuf text = STRBUF_INIT, inner = STRBUF_INIT;
	s64 add = 0;

	for (u32 i = 0; i < a->count; i++) {
		const struct access_step *s = &a->steps[i];

		if (s->op == ACCESS_REGISTER)
			add_register(&text, s->offset);
		else if (s->op == ACCESS_STATIC)
			strbuf_addf(&text, "@0x%" PRIx64, (u64)s->value);
		else if (s->op == ACCESS_CONSTANT)
			strbuf_addf(&text, "\\%" PRId64, s->value);
		else if (s->op == ACCESS_ADD)
			add += s->value;
		if (s->op != ACCESS_DEREF)
			continue;
		strbuf_addf(&inner, "%+" PRId64 "(%s)", add, text.data);
		strbuf_reset(&text);
		strbuf_addstr(&text, inner.data);
		strbuf_reset(&inner);
		add = 0;
	}
	if (a->result == ACCESS_PLACE && a->steps[0].op == ACCESS_STATIC && a->count == 1)
		strbuf_addstr(out, text.data);
	else if (a->result == ACCESS_PLACE)
		strbuf_addf(out, "%+" PRId64 "(%s)", add, text.data);
	else if (add)
		strbuf_addf(out, "%s%+" PRId64, text.data, add);
	else
		strbuf_addstr(out, text.data);
	strbuf_release(&text);
	strbuf_release(&inner);
}

static char *lives_in(const struct debug_variable *v)
{
	struct strbuf out = STRBUF_INIT;

	if (access_is_chain(&v->access))
		add_chain(&out, &v->access);
	else
		strbuf_addf(&out, "%s, in %u step%s: only for scripts",
			    v->access.result == ACCESS_PLACE ? "memory" : "computed",
			    v->access.count, plural(v->access.count));
	return strbuf_detach(&out);
}

/* ---- ranges ---- */

static bool is_readable(const struct debug_variable *v)
{
	return v->access.result != ACCESS_NONE;
}

static bool is_static(const struct debug_variable *v)
{
	return v->kind == DEBUG_FILE_STATIC || v->kind == DEBUG_GLOBAL;
}

/* Appends the name as in the source, without ".constprop.0" and the like. */
static void add_symbol_name(const struct variable_view *vv, struct strbuf *out)
{
	const char *const name = vv->symbol.name;

	escape_line(out, name, (*name == '.') + strcspn(name + (*name == '.'), "."));
}

/* Appends the ranges relative to the function. A variable without a list is valid in all of it. */
static void add_ranges(struct strbuf *out, const struct variable_view *vv,
		       const struct debug_variable *v)
{
	const u64 base = vv->symbol.address;

	strbuf_addstr(out, "\t@<");
	add_symbol_name(vv, out);
	strbuf_addstr(out, "+[");
	for (u32 i = 0; i < v->range_count; i++)
		strbuf_addf(out, "%s%" PRId64 "-%" PRId64, i ? "," : "",
			    (s64)(v->ranges[i].start - base), (s64)(v->ranges[i].end - base));
	if (!v->range_count)
		strbuf_addf(out, "0-%" PRIu64, vv->symbol.size);
	strbuf_addstr(out, "]>");
}

static bool has_ranges(const struct variable_view *vv, const struct debug_variable *v)
{
	return vv->symbol.name && !is_static(v) &&
	       (v->range_count || (is_readable(v) && vv->symbol.size));
}

/* ---- one variable ---- */

static void take_text(struct variable_view *vv, const struct debug_variable *v)
{
	const struct probe_options *o = &vv->command->o;
	struct strbuf line = STRBUF_INIT;
	char *type = o->verbose ? source_type(v) : perf_type(v), *where;

	if (o->range)
		strbuf_addf(&line, "[%s]\t", is_static(v) ? "EXT" : is_readable(v) ? "VAL" : "INV");
	escape_line(&line, type, strlen(type));
	strbuf_addch(&line, '\t');
	escape_line(&line, v->name, strlen(v->name));
	if (o->range && has_ranges(vv, v))
		add_ranges(&line, vv, v);
	if (o->verbose && is_readable(v)) {
		where = lives_in(v);
		strbuf_addf(&line, "\tin %s", where);
		free(where);
	} else if (o->verbose || (o->range && !is_readable(v) && v->access.reason)) {
		strbuf_addf(&line, "\tnot readable here: %s", v->access.reason);
	}
	if (o->verbose && v->frame && v->function) {
		strbuf_addstr(&line, "\tof ");
		escape_line(&line, v->function, strlen(v->function));
	}
	vector_push(&vv->lines, (struct variable_line){.text = line.data});
	free(type);
}

static const char *const kinds[] = {
	[DEBUG_PARAMETER] = "parameter",
	[DEBUG_LOCAL] = "local",
	[DEBUG_FILE_STATIC] = "static",
	[DEBUG_GLOBAL] = "global",
};

static void member_place(const struct variable_view *vv, struct json *j)
{
	json_member_text(j, "point", vv->point);
	json_key(j, "address");
	json_hex(j, vv->place->at.address);
	if (!vv->symbol.name)
		return;
	json_member_text(j, "symbol", vv->symbol.name);
	json_member_u64(j, "offset", vv->into);
}

static void take_json(struct variable_view *vv, const struct debug_variable *v)
{
	char *type = source_type(v);
	char *where = is_readable(v) ? lives_in(v) : NULL;
	struct json j = JSON_INIT(&vv->out);
	const char *file;
	u32 line;

	json_object(&j);
	member_place(vv, &j);
	json_member_text(&j, "name", v->name);
	json_member_text(&j, "type", type);
	json_member_text(&j, "kind", kinds[v->kind]);
	if (v->function)
		json_member_text(&j, "function", v->function);
	if (debug_variable_declared(v, &file, &line)) {
		json_member_text(&j, "file", file);
		json_member_u64(&j, "line", line);
	}
	json_member_bool(&j, "readable", is_readable(v));
	json_member_text(&j, is_readable(v) ? "location" : "reason",
			 where ? where : v->access.reason);
	json_key(&j, "ranges");
	json_array(&j);
	for (u32 i = 0; i < v->range_count; i++) {
		json_array(&j);
		json_hex(&j, v->ranges[i].start);
		json_hex(&j, v->ranges[i].end);
		json_end(&j, ']');
	}
	json_end(&j, ']');
	json_end(&j, '}');
	json_end_line(&j);
	free(type);
	free(where);
}

/* Shown by default: it is visible in the function itself and has a value. */
static bool is_plain(const struct variable_view *vv, const struct debug_variable *v)
{
	return is_static(v)
		       ? is_readable(v)
		       : !v->frame && !v->is_hidden && (is_readable(v) || vv->command->o.range);
}

static int take(void *arg, const struct debug_variable *v)
{
	struct variable_view *vv = arg;

	if (!name_filter_match(vv->filter, v->name))
		return 0;
	if (vv->command->o.json)
		take_json(vv, v);
	else if (vv->command->o.verbose || is_plain(vv, v))
		take_text(vv, v);
	return 0;
}

/* ---- one place ---- */

static int compare_lines(const void *a, const void *b)
{
	const struct variable_line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static void print_lines(struct variable_view *vv)
{
	struct strbuf *out = &vv->out;

	if (!vv->places)
		strbuf_addf(out, "Available variables at %s%s\n", vv->place->is_line ? "@" : "",
			    vv->point);
	strbuf_addstr(out, "\t@<");
	if (vv->symbol.name) {
		add_symbol_name(vv, out);
		strbuf_addf(out, "+%" PRIu64 ">\n", vv->into);
	} else {
		strbuf_addf(out, "0x%" PRIx64 ">\n", vv->place->at.address);
	}
	if (vv->lines.len)
		qsort(vv->lines.items, vv->lines.len, sizeof(*vv->lines.items), compare_lines);
	else
		strbuf_addstr(out, "\t\t(No matched variables)\n");
	for (size_t i = 0; i < vv->lines.len; i++)
		if (!i || compare_lines(&vv->lines.items[i - 1], &vv->lines.items[i]))
			strbuf_addf(out, "\t\t%s\n", vv->lines.items[i].text);
	for (size_t i = 0; i < vv->lines.len; i++)
		free(vv->lines.items[i].text);
	vv->lines.len = 0;
}

static int show_place(void *arg, const struct point_place *place)
{
	struct variable_view *vv = arg;
	const struct probe_options *o = &vv->command->o;
	const bool is_full = o->json || o->verbose;
	u32 which = DEBUG_LOCALS | (is_full ? DEBUG_CALLERS : 0) | (o->externs ? DEBUG_STATICS : 0);
	int err;

	vv->place = place;
	vv->symbol = (struct elf_symbol){0};
	elf_file_symbol_at(vv->file, place->at.address, &vv->symbol, &vv->into);
	if (!is_full && !o->range)
		which |= DEBUG_BRIEF;
	err = debug_each_variable(&place->at, &vv->types, which, take, vv);
	if (err == -ENODATA || (!vv->lines.len && !o->json && debug_lacks(vv->file)))
		return translator_refuse(vv->translator, NO_SPAN);
	if (err) {
		diag_error(&vv->command->diag, NO_SPAN,
			   "the debug information of %s has no code there",
			   elf_file_path(vv->file));
		return err;
	}
	if (!o->json)
		print_lines(vv);
	vv->places++;
	return 0;
}

int probe_variables(struct probe_command *p)
{
	struct translate_config config = probe_target_of(p);
	struct variable_view vv = {.command = p, .out = STRBUF_INIT, .point = p->o.variables};
	int err = -EINVAL;

	type_store_init(&vv.types);
	vv.filter = probe_filter(p, &vv.arena, DEFAULT_FILTER);
	if (vv.filter)
		vv.file = probe_debug_file(p, &config, &vv.translator);
	if (vv.file)
		err = translator_each_place(vv.translator, vv.point, show_place, &vv);
	if (!err && vv.file)
		err = translator_check(vv.translator);
	fwrite(vv.out.data, 1, vv.out.len, stdout);
	strbuf_release(&vv.out);
	vector_free(&vv.lines);
	type_store_release(&vv.types);
	arena_release(&vv.arena);
	translator_release(vv.translator);
	return err ? EXIT_FAILED : EXIT_OK;
}
