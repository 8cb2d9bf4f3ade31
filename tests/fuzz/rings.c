/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rings of a hostile process: a file of two rings that is whole at first, into which a thread
 * scribbles, or which it cuts short, while the reader, or the recorder of a session, reads it. The
 * input: what is read and how, how many of the changes are made before it is opened, then changes
 * of 11 bytes: where from (header, ring, records, data), offset u16, value u64.
 */
#include <fcntl.h>
#include <pantrace/reader.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/recorder.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

enum {
	RINGS = 2,
	SUB = 4096,
	SUBS = 4,
	META = 4096,
	RING_OFF = 4096,
	META_OFF = 8192,
	DATA_OFF = 12288
};
enum { SIZE = DATA_OFF + RINGS * SUBS * SUB, CHANGE = 11 };
enum { CONSUME = 1, KEEP = 2, VERIFY = 4, RECORD = 8, OVERWRITE = 16, CUT = 32 };

static u8 whole[SIZE];
static char directory[64];

static void add_type(struct pantrace_shm *shm, u32 id, u32 nr_fields, const char *strings,
		     size_t len)
{
	struct pantrace_event_record *r = (void *)(whole + META_OFF + shm->meta_used);

	r->size = (u32)ALIGN_UP(sizeof(*r) + len, 8);
	r->id = id;
	r->nr_fields = nr_fields;
	memcpy(r->strings, strings, len);
	shm->meta_used += r->size;
}

/* Three sub-buffers of events each, the third unfinished. */
static void fill_ring(u32 number, struct pantrace_shm *shm, struct pantrace_ring *ring)
{
	for (u32 sub = 0; sub < 3; sub++) {
		u8 *const start = whole + DATA_OFF + (number * SUBS + sub) * SUB;
		struct pantrace_packet *p = (void *)start;
		size_t at = sizeof(*p);

		*p = (struct pantrace_packet){.magic = 0xc1fc1fc1,
					      .timestamp_begin = 1000 + ring->events,
					      .packet_seq_num = sub,
					      .packet_size = SUB * 8,
					      .events_before = ring->events,
					      .cpu_id = number};
		memcpy(p->uuid, shm->uuid, sizeof(p->uuid));
		for (u32 i = 0; i < (sub < 2 ? 100u : 5u); i++) {
			const u64 tsc = 1000 + ++ring->events;
			const u32 id = 1 + i % 2;

			at = ALIGN_UP(at, 8);
			memcpy(start + at, &tsc, 8);
			memcpy(start + at + 8, &id, 4);
			memcpy(start + at + 12, id == 1 ? "\x07\0\0\0" : "a\0\x02\0xy",
			       id == 1 ? 4 : 6);
			at += id == 1 ? 16 : 18;
		}
		p->content_size = at * 8;
		p->timestamp_end = 1000 + ring->events;
		ring->position = sub * SUB + at;
	}
	ring->cpu = number;
	ring->last_tsc = 1000 + ring->events;
}

static void make_whole(void)
{
	static const char one[] = "fuzz\0one\0\x05number",
			  two[] = "fuzz\0two\0\x0dtext\0\x0ebounded";
	struct pantrace_shm *shm = (void *)whole;
	struct stat st;

	*shm = (struct pantrace_shm){.magic = PANTRACE_SHM_MAGIC,
				     .version = PANTRACE_SHM_VERSION,
				     .nr_rings = RINGS,
				     .sub_size = SUB,
				     .nr_subs = SUBS,
				     .ring_off = RING_OFF,
				     .meta_off = META_OFF,
				     .meta_size = META,
				     .data_off = DATA_OFF,
				     .file_size = SIZE,
				     .tsc_hz = 1000000000,
				     .pid = (u32)getpid(),
				     .uuid = "0123456789abcde",
				     .comm = "fuzz",
				     .session = "fuzz"};
	if (!stat("/proc/self/ns/pid", &st))
		shm->pid_namespace = st.st_ino;
	add_type(shm, 1, 1, one, sizeof(one));
	add_type(shm, 2, 2, two, sizeof(two));
	for (u32 i = 0; i < RINGS; i++)
		fill_ring(i, shm, (struct pantrace_ring *)(whole + RING_OFF) + i);
	snprintf(directory, sizeof(directory), "/dev/shm/rings-fuzz-%d", (int)getpid());
	mkdir(directory, 0700);
}

/* ---- the other side ---- */

struct scribbler {
	int fd;
	u8 *map;
	const u8 *changes;
	size_t count;
	bool cuts;
	volatile bool ends;
	pthread_t thread;
};

