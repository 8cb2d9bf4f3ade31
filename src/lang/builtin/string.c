/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings and buffers read from the traced world. */
#include "lang/builtin/util.h"

#define SHORT_STRING 64

/* The result of check() for lower(). */
struct read_plan {
	u32 max; /* bytes of the result with the NUL (str) or of the data (buf) */
	/* no length given: only max_strlen cuts the string, and the output marks that */
	bool is_whole;
	bool is_sized; /* the length is only known at run time: args[1] */
};

static struct read_plan *plan_of(struct check *c, struct expr *call)
{
	if (!call->annotation)
		call->annotation = arena_new(c->arena, struct read_plan);
	return call->annotation;
}

/* ---- str ---- */

/* str($1), str($1 + 2): the text of a positional parameter, known now. */
static bool positional_text(struct check *c, const struct expr *e, const char **ret)
{
	s64 skip = 0, index;
	const char *text;

	if (e->kind == EXPR_BINARY && e->op == OP_ADD && e->left->kind == EXPR_POSITIONAL) {
		if (e->right->kind != EXPR_INTEGER)
			return false;
		skip = e->right->integer;
		e = e->left;
	}
	if (e->kind != EXPR_POSITIONAL)
		return false;
	index = e->annotation ? *(s64 *)e->annotation
			      : e->integer; /* once checked, `integer` is its value */
	if (e->is_count)
		text = arena_printf(c->arena, "%u", c->options->input.npositional);
	else if (index >= 1 && index <= c->options->input.npositional)
		text = c->options->input.positional[index - 1];
	else
		text = "";
	*ret = text + MIN((u64)skip, strlen(text));
	return true;
}

static bool is_char_array(const struct type *t)
{
	return t->kind == TYPE_ARRAY && t->element->kind == TYPE_INT && t->element->size == 1;
}

/* The constant second argument, or a run-time one. */
static void check_length(struct check *c, struct expr *call, struct read_plan *plan, u64 limit,
			 u32 extra)
{
	s64 n;

	plan->max = limit;
	plan->is_sized = false;
	plan->is_whole = call->nargs < 2;
	if (call->nargs < 2)
		return;
	check_expr(c, call->args[1]);
	if (!check_known(c, call->args[1]) || !check_arg_integer(c, call, 1))
		return;
	if (call->args[1]->kind != EXPR_INTEGER && !call->args[1]->is_comptime_known) {
		plan->is_sized = true;
		return;
	}
	if (!check_constant(call->args[1], &n))
		return;
	if (n < 0 && call->args[1]->type->is_signed) {
		check_error(c, call->span, "%s cannot use negative length (%lld)",
			    call->builtin->name, (long long)n);
	} else if ((u64)n + extra > limit) {
		if (extra)
			check_warning(c, call->span,
				      "length param (%lld) is too long and will be shortened to "
				      "%llu bytes (see BPFTRACE_MAX_STRLEN)",
				      (long long)n, (unsigned long long)limit);
	} else {
		plan->max = MAX(n, extra);
	}
}

static void check_str(struct check *c, struct expr *call)
{
	struct read_plan *plan = plan_of(c, call);
	const u64 limit = c->script->config.max_strlen;
	const struct type *t;
	const char *text;

	check_length(c, call, plan, limit, 1);
	call->type = type_string(c->types, plan->max);
	if (positional_text(c, call->args[0], &text)) {
		if (!plan->is_sized)
			builtin_set_string(c, call, text,
					   MIN(strlen(text), plan->max ? plan->max - 1 : 0));
		return;
	}
	check_expr(c, call->args[0]);
	if (!check_known(c, call->args[0]))
		return;
	t = call->args[0]->type;
	if (t->kind == TYPE_STRING && call->nargs == 1)
		call->type = t;
	else if (is_char_array(t) && t->count)
		call->type = type_string(c->types, MIN(plan->max, t->count + 1));
	else if (t->kind != TYPE_STRING && !builtin_is_number(t) && !is_char_array(t))
		check_error(c, call->span,
			    "str() expects a string, integer or a pointer type as first argument "
			    "(%s provided)",
			    type_str(c->arena, t));
}

