/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callers by call frame information: from the registers of a sample and the part of the stack that
 * was copied into it. x86-64.
 */
#include "trace/perf/machine.h"

/* Bits of attr.sample_regs_user: arch/x86/include/uapi/asm/perf_regs.h */
enum { REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_IP = 8 };

/* In a struct ucontext, to which sp points in a signal's frame: its uc_mcontext.gregs */
enum { UCONTEXT_BP = 120, UCONTEXT_SP = 160, UCONTEXT_IP = 168 };

enum { PLT_ENTRY = 16, PLT_PUSHED = 11 }; /* bytes: from here on a word more is on the stack */

struct walk {
	const struct perf_sample *sample;
	u64 stack_at; /* the address of the copy's first byte */
	u64 ip, sp, bp;
	bool is_signal; /* ip is where a signal came, else behind a call */
};

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
	const u64 at = address - w->stack_at;

	if (at >= w->sample->user_stack_size || w->sample->user_stack_size - at < sizeof(*ret))
		return false;
	memcpy(ret, w->sample->user_stack + at, sizeof(*ret));
	return true;
}

static bool through_signal(struct walk *w)
{
	const u64 at = w->sp;

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
	const u64 before = w->sp;
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
	w->sp = frame;
	return w->ip;
}

size_t perf_unwind(struct perf_machine *m, const struct perf_event_attr *attr,
		   const struct perf_sample *s, u64 *ret, size_t most)
{
	struct walk w = {.sample = s};
	size_t n = 0;

	if (!sampled_register(attr, s, REGISTER_IP, &w.ip) ||
	    !sampled_register(attr, s, REGISTER_SP, &w.sp) ||
	    !sampled_register(attr, s, REGISTER_BP, &w.bp))
		return 0;
	w.stack_at = w.sp;
	w.is_signal = true; /* the sampled instruction itself */
	while (n < most) {
		const u64 at = w.ip - !w.is_signal;
		const struct unwind_row *rule = perf_machine_unwind_rule(m, s->pid, at);

		ret[n++] = at;
		if (!rule || !go_up(&w, rule))
			break;
	}
	return n;
}
