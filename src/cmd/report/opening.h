/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How recordings are opened: options shared by report, convert and the pictures. */
#ifndef PANTRACE_CMD_REPORT_OPENING_H
#define PANTRACE_CMD_REPORT_OPENING_H

#include "base/options.h"

struct opening_arguments {
	struct string_list files;
	const char *clock;
	double tsc_mhz;
	bool no_symbols;
};

static inline u64 opening_tsc_hz(const struct opening_arguments *a)
{
	return a->tsc_mhz > 0 && a->tsc_mhz < 1e12 ? (u64)(a->tsc_mhz * 1e6 + 0.5) : 0;
}

/* Rows of an option table. AT: offset of struct opening_arguments in the options' values. */
/* clang-format off */
#define OPENING_OPTIONS(AT)                                                                        \
	{0, "files", "DIRECTORY",                                                                  \
	 "also search DIRECTORY for binaries and debug files, by build-id and path; may be "       \
	 "repeated",                                                                               \
	 OPTION_LIST, (AT) + offsetof(struct opening_arguments, files)},                           \
	{0, "symfs", "DIRECTORY", "the same, as perf calls it", OPTION_LIST,                       \
	 (AT) + offsetof(struct opening_arguments, files)},                                        \
	{0, "kernel-clock", "NAME",                                                                \
	 "the clock of a trace.dat that does not name its own (mono, boot, tai, x86-tsc)",         \
	 OPTION_STRING, (AT) + offsetof(struct opening_arguments, clock)},                         \
	{0, "tsc-mhz", "MHZ",                                                                      \
	 "a trace of Xen: the frequency of its host's TSC, as `xl info` says it (cpu_mhz)",        \
	 OPTION_DOUBLE, (AT) + offsetof(struct opening_arguments, tsc_mhz)},                       \
	{0, "no-symbols", NULL, "print addresses as numbers", OPTION_FLAG,                         \
	 (AT) + offsetof(struct opening_arguments, no_symbols)}
/* clang-format on */

#endif
