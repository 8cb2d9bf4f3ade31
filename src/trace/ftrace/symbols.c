/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/symbols.h"

#include "base/arena.h"
#include "base/hashmap.h"
#include "trace/ftrace/number_text.h"

static void add_offset(const struct kernel_symbol *s, u64 address, struct strbuf *out)
{
	strbuf_addstr(out, "+0x");
	text_hex(out, address - s->address);
	strbuf_addstr(out, "/0x");
	text_hex(out, s->end - s->address);
}

void symbol_print(struct ksyms *symbols, u64 address, enum symbol_style style, struct strbuf *out)
{
	const u64 asked = style == SYMBOL_BACKTRACE ? address - 1 : address;
	struct kernel_symbol s;

	if (!symbols || !ksyms_at(symbols, asked, KSYM_FIRST, &s) || asked >= s.end) {
		strbuf_addstr(out, "0x");
		if (style == SYMBOL_PLAIN)
			text_hex_padded(out, address, 8);
		else
			text_hex(out, address);
		return;
	}
	strbuf_addstr(out, s.name);
	if (style == SYMBOL_PLAIN)
		return;
	if (style != SYMBOL_MODULE)
		add_offset(&s, address, out);
	if (s.module && !str_eq(s.module, "bpf"))
		strbuf_addf(out, " [%s]", s.module);
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
