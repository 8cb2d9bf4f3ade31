/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of ftrace, one for each function that can be traced, by their numbers. Its filters take a number (from 1, in the order of
 * available_filter_functions) instead of a name since Linux 5.1 (add_rec_by_index() in kernel/trace/ftrace.c), and a name or a pattern costs a
 * search in kallsyms for each of the 40,000 records: 5 to 20 ms on hardware, a quarter of a second in an emulated machine.
 *
 * The numbers are read from the kernel's memory. Nothing is believed but what makes sense; who uses them must still look at what the filter
 * then holds, for a module may come or go in between.
 */
#ifndef PANTRACE_KERNEL_FTRACE_RECORDS_H
#define PANTRACE_KERNEL_FTRACE_RECORDS_H

#include "kernel/kernel.h"

struct ftrace_records;

/* -EOPNOTSUPP: they cannot be read, or are laid out in another way. */
int ftrace_records_load(struct kernel *k, struct ftrace_records **ret);
void ftrace_records_release(struct ftrace_records *r);
/* Of the function that begins at this address; 0 = ftrace has none. */
u32 ftrace_records_number(const struct ftrace_records *r, u64 function);

#endif
