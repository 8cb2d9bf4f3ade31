/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops. Plain ones have a back edge; the verifier walks every round. Iterations over maps and long
 * or unknown ranges are callbacks, which the verifier walks a few times: the body becomes a
 * function of its own that finds the variables of the surrounding code through the frame
 * (lang/lower/internal.h). It returns 0 to go on and 1 to end.
 */
#include "lang/syntax/ast_walk.h"
#include "lang/builtin/util.h"
#include "lang/lower/loop_steps.h"
#include "lang/lower/internal.h"

void lower_loop_begin(struct lower *l, struct lower_loop *loop, ir_reg count, u32 max_count)
{
	struct ir_function *f = l->f;
	const u32 look = ir_block_new(f, "loop.look");

	*loop = (struct lower_loop){.head = ir_block_new(f, "loop"),
				    .body = ir_block_new(f, "loop.body"),
				    .next = ir_block_new(f, "loop.next"),
				    .end = ir_block_new(f, "loop.end"),
				    .index = ir_reg_new(f)};
	ir_assign_const(f, loop->index, 0);
	ir_jump(f, loop->head);
	ir_switch_to(f, loop->head);
	ir_branch_imm(f, IR_LT, loop->index, max_count, look, loop->end);
	ir_switch_to(f, look);
	ir_branch(f, IR_LT, loop->index, count, loop->body, loop->end);
	ir_switch_to(f, loop->body);
}

void lower_loop_end(struct lower *l, struct lower_loop *loop)
{
	struct ir_function *f = l->f;

	ir_jump(f, loop->next);
	ir_switch_to(f, loop->next);
	ir_assign(f, loop->index, ir_binary_imm(f, IR_ADD, loop->index, 1));
	ir_jump(f, loop->head);
	ir_switch_to(f, loop->end);
}

/* ---- loops in place ---- */

struct jumps {
	u32 break_block, continue_block;
};

static struct jumps enter(struct lower *l, u32 break_block, u32 continue_block)
{
	const struct jumps outer = {l->break_block, l->continue_block};

	l->break_block = break_block;
	l->continue_block = continue_block;
	return outer;
}

static void leave(struct lower *l, struct jumps outer)
{
	l->break_block = outer.break_block;
	l->continue_block = outer.continue_block;
}

/* x ^ u ^ u is x, but the verifier knows nothing about u, and so nothing about x. */
static void forget_number(struct lower *l, struct variable_symbol *v, ir_reg unknown)
{
	struct value number;

	lower_variable_read(l, v, &number);
	number = value_register(v->type, ir_binary(l->f, IR_XOR, number.reg, unknown));
	number.reg = ir_binary(l->f, IR_XOR, number.reg, unknown);
	lower_variable_write(l, v, &number, v->span);
}

static void forget_changed(struct lower *l, const struct stmt *s)
{
	ir_reg unknown;

	if (!s->forgotten || !s->forgotten[0])
		return;
	unknown = builtin_global(l, offsetof(struct script_globals, start_ns));
	for (struct variable_symbol **v = s->forgotten; *v; v++)
		if ((*v)->is_captured || (*v)->annotation == l->f)
			forget_number(l, *v, unknown);
}

static void while_in_place(struct lower *l, struct stmt *s)
{
	struct ir_function *f = l->f;
	const u32 head = ir_block_new(f, "while"), body = ir_block_new(f, "while.body"),
		  end = ir_block_new(f, "while.end");
	const struct jumps outer = enter(l, end, head);

	ir_jump(f, head);
	ir_switch_to(f, head);
	forget_changed(l, s);
	lower_condition(l, s->condition, body, end);
	ir_switch_to(f, body);
	lower_block(l, s->body);
	ir_jump(f, head);
	ir_switch_to(f, end);
	leave(l, outer);
}

/* Values and blocks of a program; the kernel takes a million instructions
 * (BPF_COMPLEXITY_LIMIT_INSNS). */
#define UNROLLED_MAX 200000

