/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the format by name, and writes and compresses its output. */
#include "trace/writers/writer.h"

#include <zlib.h>

#include "base/file.h"

static const struct trace_format *const formats[] = {
	&ndjson_format,	 &csv_format,	    &folded_format,   &speedscope_format,
	&pprof_format,	 &chrome_format,    &perfetto_format, &ctf_format,
	&parquet_format, &trace_dat_format, &perf_data_format};

#define CHUNK (256 << 10) /* bytes that are written at once */

/* ---- which format ---- */

const struct trace_format *trace_format_at(size_t i)
{
	return i < ARRAY_SIZE(formats) ? formats[i] : NULL;
}

const struct trace_format *trace_format_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (str_eq(formats[i]->name, name))
			return formats[i];
	return NULL;
}

/* By the longest suffix: "x.speedscope.json" is not "x.json". */
static const struct trace_format *with_suffix(const char *path)
{
	const struct trace_format *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		for (size_t k = 0; k < ARRAY_SIZE(formats[i]->suffixes); k++) {
			const char *const suffix = formats[i]->suffixes[k];

			if (suffix && str_ends(path, suffix) && strlen(suffix) > longest) {
				best = formats[i];
				longest = strlen(suffix);
			}
		}
	return best;
}

const struct trace_format *trace_format_of_file(const char *path, bool *ret_is_packed)
{
	const struct trace_format *format = with_suffix(path);
	char *bare;

	*ret_is_packed = str_ends(path, ".gz");
	if (format || !*ret_is_packed)
		return format;
	bare = xstrndup(path, strlen(path) - strlen(".gz"));
	format = with_suffix(bare);
	free(bare);
	return format;
}

/* ---- bytes ---- */

struct writer_packer {
	z_stream stream;
	u8 buffer[CHUNK];
};

static void pack(struct trace_writer *w, bool is_end)
{
	z_stream *const z = &w->packer->stream;

	z->next_in = (u8 *)w->out.data;
	z->avail_in = (uInt)w->out.len;
	do {
		z->next_out = w->packer->buffer;
		z->avail_out = CHUNK;
		deflate(z, is_end ? Z_FINISH : Z_NO_FLUSH);
		if (!w->error && z->avail_out < CHUNK)
			w->error = write_all(w->fd, w->packer->buffer, CHUNK - z->avail_out);
	} while (!z->avail_out);
}

static int flush(struct trace_writer *w, bool is_end)
{
	if (w->packer)
		pack(w, is_end);
	else if (!w->error && w->out.len)
		w->error = write_all(w->fd, w->out.data, w->out.len);
	strbuf_reset(&w->out);
	return w->error;
}

static struct writer_packer *packer_new(void)
{
	struct writer_packer *p = xzalloc(sizeof(*p));

	/* 16: gzip's header, without a time */
	if (deflateInit2(&p->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	return p;
}

/* ---- the frame ---- */

struct trace_writer *trace_writer_new(const struct trace_format *format,
				      const struct trace_writer_options *options, int fd)
{
	struct trace_writer *w = xzalloc(format->size);

	w->format = format;
	w->options = *options;
	w->fd = fd;
	w->out = (struct strbuf)STRBUF_INIT;
	if (format->is_packed || options->is_packed)
		w->packer = packer_new();
	if (format->begin)
		format->begin(w);
	return w;
}

int trace_writer_event(struct trace_writer *w, struct recording *r)
{
	w->format->event(w, r);
	return w->out.len < CHUNK ? w->error : flush(w, false);
}

int trace_writer_end(struct trace_writer *w)
{
	if (w->format->end && !w->error)
		w->format->end(w);
	return flush(w, true);
}

void trace_writer_gaps(const struct trace_writer *w, struct diag *d)
{
	for (size_t i = 0; i < w->gaps.len; i++) {
		const struct writer_gap *const g = &w->gaps.items[i];

		diag_warning(d, NO_SPAN, "%s: left out: %" PRIu64 " %s", w->format->name, g->count,
			     g->count == 1 ? g->one : g->several);
	}
	if (w->is_full)
		diag_error(d, NO_SPAN, "%s: the sum of all weights is too large", w->format->name);
}

void trace_writer_release(struct trace_writer *w)
{
	if (w->format->release)
		w->format->release(w);
	if (w->packer)
		deflateEnd(&w->packer->stream);
	free(w->packer);
	vector_free(&w->gaps);
	strbuf_release(&w->out);
	free(w);
}

/* ---- for formats ---- */

void writer_gap(struct trace_writer *w, u64 n, const char *one, const char *several)
{
	size_t i = 0;

	if (!n)
		return;
	while (i < w->gaps.len && w->gaps.items[i].one != one)
		i++;
	if (i == w->gaps.len)
		vector_push(&w->gaps, (struct writer_gap){.one = one, .several = several});
	w->gaps.items[i].count += n;
}

bool writer_same_machine(struct trace_writer *w, const struct recording *r, const char *host)
{
	if (!w->has_machine)
		w->machine = r->relation;
	w->has_machine = true;
	w->host = w->host ?: host;
	if (r->relation != w->machine || (host && !str_eq(host, w->host)))
		w->error = -EREMOTE;
	return !w->error;
}

void writer_left_out(struct trace_writer *w, const struct stacks *s)
{
	writer_gap(w, s->without_stack, "event without a call chain",
		   "events without a call chain");
	writer_gap(
		w, s->other_kinds,
		"event of another kind than the first one with a call chain; -e chooses the kind",
		"events of other kinds than the first one with a call chain; -e chooses the kind");
	w->is_full |= s->is_full;
}
