// SPDX-License-Identifier: MIT
/* The filters' bytecode: what is refused, and that all ways to run one agree. */
#include "../unit/tap.h"
#include "vm_reference.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	LOAD_PROGRAM(SET(0, 9), LOAD32(1, 1, 0), INSN(BPF_JMP | BPF_JSET | BPF_K, 1, 0, -2, 1 << 8),
		     EXIT);
	is_int((long long)run(4), 9, "a field of what is the context at first, and a number later");
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

/* ---- every instruction ---- */

#define A 0x8877665544332211ull
#define B 0xfffffffffffffffbull /* -5 */
#define C 0x00000000cafe0007ull
#define WIDE(d, v)                                              \
	INSN(BPF_LD | BPF_IMM | BPF_DW, d, 0, 0, (int32_t)(v)), \
		INSN(0, 0, 0, 0, (int32_t)((v) >> 32))
enum { PADS = 40, BEFORE = 11, AFTER = 7, FRAME = BEFORE + 2 + PADS + AFTER };

/*
 * INSN among instructions that give registers values, count where it went, and make 32 bits of all.
 */
static uint32_t frame_make(struct bpf_insn *frame, const struct bpf_insn *insn)
{
	const struct bpf_insn before[BEFORE] = {
		WIDE(0, A), WIDE(2, B), WIDE(3, C), SET(4, 5),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 2, -8, 0),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 3, -16, 0), COPY(5, 10),
		/* so that what is behind a jump is not beyond reach */
		JUMP(BPF_JEQ, 4, 77, 1)};
	const struct bpf_insn after[AFTER] = {INSN(BPF_ALU64 | BPF_XOR | BPF_X, 0, 3, 0, 0),
					      INSN(BPF_LDX | BPF_MEM | BPF_DW, 2, 10, -8, 0),
					      INSN(BPF_ALU64 | BPF_ADD | BPF_X, 0, 2, 0, 0),
					      COPY(2, 0),
					      INSN(BPF_ALU64 | BPF_RSH | BPF_K, 2, 0, 0, 32),
					      INSN(BPF_ALU64 | BPF_XOR | BPF_X, 0, 2, 0, 0),
					      EXIT};
	const bool is_two = insn->code == (BPF_LD | BPF_IMM | BPF_DW);
	uint32_t n = BEFORE;

	memcpy(frame, before, sizeof(before));
	frame[n++] = *insn;
	if (is_two) {
		frame[n++] = INSN(0, 0, 0, 0, insn->imm);
		frame[BEFORE - 1].off = 2;
	}
	for (int i = 0; i < PADS; i++)
		frame[n++] = ADD(0, 1);
	if (insn->code == (BPF_JMP | BPF_CALL)) /* which leaves nothing in r3 */
		frame[BEFORE + 1] = SET(3, 1);
	memcpy(frame + n, after, sizeof(after));
	return n + AFTER;
}

/*
 * Whether INSN may stand in that frame: its jump goes somewhere, its registers have values, r10
 * stays.
 */
static bool may_stand(const struct bpf_insn *insn, uint32_t n)
{
	const uint8_t class = insn->code & 7;
	int64_t next = BEFORE + 1;

	if (insn->code == 0x06)
		next += insn->imm;
	else if ((class == BPF_JMP || class == BPF_JMP32) && insn->code != 0x85 &&
		 insn->code != 0x95)
		next += insn->off;
	if (next < 0 || next >= n)
		return false;
	return insn->dst_reg != 10 || class == BPF_ST || class == BPF_STX || class == BPF_JMP ||
	       class == BPF_JMP32;
}

static const uint8_t try_dst[] = {0, 3, 10, 11}, try_src[] = {0, 2, 10, 11};
static const int16_t try_off[] = {0, 1, 8, 16, 32, -1, -8};
static const int32_t try_imm[] = {0, 1, 5, 16, 32, 64, -1};
#define EACH(i, list) for (size_t i = 0; i < sizeof(list) / sizeof(*(list)); i++)
#define EVERY_INSTRUCTION(d, s, o, i) \
	EACH(d, try_dst) EACH(s, try_src) EACH(o, try_off) EACH(i, try_imm)

static int differs(const char *what, const struct bpf_insn *i)
{
	static int shown;

	if (shown++ < 20)
		printf("# %s: %02x dst %d src %d off %d imm %d\n", what, i->code, i->dst_reg,
		       i->src_reg, i->off, i->imm);
	return 1;
}

/*
 * Whatever is accepted is as the standard has it, computes as it does, and all that it has is
 * accepted.
 */
