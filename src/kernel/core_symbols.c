/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables (scripts/kallsyms.c writes them):
 *
 *	kallsyms_num_syms	32 bits
 *	kallsyms_names		for each symbol the number of its tokens (one byte, or since 6.1 two
 *				if the first has bit 7: ULEB128) and the tokens, a byte each
 *	kallsyms_markers	where every 256th symbol is in the names, 32 bits each
 *	kallsyms_token_table	what each of 256 tokens stands for, NUL-terminated; the first letter
 *				of a symbol is its kind ("T")
 *	kallsyms_token_index	where a token's text begins in it, 16 bits each
 *	kallsyms_offsets	32 bits for each symbol: from kallsyms_relative_base; where per-CPU
 *				symbols have addresses near 0 (x86 until 6.14) those are positive, and
 *				all others negative: address = base - 1 - offset; since 7.0, which has
 *				no base, from the place of the offset itself
 *	kallsyms_relative_base	64 bits
 *	kallsyms_seqs_of_names	the symbols sorted by name, numbers of 3 bytes, the highest first
 *				(6.2); until 6.3 in front of the tokens
 *
 * Each begins at a multiple of 8, since 7.0 of 4. Markers and numbers are not in VMCOREINFO: they are looked for
 * beside their neighbours, and tried.
 */
#include "kernel/core_symbols_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define MAX_SYMBOLS ((u32)8 << 20)
#define MAX_NAMES   ((size_t)128 << 20)
/* 0: it cannot be read. */
u64 core_symbols_nth_address(struct core_symbols *s, u32 i)
{
	const u8 *at = core_table_at(&s->offsets, i * sizeof(u32), sizeof(u32));
	u32 value;

	if (!at)
		return 0;
	memcpy(&value, at, sizeof(value));
	return address_from(s, i, value);
}

/* Reads one table; *where is in VMCOREINFO. */
static bool read_table(const struct kcore *c, const char *where, void *buffer, size_t len)
{
	const u64 address = kcore_symbol(c, where);

	return address && kcore_read_all(c, address, buffer, len);
}

static bool read_tokens(struct core_symbols *s, const struct kcore *c)
{
	const u64 text = kcore_symbol(c, "kallsyms_token_table");
	const u64 index = kcore_symbol(c, "kallsyms_token_index");

	if (!text || index <= text || index - text > MAX_TOKEN_TEXT)
		return false;
	s->text = xzalloc(index - text + SHORT + 1);
	if (!kcore_read_all(c, text, s->text, index - text) ||
	    !kcore_read_all(c, index, s->index, sizeof(s->index)))
		return false;
	for (u32 i = 0; i < TOKENS; i++) {
		const size_t len =
			s->index[i] < index - text ? strlen(s->text + s->index[i]) : SIZE_MAX;

		if (len > UINT8_MAX)
			return false;
		s->lengths[i] = (u8)len;
		memcpy(s->shorts[i], s->text + s->index[i], SHORT);
		s->kinds[i] = s->text[s->index[i]];
		s->letters[i] = len > 1 ? s->text[s->index[i] + 1] : '\0';
	}
	return true;
}

/* The kind, then the name. */
bool core_symbols_expand(const struct core_symbols *s, const struct name *n, char text[MAX_NAME])
{
	const u8 *const end = n->tokens + n->count;
	const char *const last =
		text + MAX_NAME - (UINT8_MAX + SHORT); /* where a token may begin */
	char *to = text;

	for (const u8 *token = n->tokens; token != end; token++) {
		const size_t size = s->lengths[*token];

		if (to > last)
			return false;
		memcpy(to, s->shorts[*token], SHORT);
		if (size > SHORT)
			memcpy(to + SHORT, s->text + s->index[*token] + SHORT, size - SHORT);
		to += size;
	}
	*to = '\0';
	return to - text > 1;
}

/* ---- places ---- */

const u8 *core_symbols_block(struct core_symbols *s, u32 n, const u8 **ret_end)
{
	const u32 nblocks = (s->count + STEP - 1) / STEP;
	const size_t from = s->markers[n];
	const size_t to = n + 1 < nblocks ? s->markers[n + 1] : s->names.len;
	const u8 *at = core_table_at(&s->names, from, to - from);

	*ret_end = at + (to - from);
	return at;
}

