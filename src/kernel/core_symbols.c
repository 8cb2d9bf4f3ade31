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
 *				all others negative: address = base - 1 - offset
 *	kallsyms_relative_base	64 bits
 *	kallsyms_seqs_of_names	the symbols sorted by name, numbers of 3 bytes, the highest first
 *				(6.2); until 6.3 in front of the tokens
 *
 * Each begins at a multiple of 8. Markers and numbers are not in VMCOREINFO: they are looked for
 * beside their neighbours, and tried.
 */
#include "kernel/core_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "kernel/core_table.h"

#define MAX_SYMBOLS    ((u32)8 << 20)
#define MAX_NAMES      ((size_t)128 << 20)
#define TOKENS	       256
#define MAX_TOKEN_TEXT ((size_t)64 << 10) /* 16-bit indices */

/* Most tokens have 2 to 5 letters. So many are copied at once, whether they belong to it or not. */
#define SHORT 16

#define STEP 256 /* symbols between two markers */

#define NAMES_WINDOW   ((size_t)32 << 10)
#define OFFSETS_WINDOW ((size_t)16 << 10)

enum { MAX_NAME = 1024 }; /* KSYM_NAME_LEN is 512 */

struct core_symbols {
	struct core_table names, offsets,
		numbers; /* numbers: kallsyms_seqs_of_names, may be closed */
	u32 *markers;
	u32 count;
	u64 base, stext;
	bool is_signed; /* of the two meanings of an offset the older */
	u16 index[TOKENS];
	char text[MAX_TOKEN_TEXT + SHORT + 1];
	u8 lengths[TOKENS];
	char kinds[TOKENS],
		letters[TOKENS]; /* of names that begin with the token; letters: 0 = see the next */
};

static u64 address_from(const struct core_symbols *s, u32 value)
{
	const s32 offset = (s32)value;

	if (!s->is_signed)
		return s->base + value;
	return offset >= 0 ? (u64)offset : s->base - 1 - (u64)(s64)offset;
}

/* 0: it cannot be read. */
static u64 address_of(struct core_symbols *s, u32 i)
{
	const u8 *at = core_table_at(&s->offsets, i * sizeof(u32), sizeof(u32));
	u32 value;

	if (!at)
		return 0;
	memcpy(&value, at, sizeof(value));
	return address_from(s, value);
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

	if (!text || index <= text || index - text > MAX_TOKEN_TEXT ||
	    !kcore_read_all(c, text, s->text, index - text) ||
	    !kcore_read_all(c, index, s->index, sizeof(s->index)))
		return false;
	for (u32 i = 0; i < TOKENS; i++) {
		const size_t len =
			s->index[i] < index - text ? strlen(s->text + s->index[i]) : SIZE_MAX;

		if (len > UINT8_MAX)
			return false;
		s->lengths[i] = (u8)len;
		s->kinds[i] = s->text[s->index[i]];
		s->letters[i] = len > 1 ? s->text[s->index[i] + 1] : '\0';
	}
	return true;
}

/* What one symbol of the names consists of; at the end NULL. */
struct name {
	const u8 *tokens;
	u32 count;
};

/* What is behind it; NULL: the table ends. */
static const u8 *next_name(const u8 *at, const u8 *end, struct name *ret)
{
	u32 count;

	if (end - at < 2)
		return NULL;
	count = *at++;
	if (count & 0x80)
		count = (count & 0x7f) | (u32)*at++ << 7;
	if ((size_t)(end - at) < count || !count)
		return NULL;
	*ret = (struct name){at, count};
	return at + count;
}

/* The kind, then the name. */
static bool expand(const struct core_symbols *s, const struct name *n, char text[MAX_NAME])
{
	size_t len = 0;

	for (u32 i = 0; i < n->count; i++) {
		const u32 token = n->tokens[i], size = s->lengths[token];
		const char *from = s->text + s->index[token];

		if (len + size + SHORT > MAX_NAME)
			return false;
		if (size <= SHORT)
			memcpy(text + len, from, SHORT);
		else
			memcpy(text + len, from, size);
		len += size;
	}
	text[len] = '\0';
	return len > 1;
}

static char first_of(const struct core_symbols *s, const struct name *n)
{
	const char letter = s->letters[n->tokens[0]];

	return letter || n->count == 1 ? letter : s->kinds[n->tokens[1]];
}

/* ---- places ---- */

/* The names of the symbols from the Nth marker to the next. */
static const u8 *block_at(struct core_symbols *s, u32 n, const u8 **ret_end)
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
	const u8 *end, *at = block_at(s, i / STEP, &end);

	for (u32 left = i % STEP + 1; left && at; left--)
		at = next_name(at, end, ret);
	return at;
}

static bool name_at(struct core_symbols *s, u32 i, char text[MAX_NAME])
{
	struct name n;

	return find_name(s, i, &n) && expand(s, &n, text);
}

/* Per-CPU symbols have small offsets instead of addresses and come first. Index of the first symbol
 * behind the address. */
