/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree as text: one node a line, children indented by a blank. */
#include "base/escape.h"
#include "lang/syntax/ast.h"

static const char *const kind_names[] = {
	[EXPR_INTEGER] = "int",	      [EXPR_STRING] = "string",
	[EXPR_BOOL] = "bool",	      [EXPR_NAME] = "name",
	[EXPR_VARIABLE] = "variable", [EXPR_MAP] = "map",
	[EXPR_INDEX] = "[]",	      [EXPR_MEMBER] = ".",
	[EXPR_UNARY] = "unary",	      [EXPR_INCREMENT] = "increment",
	[EXPR_BINARY] = "binary",     [EXPR_TERNARY] = "?:",
	[EXPR_CALL] = "call",	      [EXPR_CAST] = "cast",
	[EXPR_SIZEOF] = "sizeof",     [EXPR_OFFSETOF] = "offsetof",
	[EXPR_TYPEOF] = "typeof",     [EXPR_TUPLE] = "tuple",
	[EXPR_RECORD] = "record",     [EXPR_POSITIONAL] = "param",
	[EXPR_BLOCK] = "block",	      [EXPR_IF] = "if",
	[EXPR_COMPTIME] = "comptime",
};

static void quoted(struct strbuf *out, const char *s, size_t n)
{
	strbuf_addch(out, '"');
	escape_json(out, s, n);
	strbuf_addch(out, '"');
}

/* "(struct foo **[2])" */
static void type_words(struct strbuf *out, const struct type_name *t)
{
	if (t->inner) {
		strbuf_addstr(out, " (");
		type_words(out, t->inner);
	} else {
		strbuf_addf(out, " (%s%s", t->name ? t->name : "typeof", t->pointers ? " " : "");
	}
	strbuf_addchars(out, '*', (int)t->pointers);
	for (u32 i = 0; i < t->dimensions; i++) {
		const struct expr *n = t->counts[i];

		if (n && n->kind == EXPR_INTEGER)
			strbuf_addf(out, "[%" PRId64 "]", n->integer);
		else
			strbuf_addstr(out, n ? "[...]" : "[]");
	}
	strbuf_addch(out, ')');
}

static void line_of(struct strbuf *out, const struct expr *e)
{
	switch (e->kind) {
	case EXPR_INTEGER:
		strbuf_addf(out, e->is_unsigned_literal ? ": %" PRIu64 : ": %" PRId64, e->integer);
		break;
	case EXPR_BOOL:
		strbuf_addf(out, ": %s", e->integer ? "true" : "false");
		break;
	case EXPR_STRING:
		strbuf_addstr(out, ": ");
		quoted(out, e->string.data, e->string.len);
		break;
	case EXPR_POSITIONAL:
		strbuf_addf(out, e->is_count ? ": $#" : ": $%" PRId64, e->integer);
		break;
	case EXPR_VARIABLE:
		strbuf_addf(out, ": $%s", e->name);
		break;
	case EXPR_MAP:
		strbuf_addf(out, ": @%s", e->name);
		break;
	case EXPR_UNARY:
	case EXPR_BINARY:
		strbuf_addf(out, ": %s", op_names[e->op]);
		break;
	case EXPR_INCREMENT:
		strbuf_addf(out, ": %s%s%s", e->is_postfix ? "post" : "pre", op_names[e->op],
			    op_names[e->op]);
		break;
	default:
		if (e->name)
			strbuf_addf(out, ": %s", e->name);
	}
	if (e->type_name)
		type_words(out, e->type_name);
}

static void child(struct strbuf *out, const char *label, const struct expr *e, int indent,
		  bool with_types)
{
	if (!e)
		return;
	if (label) {
		strbuf_addchars(out, ' ', indent);
		strbuf_addf(out, "%s\n", label);
		indent++;
	}
	ast_dump_expr(out, e, indent, with_types);
}

static void dump_type(struct strbuf *out, const struct type_name *t, int indent, bool with_types)
{
	if (!t)
		return;
	dump_type(out, t->inner, indent, with_types);
	child(out, "typeof", t->typeof_expr, indent, with_types);
	for (u32 i = 0; i < t->dimensions; i++)
		if (t->counts[i] && t->counts[i]->kind != EXPR_INTEGER)
			child(out, "count", t->counts[i], indent, with_types);
}

void ast_dump_expr(struct strbuf *out, const struct expr *e, int indent, bool with_types)
{
	const bool labels = e->kind == EXPR_TERNARY || e->kind == EXPR_IF;

	strbuf_addchars(out, ' ', indent);
	strbuf_addstr(out, kind_names[e->kind]);
	line_of(out, e);
	if (with_types && e->type) {
		strbuf_addstr(out, " :: ");
		type_format(out, e->type);
	}
	strbuf_addch(out, '\n');
	dump_type(out, e->type_name, indent + 1, with_types);
	child(out, labels ? "condition" : NULL, e->condition, indent + 1, with_types);
	if (e->block)
		ast_dump_block(out, e->block, indent + 1, with_types);
	child(out,
	      labels		      ? "then"
	      : e->kind == EXPR_BLOCK ? "value"
				      : NULL,
	      e->left, indent + 1, with_types);
	child(out, labels ? "else" : NULL, e->right, indent + 1, with_types);
	for (u32 i = 0; i < e->nargs; i++)
		child(out, e->names ? e->names[i] : NULL, e->args[i], indent + 1, with_types);
}

