/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The script that counts. The kernel itself keeps most numbers in its task_structs: they are read
 * by walking over all tasks once per interval, and, of a task that ends, at its last switch. Only
 * system calls are counted one by one. Stacks are taken only of the task in @watched.
 */
#include "cmd/top/top.h"

/* The last members of SNAPSHOT, from sum_exec_runtime on, are in the order of enum count. */
const char top_script[] =
	"config = { max_map_keys = 65536; print_maps_on_exit = false; }\n"
	"#define KEY(t) (uint64)t->pid, (uint64)t->start_time\n"
	"#define SNAPSHOT(t) ((uint64)t->tgid, (uint64)t->real_parent->tgid, t->comm, \\\n"
	"	(uint64)t->__state, (uint64)t->exit_state, nsecs(monotonic), \\\n"
	"	(uint64)t->signal->sum_sched_runtime, \\\n"
	"	(uint64)t->se.sum_exec_runtime, (uint64)t->sched_info.run_delay, \\\n"
	"	@calls[(uint64)t->pid], (uint64)t->min_flt, (uint64)t->maj_flt, \\\n"
	"	(uint64)t->ioac.rchar, (uint64)t->ioac.wchar, \\\n"
	"	(uint64)t->ioac.read_bytes, (uint64)t->ioac.write_bytes)\n"
	"#define TASK_DEAD 128\n"
	"#define IS_WATCHED(t) (@by_thread ? (uint64)t->pid : (uint64)t->tgid) == @watched\n"
	"\n"
	"rawtracepoint:sys_enter { @calls[tid]++; }\n"
	"\n"
	"iter:task /ctx.task/ { $t = ctx.task; @living[KEY($t)] = SNAPSHOT($t); }\n"
	"\n"
	"rawtracepoint:sched_switch\n"
	"{\n"
	"	$prev = args.prev;\n"
	"	if (args.prev_state == TASK_DEAD) {\n"
	"		@dead[KEY($prev)] = SNAPSHOT($prev);\n"
	"		delete(@calls, (uint64)$prev->pid);\n"
	"	}\n"
	"#ifdef STACKS\n"
	"	$next = args.next;\n"
	"	if (@watched && IS_WATCHED($prev) && args.prev_state != TASK_DEAD) {\n"
	"		@left[(uint64)$prev->pid] = nsecs(monotonic);\n"
	"		@at[(uint64)$prev->pid] = (kstack, ustack);\n"
	"	}\n"
	"	if (@watched && IS_WATCHED($next)) {\n"
	"		$left = @left[(uint64)$next->pid];\n"
	"		if ($left) {\n"
	"			@off[@at[(uint64)$next->pid]] = sum(nsecs(monotonic) - $left);\n"
	"			delete(@left, (uint64)$next->pid);\n"
	"		}\n"
	"	}\n"
	"#endif\n"
	"}\n"
	"\n"
	"#ifdef STACKS\n"
	"begin { @watched = (uint64)0; @by_thread = (uint64)0; }\n"
	"profile:hz:99 /@watched && IS_WATCHED(curtask)/ { @on[(kstack, ustack)] = count(); }\n"
	"#endif\n";
