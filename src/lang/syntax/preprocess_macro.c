/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/syntax/preprocess_macro.h"

#include "lang/syntax/predefined.h"

/* The macros being expanded, innermost first. */
struct active {
	const struct pp_macro *macro;
	const struct active *outer;
	u32 depth;
};

static int expand(struct preprocessor *pp, const struct token *in, size_t n, struct token_list *out,
		  const struct active *active);

static void define(struct preprocessor *pp, struct pp_macro *m)
{
	void **place = hashmap_put(&pp->macros, m->name, strlen(m->name), NULL);

	*place = m;
}

void pp_define_integer(struct preprocessor *pp, const char *name, s64 value)
{
	struct pp_macro *m = arena_new(pp->arena, struct pp_macro);

	m->name = name;
	m->span = NO_SPAN;
	m->nbody = 1;
	m->body = arena_new(pp->arena, struct token);
	*m->body = (struct token){.kind = TOKEN_INTEGER,
				  .value = (u64)value,
				  .text = arena_printf(pp->arena, "%" PRId64, value)};
	define(pp, m);
}

static void syntax(struct preprocessor *pp, struct span at, const char *what)
{
	if (!pp->failed)
		diag_error(pp->diag, at, "syntax error, %s", what);
	pp->failed = true;
}

static bool is_punct(const struct token *t, u32 punct)
{
	return t->kind == TOKEN_PUNCT && t->punct == punct;
}

/* The parameters after '('; the ')' is consumed. */
static void read_params(struct preprocessor *pp, struct lexer *line, struct pp_macro *m)
{
	VECTOR(const char *) params = {0};
	struct token t = lex_next(line);

	while (t.kind == TOKEN_NAME || is_punct(&t, PUNCT3('.', '.', '.'))) {
		m->is_variadic = t.kind == TOKEN_PUNCT;
		vector_push(&params, m->is_variadic ? "__VA_ARGS__" : t.text);
		t = lex_next(line);
		if (!m->is_variadic && is_punct(&t, PUNCT3('.', '.', '.'))) { /* GNU: args... */
			m->is_variadic = true;
			t = lex_next(line);
		}
		if (m->is_variadic || t.kind != TOKEN_PUNCT || t.punct != ',')
			break;
		t = lex_next(line);
	}
	if (t.kind != TOKEN_PUNCT || t.punct != ')')
		syntax(pp, t.kind == TOKEN_END ? m->span : t.span,
		       "expected ')' after the parameters of a macro");
	m->nparams = (u32)params.len;
	m->params = arena_memdup(pp->arena, params.items, params.len * sizeof(*params.items));
	vector_free(&params);
}

static u32 find_param(const struct pp_macro *m, const struct token *t)
{
	if (t->kind == TOKEN_NAME)
		for (u32 i = 0; i < m->nparams; i++)
			if (str_eq(m->params[i], t->text))
				return i;
	return UINT32_MAX;
}

/* Checks that # precedes a parameter, and ## stands between two tokens. */
static void check_operators(struct preprocessor *pp, const struct pp_macro *m,
			    const struct token_list *body)
{
	for (size_t i = 0; i < body->len && !pp->failed; i++) {
		const struct token *t = &body->items[i];

		if (is_punct(t, PUNCT('#', '#')) && (!i || i + 1 == body->len))
			syntax(pp, t->span, "'##' at an end of a macro");
		if (m->is_function && is_punct(t, '#') &&
		    (i + 1 == body->len || find_param(m, t + 1) == UINT32_MAX))
			syntax(pp, t->span, "'#' is not followed by a macro parameter");
	}
}

static void read_body(struct preprocessor *pp, struct pp_macro *m)
{
	struct lexer line = m->unread;
	struct token_list body = {0};

	m->unread.text = NULL;
	while (!pp->failed) {
		const struct token t = lex_next(&line);

		if (t.kind == TOKEN_END)
			break;
		if (t.kind == TOKEN_ERROR)
			pp->failed = true;
		else
			vector_push(&body, t);
	}
	check_operators(pp, m, &body);
	m->nbody = (u32)body.len;
	m->body = arena_memdup(pp->arena, body.items, body.len * sizeof(*body.items));
	vector_free(&body);
}

