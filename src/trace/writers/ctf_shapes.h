/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event classes of a CTF trace, made of the events: a kind of event has as many as it has shapes,
 * which are the names and types of its fields.
 *
 *	ctf_shapes_begin(s);
 *	strbuf_addstr(&s->signature, "sched_switch");
 *	ctf_shapes_field(s, "prev_tid", 8, &value);	// for each field
 *	id = ctf_shapes_id(s);				// and s->payload has the values
 *
 * Values lie packed. Text that contains a NUL has its length before it; all other text ends with a
 * NUL.
 */
#ifndef PANTRACE_TRACE_WRITERS_CTF_SHAPES_H
#define PANTRACE_TRACE_WRITERS_CTF_SHAPES_H

#include <stdio.h>

#include "base/hashmap.h"
#include "base/strbuf.h"
#include "trace/recording.h"

struct ctf_label {
	const char *text;
	size_t size;
	u64 value;
	size_t field; /* index */
};

struct ctf_shapes {
	struct hashmap ids; /* signature -> id */
	VECTOR(struct ctf_shape *) by_id; /* id - 1 */
	/* ---- of the current event ---- */
	struct strbuf signature; /* its name, then NUL, type and name of each field */
	struct strbuf payload; /* its values */
	VECTOR(struct ctf_label) labels; /* of its enums */
	size_t count; /* of its fields */
};

void ctf_shapes_init(struct ctf_shapes *s);
void ctf_shapes_release(struct ctf_shapes *s);
/* Writes all of them in TSDL. */
void ctf_shapes_put(FILE *file, const struct ctf_shapes *s);

void ctf_shapes_begin(struct ctf_shapes *s);
/* False: it is no number, no text, and no list of up to 65,535 numbers; it is left out. */
bool ctf_shapes_field(struct ctf_shapes *s, const char *name, size_t size,
		      const struct field_value *v);
/* The id of the current event's class; 0: there are 65,536 already. */
u32 ctf_shapes_id(struct ctf_shapes *s);

#endif
