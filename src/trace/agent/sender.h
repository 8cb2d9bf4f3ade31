/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The carrier of a recorder that an agent has started: its files become frames. */
#ifndef PANTRACE_TRACE_AGENT_SENDER_H
#define PANTRACE_TRACE_AGENT_SENDER_H

#include <pthread.h>

#include "base/recording_file.h"

struct agent_sender {
	struct recording_carrier carrier;
	int fd; /* the caller's; writing to it waits */
	pthread_mutex_t lock;
	u64 number; /* of the next frame */
	u32 files;
	int error; /* of the first frame that was not sent whole: none follows */
};

void agent_sender_init(struct agent_sender *s, int fd);

#endif
