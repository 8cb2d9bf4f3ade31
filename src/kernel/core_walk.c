/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols by the beginnings of their names. Names that few have are looked up among the sorted; for the others all symbols are
 * passed: the first token tells nearly all of them apart.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "kernel/core_symbols_internal.h"

#define NAMES_WINDOW   ((size_t)64 << 10)
#define OFFSETS_WINDOW ((size_t)32 << 10)

static char first_of(const struct core_symbols *s, const struct name *n)
{
	const char letter = s->letters[n->tokens[0]];

	return letter || n->count == 1 ? letter : s->kinds[n->tokens[1]];
}

struct found {
	u32 *items;
	size_t len, cap;
};

struct listener {
	core_symbol_fn fn;
	void *arg;
};

static bool is_text(char kind)
{
	return (kind | 0x20) == 't' || (kind | 0x20) == 'w';
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
	const u64 address = core_symbols_nth_address(s, i);
	char text[MAX_NAME];

	while (i-- && core_symbols_nth_address(s, i) == address)
		if (core_symbols_nth(s, i, text) && is_text(*text) && !symbol_is_padding(text + 1))
			return true;
	return false;
}

static int ascending(const void *a, const void *b)
{
	const u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

/* Adds the symbols whose names begin so. False: they are too many, or names are not sorted here. */
static bool look_up(struct core_symbols *s, const char *prefix, struct found *ret)
{
	const u32 most = MAX(s->count / FEW_OF, (u32)FEW), len = (u32)strlen(prefix);
	char text[MAX_NAME];
	u32 first, i;

	if (!s->numbers.bytes || len < 2) /* names that begin with one certain letter are many */
		return false;
	first = core_symbols_first(s, prefix);
	if (first + most < s->count &&
	    (!core_symbols_sorted(s, first + most, &i, text) || !strncmp(text + 1, prefix, len)))
		return false;
	for (u32 n = first; n < s->count; n++) {
		if (!core_symbols_sorted(s, n, &i, text))
			return false;
		if (strncmp(text + 1, prefix, len))
			break;
		vector_push(ret, i);
	}
	return true;
}

/* In the order of the table, each once, without those that are met on the way through all. */
static int tell_found(struct core_symbols *s, struct found *found, const char *const *met,
		      const struct listener *to)
{
	const struct beginnings others = beginnings_of(met);
	char text[MAX_NAME];
	int rc = 0;

	if (found->len)
		qsort(found->items, found->len, sizeof(*found->items), ascending);
	for (size_t k = 0; k < found->len && !rc; k++) {
		const u32 i = found->items[k];

		if ((k && i == found->items[k - 1]) || !core_symbols_nth(s, i, text) ||
		    !is_text(*text) || symbol_is_padding(text + 1) || begins(&others, text + 1))
			continue;
		rc = to->fn(to->arg, text + 1, NULL, core_symbols_nth_address(s, i),
			    has_elder(s, i));
	}
	return rc;
}

/* Most are not looked at any closer. LETTER_NEXT: the token is the kind and no more; the next one tells. */
enum verdict { IS_OTHER, MAY_BE, LETTER_NEXT };

/* On the way through all symbols. */
struct walk {
	struct core_symbols *s;
	struct beginnings wanted;
	const struct listener *to;
	struct core_window names, offsets;
	/* What a symbol's first token tells of it, and the one behind a kind: enum verdict. */
	u8 verdicts[TOKENS], nexts[TOKENS];
};

static u8 judge_letter(const struct walk *w, char letter)
{
	return w->wanted.list && !w->wanted.letters[(u8)letter] ? IS_OTHER : MAY_BE;
}

static void judge_tokens(struct walk *w)
{
	for (u32 i = 0; i < TOKENS; i++) {
		const char letter = w->s->letters[i];

		w->nexts[i] = judge_letter(w, w->s->kinds[i]);
		if (!is_text(w->s->kinds[i]))
			w->verdicts[i] = IS_OTHER;
		else
			w->verdicts[i] = letter ? judge_letter(w, letter) : LETTER_NEXT;
	}
}

static bool walk_address(struct walk *w, u32 i, u64 *ret)
{
	size_t len;
	const u8 *at = core_window_at(&w->offsets, (size_t)i * sizeof(u32), sizeof(u32), &len);
	u32 value;

	if (len < sizeof(value))
		return false;
	memcpy(&value, at, sizeof(value));
	*ret = address_from(w->s, i, value);
	return true;
}

static int visit(struct walk *w, u32 i, const struct name *n)
{
	u64 address, before = 0;
	char text[MAX_NAME];

	if (!may_begin(w->s, &w->wanted, n) || !core_symbols_expand(w->s, n, text) ||
	    symbol_is_padding(text + 1) || !begins(&w->wanted, text + 1))
		return 0;
	if ((i && !walk_address(w, i - 1, &before)) || !walk_address(w, i, &address))
		return -EIO;
	return w->to->fn(w->to->arg, text + 1, NULL, address,
			 address == before && has_elder(w->s, i));
}

/*
 * Passes those that are not looked at, to the symbol *ret_i. Short of the end, and of a name that is long, which has two bytes of
 * length.
 */
static const u8 *pass(const struct walk *w, const u8 *at, const u8 *stop, u32 end, u32 *ret_i)
{
	const u8 *const last = stop - MIN(stop - at, 0x80);
	u32 left = end - *ret_i;

	for (; left && at < last; left--) {
		const u32 len = *at;
		u8 verdict = w->verdicts[at[1]];

		if (len - 1 >= 0x7f)
			break;
		if (verdict == LETTER_NEXT && len > 1)
			verdict = w->nexts[at[2]];
		if (verdict == MAY_BE)
			break;
		at += len + 1;
	}
	*ret_i = end - left;
	return at;
}

/* The symbols from one marker to the next. */
static int walk_block(struct walk *w, u32 block)
{
	const u32 first = block * STEP, end = MIN(w->s->count, first + STEP);
	const size_t from = w->s->markers[block];
	const size_t to = end < w->s->count ? w->s->markers[block + 1] : w->s->names.len;
	size_t len;
	const u8 *at = core_window_at(&w->names, from, MIN(to - from, NAMES_WINDOW), &len);
	const u8 *stop = at + len;
	struct name n;
	int rc = 0;

	for (u32 i = first; !rc; i++) {
		at = pass(w, at, stop, end, &i);
		if (i == end)
			break;
		at = next_name(at, stop, &n);
		if (!at)
			return -EIO;
		if (w->verdicts[*n.tokens] != IS_OTHER)
			rc = visit(w, i, &n);
	}
	return rc;
}

static int walk(struct core_symbols *s, const char *const *prefixes, const struct listener *to)
{
	struct walk w = {.s = s, .wanted = beginnings_of(prefixes), .to = to};
	const u32 nblocks = (s->count + STEP - 1) / STEP;
	int rc = 0;

	judge_tokens(&w);
	kcore_expect_much(s->names.core);
	core_window_open(&w.names, s->names.core, s->names.address, s->names.len, NAMES_WINDOW);
	core_window_open(&w.offsets, s->offsets.core, s->offsets.address, s->offsets.len,
			 OFFSETS_WINDOW);
	for (u32 block = 0; !rc && block < nblocks; block++)
		rc = walk_block(&w, block);
	core_window_close(&w.names);
	core_window_close(&w.offsets);
	return rc;
}

int core_symbols_each(struct core_symbols *s, const char *const *prefixes, core_symbol_fn fn,
		      void *arg)
{
	const struct listener to = {fn, arg};
	const char *many[MAX_PREFIXES + 1] = {NULL};
	struct found found = {0};
	u32 n = 0;
	int rc = 0;

	for (u32 i = 0; prefixes && prefixes[i]; i++) {
		if (i == MAX_PREFIXES)
			return -E2BIG;
		if (!look_up(s, prefixes[i], &found))
			many[n++] = prefixes[i];
	}
	if (found.len)
		rc = tell_found(s, &found, many, &to);
	if (!rc && (n || !prefixes))
		rc = walk(s, prefixes ? many : NULL, &to);
	vector_free(&found);
	return rc;
}
