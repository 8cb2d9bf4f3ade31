/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A dead kernel, as its dump explains it: the page tables lead to its virtual memory, its
 * kallsyms to its variables, its BTF to the members of its structures. No file beside the dump is
 * needed.
 *
 *	VMCOREINFO ──► page tables ──► kallsyms ──► BTF ──► structures
 *
 * Nothing of it is believed: every address is looked up in the page tables, strings and lists are
 * bounded.
 */
#ifndef PANTRACE_TRACE_VMCORE_KERNEL_H
#define PANTRACE_TRACE_VMCORE_KERNEL_H

#include "base/strbuf.h"
#include "trace/vmcore/dump.h"

/*
 * Members that are read: structure, member, and whether every kernel has it. Those that not every
 * one has are asked for by dead_has().
 */
#define DEAD_FIELDS(X)                                     \
	X(list_head, next, true)                           \
	X(list_head, prev, true)                           \
	X(uts_namespace, name, true)                       \
	X(new_utsname, sysname, true)                      \
	X(new_utsname, nodename, true)                     \
	X(new_utsname, release, true)                      \
	X(new_utsname, machine, true)                      \
	X(timekeeper, offs_real, true)                     \
	X(timekeeper, offs_boot, true)                     \
	X(timekeeper, offs_tai, true)                      \
	X(timekeeper, tkr_mono, true)                      \
	X(timekeeper, tkr_raw, true)                       \
	X(tk_read_base, clock, true)                       \
	X(tk_read_base, cycle_last, true)                  \
	X(tk_read_base, shift, true)                       \
	X(tk_read_base, xtime_nsec, true)                  \
	X(tk_read_base, base, true)                        \
	X(cyc2ns_data, cyc2ns_mul, true)                   \
	X(cyc2ns_data, cyc2ns_shift, true)                 \
	X(cyc2ns_data, cyc2ns_offset, true)                \
	X(tk_data, timekeeper, false)                      \
	X(task_struct, comm, true)                         \
	X(module, list, true)                              \
	X(module, name, true)                              \
	X(module, kallsyms, true)                          \
	X(mod_kallsyms, symtab, true)                      \
	X(mod_kallsyms, num_symtab, true)                  \
	X(mod_kallsyms, strtab, true)                      \
	X(mod_kallsyms, typetab, true)                     \
	X(trace_array, list, true)                         \
	X(trace_array, name, true)                         \
	X(trace_array, array_buffer, true)                 \
	X(trace_array, clock_id, true)                     \
	X(array_buffer, buffer, true)                      \
	X(trace_buffer, buffers, true)                     \
	X(trace_buffer, subbuf_order, false)               \
	X(ring_buffer_per_cpu, nr_pages, true)             \
	X(ring_buffer_per_cpu, pages, true)                \
	X(ring_buffer_per_cpu, reader_page, true)          \
	X(ring_buffer_per_cpu, commit_page, true)          \
	X(ring_buffer_per_cpu, entries, true)              \
	X(ring_buffer_per_cpu, overrun, true)              \
	X(ring_buffer_per_cpu, commit_overrun, true)       \
	X(ring_buffer_per_cpu, dropped_events, true)       \
	X(ring_buffer_per_cpu, read, true)                 \
	X(ring_buffer_per_cpu, lost_events, true)          \
	X(ring_buffer_per_cpu, last_overrun, true)         \
	X(buffer_page, list, true)                         \
	X(buffer_page, read, true)                         \
	X(buffer_page, page, true)                         \
	X(buffer_data_page, time_stamp, true)              \
	X(buffer_data_page, commit, true)                  \
	X(buffer_data_page, data, true)                    \
	X(trace_event_call, list, true)                    \
	X(trace_event_call, class, true)                   \
	X(trace_event_call, name, true)                    \
	X(trace_event_call, event, true)                   \
	X(trace_event_call, print_fmt, true)               \
	X(trace_event_call, flags, true)                   \
	X(trace_event_call, data, true)                    \
	X(trace_event, type, true)                         \
	X(trace_event_class, system, true)                 \
	X(trace_event_class, get_fields, true)             \
	X(trace_event_class, fields, true)                 \
	X(tracepoint, name, true)                          \
	X(syscall_metadata, enter_fields, false)           \
	X(ftrace_event_field, link, true)                  \
	X(ftrace_event_field, name, true)                  \
	X(ftrace_event_field, type, true)                  \
	X(ftrace_event_field, offset, true)                \
	X(ftrace_event_field, size, true)                  \
	X(ftrace_event_field, is_signed, true)             \
	X(ftrace_event_field, len, false)                  \
	X(saved_cmdlines_buffer, map_cmdline_to_pid, true) \
	X(saved_cmdlines_buffer, cmdline_num, true)        \
	X(saved_cmdlines_buffer, saved_cmdlines, true)     \
	X(trace_bprintk_fmt, list, false)                  \
	X(trace_bprintk_fmt, fmt, false)

