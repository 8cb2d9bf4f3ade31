/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/page/page.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/escape.h"

void page_add_text(struct strbuf *data, const char *text, size_t len)
{
	strbuf_add_leb128(data, len);
	strbuf_add(data, text, len);
}

static void add_base64(struct strbuf *out, const u8 *data, size_t n)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *to = strbuf_reserve(out, (n + 2) / 3 * 4);

	for (size_t i = 0; i < n; i += 3) {
		const u32 bits = (u32)data[i] << 16 | (i + 1 < n ? (u32)data[i + 1] << 8 : 0) |
				 (i + 2 < n ? data[i + 2] : 0);

		*to++ = letters[bits >> 18];
		*to++ = letters[bits >> 12 & 63];
		*to++ = i + 1 < n ? letters[bits >> 6 & 63] : '=';
		*to++ = i + 2 < n ? letters[bits & 63] : '=';
	}
	out->len += (n + 2) / 3 * 4;
	out->data[out->len] = 0;
}

/* In zlib format (RFC 1950), which browsers can unpack. */
static void add_data(struct strbuf *out, const void *data, size_t len)
{
	uLongf n = compressBound(len);
	u8 *packed = xreallocarray(NULL, n, 1);

	/* level 5: a third of the time of 6, up to 6 % larger; cannot fail with compressBound() */
	compress2(packed, &n, data, len, 5);
	add_base64(out, packed, n);
	free(packed);
}

static const struct embedded_page *page_part(const char *name)
{
	const struct embedded_page *e = embedded_pages;

	while (!str_eq(e->name, name))
		e++;
	return e;
}

void page_write(struct page *p, struct strbuf *out)
{
	const struct embedded_page *style = page_part("style"), *script = page_part(p->script);

	strbuf_addf(out,
		    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; "
		    "form-action 'none'%s\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<title>",
		    style->sha256, script->sha256, p->is_served ? "; connect-src 'self'" : "");
	escape_xml(out, p->title, strlen(p->title));
	strbuf_addstr(out, "</title>\n<style>");
	strbuf_add(out, style->text, style->len);
	strbuf_addstr(out, "</style>\n</head>\n<body>\n<h1>");
	escape_xml(out, p->title, strlen(p->title));
	strbuf_addstr(out, "</h1>\n<main id=\"picture\"></main>\n<noscript>");
	strbuf_add(out, p->still.data, p->still.len);
	strbuf_addstr(out, "</noscript>\n<div id=\"tables\">");
	strbuf_add(out, p->table.data, p->table.len);
	strbuf_addstr(out, "</div>\n<script type=\"application/octet-stream\" id=\"data\">");
	if (!p->is_served)
		add_data(out, p->data.data, p->data.len);
	strbuf_addstr(out, "</script>\n<script>");
	strbuf_add(out, script->text, script->len);
	strbuf_addstr(out, "</script>\n</body>\n</html>\n");
	strbuf_release(&p->still);
	strbuf_release(&p->table);
	strbuf_release(&p->data);
}
