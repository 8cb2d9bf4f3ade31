/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the debug information of the running kernel and its modules lies, and which builds they
 * are.
 */
#ifndef PANTRACE_PROBE_KERNEL_DEBUG_H
#define PANTRACE_PROBE_KERNEL_DEBUG_H

#include "base/arena.h"

/* The build-id of the running kernel, malloc'ed; NULL if it has none that can be read. */
char *kernel_build_id(void);
/*
 * The path of its vmlinux with debug information, malloc'ed: where distributions put it, by name
 * and by build-id, and in debuginfod's cache. A file of another build is passed over. NULL = none.
 * debug_path: more directories, or the file itself, separated by ':', asked first; or NULL.
 */
char *kernel_debug_file(const char *debug_path);

/* "snd_hda" of "snd-hda" and "/lib/modules/6.1.0/kernel/snd-hda.ko.xz": the kernel's name. */
const char *module_name(struct arena *arena, const char *given);
/* Its build-id, malloc'ed. NULL: it is not loaded, or nobody may know. */
char *module_build_id(const char *name);
/* Is the module that is loaded of this build? Also true if none is, or nobody can tell. */
bool module_is_build(const char *name, const char *build_id);
/*
 * As kernel_debug_file(), of a module: its name, where it must be of the build that is loaded, or
 * the path of its .ko, which is the result if it has debug information, its own or separate.
 */
char *module_debug_file(const char *debug_path, const char *module);

#endif
