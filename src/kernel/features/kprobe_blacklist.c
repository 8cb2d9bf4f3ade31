/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that kprobes may not be put on: a file in debugfs, whose lines are
 * "0xffffffff81000000-0xffffffff81000010\tname" (kprobe_blacklist_seq_show() in kernel/kprobes.c);
 * kernel.kptr_restrict makes the addresses 0.
 */
#include "base/file.h"
#include "base/vector.h"
#include "kernel/kernel_internal.h"

#define MAX_TEXT ((size_t)64 << 20)

static void add_line(struct kprobe_blacklist *b, char *line)
{
	char *dash, *tab;
	const u64 start = strtoull(line, &dash, 16);
	const u64 end = *dash == '-' ? strtoull(dash + 1, &tab, 16) : 0;

	if (start && end > start)
		vector_push(&b->ranges, (struct address_range){start, end});
	tab = strchr(line, '\t');
	if (tab) {
		tab[1 + strcspn(tab + 1, " \t")] = '\0';
		hashmap_puts(&b->names, tab + 1, b);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct address_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void load(struct kprobe_blacklist *b)
{
	char *text;

	if (b->is_loaded)
		return;
	b->is_loaded = true;
	if (file_read("/sys/kernel/debug/kprobes/blacklist", MAX_TEXT, &text, NULL))
		return;
	for (char *line = text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		add_line(b, line);
	}
	free(text);
	if (b->ranges.len)
		qsort(b->ranges.items, b->ranges.len, sizeof(*b->ranges.items), by_start);
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

bool kernel_function_blacklisted(struct kernel *k, const char *name, u64 address)
{
	struct kprobe_blacklist *b = &k->blacklist;

	load(b);
	if (!address || !b->ranges.len)
		return hashmap_gets(&b->names, name) != NULL;
	return has_address(b, address);
}

void kprobe_blacklist_release(struct kprobe_blacklist *b)
{
	vector_free(&b->ranges);
	hashmap_release(&b->names);
}
