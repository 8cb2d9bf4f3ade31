/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All output: printf and its family, print, cat, system, exit. Programs send records; the engine
 * acts on them.
 */
#include "lang/builtin/util.h"
#include "view/printf_format.h"
#include "lang/lower/present.h"

#define MAX_FORMAT_ARGS 127

/* ---- formats ---- */

void builtin_check_format(struct check *c, struct expr *call, u32 first)
{
	const u32 n = call->nargs - first - 1;
	const struct type *types[MAX_FORMAT_ARGS];
	const struct expr *text = call->args[first];
	struct format *f;
	const char *complaint;
	bool known = true;
	u32 at;

	call->type = type_none();
	if (!check_arg_literal_string(c, call, first))
		return;
	if (n > MAX_FORMAT_ARGS) {
		check_error(c, call->span, "%s() takes up to 128 arguments (%u provided)",
			    call->builtin->name, call->nargs);
		return;
	}
	for (u32 i = 0; i < n; i++) {
		known = check_known(c, call->args[first + 1 + i]) && known;
		types[i] = call->args[first + 1 + i]->type;
	}
	f = call->annotation;
	if (!f) {
		f = arena_new(c->arena, struct format);
		complaint = format_parse(c->arena, text->string.data, text->string.len, f, &at);
		if (complaint) {
			check_error(c, text->span, "%s", complaint);
			return;
		}
		call->annotation = f;
	}
	if (!known)
		return;
	complaint = format_check(c->arena, f, types, n, &at);
	if (complaint)
		check_error(c, call->span, "%s", complaint);
}

/* What a record holds of a value: aggregations are read as one number. */
static const struct type *record_type(const struct type *t)
{
	if (t->kind >= TYPE_COUNT && t->kind <= TYPE_AVG)
		return type_int(8, t->is_signed);
	return t;
}

static void record_value(struct lower *l, struct expr *e, const struct type **type,
			 struct value *value)
{
	lower_expr(l, e, value);
	*type = record_type(e->type);
	/*
	 * The value after lowering may be smaller or laid out differently than the checker knew
	 * (literals, args).
	 */
	if (value->kind == VALUE_MEMORY && value->type && value->type->kind == TYPE_RECORD)
		*type = value->type;
	if (value->kind == VALUE_REGISTER || value->kind == VALUE_CONSTANT)
		value->type = *type;
}

u32 builtin_send_format(struct lower *l, enum action_kind kind, struct expr *call, u32 first)
{
	const u32 n = call->nargs - first - 1;
	const struct type *types[MAX_FORMAT_ARGS];
	struct value *values = arena_new_array(l->arena, struct value, n + 1);
	u32 action;

	for (u32 i = 0; i < n; i++)
		record_value(l, call->args[first + 1 + i], &types[i], &values[i]);
	action = lower_action(l, kind, types, n, call->span);
	l->script->actions.items[action].format = *(const struct format *)call->annotation;
	lower_send(l, action, values, n, call->span);
	return action;
}

static void check_printf(struct check *c, struct expr *call)
{
	builtin_check_format(c, call, 0);
}

/* Values whose text somebody else may have chosen: names of files, programs, symbols. */
static bool is_strange_text(const struct type *t)
{
	switch (t->kind) {
	case TYPE_STRING:
	case TYPE_BUFFER:
	case TYPE_ARRAY:
	case TYPE_STRUCT:
	case TYPE_UNION:
	case TYPE_TUPLE:
	case TYPE_RECORD:
	case TYPE_USTACK:
	case TYPE_USYM:
	case TYPE_CGROUP_PATH:
		return true;
	default:
		return false;
	}
}

/* Written in the script or on the command line. */
static bool is_own_text(const struct expr *e)
{
	return e->kind == EXPR_STRING || e->kind == EXPR_POSITIONAL ||
	       (e->kind == EXPR_CALL && e->nargs && e->args[0]->kind == EXPR_POSITIONAL);
}

/* The quote of the shell that is still open after this part. */
static char open_quote(char quote, const struct format_part *part)
{
	for (u32 i = 0; part->kind == CONVERSION_LITERAL && i < part->len; i++) {
		const char c = part->text[i];

		if (c == '\\' && quote != '\'')
			i++;
		else if (c == quote)
			quote = 0;
		else if (!quote && (c == '\'' || c == '"'))
			quote = c;
	}
	return quote;
}

