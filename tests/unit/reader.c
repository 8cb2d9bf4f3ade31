/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rings whose process means harm: a reader comes to its end, and takes no more memory than they. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pantrace/reader.h>

#include "tap.h"
#include "trace/ctf/output.h"

#define SUB	 4096u
#define SUBS	 4u
#define RING	 (SUB * SUBS)
#define RING_OFF 4096u
#define DATA_OFF 8192u
#define META_OFF (DATA_OFF + RING)
#define META	 (4u << 20)
#define SIZE	 (META_OFF + META)

struct rings {
	int fd;
	char *map;
	struct pantrace_shm *shm;
	struct pantrace_ring *ring;
};

static void make(struct rings *r)
{
	r->fd = memfd_create("rings", MFD_CLOEXEC);
	if (r->fd < 0 || ftruncate(r->fd, SIZE))
		abort();
	r->map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	r->shm = (void *)r->map;
	r->ring = (void *)(r->map + RING_OFF);
	*r->shm = (struct pantrace_shm){.magic = PANTRACE_SHM_MAGIC,
					.version = PANTRACE_SHM_VERSION,
					.nr_rings = 1,
					.sub_size = SUB,
					.nr_subs = SUBS,
					.ring_off = RING_OFF,
					.data_off = DATA_OFF,
					.meta_off = META_OFF,
					.meta_size = META,
					.file_size = SIZE,
					.tsc_hz = 1000000000,
					.pid = (u32)getpid(),
					.uuid = "0123456789abcde"};
}

static void release(struct rings *r)
{
	munmap(r->map, SIZE);
	close(r->fd);
}

/* ---- one that is ahead whenever it is looked at ---- */

static atomic_bool over;

static void *run_ahead(void *arg)
{
	struct rings *const r = arg;

	for (u64 at = 1; !over; at += 2 * RING)
		__atomic_store_n(&r->ring->position, at, __ATOMIC_RELEASE);
	return NULL;
}

static void *lose(void *arg)
{
	struct rings *const r = arg;

	while (!over)
		__atomic_fetch_add(&r->shm->lost, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void test_ahead(void)
{
	struct pantrace_packet_view view;
	struct pantrace_reader *reader;
	struct rings r;
	pthread_t thread;
	int rc = 0;

	make(&r);
	is_int(pantrace_reader_open_fd(r.fd, false, &reader), 0, "rings are opened");
	over = false;
	pthread_create(&thread, NULL, run_ahead, &r);
	while (!__atomic_load_n(&r.ring->position, __ATOMIC_ACQUIRE))
		;
	alarm(60);
	for (int i = 0; i < 1000 && !rc; i++)
		rc = pantrace_reader_packet(reader, 0, &view);
	ok(rc == -EBADMSG, "a position that runs away ends its ring");
	alarm(0);
	over = true;
	pthread_join(thread, NULL);
	pantrace_reader_close(reader);
	release(&r);
}

/* ---- one that loses events as fast as that is told ---- */

static void test_losing(void)
{
	char directory[] = "/tmp/pantrace-unit.XXXXXX", *whole;
	struct ctf_output_options options = {.directory = directory};
	struct pantrace_reader *reader;
	struct diag d = DIAG_INIT;
	struct ctf_output *output;
	struct ctf_source *source;
	struct rings r;
	pthread_t thread;
	int rc;

	make(&r);
	if (!mkdtemp(directory) || pantrace_reader_open_fd(r.fd, true, &reader) ||
	    ctf_output_open(&options, &d, &output) || ctf_output_add(output, reader, &source))
		abort();
	over = false;
	pthread_create(&thread, NULL, lose, &r);
	while (!__atomic_load_n(&r.shm->lost, __ATOMIC_ACQUIRE))
		;
	alarm(60);
	rc = ctf_output_drain(output, source, CTF_ALL);
	alarm(0);
	over = true;
	pthread_join(thread, NULL);
	is_int(rc, 0, "a recording ends though events are lost all the time");
	ok(ctf_output_totals(output).packets <= SUBS + 3, "%llu packets in one round",
	   (unsigned long long)ctf_output_totals(output).packets);
	ctf_output_remove(output, source);
	ctf_output_close(output, 1000);
	pantrace_reader_close(reader);
	release(&r);
	whole = xasprintf("rm -rf %s", directory);
	if (system(whole))
		abort();
	free(whole);
}

/* ---- as many kinds of events as there is room for ---- */

static void test_types(void)
{
	struct pantrace_reader *reader;
	struct rings r;
	size_t before;
	u32 nr = 0;

	make(&r);
	for (u32 at = 0; at + 24 <= META; at += 24) {
		struct pantrace_event_record *const record = (void *)(r.map + META_OFF + at);

		record->size = 24;
		record->id = ++nr;
		memcpy(record->strings, "p\0n", 4);
	}
	r.shm->meta_used = (u64)nr * 24;
	if (pantrace_reader_open_fd(r.fd, false, &reader))
		abort();
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	ok(pantrace_reader_type(reader, nr) != NULL, "%u kinds of events", nr);
	ok(mallinfo2().uordblks + mallinfo2().hblkhd - before < 8 * (size_t)META,
	   "take %zu bytes of memory for %u", mallinfo2().uordblks + mallinfo2().hblkhd - before,
	   META);
	pantrace_reader_close(reader);
	release(&r);
}

int main(void)
{
	test_ahead();
	test_losing();
	test_types();
	return tap_done();
}
