/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/predicate/predicate.h"

#include "base/nearest.h"
#include "kernel/tracefs/event_name.h"
#include "kernel/tracefs/tracefs.h"
#include "lang/builtin/builtin.h"
#include "lang/syntax/constants.h"
#include "lang/syntax/parse.h"

/* ---- the event ---- */

struct field_collector {
	struct arena *arena;
	struct predicate_event *event;
};

static int add_field(void *arg, const char *name, const char *type)
{
	struct field_collector *c = arg;

	vector_push(&c->event->fields, arena_strdup(c->arena, name));
	return 0;
}

void predicate_event_live(struct arena *a, struct kernel *k, const char *system, const char *event,
			  const char *shown, struct predicate_event *ret)
{
	struct field_collector c = {a, ret};
	char *format;

	*ret = (struct predicate_event){.name = shown ? shown
						      : arena_printf(a, "%s:%s", system, event)};
	ret->hint = arena_printf(a, "`pantrace tpoint -v '%s'` shows its fields", ret->name);
	ret->is_open = tracefs_event_format(k, system, event, &format) != 0;
	if (ret->is_open)
		return;
	event_fields_each(format, add_field, &c);
	free(format);
}

void predicate_event_release(struct predicate_event *event)
{
	vector_free(&event->fields);
}

static bool has_field(const struct predicate_event *event, const char *name)
{
	for (size_t i = 0; i < event->fields.len; i++)
		if (str_eq(event->fields.items[i], name))
			return true;
	return event->is_open;
}

/* ---- the tree ---- */

/* ftrace's filters also have strings in single quotes; in a script 'x' is a character. */
static char *with_double_quotes(struct arena *a, const char *text)
{
	char *copy = arena_strdup(a, text);

	for (char *p = copy; *p; p++) {
		char *const end = *p == '"' || *p == '\'' ? strchr(p + 1, *p) : NULL;

		if (!end)
			continue;
		if (*p == '\'' && end - p != 2 && !memchr(p, '"', (size_t)(end - p)))
			*p = *end = '"';
		p = end;
	}
	return copy;
}

/* A single '='. */
static bool has_assignment(const char *text)
{
	for (const char *p = text; (p = strchr(p, '=')); p++) {
		if (p[1] == '=')
			p++;
		else if (p == text || !strchr("<>!=", p[-1]))
			return true;
	}
	return false;
}

struct expr *predicate_parse(struct diag *d, const char *name, const char *text)
{
	struct expr *e = NULL;
	char *copy;

	text += strspn(text, " \t\n");
	copy = with_double_quotes(&d->arena, text);
	if (!*copy) {
		diag_error(d, NO_SPAN, "the %s is empty", name);
	} else if (parse_expression(&d->arena, d, diag_add_source(d, name, copy, strlen(copy)),
				    &e)) {
		diag_hint(d, has_assignment(copy)
				     ? "'==' compares"
				     : "`pantrace help language` shows what a condition can say");
	}
	return e;
}

/* ---- names ---- */

struct binder {
	const struct predicate_event *event;
	struct diag *diag;
	int err;
};

static bool is_args(const struct expr *e)
{
	return e->kind == EXPR_NAME && str_eq(e->name, "args");
}

static void refuse_name(struct binder *b, struct span at, const char *name)
{
	struct nearest near;

	diag_error(b->diag, at, "the event %s has no field '%s'", b->event->name, name);
	nearest_init(&near, name);
	for (size_t i = 0; i < b->event->fields.len; i++)
		nearest_offer(&near, b->event->fields.items[i]);
	if (!nearest_hint(&near, b->diag, "") && b->event->hint)
		diag_hint(b->diag, "%s", b->event->hint);
	b->err = -ENOENT;
}

static const char *ftrace_word(const char *name)
{
	static const char *const words[][2] = {
		{"COMM", "comm"}, {"CPU", "cpu"}, {"common_pid", "tid"}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_eq(words[i][0], name))
			return words[i][1];
	return NULL;
}

