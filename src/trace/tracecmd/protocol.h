/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `trace-cmd record -A` and `trace-cmd agent` say to each other (trace-cmd's
 * lib/trace-cmd/trace-msg.c, trace-timesync.c, trace-timesync-ptp.c; 2.9 to 3.4), over vsock or
 * TCP. Big endian:
 *
 *	u32 size, with these 12 bytes; u32 type; u32 size of its head; the head; data
 *
 *	host						agent
 *	TRACE_REQ words of `trace-cmd record`, names
 *		of ways to compare clocks	->
 *						<-	TRACE_RESP its CPUs, a port of each, the
 *							way to compare clocks, the port for that
 *	connects to these ports
 *						<-	SEND_DATA the head of a trace.dat: all
 *							but what the ring buffers hold
 *						<-	FIN_DATA
 *			(it records; at each CPU's port come the pages of its ring)
 *	CLOSE					->
 *						<-	(ends of the connections of the CPUs)
 *						<-	CLOSE_RESP
 *
 * Clocks are compared on a connection of their own, by TIME_SYNC messages: the name of the way
 * ("none" for what all ways have), and a number.
 *
 *	none 1 (compare) u16 CPU		->
 *						<-	ptp 1 (begin) u32 number, u32 flags
 *	the same				->
 *						<-	ptp 2 (probe) u32 i, from 1 on
 *	the same				->		339 times
 *						<-	ptp 5 (end)
 *	ptp 3 (results) u32 number, u32 count,
 *		{u64 time, u32 i}*		->
 *						<-	ptp 4 (offset) u64 time, u64 host - time
 *	none 2 (stop)				->
 *
 * The agent notes its time before each probe and when that is back. What it tells at the end is the
 * middle between the two, of the fastest probe of those for which the host has a time.
 *
 * TINIT and RINIT begin a recording at `trace-cmd listen`, TRACE_PROXY one by a host for its guest,
 * CONT is part of that, NOT_SUPP answers what is not known: none of these is sent here.
 */
#ifndef PANTRACE_TRACE_TRACECMD_PROTOCOL_H
#define PANTRACE_TRACE_TRACECMD_PROTOCOL_H

#include "base/base.h"

#define TRACECMD_PORT 823u /* of vsock and TCP: trace-cmd's own choice */

enum tracecmd_type {
	TRACECMD_CLOSE,
	TRACECMD_TINIT,
	TRACECMD_RINIT,
	TRACECMD_SEND_DATA,
	TRACECMD_FIN_DATA,
	TRACECMD_NOT_SUPP,
	TRACECMD_TRACE_REQ,
	TRACECMD_TRACE_RESP,
	TRACECMD_CLOSE_RESP,
	TRACECMD_TIME_SYNC,
	TRACECMD_TRACE_PROXY,
	TRACECMD_CONT,
	TRACECMD_TYPES,
};

#define TRACECMD_HEAD	      12u
#define TRACECMD_MESSAGE_MOST 8192u /* bytes, head included: more is not taken */
#define TRACECMD_DATA_MOST    (TRACECMD_MESSAGE_MOST - TRACECMD_HEAD)

/* Kinds of data of TRACE_REQ: {u32 kind, u32 size, data}* */
enum tracecmd_request_part {
	TRACECMD_WORDS, /* u32 count, texts with their NULs */
	TRACECMD_WAYS, /* texts with their NULs, and one more */
};

#define TRACECMD_WAY_SIZE 16u /* of a way's name, padded with NULs */
#define TRACECMD_NO_WAY	  "none"
#define TRACECMD_PTP	  "ptp"

enum tracecmd_none { TRACECMD_COMPARE = 1, TRACECMD_STOP };

enum tracecmd_ptp {
	TRACECMD_BEGIN = 1,
	TRACECMD_PROBE,
	TRACECMD_RESULTS,
	TRACECMD_OFFSET,
	TRACECMD_END,
};

#define TRACECMD_PROBES 339u /* each time */

#endif
