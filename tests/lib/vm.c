// SPDX-License-Identifier: MIT
/* The filters' bytecode: what is refused, and that all ways to run one agree. */
#include "../../lib/vm.h"
#include "../unit/tap.h"
#include <errno.h>
#include <pantrace/ring.h>
#include <stdlib.h>

struct image {
	struct pt_vm_image head;
	struct bpf_insn insns[64];
};

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define LOAD(d, s, o)	  INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define LOAD32(d, s, o)	  INSN(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define SET(d, i)	  INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define COPY(d, s)	  INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ADD(d, i)	  INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define JUMP(op, d, i, o) INSN(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define CALL(i)		  INSN(BPF_JMP | BPF_CALL, 0, 0, 0, i)
#define EXIT		  INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static struct pt_vm *vm;

static int load(const struct bpf_insn *insns, uint32_t n)
{
	struct image image = {.head = {.magic = PT_VM_MAGIC,
				       .version = PT_VM_VERSION,
				       .nr_insns = n,
				       .scratch_size = 64}};

	vm = NULL;
	memcpy(image.insns, insns, n * sizeof(*insns));
	return pt_vm_load(&image, sizeof(image.head) + n * sizeof(*insns), &vm, NULL);
}

#define LOAD_PROGRAM(...)                            \
	load((const struct bpf_insn[]){__VA_ARGS__}, \
	     sizeof((const struct bpf_insn[]){__VA_ARGS__}) / sizeof(struct bpf_insn))

static const unsigned char types[] = {PANTRACE_T_I32,
				      PANTRACE_T_STRING,
				      PANTRACE_T_U16,
				      PANTRACE_T_TEXT,
				      PANTRACE_T_SEQUENCE | PANTRACE_T_I32,
				      PANTRACE_T_F32,
				      PANTRACE_T_END};

static size_t record_make(unsigned char *record, int32_t first)
{
	static const unsigned char rest[] =
		"hello\0\x34\x12\x03\0abc\x02\0\x01\0\0\0\xff\xff\xff\xff";
	const float f = 1.5f;

	memset(record, 0, 12);
	memcpy(record + 12, &first, 4);
	memcpy(record + 16, rest, sizeof(rest) - 1);
	memcpy(record + 16 + sizeof(rest) - 1, &f, 4);
	return 16 + sizeof(rest) - 1 + 4;
}

static void check_refused(void)
{
	is_int(LOAD_PROGRAM(EXIT), -EPERM, "a result without a value");
	is_int(LOAD_PROGRAM(SET(0, 1)), -EINVAL, "no end");
	is_int(LOAD_PROGRAM(COPY(0, 5), EXIT), -EPERM, "a register without a value");
	is_int(LOAD_PROGRAM(SET(10, 1), SET(0, 1), EXIT), -EPERM, "a write to r10");
	is_int(LOAD_PROGRAM(JUMP(BPF_JEQ, 1, 0, 5), SET(0, 1), EXIT), -EINVAL,
	       "a jump behind the end");
	is_int(LOAD_PROGRAM(JUMP(BPF_JEQ, 1, 0, -2), SET(0, 1), EXIT), -EINVAL,
	       "a jump before the begin");
	is_int(LOAD_PROGRAM(JUMP(BPF_JEQ, 1, 0, 1), SET(0, 1), EXIT), -EPERM,
	       "one way without a result");
	is_int(LOAD_PROGRAM(CALL(BPF_FUNC_probe_write_user), SET(0, 1), EXIT), -EPERM,
	       "a helper that writes");
	is_int(LOAD_PROGRAM(INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, 7),
			    INSN(0, 0, 0, 0, 0), SET(0, 0), EXIT),
	       -EPERM, "another map");
	is_int(LOAD_PROGRAM(JUMP(BPF_JEQ, 1, 0, 1), INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 7),
			    INSN(0, 0, 0, 0, 0), SET(0, 0), EXIT),
	       -EINVAL, "a jump into an instruction");
	is_int(LOAD_PROGRAM(INSN(0xe0, 0, 0, 0, 0), EXIT), -EINVAL, "the interpreter's own codes");
	is_int(LOAD_PROGRAM(SET(0, 1), INSN(BPF_ALU64 | BPF_DIV | BPF_K, 0, 0, 0, 0), EXIT),
	       -EINVAL, "a division by 0");
	is_int(LOAD_PROGRAM(SET(0, 1), CALL(BPF_FUNC_ktime_get_ns), COPY(0, 1), EXIT), -EPERM,
	       "an argument after the call that took it");
}

static uint64_t run(int32_t first)
{
	unsigned char record[80];
	struct pt_vm_view view;
	const size_t size = record_make(record, first);

	pt_vm_view_make(types, &view);
	return pt_vm_run(vm, &view, record, size);
}

