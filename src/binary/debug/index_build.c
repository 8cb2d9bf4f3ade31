/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the index of a file: one walk through its units, and another through their lines. */
#include <dwarf.h>

#include "base/strbuf.h"
#include "binary/debug/index_format.h"
#include "binary/debug/internal.h"
#include "binary/elf/internal.h"

enum {
	LINES_AT_ONCE = 64, /* units whose lines libdw keeps */
	FORGOTTEN_AFTER = 16 << 20, /* bytes of .debug_info that are kept behind the walk */
};

struct source_path {
	u32 string;
	u32 unit; /* the last one that names it */
	struct strbuf uses;
};

struct found_site {
	u32 name;
	struct index_site site;
};

/* Where a function is declared, by the number that its unit has for the file. */
struct declaration {
	u64 unit, file;
	u32 line, die;
};

/* A statement: of a path, in a line. */
struct statement {
	u32 path, line;
};

struct builder {
	struct elf_file *file;
	u64 budget;
	struct strbuf strings;
	struct hashmap string_places; /* -> place + 1 */
	VECTOR(u32) units;
	VECTOR(struct index_range_row) ranges;
	struct hashmap path_numbers; /* -> number + 1 */
	VECTOR(struct source_path) paths;
	struct hashmap origins; /* where a function is described -> name + 1 */
	struct hashmap name_numbers; /* both strings -> number + 1 */
	VECTOR(struct index_name_row) names;
	VECTOR(struct found_site) sites;
	VECTOR(struct index_code_row) code;
	VECTOR(struct declaration) declarations; /* sorted by unit: those behind `resolved` */
	size_t resolved;
	VECTOR(struct index_declared_row) declared;
	VECTOR(struct index_form_row) forms;
	VECTOR(struct index_die_row) variables;
	struct hashmap types_seen; /* tag and string */
	VECTOR(struct index_die_row) types;
	u64 forgotten; /* .debug_info up to here has been given back */
};

static u32 add_string(struct builder *b, const char *s)
{
	void **slot;

	if (!s || !*s)
		return 0;
	slot = hashmap_put(&b->string_places, s, strlen(s), NULL);
	if (!*slot) {
		*slot = (void *)(uintptr_t)(b->strings.len + 1);
		strbuf_add(&b->strings, s, strlen(s) + 1);
	}
	return (u32)((uintptr_t)*slot - 1);
}

static struct index_die_row die_row(struct builder *b, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	return (struct index_die_row){index_hash(name), add_string(b, name),
				      (u32)dwarf_dieoffset(die)};
}

/* ---- functions ---- */

struct name_forms {
	struct builder *builder;
	u32 name;
	size_t first; /* of b->forms */
};

static int add_form(void *arg, const char *text)
{
	struct name_forms *n = arg;
	struct builder *b = n->builder;
	const struct index_form_row row = {index_hash(text), n->name};

	for (size_t i = n->first; i < b->forms.len; i++)
		if (b->forms.items[i].hash == row.hash)
			return 0;
	vector_push(&b->forms, row);
	return 0;
}

/* Whatever entry.c compares with a name that is asked for. */
static void add_forms(struct builder *b, u32 number, const char *name, const char *linkage)
{
	struct name_forms n = {b, number, b->forms.len};
	char *bare = name ? debug_template_name(name) : NULL;

	if (name)
		add_form(&n, name);
	if (bare)
		add_form(&n, bare);
	if (linkage) {
		add_form(&n, linkage);
		mangled_each_name(linkage, add_form, &n);
	}
	free(bare);
}

static u32 name_of(struct builder *b, Dwarf_Die *die)
{
	const char *const name = dwarf_diename(die), *const linkage = debug_linkage_name(die);
	const u32 key[] = {add_string(b, name), add_string(b, linkage)};
	void **slot = hashmap_put(&b->name_numbers, key, sizeof(key), NULL);

	if (!*slot) {
		const u32 number = (u32)b->names.len;

		*slot = (void *)(uintptr_t)(number + 1);
		vector_push(&b->names, (struct index_name_row){key[0], key[1], 0});
		add_forms(b, number, name, linkage);
	}
	return (u32)((uintptr_t)*slot - 1);
}

