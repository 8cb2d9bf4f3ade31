/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of builtins: complete, unique, documented. */
#include "lang/builtin/builtin.h"
#include "tap.h"

static const char *const required[] = {
	"pid",		 "tid",		  "uid",      "gid",	       "comm",
	"cpu",		 "nsecs",	  "elapsed",  "rand",	       "cgroup",
	"curtask",	 "func",	  "probe",    "args",	       "arg0",
	"arg9",		 "retval",	  "ctx",      "kstack",	       "ustack",
	"cpid",		 "printf",	  "print",    "str",	       "buf",
	"join",		 "count",	  "sum",      "avg",	       "min",
	"max",		 "stats",	  "hist",     "lhist",	       "delete",
	"clear",	 "zero",	  "len",      "has_key",       "exit",
	"time",		 "strftime",	  "ksym",     "usym",	       "kaddr",
	"uaddr",	 "reg",		  "ntop",     "strncmp",       "strcontains",
	"kptr",		 "uptr",	  "macaddr",  "bswap",	       "sizeof",
	"offsetof",	 "cat",		  "system",   "signal",	       "sarg0",
	"sarg9",	 "numaid",	  "username", "jiffies",       "ppid",
	"pcomm",	 "ncpus",	  "usermode", "probetype",     "errorf",
	"warnf",	 "fail",	  "assert",   "static_assert", "pton",
	"strlen",	 "strstr",	  "memcmp",   "strerror",      "signal_name",
	"syscall_name",	 "percpu_kaddr",  "cgroupid", "cgroup_path",   "path",
	"socket_cookie", "signal_thread", "override", "write_user",    "typeof",
	"is_ptr",	 "is_str",	  "is_array", "is_integer",    "is_unsigned_integer",
	"is_literal",	 "is_err",	  "getopt",   "kfunc_exist",   "kfunc_allowed",
	"find",		 "debugf",	  "has_cpid", "leader_comm",   "leader_tid",
	"unwatch",
};

static void test_required(void)
{
	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++)
		ok(builtin_find(required[i]) != NULL, "%s exists", required[i]);
	ok(!builtin_find("prnitf"), "an unknown name is not found");
	ok(!builtin_find(""), "nor is an empty one");
}

static void test_rows(void)
{
	for (const struct builtin_family *f = builtin_families; f->rows; f++)
		for (const struct builtin *b = f->rows; b->name; b++) {
			int whole = b->signature && strstr(b->signature, b->name) && b->doc &&
				    b->doc[0] && b->kernel && b->check && b->lower &&
				    b->min_args <= b->max_args;

			ok(whole, "%s: signature, documentation, check and lowering", b->name);
			ok(builtin_find(b->name) == b, "%s is there once", b->name);
			ok(b->flags & (BUILTIN_VARIABLE | BUILTIN_CALL), "%s can be written",
			   b->name);
			if (b->doc)
				ok(b->doc[strlen(b->doc) - 1] == '.',
				   "%s: the documentation is a sentence", b->name);
		}
}

static void test_names(void)
{
	size_t n, again;
	const char *const *names = builtin_names(&n);

	ok(n > 120, "%zu names", n);
	builtin_names(&again);
	is_int(again, n, "the same number when asked again");
	ok(builtin_find(names[0]) && builtin_find(names[n - 1]), "the names are those of the rows");
}

int main(void)
{
	test_required();
	test_rows();
	test_names();
	return tap_done();
}
