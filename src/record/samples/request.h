/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a record request about samples. */
#ifndef PANTRACE_RECORD_SAMPLES_REQUEST_H
#define PANTRACE_RECORD_SAMPLES_REQUEST_H

#include "base/options.h"

struct sample_request {
	const char *frequency; /* -F: a number, or "max"; NULL = not given */
	u64 period; /* -c: every Nth event; 0 = not given */
	bool frames; /* -g */
	const char *call_graph; /* "fp", "dwarf", "dwarf,SIZE"; NULL = not given */
	struct pid_list threads; /* -t */
	struct string_list cgroups; /* -G */
	const char *cpus; /* -C; NULL = all */
};

#endif
