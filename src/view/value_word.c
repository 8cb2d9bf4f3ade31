/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that are a word or a line: strings, stacks, times, names of many kinds. */
#include <arpa/inet.h>
#include <signal.h>

#include "arch/arch.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "view/disk.h"
#include "view/stack.h"
#include "view/value_internal.h"

static void add_foreign(const struct value_printer *p, struct strbuf *out, const char *s, size_t n)
{
	if (p->raw)
		strbuf_add(out, s, n);
	else if (p->one_line)
		escape_line(out, s, n);
	else
		escape_terminal(out, s, n);
}

/* Replaces the three conversions that strftime() of libc has otherwise (or not at all), as bpftrace
 * does. */
static void expand_time_format(struct strbuf *out, const char *format, u32 ns)
{
	for (const char *s = format; *s; s++) {
		if (*s != '%' || !s[1]) {
			strbuf_addch(out, *s);
			continue;
		}
		s++;
		if (*s == 'f')
			strbuf_addf(out, "%06u", ns / 1000);
		else if (*s == 'k')
			strbuf_addf(out, "%09u", ns);
		else if (*s == 'l')
			strbuf_addf(out, "%03u", ns / 1000000);
		else
			strbuf_addf(out, "%%%c", *s);
	}
}

void time_text(struct strbuf *out, const char *format, u64 realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	struct strbuf f = STRBUF_INIT;
	struct tm tm;
	char buf[1024];

	expand_time_format(&f, format, (u32)(realtime_ns % 1000000000));
	if (localtime_r(&seconds, &tm))
		strbuf_add(out, buf, strftime(buf, sizeof(buf), f.data, &tm));
	strbuf_release(&f);
}

static void add_timestamp(struct value_printer *p, struct strbuf *out, const u8 *data)
{
	u64 ns = value_load(data, 8);
	u64 index = value_load(data + 8, 4);
	u32 clock = (u32)value_load(data + 12, 4);

	if (!p->have_offsets) {
		p->boot_offset_ns = clock_distance_ns(CLOCK_BOOTTIME, CLOCK_REALTIME);
		p->mono_offset_ns = clock_distance_ns(CLOCK_MONOTONIC, CLOCK_REALTIME);
		p->have_offsets = true;
	}
	if (clock == CLOCK_BOOTTIME)
		ns += (u64)p->boot_offset_ns;
	else if (clock == CLOCK_MONOTONIC)
		ns += (u64)p->mono_offset_ns;
	time_text(out, index < p->nstrings ? p->strings[index] : "%H:%M:%S", ns);
}

/* A line of /proc/meminfo as it is now, in MB. */
static void add_meminfo(struct value_printer *p, struct strbuf *out, u64 index)
{
	unsigned long long kilobytes = 0;
	char *data, *line = NULL, name[64];
	size_t len;

	if (index < p->nstrings && !file_read("/proc/meminfo", 65536, &data, &len)) {
		snprintf(name, sizeof(name), "\n%s:", p->strings[index]);
		line = strstr(data, name);
		if (line)
			sscanf(line + strlen(name), "%llu", &kilobytes);
		free(data);
	}
	strbuf_addf(out, "%llu", kilobytes / 1024);
}

static void read_users(struct value_printer *p)
{
	char *text, *line, *save;

	p->have_users = true;
	if (file_read("/etc/passwd", 16 << 20, &text, NULL) < 0)
		return;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *second = strchr(line, ':');
		char *third = second ? strchr(second + 1, ':') : NULL;
		bool is_new;
		u64 uid;
		void **place;

		if (!third)
			continue;
		uid = strtoull(third + 1, NULL, 10);
		place = hashmap_put(&p->users, &uid, sizeof(uid), &is_new);
		if (is_new)
			*place = xstrndup(line, (size_t)(second - line));
	}
	free(text);
}

static void add_user(struct value_printer *p, struct strbuf *out, u64 uid)
{
	const char *name;

	if (!p->have_users)
		read_users(p);
	name = hashmap_get(&p->users, &uid, sizeof(uid));
	if (name)
		add_foreign(p, out, name, strlen(name));
	else
		strbuf_addf(out, "%" PRIu64, uid);
}

