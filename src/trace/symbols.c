/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/symbols.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/hashmap.h"
#include "base/vector.h"
#include "trace/number_text.h"

#define MAX_KALLSYMS (1u << 28)
#define CACHE_SIZE   4096 /* addresses of a trace are few */

struct symbol {
	u64 address;
	const char *name; /* ends with '\t' or '\n' */
	bool is_module; /* anything behind vmlinux: a module, a BPF program */
};

struct cached {
	u64 address;
	u32 index; /* + 1 */
};

struct symbol_table {
	char *text;
	size_t len;
	bool live, parsed;
	VECTOR(struct symbol) symbols; /* rising; of equal addresses in the text's order */
	struct cached cache[CACHE_SIZE];
};

struct symbol_table *symbol_table_new(char *text, size_t len)
{
	struct symbol_table *t = xzalloc(sizeof(*t));

	t->text = text;
	t->len = len;
	return t;
}

struct symbol_table *symbol_table_live(void)
{
	struct symbol_table *t = xzalloc(sizeof(*t));

	t->live = true;
	return t;
}

void symbol_table_release(struct symbol_table *t)
{
	if (!t)
		return;
	vector_free(&t->symbols);
	free(t->text);
	free(t);
}

/* ---- the text ---- */

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : 1;
}

static bool parse_line(const char *line, const char *end, struct symbol *ret)
{
	const char *p = line, *tab;
	u64 address = 0;

	for (; p < end && *p != ' '; p++) {
		const char c = *p;

		if (c >= '0' && c <= '9')
			address = address << 4 | (u64)(c - '0');
		else if (c >= 'a' && c <= 'f')
			address = address << 4 | (u64)(c - 'a' + 10);
		else
			return false;
	}
	/* Per-CPU symbols have offsets instead of addresses, which lie in the upper half. */
	if (end - p < 4 || p[2] != ' ' || !(address >> 63))
		return false;
	ret->address = address;
	ret->name = p + 3;
	tab = memchr(ret->name, '\t', (size_t)(end - ret->name));
	ret->is_module = tab && tab[1] == '[';
	return true;
}

static void parse(struct symbol_table *t)
{
	const char *end;
	bool sorted = true;

	t->parsed = true;
	if (t->live && file_read("/proc/kallsyms", MAX_KALLSYMS, &t->text, &t->len))
		return;
	end = t->text + t->len;
	vector_reserve(&t->symbols, t->len / 40 + 16);
	for (const char *line = t->text, *stop; line < end; line = stop + 1) {
		struct symbol s;

		stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			break;
		if (!parse_line(line, stop, &s))
			continue;
		sorted &= !t->symbols.len || vector_last(&t->symbols).address <= s.address;
		vector_push(&t->symbols, s);
	}
	if (!sorted)
		qsort(t->symbols.items, t->symbols.len, sizeof(*t->symbols.items), compare_symbols);
}

static size_t name_length(const char *name)
{
	return strcspn(name, "\t\n");
}

/* ---- looking up, as get_symbol_pos() and find_kallsyms_symbol() do ---- */