static void add_declaration(struct builder *b, Dwarf_Die *function)
{
	Dwarf_Attribute a;
	Dwarf_Word file;
	Dwarf_Die unit;
	int line;

	if (dwarf_decl_line(function, &line) || line <= 0 ||
	    !dwarf_attr_integrate(function, DW_AT_decl_file, &a) || dwarf_formudata(&a, &file) ||
	    dwarf_cu_info(a.cu, NULL, NULL, &unit, NULL, NULL, NULL, NULL))
		return;
	vector_push(&b->declarations, (struct declaration){dwarf_dieoffset(&unit), file, (u32)line,
							   (u32)dwarf_dieoffset(function)});
}

static void add_code(struct builder *b, Dwarf_Die *function)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(function, at, &base, &start, &end)) > 0)
		if (start < end && end - start <= UINT32_MAX)
			vector_push(&b->code,
				    (struct index_code_row){start, (u32)(end - start),
							    (u32)dwarf_dieoffset(function)});
}

static int add_site(void *arg, Dwarf_Die *die, const Dwarf_Die *function, u64 address)
{
	struct builder *b = arg;
	Dwarf_Die origin = *die, outer = function ? *function : *die;
	Dwarf_Attribute a;
	void **slot;

	(void)address;
	if (!function) {
		add_declaration(b, die);
		add_code(b, die);
	}
	if (dwarf_attr(die, DW_AT_abstract_origin, &a))
		dwarf_formref_die(&a, &origin);
	slot = hashmap_put(&b->origins, &origin.addr, sizeof(origin.addr), NULL);
	if (!*slot)
		*slot = (void *)(uintptr_t)(name_of(b, die) + 1);
	vector_push(&b->sites, (struct found_site){
				       (u32)((uintptr_t)*slot - 1),
				       {(u32)dwarf_dieoffset(die),
					function && outer.addr ? (u32)dwarf_dieoffset(&outer) : 0},
			       });
	return function && !outer.addr ? -EBADMSG : 0;
}

/* ---- variables, types, ranges ---- */

static int add_variable(void *arg, Dwarf_Die *variable)
{
	struct builder *b = arg;

	vector_push(&b->variables, die_row(b, variable));
	return 0;
}

static void add_types(struct builder *b, Dwarf_Die *unit)
{
	Dwarf_Die child;

	for (int more = dwarf_child(unit, &child); more == 0; more = debug_next_sibling(&child)) {
		const int tag = dwarf_tag(&child);
		struct index_die_row row;
		u32 key[2];
		bool is_new;

		if ((tag != DW_TAG_structure_type && tag != DW_TAG_class_type &&
		     tag != DW_TAG_union_type && tag != DW_TAG_enumeration_type &&
		     tag != DW_TAG_typedef) ||
		    dwarf_hasattr(&child, DW_AT_declaration) || !dwarf_diename(&child))
			continue;
		row = die_row(b, &child);
		key[0] = (u32)tag;
		key[1] = row.name;
		hashmap_put(&b->types_seen, key, sizeof(key), &is_new);
		if (is_new)
			vector_push(&b->types, row);
	}
}

static void add_ranges(struct builder *b, Dwarf_Die *unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(unit, at, &base, &start, &end)) > 0)
		if (start < end)
			vector_push(&b->ranges,
				    (struct index_range_row){start, end, (u32)b->units.len, 0});
}

/* ---- lines ---- */

static u32 path_number(struct builder *b, const char *path)
{
	void **slot = hashmap_put(&b->path_numbers, path, strlen(path), NULL);

	if (!*slot) {
		vector_push(&b->paths,
			    (struct source_path){add_string(b, path), UINT32_MAX, STRBUF_INIT});
		*slot = (void *)(uintptr_t)b->paths.len;
	}
	return (u32)((uintptr_t)*slot - 1);
}

