/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Trace Event Format of Chrome, which ui.perfetto.dev, speedscope and chrome://tracing read:
 * {"traceEvents": [{"ph": "B", "pid": 1, "tid": 2, "ts": 12.345, "name": ..., "args": ...}, ...]}.
 * Times are microseconds, which readers take as doubles: they count from the first event, whose
 * time is in otherData, so that nanoseconds are not rounded away. CPUs are threads of a made-up
 * process.
 */
#include <stdio.h>

#include "trace/spans.h"
#include "trace/writers/writer.h"

#define CPUS (SPANS_HOST_STEP - 1) /* the process of CPUs */

/* A frame of a call chain, below its caller. */
struct node {
	u32 parent; /* index + 1; 0 = none */
	const char *name;
};

struct chrome_writer {
	struct trace_writer writer;
	struct spans spans;
	struct json json;
	s64 begin_ns;
	bool has_begin, is_unplaced;
	struct hashmap named; /* {pid, tid} -> the name it has */
	struct hashmap node_ids; /* {parent, name} -> index + 1 */
	VECTOR(struct node) nodes;
	struct recorded_stack chain;
};

static struct chrome_writer *chrome_of(struct trace_writer *w)
{
	return container_of(w, struct chrome_writer, writer);
}

static void chrome_begin(struct trace_writer *w)
{
	struct chrome_writer *const c = chrome_of(w);

	c->json = (struct json)JSON_INIT(&w->out);
	spans_host(&c->spans, "");
	json_object(&c->json);
	json_member_text(&c->json, "displayTimeUnit", "ns");
	json_key(&c->json, "traceEvents");
	json_array(&c->json);
}

/* ---- tracks ---- */

static s64 process_of(const struct span_track *t)
{
	return span_process(t) + (t->kind == TRACK_THREAD ? 0 : CPUS);
}

/* A CPU has two threads: who runs on it, and its interrupts. */
static s64 thread_of(const struct span_track *t)
{
	return t->kind == TRACK_THREAD	     ? t->id
	       : t->kind == TRACK_CPU	     ? 1 + 2 * t->id
	       : t->kind == TRACK_INTERRUPTS ? 2 + 2 * t->id
					     : 0;
}

static void add_where(struct json *j, const char *phase, const struct span_track *t)
{
	json_object(j);
	json_member_text(j, "ph", phase);
	json_member_s64(j, "pid", process_of(t));
	json_member_s64(j, "tid", thread_of(t));
}

static void add_metadata(struct chrome_writer *c, const struct span_track *t, const char *what,
			 const char *name, size_t n)
{
	struct json *const j = &c->json;

	add_where(j, "M", t);
	json_member_text(j, "name", what);
	json_key(j, "args");
	json_object(j);
	json_member_string(j, "name", name, n);
	json_end(j, '}');
	json_end(j, '}');
}

static void name_process(struct chrome_writer *c, const struct span_track *t, const char *name,
			 size_t n, const char *host)
{
	struct strbuf text = STRBUF_INIT;

	if (t->host > 1) /* the first one that has a name needs none */
		strbuf_addf(&text, "%s: ", host ?: "");
	strbuf_add(&text, name, n);
	add_metadata(c, t, "process_name", text.data, text.len);
	strbuf_release(&text);
}

/* Once, and again when the thread changes its name. */
static void name_track(struct chrome_writer *c, const struct span_track *t,
		       const struct recorded_place *p)
{
	const s64 key[2] = {process_of(t), thread_of(t)};
	char cpu[40];
	const char *name = p->comm ?: "";
	size_t n = p->comm_size;
	void **at;

	if (t->kind != TRACK_THREAD) {
		snprintf(cpu, sizeof(cpu),
			 t->kind == TRACK_CPU	       ? "CPU %" PRId64
			 : t->kind == TRACK_INTERRUPTS ? "CPU %" PRId64 " interrupts"
						       : "events",
			 t->id);
		name = cpu;
		n = strlen(cpu);
	}
	at = hashmap_put(&c->named, key, sizeof(key), NULL);
	if (*at && spans_is_named(*at, name, n))
		return;
	free(*at);
	*at = xstrndup(name, n);
	add_metadata(c, t, "thread_name", name, n);
	if (t->kind != TRACK_THREAD)
		name_process(c, t, "CPUs", 4, p->host);
	else if (t->id == t->process)
		name_process(c, t, name, n, p->host);
}

/* ---- call chains ---- */

static u32 node_of(struct chrome_writer *c, u32 parent, const struct recorded_frame *f)
{
	struct strbuf key = STRBUF_INIT;
	void **at;
	bool is_new;

	strbuf_add(&key, &parent, sizeof(parent));
	if (f->symbol)
		strbuf_addstr(&key, f->symbol);
	else
		strbuf_addf(&key, "0x%" PRIx64, f->address);
	at = hashmap_put(&c->node_ids, key.data, key.len, &is_new);
	if (is_new) {
		const struct hashmap_entry *e = container_of(at, struct hashmap_entry, value);

		vector_push(&c->nodes,
			    (struct node){parent, (const char *)e->key + sizeof(parent)});
		*at = (void *)(uintptr_t)c->nodes.len;
	}
	strbuf_release(&key);
	return (u32)(uintptr_t)*at;
}

static void add_chain(struct chrome_writer *c, struct recording *r)
{
	u32 node = 0;

	if (!recording_stack(r, &c->chain))
		return;
	for (size_t i = c->chain.len; i--;)
		node = node_of(c, node, &c->chain.items[i]);
	if (node)
		json_member_u64(&c->json, "sf", node);
}