void lower_unroll(struct lower *l, struct stmt *s)
{
	const u32 end = ir_block_new(l->f, "unroll.end");
	struct jumps outer;

	for (s64 i = 0; i < s->condition->integer && !l->failed; i++) {
		const u32 next = ir_block_new(l->f, "unroll");

		outer = enter(l, end, next);
		forget_changed(l, s);
		lower_block(l, s->body);
		ir_jump(l->f, next);
		ir_switch_to(l->f, next);
		leave(l, outer);
		if (l->f->nregs + l->f->blocks.len > UNROLLED_MAX && !l->failed)
			lower_error(l, s->span,
				    "unroll makes more than %d steps of the probe: a loop (for, "
				    "while) does not",
				    UNROLLED_MAX);
	}
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
}

static void range_in_place(struct lower *l, struct stmt *s)
{
	struct ir_function *f = l->f;
	const u32 head = ir_block_new(f, "for"), body = ir_block_new(f, "for.body"),
		  next = ir_block_new(f, "for.next"), end = ir_block_new(f, "for.end");
	const ir_reg i = ir_reg_new(f), last = ir_move(f, lower_scalar(l, s->range_end));
	const struct value v = value_register(type_int(8, true), i);
	struct jumps outer;

	ir_assign(f, i, lower_scalar(l, s->range_begin));
	ir_jump(f, head);
	ir_switch_to(f, head);
	if (s->range_end->is_comptime_known)
		ir_branch_imm(f, IR_SLT, i, s->range_end->integer, body, end);
	else
		ir_branch(f, IR_SLT, i, last, body, end);
	ir_switch_to(f, body);
	lower_variable_write(l, s->variable, &v, s->span);
	outer = enter(l, end, next);
	lower_block(l, s->body);
	leave(l, outer);
	ir_jump(f, next);
	ir_switch_to(f, next);
	ir_assign(f, i, ir_binary_imm(f, IR_ADD, i, 1));
	ir_jump(f, head);
	ir_switch_to(f, end);
}

/* ---- callbacks ---- */

/* State that is saved while a callback is built. */
struct caller {
	struct ir_function *f;
	struct lower_private private;
	struct jumps jumps;
	u32 return_block, function_end;
	bool in_callback;
};

static ir_reg parameter(struct ir_function *f, u32 n)
{
	const ir_reg r = ir_reg_new(f);

	ir_add(f, (struct ir_insn){.op = IR_PARAM, .dst = r, .imm = n});
	return r;
}

static void return_constant(struct ir_function *f, u32 block, s64 value)
{
	ir_switch_to(f, block);
	ir_add(f, (struct ir_insn){.op = IR_RETURN, .imm = value});
}

/* Ends the loop, and tells the code after it the reason. */
static void return_with(struct ir_function *f, u32 block, ir_reg frame, s64 control)
{
	ir_switch_to(f, block);
	ir_store_imm(f, frame, FRAME_CONTROL, 8, control);
	ir_add(f, (struct ir_insn){.op = IR_RETURN, .imm = 1});
}

/* Starts a function whose parameter `frame` is the frame's address. */
static void callback_begin(struct lower *l, struct caller *saved, const char *name, u32 nparams)
{
	struct lower_private *p = lower_private(l);
	struct ir_function *f;

	*saved = (struct caller){.f = l->f,
				 .private = *p,
				 .jumps = {l->break_block, l->continue_block},
				 .return_block = l->return_block,
				 .function_end = l->function_end,
				 .in_callback = l->in_callback};
	f = ir_function_new(l->ir, arena_printf(l->arena, "%s_%u", name, p->callbacks++));
	f->is_callback = true;
	f->nparams = nparams;
	f->span = saved->f->span;
	memset(&p->taken, 0, sizeof(p->taken));
	memset(&p->free, 0, sizeof(p->free));
	p->depth++;
	l->f = f;
	l->in_callback = true;
	l->break_block = ir_block_new(f, "break");
	l->continue_block = ir_block_new(f, "continue");
	l->return_block = ir_block_new(f, "return");
	if (l->function_end)
		l->function_end = ir_block_new(f, "function.end");
}

