/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where functions begin, by any of their names: the code itself, and its inlined copies. */
#include <dwarf.h>

#include "base/glob.h"
#include "base/hashmap.h"
#include "binary/debug/internal.h"
#include "binary/debug/variable.h"
#include "binary/elf/internal.h"

enum { MAX_DEPTH = 64 };

/* A copy that is shown after the functions themselves. */
struct copy {
	Dwarf_Die die, function; /* the copy; what has its code */
};

struct search {
	struct elf_file *file;
	const char *name;
	bool is_glob;
	int (*fn)(void *arg, const struct debug_entry *e);
	void *arg;
	u32 found;
	u64 budget; /* of DIEs that are looked at: damaged trees have no end */
	struct hashmap seen; /* addresses of functions that were shown */
	struct hashmap matches; /* where a function is described -> "" matches, NULL does not */
	VECTOR(struct copy) copies;
	/* Without an index, of a name that is no pattern: */
	struct debug_names names;
	struct debug_mention mention; /* where the names say nothing of a unit */
	const struct debug_index *index; /* NULL = none */
	VECTOR(struct index_site) sites; /* by the index */
	struct hashmap linkages; /* of functions that match, by the index */
};

static bool matches(const struct search *q, const char *name)
{
	if (!name)
		return false;
	return q->is_glob ? glob_match(q->name, name) : str_eq(q->name, name);
}

char *debug_template_name(const char *name)
{
	const char *const open = str_starts(name, "operator") ? NULL : strchr(name, '<');

	return open && open > name ? xstrndup(name, (size_t)(open - name)) : NULL;
}

static bool matches_template(const struct search *q, const char *name)
{
	char *bare = name ? debug_template_name(name) : NULL;
	const bool yes = bare && matches(q, bare);

	free(bare);
	return yes;
}

static bool matches_any(const struct search *q, const char *name, const char *linkage)
{
	return matches(q, name) || matches_template(q, name) || matches(q, linkage) ||
	       (linkage && mangled_name_matches(q->name, linkage));
}

/* Copies are many, the functions that they are of are few. */
static bool is_wanted(struct search *q, Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Die origin = *die;
	bool is_new;
	void **slot;

	/* Several constructors are copies of one, each with a linkage name of its own. */
	if (dwarf_hasattr(die, DW_AT_linkage_name))
		return matches_any(q, dwarf_diename(die), debug_linkage_name(die));
	if (dwarf_attr(die, DW_AT_abstract_origin, &a))
		dwarf_formref_die(&a, &origin);
	slot = hashmap_put(&q->matches, &origin.addr, sizeof(origin.addr), &is_new);
	if (is_new && matches_any(q, dwarf_diename(die), debug_linkage_name(die)))
		*slot = (void *)(uintptr_t) "";
	return *slot != NULL;
}

static char *qualified_name(const char *linkage)
{
	char *name = linkage ? demangle(linkage) : NULL, *bare, *copy;

	if (!name)
		return NULL;
	bare = demangled_name(name);
	bare[*bare == '<' ? strlen(bare) : strcspn(bare, "(")] = '\0';
	copy = xstrdup(bare);
	free(name);
	return copy;
}

/*
 * gcc's -fpartial-inlining: "f.part.0" is called from where f is declared, which no source does.
 */
static bool is_called_by_compiler(Dwarf_Die *copy)
{
	static const unsigned int pairs[][2] = {{DW_AT_call_file, DW_AT_decl_file},
						{DW_AT_call_line, DW_AT_decl_line},
						{DW_AT_call_column, DW_AT_decl_column}};
	Dwarf_Attribute call, declared;
	Dwarf_Word a, b;

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (!dwarf_attr(copy, pairs[i][0], &call) ||
		    !dwarf_attr_integrate(copy, pairs[i][1], &declared) ||
		    dwarf_formudata(&call, &a) || dwarf_formudata(&declared, &b) || a != b)
			return false;
	return true;
}

