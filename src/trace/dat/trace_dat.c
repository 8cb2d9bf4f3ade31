/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/dat/internal.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "trace/ftrace/blk_text.h"

#define MAX_CPUS	65536
#define MAX_HEAD	(64u << 20) /* bytes before the data of the CPUs; of version 6 all of it */
#define MAX_BUFFERS	4096
#define MAX_BUFFER_HEAD (2u << 20) /* of another buffer of version 6 */

bool trace_dat_read_into(struct trace_dat *t, u64 offset, void *to, u64 n)
{
	const int err = t->was_cut ? -EIO : read_all_at(t->fd, to, n, offset);

	if (err && !t->was_cut)
		diag_error(t->diag, NO_SPAN, "%s: %s", t->path,
			   err == -EIO ? "the file was cut short while it was read"
				       : strerror(-err));
	t->was_cut |= err != 0;
	return !err;
}

u8 *trace_dat_read(struct trace_dat *t, u64 offset, u64 n)
{
	u8 *to = xmalloc(n + 1);

	if (trace_dat_read_into(t, offset, to, n))
		return to;
	free(to);
	return NULL;
}

/* ---- sections ---- */

/* The contents of a section of the file; *ret_owned must be freed. */
static int section_contents(struct trace_dat *t, u64 offset, u16 id, struct cursor *ret,
			    void **ret_owned)
{
	u8 head[16], *packed, *to;
	struct cursor c = cursor_of(head, sizeof(head));
	u16 flags;
	u64 size;
	u32 from, unpacked;

	*ret_owned = NULL;
	if (offset > t->len || t->len - offset < sizeof(head))
		return trace_dat_damaged(t, "a section is beyond its end");
	if (!trace_dat_read_into(t, offset, head, sizeof(head)))
		return -EINVAL;
	if (cursor_u16(&c) != id)
		return trace_dat_damaged(t, "a section is not where it should be");
	flags = cursor_u16(&c);
	cursor_u32(&c);
	size = cursor_u64(&c);
	if (size > t->len - offset - sizeof(head))
		return trace_dat_damaged(t, "a section goes beyond its end");
	if (size > TRACE_DAT_UNPACKED_MAX)
		return trace_dat_damaged(t, "a section is larger than anything it could hold");
	packed = trace_dat_read(t, offset + sizeof(head), size);
	if (!packed)
		return -EINVAL;
	*ret = cursor_of(packed, size);
	*ret_owned = packed;
	if (!(flags & 1))
		return 0;
	from = cursor_u32(ret);
	unpacked = cursor_u32(ret);
	if (ret->failed || from > ret->len - ret->pos || unpacked > TRACE_DAT_UNPACKED_MAX) {
		free(packed);
		*ret_owned = NULL;
		return trace_dat_damaged(t, "a compressed section");
	}
	to = xmalloc(unpacked + 1ull);
	*ret_owned = to;
	if (!trace_dat_unpack(t, packed + ret->pos, from, to, unpacked)) {
		free(to);
		free(packed);
		*ret_owned = NULL;
		return trace_dat_damaged(t, "a compressed section cannot be unpacked");
	}
	free(packed);
	*ret = cursor_of(to, unpacked);
	return 0;
}

/* Of a CPU without data it does not matter where that would be. */
static bool is_beyond(const struct trace_dat *t, const struct cpu_data *d)
{
	return d->size && (d->offset > t->len || d->size > t->len - d->offset);
}

/* ---- version 7 ---- */

static int read_buffer(struct trace_dat *t, struct cursor *c)
{
	struct buffer b = {0};
	const char *name, *clock;
	u32 cpus;

	cursor_u64(c); /* of the section; the CPUs have offsets of their own */
	name = cursor_string(c);
	clock = cursor_string(c);
	b.page_size = cursor_u32(c);
	cpus = cursor_u32(c);
	if (c->failed || cpus > MAX_CPUS || t->buffers.len >= MAX_BUFFERS)
		return trace_dat_damaged(t, "a buffer");
	b.shown.name = arena_strdup(&t->arena, name);
	b.shown.clock = arena_strdup(&t->arena, clock);
	while (cpus-- && !c->failed) {
		struct cpu_data d = {.cpu = cursor_u32(c)};

		d.offset = cursor_u64(c);
		d.size = cursor_u64(c);
		if (c->failed || is_beyond(t, &d)) {
			vector_free(&b.cpus);
			vector_free(&b.listed);
			return trace_dat_damaged(t, "the data of a CPU goes beyond its end");
		}
		b.shown.bytes += d.size;
		vector_push(&b.listed, d.cpu);
		if (d.size)
			vector_push(&b.cpus, d);
	}
	b.shown.cpus = (u32)b.cpus.len;
	vector_push(&t->buffers, b);
	return 0;
}

