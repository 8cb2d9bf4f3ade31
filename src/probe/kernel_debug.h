/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the debug information of the running kernel lies, and which kernel that is. */
#ifndef PANTRACE_PROBE_KERNEL_DEBUG_H
#define PANTRACE_PROBE_KERNEL_DEBUG_H

/* The build-id of the running kernel, malloc'ed; NULL if it has none that can be read. */
char *kernel_build_id(void);
/*
 * The path of its vmlinux with debug information, malloc'ed: where distributions put it, by name
 * and by build-id, and in debuginfod's cache. A file of another build is passed over. NULL = none.
 * debug_path: more directories, or the file itself, separated by ':', asked first; or NULL.
 */
char *kernel_debug_file(const char *debug_path);

#endif
