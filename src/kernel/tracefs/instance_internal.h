/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files behind kernel/tracefs/instance.h share. */
#ifndef PANTRACE_KERNEL_TRACEFS_INSTANCE_INTERNAL_H
#define PANTRACE_KERNEL_TRACEFS_INSTANCE_INTERNAL_H

#include "kernel/tracefs/instance.h"
#include "kernel/tracefs/owner.h"
#include "kernel/tracefs/saved.h"

struct instance {
	struct kernel *kernel;
	struct diag *diag;
	enum instance_kind kind;
	char *directory, *name;
	int lock; /* descriptor of the directory, flock'ed if it is ours */
	bool is_others; /* see instance_open_standing() */
	struct tracefs_saved *saved; /* top buffer only: what it was before */
	/* an own one: settings that are global all the same, as they were, or NULL */
	struct tracefs_saved *shared;
	bool is_lasting, stands; /* see instance_open_lasting() */
	bool has_triggers;
	bool is_left; /* to the guard */
};

/* An error with the cause that the errno has for files of tracefs. Returns err. */
int instance_refused(struct instance *in, int err, const char *file, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

#endif