void pp_define(struct preprocessor *pp, struct span at, struct lexer *line)
{
	struct pp_macro *m = arena_new(pp->arena, struct pp_macro);
	const struct token name = lex_next(line);

	if (name.kind != TOKEN_NAME) {
		syntax(pp, at, "expected a name after #define");
		return;
	}
	m->name = name.text;
	m->span = name.span;
	if (line->pos < line->end && line->text[line->pos] == '(') {
		line->pos++;
		m->is_function = true;
		read_params(pp, line, m);
	}
	m->unread = *line;
	m->is_system = line->is_header;
	if (!m->is_system)
		read_body(pp, m);
	if (!pp->failed)
		define(pp, m);
}

void pp_predefine(struct preprocessor *pp)
{
	for (const struct predefined_macro *row = predefined_macros; row->name; row++) {
		struct pp_macro *m = arena_new(pp->arena, struct pp_macro);
		const size_t n = strcspn(row->name, "(");
		struct lexer params = {.arena = pp->arena,
				       .diag = pp->diag,
				       .text = row->name,
				       .pos = (u32)n + 1,
				       .end = (u32)strlen(row->name),
				       .is_header = true};

		m->name = row->name[n] ? arena_strndup(pp->arena, row->name, n) : row->name;
		m->span = NO_SPAN;
		m->is_system = true;
		m->is_function = row->name[n] == '(';
		if (m->is_function)
			read_params(pp, &params, m);
		m->unread = (struct lexer){.arena = pp->arena,
					   .diag = pp->diag,
					   .text = row->text,
					   .end = (u32)strlen(row->text),
					   .is_header = true};
		define(pp, m);
	}
}

const struct pp_macro *pp_macro(struct preprocessor *pp, const char *name)
{
	struct pp_macro *m = hashmap_gets(&pp->macros, name);

	if (m && m->unread.text)
		read_body(pp, m);
	return m;
}

void pp_undef(struct preprocessor *pp, struct span at, struct lexer *line)
{
	const struct token name = lex_next(line);

	if (name.kind != TOKEN_NAME)
		syntax(pp, at, "expected a name after #undef");
	else if (hashmap_gets(&pp->macros, name.text))
		hashmap_puts(&pp->macros, name.text, NULL);
}

/* --- substitution --- */

static int emit(struct preprocessor *pp, struct token_list *out, const struct token *t)
{
	pp_count(pp, t, "macros expand to");
	if (pp->failed)
		return -EINVAL;
	vector_push(out, *t);
	return 0;
}

void pp_count(struct preprocessor *pp, const struct token *t, const char *what)
{
	const bool is_system = preprocess_is_system(pp, t->span.file);
	u32 *count = is_system ? &pp->system_tokens : &pp->tokens;
	const u32 limit = is_system ? PREPROCESS_MAX_SYSTEM_TOKENS : LANG_MAX_TOKENS;

	if (++*count <= limit)
		return;
	diag_error(pp->diag, t->span, "%s more than %u tokens", what, limit);
	pp->failed = true;
}

struct argument {
	size_t begin, end; /* of the tokens of the use */
};

typedef VECTOR(struct argument) argument_list;

/* Splits the arguments of a use; in[at] is the '('. Returns the index after ')', 0 if it is
 * missing. */
static size_t split_arguments(const struct pp_macro *m, const struct token *in, size_t at, size_t n,
			      argument_list *ret)
{
	size_t begin = at + 1, i;
	int depth = 0;

	for (i = at; i < n; i++) {
		const u32 p = in[i].kind == TOKEN_PUNCT ? in[i].punct : 0;

		depth += p == '(' ? 1 : p == ')' ? -1 : 0;
		if ((p == ')' && !depth) ||
		    (p == ',' && depth == 1 && !(m->is_variadic && ret->len + 1 >= m->nparams))) {
			vector_push(ret, (struct argument){begin, i});
			begin = i + 1;
		}
		if (p == ')' && !depth)
			break;
	}
	if (i >= n)
		return 0;
	if (ret->len == 1 && ret->items[0].begin == ret->items[0].end && !m->nparams)
		ret->len = 0;
	if (m->is_variadic && ret->len + 1 == m->nparams)
		vector_push(ret, (struct argument){i, i});
	return i + 1;
}

