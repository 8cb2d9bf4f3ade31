/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls as `trace` has them, with records made here: cut ones, memory outside them, bytes
 * that no terminal should see.
 */
#include "tap.h"
#include "trace/ftrace/trace_text.h"

#define ARG(name, offset) \
	"\tfield:unsigned long " name ";\toffset:" #offset ";\tsize:8;\tsigned:0;\n"
#define USER(name, offset) \
	"\tfield:__data_loc char[] __" name "_val;\toffset:" #offset ";\tsize:4;\tsigned:0;\n"
#define HEAD(name)                                                             \
	"name: " name "\nID: 7\nformat:\n"                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"           \
	"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"

static const char close_format[] = HEAD("sys_enter_close")
	ARG("fd", 16) "\nprint fmt: \"fd: 0x%08lx\", ((unsigned long)(REC->fd))\n";
static const char rename_format[] =
	HEAD("sys_enter_rename") ARG("oldname", 16) ARG("newname", 24) USER("oldname", 32) USER(
		"newname",
		36) "\nprint fmt: \"oldname: 0x%08lx \\\"%s\\\", newname: 0x%08lx \\\"%s\\\"\", "
		    "((unsigned long)(REC->oldname)), __get_str(__oldname_val), "
		    "((unsigned long)(REC->newname)), __get_str(__newname_val)\n";
static const char write_format[] =
	HEAD("sys_enter_write") ARG("fd", 16) ARG("buf", 24) ARG("count", 32)
		USER("buf", 40) "\nprint fmt: \"fd: 0x%08lx, buf: 0x%08lx (%s), count: 0x%08lx\", "
				"((unsigned long)(REC->fd)), "
				"((unsigned long)(REC->buf)), __print_dynamic_array(__buf_val, 1), "
				"((unsigned long)(REC->count))\n";
static const char openat_format[] = HEAD("sys_enter_openat") ARG("dfd", 16) ARG("filename", 24)
	ARG("flags", 32) ARG("mode", 40) USER(
		"filename", 48) "\nprint fmt: \"dfd: 0x%08lx, filename: 0x%08lx \\\"%s\\\", flags: "
				"%s%s, mode: 0%03o\", "
				"((unsigned long)(REC->dfd)), ((unsigned long)(REC->filename)), "
				"__get_str(__filename_val), "
				"(REC->flags & ~3) && !(REC->flags & 3) ? \"O_RDONLY|\" : \"\", "
				"REC->flags ? __print_flags(REC->flags, \"|\", { 0x1, \"O_WRONLY\" "
				"}, { 0x2, \"O_RDWR\" }, "
				"{ 0x40, \"O_CREAT\" }, { 0x10000, \"O_DIRECTORY\" }, { 0x80000, "
				"\"O_CLOEXEC\" }) : \"O_RDONLY\",  "
				"((unsigned long)(REC->mode))\n";

struct record {
	u16 type;
	u8 flags, preempt;
	s32 pid, nr, unused;
	u64 args[4];
	u8 rest[48];
};

#define AT(member, skip, len) ((u32)(offsetof(struct record, member) + (skip)) | (u32)(len) << 16)

/* One u32 or two, then text, behind the first `args` arguments. */
static void add(struct record *r, u32 args, const u32 *where, u32 count, const char *text,
		size_t len)
{
	u8 *at = (u8 *)&r->args[args];

	memcpy(at, where, count * sizeof(*where));
	memcpy(at + count * sizeof(*where), text, len);
}

static void expect(const char *format, const struct record *r, u32 size, bool bare, bool raw,
		   const char *want)
{
	struct trace_text t = {.events = event_table_recorded(), .tasks = task_names_new(true)};
	struct raw_event e = {.event = {.data = (const u8 *)r, .size = size}};
	struct strbuf out = STRBUF_INIT;
	struct event_info *info;

	t.options.bare_syscalls = bare;
	t.context.raw_strings = raw;
	event_table_add(t.events, "syscalls", format, strlen(format));
	info = event_table_get(t.events, 7);
	ok(info && !info->refused, "%s: its print format is understood",
	   info ? info->name : "the event");
	trace_text_body(&t, info, &e, &out);
	is_str(out.data, want, info->name);
	task_names_release(t.tasks);
	event_table_release(t.events);
	strbuf_release(&out);
}

static void test_numbers(void)
{
	struct record r = {.type = 7, .args = {3}};

	expect(close_format, &r, 24, false, false, "sys_close(fd: 3)\n");
	r.args[0] = 0x1f;
	expect(close_format, &r, 24, false, false, "sys_close(fd: 0x1f)\n");
	expect(close_format, &r, 24, true, false, "sys_close(fd: 1f)\n");
	expect(close_format, &r, 20, false, false, "sys_close()\n");
}

