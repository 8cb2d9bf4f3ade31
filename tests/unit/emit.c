/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The back end against this kernel: every kind of instruction, spilling, loops, callbacks, big
 * programs. */
#include "tap.h"

#include "emit_run.h"
#include "lang/ir/pass.h"

static struct run env;

struct test {
	struct arena arena;
	struct ir_program p;
	struct ir_function *f;
	struct bpf_code code;
};

static void begin(struct test *t)
{
	memset(t, 0, sizeof(*t));
	t->p = run_program(&t->arena);
	t->f = ir_function_new(&t->p, "test prog");
	t->f->span = (struct span){9, 12, 0};
	memset((void *)env.results, 0, NRESULTS * 8);
}

static s64 finish(struct test *t, bool v4)
{
	const struct emit_options options = {.has_cpu_v4 = v4};
	const s64 ret = run_ir(&env, &t->p, &options, &t->code);

	arena_release(&t->arena);
	return ret;
}

/* A value that the optimiser cannot know: argument i of the context. */
static ir_reg argument(struct ir_function *f, u32 i)
{
	return ir_load(f, ir_context(f), i * 8, 8, false);
}

/* The constant c, hidden from the optimiser. */
static ir_reg opaque(struct ir_function *f, s64 c)
{
	return ir_binary_imm(f, IR_ADD, argument(f, 0), (s64)((u64)c - run_args[0]));
}

static const s64 values[] = {0,	  1,	     -1,	2,	   7,		-7,
			     100, INT64_MIN, INT64_MAX, INT32_MIN, 0x123456789a};

/* All pairs of values, operands in registers and as constants, with and without cpu v4. */
static void test_arithmetic(enum ir_op op, bool v4, u32 hidden)
{
	struct test t;
	u32 n = 0, wrong = 0;

	begin(&t);
	for (u32 i = 0; i < ARRAY_SIZE(values); i++) {
		for (u32 j = 0; j < ARRAY_SIZE(values); j++) {
			const ir_reg a =
				hidden & 1 ? opaque(t.f, values[i]) : ir_const(t.f, values[i]);
			const ir_reg b =
				hidden & 2 ? opaque(t.f, values[j]) : ir_const(t.f, values[j]);

			emit_result(t.f, n++, ir_binary(t.f, op, a, b));
		}
	}
	ir_return(t.f, 0);
	if (!ok(finish(&t, v4) == 0, "arithmetic op %d v4 %d hidden %u loads", op, v4, hidden))
		return;
	n = 0;
	for (u32 i = 0; i < ARRAY_SIZE(values); i++)
		for (u32 j = 0; j < ARRAY_SIZE(values); j++, n++) {
			const s64 want = ir_evaluate(op, values[i], values[j]);

			if ((s64)env.results[n] == want)
				continue;
			wrong++;
			printf("# op %d: %lld, %lld gives %lld, want %lld\n", op,
			       (long long)values[i], (long long)values[j],
			       (long long)env.results[n], (long long)want);
		}
	is_int(wrong, 0, "arithmetic is right");
}

static void test_unary(bool v4)
{
	struct test t;
	u32 n = 0;

	begin(&t);
	for (u32 size = 1; size <= 4; size *= 2)
		for (u32 sign = 0; sign < 2; sign++) {
			emit_result(t.f, n++, ir_extend(t.f, argument(t.f, 3), size, sign));
			emit_result(t.f, n++, ir_extend(t.f, argument(t.f, 4), size, sign));
		}
	for (u32 size = 2; size <= 8; size *= 2) {
		const ir_reg r = ir_reg_new(t.f);

		ir_add(t.f,
		       (struct ir_insn){
			       .op = IR_BSWAP, .dst = r, .a = argument(t.f, 3), .size = (u8)size});
		emit_result(t.f, n++, r);
	}
	const ir_reg neg = ir_reg_new(t.f);

	ir_add(t.f, (struct ir_insn){.op = IR_NEG, .dst = neg, .a = argument(t.f, 4)});
	emit_result(t.f, n++, neg);
	ir_return(t.f, 0);
	is_int(finish(&t, v4), 0, "unary loads");
	n = 0;
	for (u32 size = 1; size <= 4; size *= 2)
		for (u32 sign = 0; sign < 2; sign++) {
			is_int((s64)env.results[n++], ir_extend_value((s64)run_args[3], size, sign),
			       "extend");
			is_int((s64)env.results[n++], ir_extend_value((s64)run_args[4], size, sign),
			       "extend");
		}
	is_int((s64)env.results[n++], 0x1122, "swap 2");
	is_int((s64)env.results[n++], 0x11223344, "swap 4");
	is_int((s64)env.results[n++], 0x1122334455667788, "swap 8");
	is_int((s64)env.results[n++], 5, "negate");
}

