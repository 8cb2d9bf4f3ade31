/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock of a guest, from when its virtual CPUs ran: what CPU n of the guest recorded happened
 * between an entry of virtual CPU n and its next exit, which KVM tells here. So each event allows
 * some distances of the two clocks and forbids others. Many events leave only few; where these lie
 * becomes a clock_exchange (relation.h), in which the messages' bounds are where the search begins.
 *
 * All entries and exits must be told. Where one is missing between two of the other kind, the
 * virtual CPU is taken to have run all the time; a pair that is missing would make the result
 * wrong.
 */
#ifndef PANTRACE_TRACE_CLOCK_ENTRIES_H
#define PANTRACE_TRACE_CLOCK_ENTRIES_H

#include "trace/clock/relation.h"

struct clock_entries;

struct clock_entries_count {
	u64 events; /* that were looked at: of close ones not all are */
	u64 outside; /* of them: by the messages alone, while their virtual CPU was not running */
	u64 dropped; /* events at times where no distance allows them all */
};

typedef void clock_entries_fn(void *arg, const struct clock_exchange *e);

/* r stays the caller's, and gets no exchanges meanwhile: found() is told them. */
struct clock_entries *clock_entries_new(struct clock_relation *r, clock_entries_fn *found,
					void *arg);
/* In the order of the host's CLOCK_MONOTONIC; events when they are due by the relation. */
void clock_entries_entry(struct clock_entries *e, u32 vcpu, s64 ns);
void clock_entries_exit(struct clock_entries *e, u32 vcpu, s64 ns);
/* machine_ns: of the guest's CLOCK_MONOTONIC. */
void clock_entries_event(struct clock_entries *e, u32 cpu, s64 machine_ns);
/* Looks at the rest; e is gone. */
struct clock_entries_count clock_entries_end(struct clock_entries *e);

#endif
