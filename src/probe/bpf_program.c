/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A BPF program can be a target of fentry and fexit like a kernel function, by the id of one of its
 * functions in its own BTF (bpf_check_attach_target(), kernel/bpf/verifier.c). A program without
 * BTF cannot.
 */
#include "probe/bpf_program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* 16 MB of BTF and the functions of one program: more is not a program's. */
#define MAX_BTF	      (16u << 20)
#define MAX_FUNCTIONS 4096

struct bpf_program {
	int fd; /* the cache's */
	u32 function_id;
};

struct program {
	u32 id;
	int fd;
	struct bpf_prog_info info;
};

/* fn of one function of a program; its result ends the walk if it is not 0. */
typedef int (*function_fn)(void *arg, const struct program *p, const char *name, u32 function_id);

/* The whole BTF object of that id; the caller frees it. */
static int read_btf(u32 id, void **ret, size_t *ret_len)
{
	struct bpf_btf_info info;
	union bpf_attr attr;
	void *data = NULL;
	int fd, err;

	memset(&attr, 0, sizeof(attr));
	attr.btf_id = id;
	fd = sys_bpf(BPF_BTF_GET_FD_BY_ID, &attr, sizeof(attr));
	if (fd < 0)
		return fd;
	memset(&info, 0, sizeof(info));
	err = sys_bpf_info(fd, &info, sizeof(info));
	if (!err && info.btf_size > MAX_BTF)
		err = -E2BIG;
	if (!err) {
		data = xzalloc(info.btf_size);
		*ret_len = info.btf_size;
		memset(&info, 0, sizeof(info));
		info.btf = (u64)(uintptr_t)data;
		info.btf_size = (u32)*ret_len;
		err = sys_bpf_info(fd, &info, sizeof(info));
	}
	close(fd);
	if (err)
		free(data);
	else
		*ret = data;
	return err;
}

/* The ids of the functions that a program is made of (its BTF may hold others). */
static u32 *read_function_ids(const struct program *p, u32 *ret_count)
{
	struct bpf_prog_info info;
	struct bpf_func_info *records;
	u32 n = p->info.nr_func_info, *ids;

	*ret_count = 0;
	if (!n || n > MAX_FUNCTIONS)
		return NULL;
	records = xzalloc(n * sizeof(*records));
	memset(&info, 0, sizeof(info));
	info.nr_func_info = n;
	info.func_info_rec_size = sizeof(*records);
	info.func_info = (u64)(uintptr_t)records;
	if (sys_bpf_info(p->fd, &info, sizeof(info)) ||
	    info.func_info_rec_size != sizeof(*records)) {
		free(records);
		return NULL;
	}
	n = MIN(n, info.nr_func_info);
	ids = xzalloc(n * sizeof(*ids));
	for (u32 i = 0; i < n; i++)
		ids[i] = records[i].type_id;
	free(records);
	*ret_count = n;
	return ids;
}

struct function_arg {
	const struct program *program;
	const u32 *ids;
	u32 count;
	function_fn fn;
	void *arg;
};

static int each_function(void *arg, const char *name, u32 id)
{
	const struct function_arg *a = arg;

	for (u32 i = 0; i < a->count; i++)
		if (a->ids[i] == id)
			return a->fn(a->arg, a->program, name, id);
	return 0;
}

static int functions_of(const struct program *p, function_fn fn, void *arg)
{
	struct function_arg a = {.program = p, .fn = fn, .arg = arg};
	void *data;
	size_t len;
	int err = 0;
	u32 *ids;

	/* Programs on trampolines cannot be traced by one themselves. */
	if (!p->info.btf_id || p->info.type == BPF_PROG_TYPE_TRACING ||
	    read_btf(p->info.btf_id, &data, &len))
		return 0;
	a.ids = ids = read_function_ids(p, &a.count);
	if (ids) {
		err = btf_each_function_in(data, len, each_function, &a);
		if (err == -EINVAL)
			err = 0;
	}
	free(ids);
	free(data);
	return err;
}

/* Every function of every program that may be a target. 0, -errno (no privilege), or what fn
 * returned. */
