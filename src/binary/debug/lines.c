/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/debug/lines.h"

#include <dwarf.h>

#include "base/hashmap.h"
#include "binary/debug/dwarf.h"
#include "binary/debug/internal.h"
#include "binary/debug/split.h"
#include "binary/elf/internal.h"

Dwarf *debug_dwarf(struct elf_file *f)
{
	struct debug *d = f->dwarf;

	if (d)
		return d->dwarf.dwarf;
	f->dwarf = d = xzalloc(sizeof(*d));
	if (!dwarf_file_open(&d->dwarf, f) && elf_debug_file(f) &&
	    object_is_laid_out_as(f, f->debug)) {
		dwarf_file_close(&d->dwarf);
		dwarf_file_open(&d->dwarf, f->debug);
	}
	return d->dwarf.dwarf;
}

void debug_release(struct elf_file *f)
{
	struct debug *d = f->dwarf;

	if (!d)
		return;
	index_release(d->index);
	debug_outlines_release(&d->outlines);
	debug_frames_release(d->frames);
	debug_split_close(d->split);
	dwarf_file_close(&d->dwarf);
	free(d);
}

struct debug *debug_of(struct elf_file *f)
{
	debug_dwarf(f);
	return f->dwarf;
}

int debug_available(struct elf_file *f)
{
	return debug_dwarf(f) ? 0 : -ENODATA;
}

const char *debug_lacks(struct elf_file *f)
{
	const struct debug *d = f->dwarf;

	return d && d->split ? debug_split_lacks(d->split) : NULL;
}

/* ---- units ---- */

/* -gsplit-dwarf: the unit stays the skeleton that it is if the rest is nowhere. */
static void to_split(struct elf_file *f, Dwarf_Die *unit)
{
	struct debug *d = f->dwarf;
	Dwarf_Die split;
	uint8_t type;

	if (dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) ||
	    type != DW_UT_skeleton)
		return;
	if (!d->split)
		d->split = debug_split_open(d->dwarf.file);
	if (debug_split_unit(d->split, unit, &split))
		*unit = split;
}

int debug_each_unit(struct elf_file *f, int (*fn)(void *arg, Dwarf_Die *unit), void *arg)
{
	Dwarf *dwarf = debug_dwarf(f);
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;
	uint8_t type;
	int result = 0;

	while (!result && dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &unit, NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		to_split(f, &unit);
		result = fn(arg, &unit);
	}
	return result;
}

u64 debug_budget(struct elf_file *f)
{
	/* An honest tree has fewer DIEs than bytes; packed sections are larger than they look. */
	return 8 * (f->image.len + (f->debug ? f->debug->image.len : 0)) + (1 << 16);
}

bool debug_die_at(struct elf_file *f, u64 offset, int tag, Dwarf_Die *ret)
{
	return dwarf_offdie(debug_dwarf(f), offset, ret) && (!tag || dwarf_tag(ret) == tag);
}

/* Calls fn for units of the index, in their order. */
static int each_listed_unit(struct elf_file *f, const struct debug_index *x,
			    const struct index_list *units, int (*fn)(void *arg, Dwarf_Die *unit),
			    void *arg)
{
	Dwarf_Die unit;
	int result = 0;

	for (size_t i = 0; i < units->list.len && !result; i++)
		if (debug_die_at(f, index_unit_die(x, units->list.items[i]), 0, &unit))
			result = fn(arg, &unit);
	return result;
}

int debug_each_unit_of(struct elf_file *f, const char *source, u32 line,
		       int (*fn)(void *arg, Dwarf_Die *unit), void *arg)
{
	const struct debug_index *x = debug_index(f);
	struct index_list units = {0};
	int result;

	if (!x)
		return debug_each_unit(f, fn, arg);
	index_units_of(x, source, line, &units);
	result = each_listed_unit(f, x, &units, fn, arg);
	vector_free(&units.list);
	return result;
}

/* The unit in the program itself, which has the addresses and the line table. */
static bool skeleton_at(struct elf_file *f, u64 address, Dwarf_Die *ret)
{
	const struct debug_index *x = debug_index_opened(f);
	Dwarf *dwarf = debug_dwarf(f);
	Dwarf_CU *cu = NULL;
	uint8_t type;
	u32 unit;

	if (!dwarf)
		return false;
	/* Before .debug_aranges, for which libdw looks at the head of every unit. */
	unit = x ? index_unit_at(x, address) : UINT32_MAX;
	if (unit != UINT32_MAX && debug_die_at(f, index_unit_die(x, unit), 0, ret))
		return true;
	if (dwarf_addrdie(dwarf, address, ret))
		return true;
	if (x)
		return false;
	/* clang writes no .debug_aranges. */
	while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, ret, NULL) == 0)
		if ((type == DW_UT_compile || type == DW_UT_skeleton) &&
		    dwarf_haspc(ret, address) == 1)
			return true;
	return false;
}

bool debug_unit_at(struct elf_file *f, u64 address, Dwarf_Die *ret)
{
	if (!skeleton_at(f, address, ret))
		return false;
	to_split(f, ret);
	return true;
}

void debug_line_unit(struct elf_file *f, const Dwarf_Die *unit, Dwarf_Die *ret)
{
	const struct debug *d = f->dwarf;

	*ret = *unit;
	if (d && d->split)
		debug_split_skeleton(d->split, unit, ret);
}

/* ---- lines ---- */

