/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nested calls, each of which prints its variables as an object of JSON before it calls the next:
 * `report --locals` must show the same. The last one is stop(). With an argument a signal is the
 * last call.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noipa))
#endif

enum colour { RED, GREEN = 7 };

struct point {
	int x, y;
	unsigned flag : 3;
	char tag[8];
};

static volatile int sink;

APART void stop(void)
{
	static int calls = 3; /* is nowhere near the stack */

	sink += getpriority(PRIO_PROCESS, calls - 3);
}

static inline __attribute__((always_inline)) int inlined(int a, const struct point *p)
{
	int twice = a * 2 + sink;
	char name[16];
	const char *text = name;

	snprintf(name, sizeof(name), "name-%d", a);
	printf("{\"function\":\"inlined\",\"a\":%d,\"twice\":%d,\"name\":\"%s\",\"p\":%lu,"
	       "\"text\":%lu}\n",
	       a, twice, name, (unsigned long)p, (unsigned long)text);
	stop();
	return twice + p->x + text[2] + a;
}

APART int middle(int n, enum colour c, double weight, unsigned char small)
{
	struct point here = {n, -n, 5, "tag"};
	long product = n * 1000000007L;

	printf("{\"function\":\"middle\",\"n\":%d,\"c\":%d,\"weight\":%g,\"small\":%u,"
	       "\"product\":%ld,\"here\":{\"x\":%d,\"y\":%d,\"flag\":%u,\"tag\":\"%s\"}}\n",
	       n, (int)c, weight, small, product, here.x, here.y, here.flag, here.tag);
	sink += inlined(n + 1, &here);
	return (int)(product % 97) + (int)weight + here.y + small + (int)c + n;
}

APART int recurse(int depth, long total)
{
	int numbers[3] = {depth, depth * 2, depth * 3};
	int back;

	printf("{\"function\":\"recurse\",\"depth\":%d,\"total\":%ld,\"numbers\":[%d,%d,%d]}\n",
	       depth, total, numbers[0], numbers[1], numbers[2]);
	if (depth)
		back = recurse(depth - 1, total + depth);
	else
		back = middle((int)total, GREEN, 2.5, 200);
	sink += numbers[(unsigned)back % 3];
	return back + depth + (int)total;
}

/* A frame that is aligned is found through its frame pointer. */
APART int aligned(int start)
{
	char room[64] __attribute__((aligned(64)));
	int before = start + sink;

	memset(room, 'r', sizeof(room));
	room[start] = 0;
	printf("{\"function\":\"aligned\",\"start\":%d,\"before\":%d,\"room\":\"%s\"}\n", start,
	       before, room);
	sink += recurse(2, before);
	return room[0] + before + start;
}

static void handler(int signo)
{
	stop();
}

/* A frame that a signal interrupts has all of its registers. */
APART int interrupted(int n)
{
	int kept = n * 7, other = n + 11;

	printf("{\"function\":\"interrupted\",\"n\":%d,\"kept\":%d,\"other\":%d}\n", n, kept,
	       other);
	__asm__ volatile("int3" : : "a"(kept), "c"(other));
	return kept + other + n;
}

int main(int argc, char **argv)
{
	int status;

	printf("{\"function\":\"main\",\"argc\":%d}\n", argc);
	signal(SIGTRAP, handler);
	status = argc > 1 ? interrupted(argc) : aligned(5);
	return status == 0 && argc > 100;
}
