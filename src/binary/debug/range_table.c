/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/debug/range_table.h"

#include "base/sort.h"

void range_table_add(struct range_table *t, u64 start, u64 end, u32 item)
{
	if (start < end)
		vector_push(&t->rows, (struct range_row){start, end, .item = item});
}

void range_table_sort(struct range_table *t)
{
	u64 reach = 0;

	sort_by_number(t->rows.items, t->rows.len, sizeof(*t->rows.items),
		       offsetof(struct range_row, start));
	for (size_t i = 0; i < t->rows.len; i++) {
		reach = MAX(reach, t->rows.items[i].end);
		t->rows.items[i].reach = reach;
	}
}

u32 range_table_find(const struct range_table *t, u64 address)
{
	size_t low = 0, high = t->rows.len;
	u32 best = UINT32_MAX;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (t->rows.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* low: the first row behind the address */
	for (size_t i = low; i-- > 0 && t->rows.items[i].reach > address;)
		if (t->rows.items[i].end > address)
			best = MIN(best, t->rows.items[i].item);
	return best;
}

void range_table_release(struct range_table *t)
{
	vector_free(&t->rows);
}
