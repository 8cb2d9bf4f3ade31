/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads an index. Nothing in it is believed: each number is compared with what there is. */
#include "base/cursor.h"
#include "base/glob.h"
#include "binary/debug/index_format.h"
#include "binary/debug/lines.h"

struct debug_index {
	u8 *data;
	const struct index_header *header;
};

static const u8 row_sizes[INDEX_TABLES] = {
	[INDEX_UNITS] = sizeof(u32),
	[INDEX_RANGES] = sizeof(struct index_range_row),
	[INDEX_PATHS] = sizeof(struct index_path_row),
	[INDEX_USES] = 1,
	[INDEX_NAMES] = sizeof(struct index_name_row),
	[INDEX_SITES] = sizeof(struct index_site),
	[INDEX_CODE] = sizeof(struct index_code_row),
	[INDEX_DECLARED] = sizeof(struct index_declared_row),
	[INDEX_FORMS] = sizeof(struct index_form_row),
	[INDEX_VARIABLES] = sizeof(struct index_die_row),
	[INDEX_TYPES] = sizeof(struct index_die_row),
	[INDEX_STRINGS] = 1,
};

static const void *rows_of(const struct debug_index *x, enum index_table_id t, u32 *ret_count)
{
	*ret_count = (u32)(x->header->tables[t].bytes / row_sizes[t]);
	return x->data + x->header->tables[t].at;
}

static const char *string_at(const struct debug_index *x, u32 at)
{
	u32 len;
	const char *strings = rows_of(x, INDEX_STRINGS, &len);

	return at < len ? strings + at : "";
}

static const char *string_or_null(const struct debug_index *x, u32 at)
{
	const char *s = string_at(x, at);

	return *s ? s : NULL;
}

/* ---- the file ---- */

static bool is_good(const u8 *data, size_t len, const struct index_identity *of)
{
	const struct index_header *h = (const void *)data;

	if (len < sizeof(*h) || len % 8 || memcmp(h->magic, INDEX_MAGIC, sizeof(h->magic)) != 0 ||
	    h->len != len || memcmp(&h->of, of, sizeof(*of)) != 0)
		return false;
	for (u32 i = 0; i < INDEX_TABLES; i++) {
		const u64 at = h->tables[i].at, bytes = h->tables[i].bytes;

		if (at % 8 || at < sizeof(*h) || at > len || bytes > len - at ||
		    bytes % row_sizes[i] || bytes / row_sizes[i] >= UINT32_MAX)
			return false;
	}
	return h->tables[INDEX_STRINGS].bytes &&
	       !data[h->tables[INDEX_STRINGS].at + h->tables[INDEX_STRINGS].bytes - 1] &&
	       index_checksum(data, len) == h->checksum;
}

struct debug_index *index_parse(void *data, size_t len, const struct index_identity *of)
{
	struct debug_index *x;

	if (!is_good(data, len, of)) {
		free(data);
		return NULL;
	}
	x = xzalloc(sizeof(*x));
	x->data = data;
	x->header = data;
	return x;
}

void index_release(struct debug_index *x)
{
	if (x)
		free(x->data);
	free(x);
}

/* ---- units ---- */

u32 index_unit_die(const struct debug_index *x, u32 unit)
{
	u32 count;
	const u32 *rows = rows_of(x, INDEX_UNITS, &count);

	return unit < count ? rows[unit] : 0;
}

u32 index_unit_at(const struct debug_index *x, u64 address)
{
	u32 count;
	const struct index_range_row *rows = rows_of(x, INDEX_RANGES, &count);

	for (u32 i = 0; i < count; i++)
		if (address >= rows[i].start && address < rows[i].end)
			return rows[i].unit;
	return UINT32_MAX;
}

/* ---- sources ---- */

