/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of libpantrace that an executable or library has (section pantrace_table:
 * include/pantrace/pantrace.h), read from the file: of a program that does not run yet.
 */
#ifndef PANTRACE_BINARY_ELF_USER_EVENTS_H
#define PANTRACE_BINARY_ELF_USER_EVENTS_H

#include "binary/elf/file.h"

/*
 * Calls fn with "event SITES 0 LEVEL PROVIDER:NAME FIELDS...", as the program will say it
 * (pantrace/protocol.h), until it returns non-zero, which is the result. What cannot be read is
 * left out.
 */
int elf_file_each_user_event(struct elf_file *f, int (*fn)(void *arg, const char *line), void *arg);

#endif