/* Such text must be quoted for the shell: a file may be called `; rm -rf ~`. */
static void check_system(struct check *c, struct expr *call)
{
	const struct format *f;
	char quote = 0;

	builtin_check_format(c, call, 0);
	f = call->annotation;
	for (u32 i = 0; f && i < f->nparts; i++) {
		const struct format_part *part = &f->parts[i];
		const struct expr *e;

		quote = open_quote(quote, part);
		if (part->kind != CONVERSION_ARGUMENT ||
		    !strchr(quote ? "sarq" : "sar", part->conversion) ||
		    part->argument + 1 >= call->nargs)
			continue;
		e = call->args[part->argument + 1];
		if (!e->type || !is_strange_text(e->type) || is_own_text(e))
			continue;
		if (part->conversion == 'q') {
			check_warning(c, e->span,
				      "the quotes around %s end where its own begin: the shell "
				      "reads this text as part of the command",
				      part->text);
			check_hint(c, "write %s without quotes around it", part->text);
			continue;
		}
		check_warning(
			c, e->span,
			"the shell reads this text as part of the command: whoever chooses it can "
			"run commands of their own");
		check_hint(c, "%%q instead of %s%s passes it as one quoted argument", part->text,
			   quote ? " and the quotes around it" : "");
	}
}

static enum action_kind format_action(const struct expr *call)
{
	if (str_eq(call->builtin->name, "cat"))
		return ACTION_CAT;
	return str_eq(call->builtin->name, "system") ? ACTION_SYSTEM : ACTION_PRINTF;
}

static void lower_printf(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 action = builtin_send_format(l, format_action(call), call, 0);

	if (str_eq(call->builtin->name, "errorf"))
		l->script->actions.items[action].stream = 1;
	else if (str_eq(call->builtin->name, "warnf"))
		l->script->actions.items[action].stream = 2;
	*ret = (struct value){0};
}

/* ---- debugf: bpf_trace_printk() to the trace pipe ---- */

#define PRINTK_MAX_ARGS 3

static void check_debugf(struct check *c, struct expr *call)
{
	const struct format *f;

	builtin_check_format(c, call, 0);
	check_warning(c, call->span,
		      "The debugf() builtin is not recommended for production use. For more "
		      "information see bpf_trace_printk in bpf-helpers(7).");
	if (call->nargs - 1 > PRINTK_MAX_ARGS) {
		check_error(c, call->span, "cannot use more than %d conversion specifiers",
			    PRINTK_MAX_ARGS);
		return;
	}
	f = call->annotation;
	for (u32 i = 0; f && i < f->nparts; i++) {
		const struct format_part *part = &f->parts[i];
		const struct type *t;

		if (part->kind != CONVERSION_ARGUMENT || part->argument + 1 >= call->nargs)
			continue;
		t = call->args[part->argument + 1]->type;
		if (!strchr("duxps", part->conversion))
			check_error(c, call->args[0]->span,
				    "Invalid format specifier for `debugf`: %c", part->conversion);
		else if (part->conversion == 's' ? t->kind != TYPE_STRING : !builtin_is_number(t))
			check_error(c, call->args[part->argument + 1]->span,
				    "Type does not match format specifier: %c", part->conversion);
	}
}

static void lower_debugf(struct lower *l, struct expr *call, struct value *ret)
{
	struct expr *text = call->args[0];
	ir_reg args[2 + PRINTK_MAX_ARGS], slot;
	struct value v;
	u32 n = 2;

	lower_slot(l, type_string(l->types, text->string.len + 1), "debugf", &slot);
	for (u32 i = 0; i <= text->string.len; i++)
		ir_store_imm(l->f, slot, i, 1, i < text->string.len ? text->string.data[i] : 0);
	for (u32 i = 1; i < call->nargs; i++) {
		lower_expr(l, call->args[i], &v);
		if (v.kind == VALUE_MEMORY && call->args[i]->type->kind == TYPE_STRING) {
			v = lower_materialise(l, &v, call->span);
			args[n++] = builtin_address(l, &v);
		} else {
			args[n++] = lower_to_register(l, &v);
		}
	}
	args[0] = slot;
	args[1] = ir_const(l->f, text->string.len + 1);
	ir_call(l->f, BPF_FUNC_trace_printk, n, args);
	*ret = (struct value){0};
}

/* ---- print ---- */

