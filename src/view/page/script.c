/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/page/script.h"

#include "view/page/page.h"

#define STILL_MOST (1u << 20) /* bytes of lines shown if scripts are off: more would be slow */

void script_page_lines(const struct output *printed, struct strbuf *to)
{
	if (printed->dropped)
		strbuf_addf(to,
			    "{\"type\": \"dropped_lines\", \"data\": {\"lines\": %" PRIu64 "}}\n",
			    printed->dropped);
	strbuf_add(to, printed->text.data, printed->text.len);
}

void script_page(const char *title, const struct strbuf *lines, struct strbuf *out)
{
	struct page page = PAGE_INIT("script", title);

	strbuf_addstr(&page.still, "<p>Pictures need JavaScript.</p>\n");
	if (!script_still(lines, STILL_MOST, &page.still))
		strbuf_addstr(&page.still, "<p>More was printed: it needs JavaScript, too.</p>\n");
	strbuf_add(&page.data, lines->data, lines->len);
	page_write(&page, out);
}

void script_served_page(const char *title, struct strbuf *out)
{
	struct page page = PAGE_INIT("script", title);

	strbuf_addstr(&page.still, "<p>This page needs JavaScript.</p>");
	page.is_served = true;
	page_write(&page, out);
}
