/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/recorded/machine.h"

#include <linux/bpf.h>
#include <sys/mman.h>

#include "base/vector.h"
#include "lib/vm_run.h"

#define FRAME	   512u /* bytes of stack per function, as in the kernel */
#define MAX_DEPTH  16u /* of calls, including callbacks */
#define HEAP	   (16u << 20)
#define MAX_STEPS  1000000000u /* instructions for one event */
#define MAX_MEMORY (1ull << 40)
#define CALL_LOCAL 0xe0 /* not an eBPF opcode */

struct machine_op {
	u8 code, dst, src;
	s16 off;
	s64 imm;
};

struct machine_program {
	struct machine_op *ops; /* one per instruction, and one that ends the program */
	u32 count;
	const struct span *spans;
	/* ---- while it runs ---- */
	u32 at, depth;
};

/* ---- memory ---- */

u8 *machine_at(struct machine *m, u64 address, u64 size)
{
	const u64 offset = address - (u64)(uintptr_t)m->memory;

	return offset <= m->size && size <= m->size - offset ? m->memory + offset : NULL;
}

u8 *machine_heap(struct machine *m, u64 size)
{
	u8 *const at = m->heap + m->heap_used;

	if (size > HEAP - m->heap_used)
		return NULL;
	m->heap_used += ALIGN_UP((u32)size, 8u);
	m->heap_used = MIN(m->heap_used, HEAP);
	return at;
}

void machine_fail(struct machine *m, const char *why, bool is_unknown)
{
	if (!m->failure.why)
		m->failure = (struct machine_failure){
			.why = why, .span = NO_SPAN, .is_unknown = is_unknown};
}

const struct machine_thread *machine_thread(struct machine *m)
{
	if (!m->has_thread) {
		m->has_thread = true;
		m->ask_thread(m->arg, &m->thread);
	}
	return &m->thread;
}

static u64 room_of(const struct script *s)
{
	u64 room = MAX_DEPTH * FRAME + MACHINE_CONTEXT + HEAP;

	for (size_t i = 0; i < s->maps.len; i++)
		room += ALIGN_UP(memory_map_room(&s->maps.items[i]), (u64)64);
	return room;
}

int machine_begin(struct machine *m, struct script *script, struct diag *diag,
		  struct open_map *open)
{
	const u64 room = room_of(script);
	u8 *at;

	m->script = script;
	m->diag = diag;
	m->random = 0x9e3779b97f4a7c15ull;
	m->maps = xzalloc((script->maps.len + 1) * sizeof(*m->maps));
	m->programs = xzalloc((script->programs.len + 1) * sizeof(*m->programs));
	/* Untouched pages take no memory. */
	at = room > MAX_MEMORY ? MAP_FAILED
			       : mmap(NULL, room, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED) {
		diag_error(diag, NO_SPAN,
			   "there is no memory for the script's maps (%" PRIu64 " bytes at most)",
			   room);
		diag_hint(diag, "make them smaller: max_map_keys in a config block");
		return -ENOMEM;
	}
	m->memory = at;
	m->size = room;
	m->context = at + MAX_DEPTH * FRAME;
	m->heap = m->context + MACHINE_CONTEXT;
	at = m->heap + HEAP;
	for (size_t i = 0; i < script->maps.len; i++) {
		const struct script_map *info = &script->maps.items[i];

		open_map_init(&open[i], info, -1, 1);
		if (!memory_map_room(info))
			continue;
		m->maps[i] = memory_map_new(info, at);
		open[i].memory = m->maps[i];
		open[i].storage = &memory_storage;
		at += ALIGN_UP(memory_map_room(info), (u64)64);
	}
	return 0;
}

void machine_end(struct machine *m)
{
	for (size_t i = 0; m->maps && i < m->script->maps.len; i++)
		memory_map_free(m->maps[i]);
	for (size_t i = 0; m->programs && i < m->script->programs.len; i++)
		free(m->programs[i].ops);
	free(m->maps);
	free(m->programs);
	vector_free(&m->records);
	if (m->memory)
		munmap(m->memory, m->size);
	*m = (struct machine){0};
}

/* ---- loading ---- */

#define IS_KNOWN(code, form, action) [code] = true,
static const bool is_known[256] = {PT_VM_INSTRUCTIONS(IS_KNOWN)[BPF_STX | BPF_ATOMIC | BPF_W] =
					   true};

/* The address of a map, of an array's value, or of a function. */
static int load_address(struct machine *m, const struct bpf_code *code, u32 at,
			struct machine_op *op)
{
	const struct bpf_insn *const insn = &code->insns[at];
	u8 *value;