static void change(const struct scribbler *s, size_t i)
{
	static const u32 areas[] = {0, RING_OFF, META_OFF, DATA_OFF};
	const u8 *p = s->changes + i * CHANGE;
	u16 offset;
	u64 value;
	size_t at;

	memcpy(&offset, p + 1, sizeof(offset));
	memcpy(&value, p + 3, sizeof(value));
	at = areas[*p & 3] + (*p & 3 ? offset : offset % sizeof(struct pantrace_shm));
	/* through the file: what was cut off grows again; on a full disk it does not */
	if (at + 8 <= SIZE)
		(void)!pwrite(s->fd, &value, 1u << (*p >> 2 & 3), (off_t)at);
}

static void *scribble(void *arg)
{
	struct scribbler *s = arg;

	for (size_t i = 0; !s->ends; i++) {
		change(s, i % s->count);
		if (s->cuts && i % 64 == 63)
			(void)!ftruncate(s->fd, s->changes[i % s->count * CHANGE + 1] * 256);
	}
	return NULL;
}

/* ---- ours ---- */

static void read_rings(int fd, u8 how)
{
	struct pantrace_packet_view packet;
	struct pantrace_event_view event;
	struct pantrace_ctf_stream streams[RINGS + 1] = {0};
	struct pantrace_ctf_packet out;
	struct pantrace_reader *reader;
	struct pantrace_ring_state state;
	struct shared_range *range;
	char *text = NULL;
	size_t size;

	if (pantrace_reader_open_fd(fd, how & CONSUME, &reader))
		return;
	range = recorder_guard(reader);
	if (how & KEEP)
		pantrace_reader_keep(reader);
	if (how & VERIFY)
		pantrace_reader_verify(reader);
	for (u32 ring = 0; ring < MIN(pantrace_reader_rings(reader), (u32)RINGS); ring++) {
		for (int i = 0; i < 40 && pantrace_reader_packet(reader, ring, &packet) == 1; i++) {
			size_t at = packet.from;

			while (pantrace_reader_event(reader, &packet, &at, &event) == 1)
				if (at > packet.size)
					abort();
		}
		pantrace_reader_state(reader, ring, &state);
		pantrace_reader_seek(reader, ring, state.position / 2);
		for (int i = 0;
		     i < 10 && pantrace_ctf_next(reader, ring, true, &streams[ring], &out) == 1;
		     i++)
			pantrace_reader_release(reader, ring, pantrace_reader_tell(reader, ring));
	}
	for (u32 i = 0; pantrace_reader_object(reader, i); i++)
		;
	pantrace_reader_lost(reader);
	if (!pantrace_ctf_metadata(reader, &text, &size) && strlen(text) > size)
		abort();
	free(text);
	recorder_unguard(range);
	pantrace_reader_close(reader);
}

static void record(u8 how)
{
	const struct user_session session = {.name = "fuzz", .directory = directory};
	struct ctf_output *output;
	struct diag d = DIAG_INIT;
	struct recorder r;
	char where[96];

	snprintf(where, sizeof(where), "%s/out", directory);
	if (!ctf_output_open(&(struct ctf_output_options){.directory = where}, &d, &output)) {
		recorder_open(&r, &session, output, how & CONSUME);
		recorder_find(&r, false);
		for (int i = 0; i < 4; i++)
			recorder_drain(&r, i & 1 ? CTF_ALL : CTF_WHOLE);
		recorder_reap(&r);
		recorder_lost(&r);
		recorder_close(&r);
		ctf_output_close(output, 0);
	}
	diag_release(&d);
	snprintf(where, sizeof(where), "rm -rf %s/out", directory);
	if (system(where))
		abort();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct scribbler s = {0};
	size_t before;
	char path[96];

	if (len < 2 + CHANGE)
		return 0;
	if (!*directory)
		make_whole();
	snprintf(path, sizeof(path), "%s/1-fuzz.pantrace", directory);
	s.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (s.fd < 0)
		abort();
	if (pwrite(s.fd, whole, SIZE, 0) != SIZE) { /* a full disk */
		close(s.fd);
		return 0;
	}
	s.changes = data + 2;
	s.count = (len - 2) / CHANGE;
	s.cuts = data[0] & CUT;
	if (data[0] & OVERWRITE)
		(void)!pwrite(s.fd, &(u32){PANTRACE_OVERWRITE}, 4,
			      offsetof(struct pantrace_shm, mode));
	before = data[1] % (s.count + 1);
	for (size_t i = 0; i < before; i++)
		change(&s, i);
	s.changes += before * CHANGE;
	s.count -= before;
	if (s.count && pthread_create(&s.thread, NULL, scribble, &s))
		abort();
	if (data[0] & RECORD && data[1] % 8 == 0) /* a hundred times slower */
		record(data[0]);
	else
		read_rings(s.fd, data[0]);
	s.ends = true;
	if (s.count)
		pthread_join(s.thread, NULL);
	close(s.fd);
	return 0;
}
