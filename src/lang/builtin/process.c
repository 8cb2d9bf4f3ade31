/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The current task: pid, comm, uid, its relatives, CPU, cgroup. */
#include <fcntl.h>

#include "base/process.h"
#include "lang/builtin/util.h"
#include "view/printf_format.h"
#include "lang/builtin/kernel_call.h"

#define COMM_SIZE 16

/* ---- one helper, one number ---- */

static const struct {
	const char *name;
	u32 helper;
	u8 size, shift; /* of the result: low `size` bytes after a shift */
	u8 type_size;
} numbers[] = {
	{"uid", BPF_FUNC_get_current_uid_gid, 4, 0, 8},
	{"gid", BPF_FUNC_get_current_uid_gid, 4, 32, 8},
	{"cpu", BPF_FUNC_get_smp_processor_id, 4, 0, 8},
	{"numaid", BPF_FUNC_get_numa_node_id, 4, 0, 8},
	{"rand", BPF_FUNC_get_prandom_u32, 4, 0, 4},
	{"cgroup", BPF_FUNC_get_current_cgroup_id, 8, 0, 8},
	{"jiffies", BPF_FUNC_jiffies64, 8, 0, 8},
};

static u32 number_row(const struct expr *call)
{
	u32 i = 0;

	while (i + 1 < ARRAY_SIZE(numbers) && !str_eq(numbers[i].name, call->builtin->name))
		i++;
	return i;
}

static void check_number(struct check *c, struct expr *call)
{
	call->type = type_int(numbers[number_row(call)].type_size, false);
}

static ir_reg low_bits(struct lower *l, ir_reg r, u32 shift, u32 size)
{
	if (shift)
		r = ir_binary_imm(l->f, IR_SHR, r, shift);
	else if (size < 8)
		r = ir_extend(l->f, r, size, false);
	return r;
}

static void lower_number(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 i = number_row(call);
	ir_reg r = ir_call(l->f, numbers[i].helper, 0, NULL);

	*ret = value_register(call->type, low_bits(l, r, numbers[i].shift, numbers[i].size));
}

static void check_username(struct check *c, struct expr *call)
{
	call->type = type_simple(TYPE_USERNAME);
}

static void lower_username(struct lower *l, struct expr *call, struct value *ret)
{
	ir_reg r = ir_call(l->f, BPF_FUNC_get_current_uid_gid, 0, NULL);

	*ret = value_register(call->type, ir_extend(l->f, r, 4, false));
}

/* ---- pid and tid ---- */

static void check_pid(struct check *c, struct expr *call)
{
	const struct expr *mode = call->nargs ? call->args[0] : NULL;

	call->type = type_int(4, false);
	if (!mode)
		return;
	if (mode->kind != EXPR_NAME)
		check_error(c, call->span, "%s() only supports curr_ns and init as the argument",
			    call->builtin->name);
	else if (!str_eq(mode->name, "curr_ns") && !str_eq(mode->name, "init"))
		check_error(c, mode->span,
			    "Invalid PID namespace mode: %s (expects: curr_ns or init)",
			    mode->name);
}

/*
 * struct bpf_pidns_info { u32 pid; u32 tgid; } as seen from our namespace; zeros for a task outside
 * of it.
 */
static ir_reg namespaced_ids(struct lower *l, const struct stat *st)
{
	ir_reg info;

	lower_slot(l, type_int(8, false), "pidns", &info);
	ir_zero(l->f, info, 0, 8);
	ir_call_n(l->f, BPF_FUNC_get_ns_current_pid_tgid, ir_const(l->f, st->st_dev),
		  ir_const(l->f, st->st_ino), info, ir_const(l->f, 8));
	return ir_load(l->f, info, 0, 8, false);
}

ir_reg builtin_current_ids(struct lower *l)
{
	struct stat st;

	if (!l->check->options->recorded && !process_numbers_are_initial(&st))
		return namespaced_ids(l, &st);
	return ir_call(l->f, BPF_FUNC_get_current_pid_tgid, 0, NULL);
}

static void lower_pid(struct lower *l, struct expr *call, struct value *ret)
{
	const bool tgid = str_eq(call->builtin->name, "pid");
	const bool init = call->nargs && str_eq(call->args[0]->name, "init");
	const bool only_tid = !tgid && l->check->options->recorded;
	const u32 helper = only_tid ? RECORDED_TID : BPF_FUNC_get_current_pid_tgid;
	const ir_reg r = init || only_tid ? ir_call(l->f, helper, 0, NULL) : builtin_current_ids(l);

	*ret = value_register(call->type, low_bits(l, r, tgid ? 32 : 0, 4));
}

/* ---- comm ---- */

struct comm_functions {
	u32 from_pid, release; /* ids in BTF */
	u32 offset; /* of comm in struct task_struct */
};