static void test_loads(bool v4)
{
	struct test t;
	u32 n = 0;

	begin(&t);
	const ir_reg s = ir_slot_address(t.f, ir_slot(t.f, 16, 8, "buffer"));

	ir_store_imm(t.f, s, 0, 8, (s64)0x8182838485868788);
	ir_store(t.f, s, 8, 8, argument(t.f, 3));
	for (u32 size = 1; size <= 8; size *= 2)
		for (u32 sign = 0; sign < 2; sign++)
			emit_result(t.f, n++, ir_load(t.f, s, 0, size, sign));
	const ir_reg d = ir_slot_address(t.f, ir_slot(t.f, 32, 8, "copy"));

	ir_zero(t.f, d, 0, 31);
	ir_copy(t.f, d, 1, s, 0, 15);
	emit_result(t.f, n++, ir_load(t.f, d, 0, 8, false));
	emit_result(t.f, n++, ir_load(t.f, d, 8, 8, false));
	ir_return(t.f, 0);
	is_int(finish(&t, v4), 0, "loads");
	n = 0;
	for (u32 size = 1; size <= 8; size *= 2)
		for (u32 sign = 0; sign < 2; sign++)
			is_int((s64)env.results[n++],
			       ir_extend_value((s64)0x8182838485868788, size, sign), "load");
	is_int((s64)env.results[n++], (s64)0x8283848586878800, "unaligned copy, first half");
	is_int((s64)env.results[n++], 0x7766554433221181, "unaligned copy, second half");
}

/* Many values that live across calls. */
static void test_pressure(u32 count, bool in_loop)
{
	ir_reg *regs = xmalloc(count * sizeof(*regs));
	u64 want = 0;
	struct test t;

	begin(&t);
	for (u32 i = 0; i < count; i++) {
		/* A sum could be a pointer and must stay on the stack; this cannot. */
		regs[i] = ir_binary_imm(t.f, IR_XOR, argument(t.f, 0),
					(s64)run_args[0] ^ (i * 3 + 1));
		if (i % 7 == 0)
			ir_call(t.f, BPF_FUNC_ktime_get_ns, 0, NULL);
	}
	if (in_loop) {
		const u32 head = ir_block_new(t.f, "head"), body = ir_block_new(t.f, "body"),
			  end = ir_block_new(t.f, "end");
		const ir_reg i = ir_reg_new(t.f);

		ir_assign_const(t.f, i, 0);
		ir_jump(t.f, head);
		ir_switch_to(t.f, head);
		ir_branch_imm(t.f, IR_LT, i, 3, body, end);
		ir_switch_to(t.f, body);
		for (u32 k = 0; k < count; k += 3)
			ir_assign(t.f, regs[k],
				  ir_binary(t.f, IR_ADD, regs[k], regs[count - 1 - k]));
		ir_call(t.f, BPF_FUNC_get_prandom_u32, 0, NULL);
		ir_assign(t.f, i, ir_binary_imm(t.f, IR_ADD, i, 1));
		ir_jump(t.f, head);
		ir_switch_to(t.f, end);
	}
	ir_call(t.f, BPF_FUNC_ktime_get_ns, 0, NULL);
	ir_reg sum = ir_const(t.f, 0);

	for (u32 i = 0; i < count; i++) {
		sum = ir_binary(t.f, IR_MUL, sum, ir_const(t.f, 31));
		sum = ir_binary(t.f, IR_ADD, sum, regs[i]);
	}
	emit_result(t.f, 0, sum);
	ir_return(t.f, 0);
	u64 *v = xmalloc(count * sizeof(*v));

	for (u32 i = 0; i < count; i++)
		v[i] = i * 3 + 1;
	for (u32 k = 0; in_loop && k < 3; k++)
		for (u32 i = 0; i < count; i += 3)
			v[i] += v[count - 1 - i];
	for (u32 i = 0; i < count; i++)
		want = want * 31 + v[i];
	if (ok(finish(&t, false) == 0, "%u values across calls%s", count,
	       in_loop ? " in a loop" : ""))
		is_int((s64)env.results[0], (s64)want, "sum");
	free(v);
	free(regs);
}

