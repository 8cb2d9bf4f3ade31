/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Virtual addresses of x86-64, by the kernel's own page tables (Intel SDM 3A, 4.5). */
#include "trace/vmcore/kernel_internal.h"

#define KERNEL_MAP    0xffffffff80000000u /* where the kernel's own code and data are mapped */
#define ENTRIES	      512u
#define ENTRY_PRESENT 1u
#define ENTRY_LARGE   0x80u
#define ENTRY_ADDRESS 0x000ffffffffff000u

int dead_address_init(struct dead_kernel *k)
{
	s64 base, five = 0, encrypted = 0;
	u64 table;

	if (!dead_info_hex(k, "SYMBOL(swapper_pg_dir)", &table) ||
	    !dead_info_number(k, "NUMBER(phys_base)", &base))
		return -ENOKEY;
	dead_info_number(k, "NUMBER(pgtable_l5_enabled)", &five);
	dead_info_number(k, "NUMBER(sme_mask)", &encrypted);
	k->table = table - KERNEL_MAP + (u64)base;
	k->table_mask = ENTRY_ADDRESS & ~(u64)encrypted;
	k->levels = five ? 5 : 4;
	return 0;
}

/* Of the page that begins at this address. */
static int translate(struct dead_kernel *k, u64 page, u64 *ret)
{
	struct dead_translation *const known =
		&k->translations[page / DEAD_PAGE % DEAD_TRANSLATIONS];
	const u32 unused =
		64 - 12 - 9 * k->levels; /* upper bits, all equal to the highest bit that is used */
	u64 table = k->table;

	if ((u64)((s64)(page << unused) >> unused) != page)
		return -EFAULT;
	if (page && known->page == page) {
		*ret = known->physical;
		return 0;
	}
	for (u32 level = k->levels; level; level--) {
		const u32 shift = 12 + 9 * (level - 1);
		const u64 size = (u64)1 << shift;
		u64 entry;
		const int err = dump_read(k->dump, table + (page >> shift) % ENTRIES * 8, &entry,
					  sizeof(entry));

		if (err)
			return err;
		if (!(entry & ENTRY_PRESENT))
			return -EFAULT;
		table = entry & k->table_mask;
		if (level > 1 && level < 4 && entry & ENTRY_LARGE) {
			table = (table & ~(size - 1)) + (page & (size - 1));
			break;
		}
	}
	*known = (struct dead_translation){page, table};
	*ret = table;
	return 0;
}

int dead_read(struct dead_kernel *k, u64 address, void *to, size_t n)
{
	for (u8 *out = to; n;) {
		const u64 within = address % DEAD_PAGE;
		const size_t piece = MIN(n, DEAD_PAGE - within);
		u64 physical;
		int err = translate(k, address - within, &physical);

		if (!err)
			err = dump_read(k->dump, physical + within, out, piece);
		if (err)
			return err;
		address += piece;
		out += piece;
		n -= piece;
	}
	return 0;
}

int dead_physical(struct dead_kernel *k, u64 address, u64 *ret)
{
	const u64 within = address % DEAD_PAGE;
	const int err = translate(k, address - within, ret);

	*ret += within;
	return err;
}

int dead_u64(struct dead_kernel *k, u64 address, u64 *ret)
{
	return dead_read(k, address, ret, sizeof(*ret));
}

char *dead_string(struct dead_kernel *k, u64 address, size_t most)
{
	struct strbuf text = STRBUF_INIT;

	while (address && text.len <= most) {
		const size_t piece = MIN(DEAD_PAGE - address % DEAD_PAGE, (u64)64);
		char bytes[64];
		const char *end;

		if (dead_read(k, address, bytes, piece))
			break;
		end = memchr(bytes, '\0', piece);
		strbuf_add(&text, bytes, end ? (size_t)(end - bytes) : piece);
		if (end && text.len <= most)
			return strbuf_detach(&text);
		if (end)
			break;
		address += piece;
	}
	strbuf_release(&text);
	return NULL;
}
