/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What other tools print, read again: an event a line, its call chain on the lines that follow. A
 * dialect is a row: whether a text is its own, and what a line says.
 */
#ifndef PANTRACE_TRACE_TEXT_DIALECT_H
#define PANTRACE_TRACE_TEXT_DIALECT_H

#include "base/strbuf.h"
#include "trace/text/lines.h"

struct text_range {
	const char *at;
	size_t size;
};

/* A longer name is no thread's. */
#define TEXT_COMM_MOST 64

/* What a line says; ranges are parts of the line. */
struct text_event {
	struct text_range comm, name, text;
	s64 ns, cpu, pid, tid; /* -1 = not said, but of ns: 0 */
	u64 period; /* 0 = not said */
	u64 lost; /* is_loss: how many */
	bool is_loss; /* no event: some were lost */
};

struct text_frame {
	u64 address;
	struct text_range symbol, object; /* size 0 = unknown */
	u64 offset;
	bool has_offset;
};

enum text_line {
	TEXT_EVENT,
	TEXT_FRAME, /* of the event before it */
	TEXT_BLANK, /* ends the event before it */
	TEXT_COMMENT, /* says nothing of events */
	TEXT_STRANGE, /* nothing that the dialect has */
};

struct text_dialect {
	const char *name; /* "the text of perf script" */
	/* Fills in one of the two, as it returns. */
	enum text_line (*parse)(const struct line *line, struct text_event *event,
				struct text_frame *frame);
};

/* Whether whole lines of the head of a file are such events. */
bool text_is(const struct text_dialect *dialect, const void *head, size_t len);

/* ---- parts of lines: each moves *at on, and only if it is there ---- */

struct text_at {
	const char *at, *end;
};

void text_blanks(struct text_at *t); /* any number */
bool text_char(struct text_at *t, char c);
bool text_number(struct text_at *t, u64 *ret); /* decimal digits that fit */
bool text_hex(struct text_at *t, u64 *ret); /* without 0x; up to 16 digits */
bool text_time(struct text_at *t, s64 *ret_ns); /* "12.345678": 1 to 9 digits behind the point */
struct text_range text_word(struct text_at *t); /* up to a blank; may be empty */
struct text_range text_rest(const struct text_at *t); /* without blanks around it */
bool text_equals(struct text_range r, const char *s);
/* "f+0x1c" into name and offset. */
void text_symbol(struct text_range symbol, struct text_frame *ret);

extern const struct text_dialect perf_script_dialect, trace_cmd_dialect;

#endif
