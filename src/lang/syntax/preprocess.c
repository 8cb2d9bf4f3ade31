/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/syntax/preprocess.h"

#include "lang/builtin/builtin.h"
#include "lang/syntax/constants.h"
#include "lang/syntax/preprocess_macro.h"

static void fail(struct preprocessor *pp)
{
	pp->failed = true;
}

struct lexer *preprocess_file(struct preprocessor *pp)
{
	return &vector_last(&pp->files);
}

void preprocess_init(struct preprocessor *pp, struct arena *arena, struct diag *diag, u16 file,
		     const struct parse_options *options)
{
	struct lexer l = lexer_of(arena, diag, file);

	*pp = (struct preprocessor){.arena = arena, .diag = diag, .options = options};
	if (l.end >= 2 && l.text[0] == '#' && l.text[1] == '!')
		while (l.pos < l.end && l.text[l.pos] != '\n')
			l.pos++;
	vector_push(&pp->files, l);
	if (options->as_written)
		return;
	pp_predefine(pp);
	if (options->have_btf)
		pp_define_integer(pp, "BPFTRACE_HAVE_BTF", 1);
}

void preprocess_release(struct preprocessor *pp)
{
	vector_free(&pp->files);
	vector_free(&pp->pending);
	vector_free(&pp->conditionals);
	vector_free(&pp->texts); /* the texts themselves are diag sources now */
	preprocess_include_release(pp);
	hashmap_release(&pp->macros);
}

/* --- directives --- */

/* End of the logical line: the newline that is neither continued nor in a comment. */
static u32 line_end(const struct lexer *l)
{
	u32 i = l->pos;

	while (i < l->end && l->text[i] != '\n') {
		const char c = l->text[i], next = i + 1 < l->end ? l->text[i + 1] : '\0';

		if (c == '\\' && next) {
			i += next == '\r' && i + 2 < l->end && l->text[i + 2] == '\n' ? 3 : 2;
		} else if (c == '"') {
			for (i++; i < l->end && l->text[i] != '"' && l->text[i] != '\n'; i++)
				i += l->text[i] == '\\' && i + 1 < l->end;
			i += i < l->end && l->text[i] == '"';
		} else if (c == '/' && next == '*') {
			const char *close =
				memmem(l->text + i + 2, l->end - MIN(l->end, i + 2), "*/", 2);

			i = close ? (u32)(close - l->text) + 2 : l->end;
		} else if (c == '/' && next == '/') {
			while (i < l->end && l->text[i] != '\n')
				i++;
		} else {
			i++;
		}
	}
	return i;
}

u32 preprocess_line_end(const char *text, u32 pos, u32 end)
{
	const struct lexer l = {.text = text, .pos = pos, .end = end};

	return line_end(&l);
}

static bool read_line(struct preprocessor *pp, struct lexer *line, struct token_list *ret)
{
	for (;;) {
		const struct token t = lex_next(line);

		if (t.kind == TOKEN_ERROR)
			fail(pp);
		if (t.kind == TOKEN_END || t.kind == TOKEN_ERROR)
			return !pp->failed;
		vector_push(ret, t);
	}
}

static bool defined_name(void *arg, const char *name, s64 *ret)
{
	struct preprocessor *pp = arg;

	if (preprocess_is_system(pp, preprocess_file(pp)->file) || !constant_find(name, ret))
		*ret = 0; /* as in C */
	return true;
}

/* `defined X`, `defined(X)` -> 0 or 1; the rest substituted. */
static bool resolve_defined(struct preprocessor *pp, const struct token_list *in,
			    struct token_list *out)
{
	for (size_t i = 0; i < in->len; i++) {
		struct token t = in->items[i];
		const bool parens = i + 1 < in->len && in->items[i + 1].punct == '(';
		const size_t at = i + 1 + parens;

		if (t.kind != TOKEN_NAME || !str_eq(t.text, "defined")) {
			vector_push(out, t);
			continue;
		}
		if (at + parens >= in->len || in->items[at].kind != TOKEN_NAME ||
		    (parens && in->items[at + 1].punct != ')')) {
			diag_error(pp->diag, t.span,
				   "syntax error, expected a name after 'defined'");
			return false;
		}
		t.kind = TOKEN_INTEGER;
		t.value = hashmap_gets(&pp->macros, in->items[at].text) != NULL;
		t.text = t.value ? "1" : "0";
		vector_push(out, t);
		i = at + parens;
	}
	return true;
}

