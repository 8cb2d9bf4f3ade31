// SPDX-License-Identifier: MIT
/*
 * Events from within malloc(): recording one, with every context, asks malloc() for nothing, in
 * threads whose first event it is and in a program that has many keys; and threads that have ended
 * leave nothing mapped.
 */
#include "../../lib/internal.h"
#include "../unit/tap.h"
#include "sessions.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 200

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t n);

static unsigned int asked, produced;
static __thread int within; /* malloc(), which is not to be called again */

static __attribute__((noinline)) void event(void)
{
	PANTRACE(inmalloc, event, produced);
	produced++;
}

static void called(void)
{
	asked += within != 0;
}

void *malloc(size_t n)
{
	called();
	if (!within++)
		event();
	within--;
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	called();
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t n)
{
	called();
	return __libc_realloc(old, n);
}

static void *thread(void *arg)
{
	free(malloc(1));
	return arg;
}

static int mapped(void)
{
	char line[512];
	FILE *const maps = fopen("/proc/self/maps", "r");
	int n = 0;

	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, "perf_event") != NULL;
	if (maps)
		fclose(maps);
	return n;
}

int main(void)
{
	struct pt_spec spec = {.name = "inmalloc",
			       .mode = PANTRACE_DISCARD,
			       .sub_size = 1 << 18,
			       .nr_subs = 4,
			       .contexts = PT_CONTEXTS};
	struct pt_rules rules = {0};
	struct pt_session_info info;
	pthread_key_t key;
	unsigned int before;
	const char *why;

	for (int i = 0; i < 40; i++) /* those behind the first 32 are kept in memory of malloc() */
		pthread_key_create(&key, NULL);
	pt_state_get();
	pt_rules_add(&rules, "inmalloc:*", 10, true, PT_LEVEL_ANY, false);
	is_int(pt_session_start(&spec, &rules, &why), 0, "a session with every context");
	before = produced;
	for (int i = 0; i < THREADS; i++) {
		pthread_t one;

		if (!pthread_create(&one, NULL, thread, NULL))
			pthread_join(one, NULL);
	}
	ok(produced - before >= THREADS, "%u events from within malloc()", produced - before);
	is_int(asked, 0, "none asks for memory");
	ok(pt_session_info(number_of("inmalloc"), &info) && info.counts.events >= produced - before,
	   "each is recorded");
	ok(mapped() < 40, "%d counters of %d threads that have ended are mapped", mapped(),
	   THREADS);
	return tap_done();
}
