/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracepoint:CATEGORY:EVENT. The program sees the event's raw record, as the format file describes
 * it, except for the first eight bytes: there perf keeps a pointer of its own, and the verifier
 * refuses to read it (kernel/trace/bpf_trace.c, tp_prog_is_valid_access).
 */
#include "arch/arch.h"
#include "kernel/tracefs/tracefs.h"
#include "probe/probe_event.h"
#include "probe/provider.h"
#include "types/tracefs_format.h"

#define RECORD_UNREADABLE 8 /* bytes of the record's head that a program cannot read */

struct expand_arg {
	struct probe_env *env;
	const struct probe_request *request;
	struct probe_targets *out;
	u32 added;
};

static bool is_syscall_entry(const char *event)
{
	return str_starts(event, "sys_enter_");
}

static int syscall_of(const char *event)
{
	if (is_syscall_entry(event))
		return arch_syscall_event_number(event + strlen("sys_enter_"));
	return str_starts(event, "sys_exit_")
		       ? arch_syscall_event_number(event + strlen("sys_exit_"))
		       : -1;
}

static void add(struct expand_arg *a, const char *category, const char *event)
{
	struct arena *arena = a->env->arena;
	struct probe_target *t =
		probe_add_target(a->env, a->out, &probe_tracepoint, a->request,
				 arena_printf(arena, "tracepoint:%s:%s", category, event));

	t->module = arena_strdup(arena, category);
	t->function = arena_strdup(arena, event);
	t->perf_type = PERF_TYPE_TRACEPOINT;
	t->syscall = str_eq(category, "syscalls") ? syscall_of(event) : -1;
	a->added++;
}

static int add_event(void *arg, const char *category, const char *event)
{
	struct expand_arg *a = arg;

	/* ftrace's own record types cannot be attached to; a wildcard steps over them. */
	if (str_eq(category, "ftrace") && !a->env->recorded)
		a->out->skipped++;
	else
		add(a, category, event);
	return 0;
}

static int offer_category(void *arg, const char *category, const char *event)
{
	nearest_offer(arg, category);
	return 0;
}

static int offer_event(void *arg, const char *category, const char *event)
{
	nearest_offer(arg, event);
	return 0;
}

static int stop(void *arg, const char *category, const char *event)
{
	*(const char **)arg = category;
	return 1;
}

static int offer_pair(void *arg, const char *category, const char *event)
{
	struct nearest *n = arg;
	char pair[128];

	/* Only the right event in another category: "sched:sys_enter_open". */
	if (!str_eq(event, strchr(n->word, ':') + 1))
		return 0;
	snprintf(pair, sizeof(pair), "%s:%s", category, event);
	if (!n->best[0][0])
		snprintf(n->best[0], sizeof(n->best[0]), "%s", pair);
	return 1;
}

static int no_match(struct probe_env *env, const struct probe_request *r, const char *category,
		    const char *event)
{
	struct nearest n;
	const char *known = NULL, *word;

	diag_error(env->diag, r->span, "No matches for tracepoint %s:%s%s.", category, event,
		   env->recorded ? " in the recording" : "");
	if (glob_has_wildcard(category) || glob_has_wildcard(event))
		return -ENOENT;
	probe_each_tracepoint(env, category, "*", stop, &known);
	if (!known) {
		nearest_init(&n, category);
		probe_each_tracepoint(env, "*", "*", offer_category, &n);
		nearest_hint(&n, env->diag, "");
		return -ENOENT;
	}
	nearest_init(&n, event);
	probe_each_tracepoint(env, category, "*", offer_event, &n);
	if (n.best[0][0]) {
		nearest_hint(&n, env->diag, arena_printf(env->arena, "%s:", category));
		return -ENOENT;
	}
	word = arena_printf(env->arena, "%s:%s", category, event);
	nearest_init(&n, word);
	probe_each_tracepoint(env, "*", "*", offer_pair, &n);
	nearest_hint(&n, env->diag, "");
	return -ENOENT;
}

static bool is_safe_name(const char *s)
{
	return *s && !strchr(s, '/') && !str_eq(s, ".") && !str_eq(s, "..");
}