static bool condition(struct preprocessor *pp, struct span at, struct lexer *line)
{
	struct token_list words = {0}, resolved = {0}, expanded = {0};
	s64 value = 0;

	if (!read_line(pp, line, &words) || !resolve_defined(pp, &words, &resolved) ||
	    pp_expand(pp, &resolved, &expanded) < 0 ||
	    constant_expression(pp->arena, pp->diag, expanded.items, expanded.len, at, true,
				defined_name, pp, &value) < 0)
		fail(pp);
	vector_free(&words);
	vector_free(&resolved);
	vector_free(&expanded);
	return !pp->failed && value;
}

static bool condition_defined(struct preprocessor *pp, struct span at, struct lexer *line,
			      bool wanted)
{
	const struct token t = lex_next(line);

	if (t.kind != TOKEN_NAME) {
		if (t.kind != TOKEN_ERROR)
			diag_error(pp->diag, at,
				   "syntax error, expected the name of a macro after #%s",
				   wanted ? "ifdef" : "ifndef");
		fail(pp);
		return false;
	}
	return (hashmap_gets(&pp->macros, t.text) != NULL) == wanted;
}

/* Skips unread text up to the '#' of the next directive. False at the end of the file. */
static bool next_directive(struct lexer *l)
{
	while (l->pos < l->end) {
		while (l->pos < l->end && lex_is_blank(l->text[l->pos]))
			l->pos++;
		if (l->pos < l->end && l->text[l->pos] == '#')
			return true;
		l->pos = line_end(l);
	}
	return false;
}

static struct lexer directive_line(struct lexer *l, struct token *ret_word)
{
	struct lexer line = *l;

	line.end = line_end(l);
	line.pos++; /* '#' */
	*ret_word = lex_next(&line);
	return line;
}

static bool is_word(const struct token *t, const char *word)
{
	return t->kind == TOKEN_NAME && str_eq(t->text, word);
}

/* Skips groups until one is to be read or #endif. The lexer stands after the line of the last
 * #if/#elif. */
static void skip_groups(struct preprocessor *pp)
{
	struct lexer *l = preprocess_file(pp);
	u32 nested = 0;

	while (!pp->failed) {
		struct conditional *c = &vector_last(&pp->conditionals);
		struct token word;
		struct lexer line;

		if (!next_directive(l)) {
			diag_error(pp->diag, c->span,
				   "unterminated #if: no #endif before the end of file");
			fail(pp);
			return;
		}
		line = directive_line(l, &word);
		l->pos = line.end;
		if (is_word(&word, "if") || is_word(&word, "ifdef") || is_word(&word, "ifndef")) {
			nested++;
		} else if (is_word(&word, "endif")) {
			if (!nested--) {
				pp->conditionals.len--;
				return;
			}
		} else if (!nested && (is_word(&word, "else") || is_word(&word, "elif"))) {
			if (c->in_else) {
				diag_error(pp->diag, word.span, "#%s after #else", word.text);
				fail(pp);
				return;
			}
			c->in_else = is_word(&word, "else");
			if (!c->taken && (c->in_else || condition(pp, word.span, &line))) {
				c->taken = true;
				return;
			}
		}
	}
}

static void begin_conditional(struct preprocessor *pp, struct span at, bool take)
{
	if (pp->failed)
		return;
	if (pp->conditionals.len >= PREPROCESS_MAX_NESTING) {
		diag_error(pp->diag, at, "#if is nested too deeply (limit %d)",
			   PREPROCESS_MAX_NESTING);
		fail(pp);
		return;
	}
	vector_push(&pp->conditionals, (struct conditional){.span = at, .taken = take});
	if (!take)
		skip_groups(pp);
}

/* #else or #elif at the end of a group that was read. */
static void end_group(struct preprocessor *pp, const struct token *word, bool is_endif)
{
	struct conditional *c = pp->conditionals.len ? &vector_last(&pp->conditionals) : NULL;

	if (!c || c->span.file != word->span.file || (c->in_else && !is_endif)) {
		diag_error(pp->diag, word->span, c ? "#%s after #else" : "#%s without #if",
			   word->text);
		fail(pp);
		return;
	}
	if (is_endif) {
		pp->conditionals.len--;
		return;
	}
	c->in_else = is_word(word, "else");
	skip_groups(pp);
}