static bool find_name(struct core_symbols *s, u32 i, struct name *ret)
{
	const u8 *end, *at = core_symbols_block(s, i / STEP, &end);

	for (u32 left = i % STEP + 1; left && at; left--)
		at = next_name(at, end, ret);
	return at;
}

bool core_symbols_nth(struct core_symbols *s, u32 i, char text[MAX_NAME])
{
	struct name n;

	return find_name(s, i, &n) && core_symbols_expand(s, &n, text);
}

/* Per-CPU symbols have small offsets instead of addresses and come first. Index of the first symbol
 * behind the address. */
static u32 first_behind(struct core_symbols *s, u64 address)
{
	u32 low = 0, high = s->count;

	while (low < high) {
		const u32 middle = low + (high - low) / 2;

		if (core_symbols_nth_address(s, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The Nth of the sorted names. */
bool core_symbols_sorted(struct core_symbols *s, u32 n, u32 *ret_i, char text[MAX_NAME])
{
	const u8 *at = core_table_at(&s->numbers, (size_t)n * 3, 3);

	if (!at)
		return false;
	*ret_i = core_symbols_number(at);
	return *ret_i < s->count && core_symbols_nth(s, *ret_i, text);
}

u32 core_symbols_first(struct core_symbols *s, const char *prefix, bool behind)
{
	const size_t len = behind ? strlen(prefix) : MAX_NAME;
	u32 low = 0, high = s->count, i;
	char text[MAX_NAME];

	while (low < high) {
		const u32 middle = low + (high - low) / 2;

		if (!core_symbols_sorted(s, middle, &i, text))
			return s->count;
		/* Before it, or to be passed as well. */
		if (strncmp(text + 1, prefix, len) < (behind ? 1 : 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- loading ---- */

/* Is _stext where the kernel has it? */
static bool has_stext(struct core_symbols *s)
{
	char text[MAX_NAME];

	for (u32 i = first_behind(s, s->stext); i-- && core_symbols_nth_address(s, i) == s->stext;)
		if (core_symbols_nth(s, i, text) && str_eq(text + 1, "_stext"))
			return true;
	return false;
}

/* Do the names of a marker end where the next one says? */
static bool is_block(struct core_symbols *s, u32 n)
{
	const u8 *end, *at = core_symbols_block(s, n, &end);
	struct name name;

	for (u32 left = MIN(s->count - n * STEP, (u32)STEP); left && at; left--)
		at = next_name(at, end, &name);
	return at && (at == end || (n + 1) * STEP >= s->count);
}

static bool are_markers(struct core_symbols *s, u32 nblocks)
{
	if (s->markers[0])
		return false;
	for (u32 n = 0; n < nblocks; n++)
		if (s->markers[n] >= s->names.len || (n && s->markers[n] <= s->markers[n - 1]))
			return false;
	return is_block(s, 0) && is_block(s, nblocks / 2) && is_block(s, nblocks - 1);
}

/* Are they names in their order? A few are looked at. */
static bool are_sorted(struct core_symbols *s)
{
	char text[2][MAX_NAME];
	enum { LOOKS = 8 };
	u32 i;

	for (u32 n = 0; n < LOOKS; n++) {
		const u64 at = (u64)(s->count - 1) * n / (LOOKS - 1);

		if (!core_symbols_sorted(s, (u32)at, &i, text[n % 2]) ||
		    (n && strcmp(text[(n + 1) % 2] + 1, text[n % 2] + 1) >= 0))
			return false;
	}
	return true;
}

/* Markers end and numbers begin at these addresses; names at NAMES. */
static bool try_layout(struct core_symbols *s, const struct kcore *c, u64 names, u64 markers_end,
		       u64 numbers)
{
	const u32 nblocks = (s->count + STEP - 1) / STEP;
	const u64 size = (u64)nblocks * sizeof(u32);
	const u64 markers = markers_end - (s->meaning == FROM_PLACE ? size : ALIGN_UP(size, 8));

	core_table_close(&s->names);
	core_table_close(&s->numbers);
	if (markers <= names || markers - names > MAX_NAMES ||
	    !core_table_open(&s->names, c, names, markers - names) ||
	    !kcore_read_all(c, markers, s->markers, nblocks * sizeof(u32)) ||
	    !are_markers(s, nblocks))
		return false;
	if (!core_table_open(&s->numbers, c, numbers, (size_t)s->count * 3) || !are_sorted(s))
		core_table_close(&s->numbers);
	return true;
}

static bool find_names(struct core_symbols *s, const struct kcore *c)
{
	const u64 names = kcore_symbol(c, "kallsyms_names");
	const u64 tokens = kcore_symbol(c, "kallsyms_token_table");
	const u64 before = tokens - ALIGN_UP((u64)s->count * 3, 8);

	if (!names || tokens <= names || !read_tokens(s, c))
		return false;
	s->markers = xreallocarray(NULL, s->count / STEP + 1, sizeof(*s->markers));
	if (s->meaning == FROM_PLACE)
		return try_layout(s, c, names, tokens, s->offsets.address + s->offsets.len);
	return try_layout(s, c, names, tokens,
			  kcore_symbol(c, "kallsyms_relative_base") + sizeof(u64)) ||
	       try_layout(s, c, names, before, before);
}

static bool load(struct core_symbols *s, const struct kcore *c)
{
	s->stext = kcore_symbol(c, "_stext");
	s->meaning = kcore_symbol(c, "kallsyms_relative_base") ? SIGNED : FROM_PLACE;
	if (!s->stext || !read_table(c, "kallsyms_num_syms", &s->count, sizeof(s->count)) ||
	    !s->count || s->count > MAX_SYMBOLS ||
	    (s->meaning != FROM_PLACE &&
	     !read_table(c, "kallsyms_relative_base", &s->base, sizeof(s->base))) ||
	    !core_table_open(&s->offsets, c, kcore_symbol(c, "kallsyms_offsets"),
			     s->count * sizeof(u32)) ||
	    !find_names(s, c))
		return false;
	if (has_stext(s))
		return true;
	if (s->meaning == FROM_PLACE)
		return false;
	s->meaning = FROM_BASE;
	return has_stext(s);
}

int core_symbols_load(const struct kcore *c, struct core_symbols **ret)
{
	struct core_symbols *s = xzalloc(sizeof(*s));

	*ret = s;
	if (load(s, c))
		return 0;
	core_symbols_release(s);
	*ret = NULL;
	return -EOPNOTSUPP;
}

u64 core_symbols_text(const struct core_symbols *s)
{
	return s->stext;
}

void core_symbols_release(struct core_symbols *s)
{
	if (!s)
		return;
	core_table_close(&s->names);
	core_table_close(&s->offsets);
	core_table_close(&s->numbers);
	free(s->markers);
	free(s->text);
	free(s);
}

/* ---- by address, by name ---- */

bool core_symbols_at(struct core_symbols *s, u64 address, u64 *ret_start,
		     void (*fn)(void *arg, char kind, const char *name), void *arg)
{
	const u32 end = first_behind(s, address);
	char text[MAX_NAME];
	u32 i = end;

	/* The last symbol of vmlinux is its end. */
	if (!end || end == s->count || address < s->stext)
		return false;
	*ret_start = core_symbols_nth_address(s, end - 1);
	while (i && core_symbols_nth_address(s, i - 1) == *ret_start)
		i--;
	for (; i < end; i++)
		if (core_symbols_nth(s, i, text))
			fn(arg, *text, text + 1);
	return true;
}

u64 core_symbols_address(struct core_symbols *s, const char *name)
{
	char text[MAX_NAME];
	u32 i, n;

	if (s->numbers.bytes) {
		n = core_symbols_first(s, name, false);
		return n < s->count && core_symbols_sorted(s, n, &i, text) && str_eq(text + 1, name)
			       ? core_symbols_nth_address(s, i)
			       : 0;
	}
	for (i = 0; i < s->count; i++)
		if (core_symbols_nth(s, i, text) && str_eq(text + 1, name))
			return core_symbols_nth_address(s, i);
	return 0;
}
