/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen of `pantrace top`. */
#include <time.h>

#include "base/escape.h"
#include "cmd/top/top.h"

#define HEADING	   3 /* lines above the table */
#define LEAST_NAME 8 /* columns for names, however narrow it is */

/* ---- layout ---- */

static u32 heading_of(const struct top *t)
{
	return t->terminal.rows >= 10 ? HEADING : t->terminal.rows >= 6 ? 1 : 0;
}

u32 top_page(const struct top *t)
{
	const u32 taken = heading_of(t) + 2; /* titles, keys */

	return t->terminal.rows > taken ? t->terminal.rows - taken : 1;
}

/* The columns that fit: a bit for each. */
static u32 choose_columns(const struct top *t)
{
	u32 chosen = 0, needed = 0;

	for (const struct column *c = top_columns; c->key; c++) {
		chosen |= 1u << (c - top_columns);
		needed += c->is_text ? LEAST_NAME : c->width + 1;
	}
	if (t->choice.by_thread) { /* it would always be 1 */
		const struct column *const c = column_find("threads");

		chosen &= ~(1u << (c - top_columns));
		needed -= c->width + 1;
	}
	while (needed > t->terminal.columns) {
		const struct column *last = NULL;

		for (const struct column *c = top_columns; c->key; c++)
			if (chosen & 1u << (c - top_columns) && c->rank && c != t->choice.sort &&
			    (!last || c->rank > last->rank))
				last = c;
		if (!last)
			break;
		chosen &= ~(1u << (last - top_columns));
		needed -= last->width + 1;
	}
	return chosen;
}

/* ---- the lines above ---- */

static void draw_first(struct top *t)
{
	struct strbuf text = STRBUF_INIT;
	const time_t now = time(NULL);
	struct tm tm;
	char clock[16];
	u32 at = screen_put(&t->screen, 0, 0, t->screen.columns, STYLE_STRONG, "pantrace top");

	localtime_r(&now, &tm);
	strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	strbuf_addf(&text, "  %u %s, %u thread%s, %u running; by %s, every %.3g s",
		    t->rows.processes, t->rows.processes == 1 ? "process" : "processes",
		    t->rows.threads, plural(t->rows.threads), t->rows.running,
		    t->choice.sort->title, (double)t->o->delay_ns / 1e9);
	if (*t->filter) {
		strbuf_addstr(&text, "; only '");
		escape_line(&text, t->filter, strlen(t->filter));
		strbuf_addch(&text, '\'');
	}
	at += screen_put(&t->screen, 0, at, t->screen.columns, STYLE_PLAIN, text.data);
	if (t->is_frozen)
		at += screen_put(&t->screen, 0, at, t->screen.columns, STYLE_HOT, "  frozen");
	if (at + sizeof(clock) < t->screen.columns)
		screen_put_right(&t->screen, 0, at, t->screen.columns - at, STYLE_DIM, clock);
	strbuf_release(&text);
}

static void draw_bar(struct screen *s, u32 row, u32 column, u32 width, double share,
		     enum style style)
{
	const u32 filled = (u32)(MIN(share, 1.0) * width + 0.5);

	for (u32 i = 0; i < width; i++)
		screen_put(s, row, column + i, 1, i < filled ? style : STYLE_DIM,
			   s->terminal->is_utf8 ? i < filled ? "█" : "░"
			   : i < filled		? "|"
						: ".");
}

static void draw_cpus(struct top *t)
{
	const struct row *const all = &t->rows.total;
	const double span = (double)MAX(all->span_ns, 1u),
		     busy = (double)all->counts[COUNT_CPU] / span,
		     waiting = (double)all->counts[COUNT_RUNQ] / span;
	const double share = busy / MAX(t->cpus, 1u);
	struct strbuf text = STRBUF_INIT;
	u32 at;

	strbuf_addf(&text, "CPU %5.1f%% ", 100 * share);
	at = screen_put(&t->screen, 1, 0, t->screen.columns, STYLE_PLAIN, text.data);
	draw_bar(&t->screen, 1, at, 30, share,
		 share > 0.9   ? STYLE_HOT
		 : share > 0.6 ? STYLE_WARM
			       : STYLE_CALM);
	at += 30;
	strbuf_reset(&text);
	strbuf_addf(&text, "  %.2f of %u CPUs", busy, t->cpus);
	at += screen_put(&t->screen, 1, at, t->screen.columns, STYLE_PLAIN, text.data);
	strbuf_reset(&text);
	strbuf_addf(&text, "  %.2f tasks waiting for one", waiting);
	screen_put(&t->screen, 1, at, t->screen.columns, waiting >= 1 ? STYLE_WARM : STYLE_PLAIN,
		   text.data);
	strbuf_release(&text);
}