/* --- #include --- */

static void parse_include(struct preprocessor *pp, struct span at, struct lexer *line, bool next)
{
	u32 begin, end;
	char close;

	while (line->pos < line->end && lex_is_blank(line->text[line->pos]))
		line->pos++;
	close = line->pos >= line->end	       ? '\0'
		: line->text[line->pos] == '<' ? '>'
		: line->text[line->pos] == '"' ? '"'
					       : '\0';
	begin = end = line->pos + 1;
	while (end < line->end && line->text[end] != close)
		end++;
	if (!close || end >= line->end || end == begin) {
		diag_error(pp->diag, at,
			   "syntax error, expected \"file\" or <file> after #include");
		fail(pp);
		return;
	}
	at.end = end + 1;
	preprocess_include(pp, at, arena_strndup(pp->arena, line->text + begin, end - begin),
			   close == '"', next);
}

/* One directive; the lexer stands at its '#'. */
static void directive(struct preprocessor *pp)
{
	struct lexer *l = preprocess_file(pp), line;
	const u32 hash = l->pos;
	struct token word;
	struct span at;

	if (pp->options->as_written) {
		l->pos = line_end(l);
		return;
	}
	line = directive_line(l, &word);
	l->pos = line.end;
	l->line_start = true;
	at = (struct span){hash, word.span.end, l->file};
	if (word.kind == TOKEN_END)
		return; /* a lone '#' */
	if (is_word(&word, "define"))
		pp_define(pp, at, &line);
	else if (is_word(&word, "undef"))
		pp_undef(pp, at, &line);
	else if (is_word(&word, "include") || is_word(&word, "include_next"))
		parse_include(pp, at, &line, word.text[7] != '\0');
	else if (is_word(&word, "if"))
		begin_conditional(pp, at, condition(pp, at, &line));
	else if (is_word(&word, "ifdef") || is_word(&word, "ifndef"))
		begin_conditional(pp, at, condition_defined(pp, at, &line, word.text[2] == 'd'));
	else if (is_word(&word, "else") || is_word(&word, "elif") || is_word(&word, "endif"))
		end_group(pp, &word, is_word(&word, "endif"));
	else if (is_word(&word, "error") || is_word(&word, "warning")) {
		const int n = (int)(line.end - line.pos);

		if (word.text[0] == 'e') {
			diag_error(pp->diag, at, "#error%.*s", n, line.text + line.pos);
			fail(pp);
		} else if (!line.is_header) {
			diag_warning(pp->diag, at, "#warning%.*s", n, line.text + line.pos);
		}
	} else if (is_word(&word, "pragma")) {
		while (line.pos < line.end && lex_is_blank(line.text[line.pos]))
			line.pos++;
		if (str_starts(line.text + line.pos, "once"))
			preprocess_once(pp);
	} else if (!is_word(&word, "line") && !line.is_header) {
		diag_error(pp->diag, at, "syntax error, unknown directive '#%s'",
			   word.kind == TOKEN_NAME ? word.text : "");
		fail(pp);
	}
}

/* --- the stream --- */

bool preprocess_skip_layout(struct preprocessor *pp)
{
	while (!pp->failed) {
		struct lexer *l = preprocess_file(pp);

		if (!lex_skip_layout(l)) {
			fail(pp);
		} else if (l->pos < l->end && l->text[l->pos] == '#' && l->line_start) {
			directive(pp);
		} else if (l->pos < l->end) {
			return true;
		} else if (pp->conditionals.len &&
			   vector_last(&pp->conditionals).span.file == l->file) {
			diag_error(pp->diag, vector_last(&pp->conditionals).span,
				   "unterminated #if: no #endif before the end of file");
			fail(pp);
		} else if (pp->files.len > 1) {
			pp->files.len--;
		} else {
			return false;
		}
	}
	return false;
}

static struct token next_unexpanded(struct preprocessor *pp)
{
	struct lexer *l;
	struct token t;

	if (pp->delivered < pp->pending.len)
		return pp->pending.items[pp->delivered++];
	if (!preprocess_skip_layout(pp)) {
		l = preprocess_file(pp);
		return (struct token){.kind = pp->failed ? TOKEN_ERROR : TOKEN_END,
				      .span = {l->end, l->end, l->file}};
	}
	t = lex_next(preprocess_file(pp));
	if (t.kind == TOKEN_ERROR)
		fail(pp);
	return t;
}

