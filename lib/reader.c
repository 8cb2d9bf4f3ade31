// SPDX-License-Identifier: MIT
/*
 * The reader. A packet is first copied and then checked to have been stable: in discard mode the
 * writer never enters a sub-buffer that was not consumed; in overwrite mode it may, and then the
 * copy is discarded and the reader goes on with the oldest complete packet.
 */
#include "metadata.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pantrace/reader.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RINGS_MAX 4096u
#define TRIES_MAX 1000u /* of a packet; no writer of events is ahead of its reader so often */
#define HEADER	  sizeof(struct pantrace_packet)

struct ring_cursor {
	uint64_t position; /* up to which events were returned */
	bool bad;
	bool damaged; /* the packet returned last was what came before the damage */
	uint64_t events; /* published up to there; 0 = nothing was returned */
	uint64_t missing; /* that were published and lie behind the damage */
};

struct pantrace_reader {
	char *map;
	size_t size;
	struct pantrace_shm header; /* a checked copy: the mapping may change under us */
	uint64_t ring_size;
	bool consume;
	unsigned char *copy; /* one sub-buffer */
	struct pantrace_packet packet;
	struct ring_cursor *cursor;
	struct pt_metadata meta;
	uint64_t lost; /* as far as it was seen */
	bool keep;
	bool in_place; /* packets are not overwritten: no copy is made */
	bool verify; /* every event is looked at before its packet is returned */
};

static bool power_of_two(uint64_t x)
{
	return x && !(x & (x - 1));
}

static bool inside(uint64_t offset, uint64_t length, uint64_t size)
{
	return offset <= size && length <= size - offset && !(offset & 7);
}

static int header_check(const struct pantrace_shm *h, uint64_t size)
{
	if (h->magic != PANTRACE_SHM_MAGIC)
		return -EINVAL;
	if (h->version != PANTRACE_SHM_VERSION)
		return -EPROTONOSUPPORT;
	if (!h->nr_rings || h->nr_rings > RINGS_MAX || !power_of_two(h->sub_size) ||
	    h->sub_size < 4096 || h->sub_size > 1u << 30 || !power_of_two(h->nr_subs) ||
	    h->nr_subs < 2 || h->nr_subs > 1u << 16 || h->mode >= PANTRACE_MODE_MAX || !h->tsc_hz ||
	    h->contexts >> PANTRACE_CONTEXT_MAX)
		return -EBADMSG;
	if (!inside(h->ring_off, (uint64_t)h->nr_rings * sizeof(struct pantrace_ring), size) ||
	    (h->ring_off & 63) || !inside(h->meta_off, h->meta_size, size) ||
	    !inside(h->data_off, (uint64_t)h->nr_rings * h->nr_subs * h->sub_size, size))
		return -EBADMSG;
	return 0;
}

static struct pantrace_ring *ring_of(const struct pantrace_reader *reader, uint32_t ring)
{
	return (struct pantrace_ring *)(reader->map + reader->header.ring_off) + ring;
}

static uint64_t consumed(const struct pantrace_reader *reader, uint32_t ring)
{
	return __atomic_load_n(&ring_of(reader, ring)->consumed, __ATOMIC_ACQUIRE);
}

