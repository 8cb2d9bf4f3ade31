/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * iter:NAME[:PIN]: BPF iterators walk objects of the kernel (tasks, files, maps ...); the program
 * runs once for each while the sequence file is read. With PIN the link is kept in bpffs and others
 * read it (Documentation/bpf/bpf_iterators.rst).
 */
#include <stdio.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "probe/provider.h"
#include "base/nearest.h"

/* For hints and lists; BTF decides what there is. */
static const char *const known[] = {
	"task",		"task_file",  "task_vma", "bpf_map",
	"bpf_map_elem", "bpf_prog",   "bpf_link", "bpf_sk_storage_map",
	"cgroup",	"ipv6_route", "ksym",	  "netlink",
	"sockmap",	"tcp",	      "udp",	  "unix",
	"kmem_cache",	"dmabuf",
};

/* Those that walk what is in one map: the map must be given when they are attached. */
static bool needs_map(const char *name)
{
	static const char *const names[] = {"bpf_map_elem", "sockmap", "bpf_sk_storage_map"};

	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq(names[i], name))
			return true;
	return false;
}

/* A link is pinned at a new name in a file system of BPF. */
static int check_pin(struct probe_env *env, const struct probe_request *r, const char *path)
{
	const char *directory =
		arena_strndup(env->arena, path, (size_t)(strrchr(path, '/') - path));
	struct statfs fs;
	const char *why = NULL;

	if (!access(path, F_OK))
		why = "there is such a file already";
	else if (statfs(*directory ? directory : "/", &fs) < 0)
		why = strerror(errno);
	else if ((u32)fs.f_type != BPF_FS_MAGIC)
		why = "its directory is in no BPF file system (/sys/fs/bpf is one)";
	if (!why)
		return 0;
	diag_error(env->diag, r->span, "cannot pin %s at %s: %s", r->parts[1], path, why);
	return -EINVAL;
}

static int expand(struct probe_env *env, const struct probe_request *r, struct probe_targets *out,
		  const struct probe_provider *p)
{
	const struct type *context;
	struct btf_function f;
	struct probe_target *t;
	int err = probe_check_parts(env, r, &probe_iter, 1, 2);

	if (err)
		return err;
	if (glob_has_wildcard(r->parts[1]) || (r->count == 3 && glob_has_wildcard(r->parts[2]))) {
		diag_error(env->diag, r->span, "iter probe type does not support wildcards");
		diag_hint(env->diag, "`pantrace list 'iter:*'` shows the iterators of this kernel");
		return -EINVAL;
	}
	err = probe_require(env, r->span, KERNEL_ITERATORS, "iter");
	if (err)
		return err;
	err = btf_available(env->btf);
	if (err) {
		diag_error(env->diag, r->span, "iter needs the kernel's type information (BTF): %s",
			   strerror(-err));
		diag_hint(env->diag, "it takes a kernel with CONFIG_DEBUG_INFO_BTF=y");
		diag_code(env->diag, EXIT_UNSUPPORTED);
		return -EOPNOTSUPP;
	}
	if (btf_find_iterator(env->btf, r->parts[1], &f, &context)) {
		diag_error(env->diag, r->span, "iter %s not available for your kernel version.",
			   r->parts[1]);
		if (!diag_hint_nearest(env->diag, r->parts[1], known, ARRAY_SIZE(known)))
			diag_hint(env->diag,
				  "`pantrace list 'iter:*'` shows the iterators of this kernel");
		return -ENOENT;
	}
	if (needs_map(r->parts[1]) && !env->list_only && !env->compile_only) {
		diag_error(env->diag, r->span,
			   "iter:%s walks the elements of one BPF map, which a script cannot name",
			   r->parts[1]);
		diag_hint(env->diag, "iter:bpf_map walks the maps themselves; `bpftool map dump` "
				     "shows what is in one");
		diag_code(env->diag, EXIT_UNSUPPORTED);
		return -EOPNOTSUPP;
	}
	t = probe_add_target(env, out, &probe_iter, r,
			     arena_printf(env->arena, "iter:%s", r->parts[1]));
	t->function = arena_strdup(env->arena, r->parts[1]);
	if (r->count == 3 && *r->parts[2])
		t->path = r->parts[2][0] == '/'
				  ? arena_strdup(env->arena, r->parts[2])
				  : arena_printf(env->arena, "/sys/fs/bpf/%s", r->parts[2]);
	return t->path && !env->list_only && !env->compile_only ? check_pin(env, r, t->path) : 0;
}

