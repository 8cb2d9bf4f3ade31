// SPDX-License-Identifier: MIT
/*
 * What comes in over the control socket and what stands in session files: any bytes.
 *
 *   tests/fuzz/run.sh control SECONDS
 *
 * With -DALONE it runs by itself on mutations of requests:   fuzz_control ROUNDS
 */
#include "../../lib/internal.h"
#include <pantrace/pantrace.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pt_description description;
	static const char *const end[] = {"pantrace 1 f destroy f\n", "pantrace 1 f destroy g\n"};
	struct pt_answer answer = {.fd = -1};
	/* exactly as long: one byte more is an error that is seen */
	char *copy = malloc(size + !size);

	memcpy(copy, data, size);
	pt_request(copy, size, &answer);
	pt_description_parse_file(copy, size, &description);
	for (int i = 0; i < 10; i++)
		PANTRACE(fuzz, event, i, "text");
	for (size_t i = 0; i < 2; i++)
		pt_request(end[i], strlen(end[i]), &answer);
	pt_sessions_bury();
	if (answer.text)
		munmap(answer.text, answer.room);
	free(copy);
	return 0;
}

#ifdef ALONE
#include <stdio.h>

int main(int argc, char **argv)
{
	static const char *const seeds[] = {
		"pantrace 1 0.1.0 start\nname f\nfor all\nmode overwrite\nsub-size 4096\nsubs "
		"2\nenable fuzz:* =5\ndisable *:x 3\n",
		"pantrace 1 0.1.0 start\nname g\nmode block\nblock 10\nsub-size 4096\nsubs "
		"2\ncontexts vpid,vtid,ip\nclock 1000 2 3 4\nenable fuzz:*\n",
		"pantrace 1 0.1.0 rules f\nenable a:* 3\n",
		"pantrace 1 0.1.0 attach f\n",
		"pantrace 1 0.1.0 track f\ntracked pid 4026531836 1,2,3\ntracked vuid "
		"0,65534\ntracked gid 0\ntracked none\n",
		"pantrace 1 0.1.0 list\n",
		"pantrace-session 1\n# note\nname w\nfor name x y\nfor pid 3\ndirectory "
		"/nowhere\nfilter fuzz:event 00ff\nthreads\n",
	};
	const long rounds = argc > 1 ? atol(argv[1]) : 20000;

	srandom(1);
	for (long i = 0; i < rounds; i++) {
		const char *const seed = seeds[random() % 7], *const other = seeds[random() % 7];
		uint8_t text[1024];
		size_t n = strlen(seed);

		memcpy(text, seed, n);
		if (random() % 4 == 0) { /* one's head, the other's tail */
			const size_t at = (size_t)random() % n,
				     from = (size_t)random() % strlen(other);

			n = at + strlen(other + from);
			memcpy(text + at, other + from, strlen(other + from));
		}
		for (long j = random() % 4; j > 0; j--)
			text[(size_t)random() % n] =
				(uint8_t)(random() % 3 ? "0129 \n:*=-"[random() % 10] : random());
		LLVMFuzzerTestOneInput(text, (size_t)random() % 8 ? n : (size_t)random() % (n + 1));
	}
	printf("%ld requests\n", rounds);
	return 0;
}
#endif