/* Frees what is before POSITION: writers that wait for room (PANTRACE_BLOCK) go on. */
static void room_give(struct pantrace_ring *ring, uint64_t position)
{
	__atomic_store_n(&ring->consumed, position, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&ring->waiters, __ATOMIC_SEQ_CST))
		return;
	__atomic_fetch_add(&ring->room, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &ring->room, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

int pantrace_reader_open_fd(int fd, bool consume, struct pantrace_reader **ret)
{
	struct pantrace_reader *reader = calloc(1, sizeof(*reader));
	struct stat st;
	int rc = -ENOMEM;

	if (!reader)
		return -ENOMEM;
	if (fstat(fd, &st)) {
		rc = -errno;
		goto out;
	}
	rc = -EINVAL;
	if (st.st_size < (off_t)sizeof(struct pantrace_shm))
		goto out;
	reader->size = (size_t)st.st_size;
	reader->consume = consume;
	reader->map =
		mmap(NULL, reader->size, PROT_READ | (consume ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	if (reader->map == MAP_FAILED) {
		reader->map = NULL;
		rc = -errno;
		goto out;
	}
	if (pread(fd, &reader->header, sizeof(reader->header), 0) != sizeof(reader->header))
		goto out;
	rc = header_check(&reader->header, reader->size);
	if (rc)
		goto out;
	rc = -ENOMEM;
	reader->ring_size = (uint64_t)reader->header.nr_subs * reader->header.sub_size;
	reader->copy = malloc(reader->header.sub_size);
	reader->cursor = calloc(reader->header.nr_rings, sizeof(*reader->cursor));
	if (!reader->copy || !reader->cursor)
		goto out;
	/* continue where an earlier consumer stopped, or after what was cleared */
	for (uint32_t i = 0;
	     (consume || reader->header.mode == PANTRACE_OVERWRITE) && i < reader->header.nr_rings;
	     i++)
		if (pread(fd, &reader->cursor[i].position, sizeof(uint64_t),
			  (off_t)(reader->header.ring_off + i * sizeof(struct pantrace_ring) +
				  offsetof(struct pantrace_ring, consumed))) != sizeof(uint64_t)) {
			rc = -EINVAL;
			goto out;
		}
	*ret = reader;
	return 0;
out:
	pantrace_reader_close(reader);
	return rc;
}

int pantrace_reader_open(const char *path, struct pantrace_reader **ret)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = pantrace_reader_open_fd(fd, false, ret);
	close(fd);
	return rc;
}

void pantrace_reader_close(struct pantrace_reader *reader)
{
	if (!reader)
		return;
	if (reader->map)
		munmap(reader->map, reader->size);
	pt_metadata_release(&reader->meta);
	free(reader->cursor);
	free(reader->copy);
	free(reader);
}

const void *pantrace_reader_mapping(const struct pantrace_reader *reader, size_t *ret_size)
{
	*ret_size = reader->size;
	return reader->map;
}

const struct pantrace_shm *pantrace_reader_header(const struct pantrace_reader *reader)
{
	return &reader->header;
}

uint32_t pantrace_reader_rings(const struct pantrace_reader *reader)
{
	return reader->header.nr_rings;
}

int pantrace_reader_state(struct pantrace_reader *reader, uint32_t ring,
			  struct pantrace_ring_state *ret)
{
	const struct pantrace_ring *from;
	uint64_t again;

	if (ring >= reader->header.nr_rings)
		return -EINVAL;
	from = ring_of(reader, ring);
	/*
	 * position and events are written together; if the position is the same before and after,
	 * both are of one moment
	 */
	do {
		ret->position = __atomic_load_n(&from->position, __ATOMIC_ACQUIRE);
		ret->events = __atomic_load_n(&from->events, __ATOMIC_ACQUIRE);
		again = __atomic_load_n(&from->position, __ATOMIC_ACQUIRE);
	} while (again != ret->position);
	ret->lost = __atomic_load_n(&from->lost, __ATOMIC_ACQUIRE);
	return 0;
}

uint64_t pantrace_reader_unread(struct pantrace_reader *reader, uint32_t ring)
{
	struct pantrace_ring_state state;
	uint64_t from;

	if (pantrace_reader_state(reader, ring, &state))
		return 0;
	from = consumed(reader, ring);
	if (from >= state.position)
		return 0;
	return state.position - from < reader->ring_size ? state.position - from
							 : reader->ring_size;
}

const struct pantrace_event_type *pantrace_reader_type(struct pantrace_reader *reader, uint32_t id)
{
	if (id > reader->meta.nr_types)
		pt_metadata_read(&reader->meta, reader->map, &reader->header);
	return id && id <= reader->meta.nr_types ? reader->meta.types[id - 1] : NULL;
}

const struct pantrace_object_record *pantrace_reader_object(struct pantrace_reader *reader,
							    uint32_t index)
{
	if (index >= reader->meta.nr_objects)
		pt_metadata_read(&reader->meta, reader->map, &reader->header);
	return index < reader->meta.nr_objects ? reader->meta.objects[index] : NULL;
}

/* ---- returning packets, and giving them back ---- */

void pantrace_reader_keep(struct pantrace_reader *reader)
{
	reader->keep = true;
	reader->in_place = reader->consume && reader->header.mode != PANTRACE_OVERWRITE;
}

void pantrace_reader_verify(struct pantrace_reader *reader)
{
	reader->verify = true;
}

uint64_t pantrace_reader_tell(const struct pantrace_reader *reader, uint32_t ring)
{
	return ring < reader->header.nr_rings ? reader->cursor[ring].position : 0;
}

/* What was given back may be overwritten at any time: it is not read again. */
void pantrace_reader_seek(struct pantrace_reader *reader, uint32_t ring, uint64_t position)
{
	if (ring >= reader->header.nr_rings)
		return;
	if (reader->consume && position < consumed(reader, ring))
		position = consumed(reader, ring);
	reader->cursor[ring].position = position;
}

void pantrace_reader_release(struct pantrace_reader *reader, uint32_t ring, uint64_t position)
{
	if (ring < reader->header.nr_rings && reader->consume)
		room_give(ring_of(reader, ring), position);
}

uint64_t pantrace_reader_lost(struct pantrace_reader *reader)
{
	uint64_t lost =
		__atomic_load_n(&((struct pantrace_shm *)reader->map)->lost, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < reader->header.nr_rings; i++)
		lost += __atomic_load_n(&ring_of(reader, i)->lost, __ATOMIC_ACQUIRE);
	/* it only grows, unless the file was truncated or corrupted */
	if (lost > reader->lost)
		reader->lost = lost;
	return reader->lost;
}

uint64_t pantrace_reader_missing(const struct pantrace_reader *reader)
{
	uint64_t missing = 0;

	for (uint32_t i = 0; i < reader->header.nr_rings; i++)
		missing += reader->cursor[i].missing;
	return missing;
}

void pantrace_reader_refused(struct pantrace_reader *reader, uint32_t *ret_sites, int *ret_why,
			     uint32_t *ret_events)
{
	const struct pantrace_shm *const shm = (const void *)reader->map;

	*ret_sites = __atomic_load_n(&shm->refused_sites, __ATOMIC_RELAXED);
	*ret_events = __atomic_load_n(&shm->refused_events, __ATOMIC_RELAXED);
	*ret_why = (int)(__atomic_load_n(&shm->refused_why, __ATOMIC_RELAXED) & 4095);
}

/* ---- packets ---- */

/*
 * The position of the oldest sub-buffer that the writer at POSITION does not touch. In overwrite
 * mode the one after the writer's is given up: its header may be being written.
 */
static uint64_t oldest(const struct pantrace_reader *reader, uint64_t position)
{
	const uint64_t sub = reader->header.sub_size;
	const uint64_t current = (position - 1) & ~(sub - 1);
	uint64_t keep = reader->ring_size - sub;

	if (reader->header.mode == PANTRACE_OVERWRITE)
		keep -= sub;
	return current > keep ? current - keep : 0;
}

static int packet_check(struct pantrace_reader *reader, uint32_t ring, uint64_t start,
			uint64_t size)
{
	const struct pantrace_packet *packet = &reader->packet;

	if (packet->magic != PANTRACE_CTF_MAGIC || packet->stream_id ||
	    memcmp(packet->uuid, reader->header.uuid, sizeof(packet->uuid)) ||
	    packet->packet_seq_num != start / reader->header.sub_size || packet->cpu_id != ring)
		return -EBADMSG;
	return size < HEADER || size > reader->header.sub_size ? -EBADMSG : 0;
}

/* Truncates a packet at its first invalid event. */
static bool packet_whole(struct pantrace_reader *reader, struct pantrace_packet_view *view)
{
	struct pantrace_event_view event;
	uint64_t tsc = view->packet->timestamp_begin, events = 0;
	size_t at = HEADER, good = HEADER;
	int rc;

	while ((rc = pantrace_reader_event(reader, view, &at, &event)) == 1 && event.tsc >= tsc) {
		tsc = event.tsc;
		good = at;
		events++;
	}
	if (!rc)
		return true;
	view->size = good;
	view->events = events;
	view->finished = true;
	reader->packet.content_size = good * 8;
	if (reader->packet.timestamp_end < tsc || reader->packet.timestamp_end == UINT64_MAX)
		reader->packet.timestamp_end = tsc;
	return false;
}

/*
 * How many events lie behind the damage says the ring itself, if it says more than was read; at
 * least one does.
 */
static void count_missing(struct ring_cursor *cursor, uint64_t published)
{
	const uint64_t behind = published > cursor->events ? published - cursor->events : 0;

	cursor->missing = cursor->events && behind ? behind : 1;
}

int pantrace_reader_packet(struct pantrace_reader *reader, uint32_t ring,
			   struct pantrace_packet_view *ret)
{
	const uint64_t sub = reader->header.sub_size;
	struct pantrace_ring_state state, after;
	struct ring_cursor *cursor;

	if (ring >= reader->header.nr_rings)
		return -EINVAL;
	cursor = &reader->cursor[ring];
	if (cursor->bad)
		return 0;
	if (cursor->damaged) {
		cursor->bad = true;
		return -EBADMSG;
	}
	for (uint32_t tries = 0; tries < TRIES_MAX; tries++) {
		uint64_t start, size, data, events_end;
		const unsigned char *bytes;
		bool finished, done;
		int rc;

		pantrace_reader_state(reader, ring, &state);
		if (state.position <= cursor->position)
			return 0;
		/*
		 * the position of the next unread byte: 0, or a full sub-buffer, begins the next
		 * sub-buffer
		 */
		start = cursor->position & ~(sub - 1);
		if (start < oldest(reader, state.position))
			start = oldest(reader, state.position);
		data = reader->header.data_off + ring * reader->ring_size +
		       (start & (reader->ring_size - 1));
		finished = ((state.position - 1) & ~(sub - 1)) != start;
		if (!reader->in_place)
			memcpy(reader->copy, reader->map + data,
			       finished ? sub : state.position - start);
		events_end = state.events;
		if (finished) {
			const uint64_t next = reader->header.data_off + ring * reader->ring_size +
					      ((start + sub) & (reader->ring_size - 1));

			memcpy(&events_end,
			       reader->map + next + offsetof(struct pantrace_packet, events_before),
			       8);
		}
		__asm__ volatile("" ::: "memory"); /* loads stay in order on x86-64 */
		pantrace_reader_state(reader, ring, &after);
		if (start < oldest(reader, after.position))
			continue; /* overtaken while copying */
		bytes = reader->in_place ? (unsigned char *)reader->map + data : reader->copy;
		memcpy(&reader->packet, bytes, HEADER);
		size = finished ? reader->packet.content_size / 8 : state.position - start;
		rc = packet_check(reader, ring, start, size);
		if (rc || events_end < reader->packet.events_before) {
			cursor->bad = true;
			count_missing(cursor, state.events);
			return -EBADMSG;
		}
		if (!finished) {
			reader->packet.content_size = size * 8;
			reader->packet.events_discarded = state.lost;
			reader->packet.timestamp_end = reader->packet.timestamp_begin;
		}
		*ret = (struct pantrace_packet_view){
			.packet = &reader->packet,
			.data = bytes,
			.size = size,
			.from = HEADER,
			.events = events_end - reader->packet.events_before,
			.finished = finished,
		};
		if (cursor->position > start + HEADER)
			ret->from = cursor->position - start;
		if (reader->verify && !packet_whole(reader, ret))
			cursor->damaged = true;
		cursor->events = reader->packet.events_before + ret->events;
		if (cursor->damaged)
			count_missing(cursor, state.events);
		/*
		 * it was read to its end before the writer left it, and nobody will give it back
		 * later
		 */
		done = finished && ret->from >= size && ret->from > HEADER &&
		       cursor->position == consumed(reader, ring);
		cursor->position = finished ? start + sub : state.position;
		if (reader->consume && (!reader->keep || done))
			room_give(ring_of(reader, ring), cursor->position);
		if (ret->from >= size && !finished)
			return 0;
		if (ret->from < size || ret->from == HEADER)
			return 1;
	}
	cursor->bad = true;
	return -EBADMSG;
}

int pantrace_reader_event(struct pantrace_reader *reader, const struct pantrace_packet_view *packet,
			  size_t *at, struct pantrace_event_view *ret)
{
	const size_t start = (*at + 7) & ~(size_t)7;
	const unsigned char *p = packet->data + start;
	size_t room;
	uint32_t id;

	if (start >= packet->size)
		return 0;
	if (packet->size - start < 12)
		return -EBADMSG;
	memcpy(&ret->tsc, p, 8);
	memcpy(&id, p + 8, 4);
	ret->type = pantrace_reader_type(reader, id);
	if (!ret->type)
		return -EBADMSG;
	ret->contexts = p + 12;
	ret->contexts_size = 0;
	room = packet->size - start - 12;
	if (reader->header.contexts) {
		const long size = pantrace_contexts_size(reader->header.contexts, p + 12, room);

		if (size < 0)
			return -EBADMSG;
		ret->contexts_size = (size_t)size;
		room -= (size_t)size;
	}
	ret->fields = ret->contexts + ret->contexts_size;
	ret->size = 0;
	for (uint32_t i = 0; i < ret->type->nr_fields; i++) {
		const long size = pantrace_field_size(&ret->type->field[i], ret->fields + ret->size,
						      room - ret->size);

		if (size < 0)
			return -EBADMSG;
		ret->size += (size_t)size;
	}
	*at = start + 12 + ret->contexts_size + ret->size;
	return 1;
}
