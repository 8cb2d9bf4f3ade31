/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/kernel_line.h"

#include <unistd.h>

#include "binary/debug/lines.h"
#include "kernel/symbols/ksyms.h"
#include "probe/function.h"
#include "probe/kernel_cached.h"
#include "probe/kernel_debug.h"

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

/*
 * Where the symbol begins in memory. Of a module the kernel must have the same symbol there: a
 * probe in the wrong place would break its code.
 */
static int find_entry(struct search *q, const struct elf_symbol *s)
{
	struct kernel_image *const image = &q->image;
	const char *why = kernel_image_locate(image, s->address, &image->entry);
	struct kernel_symbol known;

	if (!image->is_loaded) {
		image->entry = 0;
		return 0;
	}
	if (!why && image->module &&
	    (!ksyms_at(kernel_ksyms(q->env->kernel), image->entry, KSYM_FIRST, &known) ||
	     known.address != image->entry || !known.module ||
	     !str_eq(known.module, image->module)))
		why = "in memory the module has no such function";
	if (!why)
		return 0;
	diag_error(q->env->diag, q->request->span, "%s cannot be probed: %s", q->request->text,
		   why);
	return -ENOENT;
}

static int found(void *arg, const struct debug_point *p)
{
	struct search *q = arg;
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
	if (!err)
		err = find_entry(q, &s);
	return err ? err : q->fn(q->arg, &q->image, p, &s, into);
}

/* Is it a loaded module, and has it code of the source? */
static bool has_source(struct probe_env *env, struct span at, const char *module,
		       const char *source)
{
	const char *const sections = arena_printf(env->arena, "/sys/module/%s/sections", module);
	struct elf_file *f = access(sections, F_OK) ? NULL : kernel_image_file(env, at, module);

	return f && debug_source_named(f, source);
}

/*
 * Modules are called as a source of theirs, or as a directory above it: virtio_blk of
 * "drivers/block/virtio_blk.c", ext4 of "fs/ext4/inode.c". NULL: it is of none of these.
 */
static const char *module_of_source(struct probe_env *env, struct span at, const char *source)
{
	char *path = arena_strdup(env->arena, source), *end = strrchr(path, '.');
	const char *name = NULL;

	for (; end; end = strrchr(path, '/')) {
		*end = '\0';
		name = module_name(env->arena, path);
		if (*name && has_source(env, at, name, source))
			return name;
	}
	return NULL;
}

/* Which module, by its name, the function's or the source's; NULL: the kernel itself. */
static int find_module(struct probe_env *env, const struct probe_request *r,
		       const struct kernel_line *line, const char **ret)
{
	const char *const given = line->line.target;

	*ret = NULL;
	if (!*given)
		*ret = line->function ? function_module(env, line->function)
				      : module_of_source(env, r->span, line->line.source);
	if (!*given || str_eq(given, "vmlinux"))
		return 0;
	*ret = module_name(env->arena, given);
	return env->compile_only ? 0 : function_check_module(env, r, *ret);
}

int kernel_line_each(struct probe_env *env, const struct probe_request *r,
		     const struct kernel_line *line, kernel_line_fn fn, void *arg)
{
	struct search q = {.env = env, .request = r, .fn = fn, .arg = arg};
	const char *module;
	int err = find_module(env, r, line, &module);

	if (err)
		return err;
	err = kernel_image_file(env, r->span, module)
		      ? -ENOENT
		      : kernel_cached_each(env, r, line, module, fn, arg);
	if (err != -ENOENT || env->diag->errors)
		return err;
	err = kernel_image_open(env, r->span, module, &q.image);
	if (err)
		return err;
	return line->function ? function_line_each(env, r, q.image.file, line->function,
						   line->line.line, found, &q)
			      : source_line_each(env, r, q.image.file, &line->line, found, &q);
}
