/* SPDX-License-Identifier: GPL-2.0-or-later */
/* %gr: the flags of the kernel's page allocator by their names. */
#ifndef PANTRACE_VIEW_GFP_H
#define PANTRACE_VIEW_GFP_H

#include "types/type.h"

/* GFP_KERNEL|__GFP_ZERO; 0 for none; what has no name in hexadecimal. */
void gfp_text(struct strbuf *out, struct type_store *types, u64 flags);

#endif
