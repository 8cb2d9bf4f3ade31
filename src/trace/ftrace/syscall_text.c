/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/syscall_text.h"

#include <stdlib.h>

#include "base/escape.h"
#include "trace/ftrace/number_text.h"

#define ARGS_MAX      6
#define FLAGS_MAX     32
#define ARGS_OFFSET   16 /* struct syscall_trace_enter: struct trace_entry, int nr, args[] */
#define OPENAT_FLAGS  2
#define OPENAT_MODE   3
#define ACCESS_MODE   3 /* O_ACCMODE, of all architectures */
#define TEMPORARY_BIT 020000000 /* __O_TMPFILE (asm-generic/fcntl.h), which no format names */

struct argument {
	const char *name;
	u32 offset;
	u32 user; /* where the __data_loc of what it points to is; 0 = it is not recorded */
};

struct flag {
	const char *name;
	u32 len;
	u64 mask;
};

struct syscall_text {
	const char *name; /* without "sys_enter_" */
	u32 count, flag_count;
	bool is_array; /* what is pointed to is bytes, their number is in the next argument */
	bool is_openat; /* flags by name, numbers in decimal */
	u64 creates; /* openat(): there is a mode if one of these is set */
	struct flag flags[FLAGS_MAX];
	struct argument args[ARGS_MAX];
};

/* ---- once per event ---- */

/* "__NAME_val" */
static bool is_value_of(const char *field, const char *name)
{
	const size_t n = strlen(name);

	return str_starts(field, "__") && !strncmp(field + 2, name, n) &&
	       str_eq(field + 2 + n, "_val");
}

static u32 value_of(const struct type *record, const char *name)
{
	for (u32 i = 0; i < record->count; i++)
		if (record->members[i].is_data_loc && is_value_of(record->members[i].name, name))
			return record->members[i].offset;
	return 0;
}

static void add_flag(struct syscall_text *s, const char *name, size_t len, u64 mask)
{
	if (s->flag_count < FLAGS_MAX)
		s->flags[s->flag_count++] = (struct flag){name, (u32)len, mask};
}

static u64 flag_mask(const struct syscall_text *s, const char *name)
{
	for (u32 i = 0; i < s->flag_count; i++)
		if (s->flags[i].len == strlen(name) &&
		    !memcmp(s->flags[i].name, name, s->flags[i].len))
			return s->flags[i].mask;
	return 0;
}

/*
 * sys_enter_openat_print(): the values are the format's, `{ 0x1, "O_WRONLY" }, ...`; its first
 * flag, O_TMPFILE, the format does not have: a bit of its own and O_DIRECTORY.
 */
static void read_openat(struct syscall_text *s, const char *format)
{
	const char *at = strstr(format, "__print_flags(");
	const char *quote, *end;

	add_flag(s, "O_TMPFILE", strlen("O_TMPFILE"), 0);
	while (at && (at = strstr(at, "{ 0x"))) {
		quote = strchr(at, '"');
		end = quote ? strchr(quote + 1, '"') : NULL;
		if (!end)
			break;
		add_flag(s, quote + 1, (size_t)(end - quote - 1), strtoull(at + 2, NULL, 16));
		at = end;
	}
	s->flags[0].mask = TEMPORARY_BIT | flag_mask(s, "O_DIRECTORY");
	s->creates = s->flags[0].mask | flag_mask(s, "O_CREAT");
}

const struct syscall_text *syscall_text_new(struct arena *arena, const struct event_info *info)
{
	struct syscall_text *s = arena_new(arena, struct syscall_text);
	const struct type *record = info->record;

	s->name = info->name + strlen("sys_enter_");
	for (u32 i = 0; i < record->count && s->count < ARGS_MAX; i++) {
		const struct type_member *m = &record->members[i];

		if (m->offset < ARGS_OFFSET || m->is_data_loc)
			continue;
		s->args[s->count++] =
			(struct argument){m->name, m->offset, value_of(record, m->name)};
	}
	s->is_array = strstr(info->print_fmt, "__print_dynamic_array(") != NULL;
	s->is_openat = str_eq(s->name, "openat") && s->count == 4 &&
		       strstr(info->print_fmt, "__print_flags(REC->flags");
	if (s->is_openat)
		read_openat(s, info->print_fmt);
	return s;
}

/* ---- once per record ---- */

