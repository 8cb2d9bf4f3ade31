/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols by the beginnings of their names. Where the kernel has its names sorted (6.2), those that begin so stand beside each
 * other and are marked; then the others are passed without being looked at. Elsewhere all symbols are passed: the first token
 * tells nearly all of them apart.
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
		memcpy(text + len, s->shorts[n->tokens[i]], SHORT);
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

/* Most are not looked at any closer. LETTER_NEXT: the token is the kind and no more; the next one tells. */
enum verdict { IS_OTHER, MAY_BE, LETTER_NEXT };

#define MARK_WORDS (STEP / 64)

struct walk {
	struct core_symbols *s;
	struct beginnings wanted;
	core_symbol_fn fn;
	void *arg;
	u32 nblocks; /* of STEP symbols */
	u64 *marks; /* a bit for each symbol that is wanted; NULL = names tell */
	u32 nmarks;
	bool few; /* marks: no more of the tables is read than they ask for */
	struct core_window names, offsets; /* not if they are few */
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

/* Of a symbol and of the one before it, 0 of the first. */
static bool addresses_of(struct walk *w, u32 i, u64 ret[2])
{
	const u32 n = i ? 2 : 1, first = i + 1 - n;
	const u8 *at;
	u32 values[2];
	size_t len;

	if (w->few)
		at = core_table_at(&w->s->offsets, first * sizeof(*values),
				   len = n * sizeof(*values));
	else
		at = core_window_at(&w->offsets, first * sizeof(*values), n * sizeof(*values),
				    &len);
	if (!at || len < n * sizeof(*values))
		return false;
	memcpy(values, at, n * sizeof(*values));
	ret[1] = n > 1 ? address_from(w->s, first, values[0]) : 0;
	ret[0] = address_from(w->s, i, values[n - 1]);
	return true;
}

static int visit(struct walk *w, u32 i, const struct name *n)
{
	char text[MAX_NAME];
	u64 addresses[2];

	if (!core_symbols_expand(w->s, n, text) || symbol_is_padding(text + 1) ||
	    !begins(&w->wanted, text + 1))
		return 0;
	if (!addresses_of(w, i, addresses))
		return -EIO;
	return w->fn(w->arg, text + 1, NULL, addresses[0],
		     addresses[0] == addresses[1] && has_elder(w->s, i));
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

/* The names of the symbols from one marker to the next. */
static const u8 *names_of(struct walk *w, u32 block, const u8 **ret_stop)
{
	const u32 end = (block + 1) * STEP;
	const size_t from = w->s->markers[block];
	const size_t to = end < w->s->count ? w->s->markers[block + 1] : w->s->names.len;
	size_t len;
	const u8 *at;

	if (w->few)
		return core_symbols_block(w->s, block, ret_stop);
	at = core_window_at(&w->names, from, MIN(to - from, NAMES_WINDOW), &len);
	*ret_stop = at + len;
	return at;
}

static int walk_block(struct walk *w, u32 block)
{
	const u32 first = block * STEP, end = MIN(w->s->count, first + STEP);
	const u8 *stop, *at = names_of(w, block, &stop);
	struct name n;
	int rc = 0;

	for (u32 i = first; !rc; i++) {
		at = pass(w, at, stop, end, &i);
		if (i == end)
			break;
		at = next_name(at, stop, &n);
		if (!at)
			return -EIO;
		if (w->verdicts[*n.tokens] != IS_OTHER && may_begin(w->s, &w->wanted, &n))
			rc = visit(w, i, &n);
	}
	return rc;
}

/* ---- those that are marked ---- */

/* Passes N names; NULL: the table ends. */
static const u8 *pass_names(const u8 *at, const u8 *stop, u32 n)
{
	for (; n && at + 1 < stop; n--) {
		u32 len = *at++;

		if (len & 0x80)
			len = (len & 0x7f) | (u32)*at++ << 7;
		at += len;
	}
	return n ? NULL : at;
}

static int visit_marked(struct walk *w, u32 block)
{
	const u64 *marks = w->marks + block * MARK_WORDS;
	const u8 *stop, *at = NULL;
	u32 next = 0; /* the symbol of the block that is at AT */
	struct name n;
	int rc = 0;

	for (u32 word = 0; word < MARK_WORDS; word++)
		for (u64 left = marks[word]; left && !rc; left &= left - 1) {
			const u32 i = word * 64 + (u32)__builtin_ctzll(left);

			if (!at)
				at = names_of(w, block, &stop);
			at = at ? pass_names(at, stop, i - next) : NULL;
			at = at ? next_name(at, stop, &n) : NULL;
			if (!at)
				return -EIO;
			next = i + 1;
			if (is_text(w->s->kinds[*n.tokens]))
				rc = visit(w, block * STEP + i, &n);
		}
	return rc;
}

/* Marks the symbols whose names begin so. False: the names are not sorted. */
static bool mark_names(struct walk *w, const char *prefix)
{
	const u32 first = core_symbols_first(w->s, prefix, false);
	const u32 n = core_symbols_first(w->s, prefix, true) - first;
	const u8 *at = core_table_at(&w->s->numbers, (size_t)first * 3, (size_t)n * 3);

	if (!at || first + n > w->s->count)
		return false;
	for (u32 k = 0; k < n; k++, at += 3) {
		const u32 i = core_symbols_number(at);

		if (i >= w->s->count)
			return false;
		w->marks[i / 64] |= 1ull << (i % 64);
	}
	w->nmarks += n;
	return true;
}

static bool mark_all(struct walk *w, const char *const *prefixes)
{
	if (!w->wanted.list || !w->s->numbers.bytes)
		return false;
	w->marks = xzalloc(w->nblocks * MARK_WORDS * sizeof(*w->marks));
	for (; *prefixes; prefixes++)
		if (!mark_names(w, *prefixes))
			return false;
	w->few = w->nmarks < w->nblocks / 2;
	return true;
}

int core_symbols_each(struct core_symbols *s, const char *const *prefixes, core_symbol_fn fn,
		      void *arg)
{
	struct walk w = {.s = s,
			 .wanted = beginnings_of(prefixes),
			 .fn = fn,
			 .arg = arg,
			 .nblocks = (s->count + STEP - 1) / STEP};
	const bool marked = mark_all(&w, prefixes);
	int rc = 0;

	if (!w.few) {
		kcore_expect_much(s->names.core);
		core_window_open(&w.names, s->names.core, s->names.address, s->names.len,
				 NAMES_WINDOW);
		core_window_open(&w.offsets, s->offsets.core, s->offsets.address, s->offsets.len,
				 OFFSETS_WINDOW);
	}
	if (!marked)
		judge_tokens(&w);
	for (u32 block = 0; !rc && block < w.nblocks; block++)
		rc = marked ? visit_marked(&w, block) : walk_block(&w, block);
	if (!w.few) {
		core_window_close(&w.names);
		core_window_close(&w.offsets);
	}
	free(w.marks);
	return rc;
}
