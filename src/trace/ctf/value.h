/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of CTF fields as text and JSON, one by one; inside of ctf_print. */
#ifndef PANTRACE_TRACE_CTF_VALUE_H
#define PANTRACE_TRACE_CTF_VALUE_H

#include "base/json.h"
#include "trace/ctf/print.h"

struct ctf_value_style {
	const struct ctf_print_options *options;
	struct ctf_trace *trace;
	s64 ns;
};

/* In base, of `bits` bits. */
void ctf_put_integer(struct strbuf *out, u64 value, const struct ctf_type *integer);
/* Between quotes, escaped as babeltrace2 does it; escape: see ctf_print_options. */
void ctf_put_string(struct strbuf *out, const char *s, size_t n, bool escape);
/* Any value; a failed cursor leaves `out` somewhere in the middle. */
void ctf_put_text(struct strbuf *out, struct ctf_cursor *c, const struct ctf_type *t, u32 slot,
		  const struct ctf_value_style *style);
void ctf_put_json(struct json *j, struct ctf_cursor *c, const struct ctf_type *t, u32 slot,
		  const struct ctf_value_style *style);
/* Fields of a packet context that packets say for themselves, not for events. */
bool ctf_is_about_packet(const char *name);
/* "__x_length" before "_x": the reader of text is not told twice. */
bool ctf_is_length(const struct ctf_type *t, u32 index);
/* Addresses that have names: "ip", and the elements of callstacks. */
bool ctf_is_address(const char *shown);

#endif