static int read_option(struct trace_dat *t, u16 id, struct cursor *c)
{
	struct cursor contents;
	void *owned;
	int err;

	if (id == OPTION_BUFFER)
		return read_buffer(t, c);
	if (id == OPTION_BUFFER_TEXT)
		return trace_dat_read_latency(t, cursor_u64(c));
	trace_dat_text_option(t, id, (const char *)c->data, c->len);
	if (!trace_dat_has_part(id))
		return 0;
	err = section_contents(t, cursor_u64(c), id, &contents, &owned);
	if (err)
		return err;
	err = trace_dat_read_part(t, id, &contents);
	free(owned);
	return err;
}

/* One options section; *ret_next is where the next one is, 0 = none. */
static int read_options(struct trace_dat *t, u64 offset, u64 *ret_next)
{
	struct cursor c;
	void *owned;
	int err = section_contents(t, offset, 0, &c, &owned);

	*ret_next = 0;
	while (!err && c.pos < c.len) {
		const u16 id = cursor_u16(&c);
		const u32 size = cursor_u32(&c);
		const void *data = cursor_bytes(&c, size);
		struct cursor option = cursor_of(data, size);

		if (!data) {
			err = trace_dat_damaged(t, "its options");
		} else if (id == OPTION_DONE) {
			*ret_next = cursor_u64(&option);
			break;
		} else {
			err = read_option(t, id, &option);
		}
	}
	free(owned);
	return err;
}

static int read_v7(struct trace_dat *t, struct cursor *c)
{
	const char *codec = cursor_string(c), *version = cursor_string(c);
	u64 next = cursor_u64(c);
	int err = 0;

	if (c->failed || !version)
		return trace_dat_damaged(t, "its head");
	t->codec = str_eq(codec, "zstd")   ? CODEC_ZSTD
		   : str_eq(codec, "zlib") ? CODEC_ZLIB
					   : CODEC_NONE;
	if (!t->codec && !str_eq(codec, "none")) {
		diag_error(t->diag, NO_SPAN, "%s: compressed with '%s', which is not known",
			   t->path, codec);
		return -ENOTSUP;
	}
	/* A chain: it may only go on, or it would go round. */
	for (u64 before = 0; !err && next; before++) {
		if (before > 1000)
			return trace_dat_damaged(t, "its options have no end");
		err = read_options(t, next, &next);
	}
	return err;
}

/* ---- version 6: everything in a row ---- */

static bool skip_tag(struct cursor *c, const char *tag)
{
	if (c->len - c->pos < 10 || memcmp(c->data + c->pos, tag, 10))
		return false;
	c->pos += 10;
	return true;
}

static int read_flyrecord(struct trace_dat *t, struct cursor *c, u32 cpus, const char *name)
{
	struct buffer b = {.page_size = t->page_size, .shown = {.name = name, .clock = t->clock}};

	for (u32 i = 0; i < cpus && !c->failed; i++) {
		struct cpu_data d = {.cpu = i, .offset = cursor_u64(c)};

		d.size = cursor_u64(c);
		if (is_beyond(t, &d))
			c->failed = true;
		b.shown.bytes += d.size;
		vector_push(&b.listed, i);
		if (d.size && !c->failed)
			vector_push(&b.cpus, d);
	}
	b.shown.cpus = (u32)b.cpus.len;
	if (c->failed || t->buffers.len >= MAX_BUFFERS) {
		vector_free(&b.cpus);
		vector_free(&b.listed);
		return trace_dat_damaged(t, "the data of a CPU goes beyond its end");
	}
	vector_push(&t->buffers, b);
	return 0;
}

struct named_buffer {
	const char *name;
	u64 offset;
};

typedef VECTOR(struct named_buffer) named_buffers;

static int read_v6_options(struct trace_dat *t, struct cursor *c, named_buffers *more)
{
	for (;;) {
		const u16 id = cursor_u16(c);
		u32 size;
		const char *data;

		if (c->failed)
			return trace_dat_damaged(t, "its options");
		if (id == OPTION_DONE)
			return 0;
		size = cursor_u32(c);
		data = cursor_bytes(c, size);
		if (!data)
			return trace_dat_damaged(t, "its options");
		trace_dat_text_option(t, id, data, size);
		if (id == OPTION_BUFFER && size > 8 && more->len < MAX_BUFFERS) {
			struct named_buffer b = {
				.name = arena_strndup(&t->arena, data + 8, size - 8)};

			memcpy(&b.offset, data, 8);
			vector_push(more, b);
		}
	}
}

