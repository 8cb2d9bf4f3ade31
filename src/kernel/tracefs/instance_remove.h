/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends all tracing in an instance and removes it. */
#ifndef PANTRACE_KERNEL_TRACEFS_INSTANCE_REMOVE_H
#define PANTRACE_KERNEL_TRACEFS_INSTANCE_REMOVE_H

#include "base/base.h"

/* Half a second: a reader may be about to close a file of the instance. */
#define INSTANCE_REMOVE_ATTEMPTS 50

/*
 * 0, also if it is gone, or -errno: it is still there (-EBUSY: somebody has a file of it open), but
 * records nothing any more.
 */
int tracefs_instance_remove(const char *directory, u32 attempts);

#endif
