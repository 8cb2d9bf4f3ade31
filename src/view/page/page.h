/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A picture as one HTML file: no network, no framework, the same bytes for the same input. It
 * bears a policy that lets nothing in but its own script and style, by their hashes. What it shows
 * lies in it compressed; where scripts are off, a static picture and the table are seen.
 */
#ifndef PANTRACE_VIEW_PAGE_PAGE_H
#define PANTRACE_VIEW_PAGE_PAGE_H

#include "base/strbuf.h"

/* build/gen/pages.c (scripts/embed-pages.sh): NAME.js after parts.js, and page.css. */
struct embedded_page {
	const char *name;
	const char *text;
	size_t len;
	const char *sha256; /* in base64, as the policy has it */
};
extern const struct embedded_page embedded_pages[]; /* the style first; ends with name NULL */

struct page {
	const char *script; /* "flame" */
	const char *title; /* any bytes */
	struct strbuf still; /* HTML: seen where scripts are off */
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

/* Numbers of the data are LEB128 (strbuf_add_leb128()), a text is its length, then its bytes. */
void page_add_text(struct strbuf *data, const char *text, size_t len);

#endif
