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
	const struct strbuf *still; /* HTML: seen where scripts are off */
	const struct strbuf *table; /* HTML */
	const void *data; /* what the script reads */
	size_t len;
};

void page_write(const struct page *p, struct strbuf *out);

/* Numbers of the data: 7 bits a byte, the lowest first; the last byte is below 128 (LEB128). */
void page_add_number(struct strbuf *data, u64 value);

#endif
