/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/kernel_line.h"

#include "binary/debug/lines.h"
#include "kernel/symbols/ksyms.h"
#include "probe/function.h"
#include "probe/kernel_cached.h"
#include "probe/kernel_debug.h"
#include "probe/user.h"

static int no_debug_info(struct probe_env *env, struct span at)
{
	diag_error(env->diag, at,
		   "the debug information of this kernel is not installed: its lines and "
		   "variables are not known");
	diag_hint(env->diag,
		  "install the package of its debug symbols (linux-image-...-dbg, "
		  "kernel-debuginfo), or name their place by --debuginfo DIR; or copy "
		  "~/.debug from a machine that has them, where probes at these lines were "
		  "put into the cache (probe --cache, -n)");
	return -ENODATA;
}

/* NULL = there is none. */
static struct elf_file *find_image(struct probe_env *env, struct span at)
{
	struct probe_cache *const c = probe_cache_of(env);
	char *path;

	if (!c->kernel_image_tried) {
		c->kernel_image_tried = true;
		path = kernel_debug_file(env->debug_path);
		if (path && !user_open(env, at, path, false, &c->kernel_image))
			elf_file_set_kernel(c->kernel_image);
		free(path);
	}
	return c->kernel_image;
}

/* In memory and in its file the kernel is the same, but for where it begins. */
static int find_slide(struct probe_env *env, struct span at, struct kernel_image *image)
{
	const u64 begin = kernel_symbol_address(env->kernel, "_text");
	struct elf_symbol s;

	image->slide = 0;
	if (env->compile_only || env->list_only)
		return 0;
	if (begin && !elf_file_find_symbol(image->file, "_text", &s)) {
		image->slide = begin - s.address;
		return 0;
	}
	diag_error(env->diag, at, "the addresses of the kernel's functions cannot be read");
	diag_hint(env->diag, "root reads them in /proc/kallsyms, unless kernel.kptr_restrict is 2");
	diag_code(env->diag, EXIT_PRIVILEGE);
	return -EACCES;
}

int kernel_image_open(struct probe_env *env, struct span at, struct kernel_image *ret)
{
	*ret = (struct kernel_image){.file = find_image(env, at)};
	return ret->file ? find_slide(env, at, ret) : no_debug_info(env, at);
}

/* ---- [MODULE:]FUNCTION:LINE, [MODULE]@SOURCE:LINE ---- */

static bool is_line_number(const char *word, u32 *ret)
{
	u64 line;

	if (word[strspn(word, "0123456789")] || !probe_parse_number(word, &line) ||
	    line > UINT32_MAX)
		return false;
	*ret = (u32)line;
	return true;
}

int kernel_line_parse(struct probe_env *env, const struct probe_request *r, struct kernel_line *ret)
{
	const int is_source = source_line_parse(env, r, &ret->line);

	ret->function = NULL;
	if (is_source)
		return is_source;
	if (r->count < 3 || r->count > 4 ||
	    !is_line_number(r->parts[r->count - 1], &ret->line.line))
		return 0;
	ret->function = r->parts[r->count - 2];
	ret->line.target = r->count == 4 ? r->parts[1] : "";
	return 1;
}

struct search {
	struct probe_env *env;
	const struct probe_request *request;
	struct kernel_image image;
	kernel_line_fn fn;
	void *arg;
};

static int found(void *arg, const struct debug_point *p)
{
	const struct search *q = arg;
	struct elf_symbol s;
	u64 into;
	int err;

	if (!elf_file_symbol_at(q->image.file, p->address, &s, &into)) {
		diag_error(q->env->diag, q->request->span,
			   "no function of the kernel's symbols has the code at 0x%" PRIx64,
			   p->address);
		return -ENOENT;
	}
	err = function_check_blacklist(q->env, q->request->span, s.name);
	return err ? err : q->fn(q->arg, &q->image, p, &s, into);
}

int kernel_line_each(struct probe_env *env, const struct probe_request *r,
		     const struct kernel_line *line, kernel_line_fn fn, void *arg)
{
	const char *const module = line->line.target;
	struct search q = {.env = env, .request = r, .fn = fn, .arg = arg};
	int err;

	if (*module && !str_eq(module, "vmlinux")) {
		diag_error(env->diag, r->span, "lines of the module %s are not known", module);
		diag_hint(env->diag, "those of the kernel itself are; in a module a probe can be "
				     "at FUNCTION+OFFSET");
		return -EOPNOTSUPP;
	}
	err = find_image(env, r->span) ? -ENOENT : kernel_cached_each(env, r, line, fn, arg);
	if (err != -ENOENT || env->diag->errors)
		return err;
	err = kernel_image_open(env, r->span, &q.image);
	if (err)
		return err;
	return line->function ? function_line_each(env, r, q.image.file, line->function,
						   line->line.line, found, &q)
			      : source_line_each(env, r, q.image.file, &line->line, found, &q);
}
