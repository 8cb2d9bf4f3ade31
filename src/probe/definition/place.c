/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the probes of a point go: by symbols, by addresses, by debug information. */
#include <stdio.h>
#include <unistd.h>

#include "base/glob.h"
#include "binary/debug/lines.h"
#include "binary/debug/listing.h"
#include "binary/debug/source.h"
#include "kernel/symbols/ksyms.h"
#include "probe/definition/internal.h"
#include "probe/function.h"
#include "probe/user.h"

#define MAX_PROBES 128 /* of one point, where nobody says otherwise */

struct finder {
	struct translator *t;
	const struct point *point;
	struct places *out;
	const char *breaks; /* why a function that matches was left out; NULL */
	int err;
};

static u32 max_probes(const struct translator *t)
{
	return t->config->max_probes ? t->config->max_probes : MAX_PROBES;
}

/* 0, or -E2BIG with a diagnostic. */
static int add_place(struct finder *f, const struct place *place)
{
	const u32 max = max_probes(f->t);

	for (size_t i = 0; i < f->out->list.len; i++)
		if (f->out->list.items[i].address == place->address && place->address)
			return 0;
	if (f->out->list.len >= max) {
		diag_error(f->t->diag, f->point->at, "Too many( > %u) probe point found.", max);
		diag_hint(f->t->diag, "--max-probes NUMBER allows more of them");
		f->err = -E2BIG;
		return f->err;
	}
	vector_push(&f->out->list, *place);
	return 0;
}

/* ---- programs ---- */

static bool check_user_place(struct finder *f, u64 address, u64 into, u64 *ret_offset)
{
	struct translator *t = f->t;

	if (elf_file_offset(t->file, address, ret_offset) ||
	    !elf_file_is_executable_offset(t->file, *ret_offset)) {
		diag_error(t->diag, f->point->at, "%s is not code in %s", f->point->text, t->path);
		f->err = -EINVAL;
	} else if (!user_is_boundary(t->file, *ret_offset - into, into)) {
		diag_error(t->diag, f->point->at,
			   "no instruction begins there: a probe at %s would crash the program",
			   f->point->text);
		diag_hint(t->diag, "`objdump -d %s` shows where instructions begin", t->path);
		f->err = -EINVAL;
	} else if (f->point->is_return && user_has_no_caller(t->file, *ret_offset)) {
		diag_error(t->diag, f->point->at,
			   "a return probe on %s would crash the program: it begins there, and "
			   "does not return",
			   f->point->text);
		f->err = -EINVAL;
	} else {
		f->err = user_check_instruction(&t->env, f->point->at, t->file, *ret_offset,
						f->point->text);
	}
	return !f->err;
}

/* A function symbol of the file, whose name matches. */
static void warn_of_resolver(struct finder *f, const char *name)
{
	diag_warning(f->t->diag, f->point->at,
		     "The probe function (%s) is a GNU indirect function: the probe is on its "
		     "resolver, which runs once",
		     name);
	diag_hint(f->t->diag, "probe the implementation that it chooses; -F '*%s*' shows them",
		  name);
}

static int add_symbol(struct finder *f, const struct elf_symbol *s)
{
	struct translator *t = f->t;
	const size_t before = f->out->list.len;
	u64 offset;

	if (f->point->offset && s->size && f->point->offset >= s->size) {
		diag_error(t->diag, f->point->at,
			   "Offset %" PRIu64 " is bigger than the size of %s", f->point->offset,
			   s->name);
		f->err = -EINVAL;
		return f->err;
	}
	if (t->is_user &&
	    !check_user_place(f, s->address + f->point->offset, f->point->offset, &offset))
		return f->err;
	add_place(f, &(struct place){.address = s->address + f->point->offset,
				     .symbol = arena_strdup(&t->arena, s->name),
				     .into = f->point->offset,
				     .module = t->is_user ? NULL : t->module,
				     .function = arena_strdup(&t->arena, s->name),
				     .at_entry = !f->point->offset});
	if (s->is_ifunc && f->out->list.len > before)
		warn_of_resolver(f, s->name);
	return f->err;
}

