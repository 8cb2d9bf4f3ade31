/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/syntax/lex.h"

#include <strings.h>

#include "base/strbuf.h"

struct lexer lexer_of(struct arena *arena, struct diag *diag, u16 file)
{
	const struct source *s = &diag->sources.items[file];

	return (struct lexer){.arena = arena,
			      .diag = diag,
			      .text = s->text,
			      .end = (u32)s->len,
			      .file = file,
			      .line_start = true};
}

static char at(const struct lexer *l, u32 offset)
{
	return l->pos + offset < l->end ? l->text[l->pos + offset] : '\0';
}

static struct span span_from(const struct lexer *l, u32 begin)
{
	return (struct span){begin, l->pos, l->file};
}

bool lex_skip_layout(struct lexer *l)
{
	while (l->pos < l->end) {
		char c = at(l, 0);

		if (c == '\n') {
			l->line_start = true;
			l->pos++;
		} else if (lex_is_blank(c)) {
			l->pos++;
		} else if (c == '\\' && at(l, 1) == '\n') {
			l->pos += 2;
		} else if (c == '\\' && at(l, 1) == '\r' && at(l, 2) == '\n') {
			l->pos += 3;
		} else if (c == '/' && at(l, 1) == '/') {
			while (l->pos < l->end && at(l, 0) != '\n')
				l->pos++;
		} else if (c == '/' && at(l, 1) == '*') {
			const u32 begin = l->pos;

			l->pos += 2;
			while (l->pos < l->end && !(at(l, 0) == '*' && at(l, 1) == '/'))
				l->pos++;
			if (l->pos >= l->end) {
				diag_error(l->diag, (struct span){begin, begin + 2, l->file},
					   "unterminated comment: no '*/' before the end of file");
				return false;
			}
			l->pos += 2;
		} else {
			break;
		}
	}
	return true;
}

/* --- integers --- */

static const struct {
	const char *suffix;
	u64 max, scale;
	bool is_unsigned;
} suffixes[] = {
	{"", UINT64_MAX, 1, false},
	{"u", UINT32_MAX, 1, true},
	{"ul", UINT64_MAX, 1, true},
	{"ull", UINT64_MAX, 1, true},
	{"l", INT64_MAX, 1, false},
	{"ll", INT64_MAX, 1, false},
	{"lu", UINT64_MAX, 1, true},
	{"llu", UINT64_MAX, 1, true},
	{"ns", UINT64_MAX, 1, false},
	{"us", UINT64_MAX, 1000, false},
	{"ms", UINT64_MAX, 1000000, false},
	{"s", UINT64_MAX, 1000000000, false},
	{"m", UINT64_MAX, 60000000000, false},
	{"h", UINT64_MAX, 3600000000000, false},
	{"d", UINT64_MAX, 86400000000000, false},
};

