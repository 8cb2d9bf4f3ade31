/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pprof/profile.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cursor.h"
#include "base/foreign.h"
#include "base/hashmap.h"
#include "base/strbuf.h"
#include "trace/pprof/fields.h"
#include "trace/recording.h"

#define SIZE_MOST   (256u << 20) /* bytes of an unpacked profile */
#define PARTS_MOST  (16u << 20) /* of each kind: an empty one takes two bytes */
#define FRAMES_MOST (4u << 20)
#define TYPES_MOST  64
#define LABELS_MOST 64 /* of a sample */
#define DEPTH_MOST  65536 /* frames of a stack */
#define CHUNK	    (256u << 10)

#define PROFILE_PARTS 7 /* fields below may come many times, as messages or strings */
#define NUMBERS	      8 /* no number that is read has a greater field */

/* Where a message or a string lies in the profile. */
struct part {
	u32 at, size;
};

/* Ids of functions, mappings or locations; mostly 1, 2, 3 and so on. */
struct ids {
	VECTOR(u64) list;
	struct hashmap others; /* id -> index + 1 */
};

struct location {
	u32 first, count; /* of frames */
};

struct pprof_profile {
	struct strbuf data;
	VECTOR(struct part) parts[PROFILE_PARTS];
	const char **strings; /* NULL = not asked for yet */
	VECTOR(struct pprof_type) types;
	u64 default_string;
	size_t default_type; /* the one of that name, or the last one, as pprof has it */
	struct ids mapping_ids, function_ids, location_ids;
	VECTOR(struct recorded_mapping) mappings;
	VECTOR(const char *) functions;
	VECTOR(struct location) locations;
	VECTOR(struct recorded_frame) frames; /* of all locations */
	size_t next; /* sample */
	struct hashmap numbered; /* "KEY (2)" -> the same text, in the arena */
	bool is_too_large;
	struct arena arena;
};

/* ---- protobuf ---- */

struct field {
	u32 number;
	enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 } wire;
	u64 value;
	struct cursor bytes;
};

/* False at the end, or where it is damaged: then c->failed. */
static bool field_next(struct cursor *c, struct field *ret)
{
	u64 tag;

	if (c->failed || c->pos == c->len)
		return false;
	tag = cursor_uleb128(c);
	*ret = (struct field){.number = (u32)MIN(tag >> 3, (u64)UINT32_MAX), .wire = tag & 7};
	switch (ret->wire) {
	case WIRE_VARINT:
		ret->value = cursor_uleb128(c);
		break;
	case WIRE_64:
		ret->value = cursor_u64(c);
		break;
	case WIRE_32:
		ret->value = cursor_u32(c);
		break;
	case WIRE_BYTES: {
		const u64 n = cursor_uleb128(c);
		const void *const bytes = cursor_bytes(c, n);

		ret->bytes = cursor_of(bytes, bytes ? n : 0);
		break;
	}
	default:
		c->failed = true;
	}
	return !c->failed;
}

/* The numbers of a message by their fields; what it does not have is 0. */
static bool read_numbers(struct cursor c, u64 ret[NUMBERS])
{
	struct field f;

	memset(ret, 0, NUMBERS * sizeof(*ret));
	while (field_next(&c, &f))
		if (f.wire == WIRE_VARINT && f.number < NUMBERS)
			ret[f.number] = f.value;
	return !c.failed;
}

/* Repeated numbers are packed into one field, or each has its own. */
static bool add_numbers(struct field *f, struct pprof_numbers *to)
{
	if (f->wire != WIRE_BYTES) {
		vector_push(to, f->value);
		return true;
	}
	while (f->bytes.pos < f->bytes.len && !f->bytes.failed)
		vector_push(to, cursor_uleb128(&f->bytes));
	return !f->bytes.failed;
}

/* ---- what is a profile ---- */

/*
 * Writers begin with the type of samples or periods, a message of two strings' numbers; Go's may
 * have times before it.
 */
