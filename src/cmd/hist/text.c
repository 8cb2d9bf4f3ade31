/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the output of hist_trigger_entry_print() in kernel/trace/trace_events_hist.c. */
#include "cmd/hist/text.h"

#include <stdio.h>

struct reader {
	struct hist_table *t;
	const char *p;
	struct strbuf scratch;
};

void hist_history_release(struct hist_history *h)
{
	hashmap_release(&h->rows);
	vector_free(&h->numbers);
}

/* ---- keys ---- */

/*
 * Where ", NAME: " of the next key begins (the last such place, as a string may contain the same),
 * or the end.
 */
static const char *value_end(const struct reader *r, u32 column, const char *end)
{
	const char *best = end, *name;
	char word[160];

	if (column + 1 >= r->t->nkeys)
		return end;
	name = r->t->columns[column + 1].name;
	for (u32 i = 0; i < 2;
	     i++) { /* cpu is printed as common_cpu, stacktrace as common_stacktrace since 6.3 */
		snprintf(word, sizeof(word), i ? ", common_%s: " : ", %s: ", name);
		for (const char *p = r->p; (p = strstr(p, word)) && p < end; p++)
			best = p;
		if (best != end)
			return best;
		snprintf(word, sizeof(word), i ? ", common_%s:\n" : ", %s:\n", name);
		for (const char *p = r->p; (p = strstr(p, word)) && p < end; p++)
			best = p;
		if (best != end)
			return best;
	}
	return best;
}

static const char *trimmed(struct arena *a, const char *begin, const char *end)
{
	while (end > begin && end[-1] == ' ')
		end--;
	return arena_strndup(a, begin, (size_t)(end - begin));
}

/* "bash            [      5056]" */
static void read_execname(struct hist_table *t, struct hist_cell *cell, const char *begin,
			  const char *end)
{
	const char *bracket = end;

	while (bracket > begin && *bracket != '[')
		bracket--;
	cell->text = trimmed(&t->arena, begin, bracket);
	cell->number = strtoull(bracket + (*bracket == '['), NULL, 10);
}

/* Lines " name+0x41/0x90" become "name+65", as in our own stacks. */
static const char *read_stack(struct reader *r, const char *begin, const char *end)
{
	struct strbuf *out = &r->scratch;

	strbuf_reset(out);
	for (const char *p = begin; p < end;) {
		const char *line, *stop, *plus;

		p += strspn(p, " \t\n");
		if (p >= end)
			break;
		line = p;
		stop = memchr(p, '\n', (size_t)(end - p));
		stop = stop ? stop : end;
		p = stop;
		plus = memchr(line, '+', (size_t)(stop - line));
		if (out->len)
			strbuf_addch(out, '\n');
		if (plus)
			strbuf_addf(out, "%.*s+%llu", (int)(plus - line), line,
				    strtoull(plus + 1, NULL, 16));
		else
			strbuf_add(out, line, (size_t)(stop - line));
	}
	return arena_strdup(&r->t->arena, out->data);
}

static void read_cell(struct reader *r, struct hist_cell *cell, const struct hist_column *c,
		      const char *end)
{
	const char *p = r->p;

	switch (c->form) {
	case HIST_STRING:
		cell->text = trimmed(&r->t->arena, p, end);
		return;
	case HIST_STACK:
		cell->text = read_stack(r, p, end);
		return;
	case HIST_EXECNAME:
		read_execname(r->t, cell, p, end);
		return;
	case HIST_LOG2:
		p += str_starts(p, "~ 2^") ? 4 : 0;
		break;
	case HIST_BUCKETS:
		p += str_starts(p, "~ ") ? 2 : 0;
		break;
	default:
		break;
	}
	cell->number = strtoull(p, NULL, 10);
}

/* r->p is after "{ ", end at " }". False if it cannot be parsed. */
static bool read_keys(struct reader *r, struct hist_row *row, const char *end)
{
	for (u32 c = 0; c < r->t->nkeys; c++) {
		const char *colon = memchr(r->p, ':', (size_t)(end - r->p)), *stop;

		if (!colon)
			return false;
		r->p = colon + 1;
		r->p += *r->p == ' ';
		if (r->t->columns[c].form != HIST_STRING)
			r->p += strspn(r->p, " ");
		stop = value_end(r, c, end);
		read_cell(r, &row->cells[c], &r->t->columns[c], stop);
		r->p = stop < end ? stop + 2 : end;
	}
	return true;
}

/* ---- rows ---- */

static u64 read_number(struct reader *r)
{
	const char *colon = strchr(r->p, ':');
	char *end;
	u64 n;

	if (!colon)
		return 0;
	n = strtoull(colon + 1, &end, 10);
	r->p = end;
	return n;
}

static void subtract(const struct hist_table *t, struct hist_history *h, struct hist_row *row,
		     const char *keys, size_t len)
{
	const u32 width = 1 + t->ncolumns - t->nkeys;
	bool is_new;
	void **index = hashmap_put(&h->rows, keys, len, &is_new);
	u64 *before;

	if (is_new) {
		*index = (void *)(uintptr_t)h->numbers.len;
		for (u32 i = 0; i < width; i++)
			vector_push(&h->numbers, 0);
	}
	before = h->numbers.items + (uintptr_t)*index;
	for (u32 i = 0; i < width; i++) {
		u64 *now = i ? &row->cells[t->nkeys + i - 1].number : &row->hits;
		const u64 all = *now;

		*now -= before[i] <= all || (i && t->columns[t->nkeys + i - 1].is_signed)
				? before[i]
				: 0;
		before[i] = all;
	}
}

static int read_row(struct reader *r, struct hist_history *h)
{
	static const char mark[] = "} hitcount:";
	const char *keys = r->p + 2, *end = strstr(keys, mark);
	struct hist_row *row;

	if (!end)
		return -EINVAL;
	row = hist_table_add(r->t);
	r->p = keys;
	if (!read_keys(r, row, end[-1] == ' ' ? end - 1 : end))
		return -EINVAL;
	r->p = end + 1;
	row->hits = read_number(r);
	for (u32 c = r->t->nkeys; c < r->t->ncolumns; c++)
		row->cells[c].number = read_number(r);
	if (h) {
		subtract(r->t, h, row, keys, (size_t)(end - keys));
		if (!row->hits)
			r->t->rows.len--;
	}
	return 0;
}

int hist_text_read(const char *text, struct hist_table *t, struct hist_history *history)
{
	struct reader r = {.t = t, .p = text, .scratch = STRBUF_INIT};
	const char *dropped;
	int err = 0;

	while (!err && (r.p = strstr(r.p, "\n{ "))) {
		r.p++;
		err = read_row(&r, history);
		text = r.p;
	}
	strbuf_release(&r.scratch);
	dropped = strstr(text, "Dropped:");
	t->dropped = dropped ? strtoull(dropped + strlen("Dropped:"), NULL, 10) : 0;
	return err;
}
