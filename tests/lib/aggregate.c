// SPDX-License-Identifier: MIT
/* The tables of programs that count: against what the counters count themselves. */
#include "../../lib/aggregate.h"
#include "../unit/tap.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEYS 100

static const struct pt_map_spec specs[] = {
	{PANTRACE_AGGREGATE_COUNT, 8, 256},  {PANTRACE_AGGREGATE_PAIR, 40, 256},
	{PANTRACE_AGGREGATE_MIN, 8, 16},     {PANTRACE_AGGREGATE_MAX, 8, 16},
	{PANTRACE_AGGREGATE_UMIN, 8, 16},    {PANTRACE_AGGREGATE_UMAX, 8, 16},
	{PANTRACE_AGGREGATE_COUNT, 1024, 8}, {PANTRACE_AGGREGATE_COUNT, 0, 1},
};
#define NR_MAPS (sizeof(specs) / sizeof(*specs))

static struct pantrace_aggregates header;
static struct {
	struct pt_tables tables;
	struct pt_table room[PANTRACE_AGGREGATE_MAPS];
} space;
#define tables (&space.tables)

/* Between pages that nobody may touch. */
static void make(uint32_t cpus)
{
	char *at;

	if (pt_tables_layout(specs, NR_MAPS, cpus, &header))
		exit(1);
	at = mmap(NULL, header.file_size + 8192, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED || mprotect(at + 4096, header.file_size, PROT_READ | PROT_WRITE))
		exit(1);
	memcpy(at + 4096, &header, sizeof(header));
	memset(&space, 0, sizeof(space));
	pt_tables_place(&header, at + 4096, tables);
	tables->had = true;
}

static void unmake(void)
{
	munmap((char *)tables->shm - 4096, header.file_size + 8192);
}

/* The sums over all keys (KEY NULL) or of one. */
static void total(unsigned int map, const void *key, size_t n, uint64_t ret[2])
{
	const struct pantrace_map *const m = &header.map[map];
	const char *const base = (const char *)tables->shm;
	const uint64_t *const slots = (const uint64_t *)(base + m->slots_off);

	ret[0] = ret[1] = 0;
	for (uint32_t i = 0; i < m->nr_slots; i++) {
		const uint32_t record = (uint32_t)slots[i] - 1;
		const struct pantrace_key *const have =
			(const void *)(base + m->keys_off + (uint64_t)record * m->key_stride);

		if (!slots[i] || (key && (have->length != n || memcmp(have->bytes, key, n))))
			continue;
		for (uint32_t s = 0; s < m->stripes; s++) {
			const uint64_t *const value =
				(const uint64_t *)(base + m->values_off +
						   ((uint64_t)s * m->records + record) *
							   m->value_size);

			ret[0] += value[0];
			ret[1] += m->value_size > 8 ? value[1] : 0;
		}
	}
}

static void add(unsigned int map, uint64_t key, uint64_t value)
{
	unsigned char bytes[64] = {0};

	memcpy(bytes, &key, 8);
	pt_tables_add(tables, map, bytes, value);
}

/* ---- threads and signals ---- */

static uint64_t by_signals;

static void on_signal(int number)
{
	const uint64_t i = __atomic_fetch_add(&by_signals, 1, __ATOMIC_RELAXED);
	const int saved = errno;

	(void)number;
	errno = 4711;
	add(0, i % KEYS, 1);
	add(1, 1000 + i % 7, 3);
	if (errno != 4711)
		abort();
	errno = saved;
}

static void *thread(void *arg)
{
	const uint64_t first = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < 50000; i++) {
		add(0, (first + i) % KEYS, 1);
		add(1, i % 7, i);
	}
	return NULL;
}

static void test_threads(uint32_t cpus)
{
	const struct itimerval often = {{0, 300}, {0, 300}}, never = {0};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t threads[4];
	uint64_t sum[2], expect = 0;

	make(cpus);
	by_signals = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread, (void *)(i * 17));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	for (uint64_t i = 0; i < 50000; i++)
		expect += 4 * i;
	total(0, NULL, 0, sum);
	ok(sum[0] == 200000 + by_signals, "%u stripes: counts of threads and signal handlers",
	   header.map[0].stripes);
	total(1, NULL, 0, sum);
	ok(sum[0] == expect + 3 * by_signals && sum[1] == 200000 + by_signals,
	   "sums, with how many they are of");
	ok(!tables->shm->map[0].full && !tables->shm->map[1].full, "no key was without room");
	unmake();
}

/* ---- processes that are killed while they count ---- */

static void test_kill(void)
{
	struct truth {
		uint64_t begun, done;
	} *truth = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t sum[2], least = 0, most = 0, pairs[2];
	bool even = true;

	make(2);
	for (int trial = 0; trial < 60; trial++) {
		const pid_t pid = fork();

		if (!pid) {
			for (uint64_t i = 0;; i++) {
				truth->begun++;
				__atomic_signal_fence(__ATOMIC_SEQ_CST);
				add(0, (i + (uint64_t)trial) % KEYS, 1);
				add(1, i % 200, 5);
				__atomic_signal_fence(__ATOMIC_SEQ_CST);
				truth->done++;
			}
		}
		usleep(500 + 137 * (useconds_t)trial);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		least += truth->done;
		most += truth->begun;
		truth->begun = truth->done = 0;
		total(1, NULL, 0, pairs);
		even &= pairs[0] == 5 * pairs[1];
	}
	total(0, NULL, 0, sum);
	ok(sum[0] >= least && sum[0] <= most && least,
	   "60 killed processes: %llu counted, %llu..%llu done", (unsigned long long)sum[0],
	   (unsigned long long)least, (unsigned long long)most);
	ok(even, "no sum without its number");
	unmake();
	munmap(truth, 4096);
}