static bool begins_with_type(struct cursor c)
{
	u64 n[NUMBERS];
	struct field f = {0};

	while (field_next(&c, &f) && f.wire == WIRE_VARINT && f.number >= PROFILE_PARTS &&
	       f.number <= PROFILE_DEFAULT_TYPE)
		;
	return !c.failed && (f.number == PROFILE_TYPE || f.number == PROFILE_PERIOD_TYPE) &&
	       f.bytes.len >= 2 && f.bytes.len <= 22 && read_numbers(f.bytes, n) &&
	       n[TYPE_NAME] + n[TYPE_UNIT];
}

bool pprof_is(const void *head, size_t len)
{
	z_stream z = {.next_in = (u8 *)head, .avail_in = (uInt)len};
	u8 unpacked[64];

	if (len < 2 || memcmp(head, "\x1f\x8b", 2) != 0)
		return begins_with_type(cursor_of(head, len));
	if (inflateInit2(&z, 15 + 16) != Z_OK) /* 16: gzip's header */
		return false;
	z.next_out = unpacked;
	z.avail_out = sizeof(unpacked);
	inflate(&z, Z_SYNC_FLUSH);
	inflateEnd(&z);
	return begins_with_type(cursor_of(unpacked, sizeof(unpacked) - z.avail_out));
}

/* ---- reading ---- */

static int refuse(struct diag *d, const char *path, const char *why)
{
	diag_error(d, NO_SPAN, "%s: the profile %s", path, why);
	return -EINVAL;
}

/* Unpacks what is packed; other files are taken as they are. */
static int read_all(const char *path, struct diag *d, struct strbuf *out)
{
	const int fd = foreign_open(path, NULL);
	gzFile file;
	int n, error;

	if (fd < 0) {
		diag_error(d, NO_SPAN, "cannot read '%s': %s", path, strerror(-fd));
		return fd;
	}
	file = gzdopen(fd, "rb");
	if (!file)
		abort();
	while ((n = gzread(file, strbuf_reserve(out, CHUNK), CHUNK)) > 0 && out->len <= SIZE_MOST)
		out->len += (size_t)n;
	gzerror(file, &error);
	gzclose(file);
	if (error != Z_OK && error != Z_STREAM_END)
		return refuse(d, path, "is damaged, or cut short: it cannot be unpacked");
	return out->len > SIZE_MOST ? refuse(d, path, "has more than 256 MiB unpacked") : 0;
}

static struct cursor part_of(const struct pprof_profile *p, u32 field, size_t i)
{
	const struct part *const part = &p->parts[field].items[i];

	return cursor_of(p->data.data + part->at, part->size);
}

/* NULL: there is no such string. Up to a NUL, which no name has. */
static const char *string_of(struct pprof_profile *p, u64 number)
{
	const struct part *part;

	if (number >= p->parts[PROFILE_STRING].len)
		return NULL;
	part = &p->parts[PROFILE_STRING].items[number];
	if (!p->strings[number])
		p->strings[number] = arena_strndup(&p->arena, p->data.data + part->at, part->size);
	return p->strings[number];
}

/* The first one of several with the same id counts. */
static void ids_add(struct ids *ids, u64 id)
{
	bool is_new;
	void **at;

	vector_push(&ids->list, id);
	if (id == ids->list.len)
		return;
	at = hashmap_put(&ids->others, &id, sizeof(id), &is_new);
	if (is_new)
		*at = (void *)(uintptr_t)ids->list.len;
}

/* The index, or -1. */
static s64 ids_find(const struct ids *ids, u64 id)
{
	if (id - 1 < ids->list.len && ids->list.items[id - 1] == id)
		return (s64)id - 1;
	return (s64)(uintptr_t)hashmap_get(&ids->others, &id, sizeof(id)) - 1;
}

static void ids_release(struct ids *ids)
{
	vector_free(&ids->list);
	hashmap_release(&ids->others);
}

