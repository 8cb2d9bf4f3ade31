/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Standard deviation from { total, count, sum of squares }, as DTrace computes it: the integer
 * square root of (average of the squares - square of the average), all in 128 bits.
 */
#include "view/stddev.h"

typedef unsigned __int128 u128;

/* Bit by bit, from the highest power of four down. */
static u64 square_root(u128 n)
{
	u128 root = 0, bit = (u128)1 << 126;

	while (bit > n)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (n >= root + bit) {
			n -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return (u64)root;
}

u64 stddev_of(s64 total, u64 count, u128 squares)
{
	u64 average;
	u128 of_squares, square;

	if (!count)
		return 0;
	average = (total < 0 ? -(u64)total : (u64)total) / count;
	of_squares = squares / count;
	square = (u128)average * average;
	return of_squares > square ? square_root(of_squares - square) : 0;
}