static struct ir_function *callback_end(struct lower *l, struct caller *saved)
{
	struct lower_private *p = lower_private(l);
	struct ir_function *f = l->f;
	const u32 callbacks = p->callbacks;

	ir_jump(f, l->continue_block);
	return_constant(f, l->continue_block, 0);
	return_constant(f, l->break_block, 1);
	return_with(f, l->return_block, p->frame, FRAME_RETURN);
	if (l->function_end)
		return_with(f, l->function_end, p->frame, FRAME_FUNCTION);
	vector_free(&p->taken);
	vector_free(&p->free);
	*p = saved->private;
	p->callbacks = callbacks;
	l->f = saved->f;
	l->break_block = saved->jumps.break_block;
	l->continue_block = saved->jumps.continue_block;
	l->return_block = saved->return_block;
	l->function_end = saved->function_end;
	l->in_callback = saved->in_callback;
	return f;
}

static ir_reg function_address(struct lower *l, struct ir_function *callback)
{
	const ir_reg r = ir_reg_new(l->f);

	ir_add(l->f, (struct ir_insn){.op = IR_FUNCTION,
				      .dst = r,
				      .imm = ir_function_index(l->ir, callback)});
	return r;
}

/* `return` inside the callback goes on here. */
static void after_callback(struct lower *l)
{
	const u32 on = ir_block_new(l->f, "for.end");
	const ir_reg frame = lower_private(l)->frame,
		     control = ir_load(l->f, frame, FRAME_CONTROL, 8, false);
	u32 rest, function;

	if (!l->function_end) {
		ir_branch_imm(l->f, IR_EQ, control, FRAME_RETURN, l->return_block, on);
		ir_switch_to(l->f, on);
		return;
	}
	rest = ir_block_new(l->f, "for.left");
	function = ir_block_new(l->f, "for.function");
	ir_branch_imm(l->f, IR_EQ, control, 0, on, rest);
	ir_switch_to(l->f, rest);
	ir_branch_imm(l->f, IR_EQ, control, FRAME_FUNCTION, function, l->return_block);
	ir_switch_to(l->f, function);
	ir_store_imm(l->f, frame, FRAME_CONTROL, 8, 0);
	ir_jump(l->f, l->function_end);
	ir_switch_to(l->f, on);
}

/*
 * Numbers that change from round to round of a callback. The verifier (6.8 and later) walks a
 * callback until a round begins in a state that it has seen. For that it drops what it knows of a
 * variable that is only counted, but not of one that is compared: with `if ($n++ < 5)` it would
 * walk a round for each value of $n. So each round forgets what is known of them, except of those
 * that end a while.
 */
struct forgetting {
	struct ast_walk walk;
	struct lower *l;
	ir_reg unknown;
	VECTOR(const struct variable_symbol *) done;
};

static void forget(struct forgetting *f, struct variable_symbol *v)
{
	struct lower *l = f->l;

	if (!v || !v->is_captured || v->is_bound || v->callback_depth >= lower_private(l)->depth ||
	    !type_is_integer(v->type))
		return;
	for (size_t i = 0; i < f->done.len; i++)
		if (f->done.items[i] == v)
			return;
	vector_push(&f->done, v);
	forget_number(l, v, f->unknown);
}

static void forget_in_expr(struct ast_walk *w, struct expr **slot)
{
	const struct expr *e = *slot;

	if (e->kind == EXPR_INCREMENT && e->left->kind == EXPR_VARIABLE)
		forget(container_of(w, struct forgetting, walk), e->left->variable);
	ast_walk_children(w, *slot);
}

static void forget_in_stmt(struct ast_walk *w, struct stmt **slot)
{
	const struct stmt *s = *slot;

	if (s->kind == STMT_ASSIGN && s->target->kind == EXPR_VARIABLE)
		forget(container_of(w, struct forgetting, walk), s->target->variable);
	ast_walk_stmt(w, *slot);
}

