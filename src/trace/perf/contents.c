/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a perf.data says of itself: events, formats, build-ids; of a pipe in records. */
#include <zstd.h>

#include "trace/perf/internal.h"

/* ---- events ---- */

bool perf_add_attr(struct perf_data *p, const void *attr, size_t attr_size, struct cursor ids)
{
	struct perf_kind kind = {0};

	if (attr_size < PERF_ATTR_SIZE_VER0 || p->kinds.len >= PERF_KINDS_MAX)
		return false;
	memcpy(&kind.attr, attr, MIN(attr_size, sizeof(kind.attr)));
	while (ids.len - ids.pos >= 8)
		vector_push(&p->ids, (struct perf_id){cursor_u64(&ids), (u32)p->kinds.len});
	p->ids_sorted = false;
	vector_push(&p->kinds, kind);
	return true;
}

static int by_id(const void *a, const void *b)
{
	const struct perf_id *x = a, *y = b;

	return x->id != y->id ? (x->id < y->id ? -1 : 1) : (int)x->kind - (int)y->kind;
}

u32 perf_kind_of(struct perf_data *p, u64 id)
{
	size_t low = 0, high = p->ids.len;

	if (!p->ids_sorted && p->ids.len)
		qsort(p->ids.items, p->ids.len, sizeof(*p->ids.items), by_id);
	p->ids_sorted = true;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (p->ids.items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->ids.len && p->ids.items[low].id == id ? p->ids.items[low].kind : 0;
}

void perf_name_kinds(struct perf_data *p)
{
	for (; p->named < p->kinds.len; p->named++) {
		struct perf_kind *const k = &p->kinds.items[p->named];
		const struct event_info *info = NULL;
		struct trace_text text;

		if (k->name)
			continue;
		k->name = perf_kind_name(&k->attr);
		if (k->attr.type == PERF_TYPE_TRACEPOINT && p->formats &&
		    k->attr.config <= UINT16_MAX) {
			trace_dat_text(p->formats, &text);
			info = event_table_get(text.events, (u32)k->attr.config);
		}
		if (info)
			k->name = arena_printf(&p->arena, "%s:%s", info->system, info->name);
		else if (!k->name)
			k->name = arena_printf(&p->arena, "type%u:0x%llx", k->attr.type,
					       (unsigned long long)k->attr.config);
	}
}

/* ---- features ---- */

/* u32 length, then so many bytes with a NUL among them. */
static const char *string(struct perf_data *p, struct cursor *c)
{
	const u32 size = cursor_u32(c);
	const char *text = cursor_bytes(c, size);

	return text ? arena_strndup(&p->arena, text, strnlen(text, size)) : NULL;
}

/* Names, as they were asked for on perf record's command line. */
static void event_desc(struct perf_data *p, struct cursor *c)
{
	const u32 count = cursor_u32(c), attr_size = cursor_u32(c);

	for (u32 i = 0; i < count && !c->failed; i++) {
		const void *attr = cursor_bytes(c, attr_size);
		const u32 ids = cursor_u32(c);
		const char *name = string(p, c);

		if (!attr || ids > PERF_SECTION_MAX / 8)
			break;
		cursor_bytes(c, (size_t)ids * 8);
		if (name && !c->failed && i < p->kinds.len)
			p->kinds.items[i].name = name;
	}
}

static void build_id_add(struct perf_data *p, u16 misc, struct cursor c)
{
	struct perf_build_id *id = arena_new(&p->arena, struct perf_build_id);
	const void *bytes;
	const char *path;
	u8 size;

	cursor_u32(&c); /* pid */
	bytes = cursor_bytes(&c, 20);
	size = cursor_u8(&c);
	cursor_bytes(&c, 3);
	path = cursor_string(&c);
	if (!path)
		return;
	memcpy(id->bytes, bytes, 20);
	id->size = misc & PERF_MISC_BUILD_ID_SIZE && size <= 20 ? size : 20;
	hashmap_puts(&p->build_ids, path, id);
}

static void build_ids(struct perf_data *p, struct cursor *c)
{
	while (c->len - c->pos >= 8) {
		u16 misc, size;
		const void *body;

		cursor_u32(c);
		misc = cursor_u16(c);
		size = cursor_u16(c);
		body = size >= 8 ? cursor_bytes(c, size - 8u) : NULL;
		if (!body)
			return;
		build_id_add(p, misc, cursor_of(body, size - 8u));
	}
}

void perf_formats(struct perf_data *p, const void *data, size_t size)
{
	if (p->formats || trace_dat_formats(data, size, p->path, p->diag, &p->formats))
		return;
}

void perf_feature(struct perf_data *p, u64 id, struct cursor c)
{
	switch (id) {
	case PERF_FEATURE_TRACING_DATA:
		perf_formats(p, c.data + c.pos, c.len - c.pos);
		break;
	case PERF_FEATURE_BUILD_ID:
		build_ids(p, &c);
		break;
	case PERF_FEATURE_HOSTNAME:
		p->host = string(p, &c);
		break;
	case PERF_FEATURE_EVENT_DESC:
		event_desc(p, &c);
		break;
	case PERF_FEATURE_KERNEL_SYMBOLS:
		p->kernel_symbols = cursor_of(memcpy(arena_alloc(&p->arena, c.len - c.pos),
						     c.data + c.pos, c.len - c.pos),
					      c.len - c.pos);
		break;
	case PERF_FEATURE_CLOCK_DATA: /* u32 version, clockid; u64 time of day, of the clock */
		cursor_u32(&c);
		p->clock = cursor_u32(&c);
		p->day_ns = cursor_u64(&c);
		p->clock_ns = cursor_u64(&c);
		p->has_clock = !c.failed;
		break;
	}
}

char *perf_data_kernel_symbols(const struct perf_data *p, size_t *ret_len)
{
	const struct cursor *const c = &p->kernel_symbols;
	const unsigned long long size = c->len ? ZSTD_getFrameContentSize(c->data, c->len) : 0;
	char *text;

	if (!size || size > PERF_SECTION_MAX) /* errors are the largest numbers */
		return NULL;
	text = xmalloc(size + 1);
	if (ZSTD_decompress(text, size, c->data, c->len) != size) {
		free(text);
		return NULL;
	}
	text[size] = '\0';
	*ret_len = size;
	return text;
}

/* ---- records of a pipe ---- */

static void attr_record(struct perf_data *p, struct cursor c)
{
	const u8 *attr = c.data + c.pos;
	const size_t room = c.len - c.pos;
	u32 size;

	if (room < PERF_ATTR_SIZE_VER0)
		return;
	memcpy(&size, attr + 4, sizeof(size));
	if (size < PERF_ATTR_SIZE_VER0 || size > room) {
		perf_damaged(p, "what an event is");
		return;
	}
	perf_add_attr(p, attr, size, cursor_of(attr + size, room - size));
}

static void update_record(struct perf_data *p, struct cursor c)
{
	const u64 type = cursor_u64(&c), id = cursor_u64(&c);
	const char *name = type == 2 ? cursor_string(&c) : NULL; /* NAME */

	if (name && p->kinds.len)
		p->kinds.items[perf_kind_of(p, id)].name = arena_strdup(&p->arena, name);
}

void perf_user_record(struct perf_data *p, u32 type, u16 misc, struct cursor body)
{
	switch (type) {
	case PERF_USER_ATTR:
		attr_record(p, body);
		break;
	case PERF_USER_BUILD_ID:
		build_id_add(p, misc, body);
		break;
	case PERF_USER_EVENT_UPDATE:
		update_record(p, body);
		break;
	case PERF_USER_FEATURE:
		perf_feature(p, cursor_u64(&body), body);
		break;
	case PERF_USER_AUXTRACE:
		p->aux++;
		break;
	default:
		if (type <= PERF_USER_KNOWN)
			break;
		p->unknown++;
		p->unknown_type = type;
	}
}

void perf_data_left_out(const struct perf_data *p, struct diag *d)
{
	if (p->unknown)
		diag_warning(d, NO_SPAN,
			     "%s: %" PRIu64 " record%s of unknown types %s left out, as type %u",
			     p->path, p->unknown, plural(p->unknown), was_were(p->unknown),
			     p->unknown_type);
	if (p->aux)
		diag_warning(d, NO_SPAN,
			     "%s: %" PRIu64 " piece%s of hardware traces %s left out (AUXTRACE)",
			     p->path, p->aux, plural(p->aux), was_were(p->aux));
	if (p->counters)
		diag_warning(d, NO_SPAN,
			     "%s: %" PRIu64 " counter%s of threads that ended %s left out (READ)",
			     p->path, p->counters, plural(p->counters), was_were(p->counters));
}