static int describe(struct probe_env *env, const struct probe_target *t,
		    const struct probe_use *use, struct span at, struct probe_context *ret)
{
	const struct type *context;
	struct location *locations;
	struct btf_function f;
	int err = btf_find_iterator(env->btf, t->function, &f, &context);

	if (err) {
		diag_error(env->diag, at, "no type information for %s", t->name);
		return err;
	}
	*ret = (struct probe_context){
		.kind = CONTEXT_ITERATOR,
		.program_type = BPF_PROG_TYPE_TRACING,
		.expected_attach_type = BPF_TRACE_ITER,
		.attach_btf_id = f.id,
		.attach_btf_fd = f.module_fd,
		.space = SPACE_TRUSTED,
		.args = context,
		.layout_key = t->name,
	};
	if (!context)
		return 0;
	type_complete(env->types, context);
	locations = arena_new_array(env->arena, struct location, context->count + 1);
	for (u32 i = 0; i < context->count; i++) {
		const struct type_member *m = &context->members[i];

		if (m->type->size && m->type->size <= 8 && !type_is_record(m->type))
			locations[i] = (struct location){.kind = LOCATION_CONTEXT,
							 .size = (u8)m->type->size,
							 .is_signed = m->type->is_signed,
							 .offset = (u16)m->offset};
	}
	ret->locations = locations;
	return 0;
}

static int link_iterator(int prog_fd, const struct probe_target *t)
{
	union bpf_iter_link_info info;
	union bpf_attr attr;

	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (u32)prog_fd;
	attr.link_create.attach_type = BPF_TRACE_ITER;
	if (t->pid > 0 && str_starts(t->function, "task")) {
		info.task.pid = (u32)t->pid;
		attr.link_create.iter_info = (u64)(uintptr_t)&info;
		attr.link_create.iter_info_len = sizeof(info);
	}
	/* Every cgroup, from the root (no descriptor, no id): bpf_iter_attach_cgroup(),
	 * kernel/bpf/cgroup_iter.c. */
	if (str_eq(t->function, "cgroup")) {
		info.cgroup.order = BPF_CGROUP_ITER_DESCENDANTS_PRE;
		attr.link_create.iter_info = (u64)(uintptr_t)&info;
		attr.link_create.iter_info_len = sizeof(info);
	}
	return sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

/* Pins the link, or opens the sequence file that runs it. */
static int start(struct probe_env *env, int link, const struct probe_target *t, int *ret_sequence)
{
	union bpf_attr attr;
	int ret;

	*ret_sequence = -1;
	if (t->path) {
		memset(&attr, 0, sizeof(attr));
		attr.pathname = (u64)(uintptr_t)t->path;
		attr.bpf_fd = (u32)link;
		ret = sys_bpf(BPF_OBJ_PIN, &attr, sizeof(attr));
		if (ret)
			diag_error(env->diag, NO_SPAN, "cannot pin %s at %s: %s", t->name, t->path,
				   strerror(-ret));
		return ret;
	}
	ret = sys_bpf_iterator(link);
	if (ret < 0)
		return ret;
	*ret_sequence = ret;
	return 0;
}

static int attach(struct probe_env *env, int prog_fd, const struct probe_context *context,
		  struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	const u32 attached = out->attached;

	for (u32 i = 0; i < n; i++) {
		int link = link_iterator(prog_fd, targets[i]), sequence = -1;
		int err = link < 0 ? link : start(env, link, targets[i], &sequence);

		if (err) {
			if (link >= 0)
				close(link);
			attach_failed(env, targets[i], err, out);
			continue;
		}
		attach_done(out, (struct probe_attachment){
					 .fd = link, .event_fd = sequence, .targets = 1});
	}
	return out->attached > attached || !n ? 0 : -EIO;
}

static int each_iterator(void *arg, const char *module, const char *function, u32 id)
{
	const char *target = function + strlen("bpf_iter_");
	const struct probe_listing *l = arg;
	const struct type *context = NULL;
	struct btf_function f;
	char name[160];

	snprintf(name, sizeof(name), "iter:%s", target);
	if (l->glob && !glob_match(l->glob, name))
		return 0;
	/* Functions of the iterators' own code have such names too; they lack a context. */
	if (btf_find_iterator(l->env->btf, target, &f, &context) || !context)
		return 0;
	return l->fn(l->arg, name);
}

static int each(const struct probe_listing *l)
{
	/* An iterator NAME is declared by an empty function bpf_iter_NAME (DEFINE_BPF_ITER_FUNC).
	 */
	return btf_each_function(l->env->btf, "*", "bpf_iter_*", each_iterator, (void *)l);
}

const struct probe_provider probe_iter = {
	.name = "iter",
	.aliases = {"it"},
	.form = "iter:NAME[:PIN]",
	.doc = "walks objects of the kernel: tasks, files, maps ...",
	.needs = KERNEL_ITERATORS,
	.runs_in_reverse = true,
	.runs_when_read = true,
	.expand = expand,
	.describe = describe,
	.attach = attach,
	.each = each,
};
