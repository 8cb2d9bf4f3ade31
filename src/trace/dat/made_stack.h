/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call chains as ftrace's own events have them: kernel_stack and user_stack, behind the event that
 * they are of.
 *
 *	u16 id, u8 flags, u8 preempt count, s32 pid, then of the kernel's stack s32 frames, of the
 *	program's u32 process; at 16 an u64 address for each frame, innermost first
 *
 * (kernel/trace/trace_entries.h). A program's stack has at least eight, zeros behind the last one.
 */
#ifndef PANTRACE_TRACE_DAT_MADE_STACK_H
#define PANTRACE_TRACE_DAT_MADE_STACK_H

#include "base/strbuf.h"
#include "trace/recorded_stack.h"
#include "trace/recording.h"

struct made_stack_kind {
	bool is_kernel;
	u32 id; /* the kernel's */
	const char *format; /* the text that tracefs has of it */
};

/* The kernel's frames stand first. */
extern const struct made_stack_kind made_stack_kinds[2];

/* The record, with id 0, in place of what *ret held. False: the chain has no such frame. */
bool made_stack(const struct made_stack_kind *kind, const struct recorded_stack *stack,
		const struct recorded_place *place, struct strbuf *ret);

#endif