static void bind_name(struct binder *b, struct expr *e)
{
	const char *const word = ftrace_word(e->name);
	struct expr *args;
	s64 value;

	if (word) {
		e->name = word;
	} else if (has_field(b->event, e->name)) {
		args = arena_new(&b->diag->arena, struct expr);
		*args = (struct expr){.kind = EXPR_NAME, .span = e->span, .name = "args"};
		e->kind = EXPR_MEMBER;
		e->left = args;
	} else if (constant_find(e->name, &value)) {
		e->kind = EXPR_INTEGER;
		e->integer = value;
	} else if (!builtin_find(e->name)) {
		refuse_name(b, e->name_span, e->name);
	}
}

static bool bind_expr(void *arg, struct expr *e)
{
	struct binder *b = arg;

	if (b->err)
		return false;
	/* "call_site.function == vfs_read" is the kernel's; no field is called vfs_read */
	if (e->kind == EXPR_BINARY && e->left->kind == EXPR_MEMBER &&
	    str_eq(e->left->name, "function") && e->left->left->kind == EXPR_NAME) {
		bind_name(b, e->left->left);
		return false;
	}
	if (e->kind == EXPR_NAME && !is_args(e))
		bind_name(b, e);
	else if (e->kind == EXPR_MEMBER && is_args(e->left) && !has_field(b->event, e->name))
		refuse_name(b, e->name_span, e->name);
	return e->kind != EXPR_MEMBER || !is_args(e->left);
}

int predicate_bind(struct expr *e, const struct predicate_event *event, struct diag *d)
{
	struct binder b = {.event = event, .diag = d};

	ast_each_expr_in(e, bind_expr, &b);
	return b.err;
}

/* ---- as a script has it ---- */

struct writer {
	const char *text, *variable;
	u32 at; /* written up to here */
	VECTOR(const struct expr *) names;
};

static bool collect_name(void *arg, struct expr *e)
{
	struct writer *w = arg;

	if (e->kind == EXPR_MEMBER && is_args(e->left)) {
		vector_push(&w->names, e);
		return false;
	}
	if (e->kind == EXPR_NAME)
		vector_push(&w->names, e);
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct expr *const *x = a, *const *y = b;

	return ((*x)->name_span.begin > (*y)->name_span.begin) -
	       ((*x)->name_span.begin < (*y)->name_span.begin);
}

static void write_name(struct writer *w, const struct expr *e, struct strbuf *out)
{
	const bool is_field = e->kind == EXPR_MEMBER;
	/* "args.x" was written out, or stands for "x" */
	const u32 begin =
		is_field ? MIN(e->left->span.begin, e->name_span.begin) : e->name_span.begin;
	const bool is_variable = is_field && w->variable &&
				 (str_eq(w->variable, "*") || str_eq(w->variable, e->name));

	strbuf_add(out, w->text + w->at, begin - w->at);
	strbuf_addf(out, "%s%s", is_variable ? "$" : is_field ? "args." : "", e->name);
	w->at = e->name_span.end;
}

void predicate_script(const struct expr *e, const struct diag *d, const char *variable,
		      struct strbuf *out)
{
	struct writer w = {.text = d->sources.items[e->span.file].text, .variable = variable};

	ast_each_expr_in((struct expr *)(uintptr_t)e, collect_name, &w);
	if (w.names.len)
		qsort(w.names.items, w.names.len, sizeof(*w.names.items), by_place);
	strbuf_addch(out, '(');
	for (size_t i = 0; i < w.names.len; i++)
		write_name(&w, w.names.items[i], out);
	strbuf_addstr(out, w.text + w.at);
	strbuf_addch(out, ')');
	vector_free(&w.names);
}

int predicate_to_script(const char *text, const struct predicate_event *event, struct diag *d,
			const char *variable, struct strbuf *out)
{
	struct expr *e = predicate_parse(d, "filter", text);
	int err = e ? predicate_bind(e, event, d) : -EINVAL;

	if (!err)
		predicate_script(e, d, variable, out);
	return err;
}