int debug_line_at(struct elf_file *f, u64 address, const char **ret_file, u32 *ret_line)
{
	Dwarf_Line *line;
	Dwarf_Die unit;
	const char *file;
	int number;

	if (!debug_dwarf(f))
		return -ENODATA;
	if (!skeleton_at(f, address, &unit))
		return -ENOENT;
	line = dwarf_getsrc_die(&unit, address);
	file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (!file || dwarf_lineno(line, &number) || number <= 0)
		return -ENOENT;
	*ret_file = file;
	*ret_line = (u32)number;
	return 0;
}

size_t debug_row_from(Dwarf_Lines *lines, size_t count, u64 address)
{
	size_t low = 0, high = count;
	Dwarf_Addr at;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (dwarf_lineaddr(dwarf_onesrcline(lines, middle), &at) == 0 && at < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool debug_path_ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return m && m <= n && str_eq(path + n - m, end) &&
	       (m == n || *end == '/' || path[n - m - 1] == '/');
}

struct source_search {
	struct elf_file *file;
	const char *end, *found;
};

static int find_source(void *arg, Dwarf_Die *unit)
{
	struct source_search *s = arg;
	Dwarf_Files *files;
	Dwarf_Die table;
	size_t n;

	debug_line_unit(s->file, unit, &table);
	if (dwarf_getsrcfiles(&table, &files, &n))
		return 0;
	for (size_t i = 0; i < n && !s->found; i++) {
		const char *path = dwarf_filesrc(files, i, NULL, NULL);

		if (path && debug_path_ends_with(path, s->end))
			s->found = path;
	}
	return s->found != NULL;
}

const char *debug_source_named(struct elf_file *f, const char *end)
{
	struct source_search s = {.file = f, .end = end};
	const struct debug_index *x = debug_index(f);

	if (x)
		return index_path(x, end);
	debug_each_unit(f, find_source, &s);
	return s.found;
}

struct find_line {
	struct elf_file *file_of;
	const char *file;
	u32 column; /* 0 = any */
	u32 wanted, best; /* best: the line that will be taken; 0 = none yet */
	struct hashmap
		places; /* offset of the function's or inlined copy's DIE -> lowest address + 1 */
};

/* The innermost function or inlined function around an address: what has one copy of a line. */
static u64 scope_of(struct elf_file *f, Dwarf_Die *unit, u64 address)
{
	Dwarf_Die *scopes;
	const u32 n = debug_scopes_at(f, unit, address, false, &scopes);
	u64 offset = 0;

	for (u32 i = 0; i < n && !offset; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram ||
		    dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine)
			offset = dwarf_dieoffset(&scopes[i]);
	free(scopes);
	return offset;
}

static int each_row(struct find_line *q, Dwarf_Die *unit,
		    void (*fn)(struct find_line *, Dwarf_Die *, u32, u64))
{
	Dwarf_Die skeleton;
	Dwarf_Lines *lines;
	size_t count;

	debug_line_unit(q->file_of, unit, &skeleton);
	if (dwarf_getsrclines(&skeleton, &lines, &count) != 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		bool is_statement = false, is_end = false;
		const char *file;
		Dwarf_Addr address;
		int number, column;

		/* The cheap questions first: the path is looked at only for lines that may count.
		 */
		if (!line || dwarf_lineno(line, &number) || number < (int)q->wanted ||
		    dwarf_linebeginstatement(line, &is_statement) || !is_statement ||
		    dwarf_lineendsequence(line, &is_end) || is_end ||
		    dwarf_lineaddr(line, &address))
			continue;
		if (q->column && (number != (int)q->wanted || dwarf_linecol(line, &column) ||
				  column != (int)q->column))
			continue;
		file = dwarf_linesrc(line, NULL, NULL);
		if (file && debug_path_ends_with(file, q->file))
			fn(q, unit, (u32)number, address);
	}
	return 0;
}

static void choose_line(struct find_line *q, Dwarf_Die *unit, u32 line, u64 address)
{
	if (!q->best || line < q->best)
		q->best = line;
}

static void choose_address(struct find_line *q, Dwarf_Die *unit, u32 line, u64 address)
{
	u64 scope;
	void **slot;

	if (line != q->best)
		return;
	scope = scope_of(q->file_of, unit, address);
	slot = hashmap_put(&q->places, &scope, sizeof(scope), NULL);
	if (!*slot || (u64)(uintptr_t)*slot > address + 1)
		*slot = (void *)(uintptr_t)(address + 1);
}

static int choose_line_in(void *arg, Dwarf_Die *unit)
{
	return each_row(arg, unit, choose_line);
}

static int choose_address_in(void *arg, Dwarf_Die *unit)
{
	return each_row(arg, unit, choose_address);
}

u32 debug_next_line(struct elf_file *f, const char *file, u32 line)
{
	const struct debug_index *x = debug_dwarf(f) ? debug_index(f) : NULL;

	return x ? index_next_line(x, file, line) : 0;
}

int debug_each_address(struct elf_file *f, const char *file, u32 line, u32 column,
		       int (*fn)(void *arg, u64 address), void *arg, u32 *ret_line)
{
	struct find_line q = {.file_of = f, .file = file, .wanted = line, .column = column};
	const struct debug_index *x;
	int result = 0;

	if (!debug_dwarf(f))
		return -ENODATA;
	x = debug_index(f);
	if (x && !column)
		q.best = index_next_line(x, file, line);
	else
		debug_each_unit_of(f, file, line, choose_line_in, &q);
	if (!q.best)
		return -ENOENT;
	debug_each_unit_of(f, file, q.best, choose_address_in, &q);
	if (ret_line)
		*ret_line = q.best;
	hashmap_each (&q.places, e) {
		result = fn(arg, (u64)(uintptr_t)e->value - 1);
		if (result)
			break;
	}
	hashmap_release(&q.places);
	return result;
}
