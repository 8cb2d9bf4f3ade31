/* SPDX-License-Identifier: MIT */
/*
 * The parts of a trace's metadata (TSDL), for whoever writes traces of what is in no ring: first
 * the head, then stream 0, then events, as many as there are. Packets are those of struct
 * pantrace_ctf_header; an event is its time (u64), its id (u32), the contexts, its fields, and
 * begins at a multiple of 8 bytes.
 */
#ifndef PANTRACE_LIB_CTF_H
#define PANTRACE_LIB_CTF_H

#include <pantrace/reader.h>
#include <stdio.h>

struct pt_ctf_clock {
	const char *name, *description;
	uint64_t hz;
	int64_t offset_s; /* its 0: so many seconds and ticks after the epoch */
	uint64_t offset;
	bool absolute; /* that is known */
};

/* ENV: what stands between the braces of "env". */
void pt_ctf_put_head(FILE *file, const uint8_t uuid[16], const char *env,
		     const struct pt_ctf_clock *clock);
/* CONTEXTS: fields that all events begin with; "" = none. */
void pt_ctf_put_stream(FILE *file, unsigned int id, const char *contexts);
/* In stream 0. An empty provider stands for none: then the name may have any characters. */
void pt_ctf_put_event(FILE *file, const struct pantrace_event_type *type);
/* Up to the first NUL, between quotes; what TSDL has no plain letters for becomes '_'. */
void pt_ctf_put_quoted(FILE *file, const char *text, size_t size);

#endif
