/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rawtracepoint:[MODULE:]EVENT: the tracepoint's own arguments, before any record is made of them.
 * BTF knows their types (typedef btf_trace_EVENT); without BTF arg0 ... are plain 64-bit values.
 */
#include <stdio.h>

#include "kernel/tracefs/tracefs.h"
#include "probe/provider.h"

#define MAX_ARGUMENTS 12 /* MAX_BPF_FUNC_ARGS of the kernel */

struct expand_arg {
	struct probe_env *env;
	const struct probe_request *request;
	struct probe_targets *out;
	const char *module, *event;
	struct hashmap
		seen; /* an event name may be in several categories; there is one tracepoint */
	u32 added;
};

static void add(struct expand_arg *a, const char *event)
{
	struct arena *arena = a->env->arena;
	const bool with_module = a->module && !glob_has_wildcard(a->module);
	struct probe_target *t = probe_add_target(
		a->env, a->out, &probe_rawtracepoint, a->request,
		with_module ? arena_printf(arena, "rawtracepoint:%s:%s", a->module, event)
			    : arena_printf(arena, "rawtracepoint:%s", event));

	t->function = arena_strdup(arena, event);
	t->module = with_module && !str_eq(a->module, "vmlinux") ? arena_strdup(arena, a->module)
								 : NULL;
	a->added++;
}

/* System calls' events are views of raw_syscalls:sys_enter and sys_exit; ftrace's are record
 * formats. */
static bool is_view(const char *category)
{
	return str_eq(category, "syscalls") || str_eq(category, "ftrace") ||
	       str_eq(category, "kprobes") || str_eq(category, "uprobes") ||
	       str_eq(category, "synthetic");
}

static int add_event(void *arg, const char *category, const char *event)
{
	struct expand_arg *a = arg;
	bool is_new;

	if (is_view(category))
		return 0;
	hashmap_put(&a->seen, event, strlen(event), &is_new);
	if (is_new)
		add(a, event);
	return 0;
}

static int found_event(void *arg, const char *category, const char *event)
{
	if (is_view(category))
		return 0;
	*(bool *)arg = true;
	return 1;
}

static int offer(void *arg, const char *category, const char *event)
{
	if (!is_view(category))
		nearest_offer(arg, event);
	return 0;
}

static int no_match(struct expand_arg *a)
{
	struct nearest n;

	diag_error(a->env->diag, a->request->span, "No matches for rawtracepoint %s%s%s.",
		   a->module ? a->module : "", a->module ? ":" : "", a->event);
	if (glob_has_wildcard(a->event))
		return -ENOENT;
	if (str_starts(a->event, "sys_enter_") || str_starts(a->event, "sys_exit_")) {
		diag_hint(a->env->diag,
			  "system calls are tracepoint:syscalls:%s; rawtracepoint has sys_enter "
			  "and sys_exit for all of them",
			  a->event);
		return -ENOENT;
	}
	nearest_init(&n, a->event);
	tracefs_each_event(a->env->kernel, "*", "*", offer, &n);
	nearest_hint(&n, a->env->diag, "");
	return -ENOENT;
}

static int expand(struct probe_env *env, const struct probe_request *r, struct probe_targets *out,
		  const struct probe_provider *p)
{
	struct expand_arg a = {.env = env, .request = r, .out = out};
	struct btf_function f;
	bool found = false;
	int err;

	err = probe_check_parts(env, r, &probe_rawtracepoint, 1, 2);
	if (!err)
		err = probe_require(env, r->span, KERNEL_RAW_TRACEPOINT, "raw tracepoints");
	if (err)
		return err;
	a.module = r->count == 3 ? r->parts[1] : NULL;
	a.event = r->parts[r->count - 1];
	if (glob_has_wildcard(a.event)) {
		err = tracefs_each_event(env->kernel, "*", a.event, add_event, &a);
		hashmap_release(&a.seen);
		if (!a.added && (err == -EACCES || err == -EPERM))
			return probe_refuse(env, r->span, err, "raw tracepoints");
		return a.added ? 0 : no_match(&a);
	}
	if (*a.event && !strchr(a.event, '/')) {
		/* Not every tracepoint has an event in tracefs, and not every kernel has BTF. */
		found = !btf_find_raw_tracepoint(
			env->btf, a.module && !glob_has_wildcard(a.module) ? a.module : NULL,
			a.event, &f);
		if (!found && (!a.module || glob_has_wildcard(a.module) || btf_available(env->btf)))
			tracefs_each_event(env->kernel, "*", a.event, found_event, &found);
	}
	if (!found)
		return no_match(&a);
	add(&a, a.event);
	return 0;
}

