/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What names mean: sonames as ldconfig -p resolves them, $PATH, a process's own files. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/elf/file.h"
#include "binary/elf/ld_cache.h"
#include "binary/process/maps.h"
#include "tap.h"

struct entries {
	unsigned int count;
	char first[2][64];
	bool stop;
};

static int collect(void *arg, const char *soname, const char *path)
{
	struct entries *e = arg;

	if (!e->count) {
		snprintf(e->first[0], sizeof(e->first[0]), "%s", soname);
		snprintf(e->first[1], sizeof(e->first[1]), "%s", path);
	}
	e->count++;
	return e->stop ? 7 : 0;
}

static size_t put32(u8 *p, size_t at, u32 v)
{
	memcpy(p + at, &v, sizeof(v));
	return at + 4;
}

/* Both formats, made by hand after dl-cache.h. */
static void test_formats(void)
{
	static const char strings[] = "libx.so.1\0/lib/libx.so.1";
	u8 old[128] = "ld.so-1.7.0", fresh[256] = "glibc-ld.so.cache1.1", both[512];
	struct entries e = {0};
	size_t n, m;

	n = put32(old, 12, 1);
	n = put32(old, n, 3);
	n = put32(old, n, 0);
	n = put32(old, n, 10);
	memcpy(old + n, strings, sizeof(strings));
	n += sizeof(strings);
	is_int(ld_cache_parse(old, n, collect, &e), 0, "old format");
	ok(e.count == 1 && str_eq(e.first[0], "libx.so.1") && str_eq(e.first[1], "/lib/libx.so.1"),
	   "its entry");
	for (size_t cut = 0; cut < n; cut++) {
		void *p = xmalloc(cut + 1);

		memcpy(p, old, cut);
		ld_cache_parse(p, cut, collect, &e);
		free(p);
	}
	ok(1, "cut off anywhere");

	put32(fresh, 20, 1);
	m = put32(fresh, 48, 0x303);
	m = put32(fresh, m, 72);
	m = put32(fresh, m, 82);
	memcpy(fresh + 72, strings, sizeof(strings));
	m = 72 + sizeof(strings);
	e = (struct entries){0};
	is_int(ld_cache_parse(fresh, m, collect, &e), 0, "new format");
	ok(e.count == 1 && str_eq(e.first[0], "libx.so.1") && str_eq(e.first[1], "/lib/libx.so.1"),
	   "its entry");

	memset(both, 0, sizeof(both));
	memcpy(both, old, n);
	n = 28; /* right after the entries, aligned to 8 */
	memcpy(both + 32, fresh, m);
	e = (struct entries){.stop = true};
	is_int(ld_cache_parse(both, 32 + m, collect, &e), 7,
	       "new after old; a non-zero result ends");
	ok(e.count == 1 && str_eq(e.first[1], "/lib/libx.so.1"), "its entry");
	is_int(ld_cache_parse("rubbish", 7, collect, &e), -EINVAL, "rubbish");
}

static void test_matching(void)
{
	static const struct {
		const char *file, *name;
		bool want;
	} rows[] = {
		{"libc.so.6", "libc", true},
		{"libc.so.6", "c", true},
		{"libc.so.6", "libc.so", true},
		{"libc.so.6", "libc.so.6", true},
		{"libcrypt.so.1", "libc", false},
		{"libc.so.6", "lib", false},
		{"libssl.so.1.1", "libssl.so.1", true},
		{"libssl.so.3", "libssl.so.", false},
		{"libc.so.6", "so", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ok(library_name_matches(rows[i].file, rows[i].name) == rows[i].want, "%s %s %s",
		   rows[i].name, rows[i].want ? "means" : "does not mean", rows[i].file);
}

static void resolves_to(const char *name, pid_t pid, const char *want)
{
	char *got = binary_resolve(name, pid);

	is_str(got, want, name);
	free(got);
}

static int count_path(void *arg, const char *path)
{
	(*(int *)arg)++;
	return 0;
}

static void test_resolve(void)
{
	char want[512] = "", *path;
	FILE *in = popen("PATH=/sbin:/usr/sbin:$PATH ldconfig -p | awk '$1 == \"libc.so.6\" && "
			 "/x86-64|AArch64/ {print $NF; exit}'",
			 "r");
	int n = 0;

	if (!fgets(want, sizeof(want), in))
		*want = 0;
	pclose(in);
	want[strcspn(want, "\n")] = 0;
	if (*want) {
		resolves_to("libc", 0, want);
		resolves_to("c", 0, want);
		resolves_to("libc.so.6", 0, want);
	}
	resolves_to("/bin/sh", 0, "/bin/sh");
	resolves_to("/no/such/file", 0, NULL);
	resolves_to("no-such-program-or-library", 0, NULL);
	resolves_to("", 0, NULL);
	path = binary_resolve("sh", 0);
	ok(path && strstr(path, "/sh"), "sh from $PATH: %s", path ? path : "");
	free(path);
	path = binary_resolve("/bin/sh", getpid());
	is_str(path, "/bin/sh", "in our own root the path stays short");
	free(path);
	ok(binary_each_path("/bin/*sh", 0, count_path, &n) == 0 && n >= 1, "/bin/*sh: %d files", n);
	n = 0;
	binary_each_path("*", getpid(), count_path, &n);
	ok(n >= 1, "files of this process: %d", n);
	n = 0;
	binary_each_path("/no/such/*", 0, count_path, &n);
	is_int(n, 0, "nothing");
}

int main(void)
{
	test_formats();
	test_matching();
	test_resolve();
	return tap_done();
}