/* After a helper that reads a string: bytes with the NUL, at least 1. */
static ir_reg string_length(struct lower *l, ir_reg result)
{
	const u32 failed = ir_block_new(l->f, "str.failed"), end = ir_block_new(l->f, "str.end");
	ir_reg length = ir_move(l->f, result);

	ir_branch_imm(l->f, IR_SLT, length, 1, failed, end);
	ir_switch_to(l->f, failed);
	ir_assign_const(l->f, length, 1); /* the helper has zeroed the memory */
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return length;
}

static enum address_space readable_space(enum address_space space)
{
	/* To a helper our own memory, contexts and trusted pointers are kernel addresses. */
	return space == SPACE_CONTEXT || space == SPACE_BPF || space == SPACE_TRUSTED ? SPACE_KERNEL
										      : space;
}

/* The address to read from. */
static ir_reg string_source(struct lower *l, struct expr *e, enum address_space *ret_space)
{
	struct value v;

	*ret_space = builtin_space(e);
	lower_expr(l, e, &v);
	if (v.kind != VALUE_MEMORY || builtin_is_number(e->type))
		return lower_to_register(l, &v);
	*ret_space = readable_space(v.space);
	return builtin_address(l, &v);
}

static void lower_str(struct lower *l, struct expr *call, struct value *ret)
{
	const struct read_plan *plan = call->annotation;
	const u32 size = call->type->size;
	/* So few stores that the string is padded for use as a key at once. */
	const bool is_short = size <= SHORT_STRING && !plan->is_sized;
	enum address_space space;
	ir_reg from, slot, length, result;
	struct value v;

	if (call->is_comptime_known) {
		builtin_lower_literal(l, call, ret);
		return;
	}
	if (call->args[0]->type->kind == TYPE_STRING && !plan->is_sized) {
		lower_expr(l, call->args[0], &v);
		if (size >= v.type->size) {
			*ret = v;
			return;
		}
		lower_slot(l, call->type, "str", &slot);
		lower_store_value(l, slot, 0, call->type, &v, call->span);
		*ret = value_memory(call->type, slot, 0, SPACE_BPF);
		ret->is_zero_padded = true;
		return;
	}
	from = string_source(l, call->args[0], &space);
	if (plan->is_sized) {
		length = builtin_bound(l, lower_scalar(l, call->args[1]), size);
		lower_slot(l, call->type, "str", &slot);
		ir_store_imm(l->f, slot, 0, 1, 0); /* a length of 0 reads nothing */
		result = lower_read_string_sized(l, slot, length, from, space);
	} else {
		/* One byte more: a string that fills it was cut. */
		lower_slot(l, type_string(l->types, size + 1), "str", &slot);
		if (is_short)
			ir_zero(l->f, slot, 0, ALIGN_UP(size + 1, 8));
		result = lower_read_string(l, slot, 0, size + plan->is_whole, from, space);
	}
	lower_helper_error(l,
			   space == SPACE_USER ? BPF_FUNC_probe_read_user_str
					       : BPF_FUNC_probe_read_kernel_str,
			   result, call->span);
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
	ret->length = string_length(l, result);
	ret->is_zero_padded = is_short;
}

/* ---- buf ---- */

static void check_buf(struct check *c, struct expr *call)
{
	struct read_plan *plan = plan_of(c, call);
	const u64 limit = c->script->config.max_strlen - 4;
	const struct type *t;

	check_length(c, call, plan, limit, 0);
	check_expr(c, call->args[0]);
	call->type = type_buffer(c->types, plan->max);
	if (!check_known(c, call->args[0]))
		return;
	t = call->args[0]->type;
	if (!builtin_is_number(t) && t->kind != TYPE_STRING && t->kind != TYPE_ARRAY &&
	    t->kind != TYPE_BUFFER) {
		check_error(c, call->span,
			    "buf() expects an integer, string, or array argument but saw %s",
			    builtin_kind(t));
		return;
	}
	if (call->nargs > 1)
		return;
	if (t->kind != TYPE_ARRAY) {
		check_error(c, call->span, "buf() expects a length argument for non-array type %s",
			    builtin_kind(t));
		return;
	}
	plan->max = MIN(limit, t->size);
	call->type = type_buffer(c->types, plan->max);
}