static int expand(struct probe_env *env, const struct probe_request *r, struct probe_targets *out,
		  const struct probe_provider *p)
{
	struct expand_arg a = {.env = env, .request = r, .out = out};
	const bool short_form = r->count == 2 && glob_has_wildcard(r->parts[1]);
	const char *category, *event;
	int err;

	if (!short_form && probe_check_parts(env, r, &probe_tracepoint, 2, 2))
		return -EINVAL;
	category = short_form ? "*" : r->parts[1];
	event = short_form ? r->parts[1] : r->parts[2];
	err = env->recorded ? 0 : probe_require(env, r->span, KERNEL_TRACEPOINTS, "tracepoints");
	if (err)
		return err;
	if (!is_safe_name(category) || !is_safe_name(event))
		return no_match(env, r, category, event);
	if (str_eq(category, "ftrace") && !env->list_only && !env->compile_only && !env->recorded) {
		diag_error(env->diag, r->span,
			   "tracepoint:ftrace:%s is a record of ftrace's own, no program can be "
			   "attached to it",
			   event);
		diag_hint(env->diag, "what writes such records has probes of its own: kprobe and "
				     "fentry for functions");
		return -EINVAL;
	}
	if (env->recorded) {
		err = probe_each_tracepoint(env, category, event, add_event, &a);
	} else if (!glob_has_wildcard(category) && !glob_has_wildcard(event)) {
		err = tracefs_event_id(env->kernel, category, event);
		if (err >= 0) {
			add(&a, category, event);
			out->list.items[out->list.len - 1]->config = (u64)err;
		}
	} else {
		err = tracefs_each_event(env->kernel, category, event, add_event, &a);
	}
	if (!a.added && (err == -EACCES || err == -EPERM))
		return probe_refuse(env, r->span, err, "tracepoints");
	return a.added ? 0 : no_match(env, r, category, event);
}

/* The format's fields without the head that cannot be read. */
static const struct type *readable_record(struct probe_env *env, const struct probe_target *t,
					  const struct type *record)
{
	struct type *ret = type_new(env->types, TYPE_STRUCT);
	struct type_member *members =
		arena_new_array(&env->types->arena, struct type_member, record->count + 1);
	u32 n = 0;

	for (u32 i = 0; i < record->count; i++)
		if (record->members[i].offset >= RECORD_UNREADABLE)
			members[n++] = record->members[i];
	*ret = *record;
	ret->members = members;
	ret->count = n;
	ret->name = arena_printf(&env->types->arena, "tracepoint:%s:%s", t->module, t->function);
	ret->is_complete = true;
	ret->complete = NULL;
	return ret;
}

/* Events of one class have the same fields and may share a program: the fields as they are written
 * are the key. */
static const char *format_key(struct probe_env *env, const char *text)
{
	const char *fields = strstr(text, "\nformat:"), *end;

	if (!fields)
		fields = text;
	end = strstr(fields, "\nprint fmt:");
	return arena_strndup(env->arena, fields, end ? (size_t)(end - fields) : strlen(fields));
}

/*
 * Since 7.0 programs on raw tracepoints may be preempted (SRCU protects them, __DECLARE_TRACE() in
 * include/linux/tracepoint.h): what other threads do on the CPU meanwhile finds the program busy,
 * and is not seen. perf's handlers still disable preemption.
 */
static bool raw_is_preemptible(struct probe_env *env)
{
	struct probe_cache *c = probe_cache_of(env);

	if (!c->raw_tried) {
		c->raw_tried = true;
		c->raw_is_preemptible = btf_has_typedef(env->btf, "class_srcu_fast_notrace_t");
	}
	return c->raw_is_preemptible;
}

/* ---- system calls as raw tracepoints ---- */

/*
 * An event of one system call is a view of raw_syscalls:sys_enter or sys_exit: perf makes a record
 * of it (kernel/trace/trace_syscalls.c, perf_syscall_enter()), and to detach from one takes two
 * grace periods of RCU (75 ms). A program on the raw tracepoint itself reads the registers where
 * they are, and many calls share it.
 */
static const struct probe_syscalls *find_syscalls(struct probe_env *env)
{
	struct probe_cache *c = probe_cache_of(env);
	const struct type *info;
	const struct type_member *status;
	u32 offset;

	if (c->syscalls_tried)
		return c->syscalls.number_offset ? &c->syscalls : NULL;
	c->syscalls_tried = true;
	/* 5.15 has it, and bpf_get_current_task_btf() (5.11), which is needed, too. */
	if (!kernel_features(env->kernel)->attach_cookie || btf_available(env->btf) ||
	    raw_is_preemptible(env))
		return NULL;
	info = type_named(env->types, "struct thread_info");
	status = info ? type_find_member(env->types, info, "status", &offset) : NULL;
	if (!status || status->type->size != 4)
		return NULL;
	/* CONFIG_THREAD_INFO_IN_TASK: struct task_struct begins with it. */
	c->syscalls = (struct probe_syscalls){.number_offset = arch_syscall_number_offset(),
					      .status_offset = offset,
					      .compat = arch_compat_status()};
	return &c->syscalls;
}

/* Where the record's fields come from: syscall_get_arguments(), 8 bytes each. Fields of other kinds
 * (copies of strings, 6.17) have no place. */
