// SPDX-License-Identifier: MIT
/*
 * Makes CTF packets of the rings as they are: only the header is made anew. A sub-buffer that is
 * still being written gives a packet of what it holds so far; its rest becomes another packet. What
 * babeltrace2 refuses is corrected here: times that go back between packets, sizes that are not set
 * yet, zeros after the last packet.
 */
#include <errno.h>
#include <fcntl.h>
#include <pantrace/reader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define RING_HEADER sizeof(struct pantrace_packet)
#define HEADER	    sizeof(struct pantrace_ctf_header)
#define NO_CPU	    UINT32_MAX

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * A packet without events ends with its header: Trace Compass would take the space up to the first
 * event's place for an event, and give up.
 */
static void finish(struct pantrace_ctf_packet *packet, struct pantrace_ctf_stream *stream,
		   uint64_t lost)
{
	const size_t header = packet->size ? HEADER : offsetof(struct pantrace_ctf_header, padding);

	stream->lost = max(stream->lost, lost);
	packet->header.packet_seq_num = stream->written++;
	packet->header.events_discarded = stream->lost - stream->lost_before;
	packet->header.content_size = (header + packet->size) * 8;
	packet->padding = -packet->size & 7;
	packet->header.packet_size = (HEADER + packet->size + packet->padding) * 8;
	stream->last_tsc = packet->header.timestamp_end;
}

/* A packet without events that tells how many were lost. */
static int empty_packet(const struct pantrace_shm *h, uint32_t cpu, uint64_t lost,
			struct pantrace_ctf_stream *stream, struct pantrace_ctf_packet *ret)
{
	const uint64_t now = max(stream->last_tsc, h->tsc_start);

	*ret = (struct pantrace_ctf_packet){
		.header =
			{
				.magic = PANTRACE_CTF_MAGIC,
				.timestamp_begin = now,
				.timestamp_end = now,
				.cpu_id = cpu,
			},
	};
	memcpy(ret->header.uuid, h->uuid, sizeof(h->uuid));
	finish(ret, stream, lost);
	return 1;
}

/*
 * Readers compute losses from packet to packet. For the first packet of a file they do not know
 * since when its count runs; babeltrace2 then reports no number.
 */
static bool lost_before_first(const struct pantrace_packet_view *view,
			      const struct pantrace_ctf_stream *stream)
{
	return !stream->written && view->packet->packet_seq_num <= stream->next &&
	       view->packet->events_discarded > stream->lost;
}

static int lost_packet(const struct pantrace_shm *h, uint32_t cpu, uint64_t lost,
		       struct pantrace_ctf_stream *stream, struct pantrace_ctf_packet *ret)
{
	return lost > stream->lost ? empty_packet(h, cpu, lost, stream, ret) : 0;
}

static int nothing(struct pantrace_reader *reader, uint32_t ring, bool flush,
		   struct pantrace_ctf_stream *stream, struct pantrace_ctf_packet *ret)
{
	const uint32_t rings = pantrace_reader_rings(reader);
	struct pantrace_ring_state state;
	uint64_t lost;

	if (!flush)
		return 0;
	if (ring < rings) {
		const int rc = pantrace_reader_state(reader, ring, &state);

		return rc ? rc
			  : lost_packet(pantrace_reader_header(reader), ring, state.lost, stream,
					ret);
	}
	lost = pantrace_reader_lost(reader);
	for (uint32_t i = 0; i < rings; i++)
		if (!pantrace_reader_state(reader, i, &state))
			lost -= lost < state.lost ? lost : state.lost;
	return lost_packet(pantrace_reader_header(reader), NO_CPU, lost, stream, ret);
}

int pantrace_ctf_next(struct pantrace_reader *reader, uint32_t ring, bool flush,
		      struct pantrace_ctf_stream *stream, struct pantrace_ctf_packet *ret)
{
	const uint64_t before = pantrace_reader_tell(reader, ring);
	struct pantrace_packet_view view;
	struct pantrace_event_view event;
	uint64_t number, end, events, first;
	size_t from;
	int rc;

	if (ring > pantrace_reader_rings(reader))
		return -EINVAL;
	rc = ring < pantrace_reader_rings(reader) ? pantrace_reader_packet(reader, ring, &view) : 0;
	if (rc < 0)
		return rc;
	if (rc && !view.finished && !flush) {
		pantrace_reader_seek(reader, ring, before);
		return 0;
	}
	if (!rc)
		return nothing(reader, ring, flush, stream, ret);

	if (lost_before_first(&view, stream)) {
		pantrace_reader_seek(reader, ring, before);
		return empty_packet(pantrace_reader_header(reader), view.packet->cpu_id,
				    stream->lost, stream, ret);
	}
	number = view.packet->packet_seq_num;
	/*
	 * a sub-buffer that was read to its end before the writer left it has no packet of its own
	 */
	if (number > stream->next && view.packet->events_before > stream->events)
		stream->written += number - stream->next;
	stream->next = number + view.finished;
	from = (view.from + 7) & ~(size_t)7;
	if (from > view.size)
		from = view.size;
	*ret = (struct pantrace_ctf_packet){
		.header =
			{
				.magic = PANTRACE_CTF_MAGIC,
				.timestamp_begin = view.packet->timestamp_begin,
				.timestamp_end = view.packet->timestamp_end,
				.cpu_id = view.packet->cpu_id,
			},
		.data = view.data + from,
		.size = view.size - from,
	};
	events = view.packet->events_before + view.events;
	first = view.packet->events_before;
	if (view.from > RING_HEADER) {
		first = stream->events;
		ret->header.timestamp_begin = stream->last_tsc;
	}
	memcpy(ret->header.uuid, view.packet->uuid, sizeof(ret->header.uuid));
	ret->events = events > first ? events - first : 0;
	stream->events = events;
	stream->delivered += ret->events;
	ret->header.timestamp_begin = max(ret->header.timestamp_begin, stream->last_tsc);
	end = view.finished ? ret->header.timestamp_end : 0;
	if (!view.finished) {
		size_t at = view.from;

		while ((rc = pantrace_reader_event(reader, &view, &at, &event)) > 0)
			end = event.tsc;
		if (rc)
			return rc;
	}
	ret->header.timestamp_end = max(end, ret->header.timestamp_begin);
	finish(ret, stream, view.packet->events_discarded);
	return 1;
}

