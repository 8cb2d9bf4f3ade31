/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines against addr2line; parameters against a program that is stopped at the function's first
 * instruction. */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binary/debug/lines.h"
#include "scratch.h"
#include "tap.h"

static char dir[] = "/tmp/pantrace-debug-XXXXXX";

/* ---- lines ---- */

struct addresses {
	u64 list[64];
	unsigned int count;
};

static int collect(void *arg, u64 address)
{
	struct addresses *a = arg;

	if (a->count < 64)
		a->list[a->count++] = address;
	return 0;
}

static void check_line(struct elf_file *f, const char *path, u64 address)
{
	char command[512], want[512] = "", got[512] = "none";
	const char *file;
	u32 line;
	FILE *in;

	snprintf(command, sizeof(command), "addr2line -e %s 0x%llx | sed 's/ (disc.*//'", path,
		 (unsigned long long)address);
	in = popen(command, "r");
	if (!fgets(want, sizeof(want), in))
		*want = 0;
	want[strcspn(want, "\n")] = 0;
	pclose(in);
	if (debug_line_at(f, address, &file, &line) == 0)
		snprintf(got, sizeof(got), "%s:%u", file, line);
	is_str(got, want, "the line as addr2line says");
}

/* ---- parameters ---- */

/* Runs the program up to the address and returns its stopped process. */
static pid_t stop_at(const char *path, u64 address, struct user_regs_struct *regs)
{
	pid_t pid = fork();
	long word;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	word = ptrace(PTRACE_PEEKTEXT, pid, (void *)address, NULL);
	ptrace(PTRACE_POKETEXT, pid, (void *)address, (void *)((word & ~0xffl) | 0xcc));
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	waitpid(pid, NULL, 0);
	ptrace(PTRACE_GETREGS, pid, NULL, regs); /* begins like struct pt_regs */
	return pid;
}

/* Of chains, which is what parameters at an entry are. */
static s64 value_at(pid_t pid, const struct user_regs_struct *regs, const struct location *l)
{
	const u64 shift = 64 - 8 * (u64)l->size;
	u64 v = 0;

	for (u32 i = 0; i < l->access->count; i++) {
		const struct access_step *s = &l->access->steps[i];

		if (s->op == ACCESS_REGISTER)
			memcpy(&v, (const char *)regs + s->offset, 8);
		else if (s->op == ACCESS_CONSTANT)
			v = (u64)s->value;
		else if (s->op == ACCESS_ADD)
			v += (u64)s->value;
		else if (s->op != ACCESS_EXTEND)
			ok(false, "an unexpected step");
	}
	if (!l->size)
		return (s64)v;
	if (l->access->result == ACCESS_PLACE)
		v = (u64)ptrace(PTRACE_PEEKDATA, pid, (void *)v, NULL);
	return l->is_signed ? (s64)(v << shift) >> shift : (s64)(v << shift >> shift);
}

static void test_parameters(const char *path, const char *how)
{
	struct {
		const char *function, *name;
		bool readable;
		s64 want;
	} rows[] = {
		{"many", "a", true, -1},	  {"many", "b", true, 200},
		{"many", "c", true, -3000000000}, {"many", "d", false, 0},
		{"many", "e", true, 'x'},	  {"many", "f", true, 1},
		{"many", "g", true, 65535},	  {"many", "h", true, -8},
		{"many", "i", true, 9},		  {"structs", "big", true, 0},
		{"structs", "after", true, 42},	  {"returns_big", "x", true, 77},
		{"pointers", "p", true, 0},	  {"pointers", "color", true, 5},
	};
	struct elf_file *f;
	struct type_store store;

	if (elf_file_open(path, &f) < 0)
		return;
	type_store_init(&store);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct location *l = NULL;
		struct debug_function function;
		struct user_regs_struct regs;
		struct elf_symbol s;
		pid_t pid;

		if (!ok(elf_file_find_symbol(f, rows[i].function, &s) == 0 &&
				debug_function_at(f, s.address, &store, &function) == 0,
			"%s: %s", how, rows[i].function))
			continue;
		for (u32 k = 0; function.args && k < function.args->count; k++)
			if (str_eq(function.args->members[k].name, rows[i].name))
				l = &function.locations[k];
		if (!ok(l && (l->kind != LOCATION_NONE) == rows[i].readable, "%s is %s",
			rows[i].name, rows[i].readable ? "readable" : "refused") ||
		    l->kind == LOCATION_NONE)
			continue;
		pid = stop_at(path, s.address, &regs);
		if (str_eq(rows[i].name, "big")) {
			s64 at = value_at(pid, &regs, l);

			is_int(ptrace(PTRACE_PEEKDATA, pid, (void *)(at + 16), NULL), 1003,
			       "a member of a struct on the stack");
		} else if (str_eq(rows[i].name, "p")) {
			s64 at = value_at(pid, &regs, l);

			is_int((int)ptrace(PTRACE_PEEKDATA, pid, (void *)at, NULL), 11,
			       "a member behind a pointer");
		} else {
			is_int(value_at(pid, &regs, l), rows[i].want, rows[i].name);
		}
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	type_store_release(&store);
	elf_file_close(f);
}