static int add_matching(void *arg, const struct elf_symbol *s)
{
	struct finder *f = arg;
	u64 offset = 0;

	if (!s->is_function || !glob_match(f->point->function, s->name))
		return 0;
	if (!s->size || (f->t->is_user && elf_file_offset(f->t->file, s->address, &offset)) ||
	    (f->t->is_user && user_breaks(f->t->file, offset)) ||
	    (f->t->is_user && f->point->is_return && user_has_no_caller(f->t->file, offset))) {
		f->out->skipped++;
		return 0;
	}
	return add_symbol(f, s);
}

static bool is_glob(const struct point *p)
{
	return p->function && !p->is_exact && glob_has_wildcard(p->function);
}

/* C++ and Rust, as people write them: all overloads of the name, or the one with its parameters. */
static int add_demangled(void *arg, const struct elf_symbol *s)
{
	struct finder *f = arg;

	if (!s->is_function || !mangled_name_matches(f->point->function, s->name))
		return 0;
	return add_symbol(f, s);
}

/* By the symbols of the file. */
static int find_symbols(struct finder *f)
{
	struct elf_file *file = f->t->file;
	struct elf_symbol s;

	if (is_glob(f->point))
		return elf_file_each_symbol(file, add_matching, f);
	if (!elf_file_find_symbol(file, f->point->function, &s))
		return add_symbol(f, &s);
	return elf_file_walk_symbols(file, add_demangled, f);
}

static int find_address(struct finder *f)
{
	struct translator *t = f->t;
	struct place place = {.address = f->point->address};
	struct elf_symbol s;
	u64 into, offset;

	if (!t->is_user)
		return add_place(f, &place);
	if (elf_file_symbol_at(t->file, place.address, &s, &into)) {
		place.symbol = place.function = arena_strdup(&t->arena, s.name);
		place.into = into;
		place.at_entry = !into;
	} else {
		into = 0;
		diag_warning(t->diag, f->point->at,
			     "no symbol covers %s: nothing tells whether an instruction begins "
			     "there",
			     f->point->text);
	}
	return check_user_place(f, place.address, into, &offset) ? add_place(f, &place) : f->err;
}

/* ---- the running kernel, by its symbols ---- */

/* The kernel would refuse it, and with it all others of a wildcard. */
static bool is_skipped(struct finder *f, const char *name, u64 address)
{
	const char *const why = function_forbidden(&f->t->env, name, address, is_glob(f->point));

	if (why)
		diag_warning(f->t->diag, f->point->at, "%s %s, skip it.", name, why);
	f->out->skipped += !!why;
	return why;
}

static int add_kernel_function(void *arg, const struct kernel_function *fn)
{
	struct finder *f = arg;
	struct translator *t = f->t;
	struct kernel_symbol s;

	if (t->module && (!fn->module || !str_eq(fn->module, t->module)))
		return 0;
	if (is_skipped(f, fn->own, fn->address))
		return 0;
	if (f->point->offset && ksyms_at(kernel_ksyms(t->kernel), fn->address, KSYM_FIRST, &s) &&
	    f->point->offset >= s.end - s.address) {
		diag_error(t->diag, f->point->at,
			   "Offset %" PRIu64 " is bigger than the size of %s", f->point->offset,
			   fn->name);
		f->err = -EINVAL;
		return f->err;
	}
	return add_place(
		f,
		&(struct place){.address = fn->address ? fn->address + f->point->offset : 0,
				.symbol = arena_strdup(&t->arena, fn->name),
				.into = f->point->offset,
				.module = fn->module ? arena_strdup(&t->arena, fn->module) : NULL,
				.function = arena_strdup(&t->arena, fn->name),
				.at_entry = !f->point->offset});
}

static int find_kernel_functions(struct finder *f)
{
	struct ksyms *const ks = kernel_ksyms(f->t->kernel);
	const u64 address = is_glob(f->point) ? 0 : ksyms_address(ks, f->point->function);
	const int err = ksyms_each_function(ks, f->point->function, add_kernel_function, f);

	if (!err && !f->out->list.len && !f->out->skipped && address &&
	    ksyms_ran_at_boot(ks, address)) {
		diag_warning(f->t->diag, f->point->at, "%s is out of .text, skip it.",
			     f->point->function);
		f->out->skipped++;
	}
	return err;
}

