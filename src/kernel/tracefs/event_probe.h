/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's event probes (Documentation/trace/eprobetrace.rst) can be trusted with. */
#ifndef PANTRACE_KERNEL_TRACEFS_EVENT_PROBE_H
#define PANTRACE_KERNEL_TRACEFS_EVENT_PROBE_H

#include "kernel/kernel.h"

/*
 * Is a field that is a `char *` read as the pointer that it is? Kernels in which such a field
 * counts as a string (6.12 does, 6.1 does not) read its first byte only: get_event_field() in
 * kernel/trace/trace_eprobe.c. By trial, in a ring buffer of its own; also true if it cannot be
 * tried.
 */
bool event_probe_reads_pointers(struct kernel *k);
/* The type of a field in the text of an event's format file: is it `char *` or `const char *`? */
bool event_probe_is_pointer(const char *format, const char *field, size_t len);

#endif
