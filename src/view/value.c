/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/value.h"

#include <arpa/inet.h>
#include <signal.h>
#include <time.h>

#include "arch/arch.h"
#include "base/escape.h"
#include "base/file.h"
#include "view/disk.h"
#include "view/stack.h"

static u64 load(const void *p, u32 size)
{
	u64 v = 0;

	memcpy(&v, p, MIN(size, sizeof(v))); /* little endian */
	return v;
}

static s64 widen(u64 v, u32 bits, bool is_signed)
{
	if (!bits || bits >= 64)
		return (s64)v;
	v &= (1ULL << bits) - 1;
	if (is_signed && (v >> (bits - 1)))
		v |= ~0ULL << bits;
	return (s64)v;
}

s64 value_integer(const struct type *t, const void *data)
{
	u32 size = t->size ? t->size : 8;

	return widen(load(data, size), size * 8, t->is_signed);
}

s64 value_bit_field(const struct type_member *m, const void *record)
{
	const u8 *p = (const u8 *)record + m->offset;
	const u32 shift = m->bit_offset & 63, end = shift + m->bit_size;
	u64 bits = 0;

	/* As programs read it: no sign, and of packed structs up to nine bytes. */
	for (u32 i = 0; i < MIN((end + 7) / 8, 8u); i++)
		bits |= (u64)p[i] << (8 * i);
	bits >>= shift;
	if (end > 64)
		bits |= (u64)p[8] << (64 - shift);
	return widen(bits, m->bit_size, false);
}

static void add_decimal(struct strbuf *out, s64 n, bool is_signed)
{
	u64 v = is_signed && n < 0 ? -(u64)n : (u64)n;
	char buf[24], *p = buf + sizeof(buf);

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	if (is_signed && n < 0)
		*--p = '-';
	strbuf_add(out, p, (size_t)(buf + sizeof(buf) - p));
}

static void add_foreign(const struct value_printer *p, struct strbuf *out, const char *s, size_t n)
{
	if (p->raw)
		strbuf_add(out, s, n);
	else if (p->one_line)
		escape_line(out, s, n);
	else
		escape_terminal(out, s, n);
}

void json_string(struct strbuf *out, const char *s, size_t n)
{
	strbuf_addch(out, '"');
	escape_json(out, s, n);
	strbuf_addch(out, '"');
}

void json_u64(struct strbuf *out, u64 v)
{
	/* 2^64 as a double cannot be converted back. */
	bool exact = (double)v < 18446744073709551616.0 && (u64)(double)v == v;

	strbuf_addf(out, exact ? "%" PRIu64 : "\"%" PRIu64 "\"", v);
}

void json_s64(struct strbuf *out, s64 v)
{
	bool exact = (double)v < 9223372036854775808.0 && (s64)(double)v == v;

	strbuf_addf(out, exact ? "%" PRId64 : "\"%" PRId64 "\"", v);
}

