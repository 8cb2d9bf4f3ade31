/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sources and chunks; where the bytes go is the sink's affair. */
#include <stdio.h>
#include <unistd.h>

#include "trace/ctf/sink.h"
#include "base/clock.h"

int ctf_compression_parse(const char *name, enum ctf_compression *ret)
{
	static const char *const names[] = {"none", "zstd", "gzip"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_eq(name, names[i])) {
			*ret = (enum ctf_compression)i;
			return 0;
		}
	}
	return -EINVAL;
}

bool ctf_name_is_plain(const char *name)
{
	size_t n = 0;

	if (*name == '.' || !*name)
		return false;
	for (; name[n]; n++) {
		const char c = name[n];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    !strchr("._-", c))
			return false;
	}
	return n <= 63;
}

int ctf_output_open(const struct ctf_output_options *options, struct diag *d,
		    struct ctf_output **ret)
{
	struct ctf_output *o = xzalloc(sizeof(*o));
	int rc;

	o->options = *options;
	o->rotating = options->rotate_bytes || options->rotate_ns;
	o->name = xstrdup(options->to
				  ?: options->carrier ? "the other machine"
						      : options->directory);
	o->chunk_begin_ns = clock_now_ns(CLOCK_MONOTONIC);
	rc = options->to	? ctf_relay_sink(o, d)
	     : options->carrier ? ctf_carried_sink(o)
				: ctf_directory_sink(o, d);
	if (!rc && o->rotating) {
		o->chunk = 1;
		rc = o->sink->ops->chunk(o->sink, 1);
		if (rc)
			diag_error(d, NO_SPAN, "cannot make the first chunk in %s: %s", o->name,
				   strerror(-rc));
	}
	if (rc) {
		if (o->sink)
			o->sink->ops->close(o->sink);
		free(o->name);
		free(o);
		return rc;
	}
	*ret = o;
	return 0;
}

/* NAME-PID, with a number appended when that is taken (an exec, a second session). */
static void source_name(const struct ctf_output *o, struct ctf_source *s)
{
	const struct pantrace_shm *h = pantrace_reader_header(s->reader);
	char comm[sizeof(h->comm) + 1] = {0}, name[48];
	unsigned int copy = 1;
	bool taken;

	memcpy(comm, h->comm, sizeof(h->comm));
	for (char *c = comm; *c; c++) {
		const char one[2] = {*c, 0};

		if (!ctf_name_is_plain(one) && !(*c == '.' && c != comm))
			*c = '_';
	}
	snprintf(name, sizeof(name), "%s-%u", *comm ? comm : "process", h->pid);
	snprintf(s->name, sizeof(s->name), "%s", name);
	do {
		taken = false;
		for (size_t i = 0; i < o->sources.len; i++)
			taken |= str_eq(o->sources.items[i]->name, s->name);
		if (taken)
			snprintf(s->name, sizeof(s->name), "%s-%u", name, ++copy);
	} while (taken);
}

int ctf_output_add(struct ctf_output *o, struct pantrace_reader *reader, struct ctf_source **ret)
{
	struct ctf_source *s = xzalloc(sizeof(*s));

	s->reader = reader;
	s->output = o;
	s->id = ++o->next_id;
	s->directory = -1;
	s->nr_streams = pantrace_reader_rings(reader) + 1;
	s->streams = xzalloc(s->nr_streams * sizeof(*s->streams));
	for (u32 i = 0; i < s->nr_streams; i++) {
		s->streams[i].fd = -1;
		s->streams[i].position_at_begin = pantrace_reader_tell(reader, i);
	}
	s->objects.fd = -1;
	s->metadata.fd = -1;
	pantrace_reader_keep(reader);
	source_name(o, s);
	vector_push(&o->sources, s);
	*ret = s;
	return 0;
}

/* Types first: whoever follows the trace must know an event before it comes. */
static int put_metadata(struct ctf_sink *sink, struct ctf_source *s)
{
	/* else a new file, or one that goes on where a relay has its end */
	const bool goes_on = s->described && s->described_size == s->metadata.size;
	const u64 known = goes_on ? 0 : s->metadata.size;
	u32 at = goes_on ? s->described : 0;
	char *text;
	size_t size;
	int rc = pantrace_ctf_metadata_from(s->reader, &at, &text, &size);

	if (rc)
		return rc;
	if (size > known)
		rc = sink->ops->append_bytes(sink, s, "metadata", &s->metadata, text + known,
					     size - known);
	free(text);
	if (rc)
		return rc;
	s->described = at;
	s->described_size = s->metadata.size;
	return 0;
}

