/* SPDX-License-Identifier: MIT */
/* Events that a session records only with a filter that its recorder has yet to compile. */
#ifndef PANTRACE_LIB_ANNOUNCE_H
#define PANTRACE_LIB_ANNOUNCE_H

#include "session.h"

/* The lock is held. Whether the event, "provider:name" FULL, must stay off: its filter is not
 * there, or is for other fields. */
PT_HIDDEN bool pt_announce_pending(const struct pt_settings *set,
				   const struct pantrace_event *event, const char *full);
/* The lock is held. Asks for the filters that are missing, each session's recorder; waits for the
 * answers. */
PT_HIDDEN void pt_announce(void);
/*
 * Rings of SET that have no name where the recorder looks, in FD, are handed over to it: they would
 * be gone with the process. Only system calls.
 */
PT_HIDDEN void pt_announce_rings(const struct pt_settings *set, int fd);
/* That the process does not take part, because of ERROR. Only system calls. */
PT_HIDDEN void pt_announce_refusal(const struct pt_spec *spec, int error);

#endif
