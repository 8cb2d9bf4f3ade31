/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table stored by columns (Apache Parquet, format 2: parquet.thrift of apache/parquet-format):
 *
 *	"PAR1", row groups, FileMetaData, u32 its size, "PAR1"
 *	row group: one page per column: PageHeader, then, compressed by zstd, which rows have a
 *	    value (u32 size, bits), and the values
 *
 * Its columns are those of csv: what all events have, then the fields that were asked for, or all
 * of them as JSON. The type of a field's column (integer, decimal, text) is that of its first
 * values.
 */
#include <stdio.h>
#include <zstd.h>

#include "base/escape.h"
#include "trace/writers/thrift.h"
#include "trace/writers/writer.h"

#define ROWS_MOST  65536 /* of a row group */
#define BYTES_MOST (16u << 20) /* of its texts */
#define MAGIC	   "PAR1"

enum column_type {
	COLUMN_OPEN, /* no value so far */
	COLUMN_TIME, /* ns since the epoch */
	COLUMN_INTEGER,
	COLUMN_UNSIGNED,
	COLUMN_DECIMAL,
	COLUMN_TEXT,
	COLUMN_JSON,
};

/* Values of parquet.thrift. */
enum {
	PHYSICAL_INT64 = 2,
	PHYSICAL_DOUBLE = 5,
	PHYSICAL_BYTE_ARRAY = 6,
	ENCODING_PLAIN = 0,
	ENCODING_RLE = 3,
	CODEC_ZSTD = 6,
	REQUIRED = 0,
	OPTIONAL = 1,
	CONVERTED_UTF8 = 0,
	CONVERTED_UINT_64 = 14,
	CONVERTED_JSON = 19,
	LOGICAL_STRING = 1,
	LOGICAL_TIMESTAMP = 8,
	LOGICAL_INTEGER = 10,
	LOGICAL_JSON = 12,
	UNIT_NANOS = 3,
};

struct cell {
	enum field_kind kind; /* FIELD_NONE: no value */
	bool is_signed;
	u64 integer; /* of a decimal its bits */
	size_t at, size; /* in texts */
};

/* Where a column of a row group lies. */
struct chunk {
	u64 offset, size, plain_size; /* in the file, with its header; before compression */
	u64 least, most; /* of times */
};

struct column {
	char *name;
	enum column_type type;
	VECTOR(struct cell) cells; /* of the current row group */
	struct strbuf texts;
	VECTOR(struct chunk) chunks; /* of the row groups written */
};

struct parquet_writer {
	struct trace_writer writer;
	VECTOR(struct column) columns;
	VECTOR(u32) groups; /* rows of each */
	u64 position; /* bytes of the file so far */
	u64 rows;
	struct strbuf page, packed, json;
	ZSTD_CCtx *zstd;
};

static struct parquet_writer *parquet_of(struct trace_writer *w)
{
	return container_of(w, struct parquet_writer, writer);
}

/* ---- cells ---- */

static void add_text(struct column *c, const char *text, size_t n)
{
	const size_t at = c->texts.len;

	escape_utf8(&c->texts, text, n);
	vector_push(&c->cells,
		    (struct cell){.kind = FIELD_TEXT, .at = at, .size = c->texts.len - at});
}

static void add_integer(struct column *c, u64 v, bool is_signed, bool is_there)
{
	vector_push(&c->cells, (struct cell){.kind = is_there ? FIELD_INTEGER : FIELD_NONE,
					     .integer = v,
					     .is_signed = is_signed});
}

static void add_id(struct column *c, s64 id)
{
	add_integer(c, (u64)id, true, id >= 0);
}

static void add_value(struct column *c, const struct field_value *v)
{
	struct cell cell = {.kind = v->kind, .is_signed = v->is_signed, .integer = v->integer};

	if (v->kind == FIELD_TEXT || (v->kind == FIELD_INTEGER && v->text)) {
		add_text(c, v->text, v->size);
		return;
	}
	if (v->kind == FIELD_DECIMAL)
		memcpy(&cell.integer, &v->decimal, sizeof(cell.integer));
	else if (v->kind != FIELD_INTEGER)
		cell.kind = FIELD_NONE;
	vector_push(&c->cells, cell);
}