static void forget_written(struct lower *l, struct block *body, ir_reg unknown)
{
	struct forgetting f = {
		.walk = {.expr = forget_in_expr, .stmt = forget_in_stmt, .skip_types = true},
		.l = l,
		.unknown = unknown};

	ast_walk_block(&f.walk, body);
	vector_free(&f.done);
}

/* A number about which the verifier knows nothing: it does not track the bytes of keys. */
static ir_reg unknown_of_key(struct lower *l, const struct map_symbol *m, ir_reg key)
{
	if (m->key->size >= 8)
		return ir_load(l->f, key, 0, 8, false);
	return ir_binary(l->f, IR_SUB, ir_const(l->f, 0), ir_load(l->f, key, 0, 1, false));
}

/* $kv = (key, value), in the types that the loop variable has. */
static void store_pair(struct lower *l, struct stmt *s, struct map_symbol *m, ir_reg key,
		       ir_reg value)
{
	const struct type *pair = s->variable->type;
	const struct type_member *members = pair->members;
	struct value k = value_memory(m->key, key, 0, SPACE_BPF), v;
	ir_reg address = lower_variable_address(l, s->variable), copy;

	k.is_zero_padded = true;
	lower_zero(l, address, 0, pair->size);
	lower_store_value(l, address, 0, members[0].type, &k, s->span);
	if (type_is_aggregation(m->value)) {
		/*
		 * The value that the helper passes is this CPU's alone. The key is copied, because
		 * its memory may be the map's.
		 */
		lower_slot(l, m->key, "key", &copy);
		lower_store_value(l, copy, 0, m->key, &k, s->span);
		lower_map_read(l, m, copy, &v, s->span);
	} else {
		v = value_memory(m->value, value, 0, SPACE_BPF);
		v.is_zero_padded = true;
	}
	lower_store_value(l, lower_variable_address(l, s->variable), members[1].offset,
			  members[1].type, &v, s->span);
}

void lower_for_map(struct lower *l, struct stmt *s)
{
	struct map_symbol *m = s->value->map;
	struct ir_function *callback;
	struct caller saved;
	ir_reg key, value, frame;

	callback_begin(l, &saved, "for", 4);
	key = parameter(l->f, 1);
	value = parameter(l->f, 2);
	frame = parameter(l->f, 3);
	lower_private(l)->frame = frame;
	forget_written(l, s->body, unknown_of_key(l, m, key));
	lower_variables_begin(l, s->body);
	store_pair(l, s, m, key, value);
	lower_block(l, s->body);
	callback = callback_end(l, &saved);
	ir_call_n(l->f, BPF_FUNC_for_each_map_elem, ir_map(l->f, m->index),
		  function_address(l, callback), lower_private(l)->frame, ir_const(l->f, 0));
	after_callback(l);
}

/*
 * The loop variable is in the frame. If it starts from a constant it is that plus the number of the
 * round, about which the verifier knows nothing: of a variable that starts from a known value and
 * is compared it would walk every round. Otherwise each round adds one to it, and forgets it
 * likewise: in `$from..100` the verifier may know that $from is 0 or 1.
 */
static void loop_variable_next(struct lower *l, struct stmt *s, ir_reg index)
{
	const struct expr *begin = s->range_begin;
	struct value v;
	ir_reg next;

	if (begin->is_comptime_known) {
		next = ir_binary_imm(l->f, IR_ADD, ir_extend(l->f, index, 4, false),
				     begin->integer);
	} else {
		forget_number(l, s->variable, index);
		lower_variable_read(l, s->variable, &v);
		next = ir_binary_imm(l->f, IR_ADD, v.reg, 1);
	}
	v = value_register(type_int(8, true), next);
	lower_variable_write(l, s->variable, &v, s->span);
}

/*
 * For bpf_loop(): it is called with the number of the round, which is returned, and the caller's
 * frame.
 */
