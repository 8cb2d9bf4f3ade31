/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "trace/perf/internal.h"

#define MAGIC_SIZE (sizeof(PERF_FILE_MAGIC) - 1)

static const char magic[] = PERF_FILE_MAGIC;
static const char foreign_magic[8] = {'2', 'E', 'L', 'I', 'F', 'R', 'E', 'P'};

bool perf_data_is(const void *head, size_t len)
{
	return len >= MAGIC_SIZE &&
	       (!memcmp(head, magic, MAGIC_SIZE) || !memcmp(head, foreign_magic, MAGIC_SIZE));
}

int perf_damaged(struct perf_data *p, const char *what)
{
	if (!p->damaged)
		diag_error(p->diag, NO_SPAN, "%s: damaged or cut off: %s", p->path, what);
	p->damaged = true;
	return -EINVAL;
}

u8 *perf_read(struct perf_data *p, u64 offset, u64 size)
{
	u8 *data;

	if (size > PERF_SECTION_MAX || offset > p->size || size > p->size - offset) {
		perf_damaged(p, "a part of it lies beyond its end");
		return NULL;
	}
	data = xmalloc(size + 1);
	if (!read_all_at(p->fd, data, size, offset))
		return data;
	perf_damaged(p, "the file was cut short while it was read");
	free(data);
	return NULL;
}

static int read_attrs(struct perf_data *p, u64 attr_size, u64 offset, u64 size)
{
	const u64 count = attr_size > 16 ? size / attr_size : 0;
	u8 *all = count && count <= PERF_KINDS_MAX ? perf_read(p, offset, size) : NULL;
	int rc = 0;

	if (!all)
		return perf_damaged(p, "it says of no event what it is");
	for (u64 i = 0; i < count && !rc; i++) {
		const u8 *attr = all + i * attr_size;
		struct cursor c = cursor_of(attr + attr_size - 16, 16);
		const u64 at = cursor_u64(&c), n = cursor_u64(&c);
		u8 *ids = perf_read(p, at, n);

		rc = ids && perf_add_attr(p, attr, (size_t)attr_size - 16, cursor_of(ids, n))
			     ? 0
			     : perf_damaged(p, "the ids of its events");
		free(ids);
	}
	free(all);
	return rc;
}

/* They stand behind the data, which a recorder that was killed never came to. */
static void read_features(struct perf_data *p, const u64 bits[4], u64 offset)
{
	u32 count = 0;
	u8 *table;
	struct cursor c;

	for (size_t i = 0; i < 4; i++)
		count += (u32)__builtin_popcountll(bits[i]);
	table = count ? perf_read(p, offset, (u64)count * 16) : NULL;
	if (!table)
		return;
	c = cursor_of(table, (size_t)count * 16);
	for (u32 id = 0; id < PERF_FEATURES; id++) {
		u64 at, size;
		u8 *data;

		if (!(bits[id / 64] >> id % 64 & 1))
			continue;
		at = cursor_u64(&c);
		size = cursor_u64(&c);
		if (id != PERF_FEATURE_TRACING_DATA && id != PERF_FEATURE_BUILD_ID &&
		    id != PERF_FEATURE_HOSTNAME && id != PERF_FEATURE_EVENT_DESC &&
		    id != PERF_FEATURE_CLOCK_DATA && id != PERF_FEATURE_KERNEL_SYMBOLS)
			continue;
		data = perf_read(p, at, size);
		if (data)
			perf_feature(p, id, cursor_of(data, size));
		free(data);
	}
	free(table);
}

