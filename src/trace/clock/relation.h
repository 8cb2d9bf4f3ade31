/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the clock of another machine stands to ours. A recording keeps the times that the machine
 * itself wrote, and what was exchanged with it meanwhile; the relation is applied when it is read.
 * The file "clock" in the directory of such a recording, lines of text:
 *
 *	pantrace-clock 1
 *	machine NAME
 *	realtime NS		its CLOCK_REALTIME - CLOCK_MONOTONIC
 *	host-realtime NS	the same of the host
 *	exchange SENT RECEIVED ANSWERED BACK
 *	tsc SENT RECEIVED ANSWERED BACK
 *	ptp SENT RECEIVED ANSWERED BACK
 *	kvm SENT RECEIVED ANSWERED BACK		behind all other exchanges
 *	thread TID		of the host: of the process that is the machine
 *	steal CPU NS		what the machine counted as stolen while it recorded
 *
 * SENT and BACK are of the host's CLOCK_MONOTONIC, the others of the machine's. An exchange bounds
 * the offset, host - machine: it is at least SENT - RECEIVED, and at most BACK - ANSWERED. What
 * the hypervisor tells (the offset of the guest's TSC, PTP_KVM) becomes bounds in the same form, as
 * of a message that was on its way for that much less; and so does what follows from the entries
 * and exits of its virtual CPUs, found when all was recorded (entries.h). Clocks
 * drift apart by CLOCK_DRIFT_MOST at most, so that each exchange bounds the offset at all times,
 * and a fast one helps its neighbours. Where two exclude each other the machine stood still between
 * them, or its clock was set: the offset jumps. Within these bounds, which are the uncertainty, the
 * offset is taken to drift as little as the exchanges allow.
 */
#ifndef PANTRACE_TRACE_CLOCK_RELATION_H
#define PANTRACE_TRACE_CLOCK_RELATION_H

#include "base/diag.h"
#include "base/strbuf.h"

#define CLOCK_FILE "clock"
/* Parts in a million: the most that adjtimex(2) makes a clock faster or slower. */
#define CLOCK_DRIFT_MOST 500

/* How the two clocks were compared. */
enum clock_means { CLOCK_MESSAGES, CLOCK_TSC, CLOCK_PTP, CLOCK_ENTRIES, CLOCK_MEANS };

struct clock_exchange {
	u64 sent, received, answered, back;
	enum clock_means means;
};

/* At a time of the machine: host - machine is between these, in ns. */
struct clock_bounds {
	s64 at, least, most;
	bool jumped; /* since the bounds before */
};

struct clock_relation {
	char *machine;
	s64 realtime, host_realtime;
	struct clock_bounds_list {
		VECTOR(struct clock_bounds) all; /* by time */
		s64 drift; /* parts in a million */
		u32 jumps;
	} bounds, likely; /* likely: of the smallest drift that has no more jumps */
	VECTOR(u32) threads; /* of the host: may be its virtual CPUs */
	VECTOR(struct clock_steal {
		u32 cpu;
		u64 ns;
	})
	steal;
	u64 compared[CLOCK_MEANS]; /* how often, by each means */
	size_t last; /* where was looked last */
};

/* Lines of the file. */
void clock_head(struct strbuf *to, const char *machine, s64 realtime, s64 host_realtime);
void clock_exchange_add(struct strbuf *to, const struct clock_exchange *e);

void clock_thread_add(struct strbuf *to, u32 tid);
void clock_steal_add(struct strbuf *to, u32 cpu, u64 ns);

/* True if the directory has the file. */
bool clock_relation_is_there(const char *directory);
/* 0, or -errno with a diagnostic. clock_relation_free() ends it. */
int clock_relation_read(const char *directory, struct diag *d, struct clock_relation **ret);
/* The same of an open directory, or -errno; path: what diagnostics call it. */
int clock_relation_read_at(int directory, const char *path, struct diag *d,
			   struct clock_relation **ret);
/* Parses the file's text. 0 or -EBADMSG. */
int clock_relation_parse(struct clock_relation *r, const char *text, size_t n);
/*
 * What is to be added to a time of the machine's CLOCK_MONOTONIC to get the host's.
 * *ret_uncertainty: how far this may be off, in ns; NULL = nobody asks. Without any exchange it is
 * what their calendars say, and UINT64_MAX.
 */
s64 clock_relation_offset(struct clock_relation *r, s64 machine_ns, u64 *ret_uncertainty);
/*
 * The same from the first exchange to the last: the smallest at one, and what it is at most, at
 * them and between. False: there were none.
 */
bool clock_relation_uncertainty(struct clock_relation *r, u64 *ret_least, u64 *ret_most);
/* True if the offset jumps somewhere between these times of the machine. */
bool clock_relation_jumps(struct clock_relation *r, s64 from_ns, s64 to_ns);
void clock_relation_free(struct clock_relation *r);

#endif
