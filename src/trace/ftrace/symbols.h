/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel addresses as the kernel prints them (%pS, %ps, function tracers), of the running kernel or
 * of a recorded one. And constant strings by address (tracefs/printk_formats).
 */
#ifndef PANTRACE_TRACE_FTRACE_SYMBOLS_H
#define PANTRACE_TRACE_FTRACE_SYMBOLS_H

#include "base/strbuf.h"
#include "kernel/symbols/ksyms.h"

enum symbol_style {
	SYMBOL_PLAIN, /* "vfs_read" (seq_print_ip_sym()) */
	SYMBOL_MODULE, /* "vfs_read", "ext4_read [ext4]" (%ps) */
	SYMBOL_OFFSET, /* "vfs_read+0x12/0x80 [module]" (%pS) */
	SYMBOL_BACKTRACE, /* the same for a return address (%pB) */
};
/* Appends the name; 0x... if there is none. */
void symbol_print(struct ksyms *symbols, u64 address, enum symbol_style style, struct strbuf *out);

struct string_table;
/* "0xffffffff82c0 : "text\n"" a line. Takes nothing. */
struct string_table *string_table_new(const char *text);
void string_table_release(struct string_table *t);
/* NULL: unknown. */
const char *string_table_at(const struct string_table *t, u64 address);

#endif