/* ---- SDT ---- */

static int add_note(void *arg, const struct usdt_note *n)
{
	struct finder *f = arg;
	struct arena *a = &f->t->arena;
	const struct point *p = f->point;
	struct place place = {.address = n->address, .sdt = *n};

	if (!glob_match(p->sdt_event, n->name) ||
	    (p->sdt_provider && !glob_match(p->sdt_provider, n->provider)))
		return 0;
	place.sdt.name = arena_strdup(a, n->name);
	place.sdt.provider = arena_strdup(a, n->provider);
	place.sdt.args = arena_strdup(a, n->args ? n->args : "");
	return add_place(f, &place);
}

static int find_notes(struct finder *f)
{
	if (f->t->is_user)
		return elf_file_each_usdt(f->t->file, add_note, f);
	diag_error(f->t->diag, f->point->at, "SDT events are in programs and libraries");
	diag_hint(f->t->diag, "name the file that has it by -x FILE");
	f->err = -EINVAL;
	return f->err;
}

/* ---- by debug information ---- */

struct entry_search {
	struct finder *f;
	const struct debug_entry *entry;
	u32 line; /* of the file, where entry is NULL */
	u32 nearest; /* line behind the one that was asked for, which has code; 0 = none */
	bool is_known; /* the point's function is there, if not its line */
	bool with_parts; /* also where the rest of a split function begins */
	u32 parts; /* left out */
};

/* The kernel finds a place in a module by a symbol alone. */
static bool is_told_apart(struct finder *f, const struct place *place)
{
	struct translator *t = f->t;

	if (!place->module || !place->symbol ||
	    elf_file_names_only(t->file, place->symbol, place->address - place->into))
		return true;
	if (is_glob(f->point)) {
		f->out->skipped++;
		return false;
	}
	diag_error(t->diag, f->point->at,
		   "several functions of the module %s are called %s: the kernel cannot tell them "
		   "apart",
		   place->module, place->symbol);
	f->err = -EINVAL;
	return false;
}

static int add_code(struct finder *f, u64 address, const char *function, const char *scope,
		    bool at_entry)
{
	struct translator *t = f->t;
	struct place place = {.address = address,
			      .scope = scope ? arena_strdup(&t->arena, scope) : NULL,
			      .module = t->is_user ? NULL : t->module,
			      .at_entry = at_entry};
	struct elf_symbol s;
	u64 offset;

	if (elf_file_symbol_at(t->file, address, &s, &place.into))
		place.symbol = arena_strdup(&t->arena, s.name);
	place.function = function ? arena_strdup(&t->arena, function) : place.symbol;
	if (!t->is_user && !t->config->vmlinux && place.symbol && is_skipped(f, place.symbol, 0))
		return 0;
	if (t->is_user && !check_user_place(f, address, place.symbol ? place.into : 0, &offset))
		return f->err;
	return is_told_apart(f, &place) ? add_place(f, &place) : f->err;
}

static const char *scope_of(const struct debug_entry *e)
{
	return e->linkage ? e->linkage : e->name;
}

static int add_line(void *arg, u64 address)
{
	struct entry_search *s = arg;
	const struct debug_entry *const e = s->entry;
	const char *scope;

	if (e)
		return add_code(s->f, address, e->name, scope_of(e), false);
	scope = debug_function_of_line(s->f->t->file, address, s->f->point->source, s->line);
	return add_code(s->f, address, NULL, scope, false);
}

struct exact_line {
	VECTOR(u64) addresses;
};

static int note_address(void *arg, u64 address)
{
	struct exact_line *l = arg;

	vector_push(&l->addresses, address);
	return 0;
}

/* -ENOENT: no code comes from this very line; s->nearest is the next one that has some. */
static int each_exact_line(struct entry_search *s, const char *path, u32 line)
{
	struct exact_line l = {0};
	u32 found = debug_next_line(s->f->t->file, path, line);
	int err = 0;

	s->line = line;
	if (!found || found == line)
		err = debug_each_address(s->f->t->file, path, line, 0, note_address, &l, &found);
	if (!err && found != line) {
		s->nearest = found;
		err = -ENOENT;
	}
	for (size_t i = 0; i < l.addresses.len && !err; i++)
		err = add_line(s, l.addresses.items[i]);
	vector_free(&l.addresses);
	return err;
}

