/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/maps.h"

#include <linux/bpf.h>

#include "engine/in_process_maps.h"
#include "kernel/kernel.h"
#include "view/tseries.h"

#define BATCH_MAX 8192u

static u64 pointer_u64(const void *p)
{
	return (u64)(uintptr_t)p;
}

static bool is_array_type(u32 type)
{
	return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static bool is_percpu_type(u32 type)
{
	return type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PERCPU_HASH ||
	       type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

/* One of the commands on a single element. value: also the next key (attr.next_key). */
static int element(const struct open_map *m, enum bpf_cmd command, const void *key,
		   const void *value, u64 flags)
{
	union bpf_attr attr = {0};

	attr.map_fd = (u32)m->fd;
	attr.key = pointer_u64(key);
	attr.value = pointer_u64(value);
	attr.flags = flags;
	return MIN(sys_bpf((int)command, &attr, sizeof(attr)), 0);
}

static int kernel_lookup(const struct open_map *m, const void *key, void *value)
{
	return element(m, BPF_MAP_LOOKUP_ELEM, key, value, 0);
}

static int kernel_update(const struct open_map *m, const void *key, const void *value, u64 flags)
{
	return element(m, BPF_MAP_UPDATE_ELEM, key, value, flags);
}

static int kernel_remove(const struct open_map *m, const void *key)
{
	return element(m, BPF_MAP_DELETE_ELEM, key, NULL, 0);
}

static int map_next_key(const struct open_map *m, const void *key, void *next)
{
	return element(m, BPF_MAP_GET_NEXT_KEY, key, next, 0);
}

void map_elements_reserve(const struct open_map *m, struct map_elements *e, size_t n)
{
	if (e->cap >= n)
		return;
	e->cap = MAX(n, e->cap * 2);
	e->keys = xreallocarray(e->keys, e->cap, m->info->key_size);
	e->values = xreallocarray(e->values, e->cap, m->stride);
}

void map_elements_release(struct map_elements *e)
{
	free(e->keys);
	free(e->values);
	*e = (struct map_elements){0};
}

/*
 * One system call per few thousand elements (5.6; per-CPU arrays 5.13). A bucket of a hash table
 * never is split: -ENOSPC says that the next one does not fit, and a larger batch is tried.
 */
static int read_batches(const struct open_map *m, bool remove, struct map_elements *e)
{
	u32 batch = MIN(MAX(m->info->max_entries, 16u), BATCH_MAX);
	/* The kernel's cursor: an index for hash tables, a key for arrays. */
	u8 *cursor = xzalloc(MAX(m->info->key_size, 8u));
	bool started = false;
	int r;

	for (;;) {
		union bpf_attr attr = {0};

		map_elements_reserve(m, e, e->count + batch);
		attr.batch.in_batch = started ? pointer_u64(cursor) : 0;
		attr.batch.out_batch = pointer_u64(cursor);
		attr.batch.keys = pointer_u64(e->keys + e->count * m->info->key_size);
		attr.batch.values = pointer_u64(e->values + e->count * m->stride);
		attr.batch.count = batch;
		attr.batch.map_fd = (u32)m->fd;
		r = sys_bpf(remove ? BPF_MAP_LOOKUP_AND_DELETE_BATCH : BPF_MAP_LOOKUP_BATCH, &attr,
			    sizeof(attr));
		if (r == -ENOSPC && batch < (1u << 20)) {
			batch *= 2;
			continue;
		}
		if (r == 0 || r == -ENOENT) {
			e->count += attr.batch.count;
			started = true;
		}
		if (r < 0)
			break;
	}
	free(cursor);
	return r == -ENOENT ? 0 : r;
}

static int read_one_by_one(const struct open_map *m, bool remove, struct map_elements *e)
{
	u8 *key = xzalloc(m->info->key_size);
	bool have_key = false;
	int r = 0;

	/* Deleting while walking would start the walk over: elements are taken out afterwards. */
	for (;;) {
		map_elements_reserve(m, e, e->count + 1);
		r = map_next_key(m, have_key ? key : NULL, e->keys + e->count * m->info->key_size);
		if (r < 0)
			break;
		memcpy(key, e->keys + e->count * m->info->key_size, m->info->key_size);
		have_key = true;
		if (kernel_lookup(m, key, e->values + e->count * m->stride) == 0)
			e->count++;
		if (e->count > m->info->max_entries) /* keys move while the map changes */
			break;
	}
	free(key);
	if (remove)
		for (size_t i = 0; i < e->count; i++)
			kernel_remove(m, e->keys + i * m->info->key_size);
	return r == -ENOENT ? 0 : r;
}

static int kernel_read(const struct open_map *m, bool remove, struct map_elements *ret)
{
	int r;

	r = read_batches(m, remove && !m->is_array, ret);
	if (r < 0 &&
	    r != -EPERM) { /* -EINVAL, -ENOTSUPP (524): this map or kernel has no batches */
		map_elements_release(ret);
		r = read_one_by_one(m, remove && !m->is_array, ret);
	}
	if (r < 0)
		map_elements_release(ret);
	return r;
}

/* All at once (5.6): each single update may wait for the programs that run. */
static int kernel_update_all(const struct open_map *m, const struct map_elements *e)
{
	union bpf_attr attr = {0};
	int r = -EINVAL;

	attr.batch.keys = pointer_u64(e->keys);
	attr.batch.values = pointer_u64(e->values);
	attr.batch.count = (u32)e->count;
	attr.batch.map_fd = (u32)m->fd;
	if (e->count > 1)
		r = sys_bpf(BPF_MAP_UPDATE_BATCH, &attr, sizeof(attr));
	for (size_t i = 0; i < e->count && r < 0; i++)
		kernel_update(m, e->keys + i * m->info->key_size, e->values + i * m->stride,
			      BPF_ANY);
	return 0;
}

static const struct map_storage kernel_storage = {
	.lookup = kernel_lookup,
	.update = kernel_update,
	.remove = kernel_remove,
	.read = kernel_read,
	.update_all = kernel_update_all,
};

void open_map_init(struct open_map *m, const struct script_map *info, int fd, u32 possible_cpus)
{
	bool percpu = is_percpu_type(info->bpf_type);

	*m = (struct open_map){
		.info = info,
		.storage = &kernel_storage,
		.fd = fd,
		.spare_fd = -1,
		.ncpus = percpu ? possible_cpus : 1,
		.stride =
			percpu ? ALIGN_UP(info->value_size, 8u) * possible_cpus : info->value_size,
		.is_array = is_array_type(info->bpf_type),
	};
}

int map_lookup(const struct open_map *m, const void *key, void *value)
{
	return m->storage->lookup(m, key, value);
}

int map_update(const struct open_map *m, const void *key, const void *value)
{
	return m->storage->update(m, key, value, BPF_ANY);
}

int map_insert(const struct open_map *m, const void *key, const void *value)
{
	return m->storage->update(m, key, value, BPF_NOEXIST);
}

int map_delete(const struct open_map *m, const void *key)
{
	return m->storage->remove(m, key);
}

static int read_storage(const struct open_map *m, bool remove, struct map_elements *ret)
{
	int r;

	*ret = (struct map_elements){0};
	r = m->storage->read(m, remove && !m->is_array, ret);
	if (r < 0)
		map_elements_release(ret);
	return r;
}

int map_read(const struct open_map *m, bool remove, struct map_elements *ret)
{
	const int r = read_storage(m, remove, ret);

	if (!r && m->aggregates)
		in_process_merge(m, remove, ret);
	return r;
}

/* ---- summing ---- */

static u64 load_u64(const u8 *p, u32 size, bool is_signed)
{
	struct type t = {.kind = TYPE_INT, .size = MIN(size, 8u), .is_signed = is_signed};

	return (u64)value_integer(&t, p);
}

static void sum_cpus(const struct open_map *m, const u8 *value, struct map_row *row)
{
	const struct type *t = m->info->value;
	u32 step = ALIGN_UP(m->info->value_size, 8u), size = m->info->value_size;
	bool have = false;

	for (u32 cpu = 0; cpu < m->ncpus; cpu++) {
		const u8 *p = value + (size_t)cpu * step;
		u64 v = load_u64(p, size, t->is_signed);
		u64 second = size >= 16 ? load_u64(p + 8, 8, false) : 0;

		if (t->kind == TYPE_MIN || t->kind == TYPE_MAX) {
			bool is_less = t->is_signed ? (s64)v < (s64)row->total : v < row->total;

			if (size >= 16 && !second)
				continue;
			if (!have || is_less == (t->kind == TYPE_MIN))
				row->total = v;
			row->count = 1;
			have = true;
			continue;
		}
		row->total += v;
		row->count += second;
		if (t->kind == TYPE_STDDEV)
			row->squares += (unsigned __int128)load_u64(p + 24, 8, false) << 64 |
					load_u64(p + 16, 8, false);
	}
}

/*
 * Plain values of per-CPU maps: integers are summed; of other types the first CPU that has a value
 * counts.
 */
static void fold_plain(const struct open_map *m, u8 *value, struct map_row *row)
{
	u32 step = ALIGN_UP(m->info->value_size, 8u);
	u64 sum = 0;

	row->value = value;
	if (m->ncpus == 1)
		return;
	if (m->info->value->kind == TYPE_INT && m->info->value_size <= 8) {
		for (u32 cpu = 0; cpu < m->ncpus; cpu++)
			sum += load_u64(value + (size_t)cpu * step, m->info->value_size, false);
		memcpy(value, &sum, m->info->value_size);
		return;
	}
	for (u32 cpu = 0; cpu < m->ncpus; cpu++) {
		const u8 *p = value + (size_t)cpu * step;

		for (u32 i = 0; i < m->info->value_size; i++) {
			if (p[i]) {
				row->value = p;
				return;
			}
		}
	}
}

static void fold(const struct open_map *m, u8 *value, struct map_row *row)
{
	if (type_is_aggregation(m->info->value))
		sum_cpus(m, value, row);
	else
		fold_plain(m, value, row);
}

/* ---- histograms: one element per bucket ---- */

#define BUCKETS_MAX 1048576u

static void add_bucket(struct map_row *row, u64 bucket, u64 count)
{
	if (bucket >= BUCKETS_MAX)
		return;
	if (bucket >= row->nbuckets) {
		u32 n = (u32)MAX(bucket + 1, MIN(row->nbuckets * 2, BUCKETS_MAX));

		row->buckets = xreallocarray(row->buckets, n, sizeof(u64));
		memset(row->buckets + row->nbuckets, 0, (n - row->nbuckets) * sizeof(u64));
		row->nbuckets = n;
	}
	row->buckets[bucket] += count;
	row->total += count;
}

/* A point per element; row->count = the latest interval. */
static void add_point(const struct open_map *m, struct map_row *row, const u8 *value)
{
	const struct tseries ts = type_tseries_of(m->info->value);
	const struct tseries_point point = tseries_fold(&ts, value, m->ncpus);

	if (!point.epoch && m->is_array)
		return;
	row->buckets = xreallocarray(row->buckets, row->nbuckets + 2, sizeof(u64));
	memcpy(row->buckets + row->nbuckets, &point, sizeof(point));
	row->nbuckets += 2;
	row->count = MAX(row->count, point.epoch);
}

/* All series of a map end at the same interval. */
static void align_series(struct map_view *view)
{
	u64 last = 0;

	for (size_t i = 0; i < view->nrows; i++)
		last = MAX(last, view->rows[i].count);
	for (size_t i = 0; i < view->nrows; i++)
		view->rows[i].count = last;
}

static bool is_unused(const u8 *value, u32 size)
{
	for (u32 i = 0; i < size; i++)
		if (value[i])
			return false;
	return true;
}

static u64 bucket_of(const struct open_map *m, const u8 *key)
{
	u32 size = m->info->key_size;

	return size < 8 ? load_u64(key, size, false) : load_u64(key + size - 8, 8, false);
}

static void gather_buckets(const struct open_map *m, const struct map_elements *e,
			   struct map_view *view)
{
	bool is_scalar = m->info->key->kind == TYPE_NONE;
	u32 key_size = is_scalar ? 0 : m->info->key_size - 8;
	struct hashmap rows = {0};

	view->rows = xreallocarray(NULL, MAX(e->count, (size_t)1), sizeof(*view->rows));
	for (size_t i = 0; i < e->count; i++) {
		const u8 *key = e->keys + i * m->info->key_size;
		const u8 *value = e->values + i * m->stride;
		struct map_row sum = {0}, *row;
		bool is_new;
		void **place;

		if (m->is_array && !m->zeroed && is_unused(value, m->stride))
			continue;
		place = hashmap_put(&rows, is_scalar ? (const u8 *)"" : key, key_size, &is_new);
		if (is_new) {
			*place = (void *)(uintptr_t)(view->nrows + 1);
			view->rows[view->nrows++] = (struct map_row){.key = is_scalar ? NULL : key};
		}
		row = &view->rows[(uintptr_t)*place - 1];
		if (m->info->value->kind == TYPE_TSERIES) {
			add_point(m, row, value);
			continue;
		}
		sum_cpus(m, value, &sum);
		add_bucket(row, bucket_of(m, key), sum.total);
	}
	hashmap_release(&rows);
	if (m->info->value->kind == TYPE_TSERIES)
		align_series(view);
}

/*
 * An element of an array always exists: whether the script ever assigned to it shows in its
 * contents.
 */
static bool is_absent(const struct open_map *m, const struct map_row *row)
{
	const struct type *t = m->info->value;

	if (!m->is_array || m->zeroed)
		return false;
	if (type_is_aggregation(t))
		return !row->total && !row->count;
	if (!m->cleared)
		return false;
	for (u32 i = 0; i < m->info->value_size; i++)
		if (row->value[i])
			return false;
	return true;
}

static void divide_row(const struct open_map *m, struct map_row *row)
{
	const struct type *t = m->info->value;
	const u64 by = m->normal;
	u64 v;

	row->total = t->is_signed ? (u64)((s64)row->total / (s64)by) : row->total / by;
	row->squares = row->squares / by / by;
	for (u32 i = 0; i < row->nbuckets; i++)
		row->buckets[i] /= by;
	if (row->value && t->kind == TYPE_INT) {
		v = (u64)value_integer(t, row->value);
		v = t->is_signed ? (u64)((s64)v / (s64)by) : v / by;
		memcpy((u8 *)row->value, &v, MIN(t->size, 8u)); /* the view's own storage */
	}
}

static void normalize(const struct open_map *m, struct map_view *view)
{
	for (size_t i = 0; m->normal > 1 && i < view->nrows; i++)
		divide_row(m, &view->rows[i]);
}

int map_view_read(const struct open_map *m, bool remove, struct map_view *ret)
{
	struct map_elements e;
	int r = map_read(m, remove, &e);

	*ret = (struct map_view){.name = m->info->name,
				 .key = m->info->key ? m->info->key : type_none(),
				 .key_is_list = m->info->key_is_list,
				 .value = m->info->value};
	if (r < 0)
		return r;
	if (m->info->is_bucketed) {
		gather_buckets(m, &e, ret);
		/* Keys are still pointed to; values are not. */
		free(e.values);
		ret->storage = e.keys;
	} else {
		bool is_scalar = ret->key->kind == TYPE_NONE;
		size_t keys = e.count * m->info->key_size, values = e.count * m->stride;
		u8 *storage = xmalloc(ALIGN_UP(keys, 16) + values + 1);
		u8 *value = storage + ALIGN_UP(keys, 16);

		memcpy(storage, e.keys, keys);
		memcpy(value, e.values, values);
		map_elements_release(&e);
		ret->storage = storage;
		ret->rows = xreallocarray(NULL, MAX(keys / MAX(m->info->key_size, 1u), (size_t)1),
					  sizeof(*ret->rows));
		for (size_t i = 0; i * m->info->key_size < keys; i++) {
			struct map_row row = {.key = is_scalar ? NULL
							       : storage + i * m->info->key_size};

			fold(m, value + i * m->stride, &row);
			if (!is_absent(m, &row))
				ret->rows[ret->nrows++] = row;
		}
	}
	ret->order = m->order;
	ret->is_descending = m->is_descending;
	map_view_sort(ret);
	normalize(m, ret);
	return 0;
}

int map_row_read(const struct open_map *m, const void *key, void *value, struct map_row *ret)
{
	int r = map_lookup(m, key, value);

	if (m->aggregates && in_process_lookup(m, key, value))
		r = 0;
	*ret = (struct map_row){.key = key};
	if (r < 0)
		return r;
	fold(m, value, ret);
	if (m->normal > 1)
		divide_row(m, ret);
	return 0;
}

u64 map_sum_u64(const struct open_map *m, u32 index)
{
	u8 *value = xzalloc(m->stride);
	u64 sum = 0;

	if (map_lookup(m, &index, value) == 0)
		for (u32 cpu = 0; cpu < m->ncpus; cpu++)
			sum += load_u64(value + (size_t)cpu * ALIGN_UP(m->info->value_size, 8u), 8,
					false);
	free(value);
	return sum;
}

static int write_zeros(const struct open_map *m)
{
	struct map_elements e;
	int r = read_storage(m, false, &e);

	if (r < 0)
		return r;
	if (e.count)
		memset(e.values, 0, e.count * m->stride);
	r = m->storage->update_all(m, &e);
	map_elements_release(&e);
	return r;
}

int map_clear(struct open_map *m)
{
	struct map_elements e;
	int r;

	m->zeroed = false;
	m->cleared = true;
	in_process_clear(m, false);
	if (m->is_array)
		return write_zeros(m);
	r = read_storage(m, true, &e);
	map_elements_release(&e);
	return r;
}

int map_zero(struct open_map *m)
{
	m->zeroed = true;
	in_process_clear(m, true);
	return write_zeros(m);
}
