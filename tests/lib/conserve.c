// SPDX-License-Identifier: MIT
/*
 * Conservation: what was produced is read or counted as lost, exactly, with every payload intact
 * and time never going back in a ring; under signals, migration, threads that come and go, sites
 * that are switched meanwhile, forks, and SIGKILL at random moments.
 *
 *   conserve DIRECTORY [per_thread]
 */
#include "../unit/tap.h"
#include "storm.h"
#include <dirent.h>
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
/*
 * Enough to fill every ring, and of kills to meet each instruction. TSan is slow, sees races after
 * a few events, and nothing of what a kill leaves.
 */
#ifdef __SANITIZE_THREAD__
#define EVENTS 10000ul
#define KILLS  50
#else
#define EVENTS (per_thread ? 40000ul : 20000ul) /* by each thread */
#define KILLS  200
#endif

static atomic_int stop;
static const char *directory;
static uint32_t per_thread;
static _Thread_local uint64_t sequence;

static const char *const texts[] = {"", "a", "sixteen bytes ok",
				    "a string that is somewhat longer than that", "x"};

static uint32_t checksum(uint64_t number, const char *text)
{
	uint32_t sum = 2166136261u;

	for (int i = 0; i < 8; i++)
		sum = (sum ^ (uint8_t)(number >> (8 * i))) * 16777619u;
	for (; *text; text++)
		sum = (sum ^ (uint8_t)*text) * 16777619u;
	return sum;
}

static void event(void)
{
	const uint64_t number = sequence++;
	const char *text = texts[number % 5];

	PANTRACE(conserve, event, number, text, checksum(number, text));
	atomic_fetch_add_explicit(&produced, 1, memory_order_relaxed);
}

static void *worker(void *arg)
{
	storm_emit((uintptr_t)arg, 4096);
	return NULL;
}

struct tally {
	uint64_t read, lost, before, events, bad, backwards, damaged;
};

static uint64_t last[PANTRACE_T_MAX * 64]; /* time in each ring */

static void note(void *arg, uint32_t ring, const struct pantrace_event_view *view)
{
	struct tally *const to = arg;
	uint64_t number;
	uint32_t sum;

	memcpy(&number, view->fields, 8);
	memcpy(&sum, view->fields + view->size - 4, 4);
	to->bad += sum != checksum(number, (const char *)view->fields + 8);
	to->backwards += view->tsc < last[ring];
	last[ring] = view->tsc;
	to->read++;
}

static void drain(struct pantrace_reader *reader, struct tally *to)
{
	to->damaged += each_event(reader, note, to);
}

static void totals(struct pantrace_reader *reader, struct tally *tally)
{
	const struct pantrace_shm *shm = pantrace_reader_header(reader);

	(void)shm;
	for (uint32_t ring = 0; ring < pantrace_reader_rings(reader); ring++) {
		struct pantrace_ring_state state;

		pantrace_reader_state(reader, ring, &state);
		tally->events += state.events;
		tally->lost += state.lost;
	}
}

static struct tally tally;

static void *consumer(void *arg)
{
	while (!atomic_load(&stop)) {
		drain(arg, &tally);
		usleep(1000);
	}
	return NULL;
}

static void *switcher(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		pantrace_enable("other:*");
		pantrace_disable("other:*");
	}
	return NULL;
}

static void stress(const char *name, uint32_t mode, uint32_t sub_size, bool consume)
{
	const struct pantrace_options options = {.size = sizeof(options),
						 .mode = mode,
						 .sub_size = sub_size,
						 .nr_subs = 8,
						 .per_thread = per_thread};
	struct pantrace_reader *reader;
	struct pantrace_counts counts;
	pthread_t threads[THREADS], reading, switching;

	memset(&tally, 0, sizeof(tally));
	memset(last, 0, sizeof(last));
	atomic_store(&produced, 0);
	atomic_store(&stop, 0);
	if (!is_int(pantrace_start(&options), 0, name))
		return;
	pantrace_enable("conserve:*");
	pantrace_reader_open_fd(pantrace_fd(), consume, &reader);
	if (consume)
		pthread_create(&reading, NULL, consumer, reader);
	pthread_create(&switching, NULL, switcher, NULL);
	storm(50);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, worker, (void *)EVENTS);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	storm(0);
	atomic_store(&stop, 1);
	if (consume)
		pthread_join(reading, NULL);
	pthread_join(switching, NULL);
	drain(reader, &tally);
	pantrace_count(&counts);
	totals(reader, &tally);
	ok(atomic_load(&produced) > THREADS * 5 * EVENTS, "%s: %lu events, signals among them",
	   name, atomic_load(&produced));
	is_int((long long)(counts.events + counts.lost), (long long)atomic_load(&produced),
	       "produced is published and lost");
	if (mode == PANTRACE_DISCARD)
		is_int((long long)(tally.read + counts.lost), (long long)atomic_load(&produced),
		       "produced is read and lost");
	else
		ok(tally.read && tally.read <= counts.events, "%llu of %llu events are left",
		   (unsigned long long)tally.read, (unsigned long long)counts.events);
	is_int((long long)tally.bad, 0, "checksums");
	is_int((long long)tally.damaged, 0, "packets are whole");
	if (!per_thread)
		is_int((long long)tally.backwards, 0, "time never goes back");
	printf("# %llu read, %llu lost\n", (unsigned long long)tally.read,
	       (unsigned long long)counts.lost);
	pantrace_reader_close(reader);
	pantrace_stop();
}

