/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of kernel/ share: the answers that were found so far. */
#ifndef PANTRACE_KERNEL_KERNEL_INTERNAL_H
#define PANTRACE_KERNEL_KERNEL_INTERNAL_H

#include <sys/types.h>

#include "base/hashmap.h"
#include "base/vector.h"
#include "kernel/kernel.h"
#include "kernel/features/traceable.h"

struct ksyms;

struct address_range {
	u64 start, end; /* end: the first address after it */
};

/* kprobe_blacklist.c */
struct kprobe_blacklist {
	bool is_loaded;
	VECTOR(struct address_range) ranges; /* empty where addresses are hidden */
	struct hashmap names;
};

/* traceable.c: ftrace's list, or the user's */
struct traceable {
	bool is_loaded, is_given;
	int error;
	char *text; /* holds the names */
	VECTOR(struct traceable_function) list;
	struct hashmap names; /* name -> how many of the list have it */
	struct hashmap namesakes; /* name -> how many functions of kallsyms have it as their own */
	VECTOR(u64) sites; /* where ftrace is called, rising; empty where the kernel does not say */
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

	struct ksyms *ksyms; /* NULL until asked */
	struct traceable traceable;
	struct kprobe_blacklist blacklist;
	pid_t guard_pid; /* guard.c; 0 = none */
	int guard_line; /* our end of the socket to it */
	int probe_lock; /* lasting_event.c: a descriptor, while probe_lock_depth is not 0 */
	u32 probe_lock_depth;
};

void kprobe_blacklist_release(struct kprobe_blacklist *b);
void traceable_release(struct traceable *t);
/* A file of sysfs or tracefs that holds one number: that, or -errno. */
int kernel_read_number(const char *path);
/*
 * Loads a program (insns NULL: one that does nothing), with the verifier's log if log is not NULL.
 * Its fd or -errno.
 */
int kernel_try_program(u32 type, u32 attach_type, const void *insns, u32 count, char *log,
		       u32 log_size);

#endif