/* ---- types of columns ---- */

/* By the first row group with values: the widest type, of integer, decimal and text. */
static void choose_type(struct column *c)
{
	bool has_negative = false, has_big = false;

	for (size_t i = 0; i < c->cells.len; i++) {
		const struct cell *const v = &c->cells.items[i];

		if (v->kind == FIELD_TEXT)
			c->type = COLUMN_TEXT;
		else if (v->kind == FIELD_DECIMAL && c->type != COLUMN_TEXT)
			c->type = COLUMN_DECIMAL;
		else if (v->kind == FIELD_INTEGER && !c->type)
			c->type = COLUMN_INTEGER;
		has_negative |= v->kind == FIELD_INTEGER && v->is_signed;
		has_big |= v->kind == FIELD_INTEGER && !v->is_signed;
	}
	if (c->type == COLUMN_INTEGER && has_big && !has_negative)
		c->type = COLUMN_UNSIGNED;
}

static bool fits(const struct column *c, const struct cell *v)
{
	switch (c->type) {
	case COLUMN_TIME:
		return true;
	case COLUMN_INTEGER:
		return v->kind == FIELD_INTEGER && (v->is_signed || (s64)v->integer >= 0);
	case COLUMN_UNSIGNED:
		return v->kind == FIELD_INTEGER && (!v->is_signed || (s64)v->integer >= 0);
	case COLUMN_DECIMAL:
		return v->kind == FIELD_DECIMAL || v->kind == FIELD_INTEGER;
	case COLUMN_TEXT:
	case COLUMN_JSON:
		return v->kind != FIELD_NONE;
	case COLUMN_OPEN:
		break;
	}
	return false;
}

/* ---- pages ---- */

static void put_text(struct strbuf *to, const char *text, size_t n)
{
	const u32 size = (u32)n;

	strbuf_add(to, &size, sizeof(size));
	strbuf_add(to, text, n);
}

static void put_as_text(struct strbuf *to, const struct column *c, const struct cell *v)
{
	char digits[40];
	double decimal;

	memcpy(&decimal, &v->integer, sizeof(decimal));
	if (v->kind == FIELD_TEXT)
		put_text(to, c->texts.data + v->at, v->size);
	else if (v->kind == FIELD_DECIMAL)
		put_text(to, digits, (size_t)snprintf(digits, sizeof(digits), "%.17g", decimal));
	else
		put_text(to, digits,
			 (size_t)snprintf(digits, sizeof(digits),
					  v->is_signed ? "%" PRId64 : "%" PRIu64, v->integer));
}

static void put_value(struct strbuf *to, const struct column *c, const struct cell *v)
{
	double decimal;

	if (c->type == COLUMN_TEXT || c->type == COLUMN_JSON) {
		put_as_text(to, c, v);
	} else if (c->type == COLUMN_DECIMAL && v->kind == FIELD_INTEGER) {
		decimal = v->is_signed ? (double)(s64)v->integer : (double)v->integer;
		strbuf_add(to, &decimal, sizeof(decimal));
	} else {
		strbuf_add(to, &v->integer, sizeof(v->integer));
	}
}

/* Which rows have a value, as one run of bits: u32 size, (groups of 8) << 1 | 1, the bits. */
static void put_levels(struct strbuf *to, const struct column *c)
{
	const size_t groups = (c->cells.len + 7) / 8, begin = to->len;
	u32 size = 0;

	strbuf_add(to, &size, sizeof(size));
	strbuf_add_leb128(to, groups << 1 | 1);
	for (size_t g = 0; g < groups; g++) {
		u8 bits = 0;

		for (size_t i = 0; i < 8 && g * 8 + i < c->cells.len; i++)
			bits |= (u8)(fits(c, &c->cells.items[g * 8 + i]) << i);
		strbuf_addch(to, (char)bits);
	}
	size = (u32)(to->len - begin - sizeof(size));
	memcpy(to->data + begin, &size, sizeof(size));
}