/* Options, then where the data of the CPUs is. */
static int read_v6_data(struct trace_dat *t, struct cursor *c, u32 cpus, const char *name,
			named_buffers *more)
{
	int err = 0;

	while (!err && skip_tag(c, "options  "))
		err = read_v6_options(t, c, more);
	if (err)
		return err;
	if (skip_tag(c, "flyrecord"))
		return read_flyrecord(t, c, cpus, name);
	if (skip_tag(c, "latency  ")) {
		t->latency =
			arena_strndup(&t->arena, (const char *)c->data + c->pos, c->len - c->pos);
		return 0;
	}
	return trace_dat_damaged(t, "no data");
}

/* Another buffer: what stands before its data is short. */
static int read_v6_buffer(struct trace_dat *t, const struct named_buffer *b, u32 cpus)
{
	named_buffers none = {0};
	struct cursor c;
	u8 *head;
	u64 n;
	int err;

	if (b->offset >= t->len)
		return trace_dat_damaged(t, "a buffer is beyond its end");
	n = MIN(t->len - b->offset, (u64)MAX_BUFFER_HEAD);
	head = trace_dat_read(t, b->offset, n);
	if (!head)
		return -EINVAL;
	c = cursor_of(head, n);
	err = read_v6_data(t, &c, cpus, b->name, &none);
	vector_free(&none);
	free(head);
	return err;
}

static int read_v6(struct trace_dat *t, struct cursor *c)
{
	named_buffers more = {0};
	u32 cpus;
	int err = 0;

	for (u16 id = OPTION_HEADER_INFO; id <= OPTION_CMDLINES && !err; id++)
		err = trace_dat_read_part(t, id, c);
	if (err)
		return err;
	cpus = cursor_u32(c);
	if (c->failed || cpus > MAX_CPUS)
		return trace_dat_damaged(t, "its number of CPUs");
	err = read_v6_data(t, c, cpus, "", &more);
	for (size_t i = 0; i < more.len && !err; i++)
		err = read_v6_buffer(t, &more.items[i], cpus);
	vector_free(&more);
	return err;
}

/* ---- the file ---- */

static const u8 magic[10] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

bool trace_dat_is(const void *data, size_t len)
{
	return len > sizeof(magic) && !memcmp(data, magic, sizeof(magic));
}

static int read_head(struct trace_dat *t, struct cursor c)
{
	const char *version;
	u8 endian, long_size;

	if (!trace_dat_is(c.data, c.len)) {
		diag_error(t->diag, NO_SPAN, "%s: not a trace.dat", t->path);
		return -EINVAL;
	}
	cursor_bytes(&c, sizeof(magic));
	version = cursor_string(&c);
	endian = cursor_u8(&c);
	long_size = cursor_u8(&c);
	t->page_size = cursor_u32(&c);
	if (c.failed)
		return trace_dat_damaged(t, "its head");
	t->version = (u32)strtoul(version, NULL, 10);
	if ((t->version != 6 && t->version != 7) || endian || long_size != 8) {
		diag_error(t->diag, NO_SPAN,
			   "%s: version %s of a %s-endian machine with longs of %u bytes; versions "
			   "6 and 7 of 64-bit "
			   "little-endian ones can be read",
			   t->path, version, endian ? "big" : "little", long_size);
		return -ENOTSUP;
	}
	return t->version == 7 ? read_v7(t, &c) : read_v6(t, &c);
}

static int open_file(struct trace_dat *t)
{
	struct stat st;

	t->fd = foreign_open(t->path, &st);
	t->len = t->fd < 0 ? 0 : (u64)st.st_size;
	return MIN(t->fd, 0);
}

static struct trace_dat *new_file(const char *path, struct diag *d)
{
	struct trace_dat *t = xzalloc(sizeof(*t));

	t->fd = -1;
	t->diag = d;
	t->path = arena_strdup(&t->arena, path);
	t->uname = t->clock = "";
	t->layout = (struct page_layout)PAGE_LAYOUT_INIT;
	t->events = event_table_recorded();
	t->tasks = task_names_new(false);
	return t;
}

/* As version 6, up to the number of CPUs; names of threads since 0.6. */
int trace_dat_formats(const void *data, size_t size, const char *path, struct diag *d,
		      struct trace_dat **ret)
{
	struct trace_dat *t = new_file(path, d);
	struct cursor c = cursor_of(data, size);
	const void *found = cursor_bytes(&c, sizeof(magic));
	const char *version;
	int err = 0;