static void add_nodes(struct chrome_writer *c)
{
	struct json *const j = &c->json;
	char id[24];

	json_key(j, "stackFrames");
	json_object(j);
	for (size_t i = 0; i < c->nodes.len; i++) {
		snprintf(id, sizeof(id), "%zu", i + 1);
		json_key(j, id);
		json_object(j);
		json_member_text(j, "name", c->nodes.items[i].name);
		if (c->nodes.items[i].parent)
			json_member_u64(j, "parent", c->nodes.items[i].parent);
		json_end(j, '}');
	}
	json_end(j, '}');
}

/* ---- events ---- */

static void add_time(struct json *j, const char *key, s64 ns)
{
	char text[32];
	const u64 v = ns < 0 ? 0 - (u64)ns : (u64)ns;

	json_key(j, key);
	json_decimal(j, text,
		     (size_t)snprintf(text, sizeof(text), "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "",
				      v / 1000, (u32)(v % 1000)));
}

static void add_flow(struct chrome_writer *c, const struct span_item *i, u64 flow, bool ends)
{
	struct json *const j = &c->json;

	if (!flow)
		return;
	add_where(j, ends ? "f" : "s", &i->track);
	add_time(j, "ts", i->ns - c->begin_ns);
	json_member_text(j, "cat", "wakeup");
	json_member_text(j, "name", "wakeup");
	json_member_u64(j, "id", flow);
	if (ends)
		json_member_text(j, "bp", "e");
	json_end(j, '}');
}

/* r: NULL at the end, for slices that did not end. */
static void add_arguments(struct chrome_writer *c, const struct span_item *i, struct recording *r)
{
	struct json *const j = &c->json;

	json_key(j, "args");
	if (i->kind == ITEM_COUNTER) {
		json_object(j);
		json_member_s64(j, i->name, i->value);
		json_end(j, '}');
	} else if (i->fields && i->kind == ITEM_SLICE) {
		json_object(j);
		json_key(j, "begin");
		json_hole(j);
		strbuf_addstr(j->out, i->fields);
		json_key(j, "end");
		r->reader->fields(r, j);
		json_end(j, '}');
	} else if (i->fields) {
		json_hole(j);
		strbuf_addstr(j->out, i->fields);
	} else {
		r->reader->fields(r, j);
	}
}

static void add_item(struct chrome_writer *c, const struct span_item *i, struct recording *r)
{
	static const char *const phases[] = {[ITEM_INSTANT] = "i",
					     [ITEM_SLICE] = "X",
					     [ITEM_UNFINISHED] = "B",
					     [ITEM_COUNTER] = "C"};
	struct json *const j = &c->json;
	char id[24];

	add_where(j, phases[i->kind], &i->track);
	add_time(j, "ts", i->ns - c->begin_ns);
	if (i->kind == ITEM_SLICE)
		add_time(j, "dur", i->end_ns - i->ns);
	json_member_text(j, "cat", i->category);
	json_member_string(j, "name", i->name, i->name_size);
	if (i->kind == ITEM_INSTANT)
		json_member_text(j, "s", "t");
	if (i->kind == ITEM_COUNTER && i->track.id >= 0) {
		snprintf(id, sizeof(id), "%" PRId64, i->track.id);
		json_member_text(j, "id", id);
	}
	add_arguments(c, i, r);
	if ((!i->fields || i->kind == ITEM_SLICE) && i->kind != ITEM_COUNTER)
		add_chain(c, r);
	json_end(j, '}');
	add_flow(c, i, i->flow_from, false);
	add_flow(c, i, i->flow_to, true);
}

static void chrome_event(struct trace_writer *w, struct recording *r)
{
	struct chrome_writer *const c = chrome_of(w);
	const struct recorded_place place = recording_place(r);
	struct span_item items[SPAN_ITEMS];
	const size_t n = spans_items(&c->spans, r, &place, items);

	if (!c->has_begin)
		c->begin_ns = r->ns;
	c->has_begin = true;
	c->is_unplaced |= r->is_unplaced;
	for (size_t i = 0; i < n; i++) {
		if (items[i].kind != ITEM_COUNTER)
			name_track(c, &items[i].track, &place);
		add_item(c, &items[i], r);
	}
}

static void chrome_end(struct trace_writer *w)
{
	struct chrome_writer *const c = chrome_of(w);
	struct json *const j = &c->json;
	struct span_item item;

	while (spans_rest(&c->spans, &item)) {
		name_track(c, &item.track,
			   &(struct recorded_place){.comm = item.comm,
						    .comm_size = strlen(item.comm)});
		add_item(c, &item, NULL);
	}
	json_end(j, ']');
	add_nodes(c);
	json_key(j, "otherData");
	json_object(j);
	json_member_text(j, "exporter", "pantrace");
	json_member_s64(j, "begin_ns", c->begin_ns);
	json_member_text(j, "clock", c->is_unplaced ? "as recorded" : "since 1970");
	json_end(j, '}');
	json_end(j, '}');
	json_end_line(j);
}

static void chrome_release(struct trace_writer *w)
{
	struct chrome_writer *const c = chrome_of(w);

	hashmap_each (&c->named, e)
		free(e->value);
	hashmap_release(&c->named);
	hashmap_release(&c->node_ids);
	vector_free(&c->nodes);
	vector_free(&c->chain);
	spans_release(&c->spans);
}

const struct trace_format chrome_format = {
	.name = "chrome",
	.has_times = true,
	.suffixes = {".json"},
	.size = sizeof(struct chrome_writer),
	.begin = chrome_begin,
	.event = chrome_event,
	.end = chrome_end,
	.release = chrome_release,
};