/* for (i = 0; i < 20; i++) for (j = i; j < 20; j++) if ((i ^ j) & 1) sum += i * j; else sum -= j;
 */
static void test_nested_loops(void)
{
	struct test t;
	s64 want = 0;

	begin(&t);
	const u32 head = ir_block_new(t.f, "outer"), inner = ir_block_new(t.f, "inner"),
		  body = ir_block_new(t.f, "body"), odd = ir_block_new(t.f, "odd"),
		  even = ir_block_new(t.f, "even"), next = ir_block_new(t.f, "next"),
		  outer_next = ir_block_new(t.f, "outer_next"), end = ir_block_new(t.f, "end");
	const ir_reg i = ir_reg_new(t.f), j = ir_reg_new(t.f), sum = ir_reg_new(t.f);

	ir_assign_const(t.f, i, 0);
	ir_assign_const(t.f, sum, 0);
	ir_jump(t.f, head);
	ir_switch_to(t.f, head);
	ir_assign(t.f, j, i);
	ir_branch_imm(t.f, IR_LT, i, 20, inner, end);
	ir_switch_to(t.f, inner);
	ir_branch_imm(t.f, IR_SLT, j, 20, body, outer_next);
	ir_switch_to(t.f, body);
	ir_branch_imm(t.f, IR_SET, ir_binary(t.f, IR_XOR, i, j), 1, odd, even);
	ir_switch_to(t.f, odd);
	ir_assign(t.f, sum, ir_binary(t.f, IR_ADD, sum, ir_binary(t.f, IR_MUL, i, j)));
	ir_jump(t.f, next);
	ir_switch_to(t.f, even);
	ir_assign(t.f, sum, ir_binary(t.f, IR_SUB, sum, j));
	ir_jump(t.f, next);
	ir_switch_to(t.f, next);
	ir_assign(t.f, j, ir_binary_imm(t.f, IR_ADD, j, 1));
	ir_jump(t.f, inner);
	ir_switch_to(t.f, outer_next);
	ir_assign(t.f, i, ir_binary_imm(t.f, IR_ADD, i, 1));
	ir_jump(t.f, head);
	ir_switch_to(t.f, end);
	ir_return(t.f, sum);
	for (s64 x = 0; x < 20; x++)
		for (s64 y = x; y < 20; y++)
			want += ((x ^ y) & 1) ? x * y : -y;
	is_int(finish(&t, true), (s64)(u32)want, "nested loops");
}