static void check_hostile(void)
{
	int64_t address = (int64_t)(uintptr_t)&vm;

	is_int(LOAD_PROGRAM(SET(0, 0), JUMP(BPF_JA, 0, 0, -1)), 0,
	       "a loop without a way out is loaded");
	is_int((long long)run(1), 1, "and ended");
	is_int(LOAD_PROGRAM(SET(0, 0), ADD(0, 0), JUMP(BPF_JEQ, 0, 0, -2), EXIT), 0,
	       "a loop is loaded");
	is_int((long long)run(1), 1, "and ended");
	is_int(LOAD_PROGRAM(INSN(BPF_LD | BPF_IMM | BPF_DW, 2, 0, 0, (int32_t)address),
			    INSN(0, 0, 0, 0, (int32_t)(address >> 32)), LOAD(0, 2, 0), SET(0, 0),
			    EXIT),
	       0, "a read of the program's memory is loaded");
	is_int((long long)run(1), 1, "and refused: the event is recorded");
	is_int(LOAD_PROGRAM(COPY(2, 1), INSN(BPF_STX | BPF_MEM | BPF_DW, 2, 1, 0, 0), SET(0, 0),
			    EXIT),
	       0, "a write to the context is loaded");
	is_int((long long)run(1), 1, "and refused");
	is_int(LOAD_PROGRAM(LOAD(2, 1, 8), INSN(BPF_LDX | BPF_MEM | BPF_B, 3, 2, 60, 0), SET(0, 0),
			    EXIT),
	       0, "a read behind the record is loaded");
	is_int((long long)run(1), 1, "and refused");
	is_int(LOAD_PROGRAM(COPY(1, 10), ADD(1, -8), SET(2, 4000), SET(3, 0),
			    CALL(BPF_FUNC_probe_read_user), SET(0, 0), EXIT),
	       0, "a copy over the stack is loaded");
	is_int((long long)run(1), 1, "and refused");
}

static void check_fields(void)
{
	is_int(LOAD_PROGRAM(LOAD(0, 1, 0), EXIT), 0, "a field");
	is_int((long long)run(-7), -7, "is extended by its sign");
	LOAD_PROGRAM(LOAD(0, 1, 16), EXIT);
	is_int((long long)run(1), 0x1234, "a field behind a string");
	LOAD_PROGRAM(LOAD(0, 1, (PT_VM_LENGTHS + 3) * 8), EXIT);
	is_int((long long)run(1), 3, "length of a text");
	LOAD_PROGRAM(LOAD(2, 1, 32), INSN(BPF_LDX | BPF_MEM | BPF_W, 0, 2, 4, 0), EXIT);
	is_int((long long)run(1), 0xffffffff, "element of a sequence");
	LOAD_PROGRAM(LOAD(2, 1, 24), INSN(BPF_LDX | BPF_MEM | BPF_W, 0, 2, 0, 0), EXIT);
	is_int((long long)run(1), 0x00636261, "a text ends as strings do");
	LOAD_PROGRAM(LOAD(0, 1, 40), EXIT);
	is_int((long long)run(1), 0x3ff8000000000000, "a float is a double");
	LOAD_PROGRAM(LOAD(0, 1, 48), EXIT);
	is_int((long long)run(1), 0, "a field that is not there");
}

/* One comparison three ways: as a range, as a quick program, and interpreted (behind an instruction
 * more). */
static void check_agree(void)
{
	static const uint8_t ops[] = {BPF_JEQ, BPF_JNE,	 BPF_JGT,  BPF_JGE,  BPF_JLT,
				      BPF_JLE, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE};
	static const int32_t values[] = {0, 1, -1, 5, 4, 6, INT32_MAX, INT32_MIN, -5, 100000};
	unsigned char record[80];
	struct pt_vm_view view;
	int wrong = 0, ranges = 0;

	pt_vm_view_make(types, &view);
	for (size_t o = 0; o < sizeof(ops); o++)
		for (size_t w = 0; w < 10; w++)
			for (int extends = 0; extends < 2; extends++) {
				struct bpf_insn p[] = {
					SET(5, 0), LOAD32(0, 1, 0), JUMP(ops[o], 0, values[w], 1),
					SET(5, 1), COPY(0, 5),	    EXIT};
				struct bpf_insn slow[] = {SET(5, 0), p[1],	 ADD(0, 0), p[2],
							  SET(5, 1), COPY(0, 5), EXIT};
				struct pt_vm_range range;
				struct pt_vm *quick;

				p[1].code = slow[1].code =
					extends ? BPF_LDX | 0x80 | BPF_W : p[1].code;
				load(p, 6);
				quick = vm;
				load(slow, 7);
				range = pt_vm_range_of(quick, &view);
				ranges += range.is_so;
				for (size_t v = 0; v < 10; v++) {
					const size_t size = record_make(record, values[v]);
					const bool a = pt_vm_run(quick, &view, record, size);
					const bool b = pt_vm_run(vm, &view, record, size);

					wrong += a != b ||
						 (range.is_so &&
						  a != pt_vm_range_accepts(&range, record));
				}
				pt_vm_unload(quick);
				pt_vm_unload(vm);
			}
	is_int(wrong, 0, "2000 comparisons agree");
	is_int(ranges, 200, "all as ranges, too");
}

int main(void)
{
	check_refused();
	check_hostile();
	check_fields();
	check_agree();
	return tap_done();
}