static ir_reg round_begin(struct lower *l, const struct stmt *s, struct caller *saved,
			  const char *name)
{
	ir_reg index;

	callback_begin(l, saved, name, 2);
	index = parameter(l->f, 0);
	lower_private(l)->frame = parameter(l->f, 1);
	forget_written(l, s->body, index);
	lower_variables_begin(l, s->body);
	return index;
}

static struct ir_function *range_callback(struct lower *l, struct stmt *s)
{
	struct caller saved;
	const ir_reg index = round_begin(l, s, &saved, "range");

	loop_variable_next(l, s, index);
	lower_block(l, s->body);
	return callback_end(l, &saved);
}

/* More rounds than the helper accepts: it would run none at all, or use the low 32 bits. */
static void refuse_rounds(struct lower *l, ir_reg rounds, u32 done, struct span at)
{
	struct ir_function *f = l->f;
	const u32 many = ir_block_new(f, "range.many"), run = ir_block_new(f, "range.run");

	ir_branch_imm(f, IR_GT, rounds, LOOP_ROUNDS_MAX, many, run);
	ir_switch_to(f, many);
	lower_runtime_error(l,
			    "The loop has more than 8388608 rounds, the most that the kernel "
			    "takes: none was run.",
			    at);
	ir_jump(f, done);
	ir_switch_to(f, run);
}

static void range_by_callback(struct lower *l, struct stmt *s)
{
	const ir_reg begin = ir_move(l->f, lower_scalar(l, s->range_begin)),
		     end = ir_move(l->f, lower_scalar(l, s->range_end));
	struct ir_function *const callback = range_callback(l, s), *const f = l->f;
	const u32 some = ir_block_new(f, "range"), done = ir_block_new(f, "range.end");
	struct value before;
	ir_reg rounds;

	ir_branch(f, IR_SLT, begin, end, some, done);
	ir_switch_to(f, some);
	rounds = ir_binary(f, IR_SUB, end, begin);
	if (!loop_range_rounds(s))
		refuse_rounds(l, rounds, done, s->span);
	if (!s->range_begin->is_comptime_known) {
		before = value_register(type_int(8, true), ir_binary_imm(f, IR_ADD, begin, -1));
		lower_variable_write(l, s->variable, &before, s->span);
	}
	ir_call_n(f, BPF_FUNC_loop, rounds, function_address(l, callback), lower_private(l)->frame,
		  ir_const(f, 0));
	ir_jump(f, done);
	ir_switch_to(f, done);
	after_callback(l);
}

static struct ir_function *while_callback(struct lower *l, struct stmt *s)
{
	struct caller saved;
	u32 body;

	round_begin(l, s, &saved, "while");
	body = ir_block_new(l->f, "while.body");
	lower_condition(l, s->condition, body, l->break_block);
	ir_switch_to(l->f, body);
	lower_block(l, s->body);
	return callback_end(l, &saved);
}

/*
 * bpf_loop() returns the number of rounds: after the last possible one the loop may not have ended.
 */
static void while_by_callback(struct lower *l, struct stmt *s)
{
	struct ir_function *const callback = while_callback(l, s), *const f = l->f;
	const u32 endless = ir_block_new(f, "while.endless"), done = ir_block_new(f, "while.end");
	const ir_reg rounds =
		ir_call_n(f, BPF_FUNC_loop, ir_const(f, LOOP_ROUNDS_MAX),
			  function_address(l, callback), lower_private(l)->frame, ir_const(f, 0));

	ir_branch_imm(f, IR_EQ, rounds, LOOP_ROUNDS_MAX, endless, done);
	ir_switch_to(f, endless);
	lower_runtime_error(
		l, "The loop has not ended after 8388608 rounds, the most that the kernel takes.",
		s->span);
	ir_jump(f, done);
	ir_switch_to(f, done);
	after_callback(l);
}

void lower_while(struct lower *l, struct stmt *s)
{
	if (s->is_callback)
		while_by_callback(l, s);
	else
		while_in_place(l, s);
}

void lower_for_range(struct lower *l, struct stmt *s)
{
	if (s->is_callback)
		range_by_callback(l, s);
	else
		range_in_place(l, s);
}
