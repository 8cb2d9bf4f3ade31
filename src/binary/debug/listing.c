/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/debug/listing.h"

#include <dwarf.h>

#include "base/hashmap.h"
#include "binary/debug/internal.h"
#include "binary/debug/variable.h"
#include "binary/process/maps.h"

enum {
	MAX_DEPTH = 32, /* of namespaces and classes */
	MAX_COPIES = 4096, /* of one function */
	MAX_OTHERS = 64,
};

void debug_listing_release(struct debug_listing *l)
{
	for (size_t i = 0; i < l->others.len; i++)
		free(l->others.items[i].file);
	vector_free(&l->others);
	vector_free(&l->lines);
	free(l->file);
	free(l->directory);
}

struct walk {
	struct elf_file *elf;
	struct debug_listing *out;
	const char *source; /* the end of the path that is wanted */
	u32 from, to; /* lines of the file */
	Dwarf_Die unit; /* that is looked at */
	const Dwarf_Die *copy; /* of the function; NULL: all of the unit counts */
	u64 begin; /* of the copy */
	const void *bounded; /* the unit whose functions `to` has been cut by */
	bool is_inlined;
	struct hashmap entries; /* where functions of the unit begin -> line of the declaration */
};

/* ---- rows of line tables ---- */

static void add(struct walk *w, u32 line, u64 address)
{
	struct debug_listing *out = w->out;

	if (line >= w->from && line <= w->to) {
		vector_push(&out->lines,
			    (struct debug_listed_line){line, address, .is_inlined = w->is_inlined});
		return;
	}
	/* Behind the range rather than before it. */
	if (!out->nearest ||
	    (out->nearest < w->from ? line > out->nearest : line > w->to && line < out->nearest))
		out->nearest = line;
}

/* The line in which the nearest function around the copy calls what has the address. */
static bool calls_from(Dwarf_Die *inner, const char *file, int line)
{
	const char *name;
	u32 number;

	return debug_call_of(inner, &name, &number) && number == (u32)line && str_eq(name, file);
}

/*
 * Whether the code is the function's own, or its call of something that is inlined there. A copy
 * may begin at an address that its ranges leave out: there only its declaration is its own.
 */
static bool is_own(struct walk *w, u64 address, const char *file, int line)
{
	Dwarf_Die *scopes = NULL, *inner = NULL;
	const u32 n = debug_scopes_at(w->elf, &w->unit, address, false, &scopes);
	bool found = false;

	for (u32 i = 0; i < n && !found; i++) {
		found = scopes[i].addr == w->copy->addr;
		if (!found && dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine)
			inner = &scopes[i];
	}
	if (found)
		found = !inner || calls_from(inner, file, line);
	else
		found = address == w->begin && (u32)line == w->out->base;
	free(scopes);
	return found;
}

static void look_at_row(struct walk *w, Dwarf_Line *row, u64 address)
{
	const char *file = dwarf_linesrc(row, NULL, NULL);
	const u32 *entry = hashmap_get(&w->entries, &address, sizeof(address));
	int line;

	if (dwarf_lineno(row, &line) || line <= 0 || !file ||
	    !debug_path_ends_with(file, w->source))
		return;
	/* A function's first instruction is that of its declaration, which is added apart. */
	if (entry && *entry != (u32)line)
		return;
	if (w->copy &&
	    ((address != w->begin && dwarf_haspc((Dwarf_Die *)(uintptr_t)w->copy, address) != 1) ||
	     !is_own(w, address, file, line)))
		return;
	add(w, (u32)line, address);
}

/*
 * libdw has the rows in the order of addresses. At the address where a copy is inlined the first of
 * them is often the caller's.
 */
static void walk_rows(struct walk *w)
{
	Dwarf_Die table;
	Dwarf_Lines *lines;
	size_t count;
	u64 taken = 0; /* the last address that has a statement, + 1 */

	debug_line_unit(w->elf, &w->unit, &table);
	if (dwarf_getsrclines(&table, &lines, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, i);
		bool is_statement, is_end = false;
		Dwarf_Addr address;

		if (dwarf_lineaddr(row, &address) || (address + 1 == taken && !w->is_inlined) ||
		    dwarf_linebeginstatement(row, &is_statement) || !is_statement ||
		    dwarf_lineendsequence(row, &is_end) || is_end)
			continue;
		taken = address + 1;
		look_at_row(w, row, address);
	}
}