/* A name that others have before it gets a number: how many there are, with it. */
static const char *numbered(struct pprof_profile *p, const char *name, u32 count)
{
	char *const text = xasprintf("%s (%u)", name, count);
	bool is_new;
	void **const at = hashmap_put(&p->numbered, text, strlen(text), &is_new);

	if (is_new)
		*at = arena_strndup(&p->arena, text, strlen(text));
	free(text);
	return *at;
}

static bool is_type(const struct pprof_profile *p, const char *name)
{
	for (size_t i = 0; i < p->types.len; i++)
		if (str_eq(p->types.items[i].name, name))
			return true;
	return false;
}

static const char *type_name(struct pprof_profile *p, const char *name)
{
	const char *own = name;

	for (u32 n = 2; is_type(p, own); n++)
		own = numbered(p, name, n);
	return own;
}

static bool read_types(struct pprof_profile *p)
{
	const char *named;
	u64 n[NUMBERS];

	p->is_too_large |= p->parts[PROFILE_TYPE].len > TYPES_MOST;
	if (p->is_too_large)
		return false;
	for (size_t i = 0; i < p->parts[PROFILE_TYPE].len; i++) {
		struct pprof_type t;

		if (!read_numbers(part_of(p, PROFILE_TYPE, i), n))
			return false;
		t = (struct pprof_type){string_of(p, n[TYPE_NAME]), string_of(p, n[TYPE_UNIT])};
		if (!t.name || !t.unit)
			return false;
		t.name = type_name(p, t.name);
		vector_push(&p->types, t);
	}
	named = string_of(p, p->default_string);
	p->default_type = p->types.len - 1;
	for (size_t i = 0; i < p->types.len && named; i++)
		if (str_eq(p->types.items[i].name, named))
			p->default_type = i;
	return p->types.len;
}

static bool read_mappings(struct pprof_profile *p)
{
	u64 n[NUMBERS];

	for (size_t i = 0; i < p->parts[PROFILE_MAPPING].len; i++) {
		struct recorded_mapping m;

		if (!read_numbers(part_of(p, PROFILE_MAPPING, i), n))
			return false;
		m = (struct recorded_mapping){.start = n[MAPPING_BEGIN],
					      .offset = n[MAPPING_OFFSET],
					      .path = string_of(p, n[MAPPING_FILE]),
					      .build_id = string_of(p, n[MAPPING_BUILD_ID])};
		if (!m.path || !m.build_id)
			return false;
		ids_add(&p->mapping_ids, n[MAPPING_ID]);
		vector_push(&p->mappings, m);
	}
	return true;
}

static bool read_functions(struct pprof_profile *p)
{
	u64 n[NUMBERS];

	for (size_t i = 0; i < p->parts[PROFILE_FUNCTION].len; i++) {
		const char *name;

		if (!read_numbers(part_of(p, PROFILE_FUNCTION, i), n))
			return false;
		name = string_of(p, n[FUNCTION_NAME] ?: n[FUNCTION_SYSTEM_NAME]);
		if (!name)
			return false;
		ids_add(&p->function_ids, n[FUNCTION_ID]);
		vector_push(&p->functions, name);
	}
	return true;
}

/* Of a location with several lines, the last function is the one that the others are inlined in. */
static bool read_lines(struct pprof_profile *p, struct cursor c, struct recorded_frame frame)
{
	const size_t first = p->frames.len;
	struct field f;
	u64 n[NUMBERS];

	frame.is_inlined = true;
	while (field_next(&c, &f)) {
		s64 function;

		p->is_too_large |= p->frames.len >= FRAMES_MOST;
		if (p->is_too_large)
			return false;
		if (f.number != LOCATION_LINE || f.wire != WIRE_BYTES)
			continue;
		if (!read_numbers(f.bytes, n))
			return false;
		function = ids_find(&p->function_ids, n[LINE_FUNCTION]);
		if (function < 0)
			return false;
		frame.symbol = p->functions.items[function];
		vector_push(&p->frames, frame);
	}
	if (p->frames.len == first)
		vector_push(&p->frames, frame);
	vector_last(&p->frames).is_inlined = false;
	return true;
}