	version = found && !memcmp(found, magic, sizeof(magic)) ? cursor_string(&c) : NULL;
	if (version && (cursor_u8(&c) || cursor_u8(&c) != 8))
		version = NULL;
	cursor_u32(&c);
	if (!version || c.failed)
		err = trace_dat_damaged(t, "the formats of its events");
	for (u16 id = OPTION_HEADER_INFO; !err && id <= OPTION_CMDLINES; id++)
		if (id != OPTION_CMDLINES || !str_eq(version, "0.5"))
			err = trace_dat_read_part(t, id, &c);
	if (err)
		trace_dat_close(t);
	else
		*ret = t;
	return err;
}

/* The kernel that it was recorded on, of "Linux HOST RELEASE MACHINE". */
static const char *release_of(const struct trace_dat *t)
{
	const char *const host = strchr(t->uname, ' '), *const release =
								host ? strchr(host + 1, ' ') : NULL;

	return release ? release + 1 : "";
}

int trace_dat_open(const char *path, struct diag *d, struct trace_dat **ret)
{
	return trace_dat_open_whole(path, NULL, d, ret);
}

int trace_dat_open_whole(const char *path, struct dat_contents *keep, struct diag *d,
			 struct trace_dat **ret)
{
	struct trace_dat *t = new_file(path, d);
	u64 n;
	u8 *head;
	int err;

	t->keep = keep;
	err = open_file(t);
	if (err) {
		diag_error(d, NO_SPAN, "cannot read %s: %s", path, strerror(-err));
		trace_dat_close(t);
		return err;
	}
	n = MIN(t->len, (u64)MAX_HEAD);
	head = trace_dat_read(t, 0, n);
	err = head ? read_head(t, cursor_of(head, n)) : -EINVAL;
	free(head);
	if (!err)
		blk_format_add(t->events, release_of(t));
	if (err)
		trace_dat_close(t);
	else
		*ret = t;
	return err;
}

void trace_dat_close(struct trace_dat *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->buffers.len; i++) {
		vector_free(&t->buffers.items[i].cpus);
		vector_free(&t->buffers.items[i].listed);
	}
	vector_free(&t->buffers);
	event_table_release(t->events);
	task_names_release(t->tasks);
	ksyms_release(t->symbols);
	string_table_release(t->strings);
	if (t->fd >= 0)
		close(t->fd);
	arena_release(&t->arena);
	free(t);
}

const char *trace_dat_uname(const struct trace_dat *t)
{
	return t->uname;
}

s64 trace_dat_offset(const struct trace_dat *t)
{
	return t->offset_ns;
}

bool trace_dat_date(const struct trace_dat *t, size_t buffer, s64 *ret_ns)
{
	const char *clock = t->buffers.items[buffer].shown.clock;

	/* it was taken by the clock of the whole; instances may have others */
	if (!t->has_date || (*clock && !str_eq(clock, t->clock)))
		return false;
	*ret_ns = t->date_ns;
	return true;
}

bool trace_dat_realtime(const struct trace_dat *t, s64 *ret_ns)
{
	*ret_ns = t->realtime_ns;
	return t->has_realtime;
}

const char *trace_dat_boot(const struct trace_dat *t)
{
	return t->boot ?: "";
}

bool trace_dat_monotonic(const struct trace_dat *t, const char *clock, s64 *ret_ns)
{
	char said[32];

	for (const char *at = t->said; at && (at = strstr(at, ", CLOCK_MONOTONIC")); at++)
		if (sscanf(at, ", CLOCK_MONOTONIC - trace clock %31s = %" SCNd64, said, ret_ns) ==
			    2 &&
		    str_eq(said, clock))
			return true;
	return false;
}

u32 trace_dat_version(const struct trace_dat *t)
{
	return t->version;
}

bool trace_dat_is_packed(const struct trace_dat *t)
{
	return t->codec != CODEC_NONE;
}

const u32 *trace_dat_cpus(const struct trace_dat *t, size_t buffer, u32 *ret_count)
{
	*ret_count = (u32)t->buffers.items[buffer].listed.len;
	return t->buffers.items[buffer].listed.items;
}

struct page_layout trace_dat_layout(const struct trace_dat *t, size_t buffer)
{
	const u32 size = t->buffers.items[buffer].page_size;
	struct page_layout l = t->layout;

	if (size >= l.data_offset && size <= TRACE_DAT_PAGE_MAX)
		l.size = size;
	return l;
}

size_t trace_dat_buffers(const struct trace_dat *t)
{
	return t->buffers.len;
}

const struct trace_dat_buffer *trace_dat_buffer(const struct trace_dat *t, size_t i)
{
	return &t->buffers.items[i].shown;
}

void trace_dat_text(struct trace_dat *t, struct trace_text *ret)
{
	*ret = (struct trace_text){.events = t->events,
				   .tasks = t->tasks,
				   .context = {.symbols = t->symbols, .strings = t->strings}};
}
