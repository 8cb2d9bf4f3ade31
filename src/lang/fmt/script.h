/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A script in its standard layout: what upstream's --fmt prints, except that
 *  - comments stay at the end of the line that they stand on, and an expression with comments
 *  within is kept as it is; - older spellings (`->`, compound assignments written out, quoted
 *  settings, escapes in strings) stay as they were written; - several blank lines become one.
 * Neither macros of the preprocessor nor imports are looked into: each line of the preprocessor is
 * kept where it stands.
 */
#ifndef PANTRACE_LANG_FMT_SCRIPT_H
#define PANTRACE_LANG_FMT_SCRIPT_H

#include "base/diag.h"
#include "base/strbuf.h"

/*
 * Adds the text of diag->sources[file], laid out anew, to out. Returns 0, or -EINVAL with
 * diagnostics and out unchanged: it is no script, or the result would not mean the same.
 */
int script_format(struct diag *diag, u16 file, struct strbuf *out);

#endif