static void test_types(const char *path)
{
	const struct type_member *m;
	struct debug_function function;
	const struct type *t;
	struct type_store store;
	struct elf_symbol s;
	struct elf_file *f;
	u32 offset;

	if (elf_file_open(path, &f) < 0)
		return;
	type_store_init(&store);
	if (!ok(elf_file_find_symbol(f, "pointers", &s) == 0 &&
			debug_function_at(f, s.address, &store, &function) == 0,
		"types"))
		return;
	is_str(function.name, "pointers", "name");
	ok(function.retval->kind == TYPE_INT && function.retval->size == 4 &&
		   function.retval_location.kind == LOCATION_REGISTER,
	   "returns an int");
	is_str(type_str(&store.arena, function.args->members[0].type), "struct node *",
	       "type of p");
	t = function.args->members[0].type->element;
	m = type_find_member(&store, t, "next", &offset);
	ok(m && offset == 8 && m->type->kind == TYPE_POINTER && m->type->space == SPACE_USER,
	   "p->next");
	m = m ? type_find_member(&store, m->type->element, "name", &offset) : NULL;
	ok(m && m->type->kind == TYPE_ARRAY && m->type->count == 12 && m->type->element->is_char,
	   "p->next->name");
	m = type_find_member(&store, t, "high", &offset);
	ok(m && m->bit_size == 5 && offset == 4 && m->bit_offset == 3, "a bit-field");
	m = type_find_member(&store, t, "inner", &offset);
	ok(m && offset == 28, "a member of an anonymous union");
	m = type_find_member(&store, t, "matrix", &offset);
	is_int(m ? m->type->size : 0, 24, "an array of arrays");
	t = function.args->members[1].type;
	is_str(type_enumerator_name(&store, t, 5), "GREEN", "an enumerator");
	t = debug_type_named(f, &store, "struct node");
	ok(t && t->kind == TYPE_STRUCT && t->size == 56, "a struct by its name");
	t = debug_type_named(f, &store, "node_t");
	ok(t && t->kind == TYPE_STRUCT && t->alias, "a typedef by its name");
	ok(!debug_type_named(f, &store, "struct nothing"), "an unknown name");
	ok(elf_file_find_symbol(f, "nothing", &s) == 0 &&
		   debug_function_at(f, s.address, &store, &function) == 0 && !function.args &&
		   function.retval->kind == TYPE_VOID,
	   "neither parameters nor result");
	is_int(debug_function_at(f, s.address + 1, &store, &function), -ENOENT,
	       "inside of a function");
	type_store_release(&store);
	elf_file_close(f);
}