struct print_plan {
	struct present_taken taken; /* first, as plan_take.c knows only this member */
	struct map_symbol *map; /* print(@m), print(@m[k]) */
	bool is_element;
	s64 top, div;
	const struct expr *format; /* print(@m, "format" [, top]) */
};

static void check_print_map(struct check *c, struct expr *call, struct print_plan *plan)
{
	plan->map = check_arg_map(c, call, 0);
	if (!plan->map)
		return;
	plan->map->is_read = true;
	if (call->nargs > 1 && call->args[1]->kind == EXPR_STRING)
		plan->format = call->args[1];
	for (u32 i = plan->format ? 2 : 1; i < call->nargs; i++) {
		s64 *value = i == (plan->format ? 2 : 1) ? &plan->top : &plan->div;

		check_expr(c, call->args[i]);
		if (!check_arg_constant(c, call, i, value))
			continue;
		if (*value < 0)
			check_error(c, call->args[i]->span,
				    "print() %s must not be negative (%lld provided)",
				    value == &plan->top ? "top" : "div", (long long)*value);
	}
	if (plan->map->value && plan->map->value->kind == TYPE_STATS && call->nargs > 1 &&
	    !plan->format)
		check_warning(
			c, call->span,
			"print()'s top and div arguments are ignored when used on stats() maps.");
	if (c->loop_depth)
		check_warning(c, call->span,
			      "Due to it's asynchronous nature using 'print()' in a loop can lead "
			      "to unexpected behavior. The map will likely be updated before the "
			      "runtime can 'print' it.");
}

static bool is_bucketed(const struct type *t)
{
	return t && (type_is_histogram(t) || t->kind == TYPE_TSERIES);
}

static void check_print(struct check *c, struct expr *call)
{
	struct print_plan *plan = arena_new(c->arena, struct print_plan);
	struct expr *e = call->args[0];

	call->type = type_none();
	call->annotation = plan;
	if (e->kind == EXPR_MAP) {
		check_print_map(c, call, plan);
		return;
	}
	check_expr(c, e);
	if (e->kind == EXPR_INDEX && e->left->kind == EXPR_MAP) {
		plan->map = e->map;
		plan->is_element = true;
	}
	if (!check_known(c, e))
		return;
	if (is_bucketed(e->type))
		check_error(c, call->span,
			    "Map type %s cannot print the value of individual keys. You must print "
			    "the whole map.",
			    builtin_kind(e->type));
	else if (e->type->kind == TYPE_VOID || e->type->kind == TYPE_FUNCTION)
		check_error(c, call->span, "%s type passed to print() is not printable",
			    builtin_kind(e->type));
	else if (call->nargs != 1)
		check_error(c, call->span, "Non-map print() only takes 1 argument, %u found",
			    call->nargs);
}

static void lower_print_map(struct lower *l, struct expr *call, const struct print_plan *plan)
{
	const struct type *types[] = {type_int(8, false), type_int(8, false)};
	u32 action;
	const struct value values[] = {value_constant(types[0], plan->top),
				       value_constant(types[1], plan->div)};

	if (plan->format) {
		present_send(l, call, plan->format, call->args, 1, ir_const(l->f, plan->top),
			     plan->taken.clears, plan->taken.zeroes);
		return;
	}
	action = lower_action(l, ACTION_PRINT_MAP, types, 2, call->span);
	l->script->actions.items[action].map = plan->map->index;
	l->script->actions.items[action].clears = plan->taken.clears;
	l->script->actions.items[action].zeroes = plan->taken.zeroes;
	lower_send(l, action, values, 2, call->span);
}

/*
 * "@m[k]: v" with the current value. Aggregations are added up by the engine, which gets the key
 * alone.
 */
static void lower_print_element(struct lower *l, struct expr *call, const struct print_plan *plan)
{
	struct expr *e = call->args[0];
	struct map_symbol *m = plan->map;
	const bool is_aggregation = type_is_aggregation(m->value);
	const struct type *types[] = {m->key, m->value};
	struct value values[2];
	u32 action;

	values[0] = value_memory(m->key, lower_map_key(l, m, e->args, e->nargs, call->span), 0,
				 SPACE_BPF);
	values[0].is_zero_padded = true;
	if (!is_aggregation)
		lower_expr(l, e, &values[1]);
	action = lower_action(l, ACTION_PRINT_MAP_KEY, types, is_aggregation ? 1 : 2, call->span);
	l->script->actions.items[action].map = m->index;
	lower_send(l, action, values, is_aggregation ? 1 : 2, call->span);
}