static const struct symbol *search(struct symbol_table *t, u64 address)
{
	size_t low = 0, high = t->symbols.len;
	const struct symbol *all = t->symbols.items;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (all[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	low--;
	while (low && all[low - 1].address == all[low].address)
		low--;
	return &all[low];
}

/* Where the symbol ends: at the next one of its range; a module's text ends with a page. */
static u64 end_of(const struct symbol_table *t, const struct symbol *s)
{
	const struct symbol *last = t->symbols.items + t->symbols.len;
	const u64 page_end = (s->address + 4096) & ~4095ULL;

	for (const struct symbol *n = s + 1; n < last; n++)
		if (n->address > s->address) {
			if (n->is_module != s->is_module)
				break;
			return s->is_module && n->address - s->address > 1u << 20 ? page_end
										  : n->address;
		}
	return s->is_module ? page_end : s->address;
}

static const struct symbol *find(struct symbol_table *t, u64 address)
{
	struct cached *slot = &t->cache[(address ^ address >> 12) % CACHE_SIZE];
	const struct symbol *s;

	if (slot->index && slot->address == address)
		return &t->symbols.items[slot->index - 1];
	if (!t->parsed)
		parse(t);
	s = search(t, address);
	if (!s || address >= end_of(t, s))
		return NULL;
	*slot = (struct cached){address, (u32)(s - t->symbols.items) + 1};
	return s;
}

static void add_offset(const struct symbol_table *t, const struct symbol *s, u64 address,
		       struct strbuf *out)
{
	strbuf_addstr(out, "+0x");
	text_hex(out, address - s->address);
	strbuf_addstr(out, "/0x");
	text_hex(out, end_of(t, s) - s->address);
}

static void add_module(const struct symbol *s, struct strbuf *out)
{
	const char *tab = s->name + name_length(s->name);

	if (*tab != '\t' || str_starts(tab, "\t[bpf]"))
		return;
	strbuf_addch(out, ' ');
	strbuf_add(out, tab + 1, strcspn(tab + 1, "\n"));
}

void symbol_print(struct symbol_table *t, u64 address, enum symbol_style style, struct strbuf *out)
{
	const u64 asked = style == SYMBOL_BACKTRACE ? address - 1 : address;
	const struct symbol *s = t ? find(t, asked) : NULL;

	if (!s) {
		strbuf_addstr(out, "0x");
		if (style == SYMBOL_PLAIN)
			text_hex_padded(out, address, 8);
		else
			text_hex(out, address);
		return;
	}
	strbuf_add(out, s->name, name_length(s->name));
	if (style == SYMBOL_PLAIN)
		return;
	if (style != SYMBOL_MODULE)
		add_offset(t, s, address, out);
	add_module(s, out);
}

u64 symbol_address(struct symbol_table *t, const char *name)
{
	const size_t len = strlen(name);

	if (!t->parsed)
		parse(t);
	for (size_t i = 0; i < t->symbols.len; i++) {
		const char *s = t->symbols.items[i].name;

		if (!strncmp(s, name, len) && name_length(s) == len)
			return t->symbols.items[i].address;
	}
	return 0;
}

/* ---- constant strings ---- */

struct string_table {
	struct arena arena;
	struct hashmap by_address;
};

static char unescape(const char **at)
{
	static const char from[] = "ntr\\\"", to[] = "\n\t\r\\\"";
	const char *p = *at, *found;

	if (*p != '\\' || !p[1]) {
		*at = p + 1;
		return *p;
	}
	found = strchr(from, p[1]);
	*at = p + 2;
	return found ? to[found - from] : p[1];
}

static void add_string(struct string_table *t, const char *line, const char *end)
{
	char *stop, *copy, *out;
	const u64 address = strtoull(line, &stop, 16);
	const char *quote = memchr(stop, '"', (size_t)(end - stop));
	void **place;

	if (!address || stop >= end || !quote)
		return;
	out = copy = arena_alloc(&t->arena, (size_t)(end - quote) + 1);
	for (const char *p = quote + 1; p < end && *p != '"';)
		*out++ = unescape(&p);
	*out = '\0';
	place = hashmap_put(&t->by_address, &address, sizeof(address), NULL);
	*place = copy;
}

struct string_table *string_table_new(const char *text)
{
	struct string_table *t = xzalloc(sizeof(*t));

	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (str_starts(line, "0x"))
			add_string(t, line, end);
	}
	return t;
}

void string_table_release(struct string_table *t)
{
	if (!t)
		return;
	hashmap_release(&t->by_address);
	arena_release(&t->arena);
	free(t);
}

const char *string_table_at(const struct string_table *t, u64 address)
{
	return t ? hashmap_get(&t->by_address, &address, sizeof(address)) : NULL;
}
