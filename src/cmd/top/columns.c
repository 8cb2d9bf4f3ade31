/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/columns.h"

#include "base/escape.h"

/* ---- numbers as text ---- */

/* At most four characters: 1.2k, 123k. */
static void scaled(double n, double step, const char *units, struct strbuf *out)
{
	while (n >= 999.5 && units[1]) {
		n /= step;
		units++;
	}
	if (*units == ' ')
		strbuf_addf(out, n && n < 9.95 && n != (u64)n ? "%.1f" : "%.0f", n);
	else
		strbuf_addf(out, n < 9.95 ? "%.1f%c" : "%.0f%c", n, *units);
}

static double per_second(u64 n, u64 span_ns)
{
	return span_ns ? (double)n * 1e9 / (double)span_ns : 0;
}

void share_text(u64 ns, u64 span_ns, struct strbuf *out)
{
	const double share = span_ns ? 100.0 * (double)ns / (double)span_ns : 0;

	strbuf_addf(out, share < 999.95 ? "%.1f" : "%.0f", share);
}

void rate_text(u64 n, u64 span_ns, struct strbuf *out)
{
	scaled(per_second(n, span_ns), 1000, " kMGT", out);
}

void bytes_text(u64 n, u64 span_ns, struct strbuf *out)
{
	scaled(per_second(n, span_ns), 1024, " KMGT", out);
}

/* ---- values ---- */

#define COUNT_VALUE(name, expression)                \
	static u64 name##_value(const struct row *r) \
	{                                            \
		return (expression);                 \
	}
#define COUNT_COLUMN(name, expression, form)                             \
	COUNT_VALUE(name, expression)                                    \
	static void name##_text(const struct row *r, struct strbuf *out) \
	{                                                                \
		form(name##_value(r), r->span_ns, out);                  \
	}

COUNT_COLUMN(cpu, r->counts[COUNT_CPU], share_text)
COUNT_COLUMN(runq, r->counts[COUNT_RUNQ], share_text)
COUNT_COLUMN(off, r->counts[COUNT_OFF], share_text)
COUNT_COLUMN(calls, r->counts[COUNT_CALLS], rate_text)
COUNT_COLUMN(faults, r->counts[COUNT_MINOR] + r->counts[COUNT_MAJOR], rate_text)
COUNT_COLUMN(read, r->counts[COUNT_READ], bytes_text)
COUNT_COLUMN(written, r->counts[COUNT_WRITTEN], bytes_text)
COUNT_COLUMN(disk, r->counts[COUNT_DISK_READ] + r->counts[COUNT_DISK_WRITTEN], bytes_text)
COUNT_VALUE(pid, r->id)
COUNT_VALUE(threads, r->threads)
COUNT_VALUE(state, (u64)(255 - (u8)r->state))
COUNT_VALUE(time, r->cpu_ns)
COUNT_VALUE(name, 0)

static void pid_text(const struct row *r, struct strbuf *out)
{
	strbuf_addf(out, "%u", r->id);
}

static void threads_text(const struct row *r, struct strbuf *out)
{
	strbuf_addf(out, "%u", r->threads);
}

static void state_text(const struct row *r, struct strbuf *out)
{
	strbuf_addch(out, r->state);
}

/* Minutes and seconds, as top has them. */
static void time_text_of(const struct row *r, struct strbuf *out)
{
	const u64 hundredths = r->cpu_ns / 10000000, seconds = hundredths / 100;

	if (seconds < 6000)
		strbuf_addf(out, "%" PRIu64 ":%02u.%02u", seconds / 60, (u32)(seconds % 60),
			    (u32)(hundredths % 100));
	else
		strbuf_addf(out, "%" PRIu64 "h%02u:%02u", seconds / 3600, (u32)(seconds / 60 % 60),
			    (u32)(seconds % 60));
}

static void name_text(const struct row *r, struct strbuf *out)
{
	escape_line(out, r->task->comm, strlen(r->task->comm));
}

/* ---- styles: by shares of one CPU, in percent ---- */

static enum style by_share(u64 ns, const struct row *r, u64 warm, u64 hot)
{
	const u64 percent = r->span_ns ? 100 * ns / r->span_ns : 0;

	return percent >= hot ? STYLE_HOT : percent >= warm ? STYLE_WARM : STYLE_CALM;
}

static enum style cpu_style(const struct row *r)
{
	return by_share(r->counts[COUNT_CPU], r, 20, 80);
}

static enum style runq_style(const struct row *r)
{
	return by_share(r->counts[COUNT_RUNQ], r, 10, 30);
}

static enum style dim_style(const struct row *r)
{
	return STYLE_DIM;
}

static enum style plain_style(const struct row *r)
{
	return STYLE_PLAIN;
}

enum style column_style(const struct column *c, const struct row *r, const char *text)
{
	/* also a small number that is shown as 0 */
	if (!c->is_text && c->style != plain_style && (str_eq(text, "0") || str_eq(text, "0.0")))
		return STYLE_DIM;
	return c->style ? c->style(r) : STYLE_PLAIN;
}

const struct column top_columns[] = {
	{"pid", "PID", "process, or thread", 7, 0, false, pid_value, pid_text, plain_style},
	{"threads", "THR", "threads", 4, 9, false, threads_value, threads_text, dim_style},
	{"state", "S",
	 "R running or runnable, S asleep, D uninterruptible (mostly I/O), I idle kernel thread, "
	 "T stopped, Z zombie, X ended",
	 1, 6, false, state_value, state_text, plain_style},
	{"cpu", "CPU%", "time on CPUs, 100 is one CPU", 6, 1, false, cpu_value, cpu_text,
	 cpu_style},
	{"runq", "RUNQ%", "time runnable, but waiting for a CPU", 6, 4, false, runq_value,
	 runq_text, runq_style},
	{"off", "OFF%", "time asleep, off-CPU: with CPU% and RUNQ% 100 for each thread", 6, 7,
	 false, off_value, off_text, dim_style},
	{"calls", "CALLS/s", "system calls", 7, 2, false, calls_value, calls_text, NULL},
	{"faults", "FLT/s", "page faults", 6, 5, false, faults_value, faults_text, NULL},
	{"read", "READ/s", "bytes from read() and similar calls: files, pipes and others", 6, 8,
	 false, read_value, read_text, NULL},
	{"write", "WRITE/s", "bytes by write() and similar calls", 7, 8, false, written_value,
	 written_text, NULL},
	{"disk", "DISK/s", "bytes read from storage, or to be written to it", 6, 3, false,
	 disk_value, disk_text, NULL},
	{"time", "TIME", "time on CPUs since it began", 9, 10, false, time_value, time_text_of,
	 plain_style},
	{"name", "NAME", "name of the process or thread", 12, 0, true, name_value, name_text,
	 plain_style},
	{0},
};

const struct column *column_find(const char *key)
{
	for (const struct column *c = top_columns; c->key; c++)
		if (str_eq(c->key, key))
			return c;
	return NULL;
}

void columns_help(struct option_field *fields, u32 n)
{
	u32 i = 0;

	for (const struct column *c = top_columns; c->key && i + 1 < n; c++)
		fields[i++] = (struct option_field){c->title, c->meaning};
	fields[i] = (struct option_field){0};
}

int column_compare(const struct column *c, bool ascending, const struct row *a, const struct row *b)
{
	const u64 x = c->value(a), y = c->value(b);
	int order = x == y ? 0 : x > y ? -1 : 1;

	if (c->is_text)
		order = strcmp(a->task->comm, b->task->comm);
	if (ascending)
		order = -order;
	return order ? order : a->id < b->id ? -1 : 1;
}
