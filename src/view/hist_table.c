/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/hist_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"
#include "view/value.h"

#define BAR_WIDTH 40

const char *const hist_form_words[HIST_FORM_COUNT] = {
	[HIST_NUMBER] = "",
	[HIST_HEX] = ".hex",
	[HIST_SYM] = ".sym",
	[HIST_SYM_OFFSET] = ".sym-offset",
	[HIST_LOG2] = ".log2",
	[HIST_BUCKETS] = ".buckets",
	[HIST_EXECNAME] = ".execname",
	[HIST_SYSCALL] = ".syscall",
	[HIST_USECS] = ".usecs",
	[HIST_PERCENT] = ".percent",
	[HIST_GRAPH] = ".graph",
	[HIST_STRING] = "",
	[HIST_STACK] = ".stacktrace",
};

struct hist_row *hist_table_add(struct hist_table *t)
{
	vector_push(&t->rows, (struct hist_row){.cells = arena_new_array(
							&t->arena, struct hist_cell, t->ncolumns)});
	return &vector_last(&t->rows);
}

void hist_table_release(struct hist_table *t)
{
	vector_free(&t->rows);
	arena_release(&t->arena);
}

/* ---- order ---- */

static int compare_numbers(u64 a, u64 b, bool is_signed)
{
	if (is_signed)
		return (s64)a < (s64)b ? -1 : (s64)a > (s64)b;
	return a < b ? -1 : a > b;
}

static int compare_cells(const struct hist_column *c, const struct hist_cell *a,
			 const struct hist_cell *b)
{
	if (c->form == HIST_STRING || c->form == HIST_STACK)
		return strcmp(a->text, b->text);
	return compare_numbers(a->number, b->number, c->is_signed);
}

static int compare_rows(const void *pa, const void *pb, void *arg)
{
	const struct hist_row *a = pa, *b = pb;
	const struct hist_table *t = arg;
	int way;

	for (u32 i = 0; i < t->nsorts; i++) {
		const u32 c = t->sorts[i].column;

		way = c == HIST_BY_HITS ? compare_numbers(a->hits, b->hits, false)
					: compare_cells(&t->columns[c], &a->cells[c], &b->cells[c]);
		if (way)
			return t->sorts[i].is_descending ? -way : way;
	}
	for (u32 c = 0; c < t->nkeys; c++) { /* the same order in every report */
		way = compare_cells(&t->columns[c], &a->cells[c], &b->cells[c]);
		if (way)
			return way;
	}
	return 0;
}

static void sum_up(struct hist_table *t)
{
	t->hits = t->most_hits = 0;
	t->sums = arena_new_array(&t->arena, u64, t->ncolumns);
	t->most = arena_new_array(&t->arena, u64, t->ncolumns);
	for (size_t i = 0; i < t->rows.len; i++) {
		const struct hist_row *r = &t->rows.items[i];

		t->hits += r->hits;
		t->most_hits = MAX(t->most_hits, r->hits);
		for (u32 c = t->nkeys; c < t->ncolumns; c++) {
			t->sums[c] += r->cells[c].number;
			t->most[c] = MAX(t->most[c], r->cells[c].number);
		}
	}
}

void hist_table_sort(struct hist_table *t)
{
	if (t->rows.len)
		qsort_r(t->rows.items, t->rows.len, sizeof(*t->rows.items), compare_rows, t);
	sum_up(t);
}

void hist_table_clear(struct hist_table *t)
{
	t->rows.len = 0;
	arena_release(&t->arena);
}

static size_t first_row(const struct hist_table *t, u64 top)
{
	return top && top < t->rows.len ? t->rows.len - top : 0;
}

static u64 value_of(const struct hist_row *r, u32 column)
{
	return column == HIST_BY_HITS ? r->hits : r->cells[column].number;
}

static u64 largest_of(const struct hist_table *t, u32 column)
{
	return column == HIST_BY_HITS ? t->most_hits : t->most[column];
}

/* ---- cells ---- */