static void add_symbol(struct value_printer *p, struct strbuf *out, const struct type *t,
		       const u8 *data)
{
	u64 address = value_load(data, 8);
	struct symbolizer *s = p->symbols ? p->symbols(p->arg) : NULL;
	struct symbol_name name;
	bool found = false;

	if (s && address)
		found = t->kind == TYPE_KSYM
				? symbolize_kernel(s, address, &name)
				: symbolize_user(s, (pid_t)value_load(data + 8, 4), address, &name);
	if (found && name.function)
		add_foreign(p, out, name.function, strlen(name.function));
	else if (address)
		strbuf_addf(out, "0x%" PRIx64, address);
	else
		strbuf_addch(out, '0');
}

static void add_inet(struct strbuf *out, const u8 *data)
{
	char buf[INET6_ADDRSTRLEN];
	u64 family = value_load(data, 4);

	if ((family == AF_INET || family == AF_INET6) &&
	    inet_ntop((int)family, data + 4, buf, sizeof(buf)))
		strbuf_addstr(out, buf);
}

static void add_string(struct value_printer *p, struct strbuf *out, const struct type *t,
		       const u8 *data)
{
	size_t n = strnlen((const char *)data, t->size);

	add_foreign(p, out, (const char *)data, n);
	/* A string that fills the largest place to the last byte was cut; smaller ones are char
	 * arrays. */
	if (n && n == t->size && t->kind == TYPE_STRING && n >= p->max_strlen && p->trunc_trailer)
		strbuf_addstr(out, p->trunc_trailer);
}

static void add_errno_name(struct strbuf *out, u64 n)
{
	const char *name = n && n < 4096 ? strerrorname_np((int)n) : NULL;

	if (name)
		strbuf_addstr(out, name);
	else
		value_decimal(out, (s64)n, true);
}

static void add_signal(const struct value_printer *p, struct strbuf *out, u64 nr)
{
	const char *name = nr < NSIG ? sigabbrev_np((int)nr) : NULL;

	if (p->is_compatible) /* a description there: "Interrupt" */
		strbuf_addstr(out, nr < NSIG ? strsignal((int)nr) : "N/A");
	else if (name)
		strbuf_addf(out, "SIG%s", name);
	else
		strbuf_addf(out, "%" PRIu64, nr);
}

static void add_syscall(struct strbuf *out, u64 nr)
{
	const char *name = arch_syscall_name(nr);

	if (name)
		strbuf_addstr(out, name);
	else
		strbuf_addf(out, "[unknown: %" PRIu64 "]", nr);
}

bool value_word(struct value_printer *p, struct strbuf *out, const struct type *t, const u8 *data)
{
	u64 n = t->size && t->size <= 8 ? value_load(data, t->size) : 0;

	switch (t->kind) {
	case TYPE_STRING:
		add_string(p, out, t, data);
		return true;
	case TYPE_NOTE:
		strbuf_addstr(out, t->name);
		return true;
	case TYPE_KSTACK:
	case TYPE_USTACK:
		stack_text(p, out, t, data);
		return true;
	case TYPE_KSYM:
	case TYPE_USYM:
		add_symbol(p, out, t, data);
		return true;
	case TYPE_INET:
		add_inet(out, data);
		return true;
	case TYPE_MAC:
		strbuf_addf(out, "%02X:%02X:%02X:%02X:%02X:%02X", data[0], data[1], data[2],
			    data[3], data[4], data[5]);
		return true;
	case TYPE_TIMESTAMP:
		add_timestamp(p, out, data);
		return true;
	case TYPE_CGROUP_PATH:
		n = value_load(data + 8, 4);
		if (p->cgroup_path)
			p->cgroup_path(p->arg, out, value_load(data, 8),
				       n < p->nstrings ? p->strings[n] : "*");
		return true;
	case TYPE_STRERROR:
		strbuf_addstr(out, strerror((int)n));
		return true;
	case TYPE_ERRNO_NAME:
		add_errno_name(out, n);
		return true;
	case TYPE_USERNAME:
		add_user(p, out, n);
		return true;
	case TYPE_PROBE_NAME:
		if (n < p->nprobe_names)
			strbuf_addstr(out, p->probe_names[n]);
		return true;
	case TYPE_SYSCALL_NAME:
		add_syscall(out, n);
		return true;
	case TYPE_SIGNAL_NAME:
		add_signal(p, out, n);
		return true;
	case TYPE_MEMINFO:
		add_meminfo(p, out, n);
		return true;
	case TYPE_DISK_NAME:
		disk_name_text(&p->disks, out, n);
		return true;
	case TYPE_ARRAY:
		if (!t->element->is_char)
			return false;
		add_string(p, out, t, data);
		return true;
	default:
		return false;
	}
}