static void test_lines(const char *path)
{
	struct addresses a = {0};
	struct elf_symbol s;
	struct elf_file *f;
	u32 line = 0;

	if (elf_file_open(path, &f) < 0)
		return;
	ok(elf_file_find_symbol(f, "main", &s) == 0, "lines");
	for (u64 at = s.address; at < s.address + MIN(s.size, (u64)60); at += 7)
		check_line(f, path, at);
	is_int(debug_each_address(f, "d.c", 30, 0, collect, &a, &line), 0, "addresses of a line");
	is_int(line, 30, "the line itself has code");
	ok(a.count >= 1, "%u places", a.count);
	for (unsigned int i = 0; i < a.count; i++) {
		const char *file = "";
		u32 back = 0;

		ok(debug_line_at(f, a.list[i], &file, &back) == 0 && back == 30 &&
			   strstr(file, "d.c"),
		   "back to the line");
	}
	a.count = 0;
	ok(debug_each_address(f, "d.c", 26, 0, collect, &a, &line) == 0 && line == 27,
	   "a line without code means the next one");
	is_int(debug_each_address(f, "d.c", 1000, 0, collect, &a, &line), -ENOENT,
	       "a line after the end");
	is_int(debug_each_address(f, "nothing.c", 1, 0, collect, &a, &line), -ENOENT,
	       "an unknown file");
	is_int(debug_each_address(f, ".c", 1, 0, collect, &a, &line), -ENOENT, "half a file name");
	elf_file_close(f);
}

static const char program[] =
	"#include <stdbool.h>\n"
	"struct node { int id; unsigned low : 3, high : 5; struct node *next; char name[12]; \n"
	" union { int inner; float other; }; short matrix[3][4]; };\n"
	"typedef struct node node_t;\n"
	"enum color { RED = 1, GREEN = 5 };\n"
	"struct big { long a, b, c; };\n"
	"volatile long sink;\n"
	"#define OUT __attribute__((noinline, noclone))\n"
	"OUT int many(int a, unsigned char b, long c, double d, char e, bool f, unsigned short g, "
	"int h, long i)\n"
	"{\n"
	"	sink += a + b + c + (long)d + e + f + g + h + i;\n"
	"	return (int)sink;\n"
	"}\n"
	"OUT long structs(struct big big, int after) { sink += big.c; return big.a + after; }\n"
	"OUT struct big returns_big(int x) { sink++; return (struct big){x, x, x}; }\n"
	"OUT int pointers(const node_t *p, enum color color) { sink++; return p->id + (int)color; "
	"}\n"
	"OUT void nothing(void) { sink++; }\n"
	"\n\n\n\n\n\n\n"
	"static inline __attribute__((always_inline)) void twice(int x)\n"
	"\n"
	"{ sink += x;\n"
	"}\n"
	"int main(int argc, char **argv) {\n"
	"	sink += argc * 3;\n"
	"	struct big b = {1001, 1002, 1003}; node_t n = {.id = 11};\n"
	"	many(-1, 200, -3000000000, 2.5, 'x', true, 65535, -8, 9);\n"
	"	structs(b, 42); b = returns_big(77); pointers(&n, GREEN); nothing();\n"
	"	twice(argc); twice(argc + 1);\n"
	"	return 0; }\n";

int main(void)
{
	static const char *const builds[] = {
		"gcc -O0 -g",	"gcc -O2 -g",	"gcc -O1 -gdwarf-4",
		"clang -O0 -g", "clang -O2 -g", "gcc -O2 -g -gz",
	};
	char *path, *source;
	FILE *out;

	if (!mkdtemp(dir))
		return 1;
	path = xasprintf("%s/d", dir);
	source = xasprintf("%s/d.c", dir);
	out = fopen(source, "w");
	fputs(program, out);
	fclose(out);
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		if (!run_in(dir, "%s -no-pie -o d %s", builds[i], source)) {
			tap_skip(builds[i], "no such compiler");
			continue;
		}
		printf("# %s\n", builds[i]);
		test_parameters(path, builds[i]);
		test_types(path);
		test_lines(path);
	}
	run_in(dir,
	       "gcc -O1 -g -no-pie -o d d.c; objcopy --only-keep-debug d d.debug; strip d; objcopy "
	       "--add-gnu-debuglink=d.debug d");
	test_types(path);
	run_in(dir, "gcc -O1 -no-pie -s -o d d.c && rm -f d.debug");
	{
		struct elf_file *f;
		const char *file;
		u32 line;

		if (elf_file_open(path, &f) == 0) {
			is_int(debug_available(f), -ENODATA, "a file without DWARF");
			is_int(debug_line_at(f, f ? elf_file_entry(f) : 0, &file, &line), -ENODATA,
			       "no lines");
			elf_file_close(f);
		}
	}
	run_in(dir, "rm -rf %s", dir);
	free(path);
	free(source);
	return tap_done();
}
