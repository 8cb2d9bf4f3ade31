/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views that are read from the recording. */
#include "cmd/report/tui/tui.h"

#define MOST_LINES 100000 /* events whose lines are kept */

/* What Tab goes through, behind the table that the command line asks for. */
static const struct {
	const char *top, *call_graph;
} usual[] = {
	{"event,comm,object,symbol", "callee"}, /* functions and who called them */
	{"event", "caller"}, /* from the outermost functions inwards */
	{"event,task", NULL},
	{"task,event", NULL},
	{"event,stack", NULL},
};

/* ---- one reading ---- */

static bool go_on(void *arg, u64 events)
{
	struct tui *const t = arg;
	u32 key;

	snprintf(t->message, sizeof(t->message), "%" PRIu64 " event%s read; Esc gives up", events,
		 plural(events));
	terminal_measure(&t->terminal);
	t->is_over |= tui_draw(t) != 0;
	while ((key = terminal_key(&t->terminal))) {
		t->was_given_up |= key == KEY_ESCAPE;
		t->is_over |= key == KEY_GONE;
	}
	return !t->is_over && !t->was_given_up;
}

static void say_why(struct tui *t, const struct diag *d, const char *otherwise)
{
	const char *why = otherwise;

	for (size_t i = d->messages.len; i-- > 0;)
		if (d->messages.items[i].level != DIAG_HINT)
			why = d->messages.items[i].text;
	tui_say(t, why);
}

/* Reads what the view asks for. False: there is nothing, or it was given up; why is said. */
static bool read_view(struct tui *t, struct view *v, struct reading *r)
{
	enum exit_code code;

	r->interrupted = t->interrupted;
	r->go_on = go_on;
	r->arg = t;
	r->is_quiet = t->views.len;
	t->was_given_up = false;
	*t->message = '\0';
	code = reading_run(r, &v->asked, t->paths, &v->table);
	*t->message = '\0';
	t->is_over |= *t->interrupted;
	if (!t->views.len)
		t->code = code;
	if (t->was_given_up)
		tui_say(t, "given up");
	else if (r->diag.messages.len || (!v->table.columns && !r->row))
		say_why(t, &r->diag, "there is nothing to show");
	return !t->was_given_up && !t->is_over && (r->row || v->table.rows.len);
}

/* ---- tables ---- */

static struct view *view_new(const struct tui *t, enum view_mode mode)
{
	struct view *const v = xzalloc(sizeof(*v));

	v->mode = mode;
	v->arguments = *t->arguments;
	return v;
}

/* The options that make this table. */
static const char *title_of(struct view *v)
{
	const struct arguments *const a = &v->arguments;
	const struct {
		const char *name, *value;
	} options[] = {
		{"--top", a->top},
		{"--sum", a->sum},
		{"-g", a->call_graph},
		{"--latency", a->latency},
		{"--calls", a->calls},
		{"--annotate", a->annotate},
#define ROW(name, help) {"--" #name, a->name ? "" : NULL},
		REPORT_ANALYSES(ROW)
#undef ROW
			{"--children", a->children ? "" : NULL},
	};
	struct strbuf text = STRBUF_INIT;
	const char *ret;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].value)
			strbuf_addf(&text, "%s%s%s%s", text.len ? " " : "", options[i].name,
				    *options[i].value ? " " : "", options[i].value);
	ret = arena_strdup(&v->text, text.len ? text.data : "--top");
	strbuf_release(&text);
	return ret;
}

/* Takes a view whose arguments are set. False: there is no such table. */
static bool open_table(struct tui *t, struct view *v)
{
	struct reading r = {0};
	bool done = !report_ask(&v->arguments, t->paths, &v->asked) && read_view(t, v, &r);

	reading_release(&r);
	if (!done) {
		view_release(v);
		return false;
	}
	v->title = title_of(v);
	view_begin(v);
	vector_push(&t->views, v);
	return true;
}

/* A table of the same events that the command line does not ask for. */
static struct view *other_table(const struct tui *t)
{
	struct view *const v = view_new(t, VIEW_TABLE);
	struct arguments *const a = &v->arguments;

	a->top = a->sum = a->call_graph = a->latency = a->calls = a->annotate = NULL;
	a->children = a->per_task = false;
#define ROW(name, help) a->name = false;
	REPORT_ANALYSES(ROW)
#undef ROW
	return v;
}

