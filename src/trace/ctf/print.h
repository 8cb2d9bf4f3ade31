/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of CTF traces as text and as JSON, fast: what a line has in common with others of its kind
 * is worked out once.
 */
#ifndef PANTRACE_TRACE_CTF_PRINT_H
#define PANTRACE_TRACE_CTF_PRINT_H

#include "base/json.h"
#include "base/strbuf.h"
#include "trace/ctf/trace.h"

enum ctf_format {
	/* as babeltrace2, without the lengths of arrays, and with names for addresses */
	CTF_FORMAT_TEXT,
	CTF_FORMAT_BABELTRACE, /* byte for byte what babeltrace2 prints */
	CTF_FORMAT_JSON, /* an object a line */
};

struct ctf_print_options {
	enum ctf_format format;
	bool gmt; /* times in UTC, not in local time */
	bool seconds; /* as seconds since the epoch */
	bool escape; /* for a terminal: also bytes that are not ASCII and might do harm */
	/* Text for an address of this process at this time; adds to out. May be NULL. */
	void (*address)(void *arg, struct ctf_trace *trace, s64 ns, u64 address,
			struct strbuf *out);
	void *arg;
};

struct ctf_printer;

/* fd -1: lines stay in ctf_print_out(), for who takes them. */
struct ctf_printer *ctf_printer_new(const struct ctf_print_options *options, int fd);
/*
 * Prints one event; *c ends after it. Nothing is printed of an event that is cut short
 * (c->failed). 0, or -errno of a write.
 */
int ctf_print(struct ctf_printer *p, const struct ctf_event *event, struct ctf_cursor *c);
/* An event of a recording that is no CTF, its text ready: of the kernel, in a trace.dat. */
struct ctf_ready_event {
	s64 ns; /* since the epoch */
	const char *host, *name; /* host: or NULL */
	u32 cpu; /* UINT32_MAX = unknown */
	s32 pid; /* of the thread */
	const char *task;
	const char *text;
	size_t size;
	/* JSON: adds the event's fields to the object; NULL = it has none. */
	void (*fields)(void *arg, struct json *j);
	void *arg;
};
/* 0, or -errno of a write. */
int ctf_print_ready(struct ctf_printer *p, const struct ctf_ready_event *event);
/* For lines of other styles: what is appended here is printed. ctf_print_added() after each. */
struct strbuf *ctf_print_out(struct ctf_printer *p);
int ctf_print_added(struct ctf_printer *p);
int ctf_print_flush(struct ctf_printer *p);
void ctf_printer_release(struct ctf_printer *p);

#endif
