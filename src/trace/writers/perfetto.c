/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Perfetto trace: packets of one sequence (protos/perfetto/trace of google/perfetto). Tracks are
 * described before their first event. Names, and call chains with their files and build-ids, are
 * interned by the first packet that uses them. Fields become debug annotations.
 */
#include <stdio.h>

#include "trace/writers/annotation.h"
#include "trace/writers/protobuf.h"
#include "trace/writers/writer.h"
#include "trace/spans.h"
#include "trace/writers/writer.h"

enum {
	TRACE_PACKET = 1,
	PACKET_CLOCKS = 6,
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60,
	FLAG_CLEARED = 1,
	FLAG_NEEDS_STATE = 2,
	CLOCKS_CLOCK = 1,
	CLOCK_ID = 1,
	CLOCK_TIME = 2,
	CLOCK_IS_REALTIME = 1, /* values of CLOCK_ID */
	CLOCK_IS_BOOTTIME = 6,
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_OF_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_OF_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	EVENT_CATEGORY = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_COUNTER = 30,
	EVENT_FLOW = 47,
	EVENT_FLOW_ENDS = 48,
	EVENT_CALLSTACK = 56,
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
	INTERNED_CATEGORY = 1,
	INTERNED_NAME = 2,
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_CALLSTACK = 7,
	INTERNED_BUILD_ID = 16,
	INTERNED_PATH = 17,
	INTERNED_MAPPING = 19,
	IID = 1, /* of all that is interned */
	TEXT = 2, /* of those that are texts */
	MAPPING_BUILD_ID = 2,
	MAPPING_END = 5,
	MAPPING_PATH = 7,
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_ADDRESS = 4,
	CALLSTACK_FRAME = 2,
};

#define SEQUENCE 1

struct perfetto_writer {
	struct trace_writer writer;
	struct spans spans;
	struct stacks stacks; /* numbers of frames and texts */
	struct hashmap tracks; /* struct span_track, names of counters -> uuid */
	struct hashmap named; /* uuid -> the name it has */
	struct hashmap interned; /* {field, text or number} -> iid */
	u64 iids[INTERNED_MAPPING + 1]; /* the last one of each */
	VECTOR(u64) callstack;
	struct strbuf fresh; /* what the current packet interns */
	struct strbuf event, fields;
	bool has_begin;
};

static struct perfetto_writer *perfetto_of(struct trace_writer *w)
{
	return container_of(w, struct perfetto_writer, writer);
}

/* ---- interned data ---- */

static u64 iid_of(struct perfetto_writer *p, u32 field, const void *key, size_t n, bool *ret_new)
{
	struct strbuf full = STRBUF_INIT;
	void **at;

	strbuf_addch(&full, (char)field);
	strbuf_add(&full, key, n);
	at = hashmap_put(&p->interned, full.data, full.len, ret_new);
	strbuf_release(&full);
	if (*ret_new)
		*at = (void *)(uintptr_t)++p->iids[field];
	return (uintptr_t)*at;
}

static u64 interned(struct perfetto_writer *p, u32 field, const char *text, size_t n)
{
	bool is_new;
	const u64 iid = iid_of(p, field, text, n, &is_new);

	if (is_new) {
		const size_t begin = protobuf_begin(&p->fresh, field);

		protobuf_u64(&p->fresh, IID, iid);
		protobuf_string(&p->fresh, TEXT, text, n);
		protobuf_end(&p->fresh, begin);
	}
	return iid;
}

static u64 interned_text(struct perfetto_writer *p, u32 field, u32 text)
{
	size_t n;
	const char *const bytes = stacks_text(&p->stacks, text, &n);

	return interned(p, field, bytes, n);
}

