/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of kernel/ share: the answers that were found so far. */
#ifndef PANTRACE_KERNEL_INTERNAL_H
#define PANTRACE_KERNEL_INTERNAL_H

#include <sys/types.h>

#include "base/file_ahead.h"
#include "base/hashmap.h"
#include "base/vector.h"
#include "kernel/kcore.h"
#include "kernel/kernel.h"

/* /proc/kallsyms and what is found in it (kallsyms.c). */
struct kallsyms {
	bool tried, is_open, has_addresses;
	int error;
	struct file_ahead file;
	char *text; /* as read */
	size_t len; /* once all is read */
	struct kallsyms_entry *entries; /* sorted by address; NULL until asked */
	u32 count;
	struct arena names; /* module names without their brackets, names that were asked for */
	struct hashmap modules;
};

struct address_range {
	u64 start, end; /* end: the first address behind it */
};

/* kprobe_blacklist.c */
struct kprobe_blacklist {
	bool list_tried, has_list, text_tried;
	VECTOR(struct address_range) ranges; /* by start */
	struct hashmap names;
};

struct kernel {
	const char *tracefs; /* static */
	int tracefs_errno;
	bool tracefs_tried;

	bool features_known;
	struct kernel_features features;
	bool asked[KERNEL_CAPABILITY_COUNT];
	struct kernel_answer answers[KERNEL_CAPABILITY_COUNT];
	struct arena arena; /* texts of the answers */

	bool config_tried;
	char *config; /* text of the configuration file, or NULL */
	size_t config_len;

	u32 *online;
	u32 online_count, possible;

	struct kallsyms kallsyms;
	bool kcore_tried, has_kcore, core_tried;
	struct kcore kcore;
	struct core_symbols *core; /* the kernel's own tables of vmlinux, or NULL */
	struct kprobe_blacklist blacklist;
	pid_t guard_pid; /* guard.c; 0 = none */
	int guard_line; /* our end of the line to it */

	const char
		*traceable; /* path of a list of functions instead of the kernel's own, or NULL */
};

void kprobe_blacklist_release(struct kprobe_blacklist *b);
/* The kernel's memory; NULL: it cannot be read. */
const struct kcore *kernel_kcore(struct kernel *k);
struct core_symbols;
/* The tables that kallsyms is made of; NULL: they cannot be read. */
struct core_symbols *kernel_core_symbols(struct kernel *k);
void kallsyms_release(struct kallsyms *ks);
/* A file of sysfs or tracefs that holds one number: that, or -errno. */
int kernel_read_number(const char *path);
/* Loads a program (insns NULL: one that does nothing), with the verifier's log if log is not NULL. Its fd or -errno. */
int kernel_try_program(u32 type, u32 attach_type, const void *insns, u32 count, char *log,
		       u32 log_size);

#endif