static void check_comm(struct check *c, struct expr *call)
{
	struct comm_functions *f = call->annotation;
	const struct type *t;

	call->type = type_string(c->types, COMM_SIZE);
	if (!call->nargs)
		return;
	if (!f)
		call->annotation = f = arena_new(c->arena, struct comm_functions);
	if (!check_known(c, call->args[0]) || !c->final)
		return;
	if (!builtin_is_number(call->args[0]->type)) {
		check_error(c, call->span, "Only integer supported for comm()'s pid");
		return;
	}
	f->from_pid = kernel_function_id(c, "bpf_task_from_pid", NULL);
	f->release = kernel_function_id(c, "bpf_task_release", NULL);
	if (kernel_function_allowed(c, "bpf_task_from_pid") && f->release &&
	    builtin_member(c, "struct task_struct", "comm", &t, &f->offset))
		return;
	check_error(c, call->span,
		    f->from_pid
			    ? "Syntax comm(PID) is not supported in this probe type yet. Type: %s"
			    : "comm(PID) needs the kernel function bpf_task_from_pid (Linux 6.2) "
			      "for %s",
		    unit_provider(c->unit)->name);
	check_hint(c, "comm without an argument is the current thread's name; pcomm and "
		      "leader_comm take a task");
}

/*
 * The name of a task by its PID in the initial namespace. If there is no such task: a warning, and
 * "N/A".
 */
static void lower_comm_of(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 found = ir_block_new(l->f, "comm.found"),
		  missing = ir_block_new(l->f, "comm.missing"),
		  end = ir_block_new(l->f, "comm.end");
	const struct comm_functions *f = call->annotation;
	const struct type *types[] = {type_int(4, true)};
	const char *text = "No such process (pid=%d)";
	ir_reg pid = ir_extend(l->f, lower_scalar(l, call->args[0]), 4, true), slot, task;
	const struct value value = value_register(types[0], pid);
	u32 action, nargs;

	lower_slot(l, call->type, "comm", &slot);
	ir_zero(l->f, slot, 0, COMM_SIZE);
	task = ir_call_kernel(l->f, f->from_pid, 1, &pid);
	ir_branch_imm(l->f, IR_EQ, task, 0, missing, found);
	ir_switch_to(l->f, found);
	lower_read(l, slot, 0, COMM_SIZE, task, f->offset, SPACE_KERNEL);
	ir_call_kernel(l->f, f->release, 1, &task);
	ir_jump(l->f, end);
	ir_switch_to(l->f, missing);
	ir_store_imm(l->f, slot, 0, 4, 'N' | '/' << 8 | 'A' << 16);
	action = lower_action(l, ACTION_PRINTF, types, 1, call->span);
	l->script->actions.items[action].stream = 2;
	format_parse(l->arena, text, strlen(text), &l->script->actions.items[action].format,
		     &nargs);
	lower_send(l, action, &value, 1, call->span);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
}

static void lower_comm(struct lower *l, struct expr *call, struct value *ret)
{
	ir_reg addr, result;

	if (call->nargs) {
		lower_comm_of(l, call, ret);
		return;
	}
	lower_slot(l, call->type, "comm", &addr);
	/* the helper pads only since Linux 6.6, and keys must not contain stale bytes */
	ir_zero(l->f, addr, 0, COMM_SIZE);
	result = ir_call_n(l->f, BPF_FUNC_get_current_comm, addr, ir_const(l->f, COMM_SIZE));
	lower_helper_error(l, BPF_FUNC_get_current_comm, result, call->span);
	*ret = value_memory(call->type, addr, 0, SPACE_BPF);
	ret->is_zero_padded = true;
}

/* ---- the child of -c ---- */

static void check_cpid(struct check *c, struct expr *call)
{
	call->type = type_int(8, false);
	if (!c->options->has_child)
		check_warning(c, call->span, "No child command (`-c`); cpid is zero");
}

static void lower_cpid(struct lower *l, struct expr *call, struct value *ret)
{
	if (!l->check->options->has_child)
		*ret = value_constant(call->type, 0);
	else
		*ret = value_register(
			call->type, builtin_global(l, offsetof(struct script_globals, child_pid)));
}

static void check_has_cpid(struct check *c, struct expr *call)
{
	builtin_set_integer(call, type_bool(), c->options->has_child);
}

static void check_ncpus(struct check *c, struct expr *call)
{
	u32 n = 0;

	if (c->final)
		n = kernel_possible_cpus(c->options->env->kernel);
	builtin_set_integer(call, type_int(8, false), n);
	/* Only the last pass knows the number: earlier passes must not fold it. */
	call->is_comptime_known = c->final;
}

/* ---- the task ---- */

static const struct type *task_type(struct check *c)
{
	return type_named(c->types, "struct task_struct");
}