/* Ours are hex digits, Perfetto's are bytes. */
static u64 interned_build_id(struct perfetto_writer *p, u32 text)
{
	size_t n, size = 0;
	const char *const hex = stacks_text(&p->stacks, text, &n);
	char digits[3] = {0}, bytes[32];
	bool is_new;
	u64 iid;

	for (size_t i = 0; i + 1 < n && size < sizeof(bytes); i += 2) {
		memcpy(digits, hex + i, 2);
		bytes[size++] = (char)strtoul(digits, NULL, 16);
	}
	iid = iid_of(p, INTERNED_BUILD_ID, bytes, size, &is_new);
	if (is_new) {
		const size_t begin = protobuf_begin(&p->fresh, INTERNED_BUILD_ID);

		protobuf_u64(&p->fresh, IID, iid);
		protobuf_bytes(&p->fresh, TEXT, bytes, size);
		protobuf_end(&p->fresh, begin);
	}
	return iid;
}

/* Perfetto puts '/' before each part of a path: the whole path is given as one part. */
static u64 interned_path(struct perfetto_writer *p, u32 text)
{
	size_t n;
	const char *path = stacks_text(&p->stacks, text, &n);
	const size_t slash = n && *path == '/';

	return interned(p, INTERNED_PATH, path + slash, n - slash);
}

static u64 mapping_of(struct perfetto_writer *p, const struct stack_frame *f)
{
	const u32 key[2] = {f->object, f->build_id};
	bool is_new;
	const u64 iid = iid_of(p, INTERNED_MAPPING, key, sizeof(key), &is_new);

	if (is_new) {
		const u64 path = interned_path(p, f->object),
			  build_id = interned_build_id(p, f->build_id);
		const size_t begin = protobuf_begin(&p->fresh, INTERNED_MAPPING);

		protobuf_u64(&p->fresh, IID, iid);
		protobuf_u64(&p->fresh, MAPPING_BUILD_ID, build_id);
		protobuf_u64(&p->fresh, MAPPING_END, UINT64_MAX >> 1);
		protobuf_u64(&p->fresh, MAPPING_PATH, path);
		protobuf_end(&p->fresh, begin);
	}
	return iid;
}

static u64 frame_of(struct perfetto_writer *p, u32 frame)
{
	const struct stack_frame f = p->stacks.frames.items[frame];
	bool is_new;
	const u64 iid = iid_of(p, INTERNED_FRAME, &frame, sizeof(frame), &is_new);

	if (is_new) {
		const u64 function = interned_text(p, INTERNED_FUNCTION, f.name),
			  mapping = mapping_of(p, &f);
		const size_t begin = protobuf_begin(&p->fresh, INTERNED_FRAME);

		protobuf_u64(&p->fresh, IID, iid);
		protobuf_u64(&p->fresh, FRAME_FUNCTION, function);
		protobuf_u64(&p->fresh, FRAME_MAPPING, mapping);
		protobuf_u64(&p->fresh, FRAME_ADDRESS, f.address);
		protobuf_end(&p->fresh, begin);
	}
	return iid;
}

/* The outermost frame comes first. 0 = the event has no chain. */
static u64 callstack_of(struct perfetto_writer *p, struct recording *r)
{
	struct recorded_stack *const chain = &p->stacks.chain;
	bool is_new;
	size_t begin;
	u64 iid;

	if (!recording_stack(r, chain) || !chain->len)
		return 0;
	p->callstack.len = 0;
	for (size_t i = chain->len; i--;)
		vector_push(&p->callstack, stacks_frame(&p->stacks, &chain->items[i]));
	iid = iid_of(p, INTERNED_CALLSTACK, p->callstack.items, p->callstack.len * sizeof(u64),
		     &is_new);
	if (!is_new)
		return iid;
	for (size_t i = 0; i < p->callstack.len; i++)
		p->callstack.items[i] = frame_of(p, (u32)p->callstack.items[i]);
	begin = protobuf_begin(&p->fresh, INTERNED_CALLSTACK);
	protobuf_u64(&p->fresh, IID, iid);
	for (size_t i = 0; i < p->callstack.len; i++)
		protobuf_u64(&p->fresh, CALLSTACK_FRAME, p->callstack.items[i]);
	protobuf_end(&p->fresh, begin);
	return iid;
}

