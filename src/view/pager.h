/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command prints goes through $PAGER (less) while it runs, as git does it: only where
 * standard output is a terminal; errors, too, where they would go there.
 */
#ifndef PANTRACE_VIEW_PAGER_H
#define PANTRACE_VIEW_PAGER_H

#include <sys/types.h>

#include "base/base.h"

struct pager {
	pid_t pid; /* 0 = there is none */
	int out, err; /* the descriptors as they were; err -1: it was left alone */
};

/* Interrupts are the pager's then. */
void pager_begin(struct pager *p);
/* Waits until the person has left it. Zero-initialised: nothing to do. */
void pager_end(struct pager *p);

#endif