static void check_curtask(struct check *c, struct expr *call)
{
	const struct type *task = task_type(c);

	call->type = task ? type_pointer(c->types, task, SPACE_KERNEL) : type_int(8, false);
	call->space = SPACE_KERNEL;
}

static void lower_curtask(struct lower *l, struct expr *call, struct value *ret)
{
	*ret = value_register(call->type, ir_call(l->f, BPF_FUNC_get_current_task, 0, NULL));
}

static const struct relative {
	const char *name, *link, *member;
} relatives[] = {
	{"ppid", "real_parent", "pid"},
	{"pcomm", "real_parent", "comm"},
	{"leader_tid", "group_leader", "pid"},
	{"leader_comm", "group_leader", "comm"},
};

static const struct relative *relative_row(const struct expr *call)
{
	u32 i = 0;

	while (i + 1 < ARRAY_SIZE(relatives) && !str_eq(relatives[i].name, call->builtin->name))
		i++;
	return &relatives[i];
}

struct relative_offsets {
	u32 link, member;
};

static void check_relative(struct check *c, struct expr *call)
{
	const struct relative *r = relative_row(call);
	const bool is_comm = str_eq(r->member, "comm");
	struct relative_offsets *o = call->annotation;
	const struct type *t;

	call->type = is_comm ? type_string(c->types, COMM_SIZE) : type_int(4, false);
	if (!o)
		call->annotation = o = arena_new(c->arena, struct relative_offsets);
	if (!builtin_member(c, "struct task_struct", r->link, &t, &o->link) ||
	    !builtin_member(c, "struct task_struct", r->member, &t, &o->member)) {
		check_error(c, call->span, "%s needs the kernel's BTF for struct task_struct",
			    call->builtin->name);
		return;
	}
	if (call->nargs && check_known(c, call->args[0]))
		check_arg_pointer_or_integer(c, call, 0);
}

static void lower_relative(struct lower *l, struct expr *call, struct value *ret)
{
	const struct relative_offsets *o = call->annotation;
	ir_reg task, link, slot, result;

	task = call->nargs ? lower_scalar(l, call->args[0])
			   : ir_call(l->f, BPF_FUNC_get_current_task, 0, NULL);
	lower_slot(l, type_int(8, false), "task", &slot);
	lower_read(l, slot, 0, 8, task, o->link, SPACE_KERNEL);
	link = ir_load(l->f, slot, 0, 8, false);
	if (call->type->kind != TYPE_STRING) {
		result = lower_read(l, slot, 0, 4, link, o->member, SPACE_KERNEL);
		lower_helper_error(l, BPF_FUNC_probe_read_kernel, result, call->span);
		*ret = value_register(call->type, ir_load(l->f, slot, 0, 4, false));
		return;
	}
	lower_slot(l, call->type, call->builtin->name, &slot);
	/* The kernel pads task->comm, so the whole array may be copied. */
	result = lower_read(l, slot, 0, COMM_SIZE, link, o->member, SPACE_KERNEL);
	lower_helper_error(l, BPF_FUNC_probe_read_kernel, result, call->span);
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
}

/* ---- control groups ---- */

static void check_numberid(struct check *c, struct expr *call)
{
	struct {
		struct file_handle handle;
		u64 id; /* f_handle of kernfs: the 64-bit node id */
	} h = {.handle = {.handle_bytes = 8}};
	const char *path;
	int mount;

	call->type = type_int(8, false);
	if (!check_arg_literal_string(c, call, 0) || !c->final)
		return;
	path = builtin_literal(call->args[0]);
	if (!path || name_to_handle_at(AT_FDCWD, path, &h.handle, &mount, 0)) {
		const bool other = errno == EOVERFLOW || errno == EOPNOTSUPP;

		check_error(c, call->span, "cgroupid(): cannot find cgroup '%s': %s",
			    path ? path : "",
			    other ? "not in a cgroup (version 2) file system" : strerror(errno));
		return;
	}
	builtin_set_integer(call, call->type, h.id);
}

static void check_number_path(struct check *c, struct expr *call)
{
	call->type = type_simple(TYPE_CGROUP_PATH);
	if (check_known(c, call->args[0]))
		check_arg_integer(c, call, 0);
	if (call->nargs > 1)
		check_arg_literal_string(c, call, 1);
}

static void lower_cgroup_path(struct lower *l, struct expr *call, struct value *ret)
{
	const char *filter = call->nargs > 1 ? builtin_literal(call->args[1]) : "";
	ir_reg id = lower_scalar(l, call->args[0]), slot;

	lower_slot(l, call->type, "cgroup_path", &slot);
	ir_store(l->f, slot, 0, 8, id);
	ir_store_imm(l->f, slot, 8, 4, l->script->strings.len);
	ir_store_imm(l->f, slot, 12, 4, 0);
	vector_push(&l->script->strings, filter);
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
}

