/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of the tracer blk: struct blk_io_trace (include/uapi/linux/blktrace_api.h), whose first 8
 * bytes are ftrace's own. tracefs has no format of them; they are made known as ftrace:blktrace,
 * with the fields that trace-cmd gives them.
 *
 *	8 u64 time (unused)
 *	16 u64 sector, 24 u32 bytes, 28 u32 action, 32 u32 pid, 36 u32 device, 40 u32 cpu
 *	44 u16 error, 46 u16 size of what follows: u64 cgroup, if the action says so, and data
 */
#ifndef PANTRACE_TRACE_FTRACE_BLK_TEXT_H
#define PANTRACE_TRACE_FTRACE_BLK_TEXT_H

#include "trace/ftrace/event_table.h"
#include "trace/ftrace/tasks.h"
#include "trace/ring/page.h"

#define BLK_EVENT "blktrace"

enum blk_action { BLK_QUEUE = 1, BLK_ISSUE = 7, BLK_COMPLETE = 8, BLK_INSERT = 12 };
#define BLK_ACTION(action) ((action)&0xff)

/*
 * True if this kernel ("6.1.0-49-amd64") lays its records out so; Linux 6.19 has other ones.
 */
bool blk_is_known(const char *release);
/*
 * Adds the format if the formats of the others tell which number these records have: the one
 * between user_stack and bputs.
 */
void blk_format_add(struct event_table *t, const char *release);
#define BLK_OP_SIZE 8
/* "WS": as blkparse and the tracepoints of block say it. */
void blk_op_text(u32 action, u32 bytes, char ret[BLK_OP_SIZE]);
/* The kernel's line behind the time. */
void blk_text_print(struct task_names *tasks, const struct page_event *e, bool raw_strings,
		    struct strbuf *out);

#endif
