/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places for uprobes in one file, by symbol or address, and why one is refused. Only for uprobe.c.
 */
#ifndef PANTRACE_PROBE_UPROBE_PLACES_H
#define PANTRACE_PROBE_UPROBE_PLACES_H

#include "probe/source_line.h"
#include "probe/user.h"

/* The expansion of one attach point. */
struct uprobe_expansion {
	struct probe_env *env;
	const struct probe_request *request;
	struct probe_targets *out;
	const struct probe_provider *provider;
	const char *function; /* as written, offset removed */
	u64 offset; /* function + offset */
	u64 address; /* absolute, if has_address */
	bool has_address, has_offset;
	bool demangled; /* match C++ and Rust names as people write them */
	bool wildcard; /* in the file or in the function */
	bool quiet; /* a file without a match is passed over */
	const char *breaks; /* why a function that matches was left out; NULL */
	/* of one file: */
	struct elf_file *file;
	const char *path;
	struct hashmap
		places; /* file offset -> struct probe_target *, so that aliases are probed once */
	u32 matched;
	struct source_line line;
};

/* A target at an offset of the file; what: its name behind PROVIDER:FILE. */
struct probe_target *uprobe_add_place(struct uprobe_expansion *a, const char *what, u64 file_offset,
				      bool at_entry);
/* For elf_file_each_symbol(): adds the function if its name matches. */
int uprobe_add_matching(void *arg, const struct elf_symbol *s);
/* The function a->function: 0, -ENOENT if the file has none, or -errno with a diagnostic. */
int uprobe_add_symbol(struct uprobe_expansion *a);
/* The address a->address. 0, or -errno with a diagnostic. */
int uprobe_add_address(struct uprobe_expansion *a);
/* Nothing matched: a diagnostic with the nearest names. -ENOENT. */
int uprobe_no_symbol(struct uprobe_expansion *a);

#endif
