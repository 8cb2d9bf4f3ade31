/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The IR by itself: what the verifier refuses, what the optimiser leaves, where slots go. Runs
 * without any privilege. */
#include "tap.h"

#include <linux/bpf.h>

#include "lang/bpf/emit.h"

struct test {
	struct arena arena;
	struct ir_program p;
	struct ir_function *f;
	struct diag diag;
	struct bpf_code code;
	struct strbuf text;
};

static void begin(struct test *t)
{
	*t = (struct test){.diag = DIAG_INIT, .text = STRBUF_INIT};
	t->p = (struct ir_program){.arena = &t->arena, .name = "p", .scratch_map = 2};
	t->f = ir_function_new(&t->p, "main");
}

static void end(struct test *t)
{
	strbuf_release(&t->text);
	diag_release(&t->diag);
	arena_release(&t->arena);
}

/* Compiles; the disassembly is in t->text. */
static int compile(struct test *t)
{
	const struct emit_options options = {.has_cpu_v4 = true};
	int r;

	ir_assign_slots(&t->p);
	r = emit_program(&t->p, &t->diag, &t->diag, &options, &t->code);
	if (!r)
		emit_dump(&t->text, &t->p, &t->code);
	return r;
}

static void is_code(struct test *t, const char *want, const char *name)
{
	is_int(compile(t), 0, name);
	is_str(t->text.data, want, name);
	end(t);
}

static void test_verify(void)
{
	struct test t;
	const char *problem;

	begin(&t);
	problem = ir_verify(&t.arena, &t.p);
	ok(problem && strstr(problem, "does not end"), "a block without end");
	ir_jump(t.f, 7);
	problem = ir_verify(&t.arena, &t.p);
	ok(problem && strstr(problem, "does not exist"), "a jump to nowhere");
	end(&t);

	begin(&t);
	ir_return(t.f, ir_reg_new(t.f));
	problem = ir_verify(&t.arena, &t.p);
	ok(problem && strstr(problem, "never assigned"), "a register without definition");
	is_int(compile(&t), -EINVAL, "and the back end refuses it too");
	is_int(t.diag.errors, 1, "with a diagnostic");
	end(&t);

	begin(&t);
	ir_return(t.f, 0);
	ir_add(t.f, (struct ir_insn){.op = IR_MOVE, .dst = ir_reg_new(t.f), .a = ir_const(t.f, 1)});
	ok(!ir_verify(&t.arena, &t.p), "code after a return need not end");
	end(&t);
}

static void test_folding(void)
{
	struct test t;
	ir_reg a;

	begin(&t);
	a = ir_binary(t.f, IR_MUL, ir_const(t.f, 6), ir_const(t.f, 7));
	ir_return(t.f, ir_extend(t.f, a, 4, true));
	is_code(&t, "p:\n     0: r0 = 42\n     1: exit\n", "constants are folded");

	begin(&t);
	a = ir_load(t.f, ir_binary_imm(t.f, IR_ADD, ir_context(t.f), 8), 8, 4, false);
	ir_return(t.f, ir_move(t.f, a));
	is_code(&t, "p:\n     0: r0 = *(u32 *)(r1 +16)\n     1: exit\n",
		"offsets are folded, copies are gone");

	begin(&t);
	a = ir_const(t.f, 1);
	const u32 yes = ir_block_new(t.f, "yes"), no = ir_block_new(t.f, "no");

	ir_branch_imm(t.f, IR_SGT, a, -1, yes, no);
	ir_switch_to(t.f, no);
	ir_call(t.f, BPF_FUNC_ktime_get_ns, 0, NULL);
	ir_return(t.f, a);
	ir_switch_to(t.f, yes);
	ir_return(t.f, 0);
	is_code(&t, "p:\n     0: r0 = 0\n     1: exit\n",
		"a decided branch and its dead side are gone");
}

static void test_arguments(void)
{
	struct test t;
	ir_reg key, value;

	begin(&t);
	key = ir_slot_address(t.f, ir_slot(t.f, 8, 8, "key"));
	value = ir_slot_address(t.f, ir_slot(t.f, 8, 8, "value"));
	ir_store_imm(t.f, key, 0, 8, 1);
	ir_store(t.f, value, 0, 8, ir_call(t.f, BPF_FUNC_ktime_get_ns, 0, NULL));
	ir_call_n(t.f, BPF_FUNC_map_update_elem, ir_map(t.f, 5), key, value, ir_const(t.f, 0));
	ir_return(t.f, 0);
	is_code(&t,
		"p:\n"
		"     0: *(u64 *)(r10 -8) = 1\n"
		"     1: call ktime_get_ns#5\n"
		"     2: *(u64 *)(r10 -16) = r0\n"
		"     3: r1 = map[5]\n"
		"     5: r2 = r10\n"
		"     6: r2 += -8\n"
		"     7: r3 = r10\n"
		"     8: r3 += -16\n"
		"     9: r4 = 0\n"
		"    10: call map_update_elem#2\n"
		"    11: r0 = 0\n"
		"    12: exit\n",
		"arguments are made in place");
}

