/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compiler from text to programs: what is accepted, and what is said about what is not. */
#include "kernel/kernel.h"
#include "lang/script.h"
#include "tap.h"

struct result {
	int err;
	char message[512];
	u32 programs, maps, actions, insns;
};

static struct result compile(const char *text)
{
	struct arena arena = ARENA_INIT;
	struct diag diag = DIAG_INIT;
	struct type_store types;
	struct script script;
	struct result r = {0};
	struct kernel *kernel = kernel_new();
	struct probe_env env = {.types = &types,
				.kernel = kernel,
				.arena = &arena,
				.diag = &diag,
				.max_probes = 1024};
	struct compile_options options = {.env = &env, .features = *kernel_features(kernel)};

	type_store_init(&types);
	env.btf = btf_attach(&types, NULL);
	r.err = script_compile(&arena, diag_add_source(&diag, "test", text, strlen(text)), &options,
			       &script);
	for (size_t i = 0; i < diag.messages.len && !*r.message; i++)
		if (diag.messages.items[i].level == DIAG_ERROR)
			snprintf(r.message, sizeof(r.message), "%s", diag.messages.items[i].text);
	r.programs = (u32)script.programs.len;
	r.maps = (u32)script.maps.len;
	r.actions = (u32)script.actions.len;
	for (size_t i = 0; !r.err && i < script.programs.len; i++)
		r.insns += script.programs.items[i].code.count;
	script_release(&script);
	probe_env_release(&env);
	btf_release(env.btf);
	type_store_release(&types);
	kernel_release(kernel);
	diag_release(&diag);
	arena_release(&arena);
	return r;
}

static const char *const good[] = {
	"begin { }",
	"begin { exit() }",
	"BEGIN { printf(\"%d %s\\n\", 1 + 2 * 3, comm); }",
	"begin { $x = 5; $x += 3; $x <<= 2; $x++; --$x; print($x); }",
	"begin { @a = 1; @a++; @a += 5; @a *= 3; @b[1, \"x\"] = @a; @b[2, \"longer\"]--; }",
	"begin { @c = count(); @s[comm] = sum(pid); @h = hist(5); @l[1] = lhist(3, 0, 10, 1); }",
	"begin { @m = min(1); @n = max(2); @v = avg(3); @t = stats(4); }",
	"begin { if (pid > 1 && uid == 0 || cpu < 5) { print(1) } else if (!pid) { print(2) } else "
	"{ print(3) } }",
	"begin { $i = 0; while ($i < 10) { $i++; if ($i == 5) { continue } if ($i == 8) { break } "
	"} }",
	"begin { unroll(5) { @x++ } }",
	"begin { @x = @x + 1 } begin { if (@c[pid] < 5) { @c[pid] = @c[pid] + 1 } }",
	"begin { $a = @x; @x = $a + 1; @y = @z; @z = @y; @v = avg(@z) }",
	"begin { @j = @i; @i = @h; @h = @g; @g = @f; @f = @e; @e = @d; @d = @c; @c = @b; @b = @a } "
	"begin { @a = comm; @z = @j; @y = @z; @x = @y; @w = @x; @v = @w; @u = @v; print(@u) }",
	"begin { for ($i : 0..10) { @x[$i] = $i } for ($kv : @x) { print($kv.0 + $kv.1) } }",
	"begin { $n = 1000; $s = 0; for ($i : 0..$n) { $s += $i; if ($i > 100) { break } } "
	"print($s) }",
	"begin { $s = \"a\"; @a[1] = 1; for ($kv : @a) { $s = \"longer than before\"; } print($s) "
	"}",
	"begin { for ($i : 0..1000) { for ($j : 0..$i) { if ($j == 5) { return } } } }",
	"begin { $t = (1, \"two\", (3, 4)); print($t.2.1); @t = $t; @k[$t] = 1; }",
	"begin { $r = (a = 1, b = \"x\"); print($r.b) }",
	"begin { print(1 ? \"yes\" : \"no\"); print(pid ?: 5) }",
	"begin { print((uint8)300); print((int16)-1 == -1); print(sizeof(int32)); }",
	"begin { let $x : uint64 = 5; let $y; $y = \"s\"; print(($x, $y)) }",
	"begin { if (1) { $old = 5 } print($old) }",
	"begin { $a = (int8[4])(uint32)5; $i = 2; print($a[1] + $a[$i]); }",
	"begin { print(comm == \"bash\" ? 1 : 0); @[comm] = comm; if (@[comm] != comm) { print(1) "
	"} }",
	"let @m = lruhash(10); begin { @m[1] = 2; delete(@m, 1); }",
	"config = { max_strlen = 64; print_maps_on_exit = false } begin { }",
	"macro twice($x) { $x * 2 } begin { $a = 4; print(twice($a)) }",
	"begin { $x = 5; $p = &$x; print(*$p) }",
	"tracepoint:sched:sched_switch { @[args.prev_comm, args.next_pid] = count() }",
	"tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)) }",
	"tracepoint:syscalls:sys_enter_openat, tracepoint:syscalls:sys_enter_open* { @[probe] = "
	"count() }",
	"rawtracepoint:sched_switch { @ = count() }",
	"profile:hz:99 { @[kstack] = count() } interval:s:1 { print(@); clear(@) }",
	"begin { print(curtask.comm); print(((struct task_struct *)curtask)->parent->pid) }",
	"iter:task { printf(\"%d\\n\", ctx->task->pid) }",
	"struct foo { int a; char b[8]; unsigned c:3; } begin { $p = (struct foo *)0; "
	"print($p->b); print($p->c) }",
};

