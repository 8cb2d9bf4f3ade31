/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a host and an agent say to each other, over any stream of bytes: vsock, a virtio-serial
 * port, a Unix socket, ssh's pipes. Little endian.
 *
 *	host						agent
 *	mark, HELLO protocol, version		->
 *						<-	mark, WELCOME machine | REFUSED text
 *	CLOCK sent				->
 *						<-	CLOCK sent, received, answered
 *	RECORD words of `pantrace record`	->
 *						<-	FILE, WRITE, PACK: the recording
 *						<-	TEXT a line for people
 *						<-	BEGUN everything is on
 *						<-	STEAL of its CPUs until now
 *	STOP					->
 *						<-	LOST events, STEAL, then ENDED exit code
 *
 * Or, instead of RECORD, a script:
 *
 *	RUN format, text, arguments		->
 *						<-	OUTPUT, TEXT: what it prints, says
 *	STOP					->
 *						<-	ENDED exit code
 *
 * A mark is 8 bytes that say which way it goes and 8 of the host's choice, which the agent repeats.
 * What stands before it is skipped: a virtio-serial port may still hold the end of an earlier
 * conversation. Behind it come frames only, numbered from 0 in each direction: a gap ends the
 * conversation. So does a mark that the agent finds instead of a frame: that of the next host.
 * CLOCK may be sent at any time after WELCOME.
 */
#ifndef PANTRACE_TRACE_AGENT_PROTOCOL_H
#define PANTRACE_TRACE_AGENT_PROTOCOL_H

#include "trace/clock/count.h"

#define AGENT_PROTOCOL	    3u
#define AGENT_PORT	    1983u /* of vsock */
#define AGENT_PORTS_OF_ROOT 1024u /* of vsock, too: a host that connects from below is its root */
#define AGENT_VIRTIO_PORT   "pantrace.0"

#define AGENT_MARK_HOST	 "\211PTHOST\n"
#define AGENT_MARK_AGENT "\211PTAGNT\n"
#define AGENT_MARK_SIZE	 8u

enum agent_type {
	AGENT_HELLO = 1,
	AGENT_WELCOME,
	AGENT_REFUSED,
	AGENT_CLOCK,
	AGENT_RECORD,
	AGENT_FILE,
	AGENT_WRITE,
	AGENT_PACK,
	AGENT_TEXT,
	AGENT_BEGUN,
	AGENT_STOP,
	AGENT_LOST,
	AGENT_ENDED,
	AGENT_RUN,
	AGENT_OUTPUT,
	AGENT_STEAL,
	AGENT_TYPES,
};

struct agent_frame {
	u32 type;
	u32 size; /* of what follows */
	u64 number;
};

#define AGENT_FRAME_MOST  (256u << 10) /* bytes behind the head */
#define AGENT_WRITE_BYTES (64u << 10) /* of a file in one frame */
#define AGENT_TEXT_MOST	  4096u
#define AGENT_NAME_MOST	  191u /* of a file, with its directories */

struct agent_hello {
	u32 protocol, reserved;
	char version[32]; /* texts are padded with NULs, and end with one */
};

struct agent_welcome {
	u32 protocol, reserved;
	char version[32];
	char machine[64]; /* name of its host */
	s64 realtime_ns; /* what is to be added to its CLOCK_MONOTONIC for CLOCK_REALTIME */
};

/* A refusal is its text. */

struct agent_clock {
	u64 sent_ns; /* by the host's CLOCK_MONOTONIC */
	u64 received_ns, answered_ns; /* by the agent's */
	struct clock_count tsc; /* between the two; zeros: it has none that can be compared */
	struct clock_ptp ptp; /* the same */
};

/* FILE: the name follows, without a NUL. */
struct agent_file {
	u32 number; /* from 1 on */
	u32 reserved;
};

/* WRITE: the bytes follow. */
struct agent_write {
	u32 number, reserved;
	u64 at;
};

/* PACK: struct dat_pack_plan (trace/dat/pack.h) follows. */

struct agent_lost {
	u64 events;
	u64 uncounted; /* sources whose losses nobody can count */
};

/* STEAL: nanoseconds of each CPU (trace/agent/steal.h), u64 each. */

struct agent_ended {
	u32 code; /* enum exit_code */
	u32 reserved;
};

#endif
