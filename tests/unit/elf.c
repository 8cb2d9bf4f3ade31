/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ELF reader against readelf and nm, on libc, on bash and on programs that are built here. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "binary/elf/internal.h"
#include "scratch.h"
#include "tap.h"

static char dir[] = "/tmp/pantrace-elf-XXXXXX";

static FILE *lines_of(const char *fmt, const char *arg)
{
	char command[2048];
	int n = snprintf(command, sizeof(command), "cd %s; LC_ALL=C ", dir);

	snprintf(command + n, sizeof(command) - (size_t)n, fmt, arg);
	return popen(command, "r");
}

static struct elf_file *open_here(const char *name)
{
	struct elf_file *f = NULL;
	char *path = *name == '/' ? xstrdup(name) : xasprintf("%s/%s", dir, name);

	ok(elf_file_open(path, &f) == 0, "%s opens", name);
	free(path);
	return f;
}

/* File offset of a virtual address from readelf's program headers, computed anew. */
static u64 offset_by_readelf(const char *file, u64 address)
{
	FILE *in = lines_of("readelf -lW %s | awk '$1 == \"LOAD\" {print $2, $3, $5}'", file);
	unsigned long long offset, start, size, found = 0;

	while (fscanf(in, "%llx %llx %llx", &offset, &start, &size) == 3)
		if (address >= start && address - start < size)
			found = offset + (address - start);
	pclose(in);
	return found;
}

struct tally {
	struct hashmap seen; /* "address name" */
	unsigned int count, doubles;
};

static int tally_symbol(void *arg, const struct elf_symbol *s)
{
	struct tally *t = arg;
	char *key = xasprintf("%llx %s", (unsigned long long)s->address, s->name);
	bool is_new;

	hashmap_put(&t->seen, key, strlen(key), &is_new);
	t->count++;
	t->doubles += !is_new;
	free(key);
	return 0;
}

/* Every FUNC and IFUNC that readelf lists must be given out, found by its address, and have the
 * offset that readelf implies. */
static void compare_with_readelf(struct elf_file *f, const char *file)
{
	FILE *in = lines_of("readelf -sW %s | awk '($4 == \"FUNC\" || $4 == \"IFUNC\") && $7 != "
			    "\"UND\" && $7 != \"ABS\" "
			    "{sub(/@.*/, \"\", $8); print $2, $3, $8}'",
			    file);
	unsigned int wanted = 0, missing = 0, not_found = 0, wrong_at = 0;
	struct tally t = {0};
	unsigned long long address;
	char name[4096], size[32];

	ok(elf_file_each_symbol(f, tally_symbol, &t) == 0, "%s: all symbols", file);
	while (fscanf(in, "%llx %31s %4095s", &address, size, name) == 3) {
		char *key = xasprintf("%llx %s", address, name);
		struct hashmap_entry *e = NULL;
		struct elf_symbol s;
		u64 offset;

		wanted++;
		hashmap_each (&t.seen, each) {
			if (each->key_len == strlen(key) &&
			    memcmp(each->key, key, each->key_len) == 0) {
				e = each;
				break;
			}
		}
		missing += !e;
		not_found += elf_file_find_symbol(f, name, &s) != 0 || !str_eq(s.name, name);
		if (strtoull(size, NULL, 0) && (!elf_file_symbol_at(f, address, &s, &offset) ||
						s.address != address || offset))
			wrong_at++;
		free(key);
	}
	pclose(in);
	ok(wanted > 0, "%s: readelf lists %u functions", file, wanted);
	is_int(missing, 0, "none is missing");
	is_int(t.doubles, 0, "none is given twice");
	is_int(not_found, 0, "each is found by name");
	is_int(wrong_at, 0, "each is found by address");
	hashmap_release(&t.seen);
}

static void check_function(struct elf_file *f, const char *file, const char *name)
{
	struct elf_symbol s;
	u64 offset = 0, back = 0, in = 0;

	ok(elf_file_find_symbol(f, name, &s) == 0 && s.is_function, "%s: %s", file, name);
	ok(elf_file_offset(f, s.address, &offset) == 0, "it has a file offset");
	is_int((long long)offset, (long long)offset_by_readelf(file, s.address),
	       "the one that readelf's segments give");
	ok(elf_file_is_executable_offset(f, offset), "it is executable");
	ok(elf_file_address(f, offset, &back) == 0 && back == s.address,
	   "offset to address and back");
	ok(elf_file_symbol_at(f, s.address + s.size - 1, &s, &in) && str_eq(s.name, name) &&
		   in == s.size - 1,
	   "its last byte belongs to it");
}