/* ---- loaded objects ---- */

static void put_object(FILE *file, const struct pantrace_object_record *object, uint64_t tsc)
{
	const uint32_t id = object->unloaded != 0;

	while (ftell(file) & 7)
		fputc(0, file);
	fwrite(&tsc, 8, 1, file);
	fwrite(&id, 4, 1, file);
	fwrite(&object->base, 8, 1, file);
	fwrite(&object->start, 8, 1, file);
	fwrite(&object->end, 8, 1, file);
	for (uint32_t i = 0; i < object->build_id_size; i++)
		fprintf(file, "%02x", object->build_id[i]);
	fputc(0, file);
	fwrite(object->path, strlen(object->path) + 1, 1, file);
}

int pantrace_ctf_objects(struct pantrace_reader *reader, struct pantrace_ctf_stream *stream,
			 char **ret_data, size_t *ret_size)
{
	const struct pantrace_shm *h = pantrace_reader_header(reader);
	struct pantrace_ctf_packet packet = {
		.header = {.magic = PANTRACE_CTF_MAGIC, .stream_id = 1}};
	const struct pantrace_object_record *object =
		pantrace_reader_object(reader, (uint32_t)stream->events);
	char *data = NULL;
	size_t size = 0;
	FILE *file;

	if (!object)
		return 0;
	file = open_memstream(&data, &size);
	if (!file)
		return -ENOMEM;
	memcpy(packet.header.uuid, h->uuid, sizeof(h->uuid));
	packet.header.timestamp_begin = max(stream->last_tsc, h->tsc_start);
	packet.header.timestamp_end = packet.header.timestamp_begin;
	fwrite(&packet.header, HEADER, 1, file);
	for (; object; object = pantrace_reader_object(reader, (uint32_t)++stream->events)) {
		packet.header.timestamp_end = max(packet.header.timestamp_end, object->tsc);
		put_object(file, object, packet.header.timestamp_end);
	}
	packet.size = (size_t)ftell(file) - HEADER;
	finish(&packet, stream, 0);
	for (size_t i = 0; i < packet.padding; i++)
		fputc(0, file);
	if (fclose(file)) {
		free(data);
		return -ENOMEM;
	}
	memcpy(data, &packet.header, HEADER);
	*ret_data = data;
	*ret_size = size;
	return 1;
}

void pantrace_ctf_stream_name(struct pantrace_reader *reader, uint32_t ring, char name[32])
{
	if (ring < pantrace_reader_rings(reader))
		snprintf(name, 32, "ring_%u", ring);
	else
		strcpy(name, "ring_none");
}

/* ---- a whole trace at once ---- */

static int write_vector(int fd, struct iovec *part, int parts)
{
	while (parts) {
		ssize_t n = writev(fd, part, parts);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (; parts && (size_t)n >= part->iov_len; part++, parts--)
			n -= (ssize_t)part->iov_len;
		if (parts) {
			part->iov_base = (char *)part->iov_base + n;
			part->iov_len -= (size_t)n;
		}
	}
	return 0;
}

static int create(int directory, const char *name)
{
	const int fd =
		openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static int put_ring(struct pantrace_reader *reader, uint32_t ring, int directory)
{
	struct pantrace_ctf_stream stream = {0};
	struct pantrace_ctf_packet packet;
	int fd = -1, rc;
	char name[32];

	pantrace_ctf_stream_name(reader, ring, name);
	while ((rc = pantrace_ctf_next(reader, ring, true, &stream, &packet)) > 0) {
		static const char zeros[8];
		struct iovec parts[] = {
			{&packet.header, HEADER},
			{(void *)packet.data, packet.size},
			{(void *)zeros, packet.padding},
		};

		if (fd < 0)
			fd = create(directory, name);
		rc = fd < 0 ? fd : write_vector(fd, parts, 3);
		if (rc)
			break;
	}
	if (fd >= 0 && close(fd) && !rc)
		rc = -errno;
	return rc;
}

static int put_file(int directory, const char *name, const char *data, size_t size)
{
	struct iovec part = {(void *)data, size};
	const int fd = create(directory, name);
	int rc;

	if (fd < 0)
		return fd;
	rc = write_vector(fd, &part, 1);
	if (close(fd) && !rc)
		rc = -errno;
	return rc;
}

int pantrace_ctf_write(struct pantrace_reader *reader, const char *directory)
{
	struct pantrace_ctf_stream stream = {0};
	int at, rc = 0, error;
	size_t size = 0;
	char *data;

	if (mkdir(directory, 0700) && errno != EEXIST)
		return -errno;
	at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -errno;
	for (uint32_t i = 0; i <= pantrace_reader_rings(reader) && !rc; i++)
		rc = put_ring(reader, i, at);
	error = pantrace_ctf_objects(reader, &stream, &data, &size);
	if (error > 0) {
		error = put_file(at, "objects", data, size);
		free(data);
	}
	rc = rc ? rc : error;
	/* after the packets: by now it knows every event that they hold */
	error = pantrace_ctf_metadata(reader, &data, &size);
	if (!error) {
		error = put_file(at, "metadata", data, size);
		free(data);
	}
	close(at);
	return rc ? rc : error;
}
