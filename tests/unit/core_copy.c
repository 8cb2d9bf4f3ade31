/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's memory, copied by a program: the same bytes as /proc/kcore has, through windows and as spots; what cannot be read; without the file. */
#include "kernel/core_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/core_table.h"
#include "kernel/kernel.h"
#include "tap.h"

enum { LEN = 200000 };

/* Each byte of both, at steps that move the windows forwards and back. */
static void compare_windows(const struct kcore *slow, const struct kcore *quick, u64 address)
{
	struct core_window a, b;
	u32 same = 0, looks = 0;

	core_window_open(&a, slow, address, LEN, 8192);
	core_window_open(&b, quick, address, LEN, CORE_SLOT);
	ok(b.is_slot && !a.is_slot, "one of them is filled by the program");
	for (size_t at = 0; at < LEN; at += 977) {
		const size_t from = at % 5 ? at : LEN - at;
		size_t na, nb;
		const u8 *x = core_window_at(&a, from, 977, &na);
		const u8 *y = core_window_at(&b, from, 977, &nb);

		looks++;
		same += na == nb && !memcmp(x, y, na);
	}
	is_int(same, looks, "kernel text in windows");
	core_window_close(&a);
	core_window_close(&b);
}

static void compare_spots(const struct kcore *slow, const struct kcore *quick, u64 address)
{
	u8 a[CORE_SPOTS * CORE_SPOT], b[CORE_SPOTS * CORE_SPOT];
	u64 addresses[CORE_SPOTS];

	for (u64 i = 0; i < CORE_SPOTS; i++)
		addresses[i] = address + i * i * 37;
	memset(b, 0xff, sizeof(b));
	kcore_read_spots(slow, addresses, CORE_SPOTS, a);
	kcore_read_spots(quick, addresses, CORE_SPOTS, b);
	ok(!memcmp(a, b, sizeof(a)), "spots");
	memset(b, 0xff, sizeof(b));
	kcore_read_spots(quick, addresses, 3, b);
	ok(!memcmp(a, b, 3 * CORE_SPOT) && b[3 * CORE_SPOT] == 0xff, "a few of them");
}

static bool is_zero(const u8 *bytes)
{
	static const u8 zeros[CORE_SPOT];

	return !memcmp(bytes, zeros, sizeof(zeros));
}

static void test_unreadable(const struct kcore *slow, const struct kcore *quick, u64 address)
{
	const u64 addresses[] = {0, address}; /* nobody's, and text */
	u8 a[2 * CORE_SPOT], b[2 * CORE_SPOT];
	u8 *slots[CORE_SLOTS];

	kcore_read_spots(slow, addresses, 2, a);
	kcore_read_spots(quick, addresses, 2, b);
	ok(is_zero(b) && !is_zero(b + CORE_SPOT) && !memcmp(a, b, sizeof(a)),
	   "a spot that cannot be read is zeros, its neighbour is not");
	for (u32 i = 0; i < CORE_SLOTS; i++)
		slots[i] = core_copy_take(quick->copy);
	ok(slots[CORE_SLOTS - 1] && !core_copy_take(quick->copy), "so many slots and no more");
	ok(!core_copy_fill(quick->copy, slots[1], 4096, 64), "user memory is not copied");
	ok(!core_copy_fill(quick->copy, slots[1], address, CORE_SLOT + 1) &&
		   !core_copy_fill(quick->copy, slots[1], address, 0),
	   "nor more than a slot, nor nothing");
	ok(core_copy_fill(quick->copy, slots[1], address, CORE_SLOT) &&
		   core_copy_fill(quick->copy, slots[2], address + 64, CORE_SLOT) &&
		   !memcmp(slots[1] + 64, slots[2], CORE_SLOT - 64),
	   "whole slots");
	core_copy_give(quick->copy, slots[1]);
	ok(core_copy_take(quick->copy) == slots[1], "one that was given back");
	for (u32 i = 0; i < CORE_SLOTS; i++)
		core_copy_give(quick->copy, slots[i]);
}

/* Without the file: what its symbols say, and a read that goes beyond a page. */
static void test_memory(const struct kcore *file, u64 address)
{
	u8 *a = xzalloc(LEN), *b = xzalloc(LEN);
	struct kcore memory;

	if (kcore_open_memory(&memory)) {
		ok(true, "without /proc/kcore # SKIP the kernel has no programs that copy its "
			 "memory, or no VMCOREINFO");
	} else {
		is_int(kcore_symbol(&memory, "_stext"), address, "VMCOREINFO is found in memory");
		is_int(kcore_symbol(&memory, "_stex"), 0, "a name it does not have");
		ok(!kcore_read_all(&memory, 4096, b, 64), "user memory is not read");
		ok(kcore_read_all(&memory, address + 5, b, LEN), "a read of many pages");
		if (file)
			ok(kcore_read_all(file, address + 5, a, LEN) && !memcmp(a, b, LEN),
			   "what the file has");
	}
	kcore_close(&memory);
	free(a);
	free(b);
}

/* As the text has it; 0: it cannot be read. */
static u64 text_address(const char *symbol)
{
	char name[512], kind;
	unsigned long long address;
	u64 found = 0;
	FILE *f = fopen("/proc/kallsyms", "r");

	while (f && !found && fscanf(f, "%llx %c %511s%*[^\n]", &address, &kind, name) == 3)
		if (str_eq(name, symbol))
			found = address;
	if (f)
		fclose(f);
	return found;
}

int main(void)
{
	struct kernel *k = kernel_new();
	const u64 address = text_address("_stext");
	struct kcore slow, quick;

	is_int(kernel_symbol_address(k, "_stext"), address, "a symbol as the text has it");
	if (kcore_open(&slow, NULL) || kcore_open(&quick, NULL) || !address) {
		ok(true, "the kernel's memory # SKIP neither /proc/kcore nor kallsyms can be read");
	} else if (slow.fd < 0) {
		test_memory(NULL, address);
	} else {
		test_memory(&slow, address);
		kcore_expect_much(&quick);
		if (!quick.copy->shared) {
			ok(true,
			   "a program # SKIP the kernel has no programs that copy its memory");
		} else {
			compare_windows(&slow, &quick, address);
			compare_spots(&slow, &quick, address);
			test_unreadable(&slow, &quick, address);
		}
	}
	kcore_close(&slow);
	kcore_close(&quick);
	kernel_release(k);
	return tap_done();
}