static void lower_buf(struct lower *l, struct expr *call, struct value *ret)
{
	const struct read_plan *plan = call->annotation;
	enum address_space space;
	ir_reg from = string_source(l, call->args[0], &space), size, slot, result;

	if (plan->is_sized)
		size = builtin_bound(l, lower_scalar(l, call->args[1]), plan->max);
	else
		size = ir_const(l->f, plan->max);
	lower_slot(l, call->type, "buf", &slot);
	ir_store(l->f, slot, 0, 4, size);
	result = lower_read_sized(l, ir_binary_imm(l->f, IR_ADD, slot, 4), size, from, space);
	lower_helper_error(
		l, space == SPACE_USER ? BPF_FUNC_probe_read_user : BPF_FUNC_probe_read_kernel,
		result, call->span);
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
	ret->length = ir_binary_imm(l->f, IR_ADD, size, 4);
}

/* ---- path ---- */

static void check_path(struct check *c, struct expr *call)
{
	struct read_plan *plan = plan_of(c, call);
	const struct probe_context *x = &c->unit->context;
	s64 n;

	plan->max = c->script->config.max_strlen;
	if (call->nargs > 1) {
		if (!check_arg_constant(c, call, 1, &n))
			n = plan->max;
		if (n <= 0)
			check_error(c, call->span,
				    "path: invalid size value, need non-negative literal");
		else if (n < plan->max)
			plan->max = n;
	}
	call->type = type_string(c->types, plan->max);
	if (!x->attach_btf_id || (x->kind != CONTEXT_ARGUMENTS && x->kind != CONTEXT_ITERATOR))
		check_error(
			c, call->span,
			"The path function can only be used with 'fentry', 'fexit', 'iter' probes");
	if (!c->options->features.d_path)
		check_error(c, call->span, "BPF_FUNC_d_path not available for your kernel version");
	if (check_known(c, call->args[0]) && call->args[0]->type->kind != TYPE_POINTER &&
	    call->args[0]->type->kind != TYPE_STRUCT)
		check_error(c, call->span,
			    "path() only supports pointer or C type argument (%s provided)",
			    builtin_kind(call->args[0]->type));
}

static void lower_path(struct lower *l, struct expr *call, struct value *ret)
{
	ir_reg from, slot, result;
	struct value v;

	lower_expr(l, call->args[0], &v);
	from = v.kind == VALUE_MEMORY && call->args[0]->type->kind == TYPE_STRUCT
		       ? builtin_address(l, &v)
		       : lower_to_register(l, &v);
	lower_slot(l, call->type, "path", &slot);
	result = ir_call_n(l->f, BPF_FUNC_d_path, from, slot, ir_const(l->f, call->type->size));
	lower_helper_error(l, BPF_FUNC_d_path, result, call->span);
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
	ret->length = string_length(l, result);
}

/* ---- join ---- */

#define JOIN_MAX_ARGS	16
#define JOIN_MAX_STRING 4096
/*
 * The text is copied once more into the record; both must fit into a program's 32 KB of per-CPU
 * memory.
 */
#define JOIN_MAX_TEXT 12288

static void check_join(struct check *c, struct expr *call)
{
	call->type = type_none();
	if (check_known(c, call->args[0]) && !builtin_is_number(call->args[0]->type))
		check_error(c, call->span,
			    "join() only supports int or pointer arguments (%s provided)",
			    builtin_kind(call->args[0]->type));
	if (call->nargs > 1)
		check_arg_literal_string(c, call, 1);
}

/*
 * Walks argv in the traced process: reads a pointer, then its string behind those before, until a
 * NULL pointer. Unrolled, so that the verifier can track the growing offset.
 */