/* r is set on both sides of a diamond, once as a constant; jumps over unreachable code. */
static void test_diamond(void)
{
	struct test t;

	begin(&t);
	const u32 yes = ir_block_new(t.f, "yes"), no = ir_block_new(t.f, "no"),
		  join = ir_block_new(t.f, "join"), dead = ir_block_new(t.f, "dead");
	const ir_reg r = ir_reg_new(t.f);

	ir_branch_imm(t.f, IR_GT, argument(t.f, 1), 20, yes, no);
	ir_switch_to(t.f, yes);
	ir_assign_const(t.f, r, 1000);
	ir_jump(t.f, join);
	ir_switch_to(t.f, no);
	ir_assign(t.f, r, argument(t.f, 2));
	ir_jump(t.f, join);
	ir_switch_to(t.f, dead);
	ir_assign_const(t.f, r, 5);
	ir_jump(t.f, join);
	ir_switch_to(t.f, join);
	ir_return(t.f, ir_binary(t.f, IR_ADD, r, argument(t.f, 0)));
	ir_assign_const(t.f, r, 7); /* after a return */
	is_int(finish(&t, false), 1011, "diamond");
}

static void test_maps(void)
{
	struct test t;

	begin(&t);
	const ir_reg key = ir_slot_address(t.f, ir_slot(t.f, 8, 8, "key"));
	const ir_reg value = ir_slot_address(t.f, ir_slot(t.f, 8, 8, "value"));
	const u32 found = ir_block_new(t.f, "found"), fail = ir_block_new(t.f, "fail");

	ir_store(t.f, key, 0, 8, argument(t.f, 0));
	ir_store_imm(t.f, value, 0, 8, 40);
	ir_call_n(t.f, BPF_FUNC_map_update_elem, ir_map(t.f, HASH), key, value,
		  ir_const(t.f, BPF_ANY));
	const ir_reg e = ir_call_n(t.f, BPF_FUNC_map_lookup_elem, ir_map(t.f, HASH), key);

	ir_branch_imm(t.f, IR_EQ, e, 0, fail, found);
	ir_switch_to(t.f, found);
	ir_add(t.f,
	       (struct ir_insn){.op = IR_ATOMIC_ADD, .a = e, .b = ir_const(t.f, 2), .size = 8});
	const ir_reg old = ir_reg_new(t.f), swapped = ir_reg_new(t.f), missed = ir_reg_new(t.f);

	ir_add(t.f,
	       (struct ir_insn){
		       .op = IR_ATOMIC_ADD, .dst = old, .a = e, .b = ir_const(t.f, 8), .size = 8});
	emit_result(t.f, 0, old);
	ir_add(t.f, (struct ir_insn){.op = IR_ATOMIC_CMPXCHG,
				     .dst = swapped,
				     .a = e,
				     .b = ir_const(t.f, 50),
				     .c = argument(t.f, 1)});
	ir_add(t.f, (struct ir_insn){.op = IR_ATOMIC_CMPXCHG,
				     .dst = missed,
				     .a = e,
				     .b = ir_const(t.f, 50),
				     .c = ir_const(t.f, 99)});
	emit_result(t.f, 1, swapped);
	emit_result(t.f, 2, missed);
	emit_result(t.f, 3, ir_load(t.f, e, 0, 8, false));
	ir_return(t.f, ir_const(t.f, 1));
	ir_switch_to(t.f, fail);
	ir_return(t.f, 0);
	is_int(finish(&t, true), 1, "maps");
	is_int((s64)env.results[0], 42, "fetch and add");
	is_int((s64)env.results[1], 50, "compare and exchange");
	is_int((s64)env.results[2], 22, "compare and exchange that fails");
	is_int((s64)env.results[3], 22, "value");
}

