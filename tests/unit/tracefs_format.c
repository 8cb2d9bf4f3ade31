/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats written out here, and every format of the running kernel. */
#include "types/tracefs_format.h"

#include <stdio.h>
#include <time.h>

#include "kernel/tracefs/tracefs.h"
#include "tap.h"
#include "types/btf.h"

#define HEAD "name: sample\nID: 7\nformat:\n"
#define FIELD(decl, offset, size, sign) \
	"\tfield:" decl ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #sign ";\n"

/* clang-format off */
static const char sample[] =
	HEAD
	FIELD("unsigned short common_type", 0, 2, 0)
	FIELD("int common_pid", 4, 4, 1)
	FIELD("char comm[16]", 8, 16, 0)
	FIELD("const char * filename", 24, 8, 0)
	FIELD("__data_loc char[] name", 32, 4, 0)
	FIELD("__rel_loc u64[] addrs", 36, 4, 0)
	FIELD("int dfd", 40, 8, 0)
	FIELD("unsigned long args[6]", 48, 48, 0)
	FIELD("u8 saddr[4]", 96, 4, 0)
	FIELD("enum no_such what", 100, 4, 1)
	FIELD("struct no_such * p", 104, 8, 0)
	FIELD("no_such_t odd", 112, 2, 1)
	FIELD("const void *const * pp", 120, 8, 0)
	"\nprint fmt: \"%s\", REC->comm\n";
/* clang-format on */

static void field_is(struct type_store *s, const struct type *t, const char *name, const char *type,
		     u32 offset)
{
	const struct type_member *m = type_find_member(s, t, name, NULL);

	ok(m && m->offset == offset, "%s at %u", name, offset);
	is_str(m ? type_str(&s->arena, m->type) : NULL, type, name);
}

static void test_sample(void)
{
	const struct type *t, *pointee;
	const struct type_member *m;
	const char *print;
	struct type_store s;

	type_store_init(&s);
	ok(!tracefs_format_parse(&s, "syscalls", sample, &t, &print), "a format");
	is_int(t->size, 128, "size of the record");
	is_int(t->count, 13, "its fields");
	is_str(t->name, "sample", "its name");
	is_str(print, "\"%s\", REC->comm", "its print format");
	field_is(&s, t, "common_pid", "int32", 4);
	field_is(&s, t, "comm", "int8[16]", 8);
	field_is(&s, t, "filename", "int8 *", 24);
	field_is(&s, t, "name", "int8[0]", 32);
	field_is(&s, t, "addrs", "uint64[0]", 36);
	field_is(&s, t, "dfd", "int32", 40);
	field_is(&s, t, "args", "uint64[6]", 48);
	field_is(&s, t, "saddr", "uint8[4]", 96);
	field_is(&s, t, "what", "enum no_such", 100);
	field_is(&s, t, "p", "struct no_such *", 104);
	field_is(&s, t, "odd", "int16", 112);
	field_is(&s, t, "pp", "void * *", 120);
	m = type_find_member(&s, t, "filename", NULL);
	ok(m->is_user && m->type->space == SPACE_USER && m->type->element->is_char,
	   "a user's string");
	ok(type_find_member(&s, t, "comm", NULL)->type->element->is_char, "comm is text");
	ok(type_find_member(&s, t, "name", NULL)->is_data_loc, "__data_loc");
	ok(type_find_member(&s, t, "addrs", NULL)->is_rel_loc, "__rel_loc");
	pointee = type_find_member(&s, t, "p", NULL)->type->element;
	ok(type_complete(&s, pointee) < 0 && !type_find_member(&s, pointee, "x", NULL),
	   "a struct that nobody knows");
	type_store_release(&s);
}