static const struct bad {
	const char *text, *message;
} bad[] = {
	{"begin { print($x) }", "Undefined or undeclared variable: $x"},
	{"begin { print(@x) }", "Undefined map: @x"},
	{"begin { foo() }", "Unknown function: 'foo'"},
	{"begin { print(nosuch) }", "Unknown identifier: 'nosuch'"},
	{"begin { @x = 1; @x = \"a\" }", "Type mismatch for @x: trying to assign value of type "
					 "'string[2]' when map already has a type 'int8'"},
	{"begin { $x = 1; $x = \"a\" }", "Type mismatch for $x: trying to assign value of type "
					 "'string[2]' when variable already has a type 'int8'"},
	{"begin { @x[1] = 1; @x = 2 }", "@x used as a map without an explicit key (scalar map), "
					"previously used with an explicit key "
					"(non-scalar map)"},
	{"begin { @x = 1; @x[1] = 2 }", "@x used as a map with an explicit key (non-scalar map), "
					"previously used without an explicit key "
					"(scalar map)"},
	{"begin { @x[1] = 1; @x[1, 2] = 2 }",
	 "Argument mismatch for @x: trying to access with arguments: '(int8,int8)' when map "
	 "expects arguments: "
	 "'int8'"},
	{"begin { count() }", "count() must be assigned directly to a map"},
	{"begin { $x = count() }", "count() must be assigned directly to a map"},
	{"begin { @x = hist(1); @y = @x }", "Map value 'hist_t' cannot be assigned from one map to "
					    "another. The function that returns this type must "
					    "be called directly e.g. `@y = hist(retval);`."},
	{"begin { print((1, 2).2) }", "Invalid tuple index: 2. Found 2 elements in tuple."},
	{"begin { print(1 - \"a\") }", "Type mismatch for '-': comparing int8 with string[2]"},
	{"begin { $s = \"a\"; if ($s) { } }", "Invalid condition: string"},
	{"begin { unroll(101) { } }", "unroll maximum value is 100"},
	{"begin { unroll(0) { } }", "unroll minimum value is 1"},
	{"begin { break }", NULL},
	{"begin { $a = (int8[4])(uint32)5; print($a[4]) }",
	 "the index 4 is out of bounds for array of size 4"},
	{"begin { print((struct nosuch *)0) }", "Cannot resolve unknown type \"struct nosuch\""},
	{"begin { print(curtask.nosuch) }",
	 "Struct/union of type 'struct task_struct' does not contain a field named 'nosuch'"},
	{"begin { let $x = 1; let $x = 2 }",
	 "Variable $x was already declared. Variable shadowing is not allowed."},
	{"begin { $x = 1; for ($x : 0..2) { } }", "Loop declaration shadows existing variable: $x"},
	{"begin { @x = 1; for ($kv : @x) { } }",
	 "@x has no explicit keys (scalar map), and cannot be used for iteration"},
	{"begin { system(\"ls\") }", "system() is an unsafe function being used in safe mode"},
	{"begin { print(1, 2, 3, 4, 5) }", NULL},
	{"let @m = potato(5); begin { @m[1] = 1 }", "Invalid bpf map type: potato"},
	{"let @m = hash(5); begin { @m[1] = count() }",
	 "Incompatible map types. Type from declaration: hash. Type from value/key type: "
	 "percpuhash"},
	{"config = { nosuch = 1 } begin { }", "nosuch: not a known configuration option"},
	{"tracepoint:sched:sched_switch { print(args.nosuch) }",
	 "The event has no field named 'nosuch'"},
	{"begin { print(args.x) }", NULL},
	{"tracepoint:sched:sched_switch { print(args.common_pid) }",
	 "BPF does not support accessing common tracepoint fields"},
	{"nosuch:thing { }", NULL},
	{"begin { print(", NULL},
	{"", NULL},
};

static void test_good(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct result r = compile(good[i]);

		ok(r.err == 0 && r.insns > 0, "%s", good[i]);
		if (r.err)
			printf("# %s\n", r.message);
	}
}

static void test_bad(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct result r = compile(bad[i].text);

		ok(r.err < 0 && *r.message &&
			   (!bad[i].message || !strcmp(r.message, bad[i].message)),
		   "%s", bad[i].text);
		if (bad[i].message && strcmp(r.message, bad[i].message))
			printf("# got:  %s\n# want: %s\n", r.message, bad[i].message);
	}
}

static void test_sharing(void)
{
	struct result r =
		compile("tracepoint:sched:sched_switch, tracepoint:sched:sched_wakeup { @++ }");

	is_int(r.programs, 1, "one program serves targets whose arguments are not read");
	r = compile("tracepoint:syscalls:sys_enter_openat, tracepoint:syscalls:sys_enter_open { "
		    "print(args.flags) }");
	is_int(r.programs, 2, "one program for each layout of arguments");
}

int main(void)
{
	test_good();
	test_bad();
	test_sharing();
	return tap_done();
}