static void check_every_instruction(void)
{
	int wrong = 0, accepted = 0, compared = 0;
	uint32_t codes = 0;

	for (int code = 0; code < 256; code++) {
		const int before = accepted;

		EVERY_INSTRUCTION(d, s, o, i)
		{
			const struct bpf_insn insn =
				INSN((uint8_t)code, try_dst[d], try_src[s], try_off[o], try_imm[i]);
			struct bpf_insn frame[FRAME];
			const uint32_t n = frame_make(frame, &insn);
			uint64_t expected;
			bool good;

			if (code == 0x85 && insn.imm != 5 && insn.imm >= 0)
				continue; /* other helpers */
			if ((insn.dst_reg > 10 || insn.src_reg > 10) && (insn.off || insn.imm))
				continue; /* one of these is enough */
			good = reference_accepts(&insn, &frame[BEFORE + 1]) && may_stand(&insn, n);
			if ((load(frame, n) == 0) != good)
				wrong += differs(good ? "refused" : "accepted", &insn);
			if (!vm)
				continue;
			accepted++;
			if (good && reference_run(frame, NULL, NULL, &expected)) {
				compared++;
				if (run(1) != expected)
					wrong += differs("computes another value", &insn);
			} else {
				run(1);
			}
			pt_vm_unload(vm);
		}
		codes += accepted > before;
	}
	is_int(wrong, 0, "what is accepted is what the standard has, and computes what it says");
	is_int(codes, 118, "operation codes of 256");
	printf("# %d accepted, %d compared\n", accepted, compared);
}

/* ---- the kernel ---- */

static int kernel_load(const struct bpf_insn *insns, uint32_t n)
{
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
			       .insn_cnt = n,
			       .insns = (uint64_t)(uintptr_t)insns,
			       .license = (uint64_t)(uintptr_t) "GPL"};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static uint32_t kernel_run(int fd)
{
	static const uint64_t arguments[8];
	union bpf_attr attr = {.test = {.prog_fd = (uint32_t)fd,
					.ctx_in = (uint64_t)(uintptr_t)arguments,
					.ctx_size_in = sizeof(arguments)}};

	return syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)) ? 0xdead : attr.test.retval;
}

/* What a kernel has and filters have not. */
static bool only_kernels(const struct bpf_insn *insn)
{
	const uint8_t class = insn->code & 7;

	return (class == BPF_STX && insn->code >> 5 == 6) || /* other atomic operations */
	       (insn->code == 0x18 && insn->src_reg) || insn->code == 0x85 || insn->code == 0xe5 ||
	       insn->code == 0x0d;
}

/* Registers with numbers; memory below r10; nothing that runs for ever. */
static bool is_for_kernels(const struct bpf_insn *i)
{
	const uint8_t class = i->code & 7;
	const bool loads = class == BPF_LDX, stores = class == BPF_ST || class == BPF_STX;

	return i->dst_reg == (stores ? 10 : 3) &&
	       (i->src_reg == 2 || i->src_reg == (loads ? 10 : 0)) &&
	       (loads ? i->src_reg == 10 : true) &&
	       (!loads && !stores ? i->off >= 0 : i->off <= -8) && !(i->code == 0x06 && i->imm < 0);
}

/* The judge that did not read our text. */
static void check_as_the_kernel(void)
{
	const struct bpf_insn newest[] = {SET(0, 1), INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, 0), EXIT};
	int wrong = 0, asked = 0, ran = 0, fd = kernel_load(newest, 3);

	if (fd < 0) {
		printf("ok - the kernel as the judge # SKIP it loads no such program: %s\n",
		       strerror(errno));
		return;
	}
	close(fd);
	for (int code = 0; code < 256; code++)
		EVERY_INSTRUCTION(d, s, o, i)
		{
			const struct bpf_insn insn =
				INSN((uint8_t)code, try_dst[d], try_src[s], try_off[o], try_imm[i]);
			struct bpf_insn frame[FRAME];
			const uint32_t n = frame_make(frame, &insn);

			if (!is_for_kernels(&insn) || only_kernels(&insn))
				continue;
			asked++;
			fd = kernel_load(frame, n);
			if ((load(frame, n) == 0) != (fd >= 0))
				wrong += differs(fd < 0 ? "the kernel refuses"
							: "the kernel accepts",
						 &insn);
			if (vm && fd >= 0) {
				ran++;
				if ((uint32_t)run(1) != kernel_run(fd))
					wrong +=
						differs("the kernel computes another value", &insn);
			}
			pt_vm_unload(vm);
			if (fd >= 0)
				close(fd);
		}
	is_int(wrong, 0, "the kernel accepts and computes the same");
	printf("# %d asked, %d ran\n", asked, ran);
}

int main(int argc, char **argv)
{
	check_refused();
	check_hostile();
	check_fields();
	check_agree();
	check_every_instruction();
	if (argc > 1 && !strcmp(argv[1], "kernel"))
		check_as_the_kernel();
	return tap_done();
}