static bool open_usual(struct tui *t, u32 number)
{
	struct view *v;

	if (!number)
		return open_table(t, view_new(t, VIEW_TABLE));
	v = other_table(t);
	v->arguments.top = usual[number - 1].top;
	v->arguments.call_graph = usual[number - 1].call_graph;
	return open_table(t, v);
}

void tui_next_table(struct tui *t)
{
	const size_t before = t->views.len;
	const u32 count = ARRAY_SIZE(usual) + 1;
	bool done = false;

	if (!before) {
		open_usual(t, 0);
		return;
	}
	for (u32 i = 0; i < count && !done && !t->is_over && !t->was_given_up; i++) {
		t->table = (t->table + 1) % count;
		done = open_usual(t, t->table);
	}
	if (!done)
		return;
	*t->message = '\0';
	for (size_t i = 0; i < before; i++)
		view_release(t->views.items[i]);
	t->views.items[0] = vector_last(&t->views);
	t->views.len = 1;
}

/* ---- of a row ---- */

/* The key that a row's name is of; NULL = it is a frame. */
static const char *key_of(const struct view *v, const struct table_row *row)
{
	return row->depth < v->table.nr_keys ? v->table.keys[row->depth] : NULL;
}

const char *view_function(struct view *v, const struct table_row *row)
{
	static const char *const functions[] = {"symbol", "caller", "stack"};
	const char *const key = key_of(v, row), *const name = view_name(row);
	bool is_function = !key;

	for (size_t i = 0; i < ARRAY_SIZE(functions) && key; i++)
		is_function |= str_eq(key, functions[i]);
	if (!is_function || str_eq(name, "[none]"))
		return NULL;
	return arena_strndup(&v->text, name, strcspn(name, "\n"));
}

static const char *function_here(struct tui *t)
{
	struct view *const v = tui_view(t);
	const char *const name = view_function(v, v->rows.items[v->selected].row);

	if (!name)
		tui_say(t, "this row is not a function");
	return name;
}

void tui_open_calls(struct tui *t)
{
	const char *const name = function_here(t);
	struct view *const v = name ? other_table(t) : NULL;

	if (v) {
		v->arguments.calls = arena_strdup(&v->text, name);
		open_table(t, v);
	}
}

void tui_open_annotate(struct tui *t)
{
	const char *const name = function_here(t);
	struct view *const v = name ? other_table(t) : NULL;

	if (v) {
		v->arguments.annotate = arena_strdup(&v->text, name);
		open_table(t, v);
	}
}

/* ---- lines of events ---- */

/* Tabs are spaces on the screen. */
static void add_lines(struct view *v, const struct strbuf *from)
{
	struct strbuf line = STRBUF_INIT;

	for (size_t i = 0; i < from->len; i++) {
		if (from->data[i] == '\t') {
			strbuf_addchars(&line, ' ', 8 - (int)(line.len % 8));
		} else if (from->data[i] != '\n') {
			strbuf_addch(&line, from->data[i]);
		} else {
			text_lines_add(&v->lines, STYLE_PLAIN, arena_strdup(&v->text, line.data));
			strbuf_reset(&line);
		}
	}
	strbuf_release(&line);
}

/* The words around a row's own. */
static const char *title_of_lines(struct view *v, const struct table_row *row, u64 lines)
{
	struct strbuf text = STRBUF_INIT;
	const char *ret;

	for (u32 i = 0; i <= row->depth; i++)
		strbuf_addf(&text, "%s%s", i ? " > " : "", row->names[i]);
	ret = arena_printf(&v->text, "%s%" PRIu64 " event%s of %s",
			   lines == MOST_LINES ? "the first " : "", lines, plural(lines),
			   text.data);
	strbuf_release(&text);
	return ret;
}

void tui_open_lines(struct tui *t)
{
	struct view *const from = tui_view(t), *const v = other_table(t);
	const struct table_row *const row = from->rows.items[from->selected].row;
	struct reading r = {.row = row, .most = MOST_LINES};

	if (!from->asked.row->holds) {
		tui_say(t, "the rows of this table are not made of single events");
		view_release(v);
		return;
	}
	v->mode = VIEW_LINES;
	v->arguments.tui = false;
	report_ask(&v->arguments, t->paths, &v->asked);
	v->asked.row = from->asked.row; /* whose rows these are */
	v->asked.request = from->asked.request;
	if (!read_view(t, v, &r)) {
		view_release(v);
	} else {
		add_lines(v, recordings_lines(r.recordings));
		v->title = title_of_lines(v, row, r.lines);
		vector_push(&t->views, v);
	}
	reading_release(&r);
}
