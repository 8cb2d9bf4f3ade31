/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that kprobes may not be put on (kernel/kprobes.c): a list in the kernel's memory of
 *
 *	struct kprobe_blacklist_entry { struct list_head list; unsigned long start_addr, end_addr; };
 *
 * and the text of it in debugfs, for which the kernel looks up a name for each entry: 700 of them take 4 ms in a virtual machine
 * without help, the list half of one. The list is believed if each of its members points back at the one before.
 */
#include <stdlib.h>

#include "base/file.h"
#include "base/vector.h"
#include "kernel/core_symbols.h"
#include "kernel/kernel_internal.h"

#define MAX_TEXT ((size_t)64 << 20)

enum { PAGE = 4096, MAX_ENTRIES = 65536 };

struct entry {
	u64 next, previous, start, end;
};

/* The page of the member that was read last: they are small, and were made one after the other. */
struct reader {
	const struct kcore *core;
	u64 page;
	u8 bytes[PAGE];
};

static bool read_entry(struct reader *r, u64 address, void *ret, size_t len)
{
	const size_t at = address % PAGE;

	if (at + len > PAGE || !(address >> 63))
		return false;
	if (address - at != r->page) {
		r->page = 0;
		if (!kcore_read_all(r->core, address - at, r->bytes, PAGE))
			return false;
		r->page = address - at;
	}
	memcpy(ret, r->bytes + at, len);
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct address_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static bool read_list(struct kprobe_blacklist *b, const struct kcore *core, u64 head)
{
	struct reader *r = xzalloc(sizeof(*r));
	u64 at = head, before = 0;
	struct entry e = {0};
	bool ok;

	r->core = core;
	ok = head && read_entry(r, head, &e, 2 * sizeof(u64)); /* the head has no more */
	while (ok && e.next != head) {
		before = at;
		at = e.next;
		ok = read_entry(r, at, &e, sizeof(e)) && e.previous == before && e.start < e.end &&
		     e.start >> 63 && b->ranges.len < MAX_ENTRIES;
		if (ok)
			vector_push(&b->ranges, (struct address_range){e.start, e.end});
	}
	free(r);
	if (ok && b->ranges.len)
		qsort(b->ranges.items, b->ranges.len, sizeof(*b->ranges.items), by_start);
	return ok && b->ranges.len;
}

/* "0xffffffff81000000-0xffffffff81000010\tname" (kprobe_blacklist_seq_show()) */
static void read_text(struct kprobe_blacklist *b)
{
	char *text;

	if (file_read("/sys/kernel/debug/kprobes/blacklist", MAX_TEXT, &text, NULL))
		return;
	for (char *line = text, *end; *line; line = end) {
		char *tab;

		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		tab = strchr(line, '\t');
		if (tab) {
			tab[1 + strcspn(tab + 1, " \t")] = '\0';
			hashmap_puts(&b->names, tab + 1, b);
		}
	}
	free(text);
}

static bool has_address(const struct kprobe_blacklist *b, u64 address)
{
	const struct address_range *list = b->ranges.items;
	size_t low = 0, high = b->ranges.len;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Some stand there twice. */
	for (size_t i = low; i-- && list[i].start == list[low - 1].start;)
		if (address < list[i].end)
			return true;
	return false;
}

static bool knows_addresses(struct kernel *k)
{
	struct kprobe_blacklist *b = &k->blacklist;
	const struct kcore *core;

	if (!b->list_tried) {
		b->list_tried = true;
		core = kernel_core_symbols(k) ? kernel_kcore(k) : NULL;
		b->has_list = core &&
			      read_list(b, core, core_symbols_address(k->core, "kprobe_blacklist"));
	}
	return b->has_list;
}

bool kernel_function_blacklisted(struct kernel *k, const char *name, u64 address)
{
	struct kprobe_blacklist *b = &k->blacklist;

	if (address && knows_addresses(k))
		return has_address(b, address);
	if (!b->text_tried) {
		b->text_tried = true;
		read_text(b);
	}
	return hashmap_gets(&b->names, name) != NULL;
}

void kprobe_blacklist_release(struct kprobe_blacklist *b)
{
	vector_free(&b->ranges);
	hashmap_release(&b->names);
}