static void lower_print(struct lower *l, struct expr *call, struct value *ret)
{
	const struct print_plan *plan = call->annotation;
	const struct type *type;
	struct value value;

	*ret = (struct value){0};
	if (plan->map && !plan->is_element) {
		lower_print_map(l, call, plan);
	} else if (plan->map) {
		lower_print_element(l, call, plan);
	} else {
		record_value(l, call->args[0], &type, &value);
		lower_send(l, lower_action(l, ACTION_PRINT, &type, 1, call->span), &value, 1,
			   call->span);
	}
}

/* ---- exit ---- */

static void check_exit(struct check *c, struct expr *call)
{
	call->type = type_none();
	c->script->has_exit = true;
	if (call->nargs && check_known(c, call->args[0]))
		check_arg_integer(c, call, 0);
}

void builtin_exit(struct lower *l, ir_reg code, struct span at)
{
	const struct type *type = type_int(1, false);
	const u32 action = lower_action(l, ACTION_EXIT, &type, 1, at);
	struct value value = value_register(type, code);
	struct stmt leave = {.kind = STMT_RETURN, .span = at};

	/*
	 * Stored first, so that an engine that finds the buffer empty also finds an exit whose
	 * record did not fit.
	 */
	code = ir_binary_imm(l->f, IR_AND, code, 0xff);
	builtin_global_set(l, offsetof(struct script_globals, is_over),
			   ir_binary_imm(l->f, IR_ADD, code, 1));
	lower_send(l, action, &value, 1, at);
	/* The statement can also leave from inside a loop's callback. */
	lower_stmt(l, &leave);
	if (ir_terminated(l->f))
		ir_switch_to(l->f, ir_block_new(l->f, "after exit"));
}

static void lower_exit(struct lower *l, struct expr *call, struct value *ret)
{
	builtin_exit(l, call->nargs ? lower_scalar(l, call->args[0]) : ir_const(l->f, 0),
		     call->span);
	*ret = (struct value){0};
}

#define OUTPUT (BUILTIN_CALL | BUILTIN_STATEMENT)

const struct builtin builtins_output[] = {
	{"printf", "void printf(\"format\", ...)",
	 "Prints its arguments by a format as in C, plus %s for anything that has a text, and %r, "
	 "%rx, %rh for buffers, and %q for a text in quotes, as one word for a shell.",
	 "", OUTPUT, 1, 128, check_printf, lower_printf},
	{"errorf", "void errorf(\"format\", ...)",
	 "As printf, to standard error as an error with the place in the script.", "", OUTPUT, 1,
	 128, check_printf, lower_printf},
	{"warnf", "void warnf(\"format\", ...)",
	 "As printf, to standard error as a warning with the place in the script.", "", OUTPUT, 1,
	 128, check_printf, lower_printf},
	{"debugf", "void debugf(\"format\", ...)",
	 "Prints to the kernel's trace_pipe; at most three arguments, %d %u %x %p %s.", "",
	 BUILTIN_LIVE | OUTPUT, 1, 128, check_debugf, lower_debugf},
	{"print",
	 "void print(value) | print(@map [, top [, div]]) | print(@map, \"format\" [, top]) | "
	 "print(@map[key])",
	 "Prints a value, or a map as it is when the request is processed: the top largest "
	 "entries, numbers divided by div.",
	 "", OUTPUT | BUILTIN_RAW_ARGS, 1, 3, check_print, lower_print},
	{"cat", "void cat(\"format\", ...)",
	 "Prints the contents of the file that the format names (max_cat_bytes at most).", "",
	 BUILTIN_LIVE | OUTPUT, 1, 128, check_printf, lower_printf},
	{"system", "void system(\"format\", ...)",
	 "Runs a shell command and prints its output; events wait meanwhile. Texts that others "
	 "choose (names of files, comm) belong behind %q, which quotes them as one argument "
	 "(without quotes of yours around it); %s hands them to the shell as they are, which is "
	 "warned of. The command has standard input and error of the tool and no other open file; "
	 "what it leaves in the background is not waited for, nor what that prints then.",
	 "", OUTPUT | BUILTIN_UNSAFE, 1, 128, check_system, lower_printf},
	{"exit", "void exit([uint8 code])",
	 "Ends the run after this probe: end probes run, maps are printed, code is the exit code.",
	 "", OUTPUT, 0, 1, check_exit, lower_exit},
	{0},
};