/* ---- packets ---- */

static size_t packet_begin(struct perfetto_writer *p)
{
	const size_t begin = protobuf_begin(&p->writer.out, TRACE_PACKET);

	protobuf_u64(&p->writer.out, PACKET_SEQUENCE, SEQUENCE);
	return begin;
}

/* With the data that it interns. */
static void packet_of_event(struct perfetto_writer *p, s64 ns)
{
	struct strbuf *const out = &p->writer.out;
	const size_t begin = packet_begin(p);

	protobuf_u64(out, PACKET_TIME, ns < 0 ? 0 : (u64)ns);
	protobuf_u64(out, PACKET_FLAGS, FLAG_NEEDS_STATE);
	if (p->fresh.len)
		protobuf_bytes(out, PACKET_INTERNED, p->fresh.data, p->fresh.len);
	protobuf_bytes(out, PACKET_EVENT, p->event.data, p->event.len);
	protobuf_end(out, begin);
	strbuf_reset(&p->fresh);
	strbuf_reset(&p->event);
}

static void add_clock(struct strbuf *out, u32 id, u64 ns)
{
	const size_t begin = protobuf_begin(out, CLOCKS_CLOCK);

	protobuf_u64(out, CLOCK_ID, id);
	protobuf_u64(out, CLOCK_TIME, ns);
	protobuf_end(out, begin);
}

/* Events are on the trace's default clock; if that is the time of day, this says so. */
static void add_clocks(struct perfetto_writer *p, const struct recording *r)
{
	struct strbuf *const out = &p->writer.out;
	const size_t packet = packet_begin(p);
	size_t clocks;

	protobuf_u64(out, PACKET_FLAGS, FLAG_CLEARED);
	if (!r->is_unplaced && r->ns >= 0) {
		clocks = protobuf_begin(out, PACKET_CLOCKS);
		add_clock(out, CLOCK_IS_BOOTTIME, (u64)r->ns);
		add_clock(out, CLOCK_IS_REALTIME, (u64)r->ns);
		protobuf_end(out, clocks);
	}
	protobuf_end(out, packet);
}

/* ---- tracks ---- */

static u64 uuid_of(struct perfetto_writer *p, const struct span_track *t, const char *name)
{
	struct strbuf key = STRBUF_INIT;
	void **at;

	strbuf_addf(&key, "%d %u %" PRId64 " %s", t->kind, t->host, t->id, name);
	at = hashmap_put(&p->tracks, key.data, key.len, NULL);
	strbuf_release(&key);
	if (!*at)
		*at = (void *)(uintptr_t)p->tracks.len;
	return (uintptr_t)*at;
}

static void add_process(struct perfetto_writer *p, const struct span_track *t, const char *name,
			size_t n)
{
	struct strbuf *const out = &p->writer.out;
	size_t begin;

	begin = protobuf_begin(out, TRACK_PROCESS);
	protobuf_u64(out, PROCESS_PID, (u64)span_process(t));
	protobuf_string(out, PROCESS_NAME, name, n);
	protobuf_end(out, begin);
}

static void add_thread(struct perfetto_writer *p, const struct span_track *t, const char *name,
		       size_t n)
{
	struct strbuf *const out = &p->writer.out;
	const size_t begin = protobuf_begin(out, TRACK_OF_THREAD);

	protobuf_u64(out, THREAD_PID, (u64)span_process(t));
	protobuf_u64(out, THREAD_TID, (u64)(span_process(t) - t->process + t->id));
	protobuf_string(out, THREAD_NAME, name, n);
	protobuf_end(out, begin);
}

