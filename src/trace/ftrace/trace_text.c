/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/trace_text.h"

#include "trace/ftrace/blk_text.h"
#include "trace/ftrace/event_field.h"

#include <stdio.h>

#include "base/escape.h"
#include "trace/ftrace/number_text.h"
#include "trace/ftrace/syscall_text.h"

/* include/linux/trace_events.h, enum trace_flag_type. 0x02 was IRQS_NOSUPPORT before 6.13, which
 * x86 never set. */
#define FLAG_IRQS_OFF	     0x01
#define FLAG_RESCHED_LAZY    0x02
#define FLAG_NEED_RESCHED    0x04
#define FLAG_HARDIRQ	     0x08
#define FLAG_SOFTIRQ	     0x10
#define FLAG_PREEMPT_RESCHED 0x20
#define FLAG_NMI	     0x40
#define FLAG_BH_OFF	     0x80

/* What a function tracer puts where it was called through a trampoline (FTRACE_TRAMPOLINE_MARKER).
 */
#define TRAMPOLINE_MARKER ((u64)INT32_MAX)

/* ---- the head of a line ---- */

/* trace_print_lat_fmt() */
void trace_text_flags(u8 flags, u8 preempt_count, char ret[5])
{
	static const char resched[8] = {'.', 'l', 'n', 'b', 'p', 'L', 'N', 'B'};
	static const char hex[] = "0123456789abcdef";
	const bool nmi = flags & FLAG_NMI, hard = flags & FLAG_HARDIRQ, soft = flags & FLAG_SOFTIRQ;
	const bool irqs_off = flags & FLAG_IRQS_OFF, bh_off = flags & FLAG_BH_OFF;
	const unsigned int need = (flags & FLAG_RESCHED_LAZY ? 1u : 0u) |
				  (flags & FLAG_NEED_RESCHED ? 2u : 0u) |
				  (flags & FLAG_PREEMPT_RESCHED ? 4u : 0u);

	ret[0] = irqs_off && bh_off ? 'D' : irqs_off ? 'd' : bh_off ? 'b' : '.';
	ret[1] = resched[need];
	ret[2] = nmi && hard ? 'Z' : nmi ? 'z' : hard && soft ? 'H' : hard ? 'h' : soft ? 's' : '.';
	ret[3] = preempt_count & 0xf ? hex[preempt_count & 0xf] : '.';
	ret[4] = preempt_count >> 4 ? hex[preempt_count >> 4] : '.';
}

static char *put_padded(char *p, u64 v, int width, char pad)
{
	char digits[24];
	char *begin = text_digits(digits + 24, v);
	const int n = (int)(digits + 24 - begin);

	for (int i = n; i < width; i++)
		*p++ = pad;
	memcpy(p, begin, (size_t)n);
	return p + n;
}

/* " %5lu.%06lu", rounded to microseconds (ns2usecs()). */
static char *put_time(char *p, u64 ns)
{
	const u64 us = (ns + 500) / 1000;

	*p++ = ' ';
	p = put_padded(p, us / 1000000, 5, ' ');
	*p++ = '.';
	return put_padded(p, us % 1000000, 6, '0');
}

void trace_text_time(u64 ns, struct strbuf *out)
{
	text_end(out, put_time(text_room(out, 64), ns));
}

/* trace_print_context() */
void trace_text_head(struct trace_text *t, const struct raw_event *e, struct strbuf *out)
{
	const s32 pid = page_event_pid(&e->event);
	char *p = text_room(out, 256);
	size_t len;
	const char *comm = task_name(t->tasks, pid, &len);
	char *end;

	for (size_t i = len; i < 16; i++)
		*p++ = ' ';
	memcpy(p, comm, len);
	p += len;
	*p++ = '-';
	end = p + 7;
	if (pid < 0)
		*p++ = '-';
	p = text_put_digits(p, pid < 0 ? (u64) - (s64)pid : (u64)pid);
	while (p < end)
		*p++ = ' ';
	*p++ = ' ';
	if (t->options.tgid) {
		const s32 tgid = task_tgid(t->tasks, pid);

		p += tgid ? sprintf(p, "(%7d) ", tgid) : sprintf(p, "(-------) ");
	}
	*p++ = '[';
	p = put_padded(p, e->cpu, 3, '0');
	*p++ = ']';
	*p++ = ' ';
	if (!t->options.no_irq_info) {
		const bool ok = e->event.size >= 4;

		trace_text_flags(ok ? e->event.data[2] : 0, ok ? e->event.data[3] : 0, p);
		p += 5;
	}
	if (t->options.counter) {
		*p++ = ' ';
		p = put_padded(p, e->event.time, 12, ' ');
	} else {
		p = put_time(p, e->event.time);
	}
	*p++ = ':';
	*p++ = ' ';
	text_end(out, p);
}