static bool read_locations(struct pprof_profile *p)
{
	for (size_t i = 0; i < p->parts[PROFILE_LOCATION].len; i++) {
		const struct cursor c = part_of(p, PROFILE_LOCATION, i);
		struct recorded_frame frame = {0};
		const u32 first = (u32)p->frames.len;
		u64 n[NUMBERS];
		s64 mapping;

		p->is_too_large |= p->frames.len >= FRAMES_MOST;
		if (p->is_too_large || !read_numbers(c, n))
			return false;
		frame.address = frame.in_file = n[LOCATION_ADDRESS];
		mapping = ids_find(&p->mapping_ids, n[LOCATION_MAPPING]);
		if (mapping < 0 && n[LOCATION_MAPPING])
			return false;
		if (mapping >= 0) {
			const struct recorded_mapping *const m = &p->mappings.items[mapping];

			frame.in_file += m->offset - m->start;
			frame.object = *m->path ? m->path : NULL;
			frame.build_id = m->build_id;
		}
		frame.is_kernel = (s64)frame.address < 0 ||
				  (frame.object && str_starts(frame.object, "[kernel"));
		if (!read_lines(p, c, frame))
			return false;
		ids_add(&p->location_ids, n[LOCATION_ID]);
		vector_push(&p->locations, (struct location){first, (u32)p->frames.len - first});
	}
	return true;
}

/* Finds where everything is. */
static bool read_parts(struct pprof_profile *p)
{
	struct cursor c = cursor_of(p->data.data, p->data.len);
	struct field f;

	while (!p->is_too_large && field_next(&c, &f)) {
		if (f.number && f.number < PROFILE_PARTS && f.wire == WIRE_BYTES) {
			p->is_too_large = p->parts[f.number].len == PARTS_MOST;
			vector_push(&p->parts[f.number],
				    (struct part){(u32)(c.pos - f.bytes.len), (u32)f.bytes.len});
		}
		if (f.number == PROFILE_DEFAULT_TYPE && f.wire == WIRE_VARINT)
			p->default_string = f.value;
	}
	p->strings = xzalloc((p->parts[PROFILE_STRING].len + 1) * sizeof(*p->strings));
	return !c.failed && !p->is_too_large;
}

static int read_profile(struct pprof_profile *p, const char *path, struct diag *d)
{
	static const struct {
		bool (*read)(struct pprof_profile *p);
		const char *why;
	} steps[] = {
		{read_parts, "is damaged, or cut short"},
		{read_types, "does not say what it measures"},
		{read_mappings, "is damaged: a mapping cannot be read"},
		{read_functions, "is damaged: a function cannot be read"},
		{read_locations, "is damaged: a location cannot be read"},
	};
	int rc = read_all(path, d, &p->data);

	for (size_t i = 0; i < ARRAY_SIZE(steps) && !rc; i++)
		if (!steps[i].read(p))
			rc = refuse(d, path,
				    p->is_too_large ? "is larger than any that is read"
						    : steps[i].why);
	return rc;
}

int pprof_open(const char *path, struct diag *d, struct pprof_profile **ret)
{
	struct pprof_profile *const p = xzalloc(sizeof(*p));
	int rc;

	p->data = (struct strbuf)STRBUF_INIT;
	rc = read_profile(p, path, d);
	if (rc)
		pprof_close(p);
	else
		*ret = p;
	return rc;
}

void pprof_close(struct pprof_profile *p)
{
	for (size_t i = 0; i < PROFILE_PARTS; i++)
		vector_free(&p->parts[i]);
	vector_free(&p->types);
	vector_free(&p->mappings);
	vector_free(&p->functions);
	vector_free(&p->locations);
	vector_free(&p->frames);
	ids_release(&p->mapping_ids);
	ids_release(&p->function_ids);
	ids_release(&p->location_ids);
	free(p->strings);
	hashmap_release(&p->numbered);
	arena_release(&p->arena);
	strbuf_release(&p->data);
	free(p);
}