static int show(struct search *q, struct debug_entry *e)
{
	char *qualified = qualified_name(e->linkage);
	struct elf_symbol s;
	u64 into;
	int result;

	e->qualified = qualified ? qualified : e->name;
	if (!e->symbol && !e->is_inlined && elf_file_symbol_at(q->file, e->address, &s, &into) &&
	    !into)
		e->symbol = s.name;
	e->is_part |= e->symbol && e->dwarf && strstr(e->symbol, ".part.");
	q->found++;
	result = q->fn(q->arg, e);
	free(qualified);
	return result;
}

static void describe(Dwarf_Die *die, struct debug_entry *e)
{
	int line;

	e->name = dwarf_diename(die);
	e->linkage = debug_linkage_name(die);
	e->line = dwarf_decl_line(die, &line) == 0 && line > 0 ? (u32)line : 0;
	e->dwarf = dwarf_cu_getdwarf(die->cu);
	e->offset = dwarf_dieoffset(die);
	if (!debug_end_of(die, e->address, &e->end))
		e->end = 0;
}

static int show_function(struct search *q, Dwarf_Die *die, u64 address,
			 const struct elf_symbol *symbol)
{
	struct debug_entry e = {.address = address,
				.symbol = symbol ? symbol->name : NULL,
				.is_ifunc = symbol && symbol->is_ifunc};
	bool is_new;

	*hashmap_put(&q->seen, &address, sizeof(address), &is_new) = q;
	if (!is_new)
		return 0;
	if (die)
		describe(die, &e);
	if (!e.name)
		e.name = e.symbol;
	return e.name ? show(q, &e) : 0;
}

static int show_copy(struct search *q, struct copy *c)
{
	struct debug_entry e = {.is_inlined = true, .caller = dwarf_diename(&c->function)};

	if (!debug_entry_of(&c->die, &e.address))
		return 0;
	describe(&c->die, &e);
	e.is_part = is_called_by_compiler(&c->die);
	debug_entry_of(&c->function, &e.caller_address);
	return e.name ? show(q, &e) : 0;
}

/* ---- by the units ---- */

static int on_site(void *arg, Dwarf_Die *die, const Dwarf_Die *function, u64 address)
{
	struct search *q = arg;

	if (!is_wanted(q, die))
		return 0;
	if (!function)
		return show_function(q, die, address, NULL);
	vector_push(&q->copies, (struct copy){*die, *function});
	return 0;
}

static bool may_be_called(void *arg, const char *name)
{
	return matches_any(arg, name, name);
}

static bool may_have(struct search *q, Dwarf_Die *unit)
{
	const enum debug_naming naming = debug_names_say(&q->names, unit);

	if (q->is_glob || naming != DEBUG_NAMES_UNKNOWN)
		return q->is_glob || naming == DEBUG_NAMED;
	if (!q->mention.dwarf)
		debug_mention_init(&q->mention, q->file, q->name);
	return debug_may_mention(&q->mention, unit);
}

static int walk_unit(void *arg, Dwarf_Die *unit)
{
	struct search *q = arg;
	const int result = may_have(q, unit) ? debug_each_site(unit, &q->budget, on_site, q) : 0;

	return result == -EBADMSG ? 0 : result;
}

/* ---- by the index ---- */

static int on_name(void *arg, const struct index_name *n)
{
	struct search *q = arg;
	const struct index_site *sites;
	u32 count;

	if (!matches_any(q, n->name, n->linkage))
		return 0;
	if (n->linkage)
		hashmap_puts(&q->linkages, n->linkage, q);
	sites = index_sites(q->index, n, &count);
	for (u32 i = 0; i < count; i++)
		vector_push(&q->sites, sites[i]);
	return 0;
}

static int compare_sites(const void *a, const void *b)
{
	const struct index_site *x = a, *y = b;

	return x->die < y->die ? -1 : x->die > y->die;
}