static void add_number(struct strbuf *out, const struct hist_column *c, u64 n)
{
	if (c->is_signed)
		strbuf_addf(out, "%lld", (long long)n);
	else
		strbuf_addf(out, "%" PRIu64, n);
}

static void add_symbol(struct strbuf *out, const struct hist_table *t, u64 address,
		       bool with_offset)
{
	u64 offset = 0;
	const char *name = t->symbol ? t->symbol(t->arg, address, &offset) : NULL;

	if (!name)
		strbuf_addf(out, "0x%" PRIx64, address);
	else if (with_offset)
		strbuf_addf(out, "%s+0x%" PRIx64, name, offset);
	else
		strbuf_addstr(out, name);
}

static void add_bar(struct strbuf *out, u64 value, u64 most)
{
	int n = most ? (int)((unsigned __int128)value * BAR_WIDTH / most) : 0;

	strbuf_addch(out, '|');
	strbuf_addchars(out, '@', n);
	strbuf_addchars(out, ' ', BAR_WIDTH - n);
	strbuf_addch(out, '|');
}

static void add_percent(struct strbuf *out, u64 value, u64 sum)
{
	const unsigned __int128 hundredths = sum ? (unsigned __int128)value * 10000 / sum : 0;

	strbuf_addf(out, "%" PRIu64 ".%02" PRIu64 "%%", (u64)(hundredths / 100),
		    (u64)(hundredths % 100));
}

static void add_cell(struct strbuf *out, const struct hist_table *t, const struct hist_row *r,
		     u32 column)
{
	const struct hist_column *c = &t->columns[column];
	const struct hist_cell *cell = &r->cells[column];
	const char *name;

	switch (c->form) {
	case HIST_HEX:
		strbuf_addf(out, "%" PRIx64, cell->number);
		return;
	case HIST_SYM:
	case HIST_SYM_OFFSET:
		strbuf_addf(out, "[%" PRIx64 "] ", cell->number);
		add_symbol(out, t, cell->number, c->form == HIST_SYM_OFFSET);
		return;
	case HIST_LOG2:
		strbuf_addf(out, "~ 2^%" PRIu64, cell->number);
		return;
	case HIST_BUCKETS:
		strbuf_addf(out, "~ %" PRIu64 "-%" PRIu64, cell->number,
			    cell->number + c->width - 1);
		return;
	case HIST_EXECNAME:
		escape_line(out, cell->text, strlen(cell->text));
		strbuf_addf(out, " [%" PRIu64 "]", cell->number);
		return;
	case HIST_SYSCALL:
		name = t->syscall ? t->syscall(t->arg, cell->number) : NULL;
		strbuf_addf(out, "%s [%lld]", name ? name : "unknown_syscall",
			    (long long)cell->number);
		return;
	case HIST_STRING:
		escape_line(out, cell->text, strlen(cell->text));
		return;
	case HIST_PERCENT:
		add_percent(out, cell->number, t->sums[column]);
		return;
	case HIST_GRAPH:
		add_bar(out, cell->number, largest_of(t, column));
		return;
	default:
		add_number(out, c, cell->number);
		return;
	}
}

/* Numbers stand at the right of their column. */
static bool is_right(const struct hist_column *c)
{
	switch (c->form) {
	case HIST_NUMBER:
	case HIST_HEX:
	case HIST_USECS:
	case HIST_PERCENT:
		return true;
	default:
		return false;
	}
}

static void add_padded(struct strbuf *out, const char *text, int width, bool right)
{
	const int room = width - (int)strlen(text);

	if (right)
		strbuf_addchars(out, ' ', room);
	strbuf_addstr(out, text);
	if (!right)
		strbuf_addchars(out, ' ', room);
}

/* ---- columns ---- */

struct layout {
	const struct hist_table *t;
	int *widths; /* by column, the hits last */
	u32 barred; /* what the bar shows */
	u64 most;
	struct strbuf scratch;
};

static const char *cell_text(struct layout *l, const struct hist_row *r, u32 column)
{
	strbuf_reset(&l->scratch);
	add_cell(&l->scratch, l->t, r, column);
	return l->scratch.data;
}

