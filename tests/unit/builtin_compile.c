/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every builtin compiled, and every refusal with its words. Nothing is loaded: this needs no
 * privilege. */
#include "lang/script.h"
#include "tap.h"

struct result {
	int err;
	u32 programs;
	char *message; /* the first error */
};

static struct result compile(struct kernel *kernel, const char *text)
{
	struct arena arena = ARENA_INIT;
	struct type_store types;
	struct diag diag = DIAG_INIT;
	struct script script;
	struct result r = {0};
	struct probe_env env = {.types = &types,
				.arena = &arena,
				.diag = &diag,
				.kernel = kernel,
				.max_probes = 1024};
	struct compile_options options = {.env = &env};

	/* As on a current kernel, whatever runs the tests. */
	memset(&options.features, true, sizeof(options.features));
	options.unsafe = strstr(text, "/*unsafe*/") != NULL;
	type_store_init(&types);
	env.btf = btf_attach(&types, NULL);
	r.err = script_compile(&arena, diag_add_source(&diag, "test", text, strlen(text)), &options,
			       &script);
	r.programs = script.programs.len;
	for (size_t i = 0; i < diag.messages.len && !r.message; i++)
		if (diag.messages.items[i].level == DIAG_ERROR)
			r.message = xstrdup(diag.messages.items[i].text);
	script_release(&script);
	probe_env_release(&env);
	btf_release(env.btf);
	type_store_release(&types);
	diag_release(&diag);
	arena_release(&arena);
	return r;
}

static const char *const accepted[] = {
	"printf(\"%d %s %x %5d|%-5d|%05d\\n\", 1, \"abc\", 255, 42, 42, 42);",
	"printf(\"%s\\n\", comm);",
	"printf(\"%d\\n\", pid == tid);",
	"printf(\"%d %d\\n\", uid, gid);",
	"printf(\"%d\\n\", cpu < ncpus);",
	"printf(\"%d\\n\", nsecs > 0);",
	"printf(\"%d\\n\", nsecs(monotonic) > 0 && nsecs(tai) > 0 && nsecs(boot) > 0);",
	"$a = nsecs(sw_tai); $b = nsecs(tai); $d = (int64)$a - (int64)$b; printf(\"%d\\n\", $d > "
	"-1000000 && $d < 1000000);",
	"printf(\"%d\\n\", elapsed < 10000000000);",
	"printf(\"%d\\n\", rand >= 0);",
	"printf(\"%d\\n\", cgroup > 0);",
	"printf(\"%s\\n\", probe);",
	"printf(\"%s\\n\", probetype);",
	"print(str(\"hello\"));",
	"print(str(\"hello\", 3));",
	"print(strlen(\"hello\"));",
	"$s = str(\"hello\", 10); print(strlen($s));",
	"print(strncmp(\"abc\", \"abd\", 2));",
	"print(strncmp(\"abc\", \"abd\", 3));",
	"print(strcontains(\"hello world\", \"wor\"));",
	"print(strcontains(comm, \"zzz\"));",
	"print(strstr(\"hello world\", \"wor\"));",
	"print(strstr(comm, comm));",
	"print(memcmp(\"abcd\", \"abce\", 3));",
	"print(memcmp(\"abcd\", \"abce\", 4));",
	"print(bswap((uint32)0x12345678));",
	"print(bswap((uint16)0x1234));",
	"print(ntop(0x0100007f));",
	"print(ntop(pton(\"10.1.2.3\")));",
	"print(ntop(pton(\"::1\")));",
	"print(ntop(2, 0x0100007f));",
	"print(strerror(2));",
	"print(signal_name(9));",
	"print(syscall_name(0));",
	"print(username);",
	"print(sizeof(uint64));",
	"@a = count(); @a = count(); print(@a); clear(@a);",
	"@a = sum(5); @a = sum(7); print(@a); clear(@a);",
	"@a = avg(5); @a = avg(7); print(@a); clear(@a);",
	"@a = min(5); @a = min(7); @a = min(9); print(@a); clear(@a);",
	"@a = max(5); @a = max(7); print(@a); clear(@a);",
	"@a = max(-5); @a = max(-7); print(@a); clear(@a);",
	"@a = stats(5); @a = stats(7); print(@a); clear(@a);",
	"@a = count(); printf(\"%d\\n\", @a); clear(@a);",
	"@a[1] = count(); @a[2] = count(); print(len(@a)); clear(@a);",
	"@a[1] = 5; print(has_key(@a, 1)); print(has_key(@a, 2)); clear(@a);",
	"@a[1] = 5; let $v = (int64)0; if (find(@a, 1, $v)) { print($v); } clear(@a);",
	"@a[1] = 5; print(delete(@a, 1));",
	"@a[1] = 5; print(delete(@a, 2)); clear(@a);",
	"@a[1] = 5; delete(@a[1]); print(len(@a));",
	"@a[1,\"x\"] = 5; print(@a[1,\"x\"]); clear(@a);",
	"@a[1] = count(); print(@a[1]); clear(@a);",
	"@a = 7; print(@a); delete(@a);",
	"printf(\"%r\\n\", buf(\"abc\", 3));",
	"printf(\"%rx\\n\", buf(\"abc\", 3));",
	"printf(\"%rh\\n\", buf(\"abc\", 3));",
	"printf(\"%-8s|%8s|\\n\", \"ab\", \"cd\");",
	"printf(\"%*d|\\n\", 5, 42);",
	"printf(\"%c%%\\n\", 65);",
	"printf(\"%lld %hhd %u %o\\n\", -5, 300, 7, 8);",
	"print((1, \"a\", (int8)3));",
	"print(is_integer(1));",
	"print(is_str(\"x\"));",
	"print(is_literal(1));",
	"print(getopt(\"x\", 5));",
	"print(kfunc_exist(\"bpf_task_from_pid\"));",
	"time(\"%Y\\n\");",
	"print(strftime(\"%Y\", nsecs));",
	"cat(\"/proc/sys/kernel/ostype\");",
	"cat(\"/proc/sys/kernel/%s\", \"ostype\");",
	"errorf(\"bad %d\", 3);",
	"warnf(\"bad %d\", 3);",
	"assert(1 == 1, \"x\"); print(\"ok\");",
	"$i = 3; printf(\"%s\\n\", str(kptr(0)));",
	"print(kstack);",
	"print(len(kstack) > 0);",
	"@[kstack(3)] = count(); print(\"ok\"); clear(@);",
	"print(ustack(perf, 3));",
	"print(numaid);",
	"print(jiffies > 0);",
	"print(comm == \"pantrace\");",
	"@h = hist(225, 2); print(@h); clear(@h);",
	"@h = lhist(5, 0, 10, 1); print(@h); clear(@h);",
	"@h[1] = hist(4); print(has_key(@h, 1)); delete(@h, 1); print(has_key(@h, 1));",
	"print(cgroup_path(cgroup));",
	"print(strcap(\"abc\"));",
	"print($1);",
	"print(str($1));",
	"print(cpid);",
	"print(has_cpid);",
	"print(1 == 1);",
	"print(-1);",
	"unroll(2) { print(\"u\"); }",
};

