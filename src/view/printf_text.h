/* SPDX-License-Identifier: GPL-2.0-or-later */
/* printf formats of a script (struct format) applied to the payload of a record. */
#ifndef PANTRACE_VIEW_PRINTF_TEXT_H
#define PANTRACE_VIEW_PRINTF_TEXT_H

#include "view/printf_format.h"
#include "view/value.h"

/*
 * payload holds payload_type->size bytes. Arguments are numbered from the payload's first member
 * on.
 */
void format_text(struct value_printer *p, struct strbuf *out, const struct format *f,
		 const struct type *payload_type, const u8 *payload);

#endif