/* An event that a predicate drops does not look scratch memory up. */
static void test_late_scratch(void)
{
	struct test t;
	ir_reg buffer;

	begin(&t);
	const u32 rest = ir_block_new(t.f, "rest"), out = ir_block_new(t.f, "out");

	ir_branch_imm(t.f, IR_EQ, ir_load(t.f, ir_context(t.f), 0, 8, false), 0, out, rest);
	ir_switch_to(t.f, out);
	ir_return(t.f, 0);
	ir_switch_to(t.f, rest);
	buffer = ir_slot_address(t.f, ir_slot(t.f, 1000, 8, "buffer"));
	ir_call_n(t.f, BPF_FUNC_get_current_comm, buffer, ir_const(t.f, 16));
	ir_return(t.f, 0);
	is_int(compile(&t), 0, "scratch");
	ok(strstr(t.text.data, "0: r1 = *(u64 *)(r1 +0)") || strstr(t.text.data, "*(u64 *)(r1 +0)"),
	   "the predicate needs no scratch");
	ok(strstr(t.text.data, "== 0 goto") < strstr(t.text.data, "map_lookup_elem"),
	   "the look-up comes after the predicate");
	is_int(t.p.scratch_size, 1000, "size of scratch");
	end(&t);
}

static void test_sharing(void)
{
	struct test t;

	begin(&t);
	for (u32 i = 0; i < 10; i++) {
		const ir_reg a = ir_slot_address(t.f, ir_slot(t.f, 1024, 8, "string"));

		ir_call_n(t.f, BPF_FUNC_get_current_comm, a, ir_const(t.f, 16));
		ir_store(t.f, a, 16, 8, ir_load(t.f, a, 0, 8, false));
	}
	ir_return(t.f, 0);
	ir_assign_slots(&t.p);
	is_int(t.p.scratch_size, 1024, "slots that are used one after the other share a place");
	end(&t);

	begin(&t);
	ir_reg a[4];

	for (u32 i = 0; i < 4; i++) {
		a[i] = ir_slot_address(t.f, ir_slot(t.f, 512, 8, "string"));
		ir_store_imm(t.f, a[i], 0, 8, 0);
	}
	/* The address of the third goes where it cannot be followed. */
	ir_store(t.f, a[0], 8, 8, a[2]);
	ir_store(t.f, a[3], 0, 8, ir_load(t.f, a[0], 0, 8, false));
	ir_return(t.f, 0);
	ir_assign_slots(&t.p);
	is_int(t.p.scratch_size, 3 * 512, "slots in use at the same time do not");
	end(&t);
}

static void test_limits(void)
{
	struct test t;
	struct ir_function *sub;

	begin(&t);
	t.p.scratch_map = IR_NO_MAP;
	ir_store_imm(t.f, ir_slot_address(t.f, ir_slot(t.f, 600, 8, "big")), 0, 8, 0);
	ir_return(t.f, 0);
	is_int(compile(&t), -E2BIG, "stack beyond 512 bytes");
	is_int(t.diag.errors, 1, "with a diagnostic");
	end(&t);

	begin(&t);
	sub = ir_function_new(&t.p, "never called");
	ir_return(sub, 0);
	ir_return(t.f, 0);
	is_int(compile(&t), 0, "unused function");
	is_int(t.code.nfunc_info, 1, "is left out");
	end(&t);
}

static void test_dump(void)
{
	struct test t;
	const u32 b = 1;

	begin(&t);
	ir_call(t.f, BPF_FUNC_user_ringbuf_drain, 0, NULL);
	ir_jump(t.f, b);
	ir_block_new(t.f, "out");
	ir_switch_to(t.f, b);
	ir_return(t.f, 0);
	ir_dump(&t.text, &t.p);
	is_str(t.text.data,
	       "program p\n"
	       "function main(0)\n"
	       "    b0_entry:\n"
	       "\t%1 = call user_ringbuf_drain()\n"
	       "\tjump b1_out\n"
	       "    b1_out:\n"
	       "\treturn 0\n",
	       "dump");
	end(&t);
	is_str(bpf_helper_name(1), "map_lookup_elem", "first helper");
	is_str(bpf_helper_name(208), "ktime_get_tai_ns", "a late helper");
	is_str(bpf_helper_name(100000), NULL, "unknown helper");
}

int main(void)
{
	test_verify();
	test_folding();
	test_arguments();
	test_late_scratch();
	test_sharing();
	test_limits();
	test_dump();
	return tap_done();
}