/* In the order of the units, as the walk through them has it. */
static int show_sites(struct search *q)
{
	int result = 0;

	index_each_name(q->index, q->name, on_name, q);
	if (q->sites.len)
		qsort(q->sites.items, q->sites.len, sizeof(*q->sites.items), compare_sites);
	for (size_t i = 0; i < q->sites.len && !result; i++) {
		const struct index_site *s = &q->sites.items[i];
		struct copy c;
		u64 address;

		if (s->function) {
			if (debug_die_at(q->file, s->die, DW_TAG_inlined_subroutine, &c.die) &&
			    debug_die_at(q->file, s->function, DW_TAG_subprogram, &c.function))
				vector_push(&q->copies, c);
		} else if (debug_die_at(q->file, s->die, DW_TAG_subprogram, &c.die) &&
			   debug_entry_of(&c.die, &address)) {
			result = show_function(q, &c.die, address, NULL);
		}
	}
	return result;
}

/* ---- by the symbols ---- */

/* What has been answered for functions of that linkage name need not be demangled again. */
static bool symbol_matches(struct search *q, const char *name)
{
	if (q->index && *name == '_' && index_has_linkage(q->index, name))
		return hashmap_gets(&q->linkages, name) != NULL;
	return matches(q, name) || mangled_name_matches(q->name, name);
}

/* Names that only the symbol table knows: aliases, versions of a function, what has no DWARF. */
static int on_symbol(void *arg, const struct elf_symbol *s)
{
	struct search *q = arg;
	Dwarf_Die unit, *scopes = NULL, *function = NULL;
	u64 entry;
	u32 n;
	int result;

	if ((!s->is_function && !s->is_ifunc) || !s->address || !symbol_matches(q, s->name) ||
	    hashmap_get(&q->seen, &s->address, sizeof(s->address)))
		return 0;
	n = debug_unit_at(q->file, s->address, &unit)
		    ? debug_scopes_at(q->file, &unit, s->address, false, &scopes)
		    : 0;
	for (u32 i = 0; i < n && !function; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram &&
		    debug_entry_of(&scopes[i], &entry) && entry == s->address)
			function = &scopes[i];
	result = show_function(q, function, s->address, s);
	free(scopes);
	return result;
}

int debug_each_entry(struct elf_file *f, const char *name,
		     int (*fn)(void *arg, const struct debug_entry *e), void *arg)
{
	struct search q = {
		.file = f, .name = name, .is_glob = glob_has_wildcard(name), .fn = fn, .arg = arg};
	const bool has_dwarf = debug_dwarf(f) != NULL;
	int result;

	q.index = debug_index(f);
	q.budget = debug_budget(f);
	if (has_dwarf && !q.index && !q.is_glob)
		debug_names_search(&q.names, f, may_be_called, &q);
	result = q.index ? show_sites(&q) : debug_each_unit(f, walk_unit, &q);
	if (!result)
		result = elf_file_walk_symbols(f, on_symbol, &q);
	for (size_t i = 0; i < q.copies.len && !result; i++)
		result = show_copy(&q, &q.copies.items[i]);
	debug_names_release(&q.names);
	debug_mention_release(&q.mention);
	hashmap_release(&q.seen);
	hashmap_release(&q.matches);
	hashmap_release(&q.linkages);
	vector_free(&q.copies);
	vector_free(&q.sites);
	if (result || q.found)
		return result;
	return has_dwarf ? -ENOENT : -ENODATA;
}

/* ---- lines ---- */

/* A line may have no code but that of a function inlined there: the lowest address of it. */
static void find_call(Dwarf_Die *copy, const char *file, u32 line, u32 depth, u64 *lowest)
{
	Dwarf_Die child;

	for (int more = dwarf_child(copy, &child); more == 0; more = debug_next_sibling(&child)) {
		const char *call_file;
		u32 call_line;
		u64 address;

		if (dwarf_tag(&child) == DW_TAG_lexical_block && depth < MAX_DEPTH)
			find_call(&child, file, line, depth + 1, lowest);
		if (dwarf_tag(&child) != DW_TAG_inlined_subroutine)
			continue;
		if (debug_call_of(&child, &call_file, &call_line) && call_line == line &&
		    debug_path_ends_with(file, call_file) && debug_entry_of(&child, &address))
			*lowest = MIN(*lowest, address);
	}
}