static int put_objects(struct ctf_sink *sink, struct ctf_source *s)
{
	const struct pantrace_ctf_stream before = s->objects.stream;
	char *data;
	size_t size;
	int rc = pantrace_ctf_objects(s->reader, &s->objects.stream, &data, &size);

	if (rc <= 0)
		return rc;
	rc = sink->ops->append_bytes(sink, s, "objects", &s->objects, data, size);
	if (rc)
		s->objects.stream = before;
	free(data);
	return rc;
}

/*
 * What a ring can hold at a time, and word of losses before and after it: a program that is faster
 * than we are, or means harm, does not keep us from the others.
 */
static u32 packets_max(const struct ctf_source *s)
{
	return pantrace_reader_header(s->reader)->nr_subs + 3;
}

static int put_ring(struct ctf_output *o, struct ctf_source *s, u32 ring, enum ctf_drain what)
{
	struct ctf_stream_state *to = &s->streams[ring];
	struct pantrace_ctf_packet packet;
	char file[32];
	int rc;

	pantrace_ctf_stream_name(s->reader, ring, file);
	for (u32 n = 0; n < packets_max(s); n++) {
		const struct pantrace_ctf_stream before = to->stream;
		const u64 position = pantrace_reader_tell(s->reader, ring);
		const u64 known = s->metadata.size;

		rc = pantrace_ctf_next(s->reader, ring, what != CTF_WHOLE, &to->stream, &packet);
		if (rc <= 0)
			return rc;
		if (what == CTF_SO_FAR && !packet.size && packet.header.events_discarded) {
			to->stream = before; /* the next packet tells, or the last */
			return 0;
		}
		rc = put_metadata(o->sink, s);
		if (!rc)
			rc = o->sink->ops->append(o->sink, s, file, to, &packet,
						  pantrace_reader_tell(s->reader, ring));
		if (rc) {
			to->stream = before;
			pantrace_reader_seek(s->reader, ring, position);
			return rc;
		}
		o->totals.packets++;
		o->totals.bytes += packet.header.packet_size / 8 + s->metadata.size - known;
		o->chunk_bytes += packet.header.packet_size / 8;
		if (o->options.rotate_bytes && o->chunk_bytes >= o->options.rotate_bytes &&
		    what == CTF_WHOLE)
			return 0; /* the caller begins the next chunk */
	}
	return 0;
}

static int drain(struct ctf_output *o, struct ctf_source *s, enum ctf_drain what)
{
	int rc = o->sink->ops->begin(o->sink, s), damaged = 0;

	if (!rc && !s->metadata.size)
		rc = put_metadata(o->sink, s);
	if (!rc)
		rc = put_objects(o->sink, s);
	for (u32 i = 0; i < s->nr_streams && !rc; i++) {
		rc = put_ring(o, s, i, what);
		if (rc == -EBADMSG) { /* the other rings may be whole */
			damaged = rc;
			rc = 0;
		}
	}
	o->error = rc ? rc : damaged;
	return o->error;
}

static int next_chunk(struct ctf_output *o)
{
	int rc = 0;

	for (size_t i = 0; i < o->sources.len; i++) {
		const int one = drain(o, o->sources.items[i], CTF_ALL);

		if (one && one != -EBADMSG)
			rc = one;
	}
	if (!rc && o->sink->ops->settled)
		rc = o->sink->ops->settled(o->sink, 2000);
	if (rc)
		return rc; /* the chunk goes on: nothing may be missing between two */
	for (size_t i = 0; i < o->sources.len; i++) {
		struct ctf_source *s = o->sources.items[i];

		o->sink->ops->end(o->sink, s, false);
		for (u32 j = 0; j < s->nr_streams; j++) {
			pantrace_ctf_stream_continue(&s->streams[j].stream);
			s->streams[j].size = 0;
			s->streams[j].at_begin = s->streams[j].stream;
			s->streams[j].position_at_begin = pantrace_reader_tell(s->reader, j);
		}
		s->objects = (struct ctf_stream_state){.fd = -1};
		s->metadata = (struct ctf_stream_state){.fd = -1};
	}
	rc = o->sink->ops->chunk(o->sink, o->chunk + 1);
	if (rc)
		return rc;
	o->chunk++;
	o->chunk_bytes = 0;
	o->chunk_begin_ns = clock_now_ns(CLOCK_MONOTONIC);
	return 0;
}

