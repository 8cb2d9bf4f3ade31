/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of libpantrace read from a file: this one's, as it is and damaged. */
#include <pantrace/pantrace.h>

#include "tap.h"

#include <stdlib.h>

#include "base/file.h"
#include "binary/elf/internal.h"
#include "binary/elf/user_events.h"

/* The library's side, which is not needed: the sites are never on. */
void pantrace_object_add(struct pantrace_object *object, const struct pantrace_site *sites,
			 const struct pantrace_site *end)
{
}

void pantrace_object_remove(struct pantrace_object *object)
{
}

void pantrace_emit(const struct pantrace_event *event, void *record, size_t size)
{
}

unsigned char *pantrace_put_string(unsigned char *to, unsigned char *end, const char *string)
{
	return to;
}

enum kind { get, put };
PANTRACE_ENUM(kind, get, put);

static __attribute__((noinline)) void sites(int i)
{
	short codes[3] = {1, 2, 3};

	PANTRACE_AT(PANTRACE_ERR, unit, first, i, PT_NAMED(url, i ? "/" : ""),
		    PT_NAMED(kind, PT_ENUM(kind, i & 1)), PT_ARRAY(codes),
		    PT_STRUCT(inner, PT_NAMED(ratio, 0.5)));
	PANTRACE(unit, second, PT_NAMED(big, (unsigned long)i));
	PANTRACE(unit, second, PT_NAMED(big, (unsigned long)i));
}

struct lines {
	u32 count;
	char first[256], second[256];
};

static int line(void *arg, const char *text)
{
	struct lines *l = arg;

	l->count++;
	if (strstr(text, "unit:first"))
		snprintf(l->first, sizeof(l->first), "%s", text);
	if (strstr(text, "unit:second"))
		snprintf(l->second, sizeof(l->second), "%s", text);
	return 0;
}

static int stop(void *arg, const char *text)
{
	++*(u32 *)arg;
	return 7;
}

static void test_damaged(const char *data, size_t len)
{
	u64 seed = 88172645463325252ull;
	struct elf_file *whole;
	const struct elf_section *table;
	u64 from = 0, n = len, read = 0;

	elf_file_open("/proc/self/exe", &whole);
	table = elf_section_named(whole, "pantrace_table");
	for (int round = 0; round < 600; round++) {
		char *copy = xmalloc(len);
		struct elf_file *f;
		struct lines l = {0};

		memcpy(copy, data, len);
		for (int i = 0; i < 8; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			/*
			 * the table, its relocations and what they name: data; now and then
			 * anything
			 */
			from = round % 4 == 0 ? table->offset : round % 4 == 1 ? len * 3 / 4 : 64;
			n = round % 4 == 0 ? table->size : len - from;
			copy[from + seed % n] = (char)(seed >> 40);
		}
		if (elf_file_open_buffer(copy, len, "/nonexistent/unit", &f))
			continue;
		elf_file_each_user_event(f, line, &l);
		read += l.count;
		elf_file_close(f);
	}
	elf_file_close(whole);
	ok(read > 0, "600 damaged files: %llu events", (unsigned long long)read);
}

int main(void)
{
	struct lines l = {0};
	struct elf_file *f;
	char *data;
	size_t len;
	u32 calls = 0;

	sites(1);
	if (elf_file_open("/proc/self/exe", &f))
		return 1;
	ok(!elf_file_each_user_event(f, line, &l), "the events of an executable");
	is_int(l.count, 3, "one a line of the source");
	is_str(l.first,
	       "event 1 0 3 unit:first 5:i 13:url 69:kind:get=0,put=1 99:codes:3 22:inner 10:ratio "
	       "23:",
	       "with level and all kinds of fields");
	is_str(l.second, "event 1 0 13 unit:second 8:big", "as the program will say it");
	ok(elf_file_each_user_event(f, stop, &calls) == 7 && calls == 1, "until it is enough");
	elf_file_close(f);
	if (file_read("/proc/self/exe", 256 << 20, &data, &len))
		return 1;
	test_damaged(data, len);
	free(data);
	return tap_done();
}