static u32 first_behind(struct core_symbols *s, u64 address)
{
	u32 low = 0, high = s->count;

	while (low < high) {
		const u32 middle = low + (high - low) / 2;

		if (address_of(s, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The Nth of the sorted names. */
static bool sorted_at(struct core_symbols *s, u32 n, u32 *ret_i, char text[MAX_NAME])
{
	const u8 *at = core_table_at(&s->numbers, (size_t)n * 3, 3);

	if (!at)
		return false;
	*ret_i = (u32)at[0] << 16 | (u32)at[1] << 8 | at[2];
	return *ret_i < s->count && name_at(s, *ret_i, text);
}

/* The first of the sorted names that does not stand before PREFIX (or, behind: that stands behind all that begin with it). */
static u32 sorted_first(struct core_symbols *s, const char *prefix, bool behind)
{
	const size_t len = strlen(prefix);
	u32 low = 0, high = s->count, i;
	char text[MAX_NAME];

	while (low < high) {
		const u32 middle = low + (high - low) / 2;
		int order;

		if (!sorted_at(s, middle, &i, text))
			return s->count;
		order = strncmp(text + 1, prefix, len);
		if (order < 0 || (behind && !order))
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

	for (u32 i = first_behind(s, s->stext); i-- && address_of(s, i) == s->stext;)
		if (name_at(s, i, text) && str_eq(text + 1, "_stext"))
			return true;
	return false;
}

/* Do the names of a marker end where the next one says? */
static bool is_block(struct core_symbols *s, u32 n)
{
	const u8 *end, *at = block_at(s, n, &end);
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

		if (!sorted_at(s, (u32)at, &i, text[n % 2]) ||
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
	const u64 markers = markers_end - ALIGN_UP((u64)nblocks * sizeof(u32), 8);

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
	return try_layout(s, c, names, tokens,
			  kcore_symbol(c, "kallsyms_relative_base") + sizeof(u64)) ||
	       try_layout(s, c, names, before, before);
}

static bool load(struct core_symbols *s, const struct kcore *c)
{
	s->stext = kcore_symbol(c, "_stext");
	if (!s->stext || !read_table(c, "kallsyms_num_syms", &s->count, sizeof(s->count)) ||
	    !s->count || s->count > MAX_SYMBOLS ||
	    !read_table(c, "kallsyms_relative_base", &s->base, sizeof(s->base)) ||
	    !core_table_open(&s->offsets, c, kcore_symbol(c, "kallsyms_offsets"),
			     s->count * sizeof(u32)) ||
	    !find_names(s, c))
		return false;
	s->is_signed = true;
	if (has_stext(s))
		return true;
	s->is_signed = false;
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

void core_symbols_release(struct core_symbols *s)
{
	if (!s)
		return;
	core_table_close(&s->names);
	core_table_close(&s->offsets);
	core_table_close(&s->numbers);
	free(s->markers);
	free(s);
}

/* ---- by the beginnings of names ---- */

struct found {
	u32 *items;
	size_t len, cap;
};

struct listener {
	int (*fn)(void *arg, const char *name, u64 address, bool is_alias);
	void *arg;
};

static bool is_text(char kind)
{
	return (kind | 0x20) == 't' || (kind | 0x20) == 'w';
}

/* The padding in front of functions has names, too (scripts/link-vmlinux.sh). */
static bool is_padding(const char *name)
{
	return *name == '_' && (str_starts(name, "__pfx_") || str_starts(name, "__cfi_"));
}

#define MAX_PREFIXES 16

/*
 * What names must begin with. Most of the work would be to spell out all 170,000, and to compare
 * them: their first four letters, as one number, tell nearly as much.
 */
struct beginnings {
	const char *const *list; /* NULL = anything */
	u32 count;
	u32 heads[MAX_PREFIXES], masks[MAX_PREFIXES];
	bool letters[UINT8_MAX + 1];
};

static u32 head_of(const char *text, size_t len)
{
	u32 head = 0;

	memcpy(&head, text, MIN(len, sizeof(head)));
	return head;
}

static struct beginnings beginnings_of(const char *const *prefixes)
{
	static const char ones[] = {-1, -1, -1, -1};
	struct beginnings b = {.list = prefixes};

	for (; prefixes && *prefixes; prefixes++) {
		const size_t len = strlen(*prefixes);

		if (!len || b.count == MAX_PREFIXES) {
			b.list = NULL;
			break;
		}
		b.letters[(u8) * *prefixes] = true;
		b.heads[b.count] = head_of(*prefixes, len);
		b.masks[b.count++] = head_of(ones, len);
	}
	return b;
}

/* What is not wanted is told apart here, and not all that is told is wanted. */
static bool may_begin(const struct core_symbols *s, const struct beginnings *b,
		      const struct name *n)
{
	char text[2 * UINT8_MAX + SHORT];
	size_t len = 0;
	u32 head;

	if (!b->list)
		return true;
	if (!b->letters[(u8)first_of(s, n)])
		return false;
	/* The kind and four letters. */
	for (u32 i = 0; i < n->count && len < 1 + sizeof(head); i++) {
		memcpy(text + len, s->text + s->index[n->tokens[i]], SHORT);
		len += s->lengths[n->tokens[i]];
	}
	if (len < 1 + sizeof(head))
		memset(text + len, 0, 1 + sizeof(head) - len);
	memcpy(&head, text + 1, sizeof(head));
	for (u32 i = 0; i < b->count; i++)
		if ((head & b->masks[i]) == b->heads[i])
			return true;
	return false;
}

static bool begins(const struct beginnings *b, const char *name)
{
	if (!b->list)
		return true;
	for (const char *const *p = b->list; *p; p++)
		if (**p == *name && str_starts(name, *p))
			return true;
	return false;
}

/* Of so many one is looked up, more are met on the way through all; a few are always. */
#define FEW_OF 64
#define FEW    16

/* Another one has its address and stands before it. */
static bool has_elder(struct core_symbols *s, u32 i)
{
	const u64 address = address_of(s, i);
	char text[MAX_NAME];

	while (i-- && address_of(s, i) == address)
		if (name_at(s, i, text) && is_text(*text) && !is_padding(text + 1))
			return true;
	return false;
}

static int ascending(const void *a, const void *b)
{
	const u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

/* The symbols whose names begin so, in their order. False: they are too many, or names are not sorted here. */
static bool look_up(struct core_symbols *s, const char *const *prefixes, struct found *ret)
{
	char text[MAX_NAME];
	u32 i;

	if (!s->numbers.bytes)
		return false;
	for (; *prefixes; prefixes++) {
		const u32 first = sorted_first(s, *prefixes, false);
		const u32 behind = sorted_first(s, *prefixes, true);

		if (behind - first > MAX(s->count / FEW_OF, (u32)FEW))
			return false;
		for (u32 n = first; n < behind; n++) {
			if (!sorted_at(s, n, &i, text))
				return false;
			vector_push(ret, i);
		}
	}
	if (ret->len)
		qsort(ret->items, ret->len, sizeof(*ret->items), ascending);
	return true;
}

static int tell_found(struct core_symbols *s, const struct found *found, const struct listener *to)
{
	char text[MAX_NAME];
	int rc = 0;

	for (size_t k = 0; k < found->len && !rc; k++) {
		const u32 i = found->items[k];

		if ((k && i == found->items[k - 1]) || !name_at(s, i, text) || !is_text(*text) ||
		    is_padding(text + 1))
			continue;
		rc = to->fn(to->arg, text + 1, address_of(s, i), has_elder(s, i));
	}
	return rc;
}

static int walk(struct core_symbols *s, const char *const *prefixes, const struct listener *to)
{
	const struct beginnings wanted = beginnings_of(prefixes);
	struct core_window names, offsets;
	const u8 *here, *behind, *value;
	char text[MAX_NAME];
	size_t at = 0, len;
	u64 last = 0;
	struct name n;
	int rc = 0;

	core_window_open(&names, s->names.core, s->names.address, s->names.len, NAMES_WINDOW);
	core_window_open(&offsets, s->offsets.core, s->offsets.address, s->offsets.len,
			 OFFSETS_WINDOW);
	for (u32 i = 0; !rc && i < s->count; i++) {
		u64 address;
		bool is_alias;
		u32 offset;

		here = core_window_at(&names, at, MAX_NAME, &len);
		behind = next_name(here, here + len, &n);
		value = core_window_at(&offsets, i * sizeof(u32), sizeof(u32), &len);
		if (!behind || len < sizeof(offset))
			break;
		at += (size_t)(behind - here);
		if (!is_text(s->kinds[n.tokens[0]]))
			continue;
		memcpy(&offset, value, sizeof(offset));
		address = address_from(s, offset);
		is_alias = address == last;
		if (!may_begin(s, &wanted, &n)) {
			last = address;
			continue;
		}
		if (!expand(s, &n, text) || is_padding(text + 1))
			continue;
		last = address;
		if (begins(&wanted, text + 1))
			rc = to->fn(to->arg, text + 1, address, is_alias);
	}
	core_window_close(&names);
	core_window_close(&offsets);
	return rc;
}

int core_symbols_each(struct core_symbols *s, const char *const *prefixes,
		      int (*fn)(void *arg, const char *name, u64 address, bool is_alias), void *arg)
{
	const struct listener to = {fn, arg};
	struct found found = {0};
	int rc;

	if (prefixes && look_up(s, prefixes, &found))
		rc = tell_found(s, &found, &to);
	else
		rc = walk(s, prefixes, &to);
	vector_free(&found);
	return rc;
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
	*ret_start = address_of(s, end - 1);
	while (i && address_of(s, i - 1) == *ret_start)
		i--;
	for (; i < end; i++)
		if (name_at(s, i, text))
			fn(arg, *text, text + 1);
	return true;
}

u64 core_symbols_address(struct core_symbols *s, const char *name)
{
	char text[MAX_NAME];
	u32 i, n;

	if (s->numbers.bytes) {
		n = sorted_first(s, name, false);
		return n < s->count && sorted_at(s, n, &i, text) && str_eq(text + 1, name)
			       ? address_of(s, i)
			       : 0;
	}
	for (i = 0; i < s->count; i++)
		if (name_at(s, i, text) && str_eq(text + 1, name))
			return address_of(s, i);
	return 0;
}