const struct builtin builtins_process[] = {
	{"pid", "uint32 pid([curr_ns|init])",
	 "Process id (thread group id) of the current thread, as seen from pantrace's own PID "
	 "namespace; pid(init) is that of the initial namespace.",
	 "", BUILTIN_OF_THREAD | VARIABLE_OR_CALL | BUILTIN_RAW_ARGS, 0, 1, check_pid, lower_pid},
	{"tid", "uint32 tid([curr_ns|init])",
	 "Thread id of the current thread, as seen from pantrace's own PID namespace; tid(init) is "
	 "that of the initial namespace.",
	 "", BUILTIN_OF_THREAD | VARIABLE_OR_CALL | BUILTIN_RAW_ARGS, 0, 1, check_pid, lower_pid},
	{"uid", "uint64 uid",
	 "User id of the current thread, as seen from the initial user namespace.", "",
	 BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 0, check_number, lower_number},
	{"gid", "uint64 gid",
	 "Group id of the current thread, as seen from the initial user namespace.", "",
	 BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 0, check_number, lower_number},
	{"username", "username_t username",
	 "Name of the current user, looked up when it is printed.", "",
	 BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 0, check_username, lower_username},
	{"comm", "string comm([uint32 pid])",
	 "Name of the current thread, at most 15 characters, or of the process with this number "
	 "(in programs that may call bpf_task_from_pid; Linux 6.2).",
	 "", BUILTIN_OF_THREAD | VARIABLE_OR_CALL, 0, 1, check_comm, lower_comm},
	{"cpid", "uint64 cpid", "Process id of the command started by -c; 0 without one.", "",
	 BUILTIN_MACHINE | VARIABLE_OR_CALL, 0, 0, check_cpid, lower_cpid},
	{"has_cpid", "bool has_cpid",
	 "True if a command was started by -c, so that cpid is its process id.", "",
	 VARIABLE_OR_CALL, 0, 0, check_has_cpid, builtin_lower_literal},
	{"curtask", "struct task_struct *curtask",
	 "The kernel's task_struct of the current thread; its members can be read, and it may be "
	 "used as an integer.",
	 "", BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 0, check_curtask, lower_curtask},
	{"ppid", "uint32 ppid([struct task_struct *task])",
	 "Process id of the parent of the current process or of a task (task.real_parent.pid).", "",
	 BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 1, check_relative, lower_relative},
	{"pcomm", "string pcomm([struct task_struct *task])",
	 "Name of the parent of the current process or of a task (task.real_parent.comm).", "",
	 BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 1, check_relative, lower_relative},
	{"leader_tid", "uint32 leader_tid([struct task_struct *task])",
	 "Thread id of the thread group leader (task.group_leader.pid).", "",
	 BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 1, check_relative, lower_relative},
	{"leader_comm", "string leader_comm([struct task_struct *task])",
	 "Name of the thread group leader (task.group_leader.comm).", "",
	 BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 1, check_relative, lower_relative},
	{"cpu", "uint64 cpu", "Number of the CPU that the probe runs on.", "",
	 BUILTIN_OF_THREAD | VARIABLE_OR_CALL, 0, 0, check_number, lower_number},
	{"ncpus", "uint64 ncpus", "Number of CPUs that the kernel may ever bring up.", "",
	 BUILTIN_MACHINE | VARIABLE_OR_CALL, 0, 0, check_ncpus, builtin_lower_literal},
	{"numaid", "uint64 numaid", "Number of the NUMA node that the probe runs on.", "4.10",
	 BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 0, check_number, lower_number},
	{"rand", "uint32 rand", "A pseudo-random number.", "", VARIABLE_OR_CALL, 0, 0, check_number,
	 lower_number},
	{"jiffies", "uint64 jiffies", "The kernel's 64-bit tick counter.", "5.5",
	 BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 0, check_number, lower_number},
	{"cgroup", "uint64 cgroup", "Id of the cgroup (version 2) that the current process is in.",
	 "4.18", BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 0, check_number, lower_number},
	{"cgroupid", "uint64 cgroupid(\"path\")",
	 "Id of the cgroup (version 2) at a path; found when the script is compiled.", "4.18",
	 BUILTIN_MACHINE | BUILTIN_CALL, 1, 1, check_numberid, builtin_lower_literal},
	{"cgroup_path", "cgroup_path_t cgroup_path(uint64 id [, \"filter\"])",
	 "The path of a cgroup id, looked up when it is printed; a filter with wildcards limits "
	 "the hierarchies.",
	 "4.18", BUILTIN_MACHINE | BUILTIN_CALL, 1, 2, check_number_path, lower_cgroup_path},
	{0},
};