static void put_cells(struct parquet_writer *p, struct column *c, struct chunk *chunk)
{
	for (size_t i = 0; i < c->cells.len; i++) {
		const struct cell *const v = &c->cells.items[i];

		if (!fits(c, v)) {
			writer_gap(&p->writer, v->kind != FIELD_NONE,
				   "value that does not fit its column's type, which is that of "
				   "the first values",
				   "values that do not fit their column's type, which is that of "
				   "the first values");
			continue;
		}
		put_value(&p->page, c, v);
		if (c->type == COLUMN_TIME) {
			chunk->least =
				i ? (u64)MIN((s64)chunk->least, (s64)v->integer) : v->integer;
			chunk->most = i ? (u64)MAX((s64)chunk->most, (s64)v->integer) : v->integer;
		}
	}
}

static void put_page_header(struct strbuf *to, const struct parquet_writer *p, u32 rows)
{
	struct thrift t = {.out = to};

	thrift_i32(&t, 1, 0); /* a data page */
	thrift_i32(&t, 2, (s32)p->page.len);
	thrift_i32(&t, 3, (s32)p->packed.len);
	thrift_struct(&t, 5);
	thrift_i32(&t, 1, (s32)rows);
	thrift_i32(&t, 2, ENCODING_PLAIN);
	thrift_i32(&t, 3, ENCODING_RLE);
	thrift_i32(&t, 4, ENCODING_RLE);
	thrift_end(&t);
	thrift_end(&t);
}

static bool compress_page(struct parquet_writer *p)
{
	const size_t most = ZSTD_compressBound(p->page.len);
	size_t n;

	strbuf_reset(&p->packed);
	n = ZSTD_compressCCtx(p->zstd, strbuf_reserve(&p->packed, most), most, p->page.data,
			      p->page.len, 1);
	if (ZSTD_isError(n))
		return false;
	p->packed.len += n;
	return true;
}

static void flush_column(struct parquet_writer *p, struct column *c)
{
	struct strbuf *const out = &p->writer.out;
	struct chunk chunk = {.offset = p->position};
	const size_t begin = out->len;

	if (!c->type)
		choose_type(c);
	strbuf_reset(&p->page);
	if (c->type != COLUMN_TIME)
		put_levels(&p->page, c);
	put_cells(p, c, &chunk);
	if (!compress_page(p)) {
		p->writer.error = -ENOMEM;
		return;
	}
	put_page_header(out, p, (u32)c->cells.len);
	chunk.plain_size = out->len - begin + p->page.len;
	strbuf_add(out, p->packed.data, p->packed.len);
	chunk.size = out->len - begin;
	p->position += chunk.size;
	vector_push(&c->chunks, chunk);
	c->cells.len = 0;
	strbuf_reset(&c->texts);
}

static void flush_group(struct parquet_writer *p)
{
	const size_t rows = p->columns.items[0].cells.len;

	if (!rows)
		return;
	for (size_t i = 0; i < p->columns.len; i++)
		flush_column(p, &p->columns.items[i]);
	vector_push(&p->groups, (u32)rows);
	p->rows += rows;
}

/* ---- the footer ---- */

static const struct {
	s32 physical, converted; /* converted: -1 = none */
	u32 logical; /* 0 = none */
} types[] = {
	[COLUMN_OPEN] = {PHYSICAL_BYTE_ARRAY, CONVERTED_UTF8, LOGICAL_STRING},
	[COLUMN_TIME] = {PHYSICAL_INT64, -1, LOGICAL_TIMESTAMP},
	[COLUMN_INTEGER] = {PHYSICAL_INT64, -1, 0},
	[COLUMN_UNSIGNED] = {PHYSICAL_INT64, CONVERTED_UINT_64, LOGICAL_INTEGER},
	[COLUMN_DECIMAL] = {PHYSICAL_DOUBLE, -1, 0},
	[COLUMN_TEXT] = {PHYSICAL_BYTE_ARRAY, CONVERTED_UTF8, LOGICAL_STRING},
	[COLUMN_JSON] = {PHYSICAL_BYTE_ARRAY, CONVERTED_JSON, LOGICAL_JSON},
};