/* Large slots lie in scratch memory; slots of all functions are distinct. */
static void test_scratch(void)
{
	struct test t;
	ir_reg s[8], sum;

	begin(&t);
	for (u32 i = 0; i < 7; i++) {
		s[i] = ir_slot_address(t.f, ir_slot(t.f, 4096, 8, "page"));
		ir_store(t.f, s[i], 4088, 8, opaque(t.f, i + 1));
		ir_store(t.f, s[i], 0, 8, opaque(t.f, 100 * i));
	}
	ir_call(t.f, BPF_FUNC_ktime_get_ns, 0, NULL);
	sum = ir_const(t.f, 0);
	for (u32 i = 0; i < 7; i++) {
		sum = ir_binary(t.f, IR_ADD, sum, ir_load(t.f, s[i], 4088, 8, false));
		sum = ir_binary(t.f, IR_ADD, sum, ir_load(t.f, s[i], 0, 8, false));
	}
	/* A helper that writes into scratch. */
	const ir_reg comm = ir_binary_imm(t.f, IR_ADD, s[3], 64);

	ir_call_n(t.f, BPF_FUNC_get_current_comm, comm, ir_const(t.f, 16));
	emit_result(t.f, 0, ir_load(t.f, comm, 0, 4, false));
	ir_return(t.f, sum);
	is_int(finish(&t, false), 28 + 2100, "scratch slots");
	ok(!memcmp((void *)env.results, program_invocation_short_name, 4),
	   "helper wrote into scratch");
}

/* bpf_loop with a callback that has its own scratch, and a subprogram with five parameters. */
static void test_functions(void)
{
	struct test t;
	struct ir_function *callback, *sub, *unused;
	ir_reg args[5];

	begin(&t);
	callback = ir_function_new(&t.p, "add-one");
	callback->is_callback = true;
	callback->nparams = 2;
	sub = ir_function_new(&t.p, "sub");
	sub->nparams = 5;
	unused = ir_function_new(&t.p, "unused");
	ir_return(unused, 0);

	const ir_reg index = ir_reg_new(callback), context = ir_reg_new(callback);

	ir_add(callback, (struct ir_insn){.op = IR_PARAM, .dst = index, .imm = 0});
	ir_add(callback, (struct ir_insn){.op = IR_PARAM, .dst = context, .imm = 1});
	const ir_reg page = ir_slot_address(callback, ir_slot(callback, 2048, 8, "page"));

	ir_store(callback, page, 1000, 8, index);
	ir_call(callback, BPF_FUNC_ktime_get_ns, 0, NULL);
	ir_store(callback, context, 0, 8,
		 ir_binary(callback, IR_ADD, ir_load(callback, context, 0, 8, false),
			   ir_load(callback, page, 1000, 8, false)));
	ir_return(callback, 0);

	ir_reg sum = ir_const(sub, 0);

	for (u32 i = 0; i < 5; i++) {
		args[i] = ir_reg_new(sub);
		ir_add(sub, (struct ir_insn){.op = IR_PARAM, .dst = args[i], .imm = i});
	}
	for (u32 i = 0; i < 5; i++)
		sum = ir_binary(sub, IR_ADD, ir_binary_imm(sub, IR_MUL, sum, 10), args[i]);
	ir_return(sub, sum);

	const u32 big = ir_slot(t.f, 3000, 8, "big");
	const ir_reg state = ir_slot_address(t.f, ir_slot(t.f, 8, 8, "state"));
	const ir_reg function = ir_reg_new(t.f), result = ir_reg_new(t.f);

	ir_store_imm(t.f, state, 0, 8, 0);
	ir_store(t.f, ir_slot_address(t.f, big), 1000, 8, opaque(t.f, 12345));
	ir_add(t.f, (struct ir_insn){.op = IR_FUNCTION, .dst = function, .imm = 1});
	ir_call_n(t.f, BPF_FUNC_loop, ir_const(t.f, 100), function, state, ir_const(t.f, 0));
	emit_result(t.f, 0, ir_load(t.f, state, 0, 8, false));
	emit_result(t.f, 1, ir_load(t.f, ir_slot_address(t.f, big), 1000, 8, false));
	struct ir_insn call = {.op = IR_CALL_FUNCTION, .dst = result, .imm = 2, .nargs = 5};

	for (u32 i = 0; i < 5; i++)
		call.args[i] = i == 2 ? ir_const(t.f, 3) : opaque(t.f, i + 1);
	ir_add(t.f, call);
	ir_return(t.f, result);
	is_int(finish(&t, true), 12345, "subprogram and callback");
	is_int((s64)env.results[0], 4950, "bpf_loop");
	is_int((s64)env.results[1], 12345, "scratch of two functions does not overlap");
}