void value_buffer_text(struct strbuf *out, const u8 *data, size_t n, bool keep_ascii, bool with_x)
{
	for (size_t i = 0; i < n; i++) {
		if (keep_ascii && data[i] >= 32 && data[i] <= 126)
			strbuf_addch(out, (char)data[i]);
		else if (with_x)
			strbuf_addf(out, "\\x%02x", data[i]);
		else
			strbuf_addf(out, i + 1 == n ? "%02x" : "%02x ", data[i]);
	}
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

static u64 clock_ns(clockid_t id)
{
	struct timespec ts = {0};

	clock_gettime(id, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

/* The distance of two clocks, from the narrowest of five readings of one between two of the other.
 */
static s64 clock_offset(clockid_t id)
{
	u64 best = UINT64_MAX;
	s64 offset = 0;

	for (int i = 0; i < 5; i++) {
		u64 before = clock_ns(CLOCK_REALTIME);
		u64 other = clock_ns(id);
		u64 after = clock_ns(CLOCK_REALTIME);

		if (after < before || after - before >= best)
			continue;
		best = after - before;
		offset = (s64)(before + (after - before) / 2 - other);
	}
	return offset;
}

static void add_timestamp(struct value_printer *p, struct strbuf *out, const u8 *data)
{
	u64 ns = load(data, 8);
	u64 index = load(data + 8, 4);
	u32 clock = (u32)load(data + 12, 4);

	if (!p->have_offsets) {
		p->boot_offset_ns = clock_offset(CLOCK_BOOTTIME);
		p->mono_offset_ns = clock_offset(CLOCK_MONOTONIC);
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
	u64 address = load(data, 8);
	struct symbolizer *s = p->symbols ? p->symbols(p->arg) : NULL;
	struct symbol_name name;
	bool found = false;

	if (s && address)
		found = t->kind == TYPE_KSYM
				? symbolize_kernel(s, address, &name)
				: symbolize_user(s, (pid_t)load(data + 8, 4), address, &name);
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
	u64 family = load(data, 4);

	if ((family == AF_INET || family == AF_INET6) &&
	    inet_ntop((int)family, data + 4, buf, sizeof(buf)))
		strbuf_addstr(out, buf);
}

static void add_string(struct value_printer *p, struct strbuf *out, const struct type *t,
		       const u8 *data)
{
	size_t n = strnlen((const char *)data, t->size);

	add_foreign(p, out, (const char *)data, n);
	/* A string that fills the largest place to the last byte was cut; smaller ones are char arrays. */
	if (n && n == t->size && t->kind == TYPE_STRING && n >= p->max_strlen && p->trunc_trailer)
		strbuf_addstr(out, p->trunc_trailer);
}

static void add_errno_name(struct strbuf *out, u64 n)
{
	const char *name = n && n < 4096 ? strerrorname_np((int)n) : NULL;

	if (name)
		strbuf_addstr(out, name);
	else
		add_decimal(out, (s64)n, true);
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

/* Values that are a word or line of text in both media. False: t is something else. */
static bool add_word(struct value_printer *p, struct strbuf *out, const struct type *t,
		     const u8 *data)
{
	u64 n = t->size && t->size <= 8 ? load(data, t->size) : 0;

	switch (t->kind) {
	case TYPE_STRING:
		add_string(p, out, t, data);
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
		n = load(data + 8, 4);
		if (p->cgroup_path)
			p->cgroup_path(p->arg, out, load(data, 8),
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

static void buffer_bytes(const struct type *t, const u8 *data, const u8 **ret, size_t *ret_len)
{
	u64 room = t->size > 4 ? t->size - 4 : 0;

	*ret = data + 4;
	*ret_len = t->size >= 4 ? (size_t)MIN(load(data, 4), room) : 0;
}

static void add_float(struct value_printer *p, struct strbuf *out, const struct type *t,
		      const u8 *data)
{
	float f;
	double d;

	if (p->is_compatible || (t->size != sizeof(f) && t->size != sizeof(d))) {
		strbuf_addstr(out, "null");
		return;
	}
	memcpy(&f, data, sizeof(f));
	if (t->size == sizeof(d))
		memcpy(&d, data, sizeof(d));
	else
		d = f;
	strbuf_addf(out, "%.9g", d);
}

/* Calls fn for each printable member; those of anonymous structs and unions are taken as the outer
 * one's. */
struct member_walk {
	struct value_printer *p;
	struct strbuf *out;
	bool is_json;
	bool any;
};

static void walk_members(struct member_walk *w, const struct type *t, const u8 *data)
{
	if (type_complete(w->p->types, t) < 0)
		return;
	for (u32 i = 0; i < t->count; i++) {
		const struct type_member *m = &t->members[i];
		bool fits = (u64)m->offset + m->type->size <= t->size;
		struct type widened = *type_int(8, m->type->is_signed);
		s64 bits;

		if (!fits)
			continue;
		if (!m->name && type_is_record(m->type)) {
			walk_members(w, m->type, data + m->offset);
			continue;
		}
		if (w->any)
			strbuf_addstr(w->out, ", ");
		w->any = true;
		if (w->is_json) {
			json_string(w->out, m->name ? m->name : "", m->name ? strlen(m->name) : 0);
			strbuf_addstr(w->out, ": ");
		} else {
			strbuf_addf(w->out, ".%s = ", m->name ? m->name : "");
		}
		if (m->bit_size) {
			bits = value_bit_field(m, data);
			(w->is_json ? value_json : value_text)(w->p, w->out, &widened, &bits);
		} else {
			(w->is_json ? value_json : value_text)(w->p, w->out, m->type,
							       data + m->offset);
		}
	}
}

static void text_record(struct value_printer *p, struct strbuf *out, const struct type *t,
			const u8 *data)
{
	struct member_walk w = {.p = p, .out = out};
	size_t start = out->len;

	strbuf_addstr(out, "{ ");
	walk_members(&w, t, data);
	if (w.any) {
		strbuf_addstr(out, " }");
		return;
	}
	out->len = start;
	strbuf_addstr(out, "{}");
}

static void text_list(struct value_printer *p, struct strbuf *out, const struct type *t,
		      const u8 *data)
{
	for (u32 i = 0; i < t->count; i++) {
		if (i)
			strbuf_addstr(out, ", ");
		value_text(p, out, t->members[i].type, data + t->members[i].offset);
	}
}

static void text_array(struct value_printer *p, struct strbuf *out, const struct type *t,
		       const u8 *data)
{
	strbuf_addch(out, '[');
	for (u32 i = 0; i < t->count && (u64)(i + 1) * t->element->size <= t->size; i++) {
		if (i)
			strbuf_addch(out, ',');
		value_text(p, out, t->element, data + (size_t)i * t->element->size);
	}
	strbuf_addch(out, ']');
}

void value_text(struct value_printer *p, struct strbuf *out, const struct type *t, const void *data)
{
	const char *name;
	const u8 *bytes = NULL;
	size_t n;

	if (add_word(p, out, t, data))
		return;
	switch (t->kind) {
	case TYPE_INT:
		add_decimal(out, value_integer(t, data), t->is_signed);
		break;
	case TYPE_BOOL:
		strbuf_addstr(out, load(data, 1) ? "true" : "false");
		break;
	case TYPE_ENUM:
		name = type_enumerator_name(p->types, t, value_integer(t, data));
		if (name)
			strbuf_addstr(out, name);
		else
			strbuf_addf(out, "%" PRId64, value_integer(t, data));
		break;
	case TYPE_POINTER:
		strbuf_addf(out, "0x%" PRIx64, load(data, 8));
		break;
	case TYPE_FLOAT:
		add_float(p, out, t, data);
		break;
	case TYPE_BUFFER:
		buffer_bytes(t, data, &bytes, &n);
		value_buffer_text(out, bytes, n, true, true);
		break;
	case TYPE_ARRAY:
		text_array(p, out, t, data);
		break;
	case TYPE_TUPLE:
		strbuf_addch(out, '(');
		text_list(p, out, t, data);
		strbuf_addch(out, ')');
		break;
	case TYPE_STRUCT:
	case TYPE_UNION:
	case TYPE_RECORD:
		text_record(p, out, t, data);
		break;
	default:
		strbuf_addstr(out, "null");
	}
}

static void json_list(struct value_printer *p, struct strbuf *out, const struct type *t,
		      const u8 *data)
{
	const u8 *bytes = NULL;
	size_t n = t->count;

	strbuf_addch(out, '[');
	if (t->kind == TYPE_BUFFER)
		buffer_bytes(t, data, &bytes, &n);
	for (size_t i = 0; i < n; i++) {
		if (i)
			strbuf_addch(out, ',');
		if (t->kind == TYPE_BUFFER)
			strbuf_addf(out, "%u", bytes[i]);
		else if (t->kind == TYPE_TUPLE)
			value_json(p, out, t->members[i].type, data + t->members[i].offset);
		else if ((i + 1) * t->element->size <= t->size)
			value_json(p, out, t->element, data + i * t->element->size);
	}
	strbuf_addch(out, ']');
}

void value_json(struct value_printer *p, struct strbuf *out, const struct type *t, const void *data)
{
	struct member_walk w = {.p = p, .out = out, .is_json = true};
	struct strbuf word = STRBUF_INIT;
	bool raw = p->raw;

	p->raw = true;
	if (add_word(p, &word, t, data)) {
		json_string(out, word.data, word.len);
		goto out;
	}
	switch (t->kind) {
	case TYPE_INT:
	case TYPE_ENUM:
		if (t->is_signed)
			json_s64(out, value_integer(t, data));
		else
			json_u64(out, (u64)value_integer(t, data));
		break;
	case TYPE_POINTER:
		json_u64(out, load(data, 8));
		break;
	case TYPE_BUFFER:
	case TYPE_ARRAY:
	case TYPE_TUPLE:
		json_list(p, out, t, data);
		break;
	case TYPE_STRUCT:
	case TYPE_UNION:
	case TYPE_RECORD:
		strbuf_addch(out, '{');
		walk_members(&w, t, data);
		strbuf_addch(out, '}');
		break;
	default:
		value_text(p, out, t, data);
	}
out:
	strbuf_release(&word);
	p->raw = raw;
}

void value_key_text(struct value_printer *p, struct strbuf *out, const struct type *t, bool is_list,
		    const void *data)
{
	/* A tuple as the only key prints as the list of its members, too: they are the same key. */
	if (t->kind == TYPE_TUPLE)
		text_list(p, out, t, data);
	else
		value_text(p, out, t, data);
}

void value_key_json(struct value_printer *p, struct strbuf *out, const struct type *t,
		    const void *data)
{
	bool raw = p->raw;

	p->raw = true;
	if (t->kind != TYPE_TUPLE) {
		value_text(p, out, t, data);
	} else {
		for (u32 i = 0; i < t->count; i++) {
			const struct type *m = t->members[i].type;

			if (i)
				strbuf_addch(out, ',');
			if (m->kind == TYPE_TUPLE) {
				strbuf_addch(out, '(');
				value_key_json(p, out, m, (const u8 *)data + t->members[i].offset);
				strbuf_addch(out, ')');
			} else {
				value_text(p, out, m, (const u8 *)data + t->members[i].offset);
			}
		}
	}
	p->raw = raw;
}

void value_printer_release(struct value_printer *p)
{
	hashmap_each (&p->users, e)
		free(e->value);
	hashmap_release(&p->users);
	p->have_users = false;
	disk_names_release(&p->disks);
}