static const struct location *syscall_locations(struct probe_env *env, const struct type *args,
						bool is_entry)
{
	struct location *ret = arena_new_array(env->arena, struct location, args->count + 1);

	for (u32 i = 0; i < args->count; i++) {
		const struct type_member *m = &args->members[i];
		const u32 slot = m->offset < 16 ? 0 : (m->offset - 16) / 8;
		const int offset = m->offset < 16 ? arch_syscall_number_offset()
				   : is_entry	  ? arch_syscall_argument_offset(slot)
						  : arch_retval_offset();

		if (offset < 0 || m->is_data_loc || m->is_rel_loc || m->offset % 8 ||
		    !m->type->size || m->type->size > 8 || type_is_record(m->type) ||
		    (!is_entry && slot))
			continue;
		ret[i] = (struct location){.kind = LOCATION_SYSCALL,
					   .size = (u8)m->type->size,
					   .is_signed = m->type->is_signed,
					   .offset = (u16)offset};
	}
	return ret;
}

/*
 * Changes the context of a system call's event to that of the raw tracepoint, if this kernel can.
 */
static void describe_raw_syscall(struct probe_env *env, const struct probe_target *t,
				 struct probe_context *c)
{
	const bool is_entry = is_syscall_entry(t->function);
	const struct probe_syscalls *syscalls = find_syscalls(env);
	struct btf_function f;

	if (t->syscall < 0 || !syscalls ||
	    btf_find_raw_tracepoint(env->btf, NULL, is_entry ? "sys_enter" : "sys_exit", &f))
		return;
	c->program_type = BPF_PROG_TYPE_TRACING;
	c->expected_attach_type = BPF_TRACE_RAW_TP;
	c->attach_btf_id = f.id;
	c->has_cookie = true;
	c->syscalls = syscalls;
	if (c->args)
		c->locations = syscall_locations(env, c->args, is_entry);
}

/*
 * The format as it was recorded: the program runs over records of another kernel, maybe of another
 * machine. Their heads stay unreadable, for scripts mean the same everywhere.
 */
static int describe_recorded(struct probe_env *env, const struct probe_target *t,
			     const struct probe_use *use, struct span at, struct probe_context *ret)
{
	const struct type *record;
	const char *print_format, *text;
	int err;

	*ret = (struct probe_context){
		.kind = CONTEXT_TRACEPOINT,
		.program_type = BPF_PROG_TYPE_TRACEPOINT,
		.space = str_eq(t->module, "syscalls") ? SPACE_USER : SPACE_KERNEL,
		.has_cookie = true,
		.layout_key = "tracepoint",
	};
	if (!use->arguments)
		return 0;
	err = env->recorded->event_format(env->recorded->arg, t->module, t->function, &text);
	if (!err) {
		ret->layout_key = format_key(env, text);
		err = tracefs_format_parse(env->types, t->module, text, &record, &print_format);
	}
	if (!err)
		ret->args = readable_record(env, t, record);
	else if (err == -EXDEV)
		diag_error(env->diag, at,
			   "the recordings lay out the fields of %s in different ways: run the "
			   "script over each of them",
			   t->name);
	else
		diag_error(env->diag, at,
			   "the recording does not hold the fields of %s as a "
			   "program can read them",
			   t->name);
	return err;
}

static int describe_record(struct probe_env *env, const struct probe_target *t,
			   const struct probe_use *use, struct span at, struct probe_context *ret)
{
	const bool is_syscall = str_eq(t->module, "syscalls");
	const struct type *record;
	const char *print_format;
	char *text;
	int err;

	*ret = (struct probe_context){
		.kind = CONTEXT_TRACEPOINT,
		.program_type = BPF_PROG_TYPE_TRACEPOINT,
		.space = is_syscall ? SPACE_USER : SPACE_KERNEL,
		.has_cookie = kernel_features(env->kernel)->attach_cookie,
		/* syscalls:sys_enter_x is no tracepoint of its own but a view of raw_syscalls. */
		.raw_tracepoint = is_syscall || raw_is_preemptible(env) ? NULL : t->function,
		.layout_key = is_syscall ? "tracepoint:syscalls" : "tracepoint",
	};
	if (!use->arguments)
		return 0;
	err = tracefs_event_format(env->kernel, t->module, t->function, &text);
	if (!err) {
		ret->layout_key = format_key(env, text);
		err = tracefs_format_parse(env->types, t->module, text, &record, &print_format);
		free(text);
	}
	if (err) {
		diag_error(env->diag, at, "cannot read the format of %s: %s", t->name,
			   strerror(-err));
		if (err == -EACCES || err == -EPERM)
			diag_code(env->diag, EXIT_PRIVILEGE);
		return err;
	}
	ret->args = readable_record(env, t, record);
	return 0;
}

