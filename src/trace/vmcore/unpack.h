/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compression of pages in dumps. */
#ifndef PANTRACE_TRACE_VMCORE_UNPACK_H
#define PANTRACE_TRACE_VMCORE_UNPACK_H

#include "base/base.h"

/* Bits of a page's flags in a kdump-compressed file. */
enum packing {
	PACKED_ZLIB = 0x01,
	PACKED_LZO = 0x02,
	PACKED_SNAPPY = 0x04,
	PACKED_ZSTD = 0x20,
};

/* Exactly `size` bytes come out. 0, -EINVAL: damaged; -EOPNOTSUPP: another packing. */
int unpack_page(u32 packing, const u8 *from, size_t n, u8 *to, size_t size);

#endif
