/* SPDX-License-Identifier: GPL-2.0-or-later */
/* USDT notes against readelf -n, arguments against what the assembler's operands mean. */
#include <stdio.h>
#include <unistd.h>

#include "arch/arch.h"
#include "binary/elf/internal.h"
#include "probe/probe.h"
#include "scratch.h"
#include "tap.h"

static char dir[] = "/tmp/pantrace-usdt-XXXXXX";

static u16 reg(const char *name)
{
	const struct arch_register *r = arch_register_find(name);

	return r ? r->offset : 0xfffe;
}

static void test_arguments(void)
{
	const struct {
		const char *text;
		struct location want;
	} rows[] = {
		{"-4@%edi",
		 {.kind = LOCATION_REGISTER, .size = 4, .is_signed = true, .offset = reg("di")}},
		{"8@-16(%rbp)",
		 {.kind = LOCATION_MEMORY,
		  .size = 8,
		  .base = reg("bp"),
		  .index = 0xffff,
		  .value = -16}},
		{"4@$5", {.kind = LOCATION_CONSTANT, .size = 4, .value = 5}},
		{"-4@$-1", {.kind = LOCATION_CONSTANT, .size = 4, .is_signed = true, .value = -1}},
		{"8@$0x7fffffffffffffff",
		 {.kind = LOCATION_CONSTANT, .size = 8, .value = INT64_MAX}},
		{"8@$18446744073709551615", {.kind = LOCATION_CONSTANT, .size = 8, .value = -1}},
		{"-1@%al",
		 {.kind = LOCATION_REGISTER, .size = 1, .is_signed = true, .offset = reg("ax")}},
		{"2@%r8w", {.kind = LOCATION_REGISTER, .size = 2, .offset = reg("r8")}},
		{"8@(%rax,%rbx,4)",
		 {.kind = LOCATION_MEMORY,
		  .size = 8,
		  .base = reg("ax"),
		  .index = reg("bx"),
		  .scale = 4}},
		{"8@8(%rax,%rbx)",
		 {.kind = LOCATION_MEMORY,
		  .size = 8,
		  .base = reg("ax"),
		  .index = reg("bx"),
		  .scale = 1,
		  .value = 8}},
		{"4@(%rsp)",
		 {.kind = LOCATION_MEMORY, .size = 4, .base = reg("sp"), .index = 0xffff}},
		{"%rcx", {.kind = LOCATION_REGISTER, .size = 8, .offset = reg("cx")}},
		{"8f@%xmm0", {.kind = LOCATION_NONE}},
		{"8@%xmm0", {.kind = LOCATION_NONE}},
		{"1@%ah", {.kind = LOCATION_NONE}},
		{"4@%fs:-4", {.kind = LOCATION_NONE}},
		{"4@counter(%rip)", {.kind = LOCATION_NONE}},
		{"4@16(%rip)", {.kind = LOCATION_NONE}},
		{"16@%rax", {.kind = LOCATION_NONE}},
		{"8@(%rax,%rbx,3)", {.kind = LOCATION_NONE}},
		{"8@(,%rbx,8)", {.kind = LOCATION_NONE}},
		{"8@(%rax", {.kind = LOCATION_NONE}},
		{"8@8(%rax)x", {.kind = LOCATION_NONE}},
		{"8@$99999999999999999999", {.kind = LOCATION_NONE}},
		{"8@", {.kind = LOCATION_NONE}},
		{"@", {.kind = LOCATION_NONE}},
		{"99999999999999999999@%rax", {.kind = LOCATION_NONE}},
	};
	struct location got[12];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct location *w = &rows[i].want, *g = got;
		int n = usdt_parse_args(rows[i].text, got, ARRAY_SIZE(got));
		bool same = n == 1 && g->kind == w->kind;

		if (same && w->kind != LOCATION_NONE)
			same = g->size == w->size && g->is_signed == w->is_signed &&
			       g->value == w->value && g->offset == w->offset &&
			       g->base == w->base && g->scale == w->scale;
		if (same && w->kind == LOCATION_MEMORY)
			same = g->index == w->index;
		ok(same, "argument \"%s\"", rows[i].text);
	}
	is_int(usdt_parse_args("  -4@%edi\t8@%xmm1  4@$3 ", got, ARRAY_SIZE(got)), 3,
	       "three arguments");
	ok(got[0].kind == LOCATION_REGISTER && got[1].kind == LOCATION_NONE && got[2].value == 3,
	   "one refused, two good");
	is_int(usdt_parse_args("", got, ARRAY_SIZE(got)), 0, "no arguments");
	is_int(usdt_parse_args("4@%eax 4@%eax 4@%eax", got, 2), 2, "no more than asked for");
}

