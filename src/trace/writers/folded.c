/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "sh;main;work 17": call chains, the outermost function first, and their weight. */
#include "base/escape.h"
#include "trace/writers/writer.h"

struct folded_writer {
	struct trace_writer writer;
	struct stacks stacks;
};

static struct folded_writer *folded_of(struct trace_writer *w)
{
	return container_of(w, struct folded_writer, writer);
}

static void folded_event(struct trace_writer *w, struct recording *r)
{
	u64 weight;

	stacks_add(&folded_of(w)->stacks, r, &weight);
}

struct line {
	const char *text;
	size_t size;
	u64 weight;
};

/* As sort(1) in the C locale. */
static int by_text(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	const int order = memcmp(x->text, y->text, MIN(x->size, y->size));

	return order ?: (x->size > y->size) - (x->size < y->size);
}

/* Escaped, with ':' for the separator ';', and '_' for blanks if they are not allowed. */
static void add_name(const struct stacks *s, u32 text, bool has_blanks, struct strbuf *out)
{
	size_t n, begin = out->len;
	const char *const name = stacks_text(s, text, &n);

	escape_line(out, name, n);
	for (size_t i = begin; i < out->len; i++)
		if (out->data[i] == ';')
			out->data[i] = ':';
		else if (out->data[i] == ' ' && !has_blanks)
			out->data[i] = '_';
}

static void add_chain(const struct stacks *s, const struct stack_entry *e, struct strbuf *out)
{
	add_name(s, e->root, false, out);
	for (size_t i = 0; i < e->depth; i++) {
		strbuf_addch(out, ';');
		add_name(s, s->frames.items[e->frames[i]].name, true, out);
	}
}

/* Functions of the same name in different files become one line: adds them up. */
static void folded_end(struct trace_writer *w)
{
	const struct stacks *const s = &folded_of(w)->stacks;
	VECTOR(struct line) lines = {0};
	struct hashmap weights = {0};
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < s->entries.len; i++) {
		const struct stack_entry e = stacks_entry(s, i);
		bool is_new;
		void **at;

		strbuf_reset(&text);
		add_chain(s, &e, &text);
		at = hashmap_put(&weights, text.data, text.len, &is_new);
		*at = (void *)((uintptr_t)*at + e.count.weight);
	}
	hashmap_each (&weights, e)
		vector_push(&lines, (struct line){e->key, e->key_len, (uintptr_t)e->value});
	if (lines.len)
		qsort(lines.items, lines.len, sizeof(*lines.items), by_text);
	for (size_t i = 0; i < lines.len; i++) {
		strbuf_add(&w->out, lines.items[i].text, lines.items[i].size);
		strbuf_addf(&w->out, " %" PRIu64 "\n", lines.items[i].weight);
	}
	writer_left_out(w, s);
	vector_free(&lines);
	hashmap_release(&weights);
	strbuf_release(&text);
}

static void folded_release(struct trace_writer *w)
{
	stacks_release(&folded_of(w)->stacks);
}

const struct trace_format folded_format = {
	.name = "folded",
	.suffixes = {".folded", ".collapsed"},
	.size = sizeof(struct folded_writer),
	.event = folded_event,
	.end = folded_end,
	.release = folded_release,
};
