/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The beginning of a system call as the kernel's `trace` has it (print_syscall_enter() in
 * kernel/trace/trace_syscalls.c):
 *
 *	sys_unlinkat(dfd: 0xffffff9c, pathname: 0x7ffd1f5c4e91 "/tmp/a", flag: 0)
 *	sys_write(fd: 1, buf: 0x55d0c8a0 (68:69:0a) "hi.", count: 3)
 *
 * It is not what the print format says. Since 6.19 the record ends with the memory that arguments
 * point to, "__data_loc char[] __NAME_val" for the argument NAME; before, there are numbers only.
 */
#ifndef PANTRACE_TRACE_FTRACE_SYSCALL_TEXT_H
#define PANTRACE_TRACE_FTRACE_SYSCALL_TEXT_H

#include "base/arena.h"
#include "trace/ftrace/event_table.h"
#include "trace/ring/page.h"

struct syscall_text;

/* Of sys_enter_*; made once per event, in the arena. */
const struct syscall_text *syscall_text_new(struct arena *arena, const struct event_info *info);

/*
 * Appends "sys_NAME(...)", without a newline. bare: numbers without 0x, as before 6.18. raw:
 * strings are not escaped. What a cut record does not have is left out; memory outside it prints as
 * (bad).
 */
void syscall_text_print(const struct syscall_text *s, const struct page_event *e, bool bare,
			bool raw, struct strbuf *out);

#endif
