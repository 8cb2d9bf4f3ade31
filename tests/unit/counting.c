/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tool makes of the tables of programs that count: theirs may hold anything. */
#include "tap.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/aggregate.h"
#include "user/in_process_tables.h"
#include "user/recorder.h"

#define NR_MAPS 4

static const struct pt_map_spec specs[NR_MAPS] = {{PANTRACE_AGGREGATE_COUNT, 8, 64},
						  {PANTRACE_AGGREGATE_PAIR, 24, 64},
						  {PANTRACE_AGGREGATE_MIN, 8, 8},
						  {PANTRACE_AGGREGATE_UMAX, 8, 8}};
static struct aggregates_map maps[NR_MAPS];
static struct {
	struct pt_tables tables;
	struct pt_table room[PANTRACE_AGGREGATE_MAPS];
} space;

/* A file as a program makes it; mapped in space.tables. */
static int file_make(void)
{
	struct pantrace_aggregates header;
	const int fd = memfd_create("counting", MFD_CLOEXEC);
	void *shm;

	pt_tables_layout(specs, NR_MAPS, 2, &header);
	header.magic = PANTRACE_AGGREGATE_MAGIC;
	strcpy(header.session, "test");
	if (ftruncate(fd, (off_t)header.file_size))
		exit(1);
	shm = mmap(NULL, header.file_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm == MAP_FAILED)
		exit(1);
	memcpy(shm, &header, sizeof(header));
	memset(&space, 0, sizeof(space));
	pt_tables_place(&header, shm, &space.tables);
	space.tables.had = true;
	return fd;
}

static void file_end(int fd)
{
	munmap(space.tables.shm, space.tables.size);
	close(fd);
}

static void add(u32 map, u64 key, u64 value)
{
	u8 bytes[64] = {0};

	memcpy(bytes, &key, 8);
	pt_tables_add(&space.tables, map, bytes, value);
}

struct sum {
	u64 keys, a, b;
};

static void sum_one(void *arg, const void *key, const struct aggregates_element *element)
{
	struct sum *s = arg;

	s->keys++;
	s->a += element->a;
	s->b += element->b;
}

static struct sum read_map(struct aggregate_source *s, u32 map, bool take)
{
	struct sum sum = {0};

	aggregates_source_each(s, map, take, sum_one, &sum);
	return sum;
}

static void test_reading(void)
{
	const int fd = file_make();
	struct aggregate_source *s;
	const u64 two = 2;
	struct sum sum;

	ok(!aggregates_source_open(fd, maps, NR_MAPS, "test", &s), "a program's tables are opened");
	add(0, 1, 1);
	add(0, 2, 5);
	add(1, 3, (u64)-7);
	sum = read_map(s, 0, false);
	ok(sum.keys == 2 && sum.a == 6, "counts");
	sum = read_map(s, 1, true);
	ok(sum.keys == 1 && (s64)sum.a == -7 && sum.b == 1, "pairs");
	sum = read_map(s, 1, false);
	ok(!sum.keys, "what was taken is not there any more");
	add(1, 3, 0);
	sum = read_map(s, 1, false);
	ok(sum.keys == 1 && !sum.a && sum.b == 1, "a sum of nothing is something");
	read_map(s, 0, true);
	add(0, 2, 3);
	sum = read_map(s, 0, true);
	ok(sum.keys == 1 && sum.a == 3, "an interval has its own counts");
	add(0, 1, 1);
	add(0, 2, 4);
	aggregates_source_forget(s, 0, &two);
	sum = read_map(s, 0, false);
	ok(sum.keys == 1 && sum.a == 1, "a key that is deleted");
	aggregates_source_close(s);
	file_end(fd);
}

static void test_extremes(void)
{
	const int fd = file_make();
	struct pantrace_extreme *cell;
	struct aggregate_source *s;
	struct sum sum;

	aggregates_source_open(fd, maps, NR_MAPS, "test", &s);
	add(2, 1, 10);
	add(2, 1, (u64)-20);
	sum = read_map(s, 2, true);
	ok((s64)sum.a == -20, "the least of an interval");
	sum = read_map(s, 2, false);
	ok(!sum.keys, "the next begins without");
	/* a thread that was stopped in its update of the interval before */
	for (u32 stripe = 0; stripe < 2; stripe++) {
		cell = (void *)(space.tables.table[2].values +
				(size_t)stripe * space.tables.table[2].records * 32);
		if (cell[0].epoch == 1)
			cell[0].value = (u64)-30;
	}
	add(2, 1, 5);
	sum = read_map(s, 2, true);
	ok((s64)sum.a == -30, "an update that came late is not lost");
	add(2, 1, 6);
	sum = read_map(s, 2, true);
	ok((s64)sum.a == 6, "and counts once");
	aggregates_source_close(s);
	file_end(fd);
}