#define DEAD_FIELD_NAME(structure, member, needed) DEAD_##structure##_##member,
enum dead_field { DEAD_FIELDS(DEAD_FIELD_NAME) DEAD_FIELD_COUNT };
#define F(structure, member) DEAD_##structure##_##member

struct dead_kernel;

/* Diagnostics name the path. 0 or -errno. */
int dead_kernel_open(const char *path, struct diag *d, struct dead_kernel **ret);
void dead_kernel_close(struct dead_kernel *k); /* NULL is fine */
/* Reports an error about what was being read ("the list of its events"). Returns err. */
int dead_refuse(const struct dead_kernel *k, int err, const char *what);

/* 0; -EFAULT: no memory there; or an error of dump_read(). */
int dead_read(struct dead_kernel *k, u64 address, void *to, size_t n);
/* The string there, malloc'ed; NULL: it cannot be read, or is longer than `most`. */
char *dead_string(struct dead_kernel *k, u64 address, size_t most);
/* Where that is in the machine's memory: of two addresses the same, if it is the same memory. */
int dead_physical(struct dead_kernel *k, u64 address, u64 *ret);
int dead_u64(struct dead_kernel *k, u64 address, u64 *ret);

/* Does its kernel have this member? */
bool dead_has(const struct dead_kernel *k, enum dead_field f);
u32 dead_offset(const struct dead_kernel *k, enum dead_field f);
u32 dead_size(const struct dead_kernel *k, enum dead_field f); /* of the member */
/* A member of the structure at this address: an integer, not extended, or a bit-field of one. */
int dead_member(struct dead_kernel *k, u64 structure, enum dead_field f, u64 *ret);
/* The string that a member points to, as dead_string(). */
char *dead_member_string(struct dead_kernel *k, u64 structure, enum dead_field f, size_t most);
/* The array that a member is, or points to. */
int dead_member_array(struct dead_kernel *k, u64 structure, enum dead_field f, u64 *ret);

/* Bytes of all symbols, strings, or formats of events: kernels have a tenth of it. */
#define DEAD_TEXT_MAX ((size_t)256 << 20)
#define DEAD_LIST_MAX (1u << 16)
/*
 * Calls fn with each structure of a list, whose head is at this address, until it returns other
 * than 0; link: the member that is in the list. -ELOOP: it does not end.
 */
typedef int dead_list_fn(void *arg, u64 structure);
int dead_each(struct dead_kernel *k, u64 head, enum dead_field link, bool backwards,
	      dead_list_fn *fn, void *arg);

u64 dead_symbol(struct dead_kernel *k, const char *name); /* 0 = there is none */
/* The first CPU's copy of a per-CPU variable; 0 = there is none. */
u64 dead_of_first_cpu(struct dead_kernel *k, const char *name);
s64 dead_enumerator(struct dead_kernel *k, const char *name); /* 0 = there is none */
/* The text of its /proc/kallsyms, of modules, too. */
const struct strbuf *dead_kallsyms(const struct dead_kernel *k);
/*
 * Of an array of structures without a name that have these members (NULL ends them): the size of
 * one, and where its member `wanted` is. False: it has no such structure.
 */
bool dead_unnamed(struct dead_kernel *k, const char *const *members, const char *wanted,
		  u32 *ret_size, u32 *ret_offset);

#endif
