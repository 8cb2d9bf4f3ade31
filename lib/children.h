/* SPDX-License-Identifier: MIT */
/*
 * Rings of forked children that ended without an event. In a session without a recorder nobody else
 * would take them away, and a program that starts a thousand helpers would leave a thousand files:
 * so all processes of a family know of the children's files (in memory that they share), and
 * their helpers remove those that are of no use to anybody.
 */
#ifndef PANTRACE_LIB_CHILDREN_H
#define PANTRACE_LIB_CHILDREN_H

#include "session.h"

/* Before a fork, for the rings of SET: what children note is seen by all. The lock is held. */
PT_HIDDEN void pt_children_prepare(const struct pt_settings *set);
/* In a child, which has rings of SET. The lock is held. */
PT_HIDDEN void pt_children_add(const struct pt_settings *set);
/* Looks at up to MOST children, each time at others. The lock is held. */
PT_HIDDEN void pt_children_sweep(unsigned int most);
/* Whether children may come that leave rings of SET. The lock is held. */
PT_HIDDEN bool pt_children_expected(const struct pt_settings *set);
/* Whether there are any to look at; from any thread. */
PT_HIDDEN bool pt_children_noted(void);

#endif
