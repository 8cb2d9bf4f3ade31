/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Token access of the parser: look-ahead, expectations, and messages for unexpected tokens. */
#include "lang/syntax/internal.h"
#include "base/nearest.h"

const struct token *parse_peek(struct parser *p, u32 ahead)
{
	while (!p->failed && p->at + ahead >= p->tokens.len) {
		const struct token t = preprocess_next(&p->pp);

		if (t.kind == TOKEN_ERROR)
			p->failed = true;
		vector_push(&p->tokens, arena_memdup(p->arena, &t, sizeof(t)));
	}
	if (p->failed)
		return &p->failed_token;
	return p->tokens.items[p->at + ahead];
}

struct token parse_next(struct parser *p)
{
	const struct token t = *parse_peek(p, 0);

	if (t.kind == TOKEN_END)
		parse_unexpected(p, "more"); /* never advances beyond the end */
	if (!p->failed)
		p->at++;
	return t;
}

bool parse_is(struct parser *p, u32 punct)
{
	const struct token *t = parse_peek(p, 0);

	return t->kind == TOKEN_PUNCT && t->punct == punct;
}

bool parse_is_name(struct parser *p, const char *word)
{
	const struct token *t = parse_peek(p, 0);

	return t->kind == TOKEN_NAME && str_eq(t->text, word);
}

bool parse_accept(struct parser *p, u32 punct)
{
	const bool yes = parse_is(p, punct);

	if (yes)
		p->at++;
	return yes;
}

bool parse_accept_name(struct parser *p, const char *word)
{
	const bool yes = parse_is_name(p, word);

	if (yes)
		p->at++;
	return yes;
}

void parse_error(struct parser *p, struct span at, const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT;
	va_list ap;

	if (p->failed)
		return;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	diag_error(p->diag, at, "%s", text.data);
	strbuf_release(&text);
	p->failed = true;
}

/* If the script ends early, the message is about the construct begun last. */
static void hint_open(struct parser *p)
{
	const struct open_bracket *o = &p->open[p->nopen - 1];
	u32 line, column;

	diag_place(&p->diag->sources.items[o->span.file], o->span.begin, &line, &column);
	diag_hint(p->diag, "the '%c' of line %u, column %u is still open", o->bracket, line,
		  column);
}

static bool is_type_word(const char *word)
{
	static const char *const words[] = {"int",  "char",   "long",	"short", "unsigned",
					    "bool", "string", "struct", "auto",	 "var"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_eq(words[i], word))
			return true;
	return str_starts(word, "int") || str_starts(word, "uint");
}

/*
 * `whlie (x) {`, `fro ($i : ...`: the word before the parentheses, if it is nearly one of the
 * language's. False: it is not.
 */
static bool hint_keyword(struct parser *p, const struct token *t, const char *expected)
{
	static const char *const words[] = {"if", "while", "for", "unroll", "else"};
	const bool at_body = t->kind == TOKEN_PUNCT && t->punct == '{' && strstr(expected, "';'"),
		   at_range = t->kind == TOKEN_PUNCT && t->punct == ':' && strstr(expected, "')'");
	const size_t hints = p->diag->messages.len;
	size_t i = p->at;
	int depth = 0;

	if (!at_body && !at_range)
		return false;
	depth = at_range; /* within its parentheses */
	while (i-- > 0) {
		const struct token *before = p->tokens.items[i];

		if (before->kind == TOKEN_PUNCT)
			depth += before->punct == ')' ? 1 : before->punct == '(' ? -1 : 0;
		if (depth <= 0 && before->kind == TOKEN_NAME) {
			for (size_t w = 0; w < ARRAY_SIZE(words); w++)
				if (str_eq(words[w], before->text))
					return false;
			diag_hint_nearest(p->diag, before->text, words, ARRAY_SIZE(words));
			break;
		}
		if (depth <= 0 && !(before->kind == TOKEN_PUNCT && before->punct == '('))
			break;
	}
	return p->diag->messages.len > hints;
}

/* Habits of other languages. */
static void hint_habit(struct parser *p, const struct token *t, const char *expected)
{
	const struct token *before = p->at ? p->tokens.items[p->at - 1] : NULL;

	if (t->kind == TOKEN_PUNCT && t->punct == '=' && strstr(expected, "')'"))
		diag_hint(p->diag, "two values are compared by ==");
	else if (t->kind == TOKEN_STRING && before && before->kind == TOKEN_NAME &&
		 strstr(expected, "';'"))
		diag_hint(p->diag, "arguments go in parentheses: %s(...)", before->text);
	else if (t->kind == TOKEN_NAME && before && before->kind == TOKEN_NAME &&
		 is_type_word(before->text))
		diag_hint(p->diag, "a variable is declared by let: let $%s = ...", t->text);
}

void parse_unexpected(struct parser *p, const char *expected)
{
	const struct token t = *parse_peek(p, 0);

	if (p->failed)
		return;
	parse_error(p, t.span, "syntax error, unexpected %s, expected %s",
		    token_describe(p->arena, &t), expected);
	if (t.kind == TOKEN_END && p->nopen)
		hint_open(p);
	else if (!hint_keyword(p, &t, expected))
		hint_habit(p, &t, expected);
}

bool parse_expect(struct parser *p, u32 punct)
{
	const struct token wanted = {.kind = TOKEN_PUNCT, .punct = punct};

	if (parse_accept(p, punct))
		return true;
	parse_unexpected(p, token_describe(p->arena, &wanted));
	return false;
}

bool parse_open(struct parser *p, char bracket)
{
	const struct token t = *parse_peek(p, 0);

	if (!parse_expect(p, (u8)bracket))
		return false;
	if (p->nopen >= PARSE_MAX_OPEN) {
		parse_error(p, t.span, "syntax error, brackets are nested too deeply (limit %d)",
			    LANG_MAX_DEPTH);
		return false;
	}
	p->open[p->nopen++] = (struct open_bracket){bracket, t.span};
	return true;
}

bool parse_close(struct parser *p, char bracket)
{
	if (!parse_expect(p, (u8)bracket))
		return false;
	p->nopen--;
	return true;
}

struct token parse_expect_kind(struct parser *p, enum token_kind kind, const char *what)
{
	if (parse_peek(p, 0)->kind != kind)
		parse_unexpected(p, what);
	return parse_next(p);
}

struct span parse_span_since(struct parser *p, struct span begin)
{
	if (p->at && !p->failed) {
		const struct token *last = p->tokens.items[p->at - 1];

		if (last->span.file == begin.file && last->span.end > begin.begin)
			begin.end = last->span.end;
	}
	return begin;
}

bool parse_enter(struct parser *p)
{
	if (p->depth >= LANG_MAX_DEPTH)
		parse_error(p, parse_peek(p, 0)->span, "syntax error, nested too deeply (limit %d)",
			    LANG_MAX_DEPTH);
	if (p->failed)
		return false;
	p->depth++;
	return true;
}

void parse_leave(struct parser *p)
{
	p->depth--;
}

void *parse_list_done(struct parser *p, const void *items, size_t bytes)
{
	return bytes ? arena_memdup(p->arena, items, bytes) : NULL;
}

struct lexer *parse_as_text(struct parser *p)
{
	if (p->at < p->tokens.len && !p->failed)
		preprocess_rewind(&p->pp, p->tokens.items[p->at]);
	p->tokens.len = p->at = 0;
	return preprocess_file(&p->pp);
}