static void lower_join(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 max_string = MIN(l->script->config.max_strlen, JOIN_MAX_STRING);
	const u32 room = MIN(JOIN_MAX_ARGS * max_string, JOIN_MAX_TEXT);
	const struct type *types[] = {type_int(8, false), type_buffer(l->types, room)};
	const u32 action = lower_action(l, ACTION_JOIN, types, 2, call->span);
	const enum address_space space = builtin_space(call->args[0]);
	const u32 done = ir_block_new(l->f, "join.done");
	ir_reg argv = lower_scalar(l, call->args[0]), slot, data, pointer, used, count;
	struct value values[2];

	l->script->actions.items[action].separator =
		call->nargs > 1 ? builtin_literal(call->args[1]) : " ";
	lower_slot(l, types[1], "join", &slot);
	data = ir_binary_imm(l->f, IR_ADD, slot, 4);
	lower_slot(l, type_int(8, false), "argv", &pointer);
	used = ir_const(l->f, 0);
	count = ir_const(l->f, 0);
	for (u32 i = 0; i < JOIN_MAX_ARGS; i++) {
		const u32 next = ir_block_new(l->f, "join.next"),
			  fits = ir_block_new(l->f, "join.fits");
		ir_reg from, length, to;

		lower_read(l, pointer, 0, 8, argv, i * 8, space);
		from = ir_load(l->f, pointer, 0, 8, false);
		ir_branch_imm(l->f, IR_EQ, from, 0, done, next);
		ir_switch_to(l->f, next);
		ir_branch_imm(l->f, IR_LE, used, room - max_string, fits, done);
		ir_switch_to(l->f, fits);
		to = ir_binary(l->f, IR_ADD, data, used);
		length = string_length(l, lower_read_string(l, to, 0, max_string, from, space));
		ir_assign(l->f, used,
			  ir_binary(l->f, IR_ADD, used, builtin_bound(l, length, max_string)));
		ir_assign(l->f, count, ir_binary_imm(l->f, IR_ADD, count, 1));
	}
	ir_jump(l->f, done);
	ir_switch_to(l->f, done);
	ir_store(l->f, slot, 0, 4, used);
	values[0] = value_register(types[0], count);
	values[1] = value_memory(types[1], slot, 0, SPACE_BPF);
	values[1].length = ir_binary_imm(l->f, IR_ADD, used, 4);
	lower_send(l, action, values, 2, call->span);
	*ret = (struct value){0};
}

/* ---- kptr, uptr ---- */

static void check_space(struct check *c, struct expr *call)
{
	const enum address_space space = call->builtin->name[0] == 'k' ? SPACE_KERNEL : SPACE_USER;
	const struct type *t;

	call->type = type_int(8, false);
	call->space = space;
	if (!check_known(c, call->args[0]))
		return;
	t = call->args[0]->type;
	if (t->kind == TYPE_POINTER)
		call->type = type_pointer(c->types, t->element, space);
	else if (type_is_integer(t))
		call->type = t;
	else
		check_error(c, call->span,
			    "%s() only supports integer or pointer arguments (%s provided)",
			    call->builtin->name, builtin_kind(t));
}

static void lower_space(struct lower *l, struct expr *call, struct value *ret)
{
	*ret = value_register(call->type, lower_scalar(l, call->args[0]));
}

const struct builtin builtins_string[] = {
	{"str", "string str(char *p [, uint64 length])",
	 "Reads a NUL-terminated string, at most max_strlen (1024) bytes; "
	 "with a length, that many with the NUL. str($1) is the text of a parameter of the script.",
	 "", BUILTIN_CALL | BUILTIN_RAW_ARGS, 1, 2, check_str, lower_str},
	{"buf", "buffer buf(void *p [, uint64 length])",
	 "Reads length bytes (an array's own size by default) as a buffer, which prints as text "
	 "with \\xNN for other bytes (%r), all hex (%rx) or spaced hex (%rh).",
	 "", BUILTIN_CALL | BUILTIN_RAW_ARGS, 1, 2, check_buf, lower_buf},
	{"path", "string path(struct path *p [, uint64 size])",
	 "The full path of a struct path, in functions that the kernel allows it in (fentry, "
	 "fexit, iter).",
	 "5.10", BUILTIN_LIVE | BUILTIN_CALL, 1, 2, check_path, lower_path},
	{"join", "void join(char **argv [, \"separator\"])",
	 "Prints the strings of an argument vector with a separator (a space by default) and a "
	 "newline, at most 16 of them.",
	 "", BUILTIN_LIVE | BUILTIN_CALL | BUILTIN_STATEMENT, 1, 2, check_join, lower_join},
	{"kptr", "T *kptr(T *p)", "Says that p points into kernel memory.", "", BUILTIN_CALL, 1, 1,
	 check_space, lower_space},
	{"uptr", "T *uptr(T *p)", "Says that p points into the traced process's memory.", "",
	 BUILTIN_CALL, 1, 1, check_space, lower_space},
	{0},
};