static int by_path(const void *a, const void *b)
{
	const struct statement *x = a, *y = b;

	if (x->path != y->path)
		return x->path < y->path ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

struct statements {
	VECTOR(struct statement) list;
};

/* Rows as lines.c looks at them. */
static void read_rows(struct builder *b, Dwarf_Lines *lines, size_t count, struct statements *ret)
{
	const char *last_path = NULL;
	struct statement s = {0}, last = {UINT32_MAX, 0};

	for (size_t i = 0; i < count; i++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, i);
		bool is_statement, is_end = false;
		const char *path;
		int line;

		if (dwarf_lineno(row, &line) || line <= 0 ||
		    dwarf_linebeginstatement(row, &is_statement) || !is_statement ||
		    dwarf_lineendsequence(row, &is_end) || is_end)
			continue;
		path = dwarf_linesrc(row, NULL, NULL);
		if (!path)
			continue;
		if (path != last_path)
			s.path = path_number(b, path);
		last_path = path;
		s.line = (u32)line;
		if (s.path != last.path || s.line != last.line)
			vector_push(&ret->list, s);
		last = s;
	}
	if (ret->list.len)
		qsort(ret->list.items, ret->list.len, sizeof(*ret->list.items), by_path);
}

/* One use: unit, number of lines, lines. */
static void write_use(struct source_path *p, u32 unit, const struct statement *first,
		      const struct statement *end)
{
	u32 count = 0, line = 0;

	for (const struct statement *s = first; s < end; s++) {
		count += s->line != line;
		line = s->line;
	}
	strbuf_add_leb128(&p->uses, unit - (p->unit == UINT32_MAX ? 0 : p->unit));
	strbuf_add_leb128(&p->uses, count);
	p->unit = unit;
	line = 0;
	for (const struct statement *s = first; s < end; s++) {
		if (s->line != line)
			strbuf_add_leb128(&p->uses, s->line - line);
		line = s->line;
	}
}

static int by_unit(const void *a, const void *b)
{
	const struct declaration *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->die < y->die ? -1 : x->die > y->die;
}

/* The files of a unit are known now: its functions get their paths. */
static void resolve_declarations(struct builder *b, u64 unit, Dwarf_Files *files, size_t count)
{
	for (; b->resolved < b->declarations.len; b->resolved++) {
		const struct declaration *const d = &b->declarations.items[b->resolved];
		const char *path = NULL;

		if (d->unit > unit)
			break;
		if (d->unit == unit && d->file < count)
			path = dwarf_filesrc(files, d->file, NULL, NULL);
		if (path)
			vector_push(&b->declared, (struct index_declared_row){
							  d->line, add_string(b, path), d->die});
	}
}

