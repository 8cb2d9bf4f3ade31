/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/perf/writer.h"

#include <zstd.h>

#include "base/clock.h"
#include "base/vector.h"

#define BUFFER		 (1u << 16) /* of small records */
#define PIECE		 (1u << 15) /* so much becomes one compressed record */
#define COMPRESSED_LEVEL 1

_Static_assert(ZSTD_COMPRESSBOUND(PIECE) + sizeof(struct perf_event_header) < UINT16_MAX,
	       "fits into a record");

struct section {
	u64 offset, size;
};

struct file_header {
	char magic[8];
	u64 size, attr_size;
	struct section attrs, data, event_types;
	u64 features[4];
};

_Static_assert(sizeof(struct file_header) == PERF_FILE_HEADER, "as perf has it");

struct perf_writer {
	struct recording_file to; /* the caller's */
	int error; /* the first -errno */
	struct file_header header;
	u64 end; /* of what was written, whole records */
	struct strbuf small; /* records of our own that are not written yet */
	struct ZSTD_CCtx_s *packer; /* NULL = not compressed */
	u64 unpacked; /* bytes that went into it */
	struct strbuf packed;
	struct feature {
		struct strbuf contents; /* not written yet */
		struct section at; /* where they were written; size 0: they were not */
	} features[PERF_FEATURES];
	bool has_table; /* behind the data, and the head says so */
	VECTOR(struct perf_written_event) events; /* that are written behind all else */
};

/* ---- bytes ---- */

static int failed(struct perf_writer *w, int err)
{
	if (!w->error)
		w->error = err;
	return w->error;
}

/* At the end. Of pieces that were not all written nothing counts. */
static int append(struct perf_writer *w, const struct iovec *pieces, int count)
{
	u64 at = w->end;

	for (int i = 0; i < count && !w->error; i++) {
		const int err =
			recording_file_write(&w->to, pieces[i].iov_base, pieces[i].iov_len, at);

		if (err)
			failed(w, err);
		at += pieces[i].iov_len;
	}
	if (!w->error)
		w->end = at;
	return w->error;
}

static int append_text(struct perf_writer *w, const struct strbuf *text)
{
	return append(w, &(struct iovec){text->data, text->len}, 1);
}

/* ---- features ---- */

/* Contents of the features that were said by now, from `at` on. */
static void place_features(struct perf_writer *w, u64 at, struct strbuf *to)
{
	for (size_t i = 0; i < PERF_FEATURES; i++) {
		struct feature *const f = &w->features[i];

		if (!f->contents.len)
			continue;
		f->at = (struct section){at + to->len, f->contents.len};
		strbuf_add(to, f->contents.data, f->contents.len);
		strbuf_release(&f->contents);
	}
}

/* Before the first record: the features that are known by now. */
static void begin_data(struct perf_writer *w)
{
	struct strbuf text = STRBUF_INIT;

	place_features(w, w->end, &text);
	strbuf_addchars(&text, 0, (int)(ALIGN_UP(w->end + text.len, 8) - (w->end + text.len)));
	append_text(w, &text);
	strbuf_release(&text);
	w->header.data.offset = w->end;
}

/* ---- records ---- */

/* One record of its own, for perf unpacks each into so much room. */
static int pack(struct perf_writer *w, const void *data, size_t size)
{
	ZSTD_inBuffer in = {data, size, 0};
	size_t rest = 1;

	while (rest && !w->error) {
		struct perf_event_header h = {.type = PERF_USER_COMPRESSED};
		ZSTD_outBuffer out = {0};

		strbuf_reset(&w->packed);
		out.size = UINT16_MAX - sizeof(h);
		out.dst = strbuf_reserve(&w->packed, sizeof(h) + out.size) + sizeof(h);
		rest = ZSTD_compressStream2(w->packer, &out, &in, ZSTD_e_flush);
		if (ZSTD_isError(rest))
			return failed(w, -EIO);
		h.size = (u16)(sizeof(h) + out.pos);
		memcpy(w->packed.data, &h, sizeof(h));
		w->packed.len = h.size;
		append_text(w, &w->packed);
	}
	w->unpacked += size;
	return w->error;
}

static int write_header(struct perf_writer *w)
{
	const int err = recording_file_write(&w->to, &w->header, sizeof(w->header), 0);

	return err ? failed(w, err) : 0;
}

/* Before data: the table is about to be overwritten. */
static void make_room(struct perf_writer *w)
{
	if (!w->header.data.offset)
		begin_data(w);
	if (!w->has_table)
		return;
	memset(w->header.features, 0, sizeof(w->header.features));
	write_header(w);
	w->has_table = false;
}

static int write_data(struct perf_writer *w, const struct iovec *pieces, int count)
{
	make_room(w);
	if (!w->packer)
		return append(w, pieces, count);
	for (int i = 0; i < count; i++)
		for (size_t at = 0; at < pieces[i].iov_len; at += PIECE)
			pack(w, (const u8 *)pieces[i].iov_base + at,
			     MIN(pieces[i].iov_len - at, (size_t)PIECE));
	return w->error;
}