static void draw_sums(struct top *t)
{
	static const char *const keys[] = {"calls", "faults", "read", "write", "disk"};
	static const char *const words[] = {" calls/s   ", " faults/s   ", " read/s   ",
					    " written/s   ", " disk/s"};
	struct strbuf text = STRBUF_INIT;
	u32 at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		strbuf_reset(&text);
		column_find(keys[i])->text(&t->rows.total, &text);
		at += screen_put(&t->screen, 2, at, t->screen.columns, STYLE_STRONG, text.data);
		at += screen_put(&t->screen, 2, at, t->screen.columns, STYLE_PLAIN, words[i]);
	}
	strbuf_release(&text);
}

/* ---- the table ---- */

static void draw_titles(struct top *t, u32 line, u32 columns)
{
	u32 at = 0;

	screen_paint(&t->screen, line, 0, t->screen.columns, STYLE_BAR);
	for (const struct column *c = top_columns; c->key; c++) {
		const enum style style = c == t->choice.sort ? STYLE_SORTED : STYLE_BAR;

		if (!(columns & 1u << (c - top_columns)))
			continue;
		if (c->is_text)
			screen_put(&t->screen, line, at, t->screen.columns, style, c->title);
		else
			screen_put_right(&t->screen, line, at, c->width, style, c->title);
		at += c->width + 1;
	}
}

static void add_branch(const struct top *t, const struct row *r, struct strbuf *out)
{
	const bool utf8 = t->terminal.is_utf8;

	for (u32 i = 1; i < r->depth; i++)
		strbuf_addstr(out, !(r->lines & 1ULL << i) ? "  " : utf8 ? "│ " : "| ");
	if (r->depth && r->lines & 1ULL << r->depth)
		strbuf_addstr(out, utf8 ? "├─" : "|-");
	else if (r->depth)
		strbuf_addstr(out, utf8 ? "└─" : "`-");
}

static void draw_row(struct top *t, u32 line, u32 columns, const struct row *r, bool is_selected)
{
	struct strbuf text = STRBUF_INIT;
	u32 at = 0;

	for (const struct column *c = top_columns; c->key; c++) {
		if (!(columns & 1u << (c - top_columns)))
			continue;
		strbuf_reset(&text);
		if (c->is_text && t->choice.as_tree) {
			add_branch(t, r, &text);
			at += screen_put(&t->screen, line, at, t->screen.columns, STYLE_DIM,
					 text.data);
			strbuf_reset(&text);
		}
		c->text(r, &text);
		if (c->is_text)
			screen_put(&t->screen, line, at, t->screen.columns, STYLE_PLAIN, text.data);
		else
			screen_put_right(&t->screen, line, at, c->width,
					 column_style(c, r, text.data), text.data);
		at += c->width + 1;
	}
	if (is_selected)
		screen_paint(&t->screen, line, 0, t->screen.columns, STYLE_SELECTED);
	strbuf_release(&text);
}

/* Keeps the selected row on the screen. */
static void scroll(struct top *t, size_t selected)
{
	const size_t page = top_page(t), n = t->rows.items.len;

	if (selected < t->first_row)
		t->first_row = selected;
	if (selected >= t->first_row + page)
		t->first_row = selected - page + 1;
	if (t->first_row + page > n)
		t->first_row = n > page ? n - page : 0;
}

static void draw_table(struct top *t)
{
	const u32 top = heading_of(t), columns = choose_columns(t);
	const size_t selected = top_selected(t);

	draw_titles(t, top, columns);
	scroll(t, selected);
	for (u32 i = 0; i < top_page(t) && t->first_row + i < t->rows.items.len; i++)
		draw_row(t, top + 1 + i, columns, &t->rows.items.items[t->first_row + i],
			 t->first_row + i == selected);
	if (!t->rows.items.len)
		screen_put(&t->screen, top + 1, 0, t->screen.columns, STYLE_DIM,
			   "no task has this name or number");
}

/* ---- text: stacks and help ---- */