/* Reads and removes all files of DIRECTORY. */
static int collect(struct tally *all, uint64_t *file_lost)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	int files = 0;

	memset(all, 0, sizeof(*all));
	*file_lost = 0;
	while (dir && (entry = readdir(dir))) {
		struct pantrace_reader *reader;
		char path[4096];

		if (!strstr(entry->d_name, ".pantrace"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		memset(last, 0, sizeof(last));
		if (!pantrace_reader_open(path, &reader)) {
			drain(reader, all);
			totals(reader, all);
			*file_lost += pantrace_reader_header(reader)->lost;
			pantrace_reader_close(reader);
			files++;
		}
		unlink(path);
	}
	if (dir)
		closedir(dir);
	return files;
}

static void forks(void)
{
	const struct pantrace_options options = {.size = sizeof(options),
						 .directory = directory,
						 .sub_size = 1 << 16,
						 .nr_subs = 4,
						 .per_thread = per_thread};
	struct tally all;
	uint64_t lost;
	int files;

	is_int(pantrace_start(&options), 0, "forks: session in a directory");
	pantrace_enable("conserve:*");
	for (int i = 0; i < 20; i++) {
		const pid_t pid = fork();

		if (!pid) {
			for (int j = 0; j < 500; j++)
				event();
			if (i % 2 && !fork()) {
				for (int j = 0; j < 100; j++)
					event();
				_exit(0);
			}
			while (wait(NULL) > 0)
				;
			_exit(0);
		}
		event();
	}
	while (wait(NULL) > 0)
		;
	pantrace_stop();
	files = collect(&all, &lost);
	is_int(files, 31, "each child has its file");
	is_int((long long)(all.read + all.lost + lost), 20 + 20 * 500 + 10 * 100,
	       "events of parent, children and grandchildren");
	is_int((long long)(all.bad + all.damaged), 0, "all intact");
}

/* The child writes how many events it produced into shared memory after each: what was published
 * before the kill is at least that, and at most one more a thread. */
static void kills(void)
{
	atomic_ulong *shared =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned long missing = 0, extra = 0, damaged = 0, total = 0;

	for (int i = 0; i < KILLS; i++) {
		struct tally all;
		uint64_t lost;
		pid_t pid;

		atomic_store(shared, 0);
		pid = fork();
		if (!pid) {
			const struct pantrace_options options = {
				.size = sizeof(options),
				.directory = directory,
				.sub_size = 1 << 12,
				.nr_subs = 1 << 10,
				.per_thread = per_thread,
				.mode = i % 2 ? PANTRACE_OVERWRITE : PANTRACE_DISCARD,
			};

			pantrace_start(&options);
			pantrace_enable("conserve:*");
			for (;;) {
				event();
				atomic_fetch_add(shared, 1);
			}
		}
		while (!atomic_load(shared))
			usleep(100);
		usleep((useconds_t)(random() % 3000));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		collect(&all, &lost);
		total += atomic_load(shared);
		missing += all.events + all.lost + lost < atomic_load(shared);
		extra += all.events + all.lost + lost > atomic_load(shared) + 1;
		damaged += all.bad + all.damaged;
		if (!(i % 2))
			missing += all.read != all.events;
	}
	munmap(shared, 4096);
	ok(total > KILLS * 10, "%d kills after %lu events", KILLS, total);
	is_int((long long)missing, 0, "every published event is read back");
	is_int((long long)extra, 0, "none is made up");
	is_int((long long)damaged, 0, "none is damaged");
}

static void *other(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop))
		for (int i = 0; i < 100; i++)
			PANTRACE(other, event, i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	directory = argc > 1 ? argv[1] : "/tmp";
	per_thread = argc > 2;
	storm_prepare();
	stress("discard without a reader", PANTRACE_DISCARD, 1 << 18, false);
	stress("discard with a reader", PANTRACE_DISCARD, 1 << 14, true);
	stress("overwrite", PANTRACE_OVERWRITE, 1 << 12, false);
	forks();
	kills();
	atomic_store(&stop, 0);
	pthread_create(&thread, NULL, other, NULL);
	{
		const struct pantrace_options options = {.size = sizeof(options),
							 .mode = PANTRACE_OVERWRITE};
		int changes = 0;

		pantrace_start(&options);
		for (int i = 0; i < 2000; i++) {
			changes += pantrace_enable("other:*") > 0;
			changes += pantrace_disable("other:*") > 0;
		}
		pantrace_stop();
		is_int(changes, 4000, "a site is switched while a thread runs through it");
	}
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	return tap_done();
}
