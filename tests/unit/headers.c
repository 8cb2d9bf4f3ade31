/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Headers of the system as they are installed here: each can be read, or says itself (#error) why
 * not.
 */
#include <dirent.h>

#include "lang/syntax/parse.h"
#include "tap.h"

struct counts {
	u32 all, whole, refused;
};

/* What a header says about itself is no fault; what is passed over is told. */
static void read_header(const char *name, struct counts *c)
{
	struct arena arena = ARENA_INIT;
	struct diag diag = DIAG_INIT;
	struct type_store types;
	struct ast ast = {0};
	const struct parse_options options = {.system_headers = true};
	const char *text = arena_printf(&arena, "#include <%s>\nbegin { }\n", name);

	type_store_init(&types);
	c->all++;
	if (!parse_script(&arena, &types, &diag, diag_add_source(&diag, "test", text, strlen(text)),
			  &options, &ast)) {
		c->whole += !ast.passed_over;
		if (ast.passed_over)
			printf("# <%s>: %u declarations passed over, the first: %s\n", name,
			       ast.passed_over, ast.why_passed_over);
	} else {
		c->refused++;
		if (!str_starts(diag.messages.items[0].text, "#error"))
			ok(false, "<%s> is refused: %s", name, diag.messages.items[0].text);
	}
	type_store_release(&types);
	diag_release(&diag);
	arena_release(&arena);
}

static void read_directory(const char *root, const char *directory, struct counts *c)
{
	struct arena arena = ARENA_INIT;
	DIR *d = opendir(arena_printf(&arena, "%s/%s", root, directory));
	struct dirent *e;

	while (d && (e = readdir(d))) {
		const char *dot = strrchr(e->d_name, '.');

		if (dot && str_eq(dot, ".h"))
			read_header(arena_printf(&arena, "%s/%s", directory, e->d_name), c);
	}
	if (d)
		closedir(d);
	arena_release(&arena);
}

int main(void)
{
	static const char *const plain[] = {"stdio.h",	"stdlib.h",   "string.h",   "unistd.h",
					    "fcntl.h",	"signal.h",   "errno.h",    "stdint.h",
					    "stddef.h", "stdbool.h",  "limits.h",   "time.h",
					    "poll.h",	"sched.h",    "pthread.h",  "dirent.h",
					    "netdb.h",	"inttypes.h", "sys/stat.h", "sys/wait.h"};
	struct counts c = {0}, common = {0};

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		read_header(plain[i], &common);
	ok(common.refused == 0, "none of %zu headers of C is refused", ARRAY_SIZE(plain));
	ok(common.whole == common.all, "they are read as a whole");
	read_directory("/usr/include", "linux", &c);
	read_directory("/usr/include", "asm-generic", &c);
	read_directory("/usr/include", "net", &c);
	read_directory("/usr/include", "netinet", &c);
	read_directory("/usr/include/x86_64-linux-gnu", "sys", &c);
	printf("# %u headers: %u read as a whole, %u refused by their own #error, of %u a part\n",
	       c.all, c.whole, c.refused, c.all - c.whole - c.refused);
	/* A few need others to be included first, as a C compiler would say, too. */
	ok(c.all - c.whole - c.refused <= c.all / 100, "at most 1 of 100 is not read as a whole");
	return tap_done();
}