/* The lines whose text matches, from `first` on, in the copy of a function or in the whole file. */
static int add_pattern(struct entry_search *s, const char *path, u32 first)
{
	const struct translate_config *config = s->f->t->config;
	struct diag *d = s->f->t->diag;
	struct debug_source source;
	int err = debug_source_read(path, NULL, config->source, config->symfs, &source);
	char *line = err ? NULL : source.text, *rest;

	if (err) {
		diag_error(d, s->f->point->at, "Failed to find source file path: %s: %s", path,
			   debug_source_why(err));
		diag_hint(d, "-s DIRECTORY says where the source is");
		s->f->err = err;
	}
	for (u32 number = 1; line && !err; line = rest, number++) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		if (number < first || !point_pattern_matches(s->f->point->pattern, line))
			continue;
		if (s->entry)
			err = debug_each_line_of(s->f->t->file, s->entry, number, add_line, s,
						 NULL);
		else
			err = each_exact_line(s, s->f->point->source, number);
		if (err == -ENOENT)
			err = 0;
	}
	debug_source_release(&source);
	return err;
}

static bool is_wanted(const struct finder *f, const struct debug_entry *e)
{
	const struct point *p = f->point;
	const bool needs_dwarf = p->source || p->line || p->pattern;
	const char *file;

	if (e->is_inlined && (f->t->config->no_inlines || p->is_return))
		return false;
	/* What a pattern matches and has no debug information is the compiler's own. */
	if (!e->dwarf && (needs_dwarf || is_glob(p)))
		return false;
	file = p->source ? debug_entry_file(e) : NULL;
	return !p->source || (file && debug_path_ends_with(file, p->source));
}

static int add_entry(void *arg, const struct debug_entry *e)
{
	struct entry_search *s = arg;
	struct finder *f = s->f;
	const struct point *p = f->point;
	u32 nearest = 0;
	u64 offset;
	int err;

	if (!is_wanted(f, e))
		return 0;
	s->is_known = true;
	s->entry = e;
	if (p->line) {
		err = debug_each_line_of(f->t->file, e, e->line + p->line, add_line, s, &nearest);
		if (err == -ENOENT && nearest && !s->nearest)
			s->nearest = nearest - e->line;
		return err == -ENOENT ? 0 : err;
	}
	if (e->is_part && !s->with_parts && !p->pattern && !p->offset &&
	    !strstr(p->function, ".part.")) {
		s->parts++;
		return 0;
	}
	if (p->pattern) {
		const char *const file = debug_entry_file(e);

		return file ? add_pattern(s, file, e->line) : 0;
	}
	if (p->offset && e->end && p->offset >= e->end - e->address) {
		diag_error(f->t->diag, p->at, "Offset %" PRIu64 " is bigger than the size of %s",
			   p->offset, e->name);
		f->err = -EINVAL;
		return f->err;
	}
	/* The linker has left these out, but not what describes them. */
	if (f->t->is_user && (elf_file_offset(f->t->file, e->address, &offset) ||
			      !elf_file_is_executable_offset(f->t->file, offset)))
		return 0;
	/* Of many, those that cannot be probed are left out. */
	if (is_glob(p) && f->t->is_user && user_breaks(f->t->file, offset)) {
		f->out->skipped++;
		return 0;
	}
	if (e->is_ifunc)
		warn_of_resolver(f, e->symbol);
	return add_code(f, e->address + p->offset, e->name, scope_of(e),
			!p->offset && !e->is_inlined);
}

static int find_entries(struct finder *f)
{
	struct entry_search s = {.f = f};
	int err = debug_each_entry(f->t->file, f->point->function, add_entry, &s);

	/* Of the function's beginning nothing may be left. */
	if (!err && !f->out->list.len && s.parts) {
		s.with_parts = true;
		err = debug_each_entry(f->t->file, f->point->function, add_entry, &s);
	}
	if (!err && !f->out->list.len && f->point->line && s.is_known) {
		diag_error(f->t->diag, f->point->at, "Probe point '%s' not found.", f->point->text);
		if (s.nearest)
			diag_hint(f->t->diag,
				  "no code comes from that line; the next with code is %s:%u",
				  f->point->function, s.nearest);
		else
			diag_hint(f->t->diag,
				  "the function has no code from there on; -L shows its lines");
		f->err = -ENOENT;
	}
	return err;
}

