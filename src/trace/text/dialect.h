/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the text output of other tools: an event on each line, its call chain on the lines after
 * it. A dialect is a row: how to recognise its text, and how to parse a line.
 */
#ifndef PANTRACE_TRACE_TEXT_DIALECT_H
#define PANTRACE_TRACE_TEXT_DIALECT_H

#include "base/strbuf.h"
#include "trace/text/lines.h"

struct text_range {
	const char *at;
	size_t size;
};

/* No thread has a longer name. */
#define TEXT_COMM_MOST 64

/* A parsed line. Ranges point into it. */
struct text_event {
	struct text_range comm, name, text;
	s64 ns, cpu, pid, tid; /* -1 = unknown; for ns: 0 */
	u64 period; /* 0 = unknown */
	u64 lost; /* is_loss: number of events; 0 = unknown */
	bool is_loss; /* not an event: a message about lost events */
};

struct text_frame {
	u64 address;
	struct text_range symbol, object; /* size 0 = unknown */
	u64 offset;
	bool has_offset;
};

enum text_line {
	TEXT_EVENT,
	TEXT_FRAME, /* a frame of the event before it */
	TEXT_BLANK, /* an empty line: ends the event before it */
	TEXT_COMMENT, /* to be skipped */
	TEXT_STRANGE, /* not in this dialect */
};

struct text_dialect {
	const char *name; /* "the text of perf script" */
	/* Parses a line, and fills in *event or *frame as the result says. */
	enum text_line (*parse)(const struct line *line, struct text_event *event,
				struct text_frame *frame);
};

/* True if the complete lines at the head of a file are in this dialect. */
bool text_is(const struct text_dialect *dialect, const void *head, size_t len);

/* ---- parts of lines: each advances *at, but only on success ---- */

struct text_at {
	const char *at, *end;
};

void text_blanks(struct text_at *t); /* any number */
bool text_char(struct text_at *t, char c);
bool text_number(struct text_at *t, u64 *ret); /* decimal; must fit */
bool text_hex(struct text_at *t, u64 *ret); /* without 0x; up to 16 digits */
bool text_time(struct text_at *t, s64 *ret_ns); /* "12.345678": 1 to 9 digits after the point */
struct text_range text_word(struct text_at *t); /* up to a space; may be empty */
struct text_range text_rest(const struct text_at *t); /* without surrounding spaces */
bool text_equals(struct text_range r, const char *s);
/* Splits "f+0x1c" into name and offset. */
void text_symbol(struct text_range symbol, struct text_frame *ret);

extern const struct text_dialect perf_script_dialect, trace_cmd_dialect;

#endif
