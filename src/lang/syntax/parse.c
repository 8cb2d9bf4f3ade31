/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/syntax/internal.h"

/* --- what stands outside of probes --- */

static void parse_config_entry(struct parser *p)
{
	const struct token name = parse_expect_kind(p, TOKEN_NAME, "name of a setting");
	struct config_entry entry = {.name = name.text};
	const struct token *value;

	if (!parse_expect(p, '='))
		return;
	value = parse_peek(p, 0);
	if (value->kind != TOKEN_STRING && value->kind != TOKEN_NAME &&
	    value->kind != TOKEN_INTEGER) {
		parse_unexpected(p, "string, integer, boolean or word");
		return;
	}
	entry.value = parse_primary(p);
	entry.span = parse_span_since(p, name.span);
	if (!p->failed)
		vector_push(&p->configs, entry);
}

static void parse_config(struct parser *p, struct span begin)
{
	if (p->seen_probe) {
		parse_error(p, begin,
			    "syntax error, config must appear before probes and functions");
		return;
	}
	if (!parse_expect(p, '=') || !parse_open(p, '{'))
		return;
	while (!p->failed && !parse_is(p, '}')) {
		parse_config_entry(p);
		if (!parse_is(p, '}'))
			parse_expect(p, ';');
		while (parse_accept(p, ';'))
			;
	}
	parse_close(p, '}');
}

void parse_import(struct parser *p, struct span begin)
{
	const struct token path = parse_expect_kind(p, TOKEN_STRING, "string after 'import'");

	parse_expect(p, ';');
	if (!p->failed)
		vector_push(&p->imports,
			    (struct import){.span = parse_span_since(p, begin), .path = path.text});
}

static void parse_macro(struct parser *p, struct span begin)
{
	const struct token name = parse_expect_kind(p, TOKEN_NAME, "name of the macro");
	struct macro m = {.span = parse_span_since(p, begin), .name = name.text};
	expr_list params = {0};

	if (!parse_open(p, '('))
		return;
	while (!p->failed && !parse_is(p, ')')) {
		const enum token_kind kind = parse_peek(p, 0)->kind;
		struct expr *param;
		struct token t;

		if (kind != TOKEN_VARIABLE && kind != TOKEN_MAP && kind != TOKEN_NAME) {
			parse_unexpected(p, "$variable, @map or name as macro argument");
			break;
		}
		t = parse_next(p);
		param = parse_new(p,
				  kind == TOKEN_VARIABLE ? EXPR_VARIABLE
				  : kind == TOKEN_MAP	 ? EXPR_MAP
							 : EXPR_NAME,
				  t.span);
		param->name = t.text;
		param->name_span = t.span;
		vector_push(&params, param);
		if (!parse_accept(p, ','))
			break;
	}
	parse_close(p, ')');
	m.params = parse_list_done(p, params.items, params.len * sizeof(*params.items));
	m.nparams = (u32)params.len;
	vector_free(&params);
	m.body = parse_block(p, &m.value);
	if (!p->failed)
		vector_push(&p->macros, m);
}

static void parse_subprogram(struct parser *p, struct span begin)
{
	const struct token name = parse_expect_kind(p, TOKEN_NAME, "name of the function");
	struct subprogram s = {.span = parse_span_since(p, begin), .name = name.text};
	VECTOR(const char *) names = {0};
	VECTOR(struct type_name *) types = {0};
	VECTOR(struct span) spans = {0};

	if (!parse_open(p, '('))
		return;
	while (!p->failed && !parse_is(p, ')')) {
		const struct token param =
			parse_expect_kind(p, TOKEN_VARIABLE, "variable in function argument");

		parse_expect(p, ':');
		vector_push(&names, param.text);
		vector_push(&spans, param.span);
		vector_push(&types, parse_type_name(p));
		if (!parse_accept(p, ','))
			break;
	}
	parse_close(p, ')');
	s.nparams = (u32)names.len;
	s.param_names = parse_list_done(p, names.items, names.len * sizeof(*names.items));
	s.param_types = parse_list_done(p, types.items, types.len * sizeof(*types.items));
	s.param_spans = parse_list_done(p, spans.items, spans.len * sizeof(*spans.items));
	vector_free(&names);
	vector_free(&types);
	vector_free(&spans);
	if (parse_expect(p, ':'))
		s.return_type = parse_type_name(p);
	s.body = p->failed ? NULL : parse_block(p, NULL);
	if (!p->failed)
		vector_push(&p->subprograms, s);
}