/* Describes a track, again when the thread changes its name. */
static void describe(struct perfetto_writer *p, const struct span_track *t, u64 uuid, u64 parent,
		     const char *name, size_t n, bool is_process)
{
	struct strbuf *const out = &p->writer.out;
	size_t packet, track;
	void **at = hashmap_put(&p->named, &uuid, sizeof(uuid), NULL);

	if (*at && spans_is_named(*at, name, n))
		return;
	free(*at);
	*at = xstrndup(name, n);
	packet = packet_begin(p);
	track = protobuf_begin(out, PACKET_TRACK);
	protobuf_u64(out, TRACK_UUID, uuid);
	if (parent)
		protobuf_u64(out, TRACK_PARENT, parent);
	if (is_process)
		add_process(p, t, name, n);
	else if (t->kind == TRACK_THREAD)
		add_thread(p, t, name, n);
	else
		protobuf_string(out, TRACK_NAME, name, n);
	if (t->kind == TRACK_COUNTER)
		protobuf_bytes(out, TRACK_OF_COUNTER, "", 0);
	protobuf_end(out, track);
	protobuf_end(out, packet);
}

/* The process of a thread, or the group of CPUs. */
static u64 parent_of(struct perfetto_writer *p, const struct span_track *t,
		     const struct recorded_place *place)
{
	const struct span_track group = {.kind = TRACK_NONE, .host = t->host, .id = -2};
	const struct span_track process = {TRACK_THREAD, t->host, t->process, t->process};
	u64 uuid;

	if (t->kind == TRACK_CPU || t->kind == TRACK_INTERRUPTS) {
		uuid = uuid_of(p, &group, "CPUs");
		describe(p, &group, uuid, 0, "CPUs", 4, false);
		return uuid;
	}
	if (t->kind != TRACK_THREAD)
		return 0;
	uuid = uuid_of(p, &process, "process");
	if (t->id == t->process)
		describe(p, &process, uuid, 0, place->comm ?: "", place->comm_size, true);
	else if (!hashmap_get(&p->named, &uuid, sizeof(uuid)))
		describe(p, &process, uuid, 0, "", 0, true);
	return uuid;
}

/* The track of an item; describes it before its first use. */
static u64 track_of(struct perfetto_writer *p, const struct span_item *i,
		    const struct recorded_place *place)
{
	const struct span_track *const t = &i->track;
	const u64 uuid = uuid_of(p, t, t->kind == TRACK_COUNTER ? i->name : "");
	char name[80];

	if (t->kind == TRACK_THREAD) {
		describe(p, t, uuid, parent_of(p, t, place), place->comm ?: "", place->comm_size,
			 false);
		return uuid;
	}
	if (t->kind == TRACK_COUNTER)
		snprintf(name, sizeof(name), t->id >= 0 ? "%.40s %" PRId64 : "%.40s", i->name,
			 t->id);
	else
		snprintf(name, sizeof(name),
			 t->kind == TRACK_CPU	       ? "CPU %" PRId64
			 : t->kind == TRACK_INTERRUPTS ? "CPU %" PRId64 " interrupts"
						       : "events",
			 t->id);
	describe(p, t, uuid, parent_of(p, t, place), name, strlen(name), false);
	return uuid;
}

/* ---- events ---- */

static void add_fields(struct perfetto_writer *p, struct recording *r)
{
	struct json j = JSON_INIT(&p->fields);

	strbuf_reset(&p->fields);
	r->reader->fields(r, &j);
	annotations_add(&p->event, EVENT_ANNOTATION, p->fields.data, p->fields.len);
}

static void add_flows(struct perfetto_writer *p, const struct span_item *i)
{
	if (i->flow_from)
		protobuf_fixed64(&p->event, EVENT_FLOW, i->flow_from);
	if (i->flow_to)
		protobuf_fixed64(&p->event, EVENT_FLOW_ENDS, i->flow_to);
}