static int flush_small(struct perf_writer *w)
{
	const struct iovec all = {w->small.data, w->small.len};

	if (all.iov_len)
		write_data(w, &all, 1);
	strbuf_reset(&w->small);
	return w->error;
}

int perf_writer_data(struct perf_writer *w, const struct iovec *pieces, int count)
{
	u64 end;

	flush_small(w);
	make_room(w);
	end = w->end;
	if (write_data(w, pieces, count))
		w->end = end; /* nor what was compressed before the error */
	return w->error;
}

int perf_writer_record(struct perf_writer *w, u32 type, u16 misc, const void *body, size_t size)
{
	const struct perf_event_header h = {type, misc,
					    (u16)(sizeof(h) + ALIGN_UP(size, (size_t)8))};

	strbuf_add(&w->small, &h, sizeof(h));
	strbuf_add(&w->small, body, size);
	strbuf_addchars(&w->small, 0, (int)(ALIGN_UP(size, (size_t)8) - size));
	return w->small.len >= BUFFER ? flush_small(w) : w->error;
}

/* Outside of what is compressed, as perf has it. */
int perf_writer_round(struct perf_writer *w)
{
	const struct perf_event_header h = {.type = PERF_USER_FINISHED_ROUND, .size = sizeof(h)};
	const struct iovec all = {(void *)&h, sizeof(h)};

	flush_small(w);
	make_room(w);
	return append(w, &all, 1);
}

/* Where each feature is. */
static void add_table(struct perf_writer *w, struct strbuf *to)
{
	memset(w->header.features, 0, sizeof(w->header.features));
	for (size_t i = 0; i < PERF_FEATURES; i++) {
		if (!w->features[i].at.size)
			continue;
		w->header.features[i / 64] |= 1ull << i % 64;
		strbuf_add(to, &w->features[i].at, sizeof(w->features[i].at));
	}
}

/* Behind the data, which goes on in its place. After an error, too: there is often room for it. */
static void write_table(struct perf_writer *w)
{
	struct strbuf table = STRBUF_INIT;

	add_table(w, &table);
	w->header.data.size = w->end - w->header.data.offset;
	if (recording_file_write(&w->to, table.data, table.len, w->end))
		memset(w->header.features, 0, sizeof(w->header.features));
	write_header(w);
	w->has_table = true;
	strbuf_release(&table);
}

int perf_writer_checkpoint(struct perf_writer *w)
{
	flush_small(w);
	if (!w->error)
		write_table(w);
	return w->error;
}

int perf_writer_error(const struct perf_writer *w)
{
	return w->error;
}

u64 perf_writer_size(const struct perf_writer *w)
{
	return w->end + w->small.len;
}

/* ---- the beginning ---- */

/* Ids, then attrs, which stand at this place of the file, and the head says so. */
static void place_attrs(struct perf_writer *w, const struct perf_written_event *events, size_t n,
			u64 place, struct strbuf *to)
{
	struct strbuf ids = STRBUF_INIT, attrs = STRBUF_INIT;

	for (size_t i = 0; i < n; i++) {
		const struct section at = {place + ids.len, events[i].nr_ids * 8};

		strbuf_add(&ids, events[i].ids, at.size);
		strbuf_add(&attrs, &events[i].attr, sizeof(events[i].attr));
		strbuf_add(&attrs, &at, sizeof(at));
	}
	w->header.attr_size = sizeof(struct perf_event_attr) + sizeof(struct section);
	w->header.attrs = (struct section){place + ids.len, attrs.len};
	strbuf_add(to, ids.data, ids.len);
	strbuf_add(to, attrs.data, attrs.len);
	strbuf_release(&ids);
	strbuf_release(&attrs);
}

static void write_attrs(struct perf_writer *w, const struct perf_written_event *events, size_t n)
{
	struct strbuf text = STRBUF_INIT;

	w->end = sizeof(w->header);
	place_attrs(w, events, n, w->end, &text);
	append_text(w, &text);
	strbuf_release(&text);
}

static void describe_events(struct perf_writer *w, const struct perf_written_event *events,
			    size_t n)
{
	const u32 head[2] = {(u32)n, sizeof(struct perf_event_attr)};
	struct strbuf text = STRBUF_INIT;

	strbuf_add(&text, head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		const u32 nr_ids = (u32)events[i].nr_ids;

		strbuf_add(&text, &events[i].attr, sizeof(events[i].attr));
		strbuf_add(&text, &nr_ids, sizeof(nr_ids));
		perf_feature_string(&text, events[i].name);
		strbuf_add(&text, events[i].ids, nr_ids * sizeof(u64));
	}
	perf_writer_feature(w, PERF_FEATURE_EVENT_DESC, text.data, text.len);
	strbuf_release(&text);
}

static struct perf_clock_moment now_by(clockid_t clock)
{
	const u64 day_ns = clock_now_ns(CLOCK_REALTIME);

	return (struct perf_clock_moment){day_ns, clock_now_ns(clock)};
}

