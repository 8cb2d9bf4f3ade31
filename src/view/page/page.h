/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A picture as one HTML file: no network, no framework, the same bytes for the same input. Its
 * content security policy allows only its own script and style, by their hashes. Its data are
 * compressed inside it; if scripts are off, a static picture and the table are shown.
 */
#ifndef PANTRACE_VIEW_PAGE_PAGE_H
#define PANTRACE_VIEW_PAGE_PAGE_H

#include "base/strbuf.h"

/* build/gen/pages.c (scripts/embed-pages.sh): NAME.js after parts.js, and page.css. */
struct embedded_page {
	const char *name;
	const char *text;
	size_t len;
	const char *sha256; /* in base64, as in the policy */
};
extern const struct embedded_page embedded_pages[]; /* the style first; ends with name NULL */

struct page {
	const char *script; /* "flame" */
	const char *title; /* any bytes */
	struct strbuf still; /* HTML: shown if scripts are off */
	struct strbuf table; /* HTML */
	struct strbuf data; /* what the script reads */
	bool is_served; /* it asks for its data, as "data", and may ask for more */
};
#define PAGE_INIT(SCRIPT, TITLE)                                            \
	{                                                                   \
		SCRIPT, TITLE, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, false \
	}

/* Also releases the page's strings. */
void page_write(struct page *p, struct strbuf *out);

/* In the data, a number is LEB128 (strbuf_add_leb128()), a text is its length and its bytes. */
void page_add_text(struct strbuf *data, const char *text, size_t len);

#endif
