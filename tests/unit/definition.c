/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions of probes: what the kernel is told for what people write, and what they are told when
 * it is wrong. */
#include "probe/definition/definition.h"

#include <stdio.h>
#include <unistd.h>

#include "binary/elf/file.h"
#include "tap.h"

/* Functions of this very program, whose offsets its symbols give. */
int definition_counter = 7;
int definition_target(int a, int b, int c, int d, int e, int f, int g);

__attribute__((noinline)) int definition_target(int a, int b, int c, int d, int e, int f, int g)
{
	return a + b + c + d + e + f + g + definition_counter;
}

static char *self;
static struct kernel *kernel;

static char *messages(struct diag *d)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	diag_print(d, out, false);
	fclose(out);
	return text;
}

/* %s of want is the file. The text that the kernel got, or the first line of what was said. */
static void check(const char *definition, const char *want)
{
	struct diag d = DIAG_INIT;
	struct dynamic_events *set = dynamic_events_new(kernel, &d);
	char *text = NULL, *expected, *at;
	struct definition_result result;
	struct definition_request r = {.text = definition, .is_user = true};
	struct strbuf filled = STRBUF_INIT, wanted = STRBUF_INIT;

	for (at = (char *)definition; *at; at++)
		if (*at == '#')
			strbuf_addstr(&filled, self);
		else
			strbuf_addch(&filled, *at);
	r.text = filled.data;
	for (at = (char *)want; *at; at++)
		if (*at == '#')
			strbuf_addstr(&wanted, self);
		else
			strbuf_addch(&wanted, *at);
	expected = wanted.data;
	if (!definition_make(kernel, &d, set, &r, &result)) {
		text = xstrdup(result.text);
	} else {
		text = messages(&d);
		text[strcspn(text, "\n")] = '\0';
	}
	is_str(text, expected, definition);
	definition_result_release(&result);
	free(text);
	dynamic_events_release(set);
	diag_release(&d);
	strbuf_release(&filled);
	strbuf_release(&wanted);
}

static int count(void *arg, const char *name)
{
	*(int *)arg += str_eq(name, "definition_target");
	return 0;
}

int main(void)
{
	char path[4096], text[8400];
	struct elf_symbol s, v;
	struct elf_file *f;
	u64 offset = 0;
	const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct diag d = DIAG_INIT;
	int found = 0;

	path[MAX(n, 0)] = '\0';
	self = path;
	kernel = kernel_new();
	if (geteuid() || !kernel_ask(kernel, KERNEL_UPROBES)->yes) {
		tap_skip("definitions", "needs root and uprobes");
		return tap_done();
	}
	ok(definition_target(1, 2, 3, 4, 5, 6, 7) == 35, "the target");
	if (elf_file_open(self, &f) || elf_file_find_symbol(f, "definition_target", &s) ||
	    elf_file_find_symbol(f, "definition_counter", &v) ||
	    elf_file_offset(f, s.address, &offset)) {
		ok(0, "symbols of this program");
		return tap_done();
	}
	snprintf(text, sizeof(text), "p:definition_target #:0x%llx", (unsigned long long)offset);
	check("p:#:definition_target", text);
	check("p #:definition_target", text);
	check("#:definition_target", text);
	snprintf(text, sizeof(text), "p:my #:0x%llx", (unsigned long long)offset);
	check("p:my #:definition_target", text);
	check("p:some/my   #:definition_target", text);
	snprintf(text, sizeof(text), "r:definition_target #:0x%llx $retval",
		 (unsigned long long)offset);
	check("r:#:definition_target $retval", text);
	snprintf(text, sizeof(text), "p:definition_target #:0x%llx %%di x=%%si a=+8(%%dx):string",
		 (unsigned long long)offset);
	check("p:#:definition_target %rdi x=$arg2 a=+8(%rdx):string", text);
	snprintf(text, sizeof(text), "p:definition_target #:0x%llx %%di:x32 l=%%dx:x8 m=%%r8:u16",
		 (unsigned long long)offset);
	check("p:#:definition_target %edi l=%dl m=%r8d:u16", text);
	snprintf(text, sizeof(text), "p:definition_target #:0x%llx g=+8(%%sp):s32",
		 (unsigned long long)offset);
	check("p:#:definition_target g=$arg7:s32", text);
	snprintf(text, sizeof(text), "p:definition_target #:0x%llx c=@+0x%llx:s32",
		 (unsigned long long)offset,
		 (unsigned long long)(v.address - (s.address - offset)));
	check("p:#:definition_target c=@definition_counter:s32", text);
	check("", "ERROR: the definition is empty");
	check("p:", "definition:1:3-4: ERROR: the definition names no function");
	check("p:bad-name #:definition_target",
	      "definition:1:3-11: ERROR: a probe's name has letters, digits and '_' only");
	check("p:nocolon", "definition:1:3-10: ERROR: the place of a user probe is FILE:FUNCTION");
	snprintf(
		text, sizeof(text),
		"definition:1:%zu-%zu: ERROR: the probe 'definition_target': Invalid register name",
		strlen("p::definition_target a=") + strlen(self) + 1,
		strlen("p::definition_target a=") + strlen(self) + 1 + 4);
	check("p:#:definition_target a=%foo", text);
	snprintf(text, sizeof(text),
		 "definition:1:%zu-%zu: ERROR: a function's arguments are gone when it returns",
		 strlen("r::definition_target ") + strlen(self) + 1,
		 strlen("r::definition_target ") + strlen(self) + 1 + 5);
	check("r:#:definition_target $arg1", text);
	snprintf(text, sizeof(text),
		 "definition:1:3-%zu: ERROR: No matches for uprobe %s:definition_targe.",
		 strlen(self) + 19 + 1, self);
	check("p:#:definition_targe", text);
	is_int(definition_each_function(kernel, &d, self, 0, count, &found), 0,
	       "functions of a file");
	is_int(found, 1, "each once");
	ok(definition_each_function(kernel, &d, "no-such-file", 0, count, &found) == -ENOENT,
	   "of no file");
	elf_file_close(f);
	diag_release(&d);
	kernel_release(kernel);
	return tap_done();
}
