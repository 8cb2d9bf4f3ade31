/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile of pprof (github.com/google/pprof, proto/profile.proto): counted call chains, of
 * addresses in files with build-ids, so that others can look up symbols. The thread's name is a
 * label. It is written at the end, as its strings are numbered.
 */
#include "trace/pprof/fields.h"
#include "trace/writers/protobuf.h"
#include "trace/writers/writer.h"

struct pprof_writer {
	struct trace_writer writer;
	struct stacks stacks;
	s64 first_ns, last_ns;
	bool has_time, is_unplaced;
	u64 period; /* of all samples; 0 = they differ */
	bool has_period;
};

/* A file that has locations. */
struct object {
	u32 text, build_id; /* 0 = not known */
	u64 end; /* the last address + 1 */
	bool has_functions;
};

struct tables {
	VECTOR(struct object) objects;
	struct hashmap object_ids; /* u32 text -> index + 1 */
	struct hashmap functions; /* {u32 name, object} -> index + 1 */
};

static struct pprof_writer *pprof_of(struct trace_writer *w)
{
	return container_of(w, struct pprof_writer, writer);
}

static void pprof_begin(struct trace_writer *w)
{
	pprof_of(w)->stacks.by_address = true;
}

static void pprof_event(struct trace_writer *w, struct recording *r)
{
	struct pprof_writer *const p = pprof_of(w);
	u64 weight;

	if (stacks_add(&p->stacks, r, &weight) < 0)
		return;
	if (!p->has_time)
		p->first_ns = r->ns;
	p->has_time = true;
	p->is_unplaced |= r->is_unplaced;
	p->last_ns = r->ns;
	p->period = p->has_period && p->period != weight ? 0 : weight;
	p->has_period = true;
}

/* ---- tables ---- */

static u32 text_id(struct stacks *s, const char *text)
{
	return stacks_text_id(s, text, strlen(text));
}

static u64 object_of(struct tables *t, const struct stack_frame *f)
{
	void **at = hashmap_put(&t->object_ids, &f->object, sizeof(f->object), NULL);
	struct object *o;

	if (!*at) {
		vector_push(&t->objects, (struct object){.text = f->object});
		*at = (void *)(uintptr_t)t->objects.len;
	}
	o = &t->objects.items[(uintptr_t)*at - 1];
	o->end = MAX(o->end, f->address == UINT64_MAX ? f->address : f->address + 1);
	o->has_functions |= f->has_symbol;
	o->build_id = f->build_id ?: o->build_id;
	return (uintptr_t)*at;
}

static u64 function_of(struct tables *t, const struct stack_frame *f, struct strbuf *out)
{
	const u32 key[2] = {f->name, f->object};
	bool is_new;
	void **at = hashmap_put(&t->functions, key, sizeof(key), &is_new);
	size_t begin;

	if (!is_new)
		return (uintptr_t)*at;
	*at = (void *)(uintptr_t)t->functions.len;
	begin = protobuf_begin(out, PROFILE_FUNCTION);
	protobuf_u64(out, FUNCTION_ID, (uintptr_t)*at);
	protobuf_u64(out, FUNCTION_NAME, f->name);
	protobuf_u64(out, FUNCTION_SYSTEM_NAME, f->name);
	protobuf_u64(out, FUNCTION_FILE, f->object);
	protobuf_end(out, begin);
	return (uintptr_t)*at;
}

static void add_locations(const struct stacks *s, struct tables *t, struct strbuf *out)
{
	for (size_t i = 0; i < s->frames.len; i++) {
		const struct stack_frame *const f = &s->frames.items[i];
		const u64 function = function_of(t, f, out);
		const size_t begin = protobuf_begin(out, PROFILE_LOCATION);
		size_t line;

		protobuf_u64(out, LOCATION_ID, i + 1);
		protobuf_u64(out, LOCATION_MAPPING, object_of(t, f));
		protobuf_u64(out, LOCATION_ADDRESS, f->address);
		line = protobuf_begin(out, LOCATION_LINE);
		protobuf_u64(out, LINE_FUNCTION, function);
		protobuf_end(out, line);
		protobuf_end(out, begin);
	}
}

