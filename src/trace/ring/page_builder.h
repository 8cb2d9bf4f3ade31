/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events become pages of a ring buffer again (trace/ring/page.h has the layout): what was taken out
 * of pages, with its own times and marks of losses, as a ring would have it that had recorded these
 * events alone.
 *
 *	page_builder_init(&b, &layout);
 *	for (each event of the CPU)
 *		while (!page_builder_add(&b, &event, lost)) {
 *			write(page_builder_finish(&b), layout.size);
 *		}
 *	if (!page_builder_is_empty(&b)) write(page_builder_finish(&b), layout.size);
 *	page_builder_release(&b);
 */
#ifndef PANTRACE_TRACE_RING_PAGE_BUILDER_H
#define PANTRACE_TRACE_RING_PAGE_BUILDER_H

#include "trace/ring/page.h"

struct page_builder {
	struct page_layout layout;
	u8 *data; /* layout.size bytes; NULL until there is an event */
	u32 used; /* of the events */
	u64 time; /* of the last event */
	u64 lost; /* before the first event of this page */
	bool is_begun; /* it has an event */
};

void page_builder_init(struct page_builder *b, const struct page_layout *layout);
void page_builder_release(struct page_builder *b);
/*
 * lost: events that are missing before this one, or PAGE_LOST_UNKNOWN. False: the page is to be
 * finished first. On an empty page it is always true; what is longer than a page is left out and
 * counted as lost.
 */
bool page_builder_add(struct page_builder *b, const struct page_event *e, u64 lost);
static inline bool page_builder_is_empty(const struct page_builder *b)
{
	return !b->is_begun;
}
/* The page, valid until the next call; the builder is empty then. */
const void *page_builder_finish(struct page_builder *b);

#endif
