/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One guest of a recording: the conversation with its agent (trace/agent/protocol.h), its files and
 * what its clock says, in a directory of its machine's name. Whatever becomes of the guest, the
 * run goes on: guest_gone() says why.
 */
#ifndef PANTRACE_RECORD_GUESTS_GUEST_H
#define PANTRACE_RECORD_GUESTS_GUEST_H

#include "kernel/kvm_tsc.h"
#include "record/record.h"
#include "trace/agent/frames.h"
#include "trace/agent/receiver.h"
#include "trace/clock/count.h"
#include "trace/clock/relation.h"

/* In this order. */
enum guest_state {
	GUEST_CONNECTED,
	GUEST_WELCOME, /* it has answered */
	GUEST_ASKED, /* for the recording */
	GUEST_ON,
	GUEST_ENDED, /* its recorder has ended, and said so */
	GUEST_GONE, /* nothing more will come */
};

struct guest_clock {
	int file; /* -1 = none */
	u64 asked_ns; /* when the pending question was sent; 0 = none is pending */
	u64 answered_ns; /* when the last answer came */
	/* our time when it was asked */
	struct clock_count count;
	struct clock_distance realtime;
	struct clock_exchange best; /* of `tries` by messages that were not written yet */
	u32 tries;
	u64 written_ns; /* `received` of the last one in the file */
	/* what KVM told at the last answer */
	bool is_known, count_is_common;
	struct kvm_tsc tsc;
	u64 refused; /* readings that contradict the messages around them */
};

struct guest {
	const struct record_guest *asked;
	struct record_run *run;
	enum guest_state state;
	char *name; /* of its directory; NULL = not known yet */
	u64 nonce;
	int fd;
	bool is_tracecmd; /* another process stands in for its agent */
	pid_t ssh; /* or that process; 0 = none */
	struct agent_in in;
	struct agent_out out;
	u64 heard_ns; /* when the last bytes came */
	bool is_silent, is_stopped; /* it was said; it was asked to end */
	struct agent_lines lines; /* of its recorder */
	/* files */
	int parent, directory; /* -1 = none */
	struct agent_receiver files;
	bool is_full; /* its files can no longer be written */
	struct agent_lost lost;
	u32 code; /* of its recorder */
	s64 realtime_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC of the machine */
	pid_t process; /* that it is, of QEMU; 0 = not known, or none */
	struct steal *steal; /* when its recording began; NULL = not told */
	bool has_steal; /* its end was told, too */
	struct guest_clock clock;
};

/* Connects. 0 or -errno with a diagnostic; guest_release() in any case. */
int guest_open(struct guest *g, struct record_run *run, const struct record_guest *asked);
/*
 * Takes and sends what there is, waiting for at most so long. 1: something came; 0; -EINTR. Its
 * end is in its state.
 */
int guest_pump(struct guest *g, int wait_ms);
/* Waits for this state. 0 or -errno with a diagnostic: it does not come, or a signal does. */
int guest_wait(struct guest *g, enum guest_state state, u32 most_ms);
/* Waits until its recorder has ended, as long as something comes, or until another signal. */
void guest_wait_end(struct guest *g, u32 most_ms);
/* Its directory and the beginning of the file of its clock. 0 or -errno with a diagnostic. */
int guest_make_directory(struct guest *g);
/* Sends the words. */
void guest_record(struct guest *g);
void guest_stop(struct guest *g);
PRINTF_LIKE(2, 3) void guest_gone(struct guest *g, const char *fmt, ...);
/* Removes its directory, if nothing was recorded. */
void guest_undo(struct guest *g);
void guest_release(struct guest *g);

/* ---- clock.c ---- */

/* Its file. 0 or -errno. */
int guest_clock_begin(struct guest *g);
/* A message of its agent. */
void guest_clock_answer(struct guest *g, const struct agent_frame *f, const u8 *body);
/* That many exchanges in a row, as long as they are answered. */
void guest_clock_burst(struct guest *g, u32 count);
/* Asks from time to time. */
void guest_clock_round(struct guest *g);

/* ---- steal.c ---- */

/* A message of its agent. What was stolen while it recorded goes into the file of its clock. */
void guest_steal(struct guest *g, const struct agent_frame *f, const u8 *body);

/* ---- entries.c ---- */

/*
 * Bounds the clocks of guests whose process is known by the entries and exits of their virtual
 * CPUs, if these were recorded here, and none was lost. All files are written. Says what it finds.
 */
void guests_clock_entries(struct guest *guests, u32 count, struct record_run *run);

#endif