static int digit_value(char c)
{
	if (lex_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* Digits of one base with '_' between them; false on overflow. */
static bool read_digits(const char **s, int base, u64 *ret)
{
	for (; **s == '_' || digit_value(**s) < base; (*s)++) {
		if (**s == '_')
			continue;
		if (__builtin_mul_overflow(*ret, (u64)base, ret) ||
		    __builtin_add_overflow(*ret, (u64)digit_value(**s), ret))
			return false;
	}
	return true;
}

static const char *overflow(struct arena *arena, const char *text, u64 max)
{
	return arena_printf(arena, "overflow error, maximum value is %" PRIu64 ": %s", max, text);
}

static bool suffix_equal(const char *s, const char *suffix)
{
	for (; *s && *suffix; s++, suffix++)
		if ((*s == 'U' ? 'u' : *s == 'L' ? 'l' : *s) != *suffix)
			return false;
	return *s == *suffix;
}

/* Text of an integer (0x, octal, 0b, _, 1e6, suffixes) -> value; NULL or what is wrong with it. */
static const char *lex_parse_integer(struct arena *arena, const char *text, u64 *ret,
				     bool *ret_unsigned)
{
	const char *s = text;
	int base = 10;
	u64 v = 0;

	if (s[0] == '0' && (s[1] | 0x20) == 'x')
		base = 16;
	else if (s[0] == '0' && (s[1] | 0x20) == 'b')
		base = 2;
	else if (s[0] == '0' && s[1] >= '0' && s[1] <= '7')
		base = 8;
	if (base == 16 || base == 2)
		s += 2;
	if (digit_value(*s) >= base)
		return arena_printf(arena, "invalid integer: %s", text);
	if (!read_digits(&s, base, &v))
		return overflow(arena, text, UINT64_MAX);
	if (s[-1] == '_')
		return "trailing underscore in integer literal";
	if (base == 10 && (*s | 0x20) == 'e' && lex_is_digit(s[1])) {
		u64 exponent = 0;

		s++;
		if (v < 1 || v > 9)
			return arena_printf(
				arena, "coefficient part of scientific literal must be 1-9: %s",
				text);
		if (!read_digits(&s, 10, &exponent))
			return overflow(arena, text, UINT64_MAX);
		if (s[-1] == '_')
			return "trailing underscore in integer literal";
		for (; exponent; exponent--)
			if (__builtin_mul_overflow(v, 10u, &v))
				return overflow(arena, text, UINT64_MAX);
	}
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (!suffix_equal(s, suffixes[i].suffix))
			continue;
		if (v > suffixes[i].max / suffixes[i].scale)
			return overflow(arena, text, suffixes[i].max);
		*ret = v * suffixes[i].scale;
		*ret_unsigned = suffixes[i].is_unsigned;
		return NULL;
	}
	return arena_printf(arena, "invalid integer suffix '%s'", s);
}

static struct token lex_error(struct lexer *l, struct span at_span, const char *message)
{
	diag_error(l->diag, at_span, "syntax error, %s", message);
	return (struct token){.kind = TOKEN_ERROR, .span = at_span};
}

/* A number of C: also 1.5e-3, 0x1p-52, and integers that need more bits than their suffix says. */
static struct token lex_header_number(struct lexer *l)
{
	const u32 begin = l->pos;
	struct token t = {.kind = TOKEN_INTEGER};
	size_t digits;

	while (lex_is_name(at(l, 0)) || at(l, 0) == '.' ||
	       ((at(l, 0) == '+' || at(l, 0) == '-') && l->pos > begin &&
		strchr("eEpP", l->text[l->pos - 1]) && strncasecmp(l->text + begin, "0x", 2)))
		l->pos++;
	t.span = span_from(l, begin);
	t.len = l->pos - begin;
	t.text = arena_strndup(l->arena, l->text + begin, t.len);
	digits = t.len;
	while (digits && strchr("uUlL", t.text[digits - 1]))
		digits--;
	if (lex_parse_integer(l->arena, arena_strndup(l->arena, t.text, digits), &t.value,
			      &t.is_unsigned))
		t.kind = TOKEN_OTHER;
	t.is_unsigned = strpbrk(t.text + digits, "uU") != NULL;
	return t;
}

static struct token lex_integer(struct lexer *l)
{
	const u32 begin = l->pos;
	struct token t = {.kind = TOKEN_INTEGER};
	const char *wrong;

	while (lex_is_name(at(l, 0)))
		l->pos++;
	t.span = span_from(l, begin);
	t.text = arena_strndup(l->arena, l->text + begin, l->pos - begin);
	t.len = l->pos - begin;
	wrong = lex_parse_integer(l->arena, t.text, &t.value, &t.is_unsigned);
	if (wrong)
		return lex_error(l, t.span, wrong);
	return t;
}

/* --- strings --- */

/* Bytes of the UTF-8 sequence at s (RFC 3629), 0 if it is not one. */
static u32 utf8_length(const char *s, u32 left)
{
	const u8 *p = (const u8 *)s;
	const u32 n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n > left)
		return 0;
	for (u32 i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

/* One escape after the backslash. Returns NULL or what is wrong. */
static const char *lex_escape(struct lexer *l, char *ret)
{
	static const char from[] = "ntr\"\\abfve'", to[] = "\n\t\r\"\\\a\b\f\v\033'";
	const char c = at(l, 0);
	const char *simple = c ? strchr(from, c) : NULL;
	const u32 begin = l->pos;
	u32 v = 0, n = 0;

	if (simple) {
		*ret = to[simple - from];
		l->pos++;
		return NULL;
	}
	if (c >= '0' && c <= '7') {
		for (; n < 3 && at(l, 0) >= '0' && at(l, 0) <= '7'; n++, l->pos++)
			v = v * 8 + (u32)(at(l, 0) - '0');
		if (v > UINT8_MAX)
			return arena_printf(l->arena, "octal escape sequence out of range '\\%.*s'",
					    (int)n, l->text + begin);
	} else if ((c | 0x20) == 'x') {
		l->pos++;
		for (; n < 2 && digit_value(at(l, 0)) < 16; n++, l->pos++)
			v = v * 16 + (u32)digit_value(at(l, 0));
		if (!n)
			return "invalid hex escape sequence";
	} else {
		l->pos += l->pos < l->end && c != '\n';
		return arena_printf(
			l->arena, "invalid escape character '\\%.*s'",
			c && c != '\n' ? (int)MAX(utf8_length(l->text + begin, l->end - begin), 1u)
				       : 0,
			l->text + begin);
	}
	*ret = (char)v;
	return NULL;
}

static struct token lex_string(struct lexer *l)
{
	const u32 begin = l->pos++;
	struct strbuf text = STRBUF_INIT;
	struct token t = {.kind = TOKEN_STRING};

	for (;;) {
		const u32 here = l->pos;
		const char c = at(l, 0);
		const u32 n = l->pos < l->end ? utf8_length(l->text + here, l->end - here) : 0;

		if (l->pos >= l->end || c == '\n') {
			t = lex_error(l, span_from(l, begin),
				      "unterminated string: no '\"' before the end of the line");
			break;
		}
		if (c == '"') {
			l->pos++;
			t.span = span_from(l, begin);
			t.len = (u32)text.len;
			t.text = arena_text(l->arena, text.data, text.len); /* "\0" is a byte */
			break;
		}
		if (!n && l->is_header) {
			l->pos++;
			continue;
		}
		if (!n) {
			l->pos++;
			t = lex_error(
				l, span_from(l, here),
				arena_printf(l->arena, "byte 0x%02x is not valid UTF-8", (u8)c));
			break;
		}
		if (c == '\\' && at(l, 1) == '\n') {
			l->pos += 2;
		} else if (c == '\\') {
			char resolved = 0;
			const char *wrong;

			l->pos++;
			wrong = lex_escape(l, &resolved);
			if (wrong && !l->is_header) {
				t = lex_error(l, span_from(l, here), wrong);
				break;
			}
			strbuf_addch(&text, resolved);
		} else {
			strbuf_add(&text, l->text + here, n);
			l->pos += n;
		}
	}
	strbuf_release(&text);
	return t;
}

/* 'a' in C definitions and macros. */
static struct token lex_character(struct lexer *l)
{
	const u32 begin = l->pos++;
	char c = at(l, 0);

	if (c == '\\') {
		const char *wrong;

		l->pos++;
		wrong = lex_escape(l, &c);
		if (wrong)
			return lex_error(l, span_from(l, begin), wrong);
	} else if (l->pos < l->end) {
		l->pos++;
	}
	if (at(l, 0) != '\'')
		return lex_error(l, span_from(l, begin), "unterminated character constant");
	l->pos++;
	return (struct token){.kind = TOKEN_INTEGER,
			      .span = span_from(l, begin),
			      .value = (u64)(s64)(s8)c,
			      .text = "0"};
}

/* --- $ and @ --- */

static u32 name_length(const struct lexer *l, u32 offset)
{
	u32 n = 0;

	if (!lex_is_name_start(at(l, offset)))
		return 0;
	while (lex_is_name(at(l, offset + n)))
		n++;
	return n;
}

static struct token lex_positional(struct lexer *l, u32 begin, bool braces)
{
	struct token t = {.kind = TOKEN_POSITIONAL};
	bool overflowed = false;

	while (lex_is_digit(at(l, 0))) {
		overflowed |= __builtin_mul_overflow(t.value, 10u, &t.value) ||
			      __builtin_add_overflow(t.value, (u64)(at(l, 0) - '0'), &t.value);
		l->pos++;
	}
	t.text = arena_strndup(l->arena, l->text + begin, l->pos - begin);
	if (braces && at(l, 0) != '}') {
		l->pos++;
		return lex_error(l, span_from(l, begin), "expected '}' after the number in ${...}");
	}
	l->pos += braces;
	t.span = span_from(l, begin);
	if (!t.value || overflowed || t.value > INT64_MAX)
		return lex_error(l, t.span,
				 arena_printf(l->arena,
					      "param %s is out of integer range [1, %" PRId64 "]",
					      t.text, INT64_MAX));
	return t;
}

static struct token lex_dollar(struct lexer *l)
{
	const u32 begin = l->pos++;
	const u32 extra = at(l, 0) == '$'; /* $$name: a variable of the traced program */
	const bool braces = at(l, 0) == '{';
	const u32 n = name_length(l, extra);

	if (n) {
		l->pos += extra + n;
		return (struct token){
			.kind = TOKEN_VARIABLE,
			.span = span_from(l, begin),
			.len = extra + n,
			.text = arena_strndup(l->arena, l->text + begin + 1, extra + n)};
	}
	if (at(l, 0) == '#' || (braces && at(l, 1) == '#' && at(l, 2) == '}')) {
		l->pos += braces ? 3 : 1;
		return (struct token){.kind = TOKEN_COUNT, .span = span_from(l, begin)};
	}
	if (lex_is_digit(at(l, braces))) {
		l->pos += braces;
		return lex_positional(l, begin, braces);
	}
	return lex_error(l, (struct span){begin, begin + 1, l->file},
			 "expected identifier after '$'");
}

/* --- all of them --- */

static const char punctuators[][4] = {
	"<<=", ">>=", "...", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "->",
	"+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "<<", ">>", "..", "##",
};

static struct token lex_punctuator(struct lexer *l)
{
	const u32 begin = l->pos;
	const u8 c = (u8)at(l, 0);
	struct token t = {.kind = TOKEN_PUNCT};

	for (size_t i = 0; i < ARRAY_SIZE(punctuators); i++) {
		const u32 n = (u32)strlen(punctuators[i]);

		if (l->end - l->pos < n || memcmp(l->text + l->pos, punctuators[i], n) != 0)
			continue;
		l->pos += n;
		t.punct =
			PUNCT3(punctuators[i][0], punctuators[i][1], n > 2 ? punctuators[i][2] : 0);
		t.span = span_from(l, begin);
		return t;
	}
	l->pos++;
	if (c && c < 0x80 && strchr("+-*/%&|^~!<>=?:;,.()[]{}#", c)) {
		t.punct = c;
		t.span = span_from(l, begin);
		return t;
	}
	if (c >= 0x80) {
		const u32 n = utf8_length(l->text + begin, l->end - begin);

		if (!n)
			return lex_error(
				l, span_from(l, begin),
				arena_printf(l->arena, "byte 0x%02x is not valid UTF-8", c));
		l->pos = begin + n;
	}
	if (c < 0x20 || c == 0x7f)
		return lex_error(l, span_from(l, begin),
				 arena_printf(l->arena, "unexpected byte 0x%02x", c));
	return lex_error(l, span_from(l, begin),
			 arena_printf(l->arena, "unexpected character '%.*s'",
				      (int)(l->pos - begin), l->text + begin));
}

/* A character that begins no token: a token by itself. */
static struct token lex_header_character(struct lexer *l)
{
	const u32 begin = l->pos++;

	if (l->text[begin] == '\'') { /* to the closing one, on this line */
		while (at(l, 0) && at(l, 0) != '\n' && at(l, 0) != '\'')
			l->pos += at(l, 0) == '\\' && at(l, 1) ? 2 : 1;
		l->pos += at(l, 0) == '\'';
	}
	return (struct token){.kind = TOKEN_OTHER,
			      .span = span_from(l, begin),
			      .text = arena_strndup(l->arena, l->text + begin, l->pos - begin)};
}

/* 'a', '\n': what is longer ('ab') is not a number. */
static bool is_plain_character(const struct lexer *l)
{
	return at(l, 1) == '\\' ? at(l, 3) == '\'' || lex_is_name(at(l, 3))
				: at(l, 1) != '\'' && at(l, 2) == '\'';
}

static struct token lex_one(struct lexer *l)
{
	const u32 begin = l->pos;
	const char c = at(l, 0);
	struct token t = {.span = {begin, begin, l->file}};

	if (l->pos >= l->end)
		return t;
	if (l->is_header && lex_is_digit(c))
		return lex_header_number(l);
	if (l->is_header &&
	    ((c == '\'' && !is_plain_character(l)) || !c || c == '$' || c == '@' ||
	     (c != '\'' && c != '"' && !lex_is_name(c) && !strchr("+-*/%&|^~!<>=?:;,.()[]{}#", c))))
		return lex_header_character(l);
	if (lex_is_digit(c))
		return lex_integer(l);
	if (c == '"')
		return lex_string(l);
	if (c == '$')
		return lex_dollar(l);
	if (c == '\'')
		return lex_character(l);
	if (lex_is_name_start(c) || c == '@') {
		t.kind = c == '@' ? TOKEN_MAP : TOKEN_NAME;
		l->pos += c == '@';
		t.len = name_length(l, 0);
		t.text = arena_strndup(l->arena, l->text + l->pos, t.len);
		l->pos += t.len;
		t.span = span_from(l, begin);
		return t;
	}
	return lex_punctuator(l);
}

struct token lex_next(struct lexer *l)
{
	const u32 before = l->pos;
	struct token t = {.kind = TOKEN_ERROR};
	bool line_start, space;

	if (!lex_skip_layout(l))
		return t;
	line_start = l->line_start;
	space = l->pos != before;
	l->line_start = false;
	t = lex_one(l);
	t.line_start = line_start;
	t.space_before = space;
	return t;
}

const char *token_describe(struct arena *arena, const struct token *t)
{
	char punct[4] = {(char)t->punct, (char)(t->punct >> 8), (char)(t->punct >> 16), 0};

	switch (t->kind) {
	case TOKEN_END:
		return "end of file";
	case TOKEN_NAME:
	case TOKEN_OTHER:
		return arena_printf(arena, "'%s'", t->text);
	case TOKEN_INTEGER:
		return arena_printf(arena, "integer %s", t->text);
	case TOKEN_STRING:
		return "string";
	case TOKEN_VARIABLE:
		return arena_printf(arena, "variable $%s", t->text);
	case TOKEN_MAP:
		return arena_printf(arena, "map @%s", t->text);
	case TOKEN_POSITIONAL:
		return arena_printf(arena, "positional parameter $%" PRIu64, t->value);
	case TOKEN_COUNT:
		return "$#";
	case TOKEN_PUNCT:
		return arena_printf(arena, "'%s'", punct);
	case TOKEN_ERROR:
		break;
	}
	return "invalid text";
}
