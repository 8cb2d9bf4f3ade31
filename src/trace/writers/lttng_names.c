/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/writers/lttng_names.h"

#include "arch/arch.h"

#define MAX_RT_PRIO 100 /* of the kernel; LTTng counts priorities from here */

/* ---- events ---- */

/* All other events lose their system. */
static const struct {
	const char *kind; /* may end in '*' */
	const char *name; /* LTTng's, with the text that the '*' matches after it */
} events[] = {
	{"irq:softirq_*", "irq_softirq_"},
	{"timer:hrtimer_*", "timer_hrtimer_"},
	{"timer:itimer_*", "timer_itimer_"},
	{"irq_vectors:x86_platform_ipi_*", "x86_irq_vectors_ipi_"},
	{"irq_vectors:*", "x86_irq_vectors_"},
	{"exceptions:*", "x86_exceptions_"},
	{"power:cpu_*", "power_cpu_"},
	{"power:machine_*", "power_machine_"},
	{"power:wakeup_source_*", "power_wakeup_source_"},
	{"power:clock_*", "power_clock_"},
	{"kmem:kmalloc*", "kmem_kmalloc"},
	{"kmem:kfree*", "kmem_kfree"},
	{"kmem:mm_page_*", "kmem_mm_page_"},
	{"skb:kfree_skb", "skb_kfree"},
	{"skb:consume_skb", "skb_consume"},
};

/* The text that the pattern's '*' matches; NULL: no match. */
static const char *rest_of(const char *kind, const char *pattern)
{
	const size_t n = strlen(pattern) - 1;

	if (pattern[n] != '*')
		return str_eq(kind, pattern) ? "" : NULL;
	return strncmp(kind, pattern, n) ? NULL : kind + n;
}

/* By the number in a field, or by the name of syscalls:sys_enter_NAME. */
static void add_call(struct recording *r, const char *of, struct strbuf *ret)
{
	const char *name = NULL;
	s64 number;

	if (*of)
		number = arch_syscall_event_number(of);
	else if (!recorded_number(r, "id", &number))
		number = -1;
	if (number >= 0)
		name = arch_syscall_name((u64)number);
	strbuf_addstr(ret, name ?: *of ? of : "unknown");
}

void lttng_event_name(struct recording *r, struct strbuf *ret)
{
	static const struct {
		const char *kind, *name;
	} calls[] = {{"raw_syscalls:sys_enter", "syscall_entry_"},
		     {"raw_syscalls:sys_exit", "syscall_exit_"},
		     {"syscalls:sys_enter_*", "syscall_entry_"},
		     {"syscalls:sys_exit_*", "syscall_exit_"}};
	const char *const kind = r->kind->name;
	const char *rest;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if ((rest = rest_of(kind, calls[i].kind))) {
			strbuf_addstr(ret, calls[i].name);
			add_call(r, rest, ret);
			return;
		}
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if ((rest = rest_of(kind, events[i].kind))) {
			strbuf_addf(ret, "%s%s", events[i].name, rest);
			return;
		}
	strbuf_addstr(ret, r->kind->short_name ?: kind);
}

/* ---- fields ---- */

static bool is_left_out(struct field_value *v)
{
	(void)v;
	return false;
}

static bool from_first_user_priority(struct field_value *v)
{
	v->integer -= MAX_RT_PRIO;
	v->is_signed = true;
	return true;
}

/*
 * From the kernel's letters (blk_fill_rwbs()) to LTTng's bits (block.h of lttng-modules). A text
 * with an unknown letter stays as it is.
 */
static bool rwbs_bits(struct field_value *v)
{
	static const struct {
		char letter;
		u32 bits;
	} operations[] = {{'W', 1 << 0}, {'D', 1 << 1}, {'R', 1 << 2}, {'F', 1 << 8}, {'N', 0}},
	  flags[] = {{'F', 1 << 9}, {'A', 1 << 3}, {'S', 1 << 5}, {'M', 1 << 6}, {'E', 1 << 7}};
	const char *at = v->text, *const end = at + v->size;
	const bool flushes = v->size > 1 && *at == 'F' && memchr("WDRFN", at[1], 5);
	u32 bits = flushes ? 1 << 10 : 0;
	size_t i = 0;

	if (v->kind != FIELD_TEXT)
		return true;
	at += flushes;
	while (i < ARRAY_SIZE(operations) && at < end && operations[i].letter != *at)
		i++;
	if (at == end || i == ARRAY_SIZE(operations))
		return true;
	bits |= operations[i].bits;
	while (++at < end) {
		for (i = 0; i < ARRAY_SIZE(flags) && flags[i].letter != *at; i++)
			;
		if (i == ARRAY_SIZE(flags))
			return true;
		bits |= flags[i].bits;
	}
	*v = (struct field_value){.kind = FIELD_INTEGER, .integer = bits, .bits = 32};
	return true;
}

static const struct {
	const char *kind, *field;
	const char *name; /* NULL = the same */
	bool (*change)(struct field_value *v); /* false: there is no such field; NULL = none */
} fields[] = {
	{"sched:*", "pid", "tid"},
	{"sched:*", "prev_pid", "prev_tid"},
	{"sched:*", "next_pid", "next_tid"},
	{"sched:*", "parent_pid", "parent_tid"},
	{"sched:*", "child_pid", "child_tid"},
	{"sched:*", "old_pid", "old_tid"},
	{"sched:*", "prio", .change = from_first_user_priority},
	{"sched:*", "prev_prio", .change = from_first_user_priority},
	{"sched:*", "next_prio", .change = from_first_user_priority},
	{"sched:*", "oldprio", .change = from_first_user_priority},
	{"sched:*", "newprio", .change = from_first_user_priority},
	{"block:*", "rwbs", .change = rwbs_bits},
	{"syscalls:*", "__syscall_nr", .change = is_left_out},
};

bool lttng_field(const struct recorded_kind *kind, const char **name, size_t *size,
		 struct field_value *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strlen(fields[i].field) != *size || memcmp(fields[i].field, *name, *size) ||
		    !rest_of(kind->name, fields[i].kind))
			continue;
		*name = fields[i].name ?: fields[i].field;
		*size = strlen(*name);
		return !fields[i].change || fields[i].change(value);
	}
	return true;
}
