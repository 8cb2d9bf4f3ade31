/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of a trace.dat, of all of its buffers in one order. */
#ifndef PANTRACE_TRACE_DAT_RECORDING_H
#define PANTRACE_TRACE_DAT_RECORDING_H

#include "trace/dat/trace_dat.h"

/* A buffer that has events: the recording's own, or an instance's. */
struct dat_source {
	size_t buffer; /* of trace_dat_buffer() */
	const char *name; /* of the instance; "" = top */
	/* its times are ticks of this frequency, from an origin on the reader's time line */
	s64 origin_ns;
	u64 frequency;
	bool has_event;
	struct raw_event event; /* the next one */
	s64 ns; /* of the event, on the time line */
	struct page_merge events;
};

struct dat_recording {
	struct trace_dat *file;
	struct trace_text text; /* to print it */
	VECTOR(struct dat_source) sources;
	/* Events that nobody wants are not shown; NULL = all. Set before it begins. */
	bool (*wants)(void *arg, const struct raw_event *event);
	void *arg;
};

/* Times are as recorded, in ns, until the sources say otherwise. 0 or -errno with a diagnostic. */
int dat_recording_open(const char *path, struct diag *d, struct dat_recording *ret);
/* Once, when the sources and `wants` are as they shall be. */
void dat_recording_begin(struct dat_recording *r);
/* The source whose next event is the oldest; NULL at the end. */
struct dat_source *dat_recording_oldest(const struct dat_recording *r);
/* The source's next event that is wanted. */
void dat_recording_advance(struct dat_recording *r, struct dat_source *s);

struct dat_loss {
	u64 events;
	u64 gaps; /* places where events were lost, nobody knows how many */
	u64 damaged; /* pages that could not be read to their end */
};
/* As far as it was read. */
struct dat_loss dat_recording_loss(const struct dat_recording *r);
void dat_recording_close(struct dat_recording *r);

#endif