static void describe_clock(struct perf_writer *w, const struct perf_writer_options *o)
{
	const struct perf_clock_moment moment = o->is_elsewhere ? o->moment : now_by(o->clock);
	const struct {
		u32 version, clock;
		struct perf_clock_moment moment;
	} data = {1, (u32)o->clock, moment};
	struct timespec resolution = {0};
	u64 ns;

	clock_getres(o->clock, &resolution);
	ns = (u64)resolution.tv_nsec;
	if (moment.day_ns)
		perf_writer_feature(w, PERF_FEATURE_CLOCK_DATA, &data, sizeof(data));
	perf_writer_feature(w, PERF_FEATURE_CLOCKID, &ns, sizeof(ns));
}

static void describe_packing(struct perf_writer *w, u32 ratio)
{
	const u32 words[] = {1, 1 /* zstd */, COMPRESSED_LEVEL, ratio, PIECE};

	perf_writer_feature(w, PERF_FEATURE_COMPRESSED, words, sizeof(words));
}

static void begin_packing(struct perf_writer *w)
{
	w->packer = ZSTD_createCCtx();
	if (!w->packer)
		failed(w, -ENOMEM);
	else
		ZSTD_CCtx_setParameter(w->packer, ZSTD_c_compressionLevel, COMPRESSED_LEVEL);
	describe_packing(w, 1);
}

int perf_writer_open(const struct recording_file *to, const struct perf_written_event *events,
		     size_t n, const struct perf_writer_options *o, struct perf_writer **ret)
{
	struct perf_writer *w = xzalloc(sizeof(*w));
	int err;

	w->to = *to;
	w->small = w->packed = (struct strbuf)STRBUF_INIT;
	for (size_t i = 0; i < PERF_FEATURES; i++)
		w->features[i].contents = (struct strbuf)STRBUF_INIT;
	memcpy(w->header.magic, PERF_FILE_MAGIC, sizeof(w->header.magic));
	w->header.size = sizeof(w->header);
	write_attrs(w, events, n);
	if (n)
		if (n)
			describe_events(w, events, n);
	if (o->clock >= 0)
		describe_clock(w, o);
	if (o->is_elsewhere)
		perf_write_other_machine(w, o->host);
	else
		perf_write_machine(w);
	if (o->formats && o->formats->len)
		perf_writer_feature(w, PERF_FEATURE_TRACING_DATA, o->formats->data,
				    o->formats->len);
	if (o->compress)
		begin_packing(w);
	err = w->error;
	if (err)
		perf_writer_close(w);
	else
		*ret = w;
	return err;
}

/* ---- the end ---- */

void perf_writer_feature(struct perf_writer *w, u32 feature, const void *data, size_t size)
{
	struct feature *const f = &w->features[feature];

	strbuf_reset(&f->contents);
	strbuf_add(&f->contents, data, size);
}

void perf_writer_events(struct perf_writer *w, const struct perf_written_event *events, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct perf_written_event e = events[i];

		e.name = xstrdup(e.name);
		e.ids = memcpy(xreallocarray(NULL, e.nr_ids, sizeof(*e.ids)), e.ids,
			       e.nr_ids * sizeof(*e.ids));
		vector_push(&w->events, e);
	}
	describe_events(w, events, n);
}

/* Behind the table, which is as long as it will be; then events that came late. */
static void write_last_features(struct perf_writer *w)
{
	struct strbuf text = STRBUF_INIT;
	u64 at = w->end;
	int err;

	for (size_t i = 0; i < PERF_FEATURES; i++)
		if (w->features[i].contents.len || w->features[i].at.size)
			at += sizeof(struct section);
	place_features(w, at, &text);
	if (w->events.len) {
		strbuf_addchars(&text, 0, (int)(ALIGN_UP(at + text.len, 8) - (at + text.len)));
		place_attrs(w, w->events.items, w->events.len, at + text.len, &text);
	}
	err = recording_file_write(&w->to, text.data, text.len, at);
	for (size_t i = 0; i < PERF_FEATURES && err; i++)
		if (w->features[i].at.offset >= at)
			w->features[i].at.size = 0;
	if (err)
		failed(w, err);
	write_table(w);
	strbuf_release(&text);
}

int perf_writer_close(struct perf_writer *w)
{
	u64 packed;
	int err;

	if (!w)
		return 0;
	flush_small(w);
	make_room(w);
	packed = MAX(w->end - w->header.data.offset, 1);
	if (w->packer)
		describe_packing(w, (u32)MAX((w->unpacked + packed / 2) / packed, 1));
	write_last_features(w);
	err = w->error;
	for (size_t i = 0; i < PERF_FEATURES; i++)
		strbuf_release(&w->features[i].contents);
	strbuf_release(&w->small);
	strbuf_release(&w->packed);
	for (size_t i = 0; i < w->events.len; i++) {
		free((void *)w->events.items[i].name);
		free((void *)w->events.items[i].ids);
	}
	vector_free(&w->events);
	ZSTD_freeCCtx(w->packer);
	free(w);
	return err;
}
