/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads profiles of pprof (github.com/google/pprof, proto/profile.proto), as they are or packed by
 * gzip. The whole profile is kept in memory, because its strings may come last.
 */
#ifndef PANTRACE_TRACE_PPROF_PROFILE_H
#define PANTRACE_TRACE_PPROF_PROFILE_H

#include "base/diag.h"
#include "base/vector.h"
#include "trace/recorded_stack.h"

/* What is measured: "cpu" in "nanoseconds". Strings are the profile's. */
struct pprof_type {
	const char *name, *unit;
};

/* Several may have one key: KEY, "KEY (2)", "KEY (3)". None has the name of a type. */
struct pprof_label {
	const char *key;
	const char *text; /* NULL: a number */
	s64 number;
};

struct pprof_numbers {
	u64 *items;
	size_t len, cap;
};

/* A call chain with a value of each type. */
struct pprof_sample {
	struct pprof_numbers locations; /* ids; the innermost first */
	struct pprof_numbers values; /* signed, as many as there are types */
	VECTOR(struct pprof_label) labels;
};

struct pprof_profile;

/* True if the first bytes of a file are those of a profile, packed or not. */
bool pprof_is(const void *head, size_t len);
/* 0 or -errno with a diagnostic. */
int pprof_open(const char *path, struct diag *d, struct pprof_profile **ret);
void pprof_close(struct pprof_profile *p);
/* At least one; *ret_default: the index of that which is shown unless another is asked for. */
const struct pprof_type *pprof_types(const struct pprof_profile *p, size_t *ret_n,
				     size_t *ret_default);
/* The file of the program that was measured; NULL = unknown. */
const char *pprof_program(const struct pprof_profile *p);
/*
 * The next sample, in place of what *ret held, whose vectors are the caller's. False: the end, or
 * damage (told).
 */
bool pprof_next(struct pprof_profile *p, struct pprof_sample *ret, struct diag *d);
/* Begins again with the first sample. */
void pprof_rewind(struct pprof_profile *p);
/* Adds the sample's frames. */
void pprof_frames(const struct pprof_profile *p, const struct pprof_sample *s,
		  struct recorded_stack *ret);

#endif
