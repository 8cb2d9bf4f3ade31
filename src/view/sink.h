/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table that a command prints: described once by its columns, printed as aligned text or as JSON,
 * an object a row, or as CSV. Each format is a file: sink_text.c, sink_json.c, sink_csv.c.
 *
 *	static const struct sink_column columns[] = {
 *		{"pid", "PID", 8}, {.key = "uid"}, {"program", "PROGRAM", 16}, {0}};
 *	struct sink s = {.format = sink_of(o.json), .columns = columns, .out = &out};
 *	sink_row(&s, SINK_NUMBER(pid), SINK_NUMBER(uid), SINK_TEXT(name));
 */
#ifndef PANTRACE_VIEW_SINK_H
#define PANTRACE_VIEW_SINK_H

#include "base/json.h"

/* Where one value goes: to text, or to JSON where that is not NULL. */
struct medium {
	struct strbuf *out;
	struct json *json;
};

struct sink_column {
	const char *key; /* its name in JSON; NULL = only in text */
	const char *title; /* its heading in text; NULL = only in JSON */
	int width; /* negative: at the right of it; 0, of the last: as long as it is */
};

struct sink {
	const struct sink_format *format;
	const struct sink_column *columns; /* ends with a row of zeros */
	struct strbuf *out;
	const char *indent; /* of lines of text; NULL = none */
	const char *separator; /* CSV: between values */
	bool has_header; /* text: the titles are there */
};

/* A value of a row: the first of these that is not NULL, else the number. */
struct sink_value {
	const char *text, *shown; /* shown: already escaped, for text alone */
	size_t len; /* of text */
	void (*parts)(const void *arg, struct json *j); /* several, for JSON alone */
	const void *arg;
	u64 number;
	bool is_bool;
};

#define SINK_NUMBER(n)	   ((struct sink_value){.number = (u64)(n)})
#define SINK_BOOL(b)	   ((struct sink_value){.number = (b), .is_bool = true})
#define SINK_STRING(t, n)  ((struct sink_value){.text = (t), .len = (n)})
#define SINK_TEXT(t)	   SINK_STRING(t, strlen(t))
#define SINK_SHOWN(t)	   ((struct sink_value){.shown = (t)})
#define SINK_PARTS(fn, of) ((struct sink_value){.parts = (fn), .arg = (of)})

struct sink_format {
	void (*header)(struct sink *s);
	void (*row)(struct sink *s, const struct sink_value *values);
};

extern const struct sink_format sink_as_text, sink_as_json, sink_as_csv;

static inline const struct sink_format *sink_of(bool json)
{
	return json ? &sink_as_json : &sink_as_text;
}

/* Prints the titles even if no row follows; otherwise the first row prints them. */
static inline void sink_header(struct sink *s)
{
	if (!s->has_header)
		s->format->header(s);
	s->has_header = true;
}

/* A value for each column, in their order. */
#define sink_row(s, ...)                                                       \
	do {                                                                   \
		sink_header(s);                                                \
		(s)->format->row(s, (const struct sink_value[]){__VA_ARGS__}); \
	} while (0)

#endif
