/* SPDX-License-Identifier: MIT */
/*
 * Rings of forked children that ended without an event. In a session without a recorder nobody else
 * would take them away, and a program that starts a thousand helpers would leave a thousand files:
 * so all processes of a family know of the children's files (in memory that they share), and
 * whoever forks, ends, or has its helper look removes those that are of no use to anybody.
 */
#ifndef PANTRACE_LIB_CHILDREN_H
#define PANTRACE_LIB_CHILDREN_H

#include "session.h"

/* Before a fork, while there are sessions: what children note is seen by all. The lock is held. */
PT_HIDDEN void pt_children_prepare(void);
/* In a child, which has rings of SET. The lock is held. */
PT_HIDDEN void pt_children_add(const struct pt_settings *set);
/* Looks at up to MOST children, each time at others. The lock is held. */
PT_HIDDEN void pt_children_sweep(unsigned int most);

#endif
