/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The format of speedscope.app: all samples in time order
 * (https://www.speedscope.app/file-format-schema.json). The outermost frame is the thread's name.
 */
#include "trace/writers/writer.h"

struct sample {
	u32 stack;
	u64 weight;
};

struct speedscope_writer {
	struct trace_writer writer;
	struct stacks stacks;
	VECTOR(struct sample) samples;
};

static struct speedscope_writer *speedscope_of(struct trace_writer *w)
{
	return container_of(w, struct speedscope_writer, writer);
}

static void speedscope_event(struct trace_writer *w, struct recording *r)
{
	struct speedscope_writer *const s = speedscope_of(w);
	u64 weight;
	const s64 stack = stacks_add(&s->stacks, r, &weight);

	if (stack >= 0)
		vector_push(&s->samples, (struct sample){(u32)stack, weight});
}

static void add_text(struct json *j, const struct stacks *s, const char *key, u32 text)
{
	size_t n;
	const char *const bytes = stacks_text(s, text, &n);

	json_member_string(j, key, bytes, n);
}

/* First the frames, then all texts as frames: some are names of threads, the outermost frames. */
static void add_frames(struct json *j, const struct stacks *s)
{
	json_key(j, "frames");
	json_array(j);
	for (size_t i = 0; i < s->frames.len; i++) {
		json_object(j);
		add_text(j, s, "name", s->frames.items[i].name);
		add_text(j, s, "file", s->frames.items[i].object);
		json_end(j, '}');
	}
	for (u32 i = 0; i < s->texts.len; i++) {
		json_object(j);
		add_text(j, s, "name", i);
		json_end(j, '}');
	}
	json_end(j, ']');
}

/* Not by json_u64(), which makes strings beyond 2^53: the schema wants a number. */
static void add_number(struct json *j, u64 v)
{
	char digits[24];

	json_decimal(j, digits, (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, v));
}

static void add_samples(struct json *j, const struct speedscope_writer *w)
{
	json_key(j, "samples");
	json_array(j);
	for (size_t i = 0; i < w->samples.len; i++) {
		const struct stack_entry e = stacks_entry(&w->stacks, w->samples.items[i].stack);

		json_array(j);
		json_u64(j, w->stacks.frames.len + e.root);
		for (size_t k = 0; k < e.depth; k++)
			json_u64(j, e.frames[k]);
		json_end(j, ']');
	}
	json_end(j, ']');
	json_key(j, "weights");
	json_array(j);
	for (size_t i = 0; i < w->samples.len; i++)
		add_number(j, w->samples.items[i].weight);
	json_end(j, ']');
}

/* The units that the format has. */
static const char *unit_of(const struct stacks *s)
{
	static const char *const units[] = {"nanoseconds", "microseconds", "milliseconds",
					    "seconds", "bytes"};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (str_eq(units[i], stacks_unit(s)))
			return units[i];
	return "none";
}

static void speedscope_end(struct trace_writer *writer)
{
	const struct speedscope_writer *const w = speedscope_of(writer);
	const char *const name = w->stacks.kind ?: "";
	struct json j = JSON_INIT(&writer->out);
	u64 sum = 0;

	for (size_t i = 0; i < w->samples.len; i++)
		sum += w->samples.items[i].weight;
	json_object(&j);
	json_member_text(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_member_text(&j, "exporter", "pantrace");
	json_member_text(&j, "name", name);
	json_member_u64(&j, "activeProfileIndex", 0);
	json_key(&j, "shared");
	json_object(&j);
	add_frames(&j, &w->stacks);
	json_end(&j, '}');
	json_key(&j, "profiles");
	json_array(&j);
	json_object(&j);
	json_member_text(&j, "type", "sampled");
	json_member_text(&j, "name", name);
	json_member_text(&j, "unit", unit_of(&w->stacks));
	json_member_u64(&j, "startValue", 0);
	json_key(&j, "endValue");
	add_number(&j, sum);
	add_samples(&j, w);
	json_end(&j, '}');
	json_end(&j, ']');
	json_end(&j, '}');
	json_end_line(&j);
	writer_left_out(writer, &w->stacks);
}

static void speedscope_release(struct trace_writer *w)
{
	vector_free(&speedscope_of(w)->samples);
	stacks_release(&speedscope_of(w)->stacks);
}

const struct trace_format speedscope_format = {
	.name = "speedscope",
	.suffixes = {".speedscope.json", ".speedscope"},
	.size = sizeof(struct speedscope_writer),
	.event = speedscope_event,
	.end = speedscope_end,
	.release = speedscope_release,
};
