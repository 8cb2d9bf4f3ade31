/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/text/dialect.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

void text_blanks(struct text_at *t)
{
	while (t->at < t->end && is_blank(*t->at))
		t->at++;
}

bool text_char(struct text_at *t, char c)
{
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

bool text_number(struct text_at *t, u64 *ret)
{
	const char *p = t->at;
	u64 v = 0;

	for (; p < t->end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (u64)(*p - '0'), &v))
			return false;
	if (p == t->at)
		return false;
	t->at = p;
	*ret = v;
	return true;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool text_hex(struct text_at *t, u64 *ret)
{
	const char *p = t->at;
	u64 v = 0;

	for (; p < t->end && hex_digit(*p) >= 0; p++)
		v = v << 4 | (u64)hex_digit(*p);
	if (p == t->at || p - t->at > 16)
		return false;
	t->at = p;
	*ret = v;
	return true;
}

bool text_time(struct text_at *t, s64 *ret_ns)
{
	struct text_at at = *t;
	u64 seconds, part, unit = 1;
	const char *begin;

	if (!text_number(&at, &seconds) || seconds > INT64_MAX / 1000000000 - 1 ||
	    !text_char(&at, '.'))
		return false;
	begin = at.at;
	if (!text_number(&at, &part) || at.at - begin > 9)
		return false;
	for (ptrdiff_t digits = at.at - begin; digits < 9; digits++)
		unit *= 10;
	*t = at;
	*ret_ns = (s64)(seconds * 1000000000 + part * unit);
	return true;
}

struct text_range text_word(struct text_at *t)
{
	struct text_range r = {.at = t->at};

	while (t->at < t->end && !is_blank(*t->at))
		t->at++;
	r.size = (size_t)(t->at - r.at);
	return r;
}

struct text_range text_rest(const struct text_at *t)
{
	struct text_at at = *t;

	text_blanks(&at);
	while (at.end > at.at && is_blank(at.end[-1]))
		at.end--;
	return (struct text_range){at.at, (size_t)(at.end - at.at)};
}

bool text_equals(struct text_range r, const char *s)
{
	return r.size == strlen(s) && !memcmp(r.at, s, r.size);
}

void text_symbol(struct text_range symbol, struct text_frame *ret)
{
	const char *plus = symbol.size ? memrchr(symbol.at, '+', symbol.size) : NULL;
	struct text_at at;

	if (plus) {
		at = (struct text_at){plus + 1, symbol.at + symbol.size};
		if (text_char(&at, '0') && text_char(&at, 'x') && text_hex(&at, &ret->offset) &&
		    at.at == at.end) {
			ret->has_offset = true;
			symbol.size = (size_t)(plus - symbol.at);
		}
	}
	if (!text_equals(symbol, "[unknown]"))
		ret->symbol = symbol;
}

/* True if the first lines, comments aside, are an event and its call chain, without NUL bytes. */
bool text_is(const struct text_dialect *dialect, const void *head, size_t len)
{
	const char *at = head, *const end = at + len;
	bool has_event = false;

	if (memchr(head, 0, len))
		return false;
	while (at < end) {
		const char *const newline = memchr(at, '\n', (size_t)(end - at));
		const struct line line = {at, (size_t)((newline ?: end) - at)};
		struct text_event event;
		struct text_frame frame;
		enum text_line what;

		if (!newline && has_event)
			break; /* cut off at the end of the head */
		what = dialect->parse(&line, &event, &frame);
		if (what == TEXT_STRANGE || (what == TEXT_FRAME && !has_event))
			return false;
		has_event |= what == TEXT_EVENT;
		at = newline ? newline + 1 : end;
	}
	return has_event;
}
