// SPDX-License-Identifier: MIT
/* A damaged or truncated file must never harm the reader: 3000 variations.   damage DIRECTORY */
#include "../unit/tap.h"
#include <fcntl.h>
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <pantrace/reader.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char *original, *copy;
static size_t size;

static long read_all(int fd)
{
	struct pantrace_packet_view packet;
	struct pantrace_event_view event;
	struct pantrace_reader *reader;
	long events = 0;

	if (pantrace_reader_open_fd(fd, false, &reader))
		return -1;
	for (uint32_t ring = 0; ring < pantrace_reader_rings(reader); ring++) {
		for (int i = 0; i < 1000 && pantrace_reader_packet(reader, ring, &packet) == 1;
		     i++) {
			size_t at = packet.from;

			while (pantrace_reader_event(reader, &packet, &at, &event) == 1)
				events++;
		}
	}
	pantrace_reader_close(reader);
	return events;
}

/*
 * A writer that takes back what it has described, between two looks of the reader: nothing behind
 * that counts.
 */
static void taken_back(int fd)
{
	struct pantrace_shm *h = (void *)copy;
	struct pantrace_event_record *last, *third;
	struct pantrace_reader *reader;

	memcpy(copy, original, size);
	if (pantrace_reader_open_fd(fd, false, &reader))
		return;
	ok(pantrace_reader_type(reader, 2) && !pantrace_reader_type(reader, 3),
	   "two events are known");
	last = (void *)(copy + h->meta_off);
	while (last->id != 2)
		last = (void *)((char *)last + last->size);
	third = (void *)(copy + h->meta_off + h->meta_used);
	memcpy(third, last, last->size);
	third->id = 3;
	h->meta_used = 0;
	ok(!pantrace_reader_type(reader, 3),
	   "a third one behind what the file says to have is none");
	h->meta_used = (uint64_t)((char *)third - (char *)copy) - h->meta_off + third->size;
	ok(pantrace_reader_type(reader, 3) != NULL, "once it says so, it is");
	pantrace_reader_close(reader);
}

int main(void)
{
	const struct pantrace_options options = {
		.size = sizeof(options), .sub_size = 4096, .nr_subs = 4};
	const int fd = (int)memfd_create("damage", 0);
	int refused = 0, fewer = 0;
	long whole;

	pantrace_start(&options);
	pantrace_enable("damage:*");
	for (int i = 0; i < 300; i++) {
		PANTRACE(damage, event, i, "text", PT_SEQ("sequence", 8));
		PANTRACE(damage, other, PT_STRN("bounded", 4), 1.5);
	}
	whole = read_all(pantrace_fd());
	ok(whole > 300, "%ld events in the undamaged file", whole);
	size = (size_t)lseek(pantrace_fd(), 0, SEEK_END);
	original = mmap(NULL, size, PROT_READ, MAP_SHARED, pantrace_fd(), 0);
	ok(ftruncate(fd, (off_t)size) == 0, "copy");
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	srandom(1);
	for (int i = 0; i < 3000; i++) {
		const struct pantrace_shm *h = (const void *)original;
		const size_t area[] = {0, h->ring_off, h->meta_off, h->data_off};
		long events;

		memcpy(copy, original, h->meta_off + 4096);
		memcpy(copy + h->data_off, original + h->data_off, size - h->data_off);
		for (int j = 0; j < 1 + i % 4; j++)
			copy[area[random() % 4] + (size_t)random() % 256] ^=
				(unsigned char)(1u << random() % 8);
		if (i % 10 == 0 && ftruncate(fd, random() % (long)size))
			return 1;
		events = read_all(fd);
		refused += events < 0;
		fewer += events >= 0 && events < whole;
		if (ftruncate(fd, (off_t)size))
			return 1;
	}
	taken_back(fd);
	ok(refused && fewer, "3000 damaged files: %d refused, %d read in part", refused, fewer);
	return tap_done();
}
