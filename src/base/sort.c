/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/sort.h"

static u64 number_at(const u8 *row, size_t at)
{
	u64 n;

	memcpy(&n, row + at, sizeof(n));
	return n;
}

/* By one byte of the numbers, the lowest first; bytes that are the same in all of them are left
 * out. */
void sort_by_number(void *rows, size_t count, size_t size, size_t at)
{
	u8 *from = rows, *const spare = xmalloc(count * size + 1), *to = spare;
	u64 differs = 0;

	for (size_t i = 0; i < count; i++)
		differs |= number_at(from + i * size, at) ^ number_at(from, at);
	for (u32 shift = 0; shift < 64; shift += 8) {
		size_t places[256] = {0}, place = 0;
		u8 *const sorted = to;

		if (!(differs >> shift & 0xff))
			continue;
		for (size_t i = 0; i < count; i++)
			places[number_at(from + i * size, at) >> shift & 0xff]++;
		for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
			const size_t n = places[i];

			places[i] = place;
			place += n;
		}
		for (size_t i = 0; i < count; i++) {
			const u8 *const row = from + i * size;

			memcpy(to + places[number_at(row, at) >> shift & 0xff]++ * size, row, size);
		}
		to = from;
		from = sorted;
	}
	if (from != rows)
		memcpy(rows, from, count * size);
	free(spare);
}