/* Functions that begin at the line, though the table of lines has nothing of it: clang. */
static int add_declared(void *arg, u64 address)
{
	struct entry_search *s = arg;

	return add_code(s->f, address, NULL, NULL, true);
}

static int find_lines(struct finder *f)
{
	const struct point *p = f->point;
	struct entry_search s = {.f = f};
	const char *path;
	int err;

	if (!p->line) {
		path = debug_source_named(f->t->file, p->source);
		return path ? add_pattern(&s, path, 1) : -ENOENT;
	}
	err = each_exact_line(&s, p->source, p->line);
	if (err == -ENOENT)
		err = debug_each_declared(f->t->file, p->source, p->line, add_declared, &s);
	if (err == -ENOENT && s.nearest) {
		diag_error(f->t->diag, p->at, "Probe point '%s' not found.", p->text);
		diag_hint(f->t->diag, "no code comes from that line; the next with code is %s:%u",
			  p->source, s.nearest);
		f->err = -ENOENT;
	}
	return err;
}

/* ---- all ---- */

static int find(struct finder *f, const struct point_definition *def)
{
	const struct point *p = f->point;
	const bool needs_lines = p->source || p->line || p->pattern;
	bool has_debug;
	int found = 0;

	if (p->sdt_event)
		return find_notes(f);
	if (needs_lines || point_wants_variables(def) ||
	    (f->t->module && strchr(f->t->config->module, '/')))
		translator_find_debug(f->t);
	if (p->has_address)
		return find_address(f);
	has_debug = f->t->file && !debug_available(f->t->file);
	if (!has_debug && needs_lines) {
		f->err = translator_refuse(f->t, p->at);
		return f->err;
	}
	if (!p->function)
		return find_lines(f);
	if (has_debug && !p->is_return)
		found = find_entries(f);
	/* Functions without debug information have symbols. */
	if (!needs_lines && !f->err && !f->out->list.len)
		found = f->t->file ? find_symbols(f) : find_kernel_functions(f);
	/* What C++ calls `get` is not the symbol's name. */
	if (has_debug && p->is_return && !f->err && !f->out->list.len)
		found = find_entries(f);
	return found;
}

static void hint_nearest(struct finder *f)
{
	char *loaded;

	if (f->t->module) {
		loaded = xasprintf("/sys/module/%s", f->t->module);
		if (!f->t->file && access(loaded, F_OK))
			diag_hint(f->t->diag,
				  "no module %s is loaded, and its debug information is not "
				  "installed; -m also takes the path of a .ko",
				  f->t->module);
		else
			diag_hint(f->t->diag, "-F instead of it lists the module's functions");
		free(loaded);
		return;
	}
	if (!f->t->file && f->point->function)
		function_missing_hint(&f->t->env, "kprobe", f->point->function);
	else if (f->t->is_user)
		diag_hint(f->t->diag, "`pantrace probe -x %s -F` lists the functions", f->t->path);
}

int places_find(struct translator *t, const struct point_definition *def, struct places *ret)
{
	const struct point *p = &def->point;
	struct finder f = {.t = t, .point = p, .out = ret};
	int err = find(&f, def);

	/* Inlined everywhere: the symbols do not know it. */
	if (!f.err && (!err || err == -ENOENT) && !ret->list.len && !ret->skipped && !t->file &&
	    p->function && !p->is_return && translator_find_debug(t))
		err = find(&f, def);
	if (f.err)
		return f.err;
	if (!err)
		err = t->file ? user_check_files(&t->env, p->at) : 0;
	if (ret->list.len || (err && err != -ENOENT))
		return err;
	if (t->file && debug_lacks(t->file))
		return translator_refuse(t, p->at);
	diag_error(t->diag, p->at, "Probe point '%s' not found.", p->text);
	hint_nearest(&f);
	return -ENOENT;
}