static void test_refused(void)
{
	struct pantrace_aggregates *h;
	struct aggregate_source *s;
	int fd = file_make();

	h = space.tables.shm;
	ok(aggregates_source_open(fd, maps, NR_MAPS, "other", &s) == -ENOENT, "of another session");
	ok(aggregates_source_open(fd, maps, NR_MAPS - 1, "test", &s) == -EBADMSG, "other maps");
	h->magic = 0;
	ok(aggregates_source_open(fd, maps, NR_MAPS, "test", &s) == -EAGAIN, "half made");
	h->magic = PANTRACE_AGGREGATE_MAGIC;
	h->map[1].values_off = h->file_size - 8;
	ok(aggregates_source_open(fd, maps, NR_MAPS, "test", &s) == -EBADMSG,
	   "values behind the end");
	file_end(fd);
	fd = file_make();
	space.tables.shm->map[0].stripes = 1 << 30;
	ok(aggregates_source_open(fd, maps, NR_MAPS, "test", &s) == -EBADMSG, "too many stripes");
	file_end(fd);
	fd = file_make();
	if (ftruncate(fd, 8192))
		exit(1);
	ok(aggregates_source_open(fd, maps, NR_MAPS, "test", &s) == -EBADMSG,
	   "a file that was cut");
	file_end(fd);
}

static void test_hostile(void)
{
	u64 seed = 88172645463325252ull, opened = 0;

	for (int round = 0; round < 400; round++) {
		const int fd = file_make();
		u8 *base = (u8 *)space.tables.shm;
		struct aggregate_source *s;

		for (u64 i = 0; i < 200; i++)
			add(i % NR_MAPS, i * 7919, i);
		for (int i = 0; i < 300; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			/* a header that is damaged is mostly refused: the rest more often */
			base[(round & 7 ? 4096 : 0) + seed % (space.tables.size - 4096)] =
				(u8)(seed >> 40);
			memcpy(base + ((u64)((u8 *)space.tables.table[i % NR_MAPS].slots - base)) +
				       8 * (seed % (space.tables.table[i % NR_MAPS].slot_mask + 1)),
			       &seed, 8);
		}
		if (!aggregates_source_open(fd, maps, NR_MAPS, "test", &s)) {
			opened++;
			if (round % 5 == 0 && ftruncate(fd, 8192))
				exit(1);
			for (u32 map = 0; map < NR_MAPS; map++) {
				read_map(s, map, false);
				read_map(s, map, true);
				aggregates_source_forget(s, map, "12345678901234567890123");
			}
			aggregates_source_close(s);
		}
		file_end(fd);
	}
	ok(opened > 100, "hostile tables, cut ones among them: %llu were read",
	   (unsigned long long)opened);
}

static void count_one(void *arg, const void *key, const struct aggregates_element *element)
{
	++*(u32 *)arg;
}

/* Cut short after it was opened: nothing is read from what is gone, and the source says so. */
static void test_cut(void)
{
	const int fd = file_make();
	struct aggregate_source *s;
	u32 seen = 0;

	add(0, 7919, 1);
	ok(aggregates_source_open(fd, maps, NR_MAPS, "test", &s) == 0, "a table that will be cut");
	ok(!ftruncate(fd, 4096), "it is");
	aggregates_source_each(s, 0, true, count_one, &seen);
	ok(seen == 0 && s->range.is_cut, "nothing is read from it, and it says so");
	aggregates_source_close(s);
	file_end(fd);
}

int main(void)
{
	for (u32 i = 0; i < NR_MAPS; i++)
		maps[i] =
			(struct aggregates_map){specs[i].kind, specs[i].key_size, specs[i].entries};

	test_reading();
	test_extremes();
	test_refused();
	test_hostile();
	test_cut();
	return tap_done();
}