int ctf_output_drain(struct ctf_output *o, struct ctf_source *s, enum ctf_drain what)
{
	int rc = drain(o, s, what);

	while (!rc && o->options.rotate_bytes && o->chunk_bytes >= o->options.rotate_bytes) {
		rc = next_chunk(o);
		if (!rc)
			rc = drain(o, s, what);
	}
	return rc;
}

u64 ctf_output_unwritten(struct ctf_output *o)
{
	u64 events = 0;

	for (size_t i = 0; i < o->sources.len; i++) {
		struct ctf_source *const s = o->sources.items[i];

		for (u32 j = 0; j < s->nr_streams; j++) {
			struct pantrace_ctf_stream stream = s->streams[j].stream;
			const u64 position = pantrace_reader_tell(s->reader, j);
			struct pantrace_ctf_packet packet;

			for (u32 n = 0; n < packets_max(s); n++) {
				if (pantrace_ctf_next(s->reader, j, true, &stream, &packet) <= 0 ||
				    !packet.size)
					break;
				events += packet.events;
			}
			pantrace_reader_seek(s->reader, j, position);
		}
	}
	return events;
}

int ctf_output_rotate(struct ctf_output *o)
{
	return o->rotating ? next_chunk(o) : -EINVAL;
}

int ctf_output_tick(struct ctf_output *o, struct diag *d)
{
	int rc = o->sink->ops->tick ? o->sink->ops->tick(o->sink, d) : 0;

	if (!rc && o->options.rotate_ns &&
	    clock_now_ns(CLOCK_MONOTONIC) - o->chunk_begin_ns >= o->options.rotate_ns) {
		rc = next_chunk(o);
		if (rc == -EAGAIN || rc == -ENOSPC)
			rc = 0;
	}
	return rc;
}

void ctf_output_remove(struct ctf_output *o, struct ctf_source *s)
{
	const int rc = o->sink->ops->end(o->sink, s, true);

	if (rc && !o->error)
		o->error = rc;
	for (u32 i = 0; i < s->nr_streams; i++)
		o->totals.events += s->streams[i].stream.delivered;
	o->lost_of_removed += pantrace_reader_lost(s->reader);
	for (size_t i = 0; i < o->sources.len; i++) {
		if (o->sources.items[i] != s)
			continue;
		memmove(&o->sources.items[i], &o->sources.items[i + 1],
			(o->sources.len - i - 1) * sizeof(s));
		o->sources.len--;
		break;
	}
	free(s->streams);
	free(s);
}

const char *ctf_output_name(const struct ctf_output *o)
{
	return o->name;
}

struct ctf_output_totals ctf_output_totals(struct ctf_output *o)
{
	struct ctf_output_totals totals = o->totals;

	totals.lost = o->lost_of_removed;
	for (size_t i = 0; i < o->sources.len; i++)
		totals.lost += pantrace_reader_lost(o->sources.items[i]->reader);
	for (size_t i = 0; i < o->sources.len; i++)
		for (u32 j = 0; j < o->sources.items[i]->nr_streams; j++)
			totals.events += o->sources.items[i]->streams[j].stream.delivered;
	return totals;
}

int ctf_output_close(struct ctf_output *o, u32 timeout_ms)
{
	int rc = o->sink->ops->finish ? o->sink->ops->finish(o->sink, timeout_ms) : o->error,
	    closed;

	o->error = rc;
	while (o->sources.len)
		ctf_output_remove(o, vector_last(&o->sources));
	rc = o->error;
	closed = o->sink->ops->close(o->sink);
	vector_free(&o->sources);
	free(o->name);
	free(o);
	return rc ? rc : closed;
}