struct probes {
	struct usdt_note list[64];
	unsigned int count;
};

static int collect(void *arg, const struct usdt_note *n)
{
	struct probes *p = arg;

	if (p->count < 64)
		p->list[p->count++] = *n;
	return 0;
}

static const struct usdt_note *find(const struct probes *p, const char *name)
{
	for (unsigned int i = 0; i < p->count; i++)
		if (str_eq(p->list[i].name, name))
			return &p->list[i];
	return NULL;
}

/* Provider, name, address and arguments as readelf prints them, in its order. */
static void compare_with_readelf(const struct probes *p, const char *file)
{
	char command[1024], name[128], provider[128], args[1024], line[2048];
	unsigned long long address, base, semaphore;
	unsigned int i = 0, same = 0;
	FILE *in;

	snprintf(command, sizeof(command),
		 "cd %s; LC_ALL=C readelf -n %s | awk '/Provider:/ {p=$2} /Name:/ {n=$2} "
		 "/Location:/ {gsub(\",\",\"\"); a=$2\" \"$4\" \"$6} "
		 "/Arguments:/ {sub(/.*Arguments: ?/,\"\"); print p, n, a, \"|\" $0}'",
		 dir, file);
	in = popen(command, "r");
	while (fgets(line, sizeof(line), in)) {
		char *bar = strchr(line, '|');

		line[strcspn(line, "\n")] = 0;
		snprintf(args, sizeof(args), "%s", bar ? bar + 1 : "");
		if (sscanf(line, "%127s %127s %llx %llx %llx", provider, name, &address, &base,
			   &semaphore) == 5 &&
		    i < p->count)
			same += str_eq(p->list[i].provider, provider) &&
				str_eq(p->list[i].name, name) && p->list[i].address == address &&
				str_eq(p->list[i].args, args) &&
				!p->list[i].semaphore == !semaphore;
		i++;
	}
	pclose(in);
	ok(i > 0, "%s: readelf lists %u notes", file, i);
	is_int(p->count, i, "as many as we find");
	is_int(same, i, "all equal");
}

static u64 section_offset(const char *file, const char *section, u64 *ret_size)
{
	unsigned long long offset = 0, size = 0;
	char command[512];
	FILE *in;

	snprintf(command, sizeof(command),
		 "cd %s; readelf -SW %s | sed 's/^ *\\[ *[0-9]*\\]//' | awk '$1 == \"%s\" {print "
		 "$4, $5}'",
		 dir, file, section);
	in = popen(command, "r");
	if (fscanf(in, "%llx %llx", &offset, &size) != 2)
		offset = 0;
	pclose(in);
	*ret_size = size;
	return offset;
}

