/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that begin with nops, called N times here and N times in a child that is forked later:
 * nops N. Prints how the child ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTION(name, place, ...)                                                               \
	__asm__(".pushsection .text\n" place ".globl " name "\n"                                 \
		".type " name ", @function\n" name ": .byte " #__VA_ARGS__ "\n ret\n.size " name \
		", . - " name "\n.popsection")

FUNCTION("one", ".balign 16\n", 0x90);
FUNCTION("five", ".balign 16\n", 0x0f, 0x1f, 0x44, 0, 0);
FUNCTION("ten", ".balign 16\n", 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0);
FUNCTION("split", ".balign 4096\n.skip 4094\n", 0x0f, 0x1f, 0x44, 0, 0);

void one(void);
void five(void);
void ten(void);
void split(void);

static void call(long n)
{
	while (n-- > 0) {
		one();
		five();
		ten();
		split();
	}
}

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 10;
	int status = -1;

	call(n);
	if (!fork()) {
		call(n);
		_exit(0);
	}
	wait(&status);
	printf("child %d\n", status);
	return status != 0;
}
