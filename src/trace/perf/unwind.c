/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callers by call frame information: from the registers of a sample and the part of the stack that
 * was copied into it. x86-64.
 */
#include "trace/perf/machine.h"

/* Bits of attr.sample_regs_user: arch/x86/include/uapi/asm/perf_regs.h */
enum { REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_IP = 8 };

/* In a struct ucontext, to which sp points in a signal's frame: its uc_mcontext.gregs */
enum { UCONTEXT_REGISTERS = 40, UCONTEXT_BP = 120, UCONTEXT_SP = 160, UCONTEXT_IP = 168 };

enum { PLT_ENTRY = 16, PLT_PUSHED = 11 }; /* bytes: from here on a word more is on the stack */

struct walk {
	struct perf_machine *machine;
	u32 pid;
	u64 ip, sp, bp;
	bool is_signal; /* ip is where a signal came, else behind a call */
	bool wants_registers;
	struct known_thread thread; /* the copy of the stack; all registers, if they are wanted */
};

/* The registers by their bits of attr.sample_regs_user, and by their words of a struct ucontext. */
static const char *const perf_registers[] = {
	"ax", "bx", "cx", "dx", "si", "di", "bp",  "sp",  "ip",	 "flags", "cs",	 "ss",
	NULL, NULL, NULL, NULL, "r8", "r9", "r10", "r11", "r12", "r13",	  "r14", "r15"};
static const char *const ucontext_registers[] = {"r8",	"r9",  "r10", "r11", "r12", "r13",
						 "r14", "r15", "di",  "si",  "bp",  "bx",
						 "dx",	"ax",  "cx",  "sp",  "ip"};

static u16 offset_of(const char *name)
{
	return arch_register_find(name)->offset;
}

static bool sampled_register(const struct perf_event_attr *attr, const struct perf_sample *s,
			     u32 which, u64 *ret)
{
	const u64 mask = attr->sample_regs_user, before = mask & ((1ull << which) - 1);

	if (!(mask >> which & 1) || !s->user_registers)
		return false;
	memcpy(ret, s->user_registers + 8 * __builtin_popcountll(before), sizeof(*ret));
	return true;
}

/* A word of the stack; false: it was not copied. */
static bool stack_word(const struct walk *w, u64 address, u64 *ret)
{
	return known_memory_read(&w->thread.memory, address, ret, sizeof(*ret));
}

/* ---- all registers, for variables ---- */

static void take_registers(struct walk *w, const struct perf_event_attr *attr,
			   const struct perf_sample *s)
{
	static const u8 syscall_instruction[] = {0x0f, 0x05};
	const u8 *code;
	u64 v;

	for (u32 i = 0; i < ARRAY_SIZE(perf_registers); i++)
		if (perf_registers[i] && sampled_register(attr, s, i, &v))
			known_register_set(&w->thread, offset_of(perf_registers[i]), v);
	code = perf_machine_code_bytes(w->machine, w->pid, w->ip - sizeof(syscall_instruction),
				       sizeof(syscall_instruction));
	/* within a system call the kernel's own value stands there */
	if (code && !memcmp(code, syscall_instruction, sizeof(syscall_instruction)))
		known_register_forget(&w->thread, offset_of("ax"));
}

/* As they were where the signal came. */
static void registers_before_signal(struct walk *w, u64 context)
{
	u64 v;

	for (u32 i = 0; i < ARRAY_SIZE(ucontext_registers); i++) {
		const u16 offset = offset_of(ucontext_registers[i]);

		if (stack_word(w, context + UCONTEXT_REGISTERS + 8 * i, &v))
			known_register_set(&w->thread, offset, v);
		else
			known_register_forget(&w->thread, offset);
	}
}