	if (insn->src_reg == BPF_PSEUDO_FUNC) {
		op->imm = (s64)at + 1 + insn->imm;
		return op->imm < 0 || op->imm >= code->count ? -EINVAL : 0;
	}
	for (u32 i = 0; i < code->nrelocations; i++) {
		const u32 map = code->relocations[i].map;

		if (code->relocations[i].insn != at || map >= m->script->maps.len)
			continue;
		op->imm = map + 1;
		if (insn->src_reg == BPF_PSEUDO_MAP_FD)
			return 0;
		value = m->maps[map] ? memory_map_direct(m->maps[map], (u32)insn[1].imm) : NULL;
		op->imm = (s64)(uintptr_t)value;
		return value ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int refuse_unplaced(const struct machine *m, struct span at, u32 needs)
{
	const char *const what = needs == PLACE_CPU ? "which CPU an event was on"
				 : needs == PLACE_STACK
					 ? "stacks (record -g takes them, with samples)"
				 : needs == PLACE_PID ? "which process a thread is of"
						      : "which thread had an event";

	diag_error(m->diag, at, "this recording does not hold %s", what);
	if (needs == PLACE_PID && !(m->unplaced & PLACE_TID))
		diag_hint(m->diag, "it has the thread: tid");
	return -ENOTSUP;
}

static int load_call(struct machine *m, const struct bpf_code *code, u32 at, struct machine_op *op)
{
	const struct bpf_insn *const insn = &code->insns[at];
	const struct machine_function *function;
	const char *name;

	if (insn->src_reg == BPF_PSEUDO_CALL) {
		op->code = CALL_LOCAL;
		op->imm = (s64)at + 1 + insn->imm;
		return op->imm < 0 || op->imm >= code->count ? -EINVAL : 0;
	}
	function = insn->src_reg ? NULL : machine_function_find(insn->imm);
	if (!function) {
		name = insn->src_reg ? "a function of the kernel" : bpf_helper_name((u32)insn->imm);
		diag_error(m->diag, code->spans[at],
			   "this asks the running kernel (%s): a recording does not hold it",
			   name ? name : "unknown");
		return -ENOTSUP;
	}
	op->imm = (s64)(uintptr_t)function->helper;
	m->takes_stacks |= (function->needs & PLACE_STACK) != 0;
	return function->needs & m->unplaced ? refuse_unplaced(m, code->spans[at], function->needs)
					     : 0;
}

static int load_one(struct machine *m, const struct bpf_code *code, u32 at, const u8 *second,
		    struct machine_op *op)
{
	const struct bpf_insn *const insn = &code->insns[at];
	const u8 class = BPF_CLASS(insn->code);
	s64 to;

	*op = (struct machine_op){.code = insn->code,
				  .dst = insn->dst_reg,
				  .src = insn->src_reg,
				  .off = insn->off,
				  .imm = insn->imm};
	if (!is_known[insn->code] || insn->dst_reg > 10 ||
	    (insn->src_reg > 10 && insn->code != PT_VM_CONSTANT))
		return -EINVAL;
	if (insn->code == PT_VM_CALL)
		return load_call(m, code, at, op);
	if (insn->code == PT_VM_CONSTANT) {
		if (at + 1 >= code->count)
			return -EINVAL;
		op->imm = (s64)((u64)(u32)insn->imm | (u64)(u32)insn[1].imm << 32);
		return insn->src_reg ? load_address(m, code, at, op) : 0;
	}
	if ((class == BPF_ALU || class == BPF_ALU64) && BPF_OP(insn->code) == BPF_END)
		return insn->imm == 16 || insn->imm == 32 || insn->imm == 64 ? 0 : -EINVAL;
	if ((class != BPF_JMP && class != BPF_JMP32) || insn->code == PT_VM_EXIT)
		return 0;
	to = (s64)at + 1 + (insn->code == PT_VM_JUMP_BY_IMM ? insn->imm : insn->off);
	return to < 0 || to >= code->count || second[to] ? -EINVAL : 0;
}

int machine_load(struct machine *m, u32 program)
{
	const struct script_program *const p = &m->script->programs.items[program];
	const struct bpf_code *const code = &p->code;
	struct machine_program *const to = &m->programs[program];
	u8 *second = xzalloc(code->count + 1);
	int err = 0, rc;

	*to = (struct machine_program){.count = code->count, .spans = code->spans};
	to->ops = xreallocarray(NULL, (size_t)code->count + 1, sizeof(*to->ops));
	for (u32 i = 0; i < code->count; i++)
		if (code->insns[i].code == PT_VM_CONSTANT)
			second[++i] = 1;
	for (u32 i = 0; i < code->count; i++) {
		to->ops[i] = (struct machine_op){.code = PT_VM_EXIT};
		if (second[i])
			continue;
		rc = load_one(m, code, i, second, &to->ops[i]);
		if (rc && rc != -ENOTSUP)
			diag_error(m->diag, code->spans[i],
				   "internal: instruction %u of %s cannot be run over a recording",
				   i, p->name);
		err = err ?: rc;
	}
	to->ops[code->count] = (struct machine_op){.code = PT_VM_EXIT};
	free(second);
	return err ?: machine_check_reads(m->diag, code);
}

/* ---- running ---- */

#define FAIL(why)                              \
	{                                      \
		p->at = at - 1;                \
		machine_fail(m, (why), false); \
		return 0;                      \
	}
#define MEMORY(type, base)                                             \
	const u64 where = WHERE(base);                                 \
	type value;                                                    \
	if (where - begin > size - sizeof(value))                      \
		FAIL("this address is in none of the script's memory") \
	void *const place = (void *)(uintptr_t)where;
#define READ(type)                                    \
	{                                             \
		MEMORY(type, SRC)                     \
		memcpy(&value, place, sizeof(value)); \
		r[op->dst] = (u64)value;              \
	}
#define WRITE(type, operand)                          \
	{                                             \
		MEMORY(type, r[op->dst])              \
		value = (type)(operand);              \
		memcpy(place, &value, sizeof(value)); \
	}
/* There is only one thread, so steps cannot be interrupted: this is atomic. */
#define ATOMIC(type, operand)                                              \
	{                                                                  \
		MEMORY(type, r[op->dst])                                   \
		memcpy(&value, place, sizeof(value));                      \
		const type old = value;                                    \
		if (op->imm == BPF_CMPXCHG)                                \
			value = (type)r[0] == old ? (type)(operand) : old; \
		else                                                       \
			value += (type)(operand);                          \
		memcpy(place, &value, sizeof(value));                      \
		if (op->imm == BPF_CMPXCHG)                                \
			r[0] = old;                                        \
		else if (op->imm & BPF_FETCH)                              \
			r[op->src] = old;                                  \
	}
#define ADD_TO(operand) ATOMIC(u64, operand)
#define CALL_HELPER                                                                  \
	{                                                                            \
		machine_helper *const helper = (machine_helper *)(uintptr_t)op->imm; \
		p->at = at - 1;                                                      \
		r[0] = helper(m, r);                                                 \
		if (__builtin_expect(m->failure.why != NULL, 0))                     \
			return 0;                                                    \
	}

static u64 run_function(struct machine *m, struct machine_program *p, u32 at, const u64 *arguments,
			u32 n);

static u64 interpret(struct machine *m, struct machine_program *p, u32 at, u64 *r)
{
	const u64 begin = (u64)(uintptr_t)m->memory, size = m->size;

	for (;;) {
		const struct machine_op *const op = &p->ops[at++];

		if (__builtin_expect(!--m->steps, 0))
			FAIL("the script goes on for too long")
		switch (op->code) {
			PT_VM_INSTRUCTIONS(RUNS)
		case BPF_STX | BPF_ATOMIC | BPF_W:
			ATOMIC(u32, SRC)
			break;
		case CALL_LOCAL:
			p->at = at - 1;
			r[0] = run_function(m, p, (u32)op->imm, r + 1, 5);
			if (m->failure.why)
				return 0;
			break;
		default:
			FAIL("internal: an unknown instruction")
		}
	}
}

static u64 run_function(struct machine *m, struct machine_program *p, u32 at, const u64 *arguments,
			u32 n)
{
	u64 r[11] = {0}, result;

	if (p->depth == MAX_DEPTH) {
		machine_fail(m, "the calls are nested too deep", false);
		return 0;
	}
	memcpy(r + 1, arguments, n * sizeof(*r));
	r[10] = (u64)(uintptr_t)m->memory + ++p->depth * FRAME;
	result = interpret(m, p, at, r);
	p->depth--;
	return result;
}

u64 machine_call_back(struct machine *m, u64 function, u64 *arguments, u32 n)
{
	struct machine_program *const p = m->running;

	if (function < p->count)
		return run_function(m, p, (u32)function, arguments, n);
	machine_fail(m, "internal: a call of no function", false);
	return 0;
}

bool machine_run(struct machine *m, u32 program)
{
	struct machine_program *const p = &m->programs[program];
	const u64 context = (u64)(uintptr_t)m->context;

	m->running = p;
	m->failure.why = NULL;
	m->steps = MAX_STEPS;
	p->depth = 0;
	run_function(m, p, 0, &context, 1);
	if (__builtin_expect(!m->failure.why, 1))
		return true;
	m->failure.span = p->spans[MIN(p->at, p->count - 1)];
	return false;
}

bool machine_event(struct machine *m, const struct machine_event *event)
{
	m->event = *event;
	m->has_thread = false;
	m->context_size = 0;
	if (!event->record)
		return true;
	if (event->size > MACHINE_CONTEXT)
		return false;
	memcpy(m->context, event->record, event->size);
	m->context_size = event->size;
	return true;
}

void machine_clear(struct machine *m)
{
	m->records.len = 0;
	m->heap_used = 0;
}