static const char *upper_name(struct layout *l, const char *name)
{
	strbuf_reset(&l->scratch);
	for (; *name; name++)
		strbuf_addch(&l->scratch, *name >= 'a' && *name <= 'z' ? *name - 32 : *name);
	return l->scratch.data;
}

static void measure(struct layout *l, u64 top)
{
	const struct hist_table *t = l->t;
	u64 hits = 0;
	int n;

	for (u32 c = 0; c < t->ncolumns; c++)
		l->widths[c] = (int)strlen(t->columns[c].name);
	for (size_t i = first_row(t, top); i < t->rows.len; i++) {
		hits = MAX(hits, t->rows.items[i].hits);
		for (u32 c = 0; c < t->ncolumns; c++)
			if (t->columns[c].form != HIST_STACK)
				l->widths[c] = MAX(l->widths[c],
						   (int)strlen(cell_text(l, &t->rows.items[i], c)));
	}
	n = snprintf(NULL, 0, "%" PRIu64, hits);
	l->widths[t->ncolumns] = MAX(n, (int)strlen("HITCOUNT"));
}

/* The bar shows the value by which the rows are sorted, else the hits. */
static u32 barred_column(const struct hist_table *t)
{
	for (u32 i = 0; i < t->nsorts; i++)
		if (t->sorts[i].column != HIST_BY_HITS && t->sorts[i].column >= t->nkeys &&
		    !t->columns[t->sorts[i].column].is_signed)
			return t->sorts[i].column;
	return HIST_BY_HITS;
}

