/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event's call chain, whatever the recording is. */
#ifndef PANTRACE_TRACE_RECORDED_STACK_H
#define PANTRACE_TRACE_RECORDED_STACK_H

#include "base/vector.h"
#include "types/type.h"

/* A variable of the source, as it was in a frame. Valid until the next event. */
struct recorded_local {
	const char *name;
	const struct type *type;
	const void *value; /* type->size bytes; NULL: see `why` */
	const char *why; /* "optimised out", "not recorded" */
	/* of a pointer to text: that text, where it was recorded to its end; NULL = it was not */
	const char *text;
};

/* Strings are the reader's and stay until it is closed. */
struct recorded_frame {
	u64 address; /* as recorded; of callers, behind the call */
	u64 in_file; /* the same as the object's symbols have it; unknown, the same */
	const char *symbol; /* demangled; NULL = unknown */
	u64 offset; /* in the symbol */
	const char *object; /* a path, "[kernel.kallsyms]", "[module]"; NULL = unknown */
	const char *build_id; /* of the object, hex; NULL or "" = not recorded */
	bool is_kernel;
	bool is_inlined; /* a function within the next frame's: offset is in that one */
	/* The frame's variables, if they are asked for; NULL: debug information has none of it. */
	const struct recorded_local *locals;
	u32 local_count;
};

/* Innermost first. Zero-initialised is empty; vector_free() it. */
struct recorded_stack {
	struct recorded_frame *items;
	size_t len, cap;
};

/* What is mapped somewhere in a process, or in the kernel. Strings are the reader's. */
struct recorded_mapping {
	u64 start, length, offset; /* of the file; of the kernel itself: where its _text is */
	const char *path; /* as recorded */
	const char *build_id; /* hex; "" = not recorded */
	bool is_symbol; /* no file, but a program of BPF: path is its name */
};

#endif
