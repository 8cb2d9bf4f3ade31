/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * build: dyn
 * What tests of `probe` trace: each call prints the values of its variables, as a probe with
 * the same names has to show them. probed [CALLS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum colour { RED, GREEN = 7, BLUE };

struct inner {
	char tag[8];
	unsigned short half;
};

struct node {
	struct node *next;
	int id;
	unsigned char before;
	unsigned int flags : 5, kind : 3;
	unsigned int wide : 17;
	int below : 4;
	struct inner inner;
	int numbers[4];
	const char *name;
	double weight;
	enum colour colour;
	void (*call)(void);
};

int counter;
static long hidden = -7;
struct node table[3];

/* Its copies have x and y in different places. */
static inline __attribute__((always_inline)) int mix(int x, int y)
{
	int mixed = x * 31 + y;

	__asm__ volatile("nop" : : "r"(x), "r"(y), "r"(mixed) : "memory");
	return mixed ^ (mixed >> 3);
}

__attribute__((noinline)) int handle(struct node *n, const char *text, int len, double weight)
{
	int sum = 0;

	printf("handle n=%p text=%s len=%d id=%d next_id=%d third=%d name=%s flags=%u kind=%u "
	       "wide=%u before=%u half=%u tag=%s number=%d colour=%d counter=%d "
	       "hidden=%ld "
	       "table=%d\n",
	       (void *)n, text, len, n->id, n->next->id, n->next->next->id, n->name, n->flags,
	       n->kind, n->wide, n->before, n->inner.half, n->inner.tag, n->numbers[2],
	       (int)n->colour, counter, hidden, table[1].id);
	for (int i = 0; i < len; i++) {
		printf("at i=%d sum=%d\n", i, sum);
		printf("mix x=%d y=%d\n", text[i], n->numbers[i & 3]);
		sum += mix(text[i], n->numbers[i & 3]);
	}
	counter++;
	hidden -= weight > 2;
	return sum;
}

static __attribute__((noinline)) long many(signed char a, unsigned short b, long c, unsigned long d,
					   int e, int f, int seventh, short eighth)
{
	printf("many a=%d b=%u c=%ld d=%lu e=%d f=%d seventh=%d eighth=%d\n", a, b, c, d, e, f,
	       seventh, eighth);
	return c - seventh;
}

int main(int argc, char **argv)
{
	const int calls = argc > 1 ? atoi(argv[1]) : 1;
	char text[32] = "hey";
	struct node last = {.id = -3, .name = "last"},
		    middle = {.next = &last, .id = 20, .name = "middle"};
	struct node first = {
		.next = &middle,
		.id = 10,
		.before = 0xa3,
		.flags = 21,
		.kind = 5,
		.wide = 70001,
		.below = -3,
		.inner = {"tagged", 60000},
		.numbers = {1, -2, 3, -4},
		.name = "first",
		.weight = 1.5,
		.colour = GREEN,
	};
	long result = 0;

	table[1].id = 4711;
	for (int i = 0; i < calls; i++) {
		first.id++;
		result += handle(&first, text, (int)strlen(text), 1.0 + i);
		result += many(-5, 65535, -(1L << 40), ~0ul, -6, i, 77, -88);
	}
	return result == 42;
}