void trace_text_columns(const struct trace_text *t, struct strbuf *out)
{
	static const char *const flags[] = {
		"                                _-----=> irqs-off/BH-disabled\n",
		"                               / _----=> need-resched\n",
		"                              | / _---=> hardirq/softirq\n",
		"                              || / _--=> preempt-depth\n",
		"                              ||| / _-=> migrate-disable\n",
		"                              |||| /     delay\n",
	};
	const char *tgid = t->options.tgid ? "   TGID   " : "",
		   *tgid_bar = t->options.tgid ? "     |    " : "";
	const char *blank = t->options.tgid ? "          " : "";

	if (t->options.no_irq_info) {
		strbuf_addf(out, "#           TASK-PID    %s CPU#     TIMESTAMP  FUNCTION\n", tgid);
		strbuf_addf(out, "#              | |      %s   |         |         |\n", tgid_bar);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		strbuf_addf(out, "#%s%s", blank, flags[i]);
	strbuf_addf(out, "#           TASK-PID    %s CPU#  |||||  TIMESTAMP  FUNCTION\n", tgid);
	strbuf_addf(out, "#              | |      %s   |   |||||     |         |\n", tgid_bar);
}

/* ---- ftrace's own records ---- */

static const struct type_member *member(const struct event_info *info, const char *name)
{
	for (u32 i = 0; i < info->record->count; i++)
		if (str_eq(info->record->members[i].name, name))
			return &info->record->members[i];
	return NULL;
}

/* 0 if there is no such field or the record is too short. */
static u64 number_of(const struct event_info *info, const struct page_event *e, const char *name)
{
	const struct type_member *m = member(info, name);
	u64 v = 0;

	if (m && m->type->size <= 8 && m->offset + m->type->size <= e->size)
		memcpy(&v, e->data + m->offset, m->type->size);
	return v;
}

/* seq_print_ip_sym() */
static void print_ip(struct trace_text *t, u64 ip, struct strbuf *out)
{
	if (!ip) {
		strbuf_addch(out, '0');
		return;
	}
	symbol_print(t->context.symbols, ip,
		     t->options.symbol_offset ? SYMBOL_OFFSET : SYMBOL_PLAIN, out);
	if (!t->options.symbol_address)
		return;
	strbuf_addstr(out, " <");
	text_hex_padded(out, ip, 16);
	strbuf_addch(out, '>');
}

static void print_chars(struct trace_text *t, const char *s, size_t n, struct strbuf *out);

/* trace_marker, trace_puts(): "ip: text", which ends with its own newline. */
static void body_print(struct trace_text *t, const struct event_info *info,
		       const struct page_event *e, struct strbuf *out)
{
	const struct type_member *m = member(info, "buf");
	size_t n;

	print_ip(t, number_of(info, e, "ip"), out);
	strbuf_addstr(out, ": ");
	if (m && m->offset < e->size) {
		n = strnlen((const char *)e->data + m->offset, e->size - m->offset);
		n -= n && e->data[m->offset + n - 1] == '\n';
		print_chars(t, (const char *)e->data + m->offset, n, out);
	}
	strbuf_addch(out, '\n');
}

/* A constant string of the kernel. */
static void body_puts(struct trace_text *t, const struct event_info *info,
		      const struct page_event *e, struct strbuf *out)
{
	const u64 address = number_of(info, e, "str");
	const char *s = string_table_at(t->context.strings, address);

	print_ip(t, number_of(info, e, "ip"), out);
	strbuf_addstr(out, ": ");
	if (s)
		print_chars(t, s, strlen(s) - (*s && s[strlen(s) - 1] == '\n'), out);
	else
		strbuf_addf(out, "(0x%" PRIx64 ")", address);
	strbuf_addch(out, '\n');
}

static void body_raw_data(struct trace_text *t, const struct event_info *info,
			  const struct page_event *e, struct strbuf *out)
{
	const struct type_member *m = member(info, "buf");

	strbuf_addstr(out, "# ");
	text_hex(out, (u32)number_of(info, e, "id"));
	strbuf_addstr(out, " buf:");
	for (u32 i = m ? m->offset : e->size; i < e->size; i++) {
		strbuf_addch(out, ' ');
		text_hex_padded(out, e->data[i], 2);
	}
	strbuf_addch(out, '\n');
}

static void body_kernel_stack(struct trace_text *t, const struct event_info *info,
			      const struct page_event *e, struct strbuf *out)
{
	const struct type_member *m = member(info, "caller");
	const u64 count = number_of(info, e, "size");
	u64 ip;

	strbuf_addstr(out, "<stack trace>\n");
	for (u64 i = 0; m && i < count && m->offset + (i + 1) * 8 <= e->size; i++) {
		memcpy(&ip, e->data + m->offset + i * 8, sizeof(ip));
		if (ip == UINT64_MAX)
			break;
		strbuf_addstr(out, " => ");
		if (ip == TRAMPOLINE_MARKER)
			strbuf_addstr(out, "[FTRACE TRAMPOLINE]");
		else
			print_ip(t, ip, out);
		strbuf_addch(out, '\n');
	}
}

static void body_user_stack(struct trace_text *t, const struct event_info *info,
			    const struct page_event *e, struct strbuf *out)
{
	const struct type_member *m = member(info, "caller");
	u64 ip;

	strbuf_addstr(out, "<user stack trace>\n");
	for (u64 i = 0; m && i < m->type->size / 8 && m->offset + (i + 1) * 8 <= e->size; i++) {
		memcpy(&ip, e->data + m->offset + i * 8, sizeof(ip));
		if (!ip)
			break;
		strbuf_addstr(out, " =>  <");
		text_hex_padded(out, ip, 16);
		strbuf_addstr(out, ">\n");
	}
}

static void print_function(struct trace_text *t, const struct event_info *info,
			   const struct page_event *e, struct strbuf *out)
{
	const struct type_member *args = member(info, "args");
	const u64 ip = number_of(info, e, "ip"), parent = number_of(info, e, "parent_ip");

	print_ip(t, ip, out);
	if (args && args->offset + FUNCTION_ARGS_RECORDED * 8 <= e->size)
		function_args_print(&t->args, t->context.symbols, ip, e->data + args->offset,
				    (e->size - args->offset) / 8, out);
	if (!t->options.no_parent && parent) {
		strbuf_addstr(out, " <-");
		print_ip(t, parent, out);
	}
}

static void body_function(struct trace_text *t, const struct event_info *info,
			  const struct page_event *e, struct strbuf *out)
{
	print_function(t, info, e, out);
	strbuf_addch(out, '\n');
}

static void body_func_repeats(struct trace_text *t, const struct event_info *info,
			      const struct page_event *e, struct strbuf *out)
{
	const u64 delta =
		number_of(info, e, "top_delta_ts") << 32 | number_of(info, e, "bottom_delta_ts");

	print_function(t, info, e, out);
	strbuf_addstr(out, " (repeats: ");
	text_unsigned(out, number_of(info, e, "count"));
	strbuf_addstr(out, ", last_ts:");
	trace_text_time(e->time - delta, out);
	strbuf_addstr(out, ")\n");
}

static void print_chars(struct trace_text *t, const char *s, size_t n, struct strbuf *out)
{
	if (t->context.raw_strings)
		strbuf_add(out, s, n);
	else
		escape_line(out, s, n);
}

/* trace_hwlat_print() */
static void body_hwlat(struct trace_text *t, const struct event_info *info,
		       const struct page_event *e, struct strbuf *out)
{
	const u64 nmis = number_of(info, e, "nmi_count");

	strbuf_addf(out,
		    "#%-5" PRIu64 " inner/outer(us): %4" PRIu64 "/%-5" PRIu64 " ts:%" PRId64
		    ".%09" PRId64 " count:%d",
		    number_of(info, e, "seqnum"), number_of(info, e, "duration"),
		    number_of(info, e, "outer_duration"), (s64)number_of(info, e, "tv_sec"),
		    (s64)number_of(info, e, "tv_nsec"), (int)number_of(info, e, "count"));
	/* of the architectures with GENERIC_SCHED_CLOCK, which x86 is none of, only the number */
	if (nmis)
		strbuf_addf(out, " nmi-total:%" PRIu64 " nmi-count:%" PRIu64,
			    number_of(info, e, "nmi_total_ts"), nmis);
	strbuf_addch(out, '\n');
}

/* trace_osnoise_print() */
static void body_osnoise(struct trace_text *t, const struct event_info *info,
			 const struct page_event *e, struct strbuf *out)
{
	static const char *const counts[] = {"hw_count", "nmi_count", "irq_count", "softirq_count",
					     "thread_count"};
	const u64 runtime = number_of(info, e, "runtime"), noise = number_of(info, e, "noise");
	const u64 ratio = runtime ? (runtime - noise) * 10000000 / runtime : 0;

	strbuf_addf(out, "%" PRIu64 " %10" PRIu64 " %3" PRIu64 ".%05" PRIu64 " %7" PRIu64, runtime,
		    noise, ratio / 100000, ratio % 100000, number_of(info, e, "max_sample"));
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		strbuf_addf(out, " %6" PRIu64, number_of(info, e, counts[i]));
	strbuf_addch(out, '\n');
}

/* trace_timerlat_print() */
static void body_timerlat(struct trace_text *t, const struct event_info *info,
			  const struct page_event *e, struct strbuf *out)
{
	static const char *const contexts[] = {"irq", "thread", "user-ret"};
	const u64 context = number_of(info, e, "context");

	strbuf_addf(out, "#%-5" PRIu64 " context %6s timer_latency %9" PRIu64 " ns\n",
		    number_of(info, e, "seqnum"),
		    context < ARRAY_SIZE(contexts) ? contexts[context] : "?",
		    number_of(info, e, "timer_latency"));
}

static void body_blk(struct trace_text *t, const struct event_info *info,
		     const struct page_event *e, struct strbuf *out)
{
	blk_text_print(t->tasks, e, t->context.raw_strings, out);
}

typedef void body_printer(struct trace_text *t, const struct event_info *info,
			  const struct page_event *e, struct strbuf *out);

static const struct {
	const char *name;
	body_printer *print;
} own_records[] = {
	{"function", body_function},
	{"print", body_print},
	{"bputs", body_puts},
	{"raw_data", body_raw_data},
	{"kernel_stack", body_kernel_stack},
	{"user_stack", body_user_stack},
	{"func_repeats", body_func_repeats},
	{BLK_EVENT, body_blk},
	{"hwlat", body_hwlat},
	{"osnoise", body_osnoise},
	{"timerlat", body_timerlat},
};

/* ---- system calls: print_syscall_enter(), print_syscall_exit() ---- */

static void body_enter(struct trace_text *t, const struct event_info *info,
		       const struct page_event *e, struct strbuf *out)
{
	syscall_text_print(info->syscall, e, t->options.bare_syscalls, t->context.raw_strings, out);
	strbuf_addch(out, '\n');
}

static void body_exit(struct trace_text *t, const struct event_info *info,
		      const struct page_event *e, struct strbuf *out)
{
	strbuf_addstr(out, "sys_");
	strbuf_addstr(out, info->name + strlen("sys_exit_"));
	strbuf_addstr(out, " -> 0x");
	text_hex(out, number_of(info, e, "ret"));
	strbuf_addch(out, '\n');
}

/* ---- everything ---- */

static body_printer *own_printer(const struct event_info *info)
{
	if (str_eq(info->system, "ftrace"))
		for (size_t i = 0; i < ARRAY_SIZE(own_records); i++)
			if (str_eq(info->name, own_records[i].name))
				return own_records[i].print;
	if (!str_eq(info->system, "syscalls"))
		return NULL;
	return str_starts(info->name, "sys_enter_")  ? body_enter
	       : str_starts(info->name, "sys_exit_") ? body_exit
						     : NULL;
}

void trace_text_body(struct trace_text *t, struct event_info *info, const struct raw_event *e,
		     struct strbuf *out)
{
	if (!info->own_printer_known) {
		info->own_printer_known = true;
		info->own_printer = (void (*)(void))own_printer(info);
		if (info->own_printer == (void (*)(void))body_enter)
			info->syscall =
				syscall_text_new(&event_table_types(t->events)->arena, info);
	}
	if (info->own_printer) {
		((body_printer *)info->own_printer)(t, info, &e->event, out);
		return;
	}
	if (t->options.system_names) {
		strbuf_addstr(out, info->system);
		strbuf_addch(out, ':');
	}
	strbuf_add(out, info->name, info->name_len);
	strbuf_addstr(out, ": ");
	if (info->probed) {
		strbuf_addch(out, '(');
		strbuf_addstr(out, info->probed);
		strbuf_addch(out, ')');
	}
	print_format_run(info->print, &t->context, e->event.data, e->event.size, out);
	strbuf_addch(out, '\n');
}

void trace_text_lost(const struct raw_event *e, struct strbuf *out)
{
	if (!e->lost)
		return;
	if (e->lost == PAGE_LOST_UNKNOWN)
		strbuf_addf(out, "CPU:%u [LOST EVENTS]\n", e->cpu);
	else
		strbuf_addf(out, "CPU:%u [LOST %" PRIu64 " EVENTS]\n", e->cpu, e->lost);
}

void trace_text_event(struct trace_text *t, const struct raw_event *e, struct strbuf *out)
{
	const u32 id = page_event_id(&e->event);
	struct event_info *info = event_table_get(t->events, id);

	trace_text_lost(e, out);
	trace_text_head(t, e, out);
	if (info)
		trace_text_body(t, info, e, out);
	else
		strbuf_addf(out, "Unknown type %u\n", id);
}

/* trace-cmd report of 3.1: the name of the event in a column of its own, system calls by their
 * print format. */
void trace_text_trace_cmd(struct trace_text *t, const struct raw_event *e, struct strbuf *out)
{
	const s32 pid = page_event_pid(&e->event);
	struct event_info *info = event_table_get(t->events, page_event_id(&e->event));
	char *p, *end;
	size_t len;
	const char *comm = task_name(t->tasks, pid, &len);

	if (e->lost == PAGE_LOST_UNKNOWN)
		strbuf_addf(out, "CPU:%u [EVENTS DROPPED]\n", e->cpu);
	else if (e->lost)
		strbuf_addf(out, "CPU:%u [%" PRIu64 " EVENTS DROPPED]\n", e->cpu, e->lost);
	p = text_room(out, 256);
	for (size_t i = len; i < 16; i++)
		*p++ = ' ';
	memcpy(p, comm, len);
	p += len;
	*p++ = '-';
	end = p + 5;
	p = text_put_digits(p, pid < 0 ? 0 : (u64)pid);
	while (p < end)
		*p++ = ' ';
	*p++ = ' ';
	*p++ = '[';
	p = put_padded(p, e->cpu, 3, '0');
	*p++ = ']';
	p = put_time(p, e->event.time);
	*p++ = ':';
	*p++ = ' ';
	text_end(out, p);
	if (!info) {
		strbuf_addf(out, "Unknown type %u\n", page_event_id(&e->event));
		return;
	}
	strbuf_add(out, info->name, info->name_len);
	strbuf_addch(out, ':');
	strbuf_addchars(out, ' ', info->name_len < 20 ? 21 - (int)info->name_len : 1);
	print_format_run(info->print, &t->context, e->event.data, e->event.size, out);
	strbuf_addch(out, '\n');
}

struct field_value trace_text_value(const struct trace_text *t, const struct raw_event *e,
				    const char *name, bool only_field)
{
	const struct event_info *info = event_table_get(t->events, page_event_id(&e->event));
	const s32 tid = page_event_pid(&e->event);
	struct field_value v = {0};

	if (info)
		v = event_field(info, &e->event, name);
	if (v.kind || only_field)
		return v;
	if (str_eq(name, "cpu")) {
		v.kind = FIELD_INTEGER;
		v.integer = e->cpu;
	} else if (str_eq(name, "tid")) {
		v.kind = FIELD_INTEGER;
		v.integer = (u64)tid;
	} else if (str_eq(name, "pid")) {
		v.integer = (u64)task_tgid(t->tasks, tid);
		v.kind = v.integer ? FIELD_INTEGER : FIELD_NONE; /* it may not be known */
	} else if (str_eq(name, "comm")) {
		v.kind = FIELD_TEXT;
		v.text = task_name(t->tasks, tid, &v.size);
	}
	return v;
}
