/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's end of a recording: FILE, WRITE and PACK become files below one directory. What comes
 * is not trusted: names are plain, places and sizes are bounded, nothing that is there is opened,
 * but where a sender goes on after a break, in a directory that is its own: it names its files
 * again, in their order, and repeats what was not confirmed.
 */
#ifndef PANTRACE_TRACE_AGENT_RECEIVER_H
#define PANTRACE_TRACE_AGENT_RECEIVER_H

#include "base/vector.h"
#include "trace/agent/protocol.h"

struct agent_received_file;

struct agent_receiver {
	int directory; /* the caller's */
	bool goes_on; /* after a break */
	VECTOR(struct agent_received_file *) files; /* by number - 1 */
	u32 open; /* how many of them are */
	u64 bytes;
	const char *why; /* why a message was refused; NULL = none was */
};

void agent_receiver_init(struct agent_receiver *r, int directory);
/*
 * 0; -EPROTO: it is none of these, or not what it should be (r->why); another -errno: it cannot be
 * written here.
 */
int agent_receive(struct agent_receiver *r, const struct agent_frame *f, const u8 *body);
/* Removes the files and directories that it made. */
void agent_receiver_undo(struct agent_receiver *r);
void agent_receiver_release(struct agent_receiver *r);

#endif