/* The caller's, from where the function at `ip` has saved them. frame: its CFA; bp: its own. */
static void registers_of_caller(struct walk *w, u64 ip, u64 frame, u64 bp)
{
	struct unwind_saved saved[UNWIND_REGISTERS];
	u64 v;

	if (perf_machine_saved(w->machine, w->pid, ip, saved))
		w->thread.known = 0;
	for (u32 i = 0; i < UNWIND_REGISTERS - 1 && w->thread.known; i++) {
		const struct unwind_saved *const s = &saved[i];
		const u16 offset = dwarf_register(i)->offset;

		if (s->how == SAVED_IN_PLACE)
			continue;
		if ((s->how == SAVED_AT_CFA || s->how == SAVED_AT_BP) &&
		    stack_word(w, (s->how == SAVED_AT_CFA ? frame : bp) + (u64)s->offset, &v))
			known_register_set(&w->thread, offset, v);
		else
			known_register_forget(&w->thread, offset);
	}
	known_register_set(&w->thread, arch_sp_offset(), frame);
	known_register_set(&w->thread, arch_ip_offset(), w->ip);
}

/* ---- frames ---- */

static bool through_signal(struct walk *w)
{
	const u64 at = w->sp;

	if (w->wants_registers)
		registers_before_signal(w, at);
	w->is_signal = true;
	return stack_word(w, at + UCONTEXT_IP, &w->ip) && stack_word(w, at + UCONTEXT_BP, &w->bp) &&
	       stack_word(w, at + UCONTEXT_SP, &w->sp);
}

static bool frame_address(const struct walk *w, const struct unwind_row *rule, u64 *ret)
{
	switch (rule->kind) {
	case UNWIND_SP:
		*ret = w->sp + (u64)(s64)rule->cfa_offset;
		return true;
	case UNWIND_BP:
		*ret = w->bp + (u64)(s64)rule->cfa_offset;
		return true;
	case UNWIND_BP_DEREF:
		return stack_word(w, w->bp + (u64)(s64)rule->cfa_offset, ret);
	case UNWIND_PLT:
		*ret = w->sp + 8 + (w->ip % PLT_ENTRY >= PLT_PUSHED ? 8 : 0);
		return true;
	default:
		return false;
	}
}

/* To the caller. False: there is none, or its frame was not copied. */
static bool go_up(struct walk *w, const struct unwind_row *rule)
{
	const u64 before = w->sp, bp = w->bp, at = w->ip - !w->is_signal;
	u64 frame;

	if (rule->kind == UNWIND_SIGNAL)
		return through_signal(w);
	w->is_signal = false;
	if (!frame_address(w, rule, &frame) || frame <= before || !stack_word(w, frame - 8, &w->ip))
		return false;
	if (rule->bp_at_bp && !stack_word(w, w->bp, &w->bp))
		return false;
	if (!rule->bp_at_bp && rule->bp_offset &&
	    !stack_word(w, frame + (u64)(s64)rule->bp_offset, &w->bp))
		return false;
	if (w->wants_registers)
		registers_of_caller(w, at, frame, bp);
	w->sp = frame;
	return w->ip;
}

size_t perf_unwind(struct perf_machine *m, const struct perf_event_attr *attr,
		   const struct perf_sample *s, struct perf_frame *ret, size_t most)
{
	struct walk w = {
		.machine = m, .pid = s->pid, .wants_registers = perf_machine_wants_locals(m)};
	size_t n = 0;

	if (!sampled_register(attr, s, REGISTER_IP, &w.ip) ||
	    !sampled_register(attr, s, REGISTER_SP, &w.sp) ||
	    !sampled_register(attr, s, REGISTER_BP, &w.bp))
		return 0;
	/* within exec the kernel still has the registers of the program before it */
	if (w.ip != s->ip && !perf_machine_place(m, s->pid, PERF_MODE_USER, w.ip).object)
		return 0;
	w.thread.memory = (struct known_memory){s->user_stack, w.sp, s->user_stack_size};
	if (w.wants_registers)
		take_registers(&w, attr, s);
	w.is_signal = true; /* the sampled instruction itself */
	while (n < most) {
		const u64 at = w.ip - !w.is_signal;
		const struct unwind_row *rule = perf_machine_unwind_rule(m, s->pid, at);

		ret[n].address = at;
		ret[n].is_call = !w.is_signal;
		if (w.wants_registers)
			ret[n].thread = w.thread;
		n++;
		if (!rule || !go_up(&w, rule))
			break;
	}
	return n;
}
