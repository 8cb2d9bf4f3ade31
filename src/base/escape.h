/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Escapes strings of the traced world for output. Strings stay raw inside the program; each writer
 * escapes for its own medium.
 */
#ifndef PANTRACE_BASE_ESCAPE_H
#define PANTRACE_BASE_ESCAPE_H

#include "base/strbuf.h"

/*
 * For a terminal or text file: control characters (0x00-0x1f except newline and tab,
 * 0x7f, C1 as bytes of invalid UTF-8) become \xNN; valid UTF-8 passes, except the code
 * points that control a terminal (U+0080-U+009F) or reorder text (bidi overrides).
 */
void escape_terminal(struct strbuf *out, const char *s, size_t n);
/* The same for one line of a table: newline and tab are escaped too. */
void escape_line(struct strbuf *out, const char *s, size_t n);
/* What is no UTF-8 becomes \xNN, all else stays. */
void escape_utf8(struct strbuf *out, const char *s, size_t n);
/* Inside a JSON string, without the quotes; for base/json.h, which has the rules. */
void escape_json(struct strbuf *out, const char *s, size_t n);
/*
 * For the text or a quoted attribute of XML and HTML. Control characters but newline and tab, what
 * reorders text, and invalid UTF-8 become \xNN.
 */
void escape_xml(struct strbuf *out, const char *s, size_t n);
/* The words of a command as a shell takes them, with blanks between. */
void escape_shell(struct strbuf *out, char *const *words, int count);

#endif
