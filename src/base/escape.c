/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/escape.h"

/* Length of the valid UTF-8 sequence at s (1 to 4), 0 if invalid; *ret_code is the code point. */
static size_t utf8_sequence(const u8 *s, size_t n, u32 *ret_code)
{
	static const struct {
		u8 mask, lead;
		u32 min;
	} forms[] = {
		{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	for (size_t len = 1; len <= 4; len++) {
		u32 code = s[0] & (u8)~forms[len - 1].mask;

		if ((s[0] & forms[len - 1].mask) != forms[len - 1].lead)
			continue;
		if (len > n)
			return 0;
		for (size_t i = 1; i < len; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (s[i] & 0x3f);
		}
		if (code < forms[len - 1].min || code > 0x10ffff ||
		    (code >= 0xd800 && code < 0xe000))
			return 0;
		*ret_code = code;
		return len;
	}
	return 0;
}

/*
 * Code points that control a terminal (C0, DEL, C1) or change the direction of text (bidi
 * controls).
 */
static bool is_dangerous(u32 code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
	       code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

static void add_bytes(struct strbuf *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strbuf_addf(out, "\\x%02x", (u8)s[i]);
}

static void escape_text(struct strbuf *out, const char *s, size_t n, const char *allowed)
{
	size_t i = 0, plain = 0;

	while (i < n) {
		u32 code = 0;
		size_t len;

		if (s[i] >= 0x20 && s[i] < 0x7f) {
			i++;
			continue;
		}
		len = utf8_sequence((const u8 *)s + i, n - i, &code);
		if (len &&
		    (!is_dangerous(code) || (code && code < 0x20 && strchr(allowed, (char)code)))) {
			i += len;
			continue;
		}
		strbuf_add(out, s + plain, i - plain);
		add_bytes(out, s + i, MAX(len, (size_t)1));
		i += MAX(len, (size_t)1);
		plain = i;
	}
	strbuf_add(out, s + plain, n - plain);
}

void escape_terminal(struct strbuf *out, const char *s, size_t n)
{
	escape_text(out, s, n, "\n\t");
}

void escape_line(struct strbuf *out, const char *s, size_t n)
{
	escape_text(out, s, n, "");
}

void escape_json(struct strbuf *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		u32 code = 0;
		size_t len = utf8_sequence((const u8 *)s + i, n - i, &code);
		u8 c = (u8)s[i];

		if (c == '"' || c == '\\')
			strbuf_addf(out, "\\%c", c);
		else if (c == '\n')
			strbuf_addstr(out, "\\n");
		else if (c == '\t')
			strbuf_addstr(out, "\\t");
		else if (c == '\r')
			strbuf_addstr(out, "\\r");
		else if (!len)
			strbuf_addf(out, "\\u%04x", c);
		else if (is_dangerous(code))
			strbuf_addf(out, "\\u%04x", code);
		else
			strbuf_add(out, s + i, len);
		i += MAX(len, (size_t)1);
	}
}

void escape_xml(struct strbuf *out, const char *s, size_t n)
{
	static const struct {
		char c;
		const char *entity;
	} entities[] = {
		{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};

	for (size_t i = 0; i < n;) {
		u32 code = 0;
		size_t len = utf8_sequence((const u8 *)s + i, n - i, &code), k = 0;

		while (k < ARRAY_SIZE(entities) && s[i] != entities[k].c)
			k++;
		if (k < ARRAY_SIZE(entities))
			strbuf_addstr(out, entities[k].entity);
		else if (!len || (is_dangerous(code) && code != '\t' && code != '\n') ||
			 code == 0xfffe || code == 0xffff)
			add_bytes(out, s + i, MAX(len, (size_t)1));
		else
			strbuf_add(out, s + i, len);
		i += MAX(len, (size_t)1);
	}
}

void escape_utf8(struct strbuf *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		u32 code;
		const size_t len = utf8_sequence((const u8 *)s + i, n - i, &code);

		if (len)
			strbuf_add(out, s + i, len);
		else
			strbuf_addf(out, "\\x%02x", (u8)s[i]);
		i += len ?: 1;
	}
}

void escape_shell(struct strbuf *out, char *const *words, int count)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-.,:/=+@%";

	for (int i = 0; i < count; i++) {
		const bool is_plain = words[i][0] && !words[i][strspn(words[i], plain)];

		strbuf_addstr(out, i ? " " : "");
		strbuf_addstr(out, is_plain ? "" : "'");
		for (const char *p = words[i]; *p; p++)
			if (*p == '\'')
				strbuf_addstr(out, "'\\''");
			else
				strbuf_addch(out, *p);
		strbuf_addstr(out, is_plain ? "" : "'");
	}
}