/* ---- values and keys ---- */

static uint64_t extreme(unsigned int map, uint64_t epoch)
{
	const struct pantrace_map *const m = &header.map[map];
	const struct pantrace_extreme *cell;
	uint64_t found = 0;

	for (uint32_t s = 0; s < m->stripes; s++) {
		cell = (const void *)((const char *)tables->shm + m->values_off +
				      (uint64_t)s * m->records * m->value_size);
		if (cell[epoch & 1].epoch == epoch + 1)
			found = cell[epoch & 1].value;
	}
	return found;
}

static void test_extremes(void)
{
	static const int64_t values[] = {5, -3, 7, -1};

	make(1);
	for (unsigned int map = 2; map < 6; map++)
		for (int i = 0; i < 4; i++)
			add(map, 1, (uint64_t)values[i]);
	ok((int64_t)extreme(2, 0) == -3 && extreme(3, 0) == 7,
	   "the least and the greatest, signed");
	ok(extreme(4, 0) == 5 && (int64_t)extreme(5, 0) == -1, "and unsigned");
	tables->shm->map[2].epoch = 1;
	add(2, 1, 9);
	ok(extreme(2, 1) == 9 && (int64_t)extreme(2, 0) == -3,
	   "an epoch begins anew and leaves the one before");
	tables->shm->map[2].epoch = 2;
	add(2, 1, 11);
	ok(extreme(2, 2) == 11 && extreme(2, 1) == 9, "and takes the place of the one before that");
	unmake();
}

static void test_keys(void)
{
	unsigned char key[1024] = "hello";
	uint64_t sum[2];

	make(1);
	pt_tables_add(tables, 6, key, 1);
	key[1020] = 1;
	pt_tables_add(tables, 6, key, 2);
	key[1020] = 0;
	pt_tables_add(tables, 6, key, 4);
	total(6, key, 5, sum);
	ok(sum[0] == 5, "zeros behind a key are part of it");
	pt_tables_add(tables, 7, key, 3);
	total(7, NULL, 0, sum);
	ok(sum[0] == 3, "a map without a key");
	for (uint64_t i = 0; i < 1000; i++)
		add(2, i, 1);
	ok(tables->shm->map[2].full == 1000 - header.map[2].records,
	   "what finds no room is counted: %llu", (unsigned long long)tables->shm->map[2].full);
	ok(!pt_tables_add(tables, NR_MAPS, key, 1) && !pt_tables_add(tables, UINT64_MAX, key, 1),
	   "a map that is not there");
	unmake();
}

static void test_layout(void)
{
	struct pt_map_spec bad = specs[0];
	struct pantrace_aggregates h;

	bad.kind = PANTRACE_AGGREGATE_KINDS;
	ok(pt_tables_layout(&bad, 1, 1, &h) == -EINVAL, "an unknown kind is refused");
	bad = specs[0];
	bad.entries = 0;
	ok(pt_tables_layout(&bad, 1, 1, &h) == -EINVAL, "no room");
	bad.entries = UINT32_MAX;
	ok(pt_tables_layout(&bad, 1, 1, &h) == -EINVAL, "too much");
	bad = specs[0];
	bad.key_size = PANTRACE_AGGREGATE_KEY + 1;
	ok(pt_tables_layout(&bad, 1, 1, &h) == -EINVAL, "too long a key");
	ok(pt_tables_layout(specs, 0, 1, &h) == -EINVAL &&
		   pt_tables_layout(specs, PANTRACE_AGGREGATE_MAPS + 1, 1, &h) == -EINVAL,
	   "no maps, too many");
	ok(!pt_tables_layout(specs, NR_MAPS, 4096, &h) &&
		   h.map[0].stripes == PANTRACE_AGGREGATE_STRIPES,
	   "many CPUs share stripes");
}

/* Whoever writes to the memory can make the numbers wrong; the pages around it are out of reach. */
static void test_hostile(void)
{
	unsigned char key[1024] = {0};
	uint64_t seed = 88172645463325252ull;

	make(2);
	for (int round = 0; round < 3000; round++) {
		unsigned char *const base = (unsigned char *)tables->shm;

		for (int i = 0; i < 40; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			base[seed % header.file_size] = (unsigned char)(seed >> 40);
			/* and the slots in earnest */
			memcpy(base + header.map[i % NR_MAPS].slots_off +
				       8 * (seed % header.map[i % NR_MAPS].nr_slots),
			       &seed, 8);
		}
		for (unsigned int map = 0; map < NR_MAPS; map++) {
			memcpy(key, &seed, 2);
			pt_tables_add(tables, map, key, seed);
		}
		if (round % 100 == 0)
			memset(base + sizeof(header), 0xff, header.file_size - sizeof(header));
		if (round % 100 == 50)
			memset(base, 0, header.file_size);
	}
	ok(true, "hostile memory: nothing but the memory was touched");
	unmake();
}

int main(int argc, char **argv)
{
	test_layout();
	test_keys();
	test_extremes();
	test_threads(1);
	test_threads(2);
	if (argc < 2) /* not under the thread sanitizer, which does not know forks */
		test_kill();
	test_hostile();
	(void)argv;
	return tap_done();
}
