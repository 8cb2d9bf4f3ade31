/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output of a script as a page (view/page/script.js). */
#ifndef PANTRACE_VIEW_PAGE_SCRIPT_H
#define PANTRACE_VIEW_PAGE_SCRIPT_H

#include "view/output.h"

/* lines: of JSON, as `-f json` prints them (doc/json.md). */
void script_page(const char *title, const struct strbuf *lines, struct strbuf *out);

/* What is kept of a run's output, and of how much more it was. */
void script_page_lines(const struct output *printed, struct strbuf *to);

/*
 * The lines within the first MOST bytes, as tables and text without JavaScript. False: there are
 * more.
 */
bool script_still(const struct strbuf *lines, size_t most, struct strbuf *out);

/* The same page without lines: it asks for "data" repeatedly. */
void script_served_page(const char *title, struct strbuf *out);

#endif
