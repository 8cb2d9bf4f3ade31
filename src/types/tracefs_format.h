/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tracefs format file -> the event's record as a struct type, and its print format text. */
#ifndef PANTRACE_TYPES_TRACEFS_FORMAT_H
#define PANTRACE_TYPES_TRACEFS_FORMAT_H

#include "types/type.h"

/*
 * Parses the text of events/CATEGORY/EVENT/format. Members keep their offsets in the raw record;
 * common_* fields are included. C types are looked up in the store (BTF) where the spelling is a
 * known enum, typedef or struct pointer; else by size and sign. Pointers of syscall events
 * (category "syscalls") are marked is_user. 0 or -EINVAL.
 */
int tracefs_format_parse(struct type_store *store, const char *category, const char *text,
			 const struct type **ret_record, const char **ret_print_fmt);

#endif
