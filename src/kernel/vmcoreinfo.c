/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In memory the note has a page of its own, whose physical address is in /sys/kernel/vmcoreinfo (kernel/ksysfs.c). All memory
 * is mapped at one place (Documentation/arch/x86/x86_64/mm.rst, "direct mapping"), which KASLR moves by whole GB. Our own
 * task_struct lies in it, so that it begins at one of the GB below that, and where the note is found it was that one.
 */
#include "kernel/vmcoreinfo.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define GB	 ((u64)1 << 30)
#define MAX_GB	 4096 /* below our task */
#define MAX_NOTE ((size_t)64 << 10)

static const char owner[] = "VMCOREINFO";

/* Name and descriptor are padded to 4 bytes each. */
char *vmcoreinfo_in_notes(const u8 *notes, size_t len)
{
	size_t at = 0;

	while (len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		size_t name, end;

		memcpy(&n, notes + at, sizeof(n));
		name = at + sizeof(n);
		if (n.n_namesz > len || n.n_descsz > len)
			return NULL;
		end = name + ALIGN_UP((size_t)n.n_namesz, 4) + ALIGN_UP((size_t)n.n_descsz, 4);
		if (end > len)
			return NULL;
		if (n.n_namesz == sizeof(owner) && !memcmp(notes + name, owner, sizeof(owner)))
			return xstrndup((const char *)notes + name +
						ALIGN_UP((size_t)n.n_namesz, 4),
					n.n_descsz);
		at = end;
	}
	return NULL;
}

/* "0x0000000100c66000 1024": the size is in hexadecimal, too. */
static bool read_place(u64 *ret_address, size_t *ret_len)
{
	unsigned long long address, len;
	char *text;
	bool ok;

	if (file_read("/sys/kernel/vmcoreinfo", 256, &text, NULL))
		return false;
	ok = sscanf(text, "%llx %llx", &address, &len) == 2 && len <= MAX_NOTE;
	free(text);
	*ret_address = address;
	*ret_len = (size_t)len;
	return ok;
}

/*
 * "Unaccepted: 1048576 kB" (6.5): memory of a confidential guest that its host has not given it yet, which the kernel must not
 * touch. Where there is some, no address may be tried.
 */
static bool has_unaccepted(void)
{
	static const char name[] = "\nUnaccepted:";
	char *text;
	const char *line;
	bool some;

	if (file_read("/proc/meminfo", 65536, &text, NULL))
		return true;
	line = strstr(text, name);
	some = line && strtoull(line + strlen(name), NULL, 10);
	free(text);
	return some;
}

static bool is_beginning(const u8 *bytes)
{
	Elf64_Nhdr n;

	memcpy(&n, bytes, sizeof(n));
	return n.n_namesz == sizeof(owner) &&
	       !memcmp(bytes + sizeof(n), owner, CORE_SPOT - sizeof(n));
}

/* Where physical memory that begins at ADDRESS is mapped; 0 = not found. */
static u64 find_mapped(struct core_copy *copy, u64 address)
{
	const u64 highest = core_copy_task(copy) & ~(GB - 1);
	u64 addresses[CORE_SPOTS];

	if (!highest)
		return 0;
	for (u64 gb = 0; gb < MAX_GB; gb += CORE_SPOTS) {
		const u8 *bytes;

		/* Where there is no memory at all zeros are read. */
		for (u32 i = 0; i < CORE_SPOTS; i++)
			addresses[i] = highest - (gb + i) * GB + address;
		bytes = core_copy_spots(copy, addresses, CORE_SPOTS);
		for (u32 i = 0; bytes && i < CORE_SPOTS; i++)
			if (is_beginning(bytes + (size_t)i * CORE_SPOT))
				return addresses[i];
	}
	return 0;
}

char *vmcoreinfo_in_memory(struct core_copy *copy)
{
	u64 physical, address;
	char *text = NULL;
	u8 *slot;
	size_t len;

	if (has_unaccepted() || !read_place(&physical, &len))
		return NULL;
	address = find_mapped(copy, physical);
	slot = address ? core_copy_take(copy) : NULL;
	if (!slot)
		return NULL;
	if (core_copy_fill(copy, slot, address, len))
		text = vmcoreinfo_in_notes(slot, len);
	core_copy_give(copy, slot);
	return text;
}

u64 vmcoreinfo_symbol(const char *text, const char *name)
{
	char *line = xasprintf("SYMBOL(%s)=", name);
	const char *at = text;
	u64 address = 0;

	while (at && (at = strstr(at, line))) {
		if (at == text || at[-1] == '\n') {
			address = strtoull(at + strlen(line), NULL, 16);
			break;
		}
		at++;
	}
	free(line);
	return address;
}