static void test_strings(void)
{
	const u32 where[] = {AT(args[2], 8, 4), AT(args[2], 12, 5)};
	const u32 empty[] = {AT(args[2], 8, 0), AT(args[2], 8, 0)};
	const u32 outside[] = {AT(args[2], 8, 4), AT(args[2], 12, 500)};
	struct record r = {.type = 7, .args = {0x7f01, 0}};

	add(&r, 2, where, 2, "/a1\0\033[1m", 9);
	expect(rename_format, &r, 52, false, false,
	       "sys_rename(oldname: 0x7f01 \"/a1\", newname: 0 \"\\x1b[1m\")\n");
	expect(rename_format, &r, 52, false, true,
	       "sys_rename(oldname: 0x7f01 \"/a1\", newname: 0 \"\033[1m\")\n");
	expect(rename_format, &r, 44, false, true,
	       "sys_rename(oldname: 0x7f01 \"/a1\", newname: 0 (bad))\n");
	expect(rename_format, &r, 36, false, true,
	       "sys_rename(oldname: 0x7f01 (bad), newname: 0)\n");
	add(&r, 2, empty, 2, "", 0);
	expect(rename_format, &r, 40, false, false,
	       "sys_rename(oldname: 0x7f01 \"\", newname: 0 \"\")\n");
	add(&r, 2, outside, 2, "abc", 4);
	expect(rename_format, &r, sizeof(r), false, false,
	       "sys_rename(oldname: 0x7f01 \"abc\", newname: 0 (bad))\n");
}

static void test_arrays(void)
{
	const u32 three = AT(args[3], 4, 3), none = AT(args[3], 4, 0);
	struct record r = {.type = 7, .args = {1, 0xabc, 3}};

	add(&r, 3, &three, 1, "hi\n", 3);
	expect(write_format, &r, 48, false, false,
	       "sys_write(fd: 1, buf: 0xabc (68:69:0a) \"hi.\", count: 3)\n");
	add(&r, 3, &three, 1, "\1\200\377", 3);
	expect(write_format, &r, 48, false, false,
	       "sys_write(fd: 1, buf: 0xabc (01:80:ff), count: 3)\n");
	r.args[2] = 400;
	expect(write_format, &r, 48, false, false,
	       "sys_write(fd: 1, buf: 0xabc (01:80:ff, ...), count: 0x190)\n");
	add(&r, 3, &three, 1, "a\"\033", 3);
	expect(write_format, &r, 48, false, false,
	       "sys_write(fd: 1, buf: 0xabc (61:22:1b, ...) \"a\".\"..., count: 0x190)\n");
	add(&r, 3, &none, 1, "", 0);
	r.args[2] = 0;
	expect(write_format, &r, 44, false, false, "sys_write(fd: 1, buf: 0xabc (), count: 0)\n");
}

static void test_openat(void)
{
	static const struct {
		u64 flags, mode;
		const char *want;
	} rows[] = {
		{0, 0, "O_RDONLY"},
		{1, 0, "O_WRONLY"},
		{2 | 0x80000, 0, "O_RDWR|O_CLOEXEC"},
		{0x80000, 0, "O_RDONLY|O_CLOEXEC"},
		{0x41, 0644, "O_WRONLY|O_CREAT, mode: 0644"},
		{0x41, 7, "O_WRONLY|O_CREAT, mode: 0007"},
		/*
		 * The kernel takes a directory for one that is to be made, as O_TMPFILE has its
		 * bit.
		 */
		{0x90000, 0, "O_RDONLY|O_DIRECTORY|O_CLOEXEC, mode: 0000"},
		{0x410002, 0600, "O_TMPFILE|O_RDWR, mode: 0600"},
		{0x1000000, 0, "O_RDONLY|0x1000000"},
		{0xffffffff80000001, 0, "O_WRONLY|0xffffffff80000000"},
	};
	const u32 where = AT(rest, 4, 3);
	struct record r = {.type = 7, .args = {0xffffffffffffff9c, 4096}};

	add(&r, 4, &where, 1, "/x", 3);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *want = xasprintf(
			"sys_openat(dfd: 18446744073709551516, filename: 4096 \"/x\", flags: %s)\n",
			rows[i].want);

		r.args[2] = rows[i].flags;
		r.args[3] = rows[i].mode;
		expect(openat_format, &r, 56, false, false, want);
		free(want);
	}
	expect(openat_format, &r, 26, false, false, "sys_openat(dfd: 18446744073709551516)\n");
}

int main(void)
{
	test_numbers();
	test_strings();
	test_arrays();
	test_openat();
	return tap_done();
}