static void print_array(const u8 *at, u32 len, s32 wanted, struct strbuf *out)
{
	bool printable = false;

	strbuf_addstr(out, " (");
	for (u32 i = 0; i < len; i++) {
		if (i)
			strbuf_addch(out, ':');
		text_hex_padded(out, at[i], 2);
		printable |= at[i] >= ' ' && at[i] < 0x7f;
	}
	strbuf_addstr(out, (s32)len < wanted ? ", ...)" : ")");
	if (!printable)
		return;
	strbuf_addstr(out, " \"");
	for (u32 i = 0; i < len; i++)
		strbuf_addch(out, at[i] >= ' ' && at[i] < 0x7f ? (char)at[i] : '.');
	strbuf_addstr(out, (s32)len < wanted ? "\"..." : "\"");
}

static void print_string(const u8 *at, u32 len, bool raw, struct strbuf *out)
{
	const size_t n = strnlen((const char *)at, len);

	strbuf_addstr(out, " \"");
	if (raw)
		strbuf_add(out, at, n);
	else
		escape_line(out, (const char *)at, n);
	strbuf_addch(out, '"');
}

static bool load(const struct page_event *e, u32 offset, void *ret, u32 size)
{
	if (size > e->size || offset > e->size - size)
		return false;
	memcpy(ret, e->data + offset, size);
	return true;
}

/* The memory that an argument points to. */
static void print_user(const struct syscall_text *s, u32 i, const struct page_event *e, bool raw,
		       struct strbuf *out)
{
	const struct argument *a = &s->args[i];
	u32 where, offset, len;
	u64 wanted = 0;

	if (!a->user || !load(e, a->user, &where, sizeof(where)))
		return;
	offset = where & 0xffff;
	len = where >> 16;
	if (offset > e->size || len > e->size - offset) {
		strbuf_addstr(out, " (bad)");
		return;
	}
	if (!s->is_array) {
		print_string(e->data + offset, len, raw, out);
		return;
	}
	if (i + 1 < s->count)
		load(e, s->args[i + 1].offset, &wanted, sizeof(wanted));
	print_array(e->data + offset, len, (s32)wanted, out);
}

/* Returns whether the mode follows. */
static bool print_flags(const struct syscall_text *s, u64 value, struct strbuf *out)
{
	/* An int there, which becomes an unsigned long. */
	u64 left = (u64)(s64)(s32)value;
	const char *between = "";

	if (!left) {
		strbuf_addstr(out, "O_RDONLY");
		return false;
	}
	if (!(left & ACCESS_MODE))
		strbuf_addstr(out, "O_RDONLY|");
	for (u32 i = 0; i < s->flag_count && left; i++) {
		const struct flag *f = &s->flags[i];

		if ((left & f->mask) != f->mask)
			continue;
		left &= ~f->mask;
		strbuf_addstr(out, between);
		strbuf_add(out, f->name, f->len);
		between = "|";
	}
	if (left) {
		strbuf_addstr(out, between);
		strbuf_addstr(out, "0x");
		text_hex(out, left);
	}
	return value & s->creates;
}

static void print_openat(const struct syscall_text *s, const struct page_event *e, bool raw,
			 struct strbuf *out)
{
	bool more = true;

	for (u32 i = 0; i < s->count && more; i++) {
		const struct argument *a = &s->args[i];
		u64 v;

		if (!load(e, a->offset, &v, sizeof(v)))
			break;
		if (i)
			strbuf_addstr(out, ", ");
		strbuf_addstr(out, a->name);
		strbuf_addstr(out, ": ");
		if (i == OPENAT_FLAGS) {
			more = print_flags(s, v, out);
		} else if (i == OPENAT_MODE) {
			strbuf_addf(out, "0%03o", (u32)v);
		} else {
			text_unsigned(out, v);
			print_user(s, i, e, raw, out);
		}
	}
}

void syscall_text_print(const struct syscall_text *s, const struct page_event *e, bool bare,
			bool raw, struct strbuf *out)
{
	bool first = true;

	strbuf_addstr(out, "sys_");
	strbuf_addstr(out, s->name);
	strbuf_addch(out, '(');
	for (u32 i = 0; i < s->count && !s->is_openat; i++) {
		const struct argument *a = &s->args[i];
		u64 v;

		if (!load(e, a->offset, &v, sizeof(v)))
			continue;
		if (!first)
			strbuf_addstr(out, ", ");
		first = false;
		strbuf_addstr(out, a->name);
		strbuf_addstr(out, bare || v < 10 ? ": " : ": 0x");
		text_hex(out, v);
		print_user(s, i, e, raw, out);
	}
	if (s->is_openat)
		print_openat(s, e, raw, out);
	strbuf_addch(out, ')');
}