static void parse_map_declaration(struct parser *p, struct span begin)
{
	struct map_declaration m = {0};

	if (parse_peek(p, 0)->kind != TOKEN_MAP) {
		parse_error(p, parse_span_since(p, begin),
			    "syntax error, root-level let statements need to be map declarations, "
			    "e.g. let @a = hash(2);");
		return;
	}
	m.name = parse_next(p).text;
	parse_expect(p, '=');
	m.type = parse_expect_kind(p, TOKEN_NAME, "type of the map").text;
	if (!parse_open(p, '('))
		return;
	m.size = parse_expr(p);
	parse_close(p, ')');
	m.span = parse_span_since(p, begin);
	parse_accept(p, ';');
	if (!p->failed)
		vector_push(&p->maps, m);
}

static const char *const c_words[] = {"struct", "union", "enum", "typedef"};

static bool is_c_definition(struct parser *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(c_words); i++)
		if (parse_is_name(p, c_words[i]))
			return true;
	return false;
}

/* Is the current token the given word and the next one of this kind (and punctuator)? */
static bool starts(struct parser *p, const char *word, enum token_kind kind, u32 punct)
{
	if (!parse_is_name(p, word))
		return false;
	return parse_peek(p, 1)->kind == kind && parse_peek(p, 1)->punct == punct;
}

/* Those that were just parsed; reading goes on behind the statement afterwards. */
static void read_imports(struct parser *p)
{
	if (p->options->as_written)
		p->done_imports = p->imports.len;
	if (p->failed || p->done_imports >= p->imports.len)
		return;
	parse_as_text(p);
	parse_import_file(p, &p->imports.items[p->done_imports++]);
}

/*
 * Over a definition of C that is not looked into: to its ';', which may be left out behind a body.
 */
static void skip_c_definition(struct parser *p)
{
	const bool is_typedef = parse_is_name(p, "typedef");
	bool has_body = false;
	int depth = 0;

	if (p->seen_probe)
		parse_error(p, parse_peek(p, 0)->span,
			    "syntax error, C definitions must appear before probes and functions");
	while (!p->failed) {
		const struct token t = parse_next(p);
		const u32 punct = t.kind == TOKEN_PUNCT ? t.punct : 0;

		depth += punct == '{' || punct == '(' || punct == '[';
		depth -= punct == '}' || punct == ')' || punct == ']';
		has_body |= punct == '}';
		if (depth < 0 || (!depth && punct == ';'))
			return;
		if (!depth && has_body && !is_typedef && (punct == '}' || punct == ')') &&
		    !parse_is(p, ';') && !parse_is_name(p, "__attribute__"))
			return;
	}
}

/* One item of the script; text of attach points may follow that is not made of tokens, so only
 * names are looked at. */
static void parse_item(struct parser *p)
{
	const struct token first = *parse_peek(p, 0);
	const bool in_header = !parse_is_script_file(p, first.span.file);

	if (first.span.file != p->probe_file) { /* another script */
		p->probe_file = first.span.file;
		p->seen_probe = false;
	}
	if (in_header || is_c_definition(p)) {
		if (p->options->as_written)
			skip_c_definition(p);
		else
			parse_c_definition(p, in_header);
		return;
	}
	if (parse_accept(p, ';'))
		return;
	if (parse_is_name(p, "config") || parse_is_name(p, "import") || parse_is_name(p, "macro") ||
	    parse_is_name(p, "fn") || parse_is_name(p, "let")) {
		if (starts(p, "config", TOKEN_PUNCT, '{')) {
			p->at++;
			parse_expect(p, '=');
		} else if (starts(p, "import", TOKEN_NAME, 0) ||
			   starts(p, "import", TOKEN_INTEGER, 0)) {
			p->at++;
			parse_import(p, first.span);
		} else if (starts(p, "macro", TOKEN_PUNCT, '{') ||
			   starts(p, "macro", TOKEN_PUNCT, '(')) {
			p->at++;
			parse_macro(p, first.span);
		} else if (starts(p, "config", TOKEN_PUNCT, '=') && first.span.file != p->file) {
			parse_error(p, first.span, "invalid `config` within import");
		} else if (starts(p, "config", TOKEN_PUNCT, '=')) {
			p->at++;
			parse_config(p, first.span);
		} else if (starts(p, "import", TOKEN_STRING, 0)) {
			p->at++;
			parse_import(p, first.span);
			read_imports(p);
		} else if (starts(p, "macro", TOKEN_NAME, 0)) {
			p->at++;
			parse_macro(p, first.span);
		} else if (starts(p, "fn", TOKEN_NAME, 0)) {
			p->at++;
			p->seen_probe = true;
			parse_subprogram(p, first.span);
		} else if (parse_accept_name(p, "let")) {
			parse_map_declaration(p, first.span);
		} else {
			parse_probe(p);
		}
		return;
	}
	p->seen_probe = true;
	parse_probe(p);
}

