/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The `print fmt` of an event, compiled once to a list of operations, so that printing a record
 * costs tens of nanoseconds: constant text, loads from the record at fixed offsets, and a small
 * expression tree for the rest. Prints what the kernel prints in `trace` (lib/vsprintf.c,
 * kernel/trace/trace_output.c), with pointers unhashed (as with the trace option nohash-ptr).
 *
 * A record is foreign: every load is checked against its size; a dynamic array that points outside
 * prints as "(bad)".
 */
#ifndef PANTRACE_TRACE_PRINT_FORMAT_PRINT_FORMAT_H
#define PANTRACE_TRACE_PRINT_FORMAT_PRINT_FORMAT_H

#include "base/strbuf.h"
#include "trace/ftrace/symbols.h"
#include "types/type.h"

struct print_format;

/* What printing needs of the kernel that the events come from. */
struct print_context {
	struct ksyms *symbols; /* NULL: addresses print as 0x... */
	/* printk_formats: constant strings by address; may be NULL */
	const struct string_table *strings;
	/* strings of the traced world are not escaped (a file that nobody's terminal shows) */
	bool raw_strings;
	u32 hz; /* of that kernel; 0 = unknown */
};

/*
 * Compiles. record: members of the event (tracefs_format_parse()). All memory is of the store's
 * arena. Returns a format in any case; *ret_refused (may be NULL) says why it prints plain fields
 * instead, or is NULL.
 */
struct print_format *print_format_compile(struct type_store *store, const char *system,
					  const char *name, const struct type *record,
					  const char *text, const char **ret_refused);
/* "field=value field=value" instead. */
struct print_format *print_format_fields(struct type_store *store, const struct type *record);
/* Appends the text of one record, without a newline at the end. */
void print_format_run(const struct print_format *f, const struct print_context *c,
		      const void *record, size_t size, struct strbuf *out);

#endif
