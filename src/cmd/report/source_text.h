/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of source files, each file read once. Zero-initialised but for directory and places. */
#ifndef PANTRACE_CMD_REPORT_SOURCE_TEXT_H
#define PANTRACE_CMD_REPORT_SOURCE_TEXT_H

#include "base/diag.h"
#include "base/hashmap.h"
#include "base/options.h"
#include "base/strbuf.h"

struct debug_source;

struct source_texts {
	const char *directory; /* that relative paths are below; NULL = unknown */
	const struct string_list
		*places; /* where files are looked for that are not at their path */
	struct hashmap files; /* by path -> struct debug_source */
	struct strbuf text;
	/* where the line that was asked for last begins */
	const struct debug_source *source;
	const char *at;
	u32 line;
};

/*
 * A line (from 1 on) without its newline, tabs as spaces; valid until the next call. NULL: it is
 * not to be had, which a warning says once for each file.
 */
const char *source_texts_line(struct source_texts *s, const char *file, u32 line, struct diag *d);
void source_texts_release(struct source_texts *s);

#endif