/* fn is shown each use of paths that end so: its unit, and its lines, of which it may read some. */
static void each_use(const struct debug_index *x, const char *end,
		     void (*fn)(void *arg, u32 unit, struct cursor lines, u32 count), void *arg)
{
	u32 paths, bytes;
	const struct index_path_row *rows = rows_of(x, INDEX_PATHS, &paths);
	const u8 *uses = rows_of(x, INDEX_USES, &bytes);

	for (u32 i = 0; i < paths; i++) {
		const u32 from = rows[i].uses, to = i + 1 < paths ? rows[i + 1].uses : bytes;
		struct cursor c;
		u32 unit = 0;

		if (from > to || to > bytes ||
		    !debug_path_ends_with(string_at(x, rows[i].path), end))
			continue;
		c = cursor_of(uses + from, to - from);
		while (c.pos < c.len && !c.failed) {
			const u32 step = (u32)cursor_uleb128(&c), count = (u32)cursor_uleb128(&c);

			unit += step;
			if (c.failed)
				break;
			fn(arg, unit, c, count);
			for (u32 n = 0; n < count && !c.failed; n++)
				cursor_uleb128(&c);
		}
	}
}

const char *index_path(const struct debug_index *x, const char *end)
{
	u32 paths;
	const struct index_path_row *rows = rows_of(x, INDEX_PATHS, &paths);

	for (u32 i = 0; i < paths; i++)
		if (debug_path_ends_with(string_at(x, rows[i].path), end))
			return string_at(x, rows[i].path);
	return NULL;
}

/* Of one use: the lowest line from `line` on, 0 = none. */
static u32 next_in_use(struct cursor c, u32 count, u32 line)
{
	u32 at = 0;

	for (u32 i = 0; i < count && !c.failed; i++) {
		at += (u32)cursor_uleb128(&c);
		if (at >= line && at && !c.failed)
			return at;
	}
	return 0;
}

struct line_search {
	u32 line, found;
	struct index_list *units;
};

static void look_for_line(void *arg, u32 unit, struct cursor lines, u32 count)
{
	struct line_search *q = arg;
	const u32 line = next_in_use(lines, count, q->line);

	if (line && (!q->found || line < q->found))
		q->found = line;
}

u32 index_next_line(const struct debug_index *x, const char *end, u32 line)
{
	struct line_search q = {.line = line};

	each_use(x, end, look_for_line, &q);
	return q.found;
}

static void take_unit(void *arg, u32 unit, struct cursor lines, u32 count)
{
	struct line_search *q = arg;

	if (!q->line || next_in_use(lines, count, q->line) == q->line)
		vector_push(&q->units->list, unit);
}