static int compare_lines(const void *a, const void *b)
{
	const struct debug_listed_line *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* In order, each once. */
static void sort(struct debug_listing *l)
{
	size_t n = 0;

	if (l->lines.len)
		qsort(l->lines.items, l->lines.len, sizeof(*l->lines.items), compare_lines);
	for (size_t i = 0; i < l->lines.len; i++)
		if (!n || compare_lines(&l->lines.items[n - 1], &l->lines.items[i]))
			l->lines.items[n++] = l->lines.items[i];
	l->lines.len = n;
}

/* ---- the functions of a unit ---- */

/* Calls fn for each function that is described in a unit, without what is inside of functions. */
static void each_function(struct walk *w, Dwarf_Die *parent, u32 depth,
			  void (*fn)(struct walk *w, Dwarf_Die *function))
{
	Dwarf_Die child;

	for (int more = dwarf_child(parent, &child); more == 0; more = debug_next_sibling(&child)) {
		const int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			fn(w, &child);
		else if ((tag == DW_TAG_namespace || tag == DW_TAG_module ||
			  tag == DW_TAG_structure_type || tag == DW_TAG_class_type) &&
			 depth < MAX_DEPTH)
			each_function(w, &child, depth + 1, fn);
	}
}

static u32 declared_line(Dwarf_Die *function)
{
	int line;

	return dwarf_decl_line(function, &line) == 0 && line > 0 ? (u32)line : 0;
}

static void note_entry(struct walk *w, Dwarf_Die *function)
{
	const char *file = debug_declared_in(function);
	const u32 line = declared_line(function);
	u64 address;
	void **slot;

	if (!file || !line || !debug_entry_of(function, &address))
		return;
	slot = hashmap_put(&w->entries, &address, sizeof(address), NULL);
	if (!*slot)
		*slot = xmalloc(sizeof(line));
	memcpy(*slot, &line, sizeof(line));
	if (!w->copy && debug_path_ends_with(file, w->source))
		add(w, line, address);
}

static void forget_entries(struct walk *w)
{
	hashmap_each (&w->entries, e)
		free(e->value);
	hashmap_release(&w->entries);
	w->entries = (struct hashmap){0};
}

static void take_directory(struct debug_listing *out, Dwarf_Die *unit)
{
	Dwarf_Attribute a;
	const char *directory =
		dwarf_attr_integrate(unit, DW_AT_comp_dir, &a) ? dwarf_formstring(&a) : NULL;

	if (!out->directory && directory)
		out->directory = xstrdup(directory);
}

static void note_other(struct debug_listing *out, const char *file, u32 line)
{
	for (size_t i = 0; i < out->others.len; i++)
		if (out->others.items[i].line == line && str_eq(out->others.items[i].file, file))
			return;
	if (out->others.len < MAX_OTHERS)
		vector_push(&out->others, (struct debug_listed_function){xstrdup(file), line});
}

/* ---- a function ---- */

struct copy {
	Dwarf *dwarf;
	u64 offset, address;
	bool is_inlined;
};

struct search {
	const char *source;
	struct debug_listing *out;
	VECTOR(struct copy) copies;
};

static int note_copy(void *arg, const struct debug_entry *e)
{
	struct search *s = arg;
	struct debug_listing *out = s->out;
	const char *const file = e->line ? debug_entry_file(e) : NULL;

	if (!file || (s->source && !debug_path_ends_with(file, s->source)))
		return 0;
	if (!out->file) {
		out->file = xstrdup(file);
		out->base = e->line;
	}
	if (e->line != out->base || !str_eq(file, out->file))
		note_other(out, file, e->line);
	else if (s->copies.len < MAX_COPIES)
		vector_push(&s->copies, (struct copy){(Dwarf *)(uintptr_t)e->dwarf, e->offset,
						      e->address, e->is_inlined});
	return 0;
}

/*
 * Another function of the file, which begins behind this one, ends it: rows of inlined copies may
 * have lines of what they are inlined in.
 */
static void note_end(struct walk *w, Dwarf_Die *function)
{
	const u32 line = declared_line(function);
	const char *file;

	if (line <= w->out->base || line > w->to || dwarf_hasattr(function, DW_AT_declaration))
		return;
	file = debug_declared_in(function);
	if (file && str_eq(file, w->out->file))
		w->to = line - 1;
}

/* The unit that the function is described in: with LTO not always that of its code. */
static bool origin_unit(Dwarf_Die die, Dwarf_Die *ret)
{
	static const unsigned int links[] = {DW_AT_abstract_origin, DW_AT_specification};
	Dwarf_Attribute a;

	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (dwarf_attr(&die, links[i], &a) && !dwarf_formref_die(&a, &die))
			return false;
	return dwarf_diecu(&die, ret, NULL, NULL) != NULL;
}

/* Lines that call what is inlined may have no code but that. */
static void add_calls(struct walk *w, Dwarf_Die *scope, u32 depth)
{
	Dwarf_Die child;
	const char *file;
	u64 address;
	u32 line;

	for (int more = dwarf_child(scope, &child); more == 0; more = debug_next_sibling(&child)) {
		const int tag = dwarf_tag(&child);

		if (tag == DW_TAG_lexical_block && depth < MAX_DEPTH)
			add_calls(w, &child, depth + 1);
		else if (tag == DW_TAG_inlined_subroutine && debug_call_of(&child, &file, &line) &&
			 debug_path_ends_with(file, w->source) && debug_entry_of(&child, &address))
			add(w, line, address);
	}
}

static void walk_copy(struct walk *w, const struct copy *c)
{
	Dwarf_Die die, origin;

	if (!dwarf_offdie(c->dwarf, c->offset, &die) || !dwarf_diecu(&die, &w->unit, NULL, NULL))
		return;
	w->copy = &die;
	w->begin = c->address;
	w->is_inlined = c->is_inlined;
	take_directory(w->out, &w->unit);
	if (origin_unit(die, &origin) && origin.addr != w->bounded) {
		each_function(w, &origin, 0, note_end);
		w->bounded = origin.addr;
	}
	if (!c->is_inlined) {
		each_function(w, &w->unit, 0, note_entry);
		add(w, w->out->base, c->address);
	}
	walk_rows(w);
	add_calls(w, &die, 0);
	forget_entries(w);
	w->copy = NULL;
}

/* What lies beyond the function's end was found before the end was known. */
static void cut(struct debug_listing *l, u32 to)
{
	size_t n = 0;

	for (size_t i = 0; i < l->lines.len; i++)
		if (l->lines.items[i].line <= to)
			l->lines.items[n++] = l->lines.items[i];
	l->lines.len = n;
}

int debug_list_function(struct elf_file *f, const char *name, const char *source, u32 from, u32 to,
			struct debug_listing *ret)
{
	struct search s = {.source = source, .out = ret};
	struct walk w = {.elf = f, .out = ret};
	char *file;
	int err;

	*ret = (struct debug_listing){0};
	if (!debug_dwarf(f))
		return -ENODATA;
	err = debug_each_entry(f, name, note_copy, &s);
	if (err || !ret->file) {
		vector_free(&s.copies);
		return err ? err : -ENOENT;
	}
	file = xstrdup(ret->file);
	w.source = file;
	w.from = ret->base + MIN(from, UINT32_MAX - ret->base);
	w.to = ret->base + MIN(to, UINT32_MAX - ret->base);
	for (size_t i = 0; i < s.copies.len; i++)
		walk_copy(&w, &s.copies.items[i]);
	sort(ret);
	cut(ret, w.to);
	vector_free(&s.copies);
	free(file);
	return ret->lines.len ? 0 : -ENOENT;
}

/* ---- a file ---- */

static bool unit_is_of(struct walk *w, Dwarf_Die *unit)
{
	const char *name = dwarf_diename(unit);

	return name && str_eq(path_base_name(name), path_base_name(w->source));
}

/* The full path of a file of the unit that is meant. */
static const char *wanted_file(struct walk *w)
{
	Dwarf_Die table;
	Dwarf_Files *files;
	size_t n;

	debug_line_unit(w->elf, &w->unit, &table);
	if (dwarf_getsrcfiles(&table, &files, &n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *name = dwarf_filesrc(files, i, NULL, NULL);

		if (name && debug_path_ends_with(name, w->source))
			return name;
	}
	return NULL;
}

static void walk_unit(struct walk *w, Dwarf_Die *unit)
{
	const char *file, *source = w->source;

	w->unit = *unit;
	file = wanted_file(w);
	if (!file)
		return;
	if (w->out->file && !str_eq(file, w->out->file)) {
		note_other(w->out, file, 0);
		return;
	}
	if (!w->out->file)
		w->out->file = xstrdup(file);
	take_directory(w->out, unit);
	w->source = file; /* of several of that name: this one */
	each_function(w, &w->unit, 0, note_entry);
	walk_rows(w);
	forget_entries(w);
	w->source = source;
}

static int walk_unit_of_file(void *arg, Dwarf_Die *unit)
{
	struct walk *w = arg;

	if (unit_is_of(w, unit))
		walk_unit(w, unit);
	return 0;
}

static int walk_any_unit(void *arg, Dwarf_Die *unit)
{
	walk_unit(arg, unit);
	return 0;
}

int debug_list_file(struct elf_file *f, const char *source, u32 from, u32 to,
		    struct debug_listing *ret)
{
	struct walk w = {.elf = f, .out = ret, .source = source, .from = from, .to = to};

	*ret = (struct debug_listing){0};
	if (!debug_dwarf(f))
		return -ENODATA;
	/* A header is in many units, and its name in none; with LTO the code is in another unit. */
	debug_each_unit_of(f, source, 0, walk_unit_of_file, &w);
	if (!ret->lines.len)
		debug_each_unit_of(f, source, 0, walk_any_unit, &w);
	sort(ret);
	return ret->lines.len ? 0 : -ENOENT;
}

/* ---- functions declared at a line ---- */

static int find_unit_of_file(void *arg, Dwarf_Die *unit)
{
	struct walk *const w = arg;

	w->unit = *unit;
	return unit_is_of(w, unit) && wanted_file(w);
}

/* By the index: of several files of that name, in the one that debug_list_file() takes. */
static int each_indexed(struct elf_file *f, const struct debug_index *index, const char *source,
			u32 line, int (*fn)(void *arg, u64 address), void *arg)
{
	struct walk w = {.elf = f, .source = source};
	const char *const file = debug_each_unit_of(f, source, 0, find_unit_of_file, &w)
					 ? wanted_file(&w)
					 : index_path(index, source);
	struct index_list found = {0};
	Dwarf_Die die;
	u64 address;
	int result = 0;

	if (file)
		index_declared(index, file, line, &found);
	for (size_t i = 0; i < found.list.len && !result; i++)
		if (debug_die_at(f, found.list.items[i], DW_TAG_subprogram, &die) &&
		    debug_entry_of(&die, &address))
			result = fn(arg, address);
	if (!result && !found.list.len)
		result = -ENOENT;
	vector_free(&found.list);
	return result;
}

int debug_each_declared(struct elf_file *f, const char *source, u32 line,
			int (*fn)(void *arg, u64 address), void *arg)
{
	const struct debug_index *const index = debug_dwarf(f) ? debug_index(f) : NULL;
	struct debug_listing l;
	int result;

	if (index)
		return each_indexed(f, index, source, line, fn, arg);
	result = debug_list_file(f, source, line, line, &l);
	for (size_t i = 0; i < l.lines.len && !result; i++)
		result = fn(arg, l.lines.items[i].address);
	debug_listing_release(&l);
	return result;
}