struct line_search {
	struct elf_file *file;
	Dwarf_Die *unit, *copy;
	const char *source;
	u32 begin; /* the line of the declaration */
	u32 line;
	u64 lowest; /* address of the line; UINT64_MAX = none yet */
	u32 nearest; /* line behind it that has code; 0 = none yet */
};

/* At a copy's addresses, lines of functions around it may stand, which are declared behind it. */
static bool is_of_caller(const struct line_search *q, Dwarf_Die *around, u32 n, u32 line)
{
	for (u32 i = 0; i < n; i++) {
		const int tag = dwarf_tag(&around[i]);
		const char *file;
		int declared;

		if ((tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) ||
		    dwarf_decl_line(&around[i], &declared) || declared <= (int)q->begin ||
		    declared > (int)line)
			continue;
		file = debug_declared_in(&around[i]);
		if (file && debug_path_ends_with(q->source, file))
			return true;
	}
	return false;
}

/* Is the code at the address the copy's own, not that of something inlined into it? */
static bool is_innermost(const struct line_search *q, u64 address, u32 line, bool with_entries)
{
	Dwarf_Die *scopes;
	const u32 n = debug_scopes_at(q->file, q->unit, address, with_entries, &scopes);
	bool found = false;

	for (u32 i = 0; i < n; i++) {
		const int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
			continue;
		found = scopes[i].addr == q->copy->addr &&
			!is_of_caller(q, scopes + i + 1, n - i - 1, line);
		break;
	}
	free(scopes);
	return found;
}

/* Where a copy only begins, rows may be those of either. */
static bool is_own(const struct line_search *q, u64 address, u32 line)
{
	return is_innermost(q, address, line, false) || is_innermost(q, address, line, true);
}

static void look_at_row(struct line_search *q, Dwarf_Line *row, u64 address)
{
	bool is_statement, is_end = false;
	const char *file;
	int number;

	if (dwarf_lineno(row, &number) || number < (int)q->line ||
	    dwarf_linebeginstatement(row, &is_statement) || !is_statement ||
	    dwarf_lineendsequence(row, &is_end) || is_end)
		return;
	if ((u32)number == q->line ? address >= q->lowest : q->nearest && (u32)number >= q->nearest)
		return;
	file = dwarf_linesrc(row, NULL, NULL);
	if (!file || !debug_path_ends_with(q->source, file) || !is_own(q, address, (u32)number))
		return;
	if ((u32)number == q->line)
		q->lowest = address;
	else
		q->nearest = (u32)number;
}

const char *debug_entry_file(const struct debug_entry *e)
{
	Dwarf_Die die;

	return e->dwarf && dwarf_offdie((Dwarf *)(uintptr_t)e->dwarf, e->offset, &die)
		       ? debug_declared_in(&die)
		       : NULL;
}

int debug_each_line_of(struct elf_file *f, const struct debug_entry *e, u32 line,
		       int (*fn)(void *arg, u64 address), void *arg, u32 *ret_nearest)
{
	Dwarf_Die die, unit, table;
	struct line_search q = {
		f, &unit, &die, debug_entry_file(e), e->line, line, .lowest = UINT64_MAX};
	Dwarf_Addr base, start, end, address;
	ptrdiff_t at = 0;
	Dwarf_Lines *lines;
	size_t count;

	if (!q.source)
		return -ENODATA;
	if (!dwarf_offdie((Dwarf *)(uintptr_t)e->dwarf, e->offset, &die) ||
	    !dwarf_diecu(&die, &unit, NULL, NULL))
		return -ENOENT;
	debug_line_unit(f, &unit, &table);
	if (dwarf_getsrclines(&table, &lines, &count))
		return -ENODATA;
	while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0)
		for (size_t i = debug_row_from(lines, count, start); i < count; i++) {
			Dwarf_Line *row = dwarf_onesrcline(lines, i);

			if (dwarf_lineaddr(row, &address) || address >= end)
				break;
			look_at_row(&q, row, address);
		}
	find_call(&die, q.source, line, 0, &q.lowest);
	if (ret_nearest)
		*ret_nearest = q.nearest;
	return q.lowest == UINT64_MAX ? -ENOENT : fn(arg, q.lowest);
}