static int read_file_header(struct perf_data *p, struct cursor *c)
{
	const u64 attr_size = cursor_u64(c), attrs = cursor_u64(c), attrs_size = cursor_u64(c);
	u64 data_size, bits[4];
	int rc;

	p->at = cursor_u64(c);
	data_size = cursor_u64(c);
	cursor_bytes(c, 16);
	for (size_t i = 0; i < 4; i++)
		bits[i] = cursor_u64(c);
	if (c->failed)
		return perf_damaged(p, "its head");
	rc = read_attrs(p, attr_size, attrs, attrs_size);
	if (rc)
		return rc;
	if (!data_size || p->at > p->size || data_size > p->size - p->at) {
		perf_damaged(p, data_size ? "its data goes beyond its end"
					  : "perf record did not come to its end");
		p->end = p->size;
	} else {
		p->end = p->at + data_size;
		read_features(p, bits, p->end);
	}
	return p->at > p->end ? -EINVAL : 0;
}

static int read_header(struct perf_data *p)
{
	u8 head[PERF_FILE_HEADER];
	const ssize_t n = pread(p->fd, head, sizeof(head), 0);
	struct cursor c = cursor_of(head, n > 0 ? (size_t)n : 0);
	const void *found = cursor_bytes(&c, MAGIC_SIZE);
	u64 size;

	if (!found || !perf_data_is(found, MAGIC_SIZE)) {
		diag_error(p->diag, NO_SPAN, "%s: not a perf.data", p->path);
		return -EINVAL;
	}
	if (memcmp(found, magic, MAGIC_SIZE)) {
		diag_error(p->diag, NO_SPAN,
			   "%s: of a big-endian machine; those of little-endian ones can be read",
			   p->path);
		return -ENOTSUP;
	}
	size = cursor_u64(&c);
	if (c.failed || (size != PERF_PIPE_HEADER && size < PERF_FILE_HEADER))
		return perf_damaged(p, "its head");
	if (size != PERF_PIPE_HEADER)
		return read_file_header(p, &c);
	p->is_pipe = true;
	p->at = size;
	p->end = p->size;
	return 0;
}

int perf_data_open(const char *path, struct diag *d, struct perf_data **ret)
{
	struct perf_data *p = xzalloc(sizeof(*p));
	struct stat st;
	int rc;

	p->diag = d;
	p->path = arena_strdup(&p->arena, path);
	p->fd = foreign_open(path, &st);
	if (p->fd < 0) {
		rc = p->fd;
		diag_error(d, NO_SPAN, "cannot read %s: %s", path, strerror(-rc));
	} else {
		p->size = (u64)st.st_size;
		p->written_ns = (s64)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		rc = read_header(p);
	}
	if (rc)
		perf_data_close(p);
	else
		*ret = p;
	if (!rc)
		perf_name_kinds(p);
	return rc;
}

void perf_data_close(struct perf_data *p)
{
	if (!p)
		return;
	perf_records_release(p);
	perf_order_release(&p->order);
	hashmap_release(&p->build_ids);
	trace_dat_close(p->formats);
	vector_free(&p->kinds);
	vector_free(&p->ids);
	if (p->fd >= 0)
		close(p->fd);
	arena_release(&p->arena);
	free(p);
}

size_t perf_data_kinds(const struct perf_data *p)
{
	return p->kinds.len;
}

struct perf_kind *perf_data_kind(const struct perf_data *p, size_t i)
{
	return &p->kinds.items[i];
}

struct trace_dat *perf_data_formats(const struct perf_data *p)
{
	return p->formats;
}

const char *perf_data_host(const struct perf_data *p)
{
	return p->host;
}

const struct perf_build_id *perf_data_build_id(const struct perf_data *p, const char *path)
{
	return hashmap_gets(&p->build_ids, path);
}

int perf_data_clock(const struct perf_data *p)
{
	return p->kinds.len && p->kinds.items[0].attr.use_clockid ? p->kinds.items[0].attr.clockid
								  : -1;
}

bool perf_data_clock_at(const struct perf_data *p, u64 *ret_clock_ns, u64 *ret_day_ns)
{
	*ret_clock_ns = p->clock_ns;
	*ret_day_ns = p->day_ns;
	return p->has_clock;
}

s64 perf_data_written(const struct perf_data *p)
{
	return p->written_ns;
}