static void add_item(struct perfetto_writer *p, const struct span_item *i, u64 track,
		     struct recording *r)
{
	static const u64 types[] = {[ITEM_INSTANT] = TYPE_INSTANT,
				    [ITEM_SLICE] = TYPE_BEGIN,
				    [ITEM_UNFINISHED] = TYPE_BEGIN,
				    [ITEM_COUNTER] = TYPE_COUNTER};
	const bool has_chain = i->kind != ITEM_COUNTER && (!i->fields || i->kind == ITEM_SLICE);
	const u64 callstack = has_chain ? callstack_of(p, r) : 0;

	protobuf_u64(&p->event, EVENT_TYPE, types[i->kind]);
	protobuf_u64(&p->event, EVENT_TRACK, track);
	if (i->kind == ITEM_COUNTER) {
		protobuf_u64(&p->event, EVENT_COUNTER, (u64)i->value);
		packet_of_event(p, i->ns);
		return;
	}
	protobuf_u64(&p->event, EVENT_CATEGORY,
		     interned(p, INTERNED_CATEGORY, i->category, strlen(i->category)));
	protobuf_u64(&p->event, EVENT_NAME, interned(p, INTERNED_NAME, i->name, i->name_size));
	if (callstack)
		protobuf_u64(&p->event, EVENT_CALLSTACK, callstack);
	add_flows(p, i);
	if (i->fields)
		annotations_add(&p->event, EVENT_ANNOTATION, i->fields, strlen(i->fields));
	else if (i->kind != ITEM_SLICE)
		add_fields(p, r);
	packet_of_event(p, i->ns);
	if (i->kind != ITEM_SLICE)
		return;
	protobuf_u64(&p->event, EVENT_TYPE, TYPE_END);
	protobuf_u64(&p->event, EVENT_TRACK, track);
	add_fields(p, r);
	packet_of_event(p, i->end_ns);
}

static void perfetto_begin(struct trace_writer *w)
{
	struct perfetto_writer *const p = perfetto_of(w);

	p->stacks.by_address = true;
	p->fresh = p->event = p->fields = (struct strbuf)STRBUF_INIT;
	stacks_text_id(&p->stacks, "", 0);
	spans_host(&p->spans, "");
}

static void perfetto_event(struct trace_writer *w, struct recording *r)
{
	struct perfetto_writer *const p = perfetto_of(w);
	const struct recorded_place place = recording_place(r);
	struct span_item items[SPAN_ITEMS];
	const size_t n = spans_items(&p->spans, r, &place, items);

	if (!p->has_begin)
		add_clocks(p, r);
	p->has_begin = true;
	for (size_t i = 0; i < n; i++)
		add_item(p, &items[i], track_of(p, &items[i], &place), r);
}

static void perfetto_end(struct trace_writer *w)
{
	struct perfetto_writer *const p = perfetto_of(w);
	struct span_item item;

	while (spans_rest(&p->spans, &item)) {
		const struct recorded_place place = {.comm = item.comm,
						     .comm_size = strlen(item.comm)};

		add_item(p, &item, track_of(p, &item, &place), NULL);
	}
}

static void perfetto_release(struct trace_writer *w)
{
	struct perfetto_writer *const p = perfetto_of(w);

	hashmap_each (&p->named, e)
		free(e->value);
	hashmap_release(&p->named);
	hashmap_release(&p->tracks);
	hashmap_release(&p->interned);
	vector_free(&p->callstack);
	strbuf_release(&p->fresh);
	strbuf_release(&p->event);
	strbuf_release(&p->fields);
	stacks_release(&p->stacks);
	spans_release(&p->spans);
}

const struct trace_format perfetto_format = {
	.name = "perfetto",
	.suffixes = {".pftrace", ".perfetto-trace", ".perfetto"},
	.has_times = true,
	.is_binary = true,
	.size = sizeof(struct perfetto_writer),
	.begin = perfetto_begin,
	.event = perfetto_event,
	.end = perfetto_end,
	.release = perfetto_release,
};
