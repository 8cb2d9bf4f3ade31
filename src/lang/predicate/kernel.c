/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions in the kernel's own dialect, which compares a field with a constant:
 *
 *	prev_pid != 0 && (next_comm ~ "kworker*" || prev_prio & 0x8)
 */
#include "lang/predicate/predicate.h"

struct translator {
	const struct predicate_event *event;
	struct diag *diag;
	struct tracefs_command *out;
	bool is_quiet;
};

static bool is_args(const struct expr *e)
{
	return e->kind == EXPR_NAME && str_eq(e->name, "args");
}

static int refuse(struct translator *t, const struct expr *e)
{
	if (t->is_quiet)
		return -EINVAL;
	diag_error(t->diag, e->span, "the kernel's filters cannot say this");
	diag_hint(t->diag,
		  "they compare a field with a constant, as in 'prio < 100 && comm ~ \"k*\"'; "
		  "scripts can say more: `pantrace help language`");
	return -EINVAL;
}

/* The kernel's name for the left side; NULL: it has none. */
static const char *kernel_name(const struct expr *e)
{
	static const char *const words[][2] = {
		{"comm", "COMM"}, {"cpu", "CPU"}, {"tid", "common_pid"}};

	if (e->kind == EXPR_MEMBER && is_args(e->left))
		return e->name;
	for (size_t i = 0; e->kind == EXPR_NAME && i < ARRAY_SIZE(words); i++)
		if (str_eq(words[i][0], e->name))
			return words[i][1];
	return NULL;
}

/* "call_site.function == f", "filename.ustring ~ "x*"": what the kernel has besides. */
static bool is_suffixed(const struct expr *e)
{
	return e->kind == EXPR_MEMBER && kernel_name(e->left) &&
	       (str_eq(e->name, "function") || str_eq(e->name, "ustring"));
}

static bool is_constant(const struct expr *e)
{
	return e->kind == EXPR_INTEGER || e->kind == EXPR_STRING || e->kind == EXPR_BOOL ||
	       (e->kind == EXPR_UNARY && e->op == OP_NEG && e->left->kind == EXPR_INTEGER);
}

static const char *source_of(const struct translator *t, struct span at)
{
	return t->diag->sources.items[at.file].text + at.begin;
}

/* The text as written. */
static void add_source(struct translator *t, struct span at)
{
	tracefs_command_user(t->out, source_of(t, at), at.end - at.begin, at.file, at.begin);
}

static void add_name(struct translator *t, const struct expr *e)
{
	const char *const name = kernel_name(e), *const written = source_of(t, e->name_span);
	const size_t n = strlen(name);

	if (e->name_span.end - e->name_span.begin == n && !memcmp(written, name, n))
		add_source(t, e->name_span);
	else
		tracefs_command_stands_for(t->out, name, e->name_span);
}

static void add_constant(struct translator *t, const struct expr *e)
{
	const struct expr *const number = e->kind == EXPR_UNARY ? e->left : e;
	const char *const text = source_of(t, number->span);
	const size_t n = number->span.end - number->span.begin;
	char decimal[24];

	/* 0x8, 100 and 'R' mean the same there; 1e3, 10ms and named constants do not */
	if (e->kind == EXPR_STRING || *text == '\'' ||
	    (number->kind == EXPR_INTEGER && strspn(text, "0123456789") >= n && *text != '0') ||
	    (str_starts(text, "0x") && strspn(text + 2, "0123456789abcdefABCDEF") >= n - 2)) {
		add_source(t, e->span);
		return;
	}
	snprintf(decimal, sizeof(decimal), "%" PRId64,
		 e == number ? number->integer : -number->integer);
	tracefs_command_stands_for(t->out, decimal, e->span);
}

static enum op mirrored(enum op op)
{
	return op == OP_LT   ? OP_GT
	       : op == OP_GT ? OP_LT
	       : op == OP_LE ? OP_GE
	       : op == OP_GE ? OP_LE
			     : op;
}

static int compare(struct translator *t, const struct expr *e)
{
	const bool is_reversed = is_constant(e->left);
	const struct expr *const left = is_reversed ? e->right : e->left;
	const struct expr *const right = is_reversed ? e->left : e->right;
	const enum op op = is_reversed ? mirrored(e->op) : e->op;

	if (is_suffixed(left)) {
		add_source(t, (struct span){left->span.begin, e->right->span.end, e->span.file});
		return 0;
	}
	if (!kernel_name(left) || !is_constant(right) ||
	    (op == OP_MATCH && right->kind != EXPR_STRING))
		return refuse(t, e);
	if (right->kind == EXPR_STRING &&
	    memchr(source_of(t, right->span), '\\', right->span.end - right->span.begin))
		return refuse(t, right);
	add_name(t, left);
	tracefs_command_add(t->out, " %s ", op_names[op]);
	add_constant(t, right);
	return 0;
}

static int translate(struct translator *t, const struct expr *e);

static int translate_in(struct translator *t, const char *open, const struct expr *e)
{
	int err;

	tracefs_command_add(t->out, "%s", open);
	err = translate(t, e);
	tracefs_command_add(t->out, ")");
	return err;
}

/* The expression inside its parentheses. */
static int translate_bare(struct translator *t, const struct expr *e)
{
	int err;

	if (kernel_name(e)) {
		add_name(t, e);
		tracefs_command_stands_for(t->out, " != 0", e->span);
		return 0;
	}
	if (e->kind == EXPR_UNARY && e->op == OP_NOT)
		return e->left->in_parens
			       ? (tracefs_command_add(t->out, "!"), translate(t, e->left))
			       : translate_in(t, "!(", e->left);
	if (e->kind != EXPR_BINARY)
		return refuse(t, e);
	switch (e->op) {
	case OP_LAND:
	case OP_LOR:
		err = translate(t, e->left);
		tracefs_command_add(t->out, " %s ", op_names[e->op]);
		return err ? err : translate(t, e->right);
	case OP_EQ:
	case OP_NE:
	case OP_LT:
	case OP_LE:
	case OP_GT:
	case OP_GE:
	case OP_AND:
	case OP_MATCH:
		return compare(t, e);
	default:
		return refuse(t, e);
	}
}

static int translate(struct translator *t, const struct expr *e)
{
	int err;

	if (!e->in_parens)
		return translate_bare(t, e);
	tracefs_command_add(t->out, "(");
	err = translate_bare(t, e);
	tracefs_command_add(t->out, ")");
	return err;
}

int predicate_kernel(const struct expr *e, const struct predicate_event *event, struct diag *d,
		     struct tracefs_command *out)
{
	struct translator t = {.event = event, .diag = d, .out = out};

	return translate(&t, e);
}

bool predicate_kernel_can(const struct expr *e, struct diag *d)
{
	struct tracefs_command unused = TRACEFS_COMMAND_INIT;
	struct translator t = {.diag = d, .out = &unused, .is_quiet = true};
	const bool yes = !translate(&t, e);

	tracefs_command_release(&unused);
	return yes;
}

int predicate_to_kernel(const char *text, const struct predicate_event *event, struct diag *d,
			struct tracefs_command *out)
{
	struct expr *e;
	int err;

	if (strchr(text, '{')) {
		struct tracefs_command own = TRACEFS_COMMAND_INIT;

		tracefs_command_from(&own, d, "filter", text);
		tracefs_command_join(out, &own);
		tracefs_command_release(&own);
		return 0;
	}
	e = predicate_parse(d, "filter", text);
	err = e ? predicate_bind(e, event, d) : -EINVAL;
	return err ? err : predicate_kernel(e, event, d, out);
}