static void test_built_programs(void)
{
	static const struct {
		const char *name, *flags;
	} programs[] = {
		{"pie", "-fPIE -pie"},
		{"fixed", "-no-pie"},
		{"static-pie", "-static-pie"},
		{"separate", "-fPIE -pie -Wl,-z,separate-code"},
		{"joined", "-no-pie -Wl,-z,noseparate-code"},
		{"lld", "-fPIE -pie -fuse-ld=lld"},
		{"moved", "-no-pie -Wl,-Ttext-segment=0x10000000"},
		{"lib.so", "-shared -fPIC"},
	};

	run_in(dir, "cat > p.c <<'E'\n"
		    "#include <stdio.h>\nint counter = 7; static int hidden_data[4];\n"
		    "__attribute__((noinline)) static int local_one(int x) { return x * 3 + "
		    "hidden_data[x "
		    "& 3]; }\n"
		    "__attribute__((weak, noinline)) int weak_one(int x) { return x + 1; }\n"
		    "int visible(int a, int b) { return local_one(a) + weak_one(b) + counter; }\n"
		    "__asm__(\".text\\n.globl asm_label\\nasm_label:\\n nop\\n nop\\n ret\\n\");\n"
		    "int main(int c, char **v) { return visible(c, 2) ? puts(v[0]) : 0; }\nE");
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const char *name = programs[i].name;
		struct elf_symbol s;
		struct elf_file *f;

		if (!run_in(dir, "gcc -O1 -g %s -o %s p.c", programs[i].flags, name)) {
			tap_skip(name, "cannot be linked here");
			continue;
		}
		f = open_here(name);
		if (!f)
			continue;
		check_function(f, name, "visible");
		check_function(f, name, "local_one");
		check_function(f, name, "weak_one");
		ok(elf_file_find_symbol(f, "asm_label", &s) == 0 && s.is_function && !s.size,
		   "a label without type and size");
		ok(elf_file_find_symbol(f, "counter", &s) == 0 && s.is_object, "a variable");
		ok(elf_file_find_symbol(f, "no_such_function", &s) == -ENOENT, "an unknown name");
		if (!strstr(programs[i].flags, "static"))
			compare_with_readelf(f, name);
		elf_file_close(f);
	}
}

static void test_mangled_names(void)
{
	static const char *const names[][2] = {
		{"ns::overloaded(int)", "_ZN2ns10overloadedEi"},
		{"ns::overloaded(char const*)", "_ZN2ns10overloadedEPKc"},
		{"ns::one", "_ZN2ns3oneEv"},
		{"_ZN2ns3oneEv", "_ZN2ns3oneEv"},
		{"ns::Box<int>::get", "_ZN2ns3BoxIiE3getEv"},
		{"ns::overloaded(long)", NULL},
		{"ns::nothing", NULL},
	};
	struct elf_file *f;
	struct elf_symbol s;

	if (!run_in(dir,
		    "cat > m.cc <<'E'\nnamespace ns { int x; void overloaded(int) { x++; } void "
		    "overloaded(const char *) { x--; }\n"
		    "void one() { x = 1; } template <class T> struct Box { T t; T get(); }; "
		    "template "
		    "<class T> T Box<T>::get() { return t; }\n"
		    "template struct Box<int>; }\nint main() { return 0; }\nE\n g++ -O0 -o mangled "
		    "m.cc")) {
		tap_skip("mangled names", "no g++");
		return;
	}
	f = open_here("mangled");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int err = elf_file_find_symbol(f, names[i][0], &s);

		is_str(err ? NULL : s.name, names[i][1], names[i][0]);
	}
	elf_file_close(f);
}

static void test_debug_files(void)
{
	struct elf_symbol s;
	struct elf_file *f;
	u64 offset;

	if (!run_in(dir,
		    "gcc -O1 -g -o whole p.c -Wl,--build-id=none && cp whole linked && objcopy "
		    "--only-keep-debug linked linked.debug && "
		    "strip linked && objcopy --add-gnu-debuglink=linked.debug linked")) {
		tap_skip("separate debug files", "no objcopy");
		return;
	}
	f = open_here("linked");
	check_function(f, "linked", "visible");
	check_function(f, "linked", "local_one");
	ok(f->debug != NULL, "the debug file beside it is used");
	elf_file_close(f);
	run_in(dir, "mkdir -p .debug && mv linked.debug .debug/");
	f = open_here("linked");
	check_function(f, "linked", "local_one");
	elf_file_close(f);
	run_in(dir, "cp .debug/linked.debug x && printf x >> .debug/linked.debug");
	f = open_here("linked");
	ok(elf_file_find_symbol(f, "local_one", &s) == -ENOENT,
	   "a debug file with another checksum is refused");
	elf_file_close(f);

	if (run_in(dir, "cp whole mini && nm whole --format=posix --defined-only | awk '{print "
			"$1}' | sort "
			"> keep && "
			"objcopy -S --remove-section .comment --keep-symbols=keep whole mini_debug "
			"&& xz "
			"-f mini_debug && "
			"strip mini && objcopy --add-section .gnu_debugdata=mini_debug.xz mini")) {
		f = open_here("mini");
		check_function(f, "mini", "local_one");
		ok(f->mini != NULL, "from .gnu_debugdata");
		ok(elf_file_symbol_at(f, f->entry, &s, &offset) && str_eq(s.name, "_start"),
		   "the entry is _start");
		elf_file_close(f);
	} else {
		tap_skip("mini debug info", "no xz");
	}
}