static int rising(const void *a, const void *b)
{
	const u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

static void sort_once(struct index_list *u)
{
	size_t n = 0;

	if (u->list.len)
		qsort(u->list.items, u->list.len, sizeof(u32), rising);
	for (size_t i = 0; i < u->list.len; i++)
		if (!n || u->list.items[n - 1] != u->list.items[i])
			u->list.items[n++] = u->list.items[i];
	u->list.len = n;
}

void index_units_of(const struct debug_index *x, const char *end, u32 line, struct index_list *ret)
{
	struct line_search q = {.line = line, .units = ret};

	each_use(x, end, take_unit, &q);
	sort_once(ret);
}

/* ---- functions ---- */

static struct index_name name_at(const struct debug_index *x, const struct index_name_row *rows,
				 u32 i)
{
	return (struct index_name){i, string_or_null(x, rows[i].name),
				   string_or_null(x, rows[i].linkage)};
}

/* The first row of those with a hash (or line); rows begin with it, and are sorted by it. */
static u32 first_with_hash(const u8 *rows, u32 count, u32 row_size, u32 hash)
{
	u32 low = 0, high = count, there;

	while (low < high) {
		const u32 middle = low + (high - low) / 2;

		memcpy(&there, rows + (size_t)middle * row_size, sizeof(there));
		if (there < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int index_each_name(const struct debug_index *x, const char *pattern,
		    int (*fn)(void *arg, const struct index_name *n), void *arg)
{
	const bool is_plain = !glob_has_wildcard(pattern) && !strchr(pattern, '\\');
	const u32 hash = index_hash(pattern);
	u32 count, forms;
	const struct index_name_row *names = rows_of(x, INDEX_NAMES, &count);
	const struct index_form_row *rows = rows_of(x, INDEX_FORMS, &forms);
	struct index_name n;
	int result = 0;

	for (u32 i = 0; i < count && !is_plain && !result; i++) {
		n = name_at(x, names, i);
		result = fn(arg, &n);
	}
	for (u32 i = is_plain ? first_with_hash((const u8 *)rows, forms, sizeof(*rows), hash)
			      : forms;
	     i < forms && rows[i].hash == hash && !result; i++) {
		if (rows[i].name >= count)
			continue;
		n = name_at(x, names, rows[i].name);
		result = fn(arg, &n);
	}
	return result;
}

bool index_has_linkage(const struct debug_index *x, const char *linkage)
{
	const u32 hash = index_hash(linkage);
	u32 count, forms;
	const struct index_name_row *names = rows_of(x, INDEX_NAMES, &count);
	const struct index_form_row *rows = rows_of(x, INDEX_FORMS, &forms);

	for (u32 i = first_with_hash((const u8 *)rows, forms, sizeof(*rows), hash);
	     i < forms && rows[i].hash == hash; i++)
		if (rows[i].name < count &&
		    str_eq(string_at(x, names[rows[i].name].linkage), linkage))
			return true;
	return false;
}

const struct index_site *index_sites(const struct debug_index *x, const struct index_name *n,
				     u32 *ret_count)
{
	u32 names, sites, end;
	const struct index_name_row *rows = rows_of(x, INDEX_NAMES, &names);
	const struct index_site *list = rows_of(x, INDEX_SITES, &sites);

	end = n->i + 1 < names ? rows[n->i + 1].sites : sites;
	*ret_count = 0;
	if (rows[n->i].sites > end || end > sites)
		return NULL;
	*ret_count = end - rows[n->i].sites;
	return list + rows[n->i].sites;
}

u32 index_function_at(const struct debug_index *x, u64 address)
{
	u32 low = 0, high;
	const struct index_code_row *rows = rows_of(x, INDEX_CODE, &high);

	while (low < high) {
		const u32 middle = low + (high - low) / 2;

		if (rows[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - rows[low - 1].start < rows[low - 1].size ? rows[low - 1].die : 0;
}

void index_declared(const struct debug_index *x, const char *path, u32 line, struct index_list *ret)
{
	u32 count;
	const struct index_declared_row *rows = rows_of(x, INDEX_DECLARED, &count);

	for (u32 i = first_with_hash((const u8 *)rows, count, sizeof(*rows), line);
	     i < count && rows[i].line == line; i++)
		if (str_eq(string_at(x, rows[i].path), path))
			vector_push(&ret->list, rows[i].die);
	sort_once(ret);
}

/* ---- variables, types ---- */

static void dies_named(const struct debug_index *x, enum index_table_id table, const char *name,
		       struct index_list *ret)
{
	u32 count, hash = name ? index_hash(name) : 0, i;
	const struct index_die_row *rows = rows_of(x, table, &count);

	i = name ? first_with_hash((const u8 *)rows, count, sizeof(*rows), hash) : 0;
	for (; i < count && (!name || rows[i].hash == hash); i++)
		if (!name || str_eq(string_at(x, rows[i].name), name))
			vector_push(&ret->list, rows[i].die);
	sort_once(ret);
}

void index_variables(const struct debug_index *x, const char *name, struct index_list *ret)
{
	dies_named(x, INDEX_VARIABLES, name, ret);
}

void index_types(const struct debug_index *x, const char *name, struct index_list *ret)
{
	dies_named(x, INDEX_TYPES, name, ret);
}
