/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of a trace.dat: all but the pages, in versions 6 and 7. */
#ifndef PANTRACE_TRACE_DAT_HEAD_H
#define PANTRACE_TRACE_DAT_HEAD_H

#include "trace/dat/writer.h"

#define DAT_ZSTD_LEVEL	 1 /* 1.2 GB/s, and hardly larger than at level 3 */
#define DAT_SECTION_HEAD 16 /* bytes; the last eight are the section's size */

struct dat_head {
	struct strbuf out, names; /* names: of version 7's sections */
	u64 *slots; /* of each CPU, in the order of the options: where {u64 offset, size} stand */
	u64 buffer; /* where the section with the pages begins; version 6: where the head ends */
};

/* The result belongs to the caller. */
struct dat_head dat_head_make(const struct dat_writer_options *o, const struct dat_contents *c);
void dat_head_release(struct dat_head *h);

#endif