static void dump_stmt(struct strbuf *out, const struct stmt *s, int indent, bool with_types)
{
	static const char *const names[] = {
		[STMT_EXPR] = "do",	    [STMT_ASSIGN] = "=",
		[STMT_LET] = "let",	    [STMT_IF] = "if",
		[STMT_WHILE] = "while",	    [STMT_UNROLL] = "unroll",
		[STMT_FOR_MAP] = "for map", [STMT_FOR_RANGE] = "for range",
		[STMT_BREAK] = "break",	    [STMT_CONTINUE] = "continue",
		[STMT_RETURN] = "return",   [STMT_BLOCK] = "scope",
	};
	int below = indent + 1;

	if (s->kind == STMT_EXPR && s->value) {
		ast_dump_expr(out, s->value, indent, with_types);
		return;
	}
	strbuf_addchars(out, ' ', indent);
	strbuf_addf(out, "%s%s", s->kind == STMT_ASSIGN ? op_names[s->op] : "", names[s->kind]);
	if (s->type_name)
		type_words(out, s->type_name);
	strbuf_addch(out, '\n');
	dump_type(out, s->type_name, below, with_types);
	child(out, NULL, s->target, below, with_types);
	child(out, NULL, s->condition, below, with_types);
	child(out, NULL, s->value, below, with_types);
	child(out, NULL, s->range_begin, below, with_types);
	child(out, NULL, s->range_end, below, with_types);
	if (s->body) {
		strbuf_addchars(out, ' ', below);
		strbuf_addstr(out, s->kind == STMT_IF ? "then\n" : "body\n");
		ast_dump_block(out, s->body, below + 1, with_types);
	}
	if (s->else_body) {
		strbuf_addchars(out, ' ', below);
		strbuf_addstr(out, "else\n");
		ast_dump_block(out, s->else_body, below + 1, with_types);
	}
}

void ast_dump_block(struct strbuf *out, const struct block *b, int indent, bool with_types)
{
	for (u32 i = 0; i < b->count; i++)
		dump_stmt(out, b->stmts[i], indent, with_types);
}

static void dump_probe(struct strbuf *out, const struct probe *p, bool with_types)
{
	strbuf_addstr(out, "probe");
	if (p->label)
		strbuf_addf(out, " %s =", p->label);
	strbuf_addch(out, '\n');
	for (u32 i = 0; i < p->nattach; i++) {
		strbuf_addstr(out, " attach ");
		escape_line(out, p->attach_points[i].text, strlen(p->attach_points[i].text));
		strbuf_addch(out, '\n');
	}
	child(out, "predicate", p->predicate, 1, with_types);
	strbuf_addstr(out, " body\n");
	ast_dump_block(out, p->body, 2, with_types);
}

static void dump_macro(struct strbuf *out, const struct macro *m, bool with_types)
{
	strbuf_addf(out, "macro %s\n", m->name);
	for (u32 i = 0; i < m->nparams; i++)
		child(out, NULL, m->params[i], 1, with_types);
	strbuf_addstr(out, " body\n");
	ast_dump_block(out, m->body, 2, with_types);
	child(out, "value", m->value, 1, with_types);
}

static void dump_subprogram(struct strbuf *out, const struct subprogram *s, bool with_types)
{
	strbuf_addf(out, "fn %s", s->name);
	type_words(out, s->return_type);
	strbuf_addch(out, '\n');
	for (u32 i = 0; i < s->nparams; i++) {
		strbuf_addf(out, " $%s", s->param_names[i]);
		type_words(out, s->param_types[i]);
		strbuf_addch(out, '\n');
	}
	strbuf_addstr(out, " body\n");
	ast_dump_block(out, s->body, 2, with_types);
}

void ast_dump(struct strbuf *out, const struct ast *ast, bool with_types)
{
	for (u32 i = 0; i < ast->nconfigs; i++) {
		strbuf_addf(out, "config %s\n", ast->configs[i].name);
		ast_dump_expr(out, ast->configs[i].value, 1, with_types);
	}
	for (u32 i = 0; i < ast->nimports; i++) {
		strbuf_addstr(out, "import ");
		quoted(out, ast->imports[i].path, strlen(ast->imports[i].path));
		strbuf_addch(out, '\n');
	}
	for (u32 i = 0; i < ast->nmaps; i++) {
		strbuf_addf(out, "map @%s %s\n", ast->maps[i].name, ast->maps[i].type);
		ast_dump_expr(out, ast->maps[i].size, 1, with_types);
	}
	for (u32 i = 0; i < ast->nmacros; i++)
		if (!ast->macros[i].is_function)
			dump_macro(out, &ast->macros[i], with_types);
	for (u32 i = 0; i < ast->nsubprograms; i++)
		dump_subprogram(out, &ast->subprograms[i], with_types);
	for (u32 i = 0; i < ast->nprobes; i++)
		dump_probe(out, &ast->probes[i], with_types);
}
