/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that no kernel has laid out (of CTF, of text) as records of a tracepoint, and the format
 * that says so. An event's shape is its name, and names and types of its fields: events of one
 * shape have one format.
 *
 *	made_event_begin(&m, "app:request");
 *	reader->values(r, made_event_add, &m);
 *	made_event_end(&m, pid);
 *	// m.record is the record, m.shape tells shapes apart; made_event_format(&m, &text)
 *
 * A record: u16 id, u8 flags, u8 preempt count, s32 pid; then the fields, each at a multiple of its
 * size. Of texts and lists there is a u32 instead, length << 16 | offset (__data_loc); they stand
 * behind the fields.
 */
#ifndef PANTRACE_TRACE_DAT_MADE_EVENT_H
#define PANTRACE_TRACE_DAT_MADE_EVENT_H

#include "base/strbuf.h"
#include "base/vector.h"
#include "trace/field_value.h"

struct made_field {
	char *name; /* letters, digits, '_'; no other of the event has it */
	enum field_kind kind; /* an integer, a text, or a list of integers */
	u8 bits;
	bool is_signed, is_hex;
	u32 at; /* in the record */
	u64 value; /* the integer; else length << 32 | offset in .behind */
};

struct made_event {
	struct strbuf shape, record;
	char *system, *name;
	u64 left_out; /* values that such a record cannot hold: decimals, what is no value */
	u64 labels; /* of enums, whose numbers it holds */
	/* private */
	VECTOR(struct made_field) fields;
	struct strbuf behind; /* texts and lists */
};

void made_event_init(struct made_event *m);
void made_event_release(struct made_event *m);
/* NAME: "SYSTEM:EVENT"; without a system it is of "recorded". What is no identifier becomes one. */
void made_event_begin(struct made_event *m, const char *name);
/* A field_value_fn; arg: the event. */
void made_event_add(void *arg, const char *name, size_t size, const struct field_value *value);
/* The record has id 0. False: it is longer than any record can be. */
bool made_event_end(struct made_event *m, s32 pid);
/* Appends the text that tracefs would have of it; the id in it is 0. */
void made_event_format(const struct made_event *m, struct strbuf *to);

#endif
