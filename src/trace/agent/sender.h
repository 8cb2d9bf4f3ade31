/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The carrier of a recorder that an agent has started: its files become frames. */
#ifndef PANTRACE_TRACE_AGENT_SENDER_H
#define PANTRACE_TRACE_AGENT_SENDER_H

#include <pthread.h>

#include "base/recording_file.h"
#include "trace/agent/protocol.h"

struct agent_sender {
	struct recording_carrier carrier;
	int fd; /* the caller's; writing to it waits */
	pthread_mutex_t lock;
	u64 number; /* of the next frame */
	u32 files;
	int error; /* of the first frame that was not sent whole: none follows */
};

void agent_sender_init(struct agent_sender *s, int fd);
/* Any other frame, of up to two parts; it waits while the way is full. 0 or -errno. */
int agent_send(struct agent_sender *s, enum agent_type type, const void *head, size_t head_size,
	       const void *body, size_t body_size);

#endif
