/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions, inlined copies and blocks around an address. */
#include <dwarf.h>

#include "base/hashmap.h"
#include "binary/debug/internal.h"
#include "binary/debug/range_table.h"

enum { MAX_SCOPES = 128, MAX_VISITS = 1 << 22 /* of DIEs: damaged trees have no end */ };

/* What has code of its own in a unit, outside of functions: looked through once. */
struct outline {
	struct range_table ranges;
	VECTOR(Dwarf_Die) dies;
	u32 visits;
};

struct scopes {
	u64 address;
	u32 visits;
	u32 count;
	Dwarf_Die list[MAX_SCOPES]; /* outermost first */
};

static bool has_code(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return true;
	default:
		return false;
	}
}

/* ---- the functions of a unit ---- */

static void add_code(struct outline *o, Dwarf_Die *die)
{
	const u32 item = (u32)o->dies.len;
	const size_t before = o->ranges.rows.len;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		range_table_add(&o->ranges, start, end, item);
	if (o->ranges.rows.len > before)
		vector_push(&o->dies, *die);
}

/* Namespaces have no addresses: there is no way but to look into each. */
static void add_below(struct outline *o, Dwarf_Die *parent, u32 depth)
{
	Dwarf_Die child;

	for (int more = dwarf_child(parent, &child); more == 0 && depth < MAX_SCOPES;
	     more = debug_next_sibling(&child)) {
		const int tag = dwarf_tag(&child);

		if (o->visits++ > MAX_VISITS)
			break;
		if (tag == DW_TAG_namespace || tag == DW_TAG_module)
			add_below(o, &child, depth + 1);
		else if (has_code(tag))
			add_code(o, &child);
	}
}

static struct outline *outline_of(struct elf_file *f, Dwarf_Die *unit)
{
	struct hashmap *const outlines = &debug_of(f)->outlines;
	void **const slot = hashmap_put(outlines, &unit->addr, sizeof(unit->addr), NULL);
	struct outline *o = *slot;

	if (o)
		return o;
	*slot = o = xzalloc(sizeof(*o));
	add_below(o, unit, 0);
	range_table_sort(&o->ranges);
	return o;
}

void debug_outlines_release(struct hashmap *outlines)
{
	hashmap_each (outlines, e) {
		struct outline *o = e->value;

		range_table_release(&o->ranges);
		vector_free(&o->dies);
		free(o);
	}
	hashmap_release(outlines);
}

/* ---- inside of functions ---- */

static void find_inside(struct scopes *q, Dwarf_Die *parent)
{
	Dwarf_Die child;

	for (int more = dwarf_child(parent, &child); more == 0 && q->count < MAX_SCOPES;
	     more = debug_next_sibling(&child)) {
		if (q->visits++ > MAX_VISITS)
			break;
		if (!has_code(dwarf_tag(&child)) || dwarf_haspc(&child, q->address) != 1)
			continue;
		q->list[q->count++] = child;
		find_inside(q, &child);
		break;
	}
}

static bool copy_begins(Dwarf_Die *scope, u64 address, Dwarf_Die *ret)
{
	Dwarf_Die child;
	u64 entry;

	for (int more = dwarf_child(scope, &child); more == 0; more = debug_next_sibling(&child)) {
		if (dwarf_tag(&child) != DW_TAG_inlined_subroutine ||
		    !debug_entry_of(&child, &entry) || entry != address)
			continue;
		*ret = child;
		return true;
	}
	return false;
}

static bool function_at(struct elf_file *f, Dwarf_Die *unit, u64 address, Dwarf_Die *ret)
{
	const struct debug_index *const x = debug_index_opened(f);
	const u32 die = x ? index_function_at(x, address) : 0;
	const struct outline *o;
	u32 function;

	if (die && debug_die_at(f, die, DW_TAG_subprogram, ret) && ret->cu == unit->cu)
		return true;
	o = outline_of(f, unit);
	function = range_table_find(&o->ranges, address);
	if (function == UINT32_MAX)
		return false;
	*ret = o->dies.items[function];
	return true;
}

u32 debug_scopes_at(struct elf_file *f, Dwarf_Die *unit, u64 address, bool with_entries,
		    Dwarf_Die **ret)
{
	struct scopes q = {.address = address};

	if (function_at(f, unit, address, &q.list[0])) {
		q.count = 1;
		find_inside(&q, &q.list[0]);
	}
	while (with_entries && q.count && q.count < MAX_SCOPES &&
	       copy_begins(&q.list[q.count - 1], address, &q.list[q.count]))
		q.count++;
	*ret = q.count ? xmalloc(q.count * sizeof(**ret)) : NULL;
	for (u32 i = 0; i < q.count; i++)
		(*ret)[i] = q.list[q.count - 1 - i];
	return q.count;
}
