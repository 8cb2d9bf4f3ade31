/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that do and do not begin by saving the frame pointer. */
#define APART __attribute__((noinline, noipa))

static volatile int sink;

APART __attribute__((optimize("omit-frame-pointer"))) void bare(int n)
{
	sink += n;
}

APART void pushes(int n)
{
	volatile char room[300];

	room[n & 7] = 1;
	sink += room[1];
}

APART void recurse(int n)
{
	if (n)
		recurse(n - 1);
	else {
		bare(1);
		pushes(1);
	}
	sink++;
}

int main(void)
{
	recurse(2);
	return 0;
}