static void test_headers(void)
{
	struct elf_file *f = open_here("pie");
	char want[256] = "";
	FILE *in = lines_of("readelf -n %s | awk '/Build ID/ {print $3}'", "pie");

	if (!fgets(want, sizeof(want), in))
		*want = 0;
	want[strcspn(want, "\n")] = 0;
	pclose(in);
	is_str(elf_file_build_id(f), *want ? want : NULL, "build-id as readelf prints it");
	ok(elf_file_is_dynamic(f) && elf_file_is_64(f), "a dynamic 64-bit file");
	elf_file_close(f);
}

static void test_libc(void)
{
	struct elf_symbol s, t;
	struct elf_file *f = NULL;
	char *path = binary_resolve("libc", 0);

	ok(path != NULL, "libc is found: %s", path ? path : "");
	if (!path || elf_file_open(path, &f) < 0)
		return;
	compare_with_readelf(f, path);
	check_function(f, path, "malloc");
	ok(elf_file_find_symbol(f, "__libc_malloc", &t) == 0 &&
		   elf_file_find_symbol(f, "malloc", &s) == 0 && s.address == t.address,
	   "aliases are both there");
	u64 offset;

	ok(elf_file_symbol_at(f, s.address, &t, &offset) && str_eq(t.name, "malloc"),
	   "the address has the plain name");
	ok(elf_file_find_symbol(f, "strlen", &s) == 0 && s.is_ifunc, "strlen is an IFUNC");
	if (elf_file_find_symbol(f, "memcpy", &s) == 0) {
		FILE *in = lines_of("readelf --dyn-syms -W %s | awk '$8 ~ /^memcpy@@/ {print $2}'",
				    path);
		unsigned long long want = 0;

		ok(fscanf(in, "%llx", &want) == 1 && want == s.address,
		   "memcpy is the default version's");
		pclose(in);
	}
	elf_file_close(f);
	free(path);
}

/* What changes after it was opened: nothing of the new is mixed with the old. */
static void test_changed(void)
{
	static const char *const changes[] = {
		"truncate -s 5000 changing",
		"truncate -s 0 changing",
		"dd if=/dev/urandom of=changing conv=notrunc bs=1000 count=1 seek=20 2>&-",
	};
	struct elf_symbol s;
	u64 offset;

	run_in(dir, "seq 9999 | sed 's/.*/void visible_&(void) {}/' >many.c; "
		    "gcc -shared -fPIC -o many.so many.c");
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct elf_file *f;

		run_in(dir, "cat many.so >changing");
		f = open_here("changing");
		run_in(dir, changes[i]);
		ok(elf_file_find_symbol(f, "visible_5000", &s) == -ENOENT &&
			   !elf_file_symbol_at(f, elf_file_entry(f), &s, &offset),
		   "%s: no symbols", changes[i]);
		is_int(elf_file_error(f), -ESTALE, "and why");
		elf_file_close(f);
	}
	run_in(dir, "cat many.so >changing");
	struct elf_file *f = open_here("changing");

	ok(elf_file_find_symbol(f, "visible_5000", &s) == 0, "what was read in time");
	run_in(dir, changes[1]);
	ok(elf_file_find_symbol(f, "visible_5000", &s) == 0, "is still there");
	elf_file_close(f);
}

static void test_foreign(void)
{
	struct elf_file *f = NULL;
	char *path = xasprintf("%s/not-elf", dir);

	run_in(dir, "echo '#!/bin/sh' > not-elf; head -c 3000 pie > cut; : > empty; "
		    "printf '\\177ELF\\002\\002\\001' > big-endian; head -c 4000 /dev/zero >> "
		    "big-endian");
	is_int(elf_file_open(path, &f), -ENOEXEC, "a script is not ELF");
	free(path);
	path = xasprintf("%s/empty", dir);
	is_int(elf_file_open(path, &f), -ENOEXEC, "an empty file");
	free(path);
	path = xasprintf("%s/big-endian", dir);
	is_int(elf_file_open(path, &f), -ENOEXEC, "the other byte order");
	free(path);
	is_int(elf_file_open("/nonexistent", &f), -ENOENT, "no file");
	is_int(elf_file_open(dir, &f), -EISDIR, "a directory");
	is_int(elf_file_open("/dev/null", &f), -ENOEXEC, "a device");
	f = open_here("cut");
	if (f) {
		struct elf_symbol s;

		ok(elf_file_find_symbol(f, "visible", &s) == -ENOENT,
		   "a file that is cut off has no symbols");
		elf_file_close(f);
	}
	if (run_in(dir, "gcc -m32 -nostdlib -static -o small -xc - <<'E'\nint f32(void) { return "
			"1; } void "
			"_start(void) { f32(); }\nE")) {
		f = open_here("small");
		ok(!elf_file_is_64(f), "a 32-bit file");
		check_function(f, "small", "f32");
		elf_file_close(f);
	} else {
		tap_skip("a 32-bit file", "gcc -m32 does not work");
	}
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_built_programs();
	test_mangled_names();
	test_headers();
	test_debug_files();
	test_libc();
	test_foreign();
	test_changed();
	run_in(dir, "rm -rf %s", dir);
	return tap_done();
}