static void add_header(struct strbuf *out, struct layout *l)
{
	const struct hist_table *t = l->t;

	for (u32 c = 0; c < t->nkeys; c++) {
		if (t->columns[c].form == HIST_STACK)
			continue;
		add_padded(out, upper_name(l, t->columns[c].name), l->widths[c],
			   is_right(&t->columns[c]));
		strbuf_addstr(out, "  ");
	}
	add_padded(out, "HITCOUNT", l->widths[t->ncolumns], true);
	for (u32 c = t->nkeys; c < t->ncolumns; c++) {
		strbuf_addstr(out, "  ");
		add_padded(out, upper_name(l, t->columns[c].name), l->widths[c],
			   is_right(&t->columns[c]));
	}
	while (out->len && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	strbuf_addch(out, '\n');
}

static void add_stacks(struct strbuf *out, const struct hist_table *t, const struct hist_row *r,
		       const char *indent)
{
	for (u32 c = 0; c < t->nkeys; c++) {
		const char *p = t->columns[c].form == HIST_STACK ? r->cells[c].text : "";

		while (*p) {
			const size_t n = strcspn(p, "\n");

			strbuf_addstr(out, indent);
			escape_line(out, p, n);
			strbuf_addch(out, '\n');
			p += n + (p[n] == '\n');
		}
	}
}

static void add_row(struct strbuf *out, struct layout *l, const struct hist_row *r)
{
	const struct hist_table *t = l->t;

	for (u32 c = 0; c < t->nkeys; c++) {
		if (t->columns[c].form == HIST_STACK)
			continue;
		add_padded(out, cell_text(l, r, c), l->widths[c], is_right(&t->columns[c]));
		strbuf_addstr(out, "  ");
	}
	strbuf_addf(out, "%*" PRIu64, l->widths[t->ncolumns], r->hits);
	for (u32 c = t->nkeys; c < t->ncolumns; c++) {
		strbuf_addstr(out, "  ");
		add_padded(out, cell_text(l, r, c), l->widths[c], is_right(&t->columns[c]));
	}
	strbuf_addch(out, ' ');
	add_bar(out, value_of(r, l->barred), l->most);
	strbuf_addch(out, '\n');
	add_stacks(out, t, r, "    ");
}

void hist_table_text(struct strbuf *out, const struct hist_table *t, u64 top)
{
	struct layout l = {.t = t, .scratch = STRBUF_INIT};

	l.widths = xreallocarray(NULL, t->ncolumns + 1, sizeof(*l.widths));
	l.barred = barred_column(t);
	l.most = largest_of(t, l.barred);
	measure(&l, top);
	strbuf_addf(out, "# %s [%s%s]\n", t->title, t->engine, t->is_paused ? ", paused" : "");
	add_header(out, &l);
	for (size_t i = first_row(t, top); i < t->rows.len; i++)
		add_row(out, &l, &t->rows.items[i]);
	strbuf_addf(out, "Totals: %" PRIu64 " hits, %zu entries, %" PRIu64 " dropped\n", t->hits,
		    t->rows.len, t->dropped);
	strbuf_release(&l.scratch);
	free(l.widths);
}

/* ---- as the kernel prints it: hist_trigger_print_key() and friends,
 * kernel/trace/trace_events_hist.c ---- */

static void add_kernel_key(struct strbuf *out, const struct hist_table *t, const struct hist_row *r,
			   u32 column)
{
	const struct hist_column *c = &t->columns[column];
	const struct hist_cell *cell = &r->cells[column];
	const u64 n = cell->number;
	struct strbuf text = STRBUF_INIT;
	const char *name;

	strbuf_addf(out, "%s: ", c->name);
	switch (c->form) {
	case HIST_HEX:
		strbuf_addf(out, "%" PRIx64, n);
		break;
	case HIST_SYM:
	case HIST_SYM_OFFSET:
		add_symbol(&text, t, cell->number, c->form == HIST_SYM_OFFSET);
		strbuf_addf(out,
			    c->form == HIST_SYM ? "[%" PRIx64 "] %-45s" : "[%" PRIx64 "] %-55s", n,
			    text.data);
		break;
	case HIST_LOG2:
		strbuf_addf(out, "~ 2^%-2" PRIu64, n);
		break;
	case HIST_BUCKETS:
		strbuf_addf(out, "~ %" PRIu64 "-%" PRIu64, n, n + c->width - 1);
		break;
	case HIST_EXECNAME:
		escape_line(&text, cell->text, strlen(cell->text));
		strbuf_addf(out, "%-16s[%10" PRIu64 "]", text.data, n);
		break;
	case HIST_SYSCALL:
		name = t->syscall ? t->syscall(t->arg, cell->number) : NULL;
		strbuf_addf(out, "%-30s[%3" PRIu64 "]", name ? name : "unknown_syscall", n);
		break;
	case HIST_STRING:
		escape_line(&text, cell->text, strlen(cell->text));
		strbuf_addf(out, "%-50s", text.data);
		break;
	case HIST_STACK:
		strbuf_addch(out, '\n');
		add_stacks(out, t, r, "         ");
		break;
	default:
		strbuf_addf(out, "%10" PRIu64, n);
		break;
	}
	strbuf_release(&text);
}

static void add_kernel_value(struct strbuf *out, const struct hist_table *t,
			     const struct hist_row *r, u32 column)
{
	const struct hist_column *c = &t->columns[column];

	strbuf_addf(out, "  %s: ", c->name);
	if (c->form == HIST_HEX)
		strbuf_addf(out, "%10" PRIx64, r->cells[column].number);
	else if (c->form == HIST_PERCENT || c->form == HIST_GRAPH)
		add_cell(out, t, r, column);
	else
		strbuf_addf(out, "%10" PRIu64, r->cells[column].number);
}

void hist_table_kernel_text(struct strbuf *out, const struct hist_table *t)
{
	strbuf_addf(out, "# event histogram\n#\n# %s [%s]\n#\n\n", t->title,
		    t->is_paused ? "paused" : "active");
	for (size_t i = 0; i < t->rows.len; i++) {
		const struct hist_row *r = &t->rows.items[i];

		strbuf_addstr(out, "{ ");
		for (u32 c = 0; c < t->nkeys; c++) {
			if (c)
				strbuf_addstr(out, ", ");
			add_kernel_key(out, t, r, c);
		}
		strbuf_addf(out, " } hitcount: %10" PRIu64, r->hits);
		for (u32 c = t->nkeys; c < t->ncolumns; c++)
			add_kernel_value(out, t, r, c);
		strbuf_addch(out, '\n');
	}
	strbuf_addf(out,
		    "\nTotals:\n    Hits: %" PRIu64 "\n    Entries: %zu\n    Dropped: %" PRIu64
		    "\n",
		    t->hits, t->rows.len, t->dropped);
}

/* ---- JSON ---- */

static void add_json_number(struct json *j, const struct hist_column *c, u64 n)
{
	if (c->is_signed)
		json_s64(j, (s64)n);
	else
		json_u64(j, n);
}

static void add_json_stack(struct json *j, const char *p)
{
	json_array(j);
	while (*p) {
		const size_t n = strcspn(p, "\n");

		json_string(j, p, n);
		p += n + (p[n] == '\n');
	}
	json_end(j, ']');
}

static void add_json_range(struct json *j, u64 low, u64 high)
{
	json_object(j);
	json_member_u64(j, "min", low);
	json_member_u64(j, "max", high);
	json_end(j, '}');
}

static void add_json_named(struct json *j, const struct hist_cell *cell, const char *name)
{
	json_object(j);
	json_member_u64(j, "number", cell->number);
	if (name)
		json_member_text(j, "name", name);
	json_end(j, '}');
}

static void add_json_cell(struct json *j, const struct hist_table *t, const struct hist_row *r,
			  u32 column)
{
	const struct hist_column *c = &t->columns[column];
	const struct hist_cell *cell = &r->cells[column];
	const u64 n = cell->number;
	struct strbuf text = STRBUF_INIT;

	switch (c->form) {
	case HIST_STRING:
		json_text(j, cell->text);
		break;
	case HIST_STACK:
		add_json_stack(j, cell->text);
		break;
	case HIST_LOG2: /* ceil(log2(n)); 0 and 1 share the first */
		add_json_range(j, n ? (1ULL << (n - 1)) + 1 : 0, n >= 64 ? UINT64_MAX : 1ULL << n);
		break;
	case HIST_BUCKETS:
		add_json_range(j, n, n + c->width - 1);
		break;
	case HIST_EXECNAME:
		add_json_named(j, cell, cell->text);
		break;
	case HIST_SYSCALL:
		add_json_named(j, cell, t->syscall ? t->syscall(t->arg, n) : NULL);
		break;
	case HIST_SYM:
	case HIST_SYM_OFFSET:
		add_symbol(&text, t, n, c->form == HIST_SYM_OFFSET);
		add_json_named(j, cell, text.data);
		break;
	default:
		add_json_number(j, c, n);
		break;
	}
	strbuf_release(&text);
}

static void add_json_cells(struct json *j, const char *key, const struct hist_table *t,
			   const struct hist_row *r, u32 from, u32 to)
{
	json_key(j, key);
	json_object(j);
	for (u32 c = from; c < to; c++) {
		json_key(j, t->columns[c].name);
		add_json_cell(j, t, r, c);
	}
	json_end(j, '}');
}

void hist_table_json(struct strbuf *out, const struct hist_table *t, u64 top)
{
	struct json j = JSON_INIT(out);

	json_object(&j);
	json_member_text(&j, "hist", t->title);
	json_member_text(&j, "engine", t->engine);
	json_member_u64(&j, "hits", t->hits);
	json_member_u64(&j, "entries", t->rows.len);
	json_member_u64(&j, "dropped", t->dropped);
	json_key(&j, "rows");
	json_array(&j);
	for (size_t i = first_row(t, top); i < t->rows.len; i++) {
		const struct hist_row *r = &t->rows.items[i];

		json_object(&j);
		add_json_cells(&j, "keys", t, r, 0, t->nkeys);
		json_member_u64(&j, "hitcount", r->hits);
		add_json_cells(&j, "values", t, r, t->nkeys, t->ncolumns);
		json_end(&j, '}');
	}
	json_end(&j, ']');
	json_end(&j, '}');
	json_end_line(&j);
}
