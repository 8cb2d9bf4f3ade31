/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/gfp.h"

#include <stdio.h>

/*
 * include/linux/gfp_types.h. The numbers of the bits are the kernel's own by its BTF (6.10 and
 * later).
 */
enum gfp_bit {
	BIT_DMA,
	BIT_HIGHMEM,
	BIT_DMA32,
	BIT_MOVABLE,
	BIT_RECLAIMABLE,
	BIT_HIGH,
	BIT_IO,
	BIT_FS,
	BIT_ZERO,
	BIT_DIRECT_RECLAIM,
	BIT_KSWAPD_RECLAIM,
	BIT_WRITE,
	BIT_NOWARN,
	BIT_RETRY_MAYFAIL,
	BIT_NOFAIL,
	BIT_NORETRY,
	BIT_MEMALLOC,
	BIT_COMP,
	BIT_NOMEMALLOC,
	BIT_HARDWALL,
	BIT_THISNODE,
	BIT_ACCOUNT,
	BIT_ZEROTAGS,
	BIT_SKIP_ZERO,
	BIT_SKIP_KASAN,
	BIT_NO_OBJ_EXT,
	BIT_COUNT
};

/* Numbers where BTF does not say them: of Linux 6.0 to 6.9. */
static const struct {
	const char *name;
	u8 number;
} bits[BIT_COUNT] = {
	[BIT_DMA] = {"DMA", 0},
	[BIT_HIGHMEM] = {"HIGHMEM", 1},
	[BIT_DMA32] = {"DMA32", 2},
	[BIT_MOVABLE] = {"MOVABLE", 3},
	[BIT_RECLAIMABLE] = {"RECLAIMABLE", 4},
	[BIT_HIGH] = {"HIGH", 5},
	[BIT_IO] = {"IO", 6},
	[BIT_FS] = {"FS", 7},
	[BIT_ZERO] = {"ZERO", 8},
	[BIT_DIRECT_RECLAIM] = {"DIRECT_RECLAIM", 10},
	[BIT_KSWAPD_RECLAIM] = {"KSWAPD_RECLAIM", 11},
	[BIT_WRITE] = {"WRITE", 12},
	[BIT_NOWARN] = {"NOWARN", 13},
	[BIT_RETRY_MAYFAIL] = {"RETRY_MAYFAIL", 14},
	[BIT_NOFAIL] = {"NOFAIL", 15},
	[BIT_NORETRY] = {"NORETRY", 16},
	[BIT_MEMALLOC] = {"MEMALLOC", 17},
	[BIT_COMP] = {"COMP", 18},
	[BIT_NOMEMALLOC] = {"NOMEMALLOC", 19},
	[BIT_HARDWALL] = {"HARDWALL", 20},
	[BIT_THISNODE] = {"THISNODE", 21},
	[BIT_ACCOUNT] = {"ACCOUNT", 22},
	[BIT_ZEROTAGS] = {"ZEROTAGS", 23},
	[BIT_SKIP_ZERO] = {"SKIP_ZERO", 24},
	[BIT_SKIP_KASAN] = {"SKIP_KASAN", 25},
	[BIT_NO_OBJ_EXT] = {"NO_OBJ_EXT", 26},
};

#define B(name)	     (1u << BIT_##name)
#define NOIO	     (B(DIRECT_RECLAIM) | B(KSWAPD_RECLAIM))
#define NOFS	     (NOIO | B(IO))
#define KERNEL	     (NOFS | B(FS))
#define USER	     (KERNEL | B(HARDWALL))
#define MOVABLE_USER (USER | B(HIGHMEM) | B(MOVABLE) | B(SKIP_KASAN))
#define HUGE_LIGHT   ((MOVABLE_USER | B(COMP) | B(NOMEMALLOC) | B(NOWARN)) & ~NOIO)

/* Combinations first, as the kernel's own tracing has them (include/trace/events/mmflags.h). */
static const struct {
	const char *name;
	u32 mask; /* of enum gfp_bit */
} combinations[] = {
	{"GFP_TRANSHUGE", HUGE_LIGHT | B(DIRECT_RECLAIM)},
	{"GFP_TRANSHUGE_LIGHT", HUGE_LIGHT},
	{"GFP_HIGHUSER_MOVABLE", MOVABLE_USER},
	{"GFP_HIGHUSER", USER | B(HIGHMEM)},
	{"GFP_USER", USER},
	{"GFP_KERNEL_ACCOUNT", KERNEL | B(ACCOUNT)},
	{"GFP_KERNEL", KERNEL},
	{"GFP_NOFS", NOFS},
	{"GFP_ATOMIC", B(HIGH) | B(KSWAPD_RECLAIM)},
	{"GFP_NOIO", NOIO},
	{"GFP_NOWAIT", B(KSWAPD_RECLAIM) | B(NOWARN)},
	{"GFP_DMA", B(DMA)},
	{"GFP_DMA32", B(DMA32)},
};

/* The value of one flag in this kernel, 0 if it has none. */
static u64 flag_value(struct type_store *types, u32 bit, bool known)
{
	char name[48];
	s64 number = bits[bit].number;

	snprintf(name, sizeof(name), "___GFP_%s_BIT", bits[bit].name);
	if (known && !type_find_enumerator(types, name, &number))
		return 0;
	return number >= 0 && number < 64 ? 1ULL << number : 0;
}

static u64 mask_value(const u64 *values, u32 mask)
{
	u64 v = 0;

	for (u32 i = 0; i < BIT_COUNT; i++)
		v |= mask >> i & 1 ? values[i] : 0;
	return v;
}

static void add(struct strbuf *out, size_t start, const char *prefix, const char *name)
{
	strbuf_addf(out, "%s%s%s", out->len > start ? "|" : "", prefix, name);
}

void gfp_text(struct strbuf *out, struct type_store *types, u64 flags)
{
	const size_t start = out->len;
	u64 values[BIT_COUNT], v;
	s64 first;
	bool known;

	known = types && type_find_enumerator(types, "___GFP_DMA_BIT", &first);
	for (u32 i = 0; i < BIT_COUNT; i++)
		values[i] = flag_value(types, i, known);
	for (u32 i = 0; i < ARRAY_SIZE(combinations); i++) {
		v = mask_value(values, combinations[i].mask);
		if (!v || (flags & v) != v)
			continue;
		add(out, start, "", combinations[i].name);
		flags &= ~v;
	}
	for (u32 i = 0; i < BIT_COUNT; i++) {
		if (!values[i] || !(flags & values[i]))
			continue;
		add(out, start, "__GFP_", bits[i].name);
		flags &= ~values[i];
	}
	if (flags || out->len == start)
		strbuf_addf(out, flags ? "%s0x%llx" : "%s0", out->len > start ? "|" : "",
			    (unsigned long long)flags);
}