static void test_bad(void)
{
	static const char *const texts[] = {
		"",
		"name: x\n",
		"\tfield:int;\toffset:0;\tsize:4;\tsigned:1;\n",
		"\tfield:int x;\tsize:4;\tsigned:1;\n",
		"\tfield:int x;\toffset:0;\n",
		"\tfield:int x\toffset:0\tsize:4\n",
		"\tfield:int x;\toffset:99999999999;\tsize:4;\tsigned:1;\n",
		"\tfield:x];\toffset:0;\tsize:4;\tsigned:1;\n",
		"\tfield:__data_loc char[] x;\toffset:0;\tsize:8;\tsigned:1;\n",
	};
	struct type_store s;
	const struct type *t;

	type_store_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		is_int(tracefs_format_parse(&s, "x", texts[i], &t, NULL), -EINVAL, "refused");
	type_store_release(&s);
}

/* ---- all events of this kernel ---- */

struct totals {
	struct kernel *kernel;
	struct type_store *store;
	u32 events, fields, wrong, unparsed;
};

/* Its size, as the file says; __data_loc and arguments of system calls have their own. */
static u32 stored_size(const struct type_member *m)
{
	return m->is_data_loc || m->is_rel_loc ? 4 : m->type->size;
}

static int check_event(void *arg, const char *category, const char *event)
{
	struct totals *n = arg;
	const bool is_syscall = str_eq(category, "syscalls");
	const struct type *t;
	char *text;
	u32 i = 0;

	if (tracefs_event_format(n->kernel, category, event, &text))
		return 0;
	n->events++;
	if (tracefs_format_parse(n->store, category, text, &t, NULL)) {
		n->unparsed++;
		printf("# %s:%s\n", category, event);
		free(text);
		return 0;
	}
	for (char *line = strstr(text, "\tfield:"); line;
	     line = strstr(line + 1, "\tfield:"), i++) {
		const char *rest = strchr(line, ';');
		u32 offset, size;
		const struct type_member *m = i < t->count ? &t->members[i] : NULL;

		n->fields++;
		if (sscanf(rest, ";\toffset:%u;\tsize:%u;", &offset, &size) != 2 || !m ||
		    m->offset != offset ||
		    (stored_size(m) != size && !(is_syscall && m->type->size < size))) {
			if (n->wrong++ < 10)
				printf("# %s:%s: %.60s: %s\n", category, event, line,
				       m ? type_str(&n->store->arena, m->type) : "-");
		}
	}
	free(text);
	return 0;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void test_kernel(void)
{
	struct kernel *k = kernel_new();
	struct type_store s;
	struct btf_source *btf;
	struct totals n = {.kernel = k, .store = &s};
	const struct type *t;
	const struct type_member *m;
	double start = now_ms();
	char *text;

	if (!kernel_ask(k, KERNEL_TRACEFS)->yes) {
		tap_skip("formats of the running kernel", kernel_ask(k, KERNEL_TRACEFS)->why);
		kernel_release(k);
		return;
	}
	type_store_init(&s);
	btf = btf_attach(&s, NULL);
	tracefs_each_event(k, "*", "*", check_event, &n);
	printf("# %u events in %.1f ms\n", n.events, now_ms() - start);
	is_int(n.unparsed, 0, "every event's format is understood");
	ok(!n.wrong && n.fields > 1000, "offsets and sizes of %u fields", n.fields);
	if (!tracefs_event_format(k, "syscalls", "sys_enter_connect", &text)) {
		ok(!tracefs_format_parse(&s, "syscalls", text, &t, NULL), "sys_enter_connect");
		m = type_find_member(&s, t, "uservaddr", NULL);
		is_str(m ? type_str(&s.arena, m->type) : NULL, "struct sockaddr *", "its address");
		if (!btf_available(btf) && m)
			ok(type_find_member(&s, m->type->element, "sa_family", NULL) != NULL,
			   "whose members BTF knows");
		free(text);
	}
	btf_release(btf);
	type_store_release(&s);
	kernel_release(k);
}

int main(void)
{
	test_sample();
	test_bad();
	test_kernel();
	return tap_done();
}
