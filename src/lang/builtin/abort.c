/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assertions, at compile time and at run time. */
#include "lang/builtin/util.h"
#include "view/printf_format.h"

/* ---- fail, static_assert ---- */

static void add_literal(struct strbuf *out, const struct format_part *part, const struct expr *e)
{
	if (e->type->kind == TYPE_STRING)
		strbuf_add(out, e->string.data, e->string.len);
	else if (part->conversion == 'x' || part->conversion == 'p')
		strbuf_addf(out, "%s%llx", part->conversion == 'p' ? "0x" : "",
			    (unsigned long long)e->integer);
	else if (part->conversion == 'u')
		strbuf_addf(out, "%llu", (unsigned long long)e->integer);
	else if (part->conversion == 's' && e->type->kind == TYPE_BOOL)
		strbuf_addstr(out, e->integer ? "true" : "false");
	else
		strbuf_addf(out, "%lld", (long long)e->integer);
}

static bool is_literal(const struct expr *e)
{
	return e->is_comptime_known || e->kind == EXPR_INTEGER || e->kind == EXPR_STRING ||
	       e->kind == EXPR_BOOL;
}

static void check_fail(struct check *c, struct expr *call)
{
	struct strbuf text = STRBUF_INIT;
	const struct format *f;

	builtin_check_format(c, call, 0);
	f = call->annotation;
	if (!f || !c->final)
		return;
	for (u32 i = 1; i < call->nargs; i++) {
		if (!is_literal(call->args[i])) {
			check_error(c, call->span, "fail() arguments need to be literals");
			return;
		}
	}
	for (u32 i = 0; i < f->nparts; i++) {
		const struct format_part *part = &f->parts[i];

		if (part->kind == CONVERSION_LITERAL)
			strbuf_add(&text, part->text, part->len);
		else if (part->argument + 1 < call->nargs)
			add_literal(&text, part, call->args[part->argument + 1]);
	}
	check_error(c, call->span, "%s", text.data);
	strbuf_release(&text);
}

static void check_static_assert(struct check *c, struct expr *call)
{
	s64 condition;

	call->type = type_none();
	if (!check_arg_literal_string(c, call, 1) || !check_known(c, call->args[0]))
		return;
	if (!check_constant(call->args[0], &condition)) {
		check_error(c, call->span,
			    "static_assert() needs a condition that is known when the script is "
			    "compiled");
		return;
	}
	if (!condition)
		check_error(c, call->span, "%s", builtin_literal(call->args[1]));
}

static void lower_nothing(struct lower *l, struct expr *call, struct value *ret)
{
	*ret = (struct value){0};
}

/* ---- assert ---- */

static void check_assert(struct check *c, struct expr *call)
{
	call->type = type_none();
	c->script->has_exit = true;
	if (check_known(c, call->args[0]) && !builtin_is_number(call->args[0]->type))
		check_error(c, call->span,
			    "assert() expects a condition as first argument (%s provided)",
			    builtin_kind(call->args[0]->type));
	if (check_known(c, call->args[1]) && call->args[1]->type->kind != TYPE_STRING)
		check_error(c, call->span, "assert() only supports string arguments (%s provided)",
			    builtin_kind(call->args[1]->type));
}

static void lower_assert(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 failed = ir_block_new(l->f, "assert.failed"),
		  end = ir_block_new(l->f, "assert.end");
	const struct type *type = call->args[1]->type;
	const char *text = "assert failed: %s";
	struct value message;
	u32 action, nargs;
	ir_reg condition = lower_scalar(l, call->args[0]);

	*ret = (struct value){0};
	ir_branch_imm(l->f, IR_NE, condition, 0, end, failed);
	ir_switch_to(l->f, failed);
	lower_expr(l, call->args[1], &message);
	action = lower_action(l, ACTION_PRINTF, &type, 1, call->span);
	l->script->actions.items[action].stream = 1;
	format_parse(l->arena, text, strlen(text), &l->script->actions.items[action].format,
		     &nargs);
	lower_send(l, action, &message, 1, call->span);
	builtin_exit(l, ir_const(l->f, 1), call->span);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
}

#define STATEMENT (BUILTIN_CALL | BUILTIN_STATEMENT)

const struct builtin builtins_abort[] = {
	{"fail", "void fail(\"format\", ...)",
	 "Refuses the script with this message when the compiler reaches it; the arguments must be "
	 "literals.",
	 "", STATEMENT, 1, 128, check_fail, lower_nothing},
	{"static_assert", "void static_assert(const bool condition, \"message\")",
	 "Refuses the script with the message if the condition, known at compile time, is false.",
	 "", STATEMENT, 2, 2, check_static_assert, lower_nothing},
	{"assert", "void assert(bool condition, string message)",
	 "Prints an error with the message and ends the run with exit code 1 if the condition is "
	 "false.",
	 "", STATEMENT, 2, 2, check_assert, lower_assert},
	{0},
};
