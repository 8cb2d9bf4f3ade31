/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The debug information of the running kernel or of one of its modules, and where that is in
 * memory. The kernel is moved as a whole; each section of a module has a place of its own.
 */
#ifndef PANTRACE_PROBE_KERNEL_IMAGE_H
#define PANTRACE_PROBE_KERNEL_IMAGE_H

#include "binary/elf/file.h"
#include "probe/provider.h"

struct kernel_image {
	struct elf_file *file; /* NULL: there is none, the cache has the place: */
	const char *module; /* NULL: the kernel itself */
	bool is_loaded; /* addresses in memory are known: not where nothing is attached */
	u64 slide; /* of the kernel itself: an address in memory, less the one in the file */
	u64 entry; /* where the function of the place begins in memory; 0 = by name */
	const char *fetched; /* " NAME=FETCH:TYPE ...": the variables that are known there */
};

/* The file with debug information; lives in env->cache. NULL = there is none. */
struct elf_file *kernel_image_file(struct probe_env *env, struct span at, const char *module);
/* 0, or -errno with a diagnostic. */
int kernel_image_open(struct probe_env *env, struct span at, const char *module,
		      struct kernel_image *ret);
/*
 * Where an address of the file is in memory; if nothing is attached, it is the same. Returns NULL,
 * or the reason why that is not known, which follows "cannot be read here: ".
 */
const char *kernel_image_locate(const struct kernel_image *image, u64 address, u64 *ret);

#endif