static int each_program(function_fn fn, void *arg)
{
	union bpf_attr attr;
	u32 id = 0;
	int err = 0;

	while (!err) {
		struct program p = {0};

		memset(&attr, 0, sizeof(attr));
		attr.start_id = id;
		err = sys_bpf(BPF_PROG_GET_NEXT_ID, &attr, sizeof(attr));
		if (err)
			return err == -ENOENT ? 0 : err;
		p.id = id = attr.next_id;
		memset(&attr, 0, sizeof(attr));
		attr.prog_id = id;
		p.fd = sys_bpf(BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
		if (p.fd == -ENOENT) /* gone in between */
			continue;
		if (p.fd < 0)
			return p.fd;
		if (!sys_bpf_info(p.fd, &p.info, sizeof(p.info)))
			err = functions_of(&p, fn, arg);
		close(p.fd);
	}
	return err;
}

/* ---- expand ---- */

struct expand_arg {
	struct probe_env *env;
	const struct probe_request *request;
	const struct probe_provider *provider;
	struct probe_targets *out;
	const char *id, *name; /* globs; id NULL = any */
};

static int add_target(void *arg, const struct program *p, const char *name, u32 function_id)
{
	const struct expand_arg *a = arg;
	struct probe_cache *cache = probe_cache_of(a->env);
	struct arena *arena = a->env->arena;
	struct bpf_program *target;
	struct probe_target *t;
	char id[16];
	int fd;

	snprintf(id, sizeof(id), "%u", p->id);
	if ((a->id && !glob_match(a->id, id)) || !glob_match(a->name, name))
		return 0;
	fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	vector_push(&cache->programs, fd);
	target = arena_new(arena, struct bpf_program);
	*target = (struct bpf_program){.fd = fd, .function_id = function_id};
	t = probe_add_target(a->env, a->out, a->provider, a->request,
			     arena_printf(arena, "%s:bpf:%u:%s", a->provider->name, p->id, name));
	t->module = "bpf";
	t->function = arena_strdup(arena, name);
	t->private = target;
	return 0;
}

int bpf_program_expand(struct probe_env *env, const struct probe_request *r,
		       const struct probe_provider *p, struct probe_targets *out)
{
	struct expand_arg a = {.env = env,
			       .request = r,
			       .provider = p,
			       .out = out,
			       .id = r->count == 4 ? r->parts[2] : NULL,
			       .name = r->parts[r->count - 1]};
	const size_t first = out->list.len;
	int err = probe_check_parts(env, r, p, 2, 3);

	if (err)
		return err;
	if (!*a.name) {
		diag_error(env->diag, r->span, "fentry/fexit should specify a function");
		return -EINVAL;
	}
	err = probe_require(env, r->span, KERNEL_FENTRY, p->name);
	if (err)
		return err;
	err = each_program(add_target, &a);
	if (err)
		return probe_refuse(env, r->span, err, "the list of BPF programs");
	if (out->list.len > first)
		return 0;
	diag_error(env->diag, r->span, "No matches for %s bpf:%s%s%s.", p->name, a.id ? a.id : "",
		   a.id ? ":" : "", a.name);
	diag_hint(env->diag,
		  "`pantrace list '%s:bpf:*'` shows the programs that run now and carry type "
		  "information (BTF)",
		  p->name);
	return -ENOENT;
}

void bpf_program_describe(const struct probe_target *t, struct probe_context *ret)
{
	const struct bpf_program *target = t->private;

	/* One field of the kernel's interface holds the descriptor of a module's BTF or of a
	 * program. */
	ret->attach_btf_fd = target->fd;
	ret->attach_btf_id = target->function_id;
}

/* ---- list ---- */

static int list_one(void *arg, const struct program *p, const char *name, u32 function_id)
{
	const struct probe_listing *l = arg;
	char full[512];

	snprintf(full, sizeof(full), "%s:bpf:%u:%s", l->provider->name, p->id, name);
	return probe_offer(l, full);
}

int bpf_program_each(const struct probe_listing *l)
{
	const char *rest = strchr(l->glob, ':') + strlen(":bpf:");
	struct probe_listing all = *l;

	if (!strchr(rest, ':')) /* without an id */
		all.glob = arena_printf(l->env->arena, "%.*s*:%s", (int)(rest - l->glob), l->glob,
					rest);
	return each_program(list_one, &all);
}
