/* SPDX-License-Identifier: GPL-2.0-or-later */
/* beats N FILE: publishes N numbered events, makes FILE, then goes on slowly until it is killed. */
#include <fcntl.h>
#include <pantrace/pantrace.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const int many = argc == 3 ? atoi(argv[1]) : 0;

	for (int number = 0;; number++) {
		if (number == many)
			close(open(argv[2], O_CREAT | O_WRONLY, 0600));
		if (number >= many)
			usleep(10000);
		PANTRACE(beats, beat, number);
	}
}