static int describe(struct probe_env *env, const struct probe_target *t,
		    const struct probe_use *use, struct span at, struct probe_context *ret)
{
	int err;

	if (env->recorded)
		return describe_recorded(env, t, use, at, ret);
	err = probe_event_describe(env, t, at, ret);
	if (err)
		return MIN(err, 0);
	err = describe_record(env, t, use, at, ret);
	if (!err && !use->record && str_eq(t->module, "syscalls"))
		describe_raw_syscall(env, t, ret);
	return err;
}

struct open_arg {
	struct kernel *kernel;
	int cpu;
};

static int event_attr(struct kernel *k, const struct probe_target *t, struct perf_event_attr *ret)
{
	const int id = t->config ? (int)t->config : tracefs_event_id(k, t->module, t->function);

	*ret = (struct perf_event_attr){.type = PERF_TYPE_TRACEPOINT, .config = (u64)id};
	return MIN(id, 0);
}

static int count(struct probe_env *env, const struct probe_target *t, struct perf_event_attr *ret)
{
	return event_attr(env->kernel, t, ret);
}

static int open_event(const struct probe_target *t, void *arg)
{
	const struct open_arg *a = arg;
	struct perf_event_attr attr;
	const int err = event_attr(a->kernel, t, &attr);

	if (err)
		return err;
	attr.size = sizeof(attr);
	/* Any CPU will do, and it need not count: the program hangs on the tracepoint, not on this
	 * counter. */
	attr.disabled = 1;
	return perf_event_open_fd(&attr, -1, a->cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int attach_raw(struct probe_env *env, int prog_fd, struct probe_target *const *targets,
		      u32 n, struct probe_attachments *out)
{
	u32 done = 0;

	for (u32 i = 0; i < n; i++) {
		int fd = attach_raw_tracepoint(prog_fd, targets[i]->function, 0, false);

		if (fd < 0) {
			attach_failed(env, targets[i], fd, out);
			continue;
		}
		attach_done(out, (struct probe_attachment){.fd = fd, .event_fd = -1, .targets = 1});
		done++;
	}
	return done || !n ? 0 : -EIO;
}

/* The program itself says which tracepoint it is for, and which calls are its own. */
static int attach_syscalls(struct probe_env *env, int prog_fd, struct probe_target *const *targets,
			   u32 n, struct probe_attachments *out)
{
	const int fd = attach_raw_tracepoint(prog_fd, NULL, 0, false);

	if (fd < 0) {
		attach_failed(env, targets[0], fd, out);
		out->failed += n - 1;
		return fd;
	}
	attach_done(out, (struct probe_attachment){.fd = fd, .event_fd = -1, .targets = n});
	return 0;
}

static int attach(struct probe_env *env, int prog_fd, const struct probe_context *context,
		  struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	struct open_arg arg = {.kernel = env->kernel};
	const u32 *cpus;

	if (context->program_type == BPF_PROG_TYPE_RAW_TRACEPOINT)
		return attach_raw(env, prog_fd, targets, n, out);
	if (context->syscalls)
		return attach_syscalls(env, prog_fd, targets, n, out);
	kernel_tracefs(env->kernel); /* found once, before threads ask */
	if (kernel_online_cpus(env->kernel, &cpus))
		arg.cpu = (int)cpus[0];
	return attach_perf_events(env, prog_fd, targets, n, open_event, &arg, out);
}

static int each_event(void *arg, const char *category, const char *event)
{
	char name[320];

	if (str_eq(category, "ftrace"))
		return 0;
	snprintf(name, sizeof(name), "tracepoint:%s:%s", category, event);
	return probe_offer(arg, name);
}

static int each(const struct probe_listing *l)
{
	const char *const glob = l->glob;
	char category[128] = "*";
	const char *colon;

	/* "tracepoint:sched:*" reads one directory only. */
	if (glob && str_starts(glob, "tracepoint:")) {
		colon = strchr(glob + 11, ':');
		if (colon && (size_t)(colon - glob - 11) < sizeof(category))
			snprintf(category, sizeof(category), "%.*s", (int)(colon - glob - 11),
				 glob + 11);
	}
	return tracefs_each_event(l->env->kernel, category, "*", each_event, (void *)l);
}

const struct probe_provider probe_tracepoint = {
	.name = "tracepoint",
	.aliases = {"t"},
	.form = "tracepoint:CATEGORY:EVENT",
	.doc = "static events of the kernel, with named fields",
	.needs = KERNEL_TRACEPOINTS,
	.needs_pid_filter = true,
	.result = 1,
	.has_fields = true,
	.is_recorded = true,
	.expand = expand,
	.describe = describe,
	.attach = attach,
	.count = count,
	.each = each,
};