static void add_lines(struct builder *b, Dwarf_Die *unit, u32 number)
{
	struct statements found = {0};
	Dwarf_Lines *lines;
	Dwarf_Files *files;
	size_t count, n, end;

	if (dwarf_getsrcfiles(unit, &files, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		const char *path = dwarf_filesrc(files, i, NULL, NULL);

		if (path)
			path_number(b, path);
	}
	resolve_declarations(b, b->units.items[number], files, count);
	if (dwarf_getsrclines(unit, &lines, &n) == 0)
		read_rows(b, lines, n, &found);
	for (size_t i = 0; i < found.list.len; i = end) {
		for (end = i; end < found.list.len &&
			      found.list.items[end].path == found.list.items[i].path;)
			end++;
		write_use(&b->paths.items[found.list.items[i].path], number, &found.list.items[i],
			  &found.list.items[end]);
	}
	for (size_t i = 0; i < count; i++) {
		const char *path = dwarf_filesrc(files, i, NULL, NULL);
		struct source_path *p = path ? &b->paths.items[path_number(b, path)] : NULL;

		if (p && p->unit != number)
			write_use(p, number, NULL, NULL);
	}
	vector_free(&found.list);
}

/* libdw keeps the lines of each unit as long as it is open: it is opened again and again. */
static bool add_all_lines(struct builder *b)
{
	const struct dwarf_file *d = &debug_of(b->file)->dwarf;
	Dwarf *dwarf = NULL;
	Dwarf_Die unit;

	if (b->declarations.len)
		qsort(b->declarations.items, b->declarations.len, sizeof(*b->declarations.items),
		      by_unit);
	for (size_t i = 0; i < b->units.len; i++) {
		if (i % LINES_AT_ONCE == 0) {
			dwarf_end(dwarf);
			dwarf = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
			if (!dwarf)
				return false;
			if (d->shared)
				dwarf_setalt(dwarf, d->shared->dwarf);
		}
		if (dwarf_offdie(dwarf, b->units.items[i], &unit))
			add_lines(b, &unit, (u32)i);
	}
	dwarf_end(dwarf);
	return true;
}

/* ---- all ---- */

/* What the walks have left behind is read again where it is needed, unless we have changed it. */
static void forget(struct elf_file *f, const char *section, u64 from, u64 to)
{
	const struct elf_section *s = elf_section_named(f, section);

	if (s && !f->is_relocated && !(s->flags & SHF_COMPRESSED) && from < MIN(to, s->size))
		file_image_drop(&f->image, s->offset + from, MIN(to, s->size) - from);
}

static int add_unit(void *arg, Dwarf_Die *unit)
{
	struct builder *b = arg;
	const u64 offset = dwarf_dieoffset(unit);
	uint8_t type;
	int result;

	/* Split units have files of their own, and what is larger has offsets of 64 bits. */
	if (offset > INT32_MAX || dwarf_cu_getdwarf(unit->cu) != debug_dwarf(b->file) ||
	    dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) ||
	    type != DW_UT_compile)
		return -EFBIG;
	if (offset > b->forgotten + FORGOTTEN_AFTER) {
		forget(debug_of(b->file)->dwarf.file, ".debug_info", b->forgotten, offset);
		b->forgotten = offset;
	}
	add_ranges(b, unit);
	vector_push(&b->units, (u32)offset);
	result = debug_each_site(unit, &b->budget, add_site, b);
	if (!result)
		result = debug_each_external(unit, add_variable, b);
	if (!result)
		add_types(b, unit);
	return b->strings.len > INT32_MAX ? -EFBIG : result;
}

static int by_hash(const void *a, const void *b)
{
	const u32 *x = a, *y = b;

	/* Then by the next number, so that the same file gives the same index. */
	return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] < y[1] ? -1 : x[1] > y[1];
}

static void add_table(struct strbuf *out, struct index_header *h, enum index_table_id t,
		      const void *rows, size_t bytes)
{
	static const char zeros[8];

	h->tables[t].at = out->len;
	h->tables[t].bytes = bytes;
	if (bytes)
		strbuf_add(out, rows, bytes);
	strbuf_add(out, zeros, (8 - out->len % 8) % 8);
}

/* Sites in the order of their names, each name's as they were found. */
static struct index_site *sorted_sites(struct builder *b)
{
	struct index_site *sorted = xmalloc((b->sites.len + 1) * sizeof(*sorted));
	u32 *next = xzalloc((b->names.len + 1) * sizeof(*next));
	u32 at = 0;

	for (size_t i = 0; i < b->sites.len; i++)
		next[b->sites.items[i].name]++;
	for (size_t i = 0; i < b->names.len; i++) {
		const u32 count = next[i];

		b->names.items[i].sites = next[i] = at;
		at += count;
	}
	for (size_t i = 0; i < b->sites.len; i++)
		sorted[next[b->sites.items[i].name]++] = b->sites.items[i].site;
	free(next);
	return sorted;
}

static int by_address(const void *a, const void *b)
{
	const struct index_code_row *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->die < y->die ? -1 : x->die > y->die;
}

/* Functions that share their code: the first one. */
static void sort_code(struct builder *b)
{
	struct index_code_row *const rows = b->code.items;
	size_t n = 0;

	if (b->code.len)
		qsort(rows, b->code.len, sizeof(*rows), by_address);
	for (size_t i = 0; i < b->code.len; i++)
		if (!n || rows[i].start - rows[n - 1].start >= rows[n - 1].size)
			rows[n++] = rows[i];
	b->code.len = n;
}

