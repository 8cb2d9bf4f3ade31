/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/kernel_image.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "binary/debug/lines.h"
#include "kernel/symbols/ksyms.h"
#include "probe/kernel_debug.h"
#include "probe/user.h"

static int no_debug_info(struct probe_env *env, struct span at, const char *module)
{
	if (module)
		diag_error(env->diag, at,
			   "the debug information of the module %s is not installed, or it is of "
			   "another build: its lines and variables are not known",
			   module);
	else
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

struct elf_file *kernel_image_file(struct probe_env *env, struct span at, const char *module)
{
	struct hashmap *const known = &probe_cache_of(env)->kernel_images;
	struct elf_file *f = hashmap_gets(known, module ? module : "");
	char *path;

	if (f)
		return f;
	path = module ? module_debug_file(env->debug_path, module)
		      : kernel_debug_file(env->debug_path);
	if (path && !user_open(env, at, path, false, &f)) {
		elf_file_set_kernel(f);
		hashmap_puts(known, module ? module : "", f);
	}
	free(path);
	return f;
}

/* In memory and in its file the kernel is the same, but for where it begins. */
static int find_slide(struct probe_env *env, struct span at, struct kernel_image *image)
{
	const u64 begin = kernel_symbol_address(env->kernel, "_text");
	struct elf_symbol s;

	if (begin && !elf_file_find_symbol(image->file, "_text", &s)) {
		image->slide = begin - s.address;
		return 0;
	}
	diag_error(env->diag, at, "the addresses of the kernel's functions cannot be read");
	diag_hint(env->diag, "root reads them in /proc/kallsyms, unless kernel.kptr_restrict is 2");
	diag_code(env->diag, EXIT_PRIVILEGE);
	return -EACCES;
}

int kernel_image_open(struct probe_env *env, struct span at, const char *module,
		      struct kernel_image *ret)
{
	*ret = (struct kernel_image){.file = kernel_image_file(env, at, module),
				     .module = module,
				     .is_loaded = !env->compile_only && !env->list_only};
	if (!ret->file)
		return no_debug_info(env, at, module);
	return ret->is_loaded && !module ? find_slide(env, at, ret) : 0;
}

/* 0: the kernel does not say it. */
static u64 section_address(const char *module, const char *section)
{
	char path[PATH_MAX], *text = NULL;
	size_t len;
	u64 address = 0;

	if (snprintf(path, sizeof(path), "/sys/module/%s/sections/%s", module, section) <
		    (int)sizeof(path) &&
	    !file_read(path, 64, &text, &len))
		address = strtoull(text, NULL, 16);
	free(text);
	return address;
}

const char *kernel_image_locate(const struct kernel_image *image, u64 address, u64 *ret)
{
	const char *section;
	u64 begin, in_memory;

	*ret = address + image->slide;
	if (!image->module || !image->is_loaded)
		return NULL;
	section = elf_file_section_at(image->file, address, &begin);
	/* Their addresses stay in /sys, whoever has the memory now. */
	if (!section)
		return "it is in no section of the module";
	if (str_starts(section, ".init"))
		return "the memory was given back when the module had begun";
	in_memory = section_address(image->module, section);
	*ret = in_memory + (address - begin);
	return in_memory
		       ? NULL
		       : "where the sections of the module are in memory is not shown (root reads "
			 "it, unless kernel.kptr_restrict is 2)";
}