/* A bounds check of a value that is spilled must still hold where the value is used. */
static void test_spilled_check(void)
{
	struct test t;
	ir_reg regs[24];

	begin(&t);
	const u32 low = ir_block_new(t.f, "low"), high = ir_block_new(t.f, "high");
	const ir_reg buffer = ir_slot_address(t.f, ir_slot(t.f, 64, 8, "buffer"));
	const ir_reg size = argument(t.f, 1);

	ir_zero(t.f, buffer, 0, 64);
	for (u32 i = 0; i < ARRAY_SIZE(regs); i++)
		regs[i] = opaque(t.f, i);
	ir_call(t.f, BPF_FUNC_ktime_get_ns, 0, NULL);
	ir_branch_imm(t.f, IR_GT, size, 64, high, low);
	ir_switch_to(t.f, low);
	ir_call(t.f, BPF_FUNC_ktime_get_ns, 0, NULL);
	for (u32 k = 0; k < 4; k++)
		for (u32 i = 1; i < ARRAY_SIZE(regs); i++)
			ir_assign(t.f, regs[i], ir_binary(t.f, IR_ADD, regs[i], regs[i - 1]));
	ir_call_n(t.f, BPF_FUNC_probe_read_kernel, buffer, size, ir_const(t.f, 0));
	for (u32 i = 0; i < ARRAY_SIZE(regs); i++)
		emit_result(t.f, i, regs[i]);
	ir_return(t.f, ir_const(t.f, 1));
	ir_switch_to(t.f, high);
	ir_return(t.f, 0);
	is_int(finish(&t, false), 1, "check of a spilled value");
}

static void test_big(u32 statements)
{
	struct test t;
	u64 want = 1;

	begin(&t);
	const ir_reg sum = ir_reg_new(t.f);
	const u32 fail = ir_block_new(t.f, "fail");

	ir_assign_const(t.f, sum, 1);
	for (u32 i = 0; i < statements; i++) {
		const u32 next = ir_block_new(t.f, NULL);

		ir_assign(t.f, sum, ir_binary_imm(t.f, IR_MUL, sum, 3));
		ir_assign(t.f, sum, ir_binary(t.f, IR_ADD, sum, opaque(t.f, i)));
		want = want * 3 + i;
		ir_branch_imm(t.f, IR_EQ, argument(t.f, 0), 999, fail, next);
		ir_switch_to(t.f, next);
	}
	emit_result(t.f, 0, sum);
	ir_return(t.f, ir_const(t.f, 1));
	ir_switch_to(t.f, fail);
	ir_return(t.f, 0);
	if (ok(finish(&t, true) == 1, "big program"))
		printf("# %u instructions\n", t.code.count);
	is_int((s64)env.results[0], (s64)want, "big program's result");
}

int main(void)
{
	const int error = run_open(&env);

	if (error) {
		tap_skip("back end", strerror(-error));
		return tap_done();
	}
	test_diamond();
	test_unary(false);
	test_unary(true);
	test_loads(false);
	test_loads(true);
	for (enum ir_op op = IR_ADD; op <= IR_SAR; op++)
		for (u32 hidden = 0; hidden < 4; hidden++)
			test_arithmetic(op, hidden == 3, hidden);
	test_arithmetic(IR_SDIV, false, 3);
	test_arithmetic(IR_SMOD, false, 3);
	test_nested_loops();
	test_maps();
	test_scratch();
	test_functions();
	test_spilled_check();
	test_pressure(30, false);
	test_pressure(30, true);
	test_pressure(200, false);
	test_pressure(200, true);
	test_big(5000);
	test_big(7500); /* jumps beyond 16 bits; the verifier allows 8192 open branches */
	run_close(&env);
	return tap_done();
}