static const struct {
	const char *script, *message;
} refused[] = {
	{"begin { printf(\"%d\"); }",
	 "not enough arguments for format string (0 supplied, 1 expected)"},
	{"begin { printf(\"%d\", \"x\"); }",
	 "unsupported format specifier for type 'string[2]': d"},
	{"begin { printf(\"%d %d\", 1); }",
	 "not enough arguments for format string (1 supplied, 2 expected)"},
	{"begin { printf(1); }", "printf() expects a string literal (int provided)"},
	{"begin { printf(\"%f\", 1); }", "unsupported format specifier: f"},
	{"begin { printf(\"%r\", 1); }", "unsupported format specifier for type 'int8': r"},
	{"begin { printf(\"%999999999d\", 1); }",
	 "width or precision is too large in '%999999999d', must be <= 65535"},
	{"begin { printf(\"%s\", printf(\"x\")); }", "printf() gives no value"},
	{"begin { print(); }", "print() requires at least one argument (0 provided)"},
	{"begin { print(1, 2, 3, 4); }", "print() takes up to 3 arguments (4 provided)"},
	{"begin { print(@x); }", "Undefined map: @x"},
	{"begin { print(1, 2); }", "Non-map print() only takes 1 argument, 2 found"},
	{"begin { @ = hist(1); print(@[1]); }",
	 "@ used as a map with an explicit key (non-scalar map), previously used without an "
	 "explicit key (scalar map)"},
	{"begin { @[1] = hist(1); print(@[1]); }",
	 "Map type hist_t cannot print the value of individual keys. You must print the whole "
	 "map."},
	{"begin { @ = hist(1, 9); }", "hist: bits 9 must be 0..5"},
	{"begin { @ = hist(\"x\"); }",
	 "hist() only supports integer arguments (string[2] provided)"},
	{"begin { @ = hist(1, rand); }", "hist() expects a int literal (int provided)"},
	{"begin { @ = lhist(1, 2, 1, 1); }",
	 "lhist() min must be less than max (provided min 2 and max 1)"},
	{"begin { @ = lhist(1, 0, 10000, 1); }",
	 "lhist() too many buckets, must be <= 1000 (would need 10000)"},
	{"begin { @ = lhist(1, 0, 10, 0); }", "lhist() step must be >= 1 (0 provided)"},
	{"begin { @ = lhist(1, 0, 10, 20); }",
	 "lhist() step is too large for the given range (provided step 20 for range 10)"},
	{"begin { @ = lhist(1, rand, 10, 1); }", "lhist() expects a int literal (int provided)"},
	{"begin { @ = lhist(1, 0, 10); }", "lhist() requires 4 arguments (3 provided)"},
	{"begin { $x = count(); }", "count() must be assigned directly to a map"},
	{"begin { count(); }", "count() must be assigned directly to a map"},
	{"begin { @ = count(5); }", "count() requires no arguments (1 provided)"},
	{"begin { @ = sum(\"x\"); }", "sum() only supports integer arguments (string[2] provided)"},
	{"begin { @ = count(); @ = 5; }", "Type mismatch for @: trying to assign value of type "
					  "'int8' when map already has a type 'count_t'"},
	{"begin { @ = count(); @ = sum(5); }",
	 "Type mismatch for @: trying to assign value of type 'sum_t' when map already has a type "
	 "'count_t'"},
	{"begin { @ = lhist(1,0,10,1); @ = lhist(1,0,20,1); }",
	 "Different lhist bounds in a single map unsupported"},
	{"begin { @ = hist(1); @ = hist(1, 2); }", "Different bits in a single hist unsupported"},
	{"begin { str(); }", "str() requires at least one argument (0 provided)"},
	{"begin { str(comm, -1); }", "str cannot use negative length (-1)"},
	{"begin { print(str((1,2))); }", "str() expects a string, integer or a pointer type as "
					 "first argument ((int8,int8) provided)"},
	{"begin { print(str(1, 2, 3)); }", "str() takes up to 2 arguments (3 provided)"},
	{"begin { print(buf(1)); }", "buf() expects a length argument for non-array type int"},
	{"begin { print(buf(\"x\", \"y\")); }",
	 "buf() only supports int arguments (string provided)"},
	{"begin { arg0; }",
	 "The arg0 builtin can only be used with 'kprobes', 'uprobes' and 'usdt' probes"},
	{"begin { print(retval); }", "The retval builtin can only be used with 'kretprobe' and "
				     "'uretprobe' and 'fentry' probes"},
	{"begin { print(args); }",
	 "The args builtin can only be used with tracepoint, rawtracepoint, fentry/fexit, and "
	 "uprobe probes (begin used here)"},
	{"begin { print(func); }", "The func builtin can not be used with 'begin' probes"},
	{"begin { print(ctx); }", "The ctx builtin can not be used with 'begin' probes"},
	{"begin { print(reg(\"ip\")); }", "reg can not be used with \"begin\" probes"},
	{"begin { print(kstack(foo)); }",
	 "Error parsing stack mode: kstack: Invalid value for stack_mode: 'foo'"},
	{"begin { print(kstack(5000)); }",
	 "kstack([int limit]): limit shouldn't exceed 1024, 5000 given"},
	{"begin { print(kstack(build_id)); }", "'build_id' stack mode can only be used for ustack"},
	{"begin { print(kstack(\"x\", 3)); }", "Expected stack mode as first argument"},
	{"begin { print(kstack(perf, rand)); }", "kstack: invalid limit value"},
	{"begin { print(ntop((1,2))); }", "ntop() expects an integer or array argument, got tuple"},
	{"begin { print(pton(\"abc\")); }",
	 "pton() expects an string argument of an IPv4/IPv6 address, got abc"},
	{"begin { print(pton(\"1.2.3\")); }",
	 "pton() expects a valid IPv4/IPv6 address, got 1.2.3"},
	{"begin { print(macaddr(\"abcdef\")); }",
	 "macaddr() does not support literal string arguments"},
	{"begin { print(bswap(\"x\")); }",
	 "bswap() only supports integer arguments (string provided)"},
	{"begin { delete(@x); }", "Undefined map: @x"},
	{"begin { @x[1] = 1; delete(@x); }", "call to delete() with a single argument expects a "
					     "map without explicit keys (scalar map)"},
	{"begin { @x = 1; delete(@x, 1); }",
	 "call to delete() with two arguments expects a map with explicit keys (non-scalar map)"},
	{"begin { delete(5); }", "delete() expects a map argument"},
	{"begin { @x[1]=1; delete(@x, \"a\"); }",
	 "Argument mismatch for @x: trying to access with arguments: 'string[2]' when map expects "
	 "arguments: 'int8'"},
	{"begin { @x = 1; print(has_key(@x, 1)); }",
	 "call to has_key() expects a map with explicit keys (non-scalar map)"},
	{"begin { clear(5); }", "clear() expects a map argument"},
	{"begin { zero(@y); }", "Undefined map: @y"},
	{"begin { print(len(5)); }", "call to len() expects a map, ustack, or kstack"},
	{"begin { @x = 1; print(len(@x)); }",
	 "call to len() expects a map with explicit keys (non-scalar map)"},
	{"begin { exit(\"x\"); }", "exit() only supports int arguments (string provided)"},
	{"begin { exit(1, 2); }", "exit() takes up to one argument (2 provided)"},
	{"begin { time(5); }", "time() expects a string literal (int provided)"},
	{"begin { strftime(5, 5); }", "strftime() expects a string literal (int provided)"},
	{"begin { print(strftime(\"%H\", -5)); }",
	 "strftime() does not accept negative timestamps"},
	{"begin { print(strftime(\"%H\", nsecs(monotonic))); }",
	 "strftime() can not take a monotonic timestamp"},
	{"begin { print(nsecs(foo)); }",
	 "Invalid timestamp mode: foo (expects: monotonic, boot, tai or sw_tai)"},
	{"begin { print(pid(foo)); }",
	 "Invalid PID namespace mode: foo (expects: curr_ns or init)"},
	{"begin { print(strncmp(\"a\", \"b\", rand)); }",
	 "Builtin strncmp requires a non-negative literal"},
	{"begin { print(strncmp(\"a\", 5, 2)); }",
	 "strncmp() only supports string arguments (int provided)"},
	{"begin { print(strcontains(\"a\", 5)); }",
	 "strcontains() only supports string arguments (int provided)"},
	{"begin { print(memcmp(\"a\", \"b\", 100)); }",
	 "memcmp(): count 100 is more than the 2 bytes of this value"},
	{"begin { print(uaddr(\"x\")); }", "uaddr can not be used with \"begin\" probes"},
	{"begin { system(\"x\"); }", "system() is an unsafe function being used in safe mode"},
	{"begin { signal(\"KILL\"); }", "signal() is unsafe. To use you need the --unsafe flag"},
	{"begin { override(1); }", "override() is unsafe. To use you need the --unsafe flag"},
	{"begin { cat(); }", "cat() requires at least one argument (0 provided)"},
	{"begin { join(\"x\"); }",
	 "join() only supports int or pointer arguments (string provided)"},
	{"begin { fail(\"no %d %s\", 5, \"x\"); }", "no 5 x"},
	{"begin { static_assert(1 == 2, \"nope\"); }", "nope"},
	{"begin { path(1); }",
	 "The path function can only be used with 'fentry', 'fexit', 'iter' probes"},
	{"begin { print(socket_cookie(1)); }",
	 "socket_cookie() only supports 'struct sock *' as the argument (int provided)"},
	{"begin { find(@x, 1, 5); }", "Undefined map: @x"},
	{"begin { print(comm(1)); }",
	 "Syntax comm(PID) is not supported in this probe type yet. Type: begin"},
	{"begin { debugf(\"%d %d %d %d\", 1, 2, 3, 4); }",
	 "cannot use more than 3 conversion specifiers"},
	{"begin { print(getopt(\"x\", rand)); }",
	 "Second argument to 'getopt' must be a string literal, integer literal, or a boolean "
	 "literal."},
	{"begin { write_user(1, 2, rand); }",
	 "write_user() is unsafe. To use you need the --unsafe flag"},
	{"begin { printf(\"%s\", nsecs, 1); }",
	 "too many arguments for format string (2 supplied, 1 expected)"},
	{"begin { kptr(\"x\"); }",
	 "kptr() only supports integer or pointer arguments (string provided)"},
	{"begin { ksym(\"x\"); }", "ksym() expects an integer or pointer argument"},
	{"begin { print(strerror(\"x\")); }",
	 "strerror() only supports int arguments (string provided)"},
	{"begin { @x[count()] = 1; }", "count() must be assigned directly to a map"},
	{"begin { if (count()) {} }", "count() must be assigned directly to a map"},
};

int main(void)
{
	struct kernel *kernel = kernel_new();

	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
		char *text = xasprintf("begin { %s }", accepted[i]);
		struct result r = compile(kernel, text);

		ok(!r.err && r.programs == 1, "%s", accepted[i]);
		if (r.message)
			printf("# %s\n", r.message);
		free(r.message);
		free(text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct result r = compile(kernel, refused[i].script);

		ok(r.err < 0, "%s is refused", refused[i].script);
		is_str(r.message, refused[i].message, refused[i].script);
		free(r.message);
	}
	kernel_release(kernel);
	return tap_done();
}