/* The token's spelling, for # and ##. */
static void spell(struct strbuf *out, const struct token *t)
{
	switch (t->kind) {
	case TOKEN_PUNCT:
		for (u32 p = t->punct; p; p >>= 8)
			strbuf_addch(out, (char)p);
		break;
	case TOKEN_VARIABLE:
	case TOKEN_MAP:
		strbuf_addf(out, "%c%s", t->kind == TOKEN_MAP ? '@' : '$', t->text);
		break;
	case TOKEN_POSITIONAL:
		strbuf_addf(out, "$%" PRIu64, t->value);
		break;
	case TOKEN_COUNT:
		strbuf_addstr(out, "$#");
		break;
	case TOKEN_STRING:
		strbuf_addf(out, "\"%.*s\"", (int)t->len, t->text);
		break;
	default:
		strbuf_addstr(out, t->text ? t->text : "");
	}
}

static struct token stringize(struct preprocessor *pp, const struct token *in,
			      const struct argument *a, struct span use)
{
	struct token t = {.kind = TOKEN_STRING, .span = use};
	struct strbuf text = STRBUF_INIT;

	for (size_t i = a->begin; i < a->end; i++) {
		if (i > a->begin && in[i].span.begin > in[i - 1].span.end)
			strbuf_addch(&text, ' ');
		spell(&text, &in[i]);
	}
	t.text = arena_strndup(pp->arena, text.data ? text.data : "", text.len);
	t.len = (u32)text.len;
	strbuf_release(&text);
	return t;
}

/* Joins two tokens; refuses a result that is not a token. */
static int paste(struct preprocessor *pp, struct token *left, const struct token *right,
		 bool is_header)
{
	struct strbuf text = STRBUF_INIT;
	struct lexer l = {.arena = pp->arena,
			  .diag = pp->diag,
			  .file = left->span.file,
			  .is_header = is_header};
	struct token t;

	spell(&text, left);
	spell(&text, right);
	l.text = arena_strdup(pp->arena, text.data);
	l.end = (u32)text.len;
	strbuf_release(&text);
	t = lex_next(&l);
	t.span = left->span;
	if (t.kind == TOKEN_ERROR || t.kind == TOKEN_END || l.pos < l.end) {
		if (t.kind != TOKEN_ERROR)
			diag_error(pp->diag, left->span, "'##' makes no token of \"%s\"", l.text);
		pp->failed = true;
		return -EINVAL;
	}
	*left = t;
	return 0;
}

/* The argument unexpanded, for an operand of ##. */
static int emit_raw(struct preprocessor *pp, struct token_list *body, const struct token *in,
		    const struct argument *a)
{
	int r = 0;

	for (size_t i = a->begin; i < a->end && !r; i++)
		r = emit(pp, body, &in[i]);
	return r;
}

/* Appends the substitution of body[i]. */
static int put(struct preprocessor *pp, const struct pp_macro *m, u32 i, bool is_operand,
	       const struct token *in, const argument_list *args, struct token_list *body,
	       const struct active *active, struct span use)
{
	const u32 param = find_param(m, &m->body[i]);
	struct token t = m->body[i];

	t.span = use;
	t.line_start = false;
	if (param == UINT32_MAX)
		return emit(pp, body, &t);
	if (is_operand)
		return emit_raw(pp, body, in, &args->items[param]);
	return expand(pp, in + args->items[param].begin,
		      args->items[param].end - args->items[param].begin, body, active);
}

/* GNU: `, ## args` does not paste. */
static bool is_comma_before_rest(const struct pp_macro *m, u32 i, const struct token *before)
{
	return m->is_variadic && is_punct(before, ',') &&
	       find_param(m, &m->body[i]) == m->nparams - 1;
}