static void put_logical_type(struct thrift *t, u32 logical)
{
	thrift_struct(t, 10);
	thrift_struct(t, logical);
	if (logical == LOGICAL_TIMESTAMP) {
		thrift_bool(t, 1, true);
		thrift_struct(t, 2);
		thrift_struct(t, UNIT_NANOS);
		thrift_end(t);
		thrift_end(t);
	} else if (logical == LOGICAL_INTEGER) {
		thrift_i8(t, 1, 64);
		thrift_bool(t, 2, false);
	}
	thrift_end(t);
	thrift_end(t);
}

static void put_schema(struct thrift *t, const struct parquet_writer *p)
{
	thrift_list(t, 2, THRIFT_STRUCT, p->columns.len + 1);
	thrift_element(t);
	thrift_text(t, 4, "events", strlen("events"));
	thrift_i32(t, 5, (s32)p->columns.len);
	thrift_end(t);
	for (size_t i = 0; i < p->columns.len; i++) {
		const struct column *const c = &p->columns.items[i];

		thrift_element(t);
		thrift_i32(t, 1, types[c->type].physical);
		thrift_i32(t, 3, c->type == COLUMN_TIME ? REQUIRED : OPTIONAL);
		thrift_text(t, 4, c->name, strlen(c->name));
		if (types[c->type].converted >= 0)
			thrift_i32(t, 6, types[c->type].converted);
		if (types[c->type].logical)
			put_logical_type(t, types[c->type].logical);
		thrift_end(t);
	}
}

static void put_chunk(struct thrift *t, const struct column *c, size_t group, u32 rows)
{
	const struct chunk *const chunk = &c->chunks.items[group];

	thrift_element(t);
	thrift_i64(t, 2, (s64)chunk->offset);
	thrift_struct(t, 3);
	thrift_i32(t, 1, types[c->type].physical);
	thrift_list(t, 2, THRIFT_I32, 2);
	thrift_element_i32(t, ENCODING_PLAIN);
	thrift_element_i32(t, ENCODING_RLE);
	thrift_list(t, 3, THRIFT_BINARY, 1);
	thrift_element_text(t, c->name);
	thrift_i32(t, 4, CODEC_ZSTD);
	thrift_i64(t, 5, rows);
	thrift_i64(t, 6, (s64)chunk->plain_size);
	thrift_i64(t, 7, (s64)chunk->size);
	thrift_i64(t, 9, (s64)chunk->offset);
	if (c->type == COLUMN_TIME) { /* lets readers skip row groups by time */
		thrift_struct(t, 12);
		thrift_i64(t, 3, 0);
		thrift_text(t, 5, &chunk->most, sizeof(chunk->most));
		thrift_text(t, 6, &chunk->least, sizeof(chunk->least));
		thrift_end(t);
	}
	thrift_end(t);
	thrift_end(t);
}

static void put_groups(struct thrift *t, const struct parquet_writer *p)
{
	thrift_list(t, 4, THRIFT_STRUCT, p->groups.len);
	for (size_t g = 0; g < p->groups.len; g++) {
		u64 plain_size = 0;

		thrift_element(t);
		thrift_list(t, 1, THRIFT_STRUCT, p->columns.len);
		for (size_t i = 0; i < p->columns.len; i++) {
			put_chunk(t, &p->columns.items[i], g, p->groups.items[g]);
			plain_size += p->columns.items[i].chunks.items[g].plain_size;
		}
		thrift_i64(t, 2, (s64)plain_size);
		thrift_i64(t, 3, p->groups.items[g]);
		thrift_end(t);
	}
}

static void parquet_end(struct trace_writer *w)
{
	struct parquet_writer *const p = parquet_of(w);
	struct strbuf footer = STRBUF_INIT;
	struct thrift t = {.out = &footer};
	u32 size;

	flush_group(p);
	if (w->error)
		return;
	thrift_i32(&t, 1, 2);
	put_schema(&t, p);
	thrift_i64(&t, 3, (s64)p->rows);
	put_groups(&t, p);
	thrift_text(&t, 6, "pantrace", strlen("pantrace"));
	thrift_end(&t);
	size = (u32)footer.len;
	strbuf_add(&w->out, footer.data, footer.len);
	strbuf_add(&w->out, &size, sizeof(size));
	strbuf_addstr(&w->out, MAGIC);
	strbuf_release(&footer);
}

