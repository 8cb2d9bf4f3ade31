/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The carrier of a recording whose files are made at a relay: trace.dat, perf.data, what was there
 * before. Its writes wait while the relay is slow, so that the kernel's rings fill, which counts
 * what they lose. If the connection breaks, they wait for a new one, by which everything is sent
 * again that the relay has not confirmed. A relay that takes nothing for FILE_RELAY_STALL_MS, or is
 * away for FILE_RELAY_AWAY_MS, ends it: all later writes are errors. What has arrived can be read.
 */
#ifndef PANTRACE_TRACE_RELAY_FILE_RELAY_H
#define PANTRACE_TRACE_RELAY_FILE_RELAY_H

#include <pthread.h>

#include "base/diag.h"
#include "base/recording_file.h"
#include "base/strbuf.h"
#include "base/vector.h"
#include "trace/relay/relay_protocol.h"

#define FILE_RELAY_STALL_MS 10000
#define FILE_RELAY_AWAY_MS  20000

struct file_relay {
	struct recording_carrier carrier;
	const char *to, *name;
	/* ---- private ---- */
	int fd;
	pid_t pid; /* of ssh */
	pthread_mutex_t lock; /* of all below */
	struct relay_hello hello;
	VECTOR(char *) files; /* names, by number - 1 */
	/* messages: before `confirmed` they are on its disk, before `sent` it was sent them */
	struct strbuf out;
	size_t confirmed, sent;
	u64 given, kept; /* how many there were, and are in out behind `confirmed` */
	u64 on_disk; /* that it said so of, by this connection */
	u32 (*end_asked)(void); /* how often; twice: a relay that is away is not waited for */
	bool is_welcome, is_broken;
	u32 breaks; /* that were got over, and not told of yet */
	int error; /* the first one */
	bool is_told;
	char text[241]; /* what the relay said of it */
	struct strbuf in;
};

/*
 * to: as relay_connect() has it; name: of the recording there, NULL = of this host. Both stay the
 * caller's.
 */
void file_relay_init(struct file_relay *r, const char *to, const char *name);
/* Connects. 0 or -errno with a diagnostic. */
int file_relay_open(struct file_relay *r, struct diag *d);
/* The first error, which is reported once, as breaks that were got over are; 0 = none. */
int file_relay_check(struct file_relay *r, struct diag *d);
/* Waits until all of it is on the relay's disk. 0 or -errno with a diagnostic. */
int file_relay_finish(struct file_relay *r, struct diag *d);
void file_relay_close(struct file_relay *r);

#endif