static void add_paths(struct builder *b, struct strbuf *out, struct index_header *h)
{
	struct index_path_row *rows = xmalloc((b->paths.len + 1) * sizeof(*rows));
	struct strbuf uses = STRBUF_INIT;

	for (size_t i = 0; i < b->paths.len; i++) {
		rows[i] = (struct index_path_row){b->paths.items[i].string, (u32)uses.len};
		strbuf_add(&uses, b->paths.items[i].uses.data, b->paths.items[i].uses.len);
	}
	add_table(out, h, INDEX_PATHS, rows, b->paths.len * sizeof(*rows));
	add_table(out, h, INDEX_USES, uses.data, uses.len);
	strbuf_release(&uses);
	free(rows);
}

#define ADD_TABLE(out, h, t, v) add_table(out, h, t, (v)->items, (v)->len * sizeof(*(v)->items))
#define SORT_BY_HASH(v) \
	((v)->len ? qsort((v)->items, (v)->len, sizeof(*(v)->items), by_hash) : (void)0)

static void write_index(struct builder *b, const struct index_identity *of, struct strbuf *out)
{
	struct index_header h = {.magic = INDEX_MAGIC, .of = *of};
	struct index_site *sites = sorted_sites(b);

	strbuf_add(out, &h, sizeof(h));
	sort_code(b);
	SORT_BY_HASH(&b->declared);
	SORT_BY_HASH(&b->forms);
	SORT_BY_HASH(&b->variables);
	SORT_BY_HASH(&b->types);
	ADD_TABLE(out, &h, INDEX_UNITS, &b->units);
	ADD_TABLE(out, &h, INDEX_RANGES, &b->ranges);
	add_paths(b, out, &h);
	ADD_TABLE(out, &h, INDEX_NAMES, &b->names);
	add_table(out, &h, INDEX_SITES, sites, b->sites.len * sizeof(*sites));
	ADD_TABLE(out, &h, INDEX_CODE, &b->code);
	ADD_TABLE(out, &h, INDEX_DECLARED, &b->declared);
	ADD_TABLE(out, &h, INDEX_FORMS, &b->forms);
	ADD_TABLE(out, &h, INDEX_VARIABLES, &b->variables);
	ADD_TABLE(out, &h, INDEX_TYPES, &b->types);
	add_table(out, &h, INDEX_STRINGS, b->strings.data, b->strings.len);
	h.len = out->len;
	memcpy(out->data, &h, sizeof(h));
	h.checksum = index_checksum((const u8 *)out->data, out->len);
	memcpy(out->data, &h, sizeof(h));
	free(sites);
}

static void release(struct builder *b)
{
	for (size_t i = 0; i < b->paths.len; i++)
		strbuf_release(&b->paths.items[i].uses);
	strbuf_release(&b->strings);
	hashmap_release(&b->string_places);
	hashmap_release(&b->path_numbers);
	hashmap_release(&b->origins);
	hashmap_release(&b->name_numbers);
	hashmap_release(&b->types_seen);
	vector_free(&b->units);
	vector_free(&b->ranges);
	vector_free(&b->paths);
	vector_free(&b->names);
	vector_free(&b->sites);
	vector_free(&b->code);
	vector_free(&b->declarations);
	vector_free(&b->declared);
	vector_free(&b->forms);
	vector_free(&b->variables);
	vector_free(&b->types);
}

bool index_build(struct elf_file *f, const struct index_identity *of, u8 **ret, size_t *ret_len)
{
	struct builder b = {.file = f, .budget = debug_budget(f), .strings = STRBUF_INIT};
	static const char *const walked[] = {".debug_info", ".debug_line"};
	struct strbuf out = STRBUF_INIT;
	bool good;

	strbuf_addch(&b.strings, '\0');
	good = !debug_each_unit(f, add_unit, &b) && b.units.len && add_all_lines(&b) &&
	       !elf_file_error(f);
	for (size_t i = 0; i < ARRAY_SIZE(walked); i++)
		forget(debug_of(f)->dwarf.file, walked[i], 0, UINT64_MAX);
	if (good)
		write_index(&b, of, &out);
	release(&b);
	*ret_len = out.len;
	*ret = (u8 *)strbuf_detach(&out);
	return good;
}