/* After the name of a function-like macro: its arguments, if the next token is '('. */
static void read_call(struct preprocessor *pp, struct token_list *use)
{
	const struct token name = use->items[0], open = next_unexpanded(pp);
	int depth = 1;

	vector_push(use, open);
	while (open.kind == TOKEN_PUNCT && open.punct == '(' && depth && !pp->failed) {
		const struct token t = next_unexpanded(pp);

		if (t.kind == TOKEN_END) {
			diag_error(pp->diag, name.span, "unterminated use of macro '%s'",
				   name.text);
			fail(pp);
		}
		if (t.kind == TOKEN_PUNCT)
			depth += t.punct == '(' ? 1 : t.punct == ')' ? -1 : 0;
		vector_push(use, t);
	}
}

/* Is the next token '('? If not, the name of a function-like macro is an ordinary name. */
static bool call_follows(struct preprocessor *pp)
{
	struct lexer l = *preprocess_file(pp);

	return lex_skip_layout(&l) && l.pos < l.end && l.text[l.pos] == '(';
}

/* Does the substitution end with the name of another macro, whose arguments follow in the text? */
static bool ends_in_macro(struct preprocessor *pp)
{
	const struct token *t = pp->pending.len ? &vector_last(&pp->pending) : NULL;
	const struct pp_macro *m =
		t && t->kind == TOKEN_NAME && !t->is_painted ? pp_macro(pp, t->text) : NULL;

	return m && m->is_function && call_follows(pp);
}

/* A macro's name in the file: the substituted tokens go to pending. */
static int substitute(struct preprocessor *pp, const struct token *name, const struct pp_macro *m)
{
	struct token_list use = {0};
	int r;

	vector_push(&use, *name);
	if (m->is_function)
		read_call(pp, &use);
	pp->pending.len = pp->delivered = 0;
	r = pp->failed ? -EINVAL : pp_expand(pp, &use, &pp->pending);
	while (!r && ends_in_macro(pp)) { /* whose arguments follow */
		use.len = 0;
		vector_push(&use, pp->pending.items[--pp->pending.len]);
		read_call(pp, &use);
		r = pp->failed ? -EINVAL : pp_expand(pp, &use, &pp->pending);
	}
	for (size_t i = 0; i < pp->pending.len; i++)
		pp->pending.items[i].is_painted = true; /* already looked at */
	if (r < 0)
		fail(pp);
	vector_free(&use);
	return r;
}

/*
 * A system header must not redefine the language's own words (min, current, offsetof), nor names
 * that the script itself defines.
 */
static bool is_own_word(struct preprocessor *pp, const struct token *t, const struct pp_macro *m)
{
	static const char *const words[] = {"if",     "else",	"for",	  "while",    "unroll",
					    "return", "let",	"config", "import",   "macro",
					    "fn",     "sizeof", "typeof", "offsetof", "begin",
					    "end",    "struct", "union",  "enum"};

	if (!m->is_system || preprocess_is_system(pp, t->span.file))
		return false;
	if (pp->defines) {
		pp->defines = false;
		hashmap_puts(&pp->macros, t->text, NULL);
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_eq(words[i], t->text))
			return true;
	return builtin_find(t->text) != NULL;
}

struct token preprocess_next(struct preprocessor *pp)
{
	for (;;) {
		const struct token t = next_unexpanded(pp);
		const struct pp_macro *m;

		if (!pp->failed && t.kind != TOKEN_END)
			pp_count(pp, &t, "script is too large:");
		if (pp->failed)
			return (struct token){.kind = TOKEN_ERROR, .span = t.span};
		if (t.kind != TOKEN_NAME || t.is_painted || pp->is_raw)
			return t;
		m = pp_macro(pp, t.text);
		if (!m || is_own_word(pp, &t, m)) {
			pp->defines = str_eq(t.text, "macro") || str_eq(t.text, "fn");
			return t;
		}
		if (m->is_function && m->is_system && !call_follows(pp))
			return t;
		substitute(pp, &t, m);
	}
}

void preprocess_rewind(struct preprocessor *pp, const struct token *t)
{
	struct lexer *l = preprocess_file(pp);

	pp->pending.len = pp->delivered = 0;
	if (pp->failed || t->span.file != l->file)
		return;
	l->pos = MIN(t->span.begin, l->end);
	l->line_start = t->line_start;
}