static void add_mappings(const struct tables *t, struct strbuf *out)
{
	for (size_t i = 0; i < t->objects.len; i++) {
		const struct object *const o = &t->objects.items[i];
		const size_t begin = protobuf_begin(out, PROFILE_MAPPING);

		protobuf_u64(out, MAPPING_ID, i + 1);
		protobuf_u64(out, MAPPING_END, o->end);
		protobuf_u64(out, MAPPING_FILE, o->text);
		protobuf_u64(out, MAPPING_BUILD_ID, o->build_id);
		protobuf_u64(out, MAPPING_HAS_FUNCTIONS, o->has_functions);
		protobuf_end(out, begin);
	}
}

/* The innermost function comes first. */
static void add_samples(const struct stacks *s, u32 label, struct strbuf *out)
{
	VECTOR(u64) locations = {0};

	for (size_t i = 0; i < s->entries.len; i++) {
		const struct stack_entry e = stacks_entry(s, i);
		const size_t begin = protobuf_begin(out, PROFILE_SAMPLE);
		size_t part;

		locations.len = 0;
		for (size_t k = e.depth; k--;)
			vector_push(&locations, e.frames[k] + 1);
		protobuf_packed(out, SAMPLE_LOCATION, locations.items, locations.len);
		protobuf_packed(out, SAMPLE_VALUE, (const u64[]){e.count.samples, e.count.weight},
				s->is_sampled ? 2 : 1);
		part = protobuf_begin(out, SAMPLE_LABEL);
		protobuf_u64(out, LABEL_KEY, label);
		protobuf_u64(out, LABEL_TEXT, e.root);
		protobuf_end(out, part);
		protobuf_end(out, begin);
	}
	vector_free(&locations);
}

static void add_type(struct strbuf *out, u32 field, u32 type, u32 unit)
{
	const size_t begin = protobuf_begin(out, field);

	protobuf_u64(out, TYPE_NAME, type);
	protobuf_u64(out, TYPE_UNIT, unit);
	protobuf_end(out, begin);
}

static void pprof_end(struct trace_writer *w)
{
	struct pprof_writer *const p = pprof_of(w);
	struct stacks *const s = &p->stacks;
	struct strbuf *const out = &w->out;
	struct tables t = {0};
	const char *const weight = stacks_unit(s);
	const u32 kind = text_id(s, s->kind ?: "samples"),
		  unit = text_id(s, *weight ? weight : "count"), label = text_id(s, "comm");

	add_type(out, PROFILE_TYPE, text_id(s, "samples"), text_id(s, "count"));
	if (s->is_sampled) {
		add_type(out, PROFILE_TYPE, kind, unit);
		add_type(out, PROFILE_PERIOD_TYPE, kind, unit);
		protobuf_u64(out, PROFILE_PERIOD, p->period);
	}
	add_samples(s, label, out);
	add_locations(s, &t, out);
	add_mappings(&t, out);
	for (u32 i = 0; i < s->texts.len; i++) {
		size_t n;
		const char *const text = stacks_text(s, i, &n);

		protobuf_string(out, PROFILE_STRING, text, n);
	}
	writer_left_out(w, s);
	w->is_full |= s->sum > INT64_MAX; /* pprof's numbers are signed */
	if (!p->is_unplaced)
		protobuf_u64(out, PROFILE_TIME, (u64)p->first_ns);
	protobuf_u64(out, PROFILE_DURATION, (u64)(p->last_ns - p->first_ns));
	vector_free(&t.objects);
	hashmap_release(&t.object_ids);
	hashmap_release(&t.functions);
}

static void pprof_release(struct trace_writer *w)
{
	stacks_release(&pprof_of(w)->stacks);
}

const struct trace_format pprof_format = {
	.name = "pprof",
	.suffixes = {".pb.gz", ".pprof"},
	.is_packed = true,
	.size = sizeof(struct pprof_writer),
	.begin = pprof_begin,
	.event = pprof_event,
	.end = pprof_end,
	.release = pprof_release,
};