static void add_frames(struct top *t, const char *frames, bool is_kernel)
{
	for (const char *p = frames; *p;) {
		const size_t n = strcspn(p, "\n");

		text_lines_add(&t->lines, is_kernel ? STYLE_WARM : STYLE_PLACE,
			       arena_printf(&t->text, "         %s%.*s",
					    is_kernel ? "[k] " : "    ", (int)n, p));
		p += n + (p[n] == '\n');
	}
}

static void add_stacks(struct top *t)
{
	const struct hot_stacks *const s = &t->stacks;

	if (!s->items.len)
		text_lines_add(&t->lines, STYLE_DIM,
			       s->is_off ? "nothing yet: it has not left a CPU"
					 : "nothing yet: no sample found it on a CPU");
	for (size_t i = 0; i < s->items.len; i++) {
		const struct stack_lines *const l = &s->items.items[i];
		const double share = 100.0 * (double)l->weight / (double)MAX(s->total, 1u);

		text_lines_add(&t->lines,
			       share >= 50   ? STYLE_HOT
			       : share >= 10 ? STYLE_STRONG
					     : STYLE_PLAIN,
			       s->is_off ? arena_printf(&t->text, "%5.1f%%  %.3f s", share,
							(double)l->weight / 1e9)
					 : arena_printf(&t->text, "%5.1f%%  %" PRIu64 " sample%s",
							share, l->weight, plural(l->weight)));
		add_frames(t, l->kernel, true);
		add_frames(t, l->user, false);
	}
}

static void add_help(struct top *t)
{
	text_lines_add(&t->lines, STYLE_STRONG, "Keys");
	for (const struct key_move *m = key_moves; m->by; m++)
		text_lines_add_key(&t->lines, &m->row, &t->text);
	for (const struct key_binding *b = top_keys; b->act; b++)
		if (b->row.modes & 1u << t->mode_before_help)
			text_lines_add_key(&t->lines, &b->row, &t->text);
	text_lines_add(&t->lines, STYLE_PLAIN, "");
	text_lines_add(&t->lines, STYLE_STRONG, "Columns");
	for (const struct column *c = top_columns; c->key; c++)
		text_lines_add(&t->lines, STYLE_PLAIN,
			       arena_printf(&t->text, "  %-12s %s", c->title, c->meaning));
}

static const char *text_title(struct top *t)
{
	struct strbuf name = STRBUF_INIT;
	const char *title;

	if (t->mode == TOP_HELP)
		return "pantrace top: help";
	escape_line(&name, t->stacks.name, strlen(t->stacks.name));
	title = arena_printf(&t->text, "%s %u (%s): %s, in %.1f s%s",
			     t->stacks.by_thread ? "thread" : "process", t->stacks.id, name.data,
			     t->stacks.is_off ? "off-CPU, by time away from CPUs"
					      : "on-CPU, by samples (99 a second on each CPU)",
			     (double)(t->stacks.now_ns - t->stacks.since_ns) / 1e9,
			     t->is_frozen ? "  frozen" : "");
	strbuf_release(&name);
	return title;
}

static void draw_text(struct top *t)
{
	t->lines.items.len = 0;
	arena_release(&t->text);
	if (t->mode == TOP_HELP)
		add_help(t);
	else
		add_stacks(t);
	text_lines_draw(&t->lines, &t->screen, text_title(t), 0);
}

/* ---- the last line ---- */

static void draw_last(struct top *t)
{
	const u32 line = t->terminal.rows - 1;
	u32 at = 0;

	if (t->message)
		screen_put(&t->screen, line, 0, t->screen.columns, STYLE_WARM, t->message);
	else if (t->prompt.title)
		prompt_draw(&t->prompt, &t->screen, line);
	for (const struct key_binding *b = top_keys; b->act && !t->message && !t->prompt.title; b++)
		if (b->row.modes & 1u << t->mode)
			at += key_row_draw(&b->row, &t->screen, line, at);
}

int top_draw(struct top *t)
{
	static void (*const heading[HEADING])(struct top *) = {draw_first, draw_cpus, draw_sums};

	screen_begin(&t->screen, &t->terminal);
	if (t->mode == TOP_TABLE) {
		for (u32 i = 0; i < heading_of(t); i++)
			heading[i](t);
		draw_table(t);
	} else {
		draw_text(t);
	}
	draw_last(t);
	return screen_end(&t->screen);
}