/* ---- what it says ---- */

const struct pprof_type *pprof_types(const struct pprof_profile *p, size_t *ret_n,
				     size_t *ret_default)
{
	*ret_n = p->types.len;
	*ret_default = p->default_type;
	return p->types.items;
}

const char *pprof_program(const struct pprof_profile *p)
{
	return p->mappings.len && *p->mappings.items[0].path ? p->mappings.items[0].path : NULL;
}

static bool is_label(const struct pprof_sample *s, const char *key)
{
	for (size_t i = 0; i < s->labels.len; i++)
		if (str_eq(s->labels.items[i].key, key))
			return true;
	return false;
}

static const char *label_key(struct pprof_profile *p, const struct pprof_sample *s, const char *key)
{
	const char *own = key;

	for (u32 n = 2; is_type(p, own) || is_label(s, own); n++)
		own = numbered(p, key, n);
	return own;
}

static bool read_label(struct pprof_profile *p, struct cursor c, struct pprof_sample *ret)
{
	struct pprof_label label;
	u64 n[NUMBERS];

	if (!read_numbers(c, n))
		return false;
	label = (struct pprof_label){
		.key = string_of(p, n[LABEL_KEY]),
		.text = n[LABEL_TEXT] ? string_of(p, n[LABEL_TEXT]) : NULL,
		.number = (s64)n[LABEL_NUMBER],
	};
	if (!label.key || (n[LABEL_TEXT] && !label.text) || ret->labels.len == LABELS_MOST)
		return false;
	label.key = label_key(p, ret, label.key);
	vector_push(&ret->labels, label);
	return true;
}

static bool has_locations(const struct pprof_profile *p, const struct pprof_sample *s)
{
	u64 depth = 0;

	for (size_t i = 0; i < s->locations.len; i++) {
		const s64 location = ids_find(&p->location_ids, s->locations.items[i]);

		if (location < 0)
			return false;
		depth += p->locations.items[location].count;
	}
	return depth <= DEPTH_MOST;
}

static bool read_sample(struct pprof_profile *p, struct cursor c, struct pprof_sample *ret)
{
	struct field f;
	bool is_good = true;

	ret->locations.len = ret->values.len = ret->labels.len = 0;
	while (is_good && field_next(&c, &f))
		if (f.number == SAMPLE_LOCATION)
			is_good = add_numbers(&f, &ret->locations);
		else if (f.number == SAMPLE_VALUE)
			is_good = add_numbers(&f, &ret->values);
		else if (f.number == SAMPLE_LABEL && f.wire == WIRE_BYTES)
			is_good = read_label(p, f.bytes, ret);
	return is_good && !c.failed && ret->values.len == p->types.len && has_locations(p, ret);
}

bool pprof_next(struct pprof_profile *p, struct pprof_sample *ret, struct diag *d)
{
	if (p->next == p->parts[PROFILE_SAMPLE].len)
		return false;
	if (read_sample(p, part_of(p, PROFILE_SAMPLE, p->next++), ret))
		return true;
	diag_error(d, NO_SPAN, "the profile is damaged: sample %zu of %zu cannot be read", p->next,
		   p->parts[PROFILE_SAMPLE].len);
	p->next = p->parts[PROFILE_SAMPLE].len;
	return false;
}

void pprof_rewind(struct pprof_profile *p)
{
	p->next = 0;
}

void pprof_frames(const struct pprof_profile *p, const struct pprof_sample *s,
		  struct recorded_stack *ret)
{
	for (size_t i = 0; i < s->locations.len; i++) {
		const s64 at = ids_find(&p->location_ids, s->locations.items[i]);
		const struct location *const l = &p->locations.items[at];

		for (u32 k = 0; k < l->count; k++)
			vector_push(ret, p->frames.items[l->first + k]);
	}
}