static void describe_arguments(struct probe_env *env, const struct probe_target *t,
			       struct probe_context *ret)
{
	struct location *locations;
	struct btf_function f;

	if (btf_find_raw_tracepoint(env->btf, t->module, t->function, &f) || !f.type)
		return;
	ret->argn_count = (u8)MIN(f.type->count, (u32)ARRAY_SIZE(ret->argn));
	ret->args =
		probe_arguments_type(env, f.type, arena_printf(&env->types->arena, "%s", t->name));
	if (!ret->args)
		return;
	ret->layout_key = t->name;
	locations = arena_new_array(env->arena, struct location, ret->args->count);
	for (u32 i = 0; i < ret->args->count && i < MAX_ARGUMENTS; i++) {
		const struct type *m = ret->args->members[i].type;

		/* Every argument is widened to 64 bits (include/trace/bpf_probe.h, CAST_TO_U64). */
		if (m->size && m->size <= 8 && !type_is_record(m))
			locations[i] = (struct location){.kind = LOCATION_CONTEXT,
							 .size = (u8)m->size,
							 .is_signed = m->is_signed,
							 .offset = (u16)(8 * i)};
	}
	ret->locations = locations;
}

static int describe(struct probe_env *env, const struct probe_target *t,
		    const struct probe_use *use, struct span at, struct probe_context *ret)
{
	struct btf_function f;

	*ret = (struct probe_context){
		.kind = CONTEXT_ARGUMENTS,
		.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.space = SPACE_KERNEL,
		.argn_count = ARRAY_SIZE(ret->argn),
		.has_cookie = probe_has_cookie(env, BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0),
		.layout_key = "rawtracepoint",
	};
	for (u32 i = 0; i < ARRAY_SIZE(ret->argn); i++)
		ret->argn[i] = (struct location){
			.kind = LOCATION_CONTEXT, .size = 8, .offset = (u16)(8 * i)};
	if (use->arguments)
		describe_arguments(env, t, ret);
	if (use->typed && !btf_find_raw_tracepoint(env->btf, t->module, t->function, &f)) {
		ret->program_type = BPF_PROG_TYPE_TRACING;
		ret->expected_attach_type = BPF_TRACE_RAW_TP;
		ret->attach_btf_id = f.id;
		ret->attach_btf_fd = f.module_fd;
		ret->has_cookie = false;
	}
	return 0;
}

static int attach(struct probe_env *env, int prog_fd, const struct probe_context *context,
		  struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	const u32 attached = out->attached;

	for (u32 i = 0; i < n; i++) {
		/* Programs that are typed by BTF know their tracepoint. */
		const char *name = context->attach_btf_id ? NULL : targets[i]->function;
		int fd = attach_raw_tracepoint(prog_fd, name, targets[i]->cookie,
					       context->has_cookie);

		attach_link(env, targets[i], fd, out);
	}
	return out->attached > attached || !n ? 0 : -EIO;
}

struct each_arg {
	const struct probe_listing *listing;
	struct hashmap seen;
};

static int each_event(void *arg, const char *category, const char *event)
{
	struct each_arg *a = arg;
	char name[320];
	bool is_new;

	if (is_view(category))
		return 0;
	snprintf(name, sizeof(name), "rawtracepoint:%s", event);
	hashmap_put(&a->seen, event, strlen(event), &is_new);
	return is_new ? probe_offer(a->listing, name) : 0;
}

static int each(const struct probe_listing *l)
{
	struct each_arg a = {.listing = l};
	int err = tracefs_each_event(l->env->kernel, "*", "*", each_event, &a);

	hashmap_release(&a.seen);
	return err;
}

const struct probe_provider probe_rawtracepoint = {
	.name = "rawtracepoint",
	.aliases = {"rt"},
	.form = "rawtracepoint:[MODULE:]EVENT",
	.doc = "tracepoints before their record is made: cheaper, with the kernel's own arguments",
	.needs = KERNEL_RAW_TRACEPOINT,
	.needs_pid_filter = true,
	.may_match_nothing = true,
	.expand = expand,
	.describe = describe,
	.attach = attach,
	.each = each,
};
