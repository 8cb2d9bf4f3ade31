/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sink of ctf_output whose files are carried to another machine. */
#include <stdio.h>

#include "base/hashmap.h"
#include "base/recording_file.h"
#include "trace/ctf/sink.h"

struct carried_sink {
	struct ctf_sink sink;
	struct hashmap names; /* of traces; those of processes that have ended stay taken */
};

static struct carried_sink *of(struct ctf_sink *sink)
{
	return container_of(sink, struct carried_sink, sink);
}

static int begin(struct ctf_sink *sink, struct ctf_source *s)
{
	char name[sizeof(s->name)];
	bool is_new = false;

	if (s->announced)
		return 0;
	s->announced = true;
	snprintf(name, sizeof(name), "%s", s->name);
	for (u32 i = 2; !is_new; i++) {
		hashmap_put(&of(sink)->names, s->name, strlen(s->name), &is_new);
		if (!is_new)
			snprintf(s->name, sizeof(s->name), "%.48s-%u", name, i);
	}
	return 0;
}

/* "chunk-000001/app-12/ring_0" */
static int open_file(struct ctf_sink *sink, const struct ctf_source *s, const char *file,
		     struct ctf_stream_state *to)
{
	struct ctf_output *const o = sink->output;
	char name[192];

	if (o->rotating)
		snprintf(name, sizeof(name), CHUNK_NAME "/%s/%s", o->chunk, s->name, file);
	else
		snprintf(name, sizeof(name), "%s/%s", s->name, file);
	return o->options.carrier->open(o->options.carrier, name, &to->number);
}

static int append_bytes(struct ctf_sink *sink, struct ctf_source *s, const char *file,
			struct ctf_stream_state *to, const char *data, size_t size)
{
	struct recording_carrier *const c = sink->output->options.carrier;
	int rc = to->number ? 0 : open_file(sink, s, file, to);

	if (!rc)
		rc = c->write(c, to->number, data, size, to->size);
	if (!rc)
		to->size += size;
	return rc;
}

/* The padding is zeros that the next write leaves. */
static int append(struct ctf_sink *sink, struct ctf_source *s, const char *file,
		  struct ctf_stream_state *to, const struct pantrace_ctf_packet *packet,
		  u64 position)
{
	static const char zeros[8];
	const u64 before = to->size;
	int rc = append_bytes(sink, s, file, to, (const char *)&packet->header, CTF_HEADER);

	if (!rc)
		rc = append_bytes(sink, s, file, to, (const char *)packet->data, packet->size);
	if (!rc && packet->padding)
		rc = append_bytes(sink, s, file, to, zeros, packet->padding);
	if (rc)
		to->size = before;
	else if (to != &s->streams[s->nr_streams - 1])
		pantrace_reader_release(s->reader, (u32)(to - s->streams), position);
	return rc;
}

static int end(struct ctf_sink *sink, struct ctf_source *s, bool for_good)
{
	for (u32 i = 0; i < s->nr_streams; i++)
		s->streams[i].number = 0;
	s->objects.number = s->metadata.number = 0;
	return 0;
}

static int chunk(struct ctf_sink *sink, u32 number)
{
	return 0;
}

static int close_(struct ctf_sink *sink)
{
	hashmap_release(&of(sink)->names);
	free(of(sink));
	return 0;
}

static const struct ctf_sink_ops carried_ops = {
	.begin = begin,
	.append = append,
	.append_bytes = append_bytes,
	.end = end,
	.chunk = chunk,
	.close = close_,
};

int ctf_carried_sink(struct ctf_output *o)
{
	struct carried_sink *const c = xzalloc(sizeof(*c));

	c->sink.ops = &carried_ops;
	c->sink.output = o;
	o->sink = &c->sink;
	return 0;
}
