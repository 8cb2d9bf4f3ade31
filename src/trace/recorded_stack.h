/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event's call chain, whatever the recording is. */
#ifndef PANTRACE_TRACE_RECORDED_STACK_H
#define PANTRACE_TRACE_RECORDED_STACK_H

#include "base/vector.h"

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
};

/* Innermost first. Zero-initialised is empty; vector_free() it. */
struct recorded_stack {
	struct recorded_frame *items;
	size_t len, cap;
};

#endif