static void test_program(const char *name, const char *flags)
{
	char *path = xasprintf("%s/%s", dir, name);
	struct location args[12];
	struct probes p = {0};
	const struct usdt_note *n;
	struct elf_symbol symbol;
	struct elf_file *f;
	u64 size, probes;

	if (!run_in(dir, "gcc -O1 %s -o %s u.c", flags, name) || elf_file_open(path, &f) < 0) {
		tap_skip(name, "cannot be built here (no <sys/sdt.h>?)");
		free(path);
		return;
	}
	is_int(elf_file_each_usdt(f, collect, &p), 0, name);
	compare_with_readelf(&p, name);
	for (unsigned int i = 0; i < p.count; i++) {
		u8 byte = *(const u8 *)elf_file_bytes(f, p.list[i].offset, 1);

		ok(byte == 0x90, "%s:%s is a nop in the file", p.list[i].provider, p.list[i].name);
	}
	probes = section_offset(name, ".probes", &size);
	n = find(&p, "guarded");
	ok(n && n->semaphore >= probes && n->semaphore < probes + size,
	   "the semaphore lies in .probes");
	n = find(&p, "plain");
	ok(n && !n->semaphore, "a probe without semaphore");
	n = find(&p, "global");
	ok(n && elf_file_find_symbol(f, "counter", &symbol) == 0 &&
		   usdt_note_args(f, n, args, 12) == 1,
	   "a global variable");
	if (n && strstr(n->args, "(%rip)"))
		ok(args[0].kind == LOCATION_MEMORY && args[0].base == arch_ip_offset() &&
			   args[0].size == 4 && (u64)args[0].value + n->address == symbol.address,
		   "relative to the probe: %s", n->args);
	n = find(&p, "floating");
	ok(n && usdt_note_args(f, n, args, 12) == 2 && args[0].kind == LOCATION_NONE &&
		   args[1].kind != LOCATION_NONE,
	   "a floating-point argument is refused, its neighbour is not: %s", n ? n->args : "");
	n = find(&p, "ten");
	is_int(n ? usdt_note_args(f, n, args, 12) : 0, 10, "ten arguments");
	for (int i = 0; n && i < 10; i++)
		ok(args[i].kind == LOCATION_CONSTANT && args[i].value == i - 3, "constant %d",
		   i - 3);
	elf_file_close(f);
	free(path);
}

int main(void)
{
	test_arguments();
	if (!mkdtemp(dir))
		return 1;
	run_in(dir,
	       "cat > u.c <<'E'\n"
	       "#define _SDT_HAS_SEMAPHORES 1\n#include <sys/sdt.h>\n"
	       "#define SEM(n) __attribute__((section(\".probes\"))) unsigned short n\n"
	       "SEM(app_plain_semaphore); SEM(app_guarded_semaphore);\n"
	       "#undef _SDT_HAS_SEMAPHORES\n"
	       "int counter = 3; struct { int a, b; } pair;\n"
	       "extern void floating(double d, int i); extern void without(int a, long b, char "
	       "*c);\n"
	       "__attribute__((noinline)) void guarded(int a, long b, char *c) { "
	       "DTRACE_PROBE3(app, "
	       "guarded, a, b, c); }\n"
	       "int main(int c, char **v) { guarded(c, 2, v[0]); without(c, 3, v[0]); floating(c, "
	       "c); "
	       "return 0; }\nE\n"
	       "cat > u2.c <<'E'\n#include <sys/sdt.h>\n"
	       "extern int counter;\n"
	       "void floating(double d, int i) { DTRACE_PROBE2(app, floating, d, i); }\n"
	       "void without(int a, long b, char *c) { DTRACE_PROBE3(app, plain, a, b, c); "
	       "DTRACE_PROBE1(app, global, counter);\n"
	       " STAP_PROBE10(app, ten, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6); DTRACE_PROBE(app, none); "
	       "DTRACE_PROBE(app, none); }\nE\n"
	       "");
	test_program("fixed", "-no-pie u2.c");
	test_program("pie", "-fPIE -pie u2.c");
	test_program("separate", "-fPIE -pie -Wl,-z,separate-code u2.c");
	test_program("lld", "-fPIE -pie -fuse-ld=lld u2.c");
	run_in(dir, "rm -rf %s", dir);
	return tap_done();
}
