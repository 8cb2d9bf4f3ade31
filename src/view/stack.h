/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks as text, newline-led, one frame a line:
 *
 *	bpftrace  "        function+offset[@file:line]"
 *	perf      "\taddress function+offset (object)"
 *	raw       "address"
 *	build_id  "build-id 0xfile-offset", or the address where no build-id is known
 */
#ifndef PANTRACE_VIEW_STACK_H
#define PANTRACE_VIEW_STACK_H

#include "view/value.h"

/* data: a value of TYPE_KSTACK or TYPE_USTACK. */
void stack_text(struct value_printer *p, struct strbuf *out, const struct type *t,
		const void *data);

#endif
