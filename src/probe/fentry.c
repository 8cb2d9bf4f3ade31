/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fentry and fexit: entries and returns of kernel functions (and of BPF programs: bpf_program.c)
 * through BPF trampolines. Arguments are typed by BTF and the return value stands beside them. The
 * function is part of the loaded program, so every target needs its own.
 */
#include <stdio.h>

#include "probe/bpf_program.h"
#include "probe/function.h"

struct expand_arg {
	struct probe_env *env;
	const struct probe_request *request;
	struct probe_targets *out;
	const struct probe_provider *provider;
	const char *module, *function; /* globs; module NULL = any */
	struct function_left_out left;
};

static void add(struct expand_arg *a, const char *module, const char *name)
{
	struct arena *arena = a->env->arena;
	struct probe_target *t;

	module = module && *module ? arena_strdup(arena, module) : "vmlinux";
	t = probe_add_target(a->env, a->out, a->provider, a->request,
			     arena_printf(arena, "%s:%s:%s", a->provider->name, module, name));
	t->module = module;
	t->function = arena_strdup(arena, name);
}

static int add_matching(void *arg, const char *module, const char *name, u32 id)
{
	struct expand_arg *a = arg;

	if (!function_is_traceable(a->env, name))
		a->left.notrace++;
	else if (str_starts(name, "rcu_") || str_starts(name, "__rcu_"))
		a->left.of_rcu++;
	else if (!module && ksyms_count(kernel_ksyms(a->env->kernel), name) > 1)
		a->left.shared++;
	else
		add(a, module, name);
	return 0;
}

static int need_btf(struct probe_env *env, const struct probe_request *r, const char *what)
{
	const int err = btf_available(env->btf);

	if (!err)
		return 0;
	diag_error(env->diag, r->span, "%s needs the kernel's type information (BTF): %s", what,
		   strerror(-err));
	diag_hint(env->diag, "use kprobe, or a kernel with CONFIG_DEBUG_INFO_BTF=y");
	diag_code(env->diag, EXIT_UNSUPPORTED);
	return -EOPNOTSUPP;
}

static int expand_literal(struct expand_arg *a)
{
	struct btf_function f;

	if (btf_find_function(a->env->btf, a->module, a->function, &f))
		return function_no_match(a->env, a->request, a->provider->name, a->module,
					 a->function);
	/* The kernel takes the first of that name. */
	if (!f.module && !a->env->compile_only && !a->env->list_only &&
	    function_check_unique(a->env, a->request, a->function))
		return -EINVAL;
	add(a, f.module, a->function);
	return 0;
}

static int expand_functions(struct probe_env *env, const struct probe_request *r,
			    struct probe_targets *out, const struct probe_provider *p)
{
	struct expand_arg a = {.env = env, .request = r, .out = out, .provider = p};
	const size_t first = out->list.len;
	int err;

	err = probe_check_parts(env, r, p, 1, 3);
	if (err)
		return err;
	if (r->count > 2 && str_eq(r->parts[1], "bpf"))
		return bpf_program_expand(env, r, p, out);
	if (r->count > 3)
		return probe_check_parts(env, r, p, 1, 2);
	a.module = r->count == 3 ? r->parts[1] : NULL;
	a.function = r->parts[r->count - 1];
	if (!*a.function) {
		diag_error(env->diag, r->span, "fentry/fexit should specify a function");
		return -EINVAL;
	}
	err = probe_require(env, r->span, KERNEL_FENTRY, p->name);
	if (!err)
		err = need_btf(env, r, p->name);
	if (!err)
		err = function_check_module(env, r, a.module);
	if (err)
		return err;
	if (!glob_has_wildcard(a.function) && !(a.module && glob_has_wildcard(a.module)))
		return expand_literal(&a);
	btf_each_function(env->btf, a.module ? a.module : "*", a.function, add_matching, &a);
	function_tell_left_out(env, r, out, &a.left);
	return out->list.len > first ? 0 : function_no_match(env, r, p->name, a.module, a.function);
}

/* ---- describe ---- */

/* A value of at most 8 bytes in slot `slot` of the context; a struct by value stays unreadable. */
static struct location slot_location(const struct type *t, u32 slot)
{
	if (!t->size || t->size > 8 || type_is_record(t))
		return (struct location){.kind = LOCATION_NONE};
	return (struct location){.kind = LOCATION_CONTEXT,
				 .size = (u8)t->size,
				 .is_signed = t->is_signed,
				 .offset = (u16)(8 * slot)};
}

