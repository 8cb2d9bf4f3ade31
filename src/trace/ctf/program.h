/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a kind of event is printed, worked out once: pieces of constant text, each followed by one
 * value that is taken from the packet in the plainest way its type allows. Inside of ctf_print.
 */
#ifndef PANTRACE_TRACE_CTF_PROGRAM_H
#define PANTRACE_TRACE_CTF_PROGRAM_H

#include "base/arena.h"
#include "trace/ctf/print.h"

enum ctf_print_step_kind {
	STEP_U8,
	STEP_U16,
	STEP_U32,
	STEP_U64,
	STEP_S8,
	STEP_S16,
	STEP_S32,
	STEP_S64,
	STEP_HEX, /* little endian, whole bytes */
	STEP_STRING,
	STEP_ADDRESS, /* as STEP_HEX, with a name */
	STEP_ADDRESSES, /* an array of addresses, with names */
	STEP_JSON,
	STEP_JSON_U64, /* a string where a double does not hold it */
	STEP_JSON_S64,
	STEP_JSON_STRING,
	STEP_SKIP, /* decoded, not shown */
	STEP_ALIGN,
	STEP_OTHER,
	STEP_END,
};

struct ctf_print_step {
	enum ctf_print_step_kind kind;
	u32 align; /* bits */
	u32 slot;
	u32 text, text_size; /* before the value, in ctf_program.text */
	const struct ctf_type *type;
};

struct ctf_program {
	char *head; /* "host:process:(pid) app:event: "; JSON: what stands between time and CPU */
	u32 head_size;
	char *text;
	struct ctf_print_step *steps;
	size_t room; /* bytes of a line, but for what step_slowly() adds */
};

/* Of EVENT's kind, in the arena. Texts may be read up to 32 bytes at a time. */
struct ctf_program *ctf_program(const struct ctf_print_options *options, struct arena *arena,
				const struct ctf_event *event);

#endif