/* How long the list of each kind is. */
static void count_items(const struct parser *p, size_t ret[ITEM_C])
{
	ret[ITEM_PROBE] = p->probes.len;
	ret[ITEM_MACRO] = p->macros.len;
	ret[ITEM_SUBPROGRAM] = p->subprograms.len;
	ret[ITEM_MAP] = p->maps.len;
	ret[ITEM_IMPORT] = p->imports.len;
	ret[ITEM_CONFIG] = p->configs.len;
}

/* parse_item(), and what it was is remembered. */
static void parse_listed_item(struct parser *p)
{
	const struct lexer *l = preprocess_file(&p->pp);
	const char *text = l->text + l->pos;
	struct script_item item = {.kind = ITEM_C, .span = {l->pos, l->pos, p->file}};
	size_t before[ITEM_C], after[ITEM_C];

	count_items(p, before);
	parse_item(p);
	if (p->failed || !p->at || *text == ';')
		return;
	count_items(p, after);
	item.span.end = p->tokens.items[p->at - 1]->span.end;
	if (str_starts(text, "config") && after[ITEM_PROBE] == before[ITEM_PROBE])
		item.kind = ITEM_CONFIG; /* it may be empty */
	for (u32 i = 0; i < ITEM_C; i++)
		if (after[i] > before[i])
			item.kind = (enum script_item_kind)i;
	if (item.kind != ITEM_C) {
		item.index = (u32)before[item.kind];
		item.end = (u32)after[item.kind];
	}
	vector_push(&p->items, item);
}

/* What has been said so far. */
struct said {
	size_t messages;
	unsigned int errors, warnings;
};

static struct said remember_said(const struct diag *d)
{
	return (struct said){d->messages.len, d->errors, d->warnings};
}

/* Why the last item could not be read: what was said since then is taken back. */
static const char *take_back(struct parser *p, const struct said *before)
{
	struct diag *d = p->diag;
	const struct diag_message *m =
		d->messages.len > before->messages ? &d->messages.items[before->messages] : NULL;
	const char *why = NULL;
	u32 line, column;

	if (m && m->span.begin != UINT32_MAX) {
		diag_place(&d->sources.items[m->span.file], m->span.begin, &line, &column);
		why = arena_printf(p->arena, "%s:%u: %s", d->sources.items[m->span.file].name, line,
				   m->text);
	}
	d->messages.len = MIN(d->messages.len, before->messages);
	d->errors = before->errors;
	d->warnings = before->warnings;
	return why ? why : "";
}

/* Was the innermost file not asked for by the script itself, but by another header? */
static bool is_inner_header(const struct parser *p)
{
	const size_t n = p->pp.files.len;

	return n >= 2 && preprocess_is_system(&p->pp, p->pp.files.items[n - 2].file);
}

/*
 * In a header of the system what cannot be read is passed over: a declaration, or all that is left
 * of the file. Only the #error of one that the script asks for counts. False: nothing was wrong
 * there.
 */
static bool pass_over(struct parser *p, u16 file, const struct said *before)
{
	const struct diag_message *m = p->diag->messages.len > before->messages
					       ? &p->diag->messages.items[before->messages]
					       : NULL;
	const char *why;

	if (!p->failed && !p->pp.failed)
		return false;
	if (p->pp.failed)
		file = preprocess_file(&p->pp)->file;
	if (!preprocess_is_system(&p->pp, file) ||
	    (m && str_starts(m->text, "#error") && !is_inner_header(p)) ||
	    ++p->passed_over > PREPROCESS_MAX_PASSED_OVER)
		return false;
	why = take_back(p, before);
	if (!p->why_passed_over)
		p->why_passed_over = why;
	p->failed = false;
	p->nopen = p->depth = 0;
	p->pp.is_raw = false;
	if (p->pp.failed) {
		p->pp.failed = false;
		preprocess_leave_file(&p->pp);
		p->tokens.len = p->at = 0;
		return true;
	}
	p->at = 0;
	parse_skip_declaration(p);
	/* A bracket that nothing closes: there is nothing to go on with. */
	return !p->failed || (p->pp.failed && pass_over(p, file, before));
}

/*
 * Does a header go on with tokens that were read already? They may be what a macro stands for,
 * which is not to be read again.
 */