static int describe(struct probe_env *env, const struct probe_target *t,
		    const struct probe_use *use, struct span at, struct probe_context *ret)
{
	const bool is_return = t->provider == &probe_fexit;
	struct location *locations;
	struct btf_function f;
	u32 slot = 0;
	int err;

	*ret = (struct probe_context){
		.kind = CONTEXT_ARGUMENTS,
		.program_type = BPF_PROG_TYPE_TRACING,
		.expected_attach_type = is_return ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY,
		.space = SPACE_KERNEL,
		.is_return = is_return,
		.has_function = kernel_features(env->kernel)->get_func_ip,
		.layout_key = t->name,
	};
	if (t->private) {
		bpf_program_describe(t, ret);
		return 0;
	}
	err = btf_find_function(env->btf, t->module, t->function, &f);
	if (err || !f.type) {
		diag_error(env->diag, at, "no type information for %s", t->name);
		return err ? err : -ENOENT;
	}
	ret->attach_btf_id = f.id;
	ret->attach_btf_fd = f.module_fd;
	ret->args = probe_arguments_type(env, f.type, t->name);
	locations = arena_new_array(env->arena, struct location, f.type->count + 1);
	for (u32 i = 0; i < f.type->count; i++) {
		locations[i] = slot_location(f.type->members[i].type, slot);
		if (i < ARRAY_SIZE(ret->argn)) {
			ret->argn[i] = locations[i];
			ret->argn_count = (u8)(i + 1);
		}
		slot += MAX((f.type->members[i].type->size + 7) / 8, 1u);
	}
	ret->locations = locations;
	if (is_return && f.type->element && f.type->element->size) {
		ret->retval = f.type->element;
		ret->retval_location = slot_location(f.type->element, slot);
	}
	return 0;
}

/* ---- attach ---- */

static int link_tracing(int prog_fd, const struct probe_context *context, u64 cookie)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (u32)prog_fd;
	attr.link_create.attach_type = context->expected_attach_type;
	attr.link_create.tracing.cookie = cookie;
	fd = attach_link_create(&attr, sizeof(attr));
	if (fd != -EINVAL)
		return fd;
	/* Before 5.19. */
	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.prog_fd = (u32)prog_fd;
	return sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}

static int attach(struct probe_env *env, int prog_fd, const struct probe_context *context,
		  struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	const u32 attached = out->attached;

	for (u32 i = 0; i < n; i++) {
		int fd = link_tracing(prog_fd, context, targets[i]->cookie);

		attach_link(env, targets[i], fd, out);
	}
	return out->attached > attached || !n ? 0 : -EIO;
}

/* ---- list ---- */

static int each_function(void *arg, const char *module, const char *name, u32 id)
{
	const struct probe_listing *l = arg;
	char full[512];

	snprintf(full, sizeof(full), "%s:%s:%s", l->provider->name,
		 module && *module ? module : "vmlinux", name);
	return function_is_traceable(l->env, name) ? probe_offer(l, full) : 0;
}

static int each(const struct probe_listing *l)
{
	const char *colon = l->glob ? strchr(l->glob, ':') : NULL;
	struct probe_listing all = *l;

	if (colon && str_starts(colon, ":bpf:"))
		return bpf_program_each(l);
	/* "fentry:vfs_*" means any module. */
	if (colon && !strchr(colon + 1, ':'))
		all.glob = arena_printf(l->env->arena, "%.*s:*%s", (int)(colon - l->glob), l->glob,
					colon);
	return btf_each_function(l->env->btf, "*", "*", each_function, &all);
}

const struct probe_provider probe_fentry = {
	.name = "fentry",
	.aliases = {"f", "kfunc"},
	.form = "fentry:[MODULE:]FUNCTION or fentry:bpf:[ID:]PROGRAM",
	.doc = "entries of kernel functions, with typed arguments",
	.needs = KERNEL_FENTRY,
	.runs_in_reverse = true,
	.needs_pid_filter = true,
	.has_types = true,
	.expand = expand_functions,
	.describe = describe,
	.attach = attach,
	.each = each,
};

const struct probe_provider probe_fexit = {
	.name = "fexit",
	.aliases = {"fr", "kretfunc"},
	.form = "fexit:[MODULE:]FUNCTION or fexit:bpf:[ID:]PROGRAM",
	.doc = "returns of kernel functions, with typed arguments and return value",
	.needs = KERNEL_FENTRY,
	.runs_in_reverse = true,
	.needs_pid_filter = true,
	.has_types = true,
	.expand = expand_functions,
	.describe = describe,
	.attach = attach,
	.each = each,
};
