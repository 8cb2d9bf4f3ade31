/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols by address: a sorted index of every function, built on the first question. */
#include "base/sort.h"
#include "binary/elf/internal.h"

static void add_symbols(struct elf_file *f, u32 table)
{
	const struct elf_table *t = &f->tables.items[table];
	struct elf_symbol s;

	for (u64 i = 0; i < t->count; i++) {
		if (!elf_table_symbol(t, i, &s) || !s.is_function || s.address + s.size < s.address)
			continue;
		vector_push(&f->index, (struct elf_index_entry){.start = s.address,
								.end = s.address + s.size,
								.reach = ~s.size,
								.table = table,
								.symbol = (u32)i});
	}
}

/* A symbol without size (assembler) reaches to the next one, but not out of its segment. */
static u64 open_end(const struct elf_file *f, u64 start, u64 next)
{
	for (u32 i = 0; i < f->segment_count; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (s->type == PT_LOAD && start >= s->address &&
		    start - s->address < s->memory_size)
			return MIN(next, s->address + s->memory_size);
	}
	return next == UINT64_MAX ? start : next;
}

static void build_index(struct elf_file *f)
{
	u64 reach = 0, next = UINT64_MAX;

	f->index_built = true;
	elf_read_tables(f, ELF_ALL);
	for (u32 i = 0; i < f->tables.len; i++)
		add_symbols(f, i);
	/* Larger ones first: a walk back from an address meets the innermost symbol first. */
	sort_by_number(f->index.items, f->index.len, sizeof(*f->index.items),
		       offsetof(struct elf_index_entry, reach));
	sort_by_number(f->index.items, f->index.len, sizeof(*f->index.items),
		       offsetof(struct elf_index_entry, start));
	for (size_t i = f->index.len; i-- > 0;) {
		struct elf_index_entry *e = &f->index.items[i];

		if (i + 1 < f->index.len && f->index.items[i + 1].start != e->start)
			next = f->index.items[i + 1].start;
		if (e->end == e->start)
			e->end = open_end(f, e->start, next);
	}
	for (size_t i = 0; i < f->index.len; i++) {
		reach = MAX(reach, f->index.items[i].end);
		f->index.items[i].reach = reach;
	}
}

static int underscores(const char *s)
{
	int n = 0;

	while (s[n] == '_')
		n++;
	return n;
}

/* Of two names for the same code, the one that people know: sized, global, without leading
 * underscores. */
static bool is_better(const struct elf_symbol *a, const struct elf_symbol *b)
{
	int strength_a = a->is_local ? 0 : a->is_weak ? 1 : 2;
	int strength_b = b->is_local ? 0 : b->is_weak ? 1 : 2;

	if (!a->size != !b->size)
		return a->size != 0;
	if (!strength_a != !strength_b)
		return strength_a > strength_b;
	if (underscores(a->name) != underscores(b->name))
		return underscores(a->name) < underscores(b->name);
	if (strength_a != strength_b)
		return strength_a > strength_b;
	return strcmp(a->name, b->name) < 0;
}

bool elf_file_symbol_at(struct elf_file *f, u64 address, struct elf_symbol *ret, u64 *ret_offset)
{
	size_t low = 0, high;
	struct elf_symbol best = {0}, s;

	if (!f->index_built)
		build_index(f);
	for (high = f->index.len; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (f->index.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* low: the first entry after the address */
	for (size_t i = low; i-- > 0 && f->index.items[i].reach > address;) {
		const struct elf_index_entry *e = &f->index.items[i];

		if (best.name && e->start != best.address)
			break;
		if (e->end <= address ||
		    !elf_table_symbol(&f->tables.items[e->table], e->symbol, &s))
			continue;
		if (!best.name || is_better(&s, &best))
			best = s;
	}
	if (!best.name)
		return false;
	best.name = elf_plain_name(f, best.name);
	*ret = best;
	*ret_offset = address - best.address;
	return true;
}