static bool goes_on(struct parser *p)
{
	const bool is_read = p->at < p->tokens.len;
	const struct preprocessor *pp = &p->pp;
	u16 file;

	if (!is_read && pp->delivered >= pp->pending.len)
		return false;
	file = is_read ? p->tokens.items[p->at]->span.file
		       : pp->pending.items[pp->delivered].span.file;
	if (parse_is_script_file(p, file) || (is_read && p->tokens.items[p->at]->kind == TOKEN_END))
		return false;
	p->tokens.len -= p->at;
	memmove(p->tokens.items, p->tokens.items + p->at, p->tokens.len * sizeof(*p->tokens.items));
	p->at = 0;
	return true;
}

static void parse_items(struct parser *p)
{
	while (!p->failed) {
		const struct said before = remember_said(p->diag);
		u16 file;

		if (goes_on(p)) {
			p->nopen = p->depth = 0;
			file = parse_peek(p, 0)->span.file;
			parse_item(p);
			pass_over(p, file, &before);
			continue;
		}
		parse_as_text(p);
		if (!preprocess_skip_layout(&p->pp)) {
			if (pass_over(p, 0, &before))
				continue;
			if (p->done_imports >= p->imports.len || p->pp.failed)
				break;
			read_imports(p); /* of blocks */
			continue;
		}
		p->nopen = p->depth = 0;
		file = preprocess_file(&p->pp)->file;
		if (p->options->as_written)
			parse_listed_item(p);
		else
			parse_item(p);
		pass_over(p, file, &before);
	}
	p->failed |= p->pp.failed;
}

static void finish(struct parser *p, struct ast *ret)
{
#define LIST(field, number)                                                                   \
	(ret->field = parse_list_done(p, p->field.items, p->field.len * sizeof(*ret->field)), \
	 ret->number = (u32)p->field.len)
	LIST(configs, nconfigs);
	LIST(imports, nimports);
	LIST(maps, nmaps);
	LIST(macros, nmacros);
	LIST(subprograms, nsubprograms);
	LIST(probes, nprobes);
	LIST(items, nitems);
#undef LIST
	ret->passed_over = p->passed_over;
	ret->why_passed_over = p->why_passed_over;
}

static void release(struct parser *p)
{
	preprocess_release(&p->pp);
	vector_free(&p->tokens);
	hashmap_release(&p->defined);
	hashmap_release(&p->enumerators);
	hashmap_release(&p->imported);
	vector_free(&p->configs);
	vector_free(&p->imports);
	vector_free(&p->maps);
	vector_free(&p->macros);
	vector_free(&p->subprograms);
	vector_free(&p->probes);
	vector_free(&p->items);
}

int parse_script(struct arena *arena, struct type_store *types, struct diag *diag, u16 file,
		 const struct parse_options *options, struct ast *ret)
{
	struct parser p = {.arena = arena,
			   .types = types,
			   .diag = diag,
			   .options = options,
			   .file = file,
			   .failed_token = {.kind = TOKEN_ERROR, .span = NO_SPAN}};
	struct ast ast = {0};

	if (diag->sources.items[file].len > LANG_MAX_SOURCE) {
		diag_error(diag, NO_SPAN, "script is too large: %zu bytes, limit %u",
			   diag->sources.items[file].len, LANG_MAX_SOURCE);
		return -EINVAL;
	}
	preprocess_init(&p.pp, arena, diag, file, options);
	parse_items(&p);
	if (!p.failed)
		finish(&p, &ast);
	if (!p.failed && !options->as_written) {
		ast_functions_to_macros(arena, &ast);
		p.failed = ast_expand_macros(arena, diag, &ast) < 0;
	}
	release(&p);
	if (p.failed)
		return -EINVAL;
	*ret = ast;
	return 0;
}

int parse_expression(struct arena *arena, struct diag *diag, u16 file, struct expr **ret)
{
	const struct parse_options options = {.as_written = true};
	struct type_store types;
	struct parser p = {.arena = arena,
			   .types = &types,
			   .diag = diag,
			   .options = &options,
			   .file = file,
			   .failed_token = {.kind = TOKEN_ERROR, .span = NO_SPAN}};
	struct expr *e = NULL;

	if (diag->sources.items[file].len > LANG_MAX_SOURCE)
		return -EINVAL;
	type_store_init(&types);
	preprocess_init(&p.pp, arena, diag, file, &options);
	parse_as_text(&p);
	e = parse_expr(&p);
	if (!p.failed && parse_peek(&p, 0)->kind != TOKEN_END)
		parse_unexpected(&p, "an operator");
	release(&p);
	type_store_release(&types);
	if (p.failed || p.pp.failed)
		return -EINVAL;
	*ret = e;
	return 0;
}
