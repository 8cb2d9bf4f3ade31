/* SPDX-License-Identifier: MIT */
/*
 * Packets as they are written: whole, one behind the other, their counts of lost events never less,
 * and one without events is its header and nothing else, and is the first or the last of its file:
 * Trace Compass takes what is behind for an event, and reads no further.
 *
 *   packets DIRECTORY
 */
#include <fcntl.h>
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <pantrace/reader.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../unit/tap.h"

#define FIELDS_END offsetof(struct pantrace_ctf_header, padding)

static __attribute__((noinline)) void too_large(const char *s)
{
	PANTRACE(packets, too_large, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s);
}

static __attribute__((noinline)) void small(int i)
{
	PANTRACE(packets, small, i);
}

/*
 * The packets of a file; *RET_EMPTY of them have no events, *RET_LOST is what the last one says.
 * -1: damaged.
 */
static int packets(const char *directory, const char *name, int *ret_empty, unsigned long *ret_lost)
{
	struct pantrace_ctf_header h;
	char path[300];
	off_t at = 0;
	bool last_empty = false;
	int n = 0, fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return 0;
	for (; pread(fd, &h, sizeof(h), at) > 0; at += (off_t)h.packet_size / 8, n++) {
		const bool empty = h.content_size == FIELDS_END * 8;

		if ((last_empty && n > 1) || h.magic != PANTRACE_CTF_MAGIC || h.packet_size % 64 ||
		    h.packet_size < sizeof(h) * 8 || h.content_size > h.packet_size ||
		    h.events_discarded < *ret_lost ||
		    (!empty && h.content_size < (sizeof(h) + 12) * 8))
			return -1;
		*ret_empty += empty;
		last_empty = empty;
		*ret_lost = h.events_discarded;
	}
	if (lseek(fd, 0, SEEK_END) != at)
		n = -1;
	close(fd);
	return n;
}

int main(int argc, char **argv)
{
	const struct pantrace_options options = {
		.size = sizeof(options), .sub_size = 4096, .nr_subs = 2};
	unsigned long lost = 0, all = 0;
	struct pantrace_reader *reader;
	char text[300], name[32];
	int n = 0, empty = 0;

	(void)argc;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	ok(!pantrace_start(&options) && pantrace_enable("packets:*") >= 0, "events are on");
	for (int i = 0; i < 5; i++)
		too_large(text); /* for any sub-buffer: lost, and no ring's */
	for (int i = 0; i < 100000; i++)
		small(i); /* the rings are full before */
	ok(!pantrace_reader_open_fd(pantrace_fd(), false, &reader) &&
		   !pantrace_ctf_write(reader, argv[1]),
	   "a trace is written");
	for (uint32_t i = 0; i < pantrace_reader_rings(reader); i++) {
		snprintf(name, sizeof(name), "ring_%u", i);
		lost = 0;
		n = packets(argv[1], name, &empty, &lost);
		all += lost;
		ok(n >= 0, "%s: %d packets, %lu lost", name, n, lost);
	}
	lost = 0;
	empty = 0;
	is_int(packets(argv[1], "ring_none", &empty, &lost), 1, "a packet for what found no ring");
	is_int(empty, 1, "which is a header");
	is_int((long long)lost, 5, "and says how many");
	is_int((long long)(all + lost), (long long)pantrace_reader_lost(reader),
	       "all that was lost");
	lost = 0;
	is_int(packets(argv[1], "objects", &empty, &lost), 1, "a packet of loaded objects");
	pantrace_reader_close(reader);
	pantrace_stop();
	return tap_done();
}
