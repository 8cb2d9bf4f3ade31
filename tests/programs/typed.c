/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of many types, inlined functions, and lines to probe: typed N. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define APART  __attribute__((noinline, noipa))
#define INLINE static inline __attribute__((always_inline))

enum colour { RED, GREEN = 5, BLUE };

struct inner {
	short small;
	char text[12];
};

struct item {
	int id;
	struct inner inner;
	struct item *next;
	unsigned flags : 3, mode : 5;
	enum colour colour;
	long numbers[3];
};

struct pair {
	long a, b, c;
};

static volatile long sink;

APART long scalars(signed char a, unsigned short b, int c, uint64_t d, bool e, enum colour f,
		   long g, int h)
{
	return a + b + c + (long)d + e + (long)f + g + h;
}

APART struct item *objects(struct item *item, const char *name, struct pair by_value)
{
	sink += name[0] + by_value.c;
	return item->next;
}

APART int negative(int n)
{
	return -n;
}

APART double real(double x, int n)
{
	return x * n;
}

APART void leaf(long n)
{
	sink += n;
}

INLINE void innermost(long n)
{
	leaf(n * 2);
	sink++;
}

INLINE void middle(long n)
{
	innermost(n + 1);
	sink++;
}

APART void outer(long n)
{
	middle(n);
	sink++; /* line of a probe */
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1;
	struct item second = {.id = 2}, first = {.id = 1,
						 .inner = {-7, "hello"},
						 .next = &second,
						 .flags = 5,
						 .mode = 17,
						 .colour = GREEN,
						 .numbers = {1, -2, 3}};

	/* BPF reads only what is in memory: touch the page. */
	sink += *(const volatile char *)"name";
	for (long i = 0; i < n; i++) {
		scalars(-3, 65000, -70000, 0xfedcba9876543210, true, BLUE, 77, -88);
		objects(&first, "name", (struct pair){10, 20, 30});
		negative(5);
		real(1.5, 2);
		outer(i);
	}
	return 0;
}
