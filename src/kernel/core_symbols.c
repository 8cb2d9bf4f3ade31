/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables (scripts/kallsyms.c writes them):
 *
 *	kallsyms_names		for each symbol the number of its tokens (one byte, or since 6.1 two
 *if the first has bit 7: ULEB128) and the tokens, a byte each
 *	kallsyms_token_table	what each of 256 tokens stands for, NUL-terminated; the first letter
 *of a symbol is its kind ("T") kallsyms_token_index	where a token's text begins in it, 16 bits
 *each kallsyms_offsets	32 bits for each symbol: from kallsyms_relative_base; where per-CPU symbols
 *have addresses near 0 (x86 until 6.14) those are positive, and all others negative: address = base
 *- 1 - offset
 */
#include "kernel/core_symbols.h"

#include <string.h>

#define MAX_SYMBOLS    ((u32)8 << 20)
#define MAX_NAMES      ((size_t)128 << 20)
#define TOKENS	       256
#define MAX_TOKEN_TEXT ((size_t)64 << 10) /* 16-bit indices */

/* Most tokens have 2 to 5 letters. So many are copied at once, whether they belong to it or not. */
#define SHORT 16

/* Names are found by walking from one of these; so many lie between two. */
#define STEP 64

enum { MAX_NAME = 1024 }; /* KSYM_NAME_LEN is 512 */

struct core_symbols {
	u8 *names;
	size_t names_len;
	u32 *offsets;
	u32 count;
	u64 base, stext;
	bool is_signed; /* of the two meanings of an offset the older */
	u32 *steps; /* where in `names` each 64th is; NULL until a name is asked for */
	u16 index[TOKENS];
	char text[MAX_TOKEN_TEXT + SHORT + 1];
	u8 lengths[TOKENS];
	char kinds[TOKENS],
		letters[TOKENS]; /* of names that begin with the token; letters: 0 = see the next */
};

static u64 address_of(const struct core_symbols *s, u32 i)
{
	const s32 offset = (s32)s->offsets[i];

	if (!s->is_signed)
		return s->base + s->offsets[i];
	return offset >= 0 ? (u64)offset : s->base - 1 - (u64)(s64)offset;
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

static const u8 *next_name(const struct core_symbols *s, const u8 *at, struct name *ret)
{
	const u8 *end = s->names + s->names_len;
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

static char kind_of(const struct core_symbols *s, const struct name *n)
{
	return s->kinds[n->tokens[0]];
}

static char first_of(const struct core_symbols *s, const struct name *n)
{
	const char letter = s->letters[n->tokens[0]];

	return letter || n->count == 1 ? letter : s->kinds[n->tokens[1]];
}

static bool find_steps(struct core_symbols *s)
{
	const u8 *at = s->names;
	struct name n;

	if (s->steps)
		return true;
	s->steps = xreallocarray(NULL, s->count / STEP + 1, sizeof(*s->steps));
	for (u32 i = 0; i < s->count; i++) {
		if (i % STEP == 0)
			s->steps[i / STEP] = (u32)(at - s->names);
		at = next_name(s, at, &n);
		if (!at)
			return false;
	}
	return true;
}

static bool name_at(const struct core_symbols *s, u32 i, char text[MAX_NAME])
{
	const u8 *at = s->names + s->steps[i / STEP];
	struct name n = {0};

	for (u32 left = i % STEP + 1; left && at; left--)
		at = next_name(s, at, &n);
	return at && expand(s, &n, text);
}

/* Per-CPU symbols have small offsets instead of addresses and come first. Index of the first symbol
 * behind the address. */
static u32 first_behind(const struct core_symbols *s, u64 address)
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

/* Is _stext where the kernel has it? */
static bool has_stext(const struct core_symbols *s)
{
	const u8 *at = s->names;
	char text[MAX_NAME];
	struct name n;

	for (u32 i = 0; i < s->count && (at = next_name(s, at, &n)); i++)
		if (address_of(s, i) == s->stext && expand(s, &n, text) &&
		    str_eq(text + 1, "_stext"))
			return true;
	return false;
}

static bool load(struct core_symbols *s, const struct kcore *c)
{
	const u64 names = kcore_symbol(c, "kallsyms_names");
	const u64 tokens = kcore_symbol(c, "kallsyms_token_table");

	s->stext = kcore_symbol(c, "_stext");
	if (!s->stext || !read_table(c, "kallsyms_num_syms", &s->count, sizeof(s->count)) ||
	    !s->count || s->count > MAX_SYMBOLS ||
	    !read_table(c, "kallsyms_relative_base", &s->base, sizeof(s->base)))
		return false;
	/* The markers and then the tokens follow the names: a little too much is read. */
	if (!names || tokens <= names || tokens - names > MAX_NAMES || !read_tokens(s, c))
		return false;
	s->names_len = tokens - names;
	s->names = xmalloc(s->names_len);
	s->offsets = xreallocarray(NULL, s->count, sizeof(*s->offsets));
	if (!kcore_read_all(c, names, s->names, s->names_len) ||
	    !read_table(c, "kallsyms_offsets", s->offsets, s->count * sizeof(*s->offsets)))
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
	free(s->names);
	free(s->offsets);
	free(s->steps);
	free(s);
}

/* The padding in front of functions has names, too (scripts/link-vmlinux.sh). */
static bool is_padding(const char *name)
{
	return str_starts(name, "__pfx_") || str_starts(name, "__cfi_");
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
		if (str_starts(name, *p))
			return true;
	return false;
}

int core_symbols_each(const struct core_symbols *s, const char *const *prefixes,
		      int (*fn)(void *arg, const char *name, u64 address, bool is_alias), void *arg)
{
	const struct beginnings wanted = beginnings_of(prefixes);
	const u8 *at = s->names;
	char text[MAX_NAME];
	u64 last = 0;
	struct name n;
	int rc = 0;

	for (u32 i = 0; !rc && i < s->count && (at = next_name(s, at, &n)); i++) {
		const char kind = (char)(kind_of(s, &n) | 0x20);
		const u64 address = address_of(s, i);
		const bool is_alias = address == last;

		if (kind != 't' && kind != 'w')
			continue;
		if (!may_begin(s, &wanted, &n)) {
			last = address;
			continue;
		}
		if (!expand(s, &n, text) || is_padding(text + 1))
			continue;
		last = address;
		if (!begins(&wanted, text + 1))
			continue;
		rc = fn(arg, text + 1, address, is_alias);
	}
	return rc;
}

bool core_symbols_at(struct core_symbols *s, u64 address, u64 *ret_start,
		     void (*fn)(void *arg, char kind, const char *name), void *arg)
{
	const u32 end = first_behind(s, address);
	char text[MAX_NAME];
	u32 i = end;

	/* The last symbol of vmlinux is its end. */
	if (!end || end == s->count || address < s->stext || !find_steps(s))
		return false;
	*ret_start = address_of(s, end - 1);
	while (i && address_of(s, i - 1) == *ret_start)
		i--;
	for (; i < end; i++)
		if (name_at(s, i, text))
			fn(arg, *text, text + 1);
	return true;
}

u64 core_symbols_address(const struct core_symbols *s, const char *name)
{
	const u8 *at = s->names;
	char text[MAX_NAME];
	struct name n;

	for (u32 i = 0; i < s->count && (at = next_name(s, at, &n)); i++)
		if (first_of(s, &n) == *name && expand(s, &n, text) && str_eq(text + 1, name))
			return address_of(s, i);
	return 0;
}
