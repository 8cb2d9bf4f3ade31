/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conditions on events: as the kernel's filter, a script's text, an answer about a recording. */
#include "lang/predicate/recorded.h"

#include "tap.h"

static void event_init(struct predicate_event *e)
{
	static const char *const fields[] = {"common_pid", "prev_comm", "prev_pid", "next_pid",
					     "flags",	   "ip",	"comm"};

	*e = (struct predicate_event){.name = "sched:x"};
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		vector_push(&e->fields, fields[i]);
}

/* want: the filter, or the first words of what is said. */
static void kernel(const char *text, const char *want)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	struct predicate_event e;
	struct diag d = DIAG_INIT;
	char *got;

	event_init(&e);
	got = predicate_to_kernel(text, &e, &d, &c)
		      ? xstrndup(d.messages.items[0].text, strlen(want))
		      : xstrndup(c.text.data, c.text.len);
	is_str(got, want, text);
	free(got);
	tracefs_command_release(&c);
	predicate_event_release(&e);
	diag_release(&d);
}

static void test_kernel(void)
{
	kernel("prev_pid > 5 && next_pid != 0x8", "prev_pid > 5 && next_pid != 0x8");
	kernel("args.prev_pid<5||flags&4", "prev_pid < 5 || flags & 4");
	kernel("5 <= prev_pid", "prev_pid >= 5");
	kernel("flags", "flags != 0");
	kernel("!flags", "!(flags != 0)");
	kernel("!(prev_pid == 0) && (flags & 4 || COMM ~ \"k*\")",
	       "!(prev_pid == 0) && (flags & 4 || COMM ~ \"k*\")");
	kernel("comm == 'make' && tid == 5", "comm == \"make\" && common_pid == 5");
	kernel("cpu == 1 && prev_pid == -1", "CPU == 1 && prev_pid == -1");
	kernel("prev_pid == 1e3", "prev_pid == 1000");
	kernel("flags & O_CREAT", "flags & 64");
	kernel("prev_comm == 'R'", "prev_comm == 'R'");
	kernel("ip.function == vfs_read", "ip.function == vfs_read");
	kernel("CPU & CPUS{0-1}", "CPU & CPUS{0-1}");
	kernel("prev_pid + 1 == 2", "the kernel's filters cannot say this");
	kernel("prev_pid == next_pid", "the kernel's filters cannot say this");
	kernel("pid == 5", "the kernel's filters cannot say this");
	kernel("prevpid == 5", "the event sched:x has no field 'prevpid'");
	kernel("prev_pid = 5", "syntax error, unexpected '='");
	kernel("prev_pid ==", "syntax error, unexpected end of file");
	kernel("(prev_pid == 5", "syntax error");
	kernel("prev_pid == 5)", "syntax error");
	kernel(" ", "the filter is empty");
}

static void script(const char *text, const char *variable, const char *want)
{
	struct strbuf out = STRBUF_INIT;
	struct predicate_event e;
	struct diag d = DIAG_INIT;

	event_init(&e);
	predicate_to_script(text, &e, &d, variable, &out);
	is_str(out.data ? out.data : "", want, text);
	strbuf_release(&out);
	predicate_event_release(&e);
	diag_release(&d);
}

static void test_script(void)
{
	script("prev_pid > 5 && pid == 3", NULL, "(args.prev_pid > 5 && pid == 3)");
	script("args.prev_pid>5 && COMM == 'make'", NULL, "(args.prev_pid>5 && comm == \"make\")");
	script("prev_pid > next_pid", "next_pid", "(args.prev_pid > $next_pid)");
	script("prev_pid > next_pid", "*", "($prev_pid > $next_pid)");
	script("common_pid == 1 || strncmp(comm, \"x\", 1) == 0", NULL,
	       "(tid == 1 || strncmp(args.comm, \"x\", 1) == 0)");
}

/* An event: n = 5, minus = -1, big = UINT64_MAX, half = 0.5, s = "a/b.html", kind = 2 "READ". */
static struct field_value look_up(void *arg, const char *name, bool only_field)
{
	const struct {
		const char *name;
		struct field_value value;
	} fields[] = {
		{"n", {.kind = FIELD_INTEGER, .integer = 5, .is_signed = true}},
		{"minus", {.kind = FIELD_INTEGER, .integer = UINT64_MAX, .is_signed = true}},
		{"big", {.kind = FIELD_INTEGER, .integer = UINT64_MAX}},
		{"half", {.kind = FIELD_DECIMAL, .decimal = 0.5}},
		{"s", {.kind = FIELD_TEXT, .text = "a/b.html", .size = 8}},
		{"kind", {.kind = FIELD_INTEGER, .integer = 2, .text = "READ", .size = 4}},
		{"r.x", {.kind = FIELD_INTEGER, .integer = 7}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (str_eq(fields[i].name, name))
			return fields[i].value;
	if (!only_field && str_eq(name, "comm"))
		return (struct field_value){.kind = FIELD_TEXT, .text = "make", .size = 4};
	return (struct field_value){0};
}

static void recorded(const char *text, const char *want)
{
	struct diag d = DIAG_INIT;
	const struct expr *e = predicate_recorded(&d, text);

	is_str(!e ? "refused" : predicate_holds(e, look_up, NULL) ? "yes" : "no", want, text);
	if (!e)
		ok(d.errors == 1, "with one error");
	diag_release(&d);
}

static void test_recorded(void)
{
	static const char *const yes[] = {
		"n == 5",
		"args.n == 5",
		"n=5",
		"n == 0x5 && !(n < 5)",
		"minus < 0",
		"minus < big",
		"big > 1",
		"minus == -1",
		"half == 0.5",
		"half >= 0.25",
		"half < n",
		"n > 4.5",
		"half>=0.5",
		"s == \"a/b.html\"",
		"s=a/b.html",
		"s=*.html",
		"s != \"a\"",
		"s!=*.txt",
		"s ~ \"a*\"",
		"str(s) == \"a/b.html\"",
		"kind == READ",
		"kind=READ",
		"kind == 2",
		"kind ~ \"R*\"",
		"r.x == 7",
		"args.r.x == 7",
		"comm == \"make\"",
		"COMM ~ \"*ak*\"",
		"n + 1 == 6",
		"n / 2 == 2",
		"n % 2 && n & 4",
		"-n == -5",
		"none == 1 || n",
		"n == 5 || none == 1",
		"n=5*",
		"n == n",
		"big == 18446744073709551615",
	};
	static const char *const no[] = {
		"n == 6",	"none == 1",
		"!(none == 1)", "none != 1",
		"none=1",	"none == 1 && n",
		"minus > 0",	"kind == WRITE",
		"s=*.txt",	"args.comm == \"x\"",
		"n / 0 == 1",	"s == \"a/b.htm\"",
		"half > 0.5",	"none",
		"big < 0",
	};
	static const char *const refused[] = {
		"n ==", "n ~ 5",	  "@x == 1", "$x",	  "n = 5 && s == \"x\"",
		"*n",	"strlen(s) == 1", "",	     "n ? 1 : 0",
	};

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		recorded(yes[i], "yes");
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		recorded(no[i], "no");
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		recorded(refused[i], "refused");
}

int main(void)
{
	test_kernel();
	test_script();
	test_recorded();
	return tap_done();
}