/* The body with arguments put in, then expanded itself. */
static int substitute(struct preprocessor *pp, const struct pp_macro *m, struct span use,
		      const struct token *in, const argument_list *args, struct token_list *out,
		      const struct active *active)
{
	const struct active self = {m, active, active ? active->depth + 1 : 1};
	struct token_list body = {0};
	bool has_left = false; /* the left operand of a ## gave a token */
	int r = 0;

	for (u32 i = 0; i < m->nbody && !r; i++) {
		const bool pastes = i && is_punct(&m->body[i - 1], PUNCT('#', '#'));
		const bool is_operand =
			pastes || (i + 1 < m->nbody && is_punct(&m->body[i + 1], PUNCT('#', '#')));
		const size_t before = body.len;

		if (is_punct(&m->body[i], PUNCT('#', '#')))
			continue;
		if (m->is_function && is_punct(&m->body[i], '#')) {
			const u32 param = find_param(m, &m->body[++i]);
			const struct token t = stringize(pp, in, &args->items[param], use);

			r = emit(pp, &body, &t);
			has_left = true;
			continue;
		}
		r = put(pp, m, i, is_operand, in, args, &body, active, use);
		if (pastes && has_left && is_comma_before_rest(m, i, &body.items[before - 1])) {
			if (body.len == before) /* GNU: nothing follows the comma */
				body.len--;
			continue;
		}
		if (!r && pastes && has_left && body.len > before) {
			r = paste(pp, &body.items[before - 1], &body.items[before], m->is_system);
			memmove(&body.items[before], &body.items[before + 1],
				(body.len - before - 1) * sizeof(*body.items));
			body.len--;
		}
		has_left = body.len > before || (pastes && has_left);
	}
	if (!r)
		r = expand(pp, body.items, body.len, out, &self);
	vector_free(&body);
	return r;
}

/* How often m is in the chain: 0 = not, 1 = innermost, 2 = further out. */
static int activity(const struct active *a, const struct pp_macro *m)
{
	if (a && a->macro == m)
		return 1;
	for (; a; a = a->outer)
		if (a->macro == m)
			return 2;
	return 0;
}

static int expand_use(struct preprocessor *pp, const struct pp_macro *m, const struct token *in,
		      size_t n, size_t *at, struct token_list *out, const struct active *active)
{
	const struct span use = in[*at].span;
	argument_list args = {0};
	int r = -EINVAL;

	if (active && active->depth >= PREPROCESS_MAX_NESTING) {
		diag_error(pp->diag, use, "macros are nested too deeply (limit %d)",
			   PREPROCESS_MAX_NESTING);
		pp->failed = true;
		return -EINVAL;
	}
	if (m->is_function) {
		const size_t after = split_arguments(m, in, *at + 1, n, &args);

		if (!after)
			diag_error(pp->diag, use, "unterminated use of macro '%s'", m->name);
		else if (args.len != m->nparams)
			diag_error(pp->diag, use, "macro '%s' takes %u arguments, found %zu",
				   m->name, m->nparams, args.len);
		if (!after || args.len != m->nparams)
			goto out;
		*at = after - 1;
	}
	r = substitute(pp, m, use, in, &args, out, active);
out:
	pp->failed |= r < 0;
	vector_free(&args);
	return r;
}

static int expand(struct preprocessor *pp, const struct token *in, size_t n, struct token_list *out,
		  const struct active *active)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		struct token t = in[i];
		const struct pp_macro *m =
			t.kind == TOKEN_NAME && !t.is_painted ? pp_macro(pp, t.text) : NULL;
		const bool is_use =
			m && (!m->is_function || (i + 1 < n && in[i + 1].kind == TOKEN_PUNCT &&
						  in[i + 1].punct == '('));
		const int active_as = is_use ? activity(active, m) : 0;

		if (active_as == 2 && !m->is_system) {
			diag_error(pp->diag, t.span, "macro '%s' is recursive", m->name);
			pp->failed = true;
			return -EINVAL;
		}
		if (is_use && !active_as) {
			r = expand_use(pp, m, in, n, &i, out, active);
			continue;
		}
		t.is_painted |= active_as != 0; /* #define X X means the other X, as in C */
		r = emit(pp, out, &t);
	}
	return r;
}

int pp_expand(struct preprocessor *pp, const struct token_list *in, struct token_list *out)
{
	return expand(pp, in->items, in->len, out, NULL);
}