/* ---- events ---- */

/* Names are unique: a field "cpu" becomes "cpu_2", as all events have a "cpu". */
static void add_column(struct parquet_writer *p, const char *bare, enum column_type type)
{
	char *name = xstrdup(bare);
	u32 copy = 1;

	for (size_t i = 0; i < p->columns.len; i++)
		if (str_eq(p->columns.items[i].name, name)) {
			free(name);
			name = xasprintf("%s_%u", bare, ++copy);
			i = SIZE_MAX; /* from the first again */
		}
	vector_push(&p->columns, (struct column){.name = name, .type = type, .texts = STRBUF_INIT});
}

static void parquet_begin(struct trace_writer *w)
{
	struct parquet_writer *const p = parquet_of(w);
	const struct string_list *const fields = &w->options.fields;

	p->page = p->packed = p->json = (struct strbuf)STRBUF_INIT;
	p->zstd = ZSTD_createCCtx();
	add_column(p, "time_ns", COLUMN_TIME);
	add_column(p, "cpu", COLUMN_INTEGER);
	add_column(p, "pid", COLUMN_INTEGER);
	add_column(p, "tid", COLUMN_INTEGER);
	add_column(p, "comm", COLUMN_TEXT);
	add_column(p, "event", COLUMN_TEXT);
	for (u32 i = 0; i < fields->count; i++)
		add_column(p, fields->items[i], COLUMN_OPEN);
	if (!fields->count)
		add_column(p, "fields", COLUMN_JSON);
	strbuf_addstr(&w->out, MAGIC);
	p->position = strlen(MAGIC);
}

static void add_fields(struct parquet_writer *p, struct recording *r, struct column *columns)
{
	const struct string_list *const fields = &p->writer.options.fields;
	struct json j = JSON_INIT(&p->json);

	for (u32 i = 0; i < fields->count; i++) {
		const struct field_value v = r->reader->value(r, fields->items[i], true);

		add_value(&columns[i], &v);
	}
	if (fields->count)
		return;
	strbuf_reset(&p->json);
	r->reader->fields(r, &j);
	add_text(columns, p->json.data, p->json.len);
}

static void parquet_event(struct trace_writer *w, struct recording *r)
{
	struct parquet_writer *const p = parquet_of(w);
	struct column *const c = p->columns.items;
	const struct recorded_place place = recording_place(r);
	size_t bytes = 0;

	add_integer(&c[0], (u64)r->ns, true, true);
	add_id(&c[1], place.cpu);
	add_id(&c[2], place.pid);
	add_id(&c[3], place.tid);
	if (place.comm)
		add_text(&c[4], place.comm, place.comm_size);
	else
		add_integer(&c[4], 0, false, false);
	add_text(&c[5], r->kind->name, strlen(r->kind->name));
	add_fields(p, r, &c[6]);
	for (size_t i = 4; i < p->columns.len; i++)
		bytes += c[i].texts.len;
	if (c[0].cells.len == ROWS_MOST || bytes >= BYTES_MOST)
		flush_group(p);
}

static void parquet_release(struct trace_writer *w)
{
	struct parquet_writer *const p = parquet_of(w);

	for (size_t i = 0; i < p->columns.len; i++) {
		vector_free(&p->columns.items[i].cells);
		vector_free(&p->columns.items[i].chunks);
		strbuf_release(&p->columns.items[i].texts);
		free(p->columns.items[i].name);
	}
	vector_free(&p->columns);
	vector_free(&p->groups);
	strbuf_release(&p->page);
	strbuf_release(&p->packed);
	strbuf_release(&p->json);
	ZSTD_freeCCtx(p->zstd);
}

const struct trace_format parquet_format = {
	.name = "parquet",
	.suffixes = {".parquet"},
	.is_binary = true,
	.has_times = true,
	.size = sizeof(struct parquet_writer),
	.begin = parquet_begin,
	.event = parquet_event,
	.end = parquet_end,
	.release = parquet_release,
};
