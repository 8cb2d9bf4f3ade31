/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A script that the kernel can run all by itself. It is turned into other options: an empty probe
 * of a tracepoint is -e, one that counts in a map is --hist, an empty probe of a function --kprobe.
 */
#include "cmd/boot/boot.h"

#include "base/file.h"
#include "kernel/tracefs/event_name.h"
#include "lang/predicate/predicate.h"
#include "lang/syntax/parse.h"

struct taking {
	struct boot_options *options;
	struct kernel *kernel;
	struct diag *diag;
};

/* The probe that is being translated. */
struct taken {
	struct taking *t;
	const struct expr *predicate; /* NULL = none */
	const char *event; /* "sched:sched_switch" */
	struct predicate_event fields;
};

static int refuse(struct taking *t, struct span at, const char *what, const char *hint)
{
	diag_error(t->diag, at, "%s", what);
	if (hint)
		diag_hint(t->diag, "%s", hint);
	diag_code(t->diag, EXIT_UNSUPPORTED);
	return -EOPNOTSUPP;
}

static void add(struct string_list *list, const char *text)
{
	list->items = xreallocarray(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = text;
}

static const char *text_of(struct taking *t, struct span at)
{
	const struct source *const s = &t->diag->sources.items[at.file];

	return arena_strndup(&t->diag->arena, s->text + at.begin, at.end - at.begin);
}

/* ---- what it counts ---- */

/* The field of a histogram's key or value; NULL with a diagnostic. */
static const char *field_of(const struct taken *p, struct expr *e)
{
	static const struct {
		const char *name, *field;
	} rows[] = {{"tid", "common_pid"}, {"cpu", "cpu"}, {"kstack", "stacktrace"}};
	struct diag *const d = p->t->diag;

	if (e->kind == EXPR_MEMBER && e->left->kind == EXPR_NAME && str_eq(e->left->name, "args"))
		return predicate_bind(e, &p->fields, d) ? NULL : e->name;
	for (size_t i = 0; i < ARRAY_SIZE(rows) && e->kind == EXPR_NAME; i++)
		if (str_eq(e->name, rows[i].name))
			return rows[i].field;
	refuse(p->t, e->span,
	       "the kernel's histograms take fields of the event (args.NAME), tid, cpu and kstack",
	       NULL);
	return NULL;
}

static int add_keys(const struct taken *p, const struct expr *map, struct strbuf *keys)
{
	for (u32 i = 0; map->kind == EXPR_INDEX && i < map->nargs; i++) {
		const char *const field = field_of(p, map->args[i]);

		if (!field)
			return -EINVAL;
		strbuf_addf(keys, "%s%s", keys->len ? "," : "", field);
	}
	return 0;
}

/* count(), sum(FIELD), hist(FIELD): the last one is a key, of powers of two. */
static int add_call(const struct taken *p, const struct expr *call, struct strbuf *keys,
		    struct strbuf *values)
{
	const bool is_sum = str_eq(call->name, "sum"), is_hist = str_eq(call->name, "hist");
	const char *field;

	if (str_eq(call->name, "count") && !call->nargs)
		return 0;
	if ((!is_sum && !is_hist) || call->nargs != 1)
		return refuse(p->t, call->span,
			      "the kernel's histograms have count(), sum(FIELD) and hist(FIELD)",
			      NULL);
	field = field_of(p, call->args[0]);
	if (!field)
		return -EINVAL;
	if (is_sum)
		strbuf_addf(values, ":vals=%s", field);
	else
		strbuf_addf(keys, "%s%s.log2", keys->len ? "," : "", field);
	return 0;
}

static bool is_of_map(const struct stmt *s)
{
	const struct expr *const to = s->target;

	return s->kind == STMT_ASSIGN && s->op == OP_NONE && s->value->kind == EXPR_CALL &&
	       (to->kind == EXPR_MAP || (to->kind == EXPR_INDEX && to->left->kind == EXPR_MAP));
}

static int add_histogram(const struct taken *p, const struct stmt *s)
{
	struct boot_options *const o = p->t->options;
	struct strbuf keys = STRBUF_INIT, values = STRBUF_INIT, text = STRBUF_INIT;
	int err = add_keys(p, s->target, &keys) ?: add_call(p, s->value, &keys, &values);

	if (!err && !keys.len)
		err = refuse(p->t, s->span, "a histogram of the kernel needs a key: @[args.NAME]",
			     NULL);
	if (!err && !o->bootconfig && strchr(keys.data, ','))
		err = refuse(p->t, s->span, "a histogram on the command line has one key",
			     "--bootconfig takes more, where the kernel has that");
	strbuf_addf(&text, "%s:keys=%s%s", p->event, keys.data, values.data);
	if (p->predicate)
		strbuf_addf(&text, " if %s", text_of(p->t, p->predicate->span));
	if (!err)
		add(&o->histograms, arena_strdup(&p->t->diag->arena, text.data));
	strbuf_release(&keys);
	strbuf_release(&values);
	strbuf_release(&text);
	return err;
}

/* ---- probes ---- */

static int add_event(const struct taken *p)
{
	struct record_event e = {.text = p->event};

	if (p->predicate && !p->t->options->bootconfig)
		return refuse(p->t, p->predicate->span,
			      "events on the command line have no conditions",
			      "--bootconfig has, where the kernel has that; or choose later, by "
			      "report's -w");
	if (p->predicate)
		e.filter = text_of(p->t, p->predicate->span);
	vector_push(&p->t->options->request.events, e);
	return 0;
}

/* Errors are reported here, at their place; the filter itself is made later from the text. */
static int check_predicate(const struct taken *p, struct expr *e)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	const int err = predicate_bind(e, &p->fields, p->t->diag)
				?: predicate_kernel(e, &p->fields, p->t->diag, &c);

	tracefs_command_release(&c);
	return err;
}

static int take_body(const struct taken *p, const struct block *body)
{
	int err = body->count ? 0 : add_event(p);

	for (u32 i = 0; i < body->count && !err; i++)
		err = is_of_map(body->stmts[i])
			      ? add_histogram(p, body->stmts[i])
			      : refuse(p->t, body->stmts[i]->span,
				       "at boot a probe counts in a map, or is empty, which "
				       "records its event",
				       "@[args.NAME] = count()");
	return err;
}

static int take_tracepoint(struct taking *t, const struct probe *probe,
			   const struct attach_point *at)
{
	struct taken p = {.t = t, .predicate = probe->predicate};
	const bool has_words = probe->predicate || probe->body->count;
	int err = 0;

	if (at->count != 3)
		return refuse(t, at->span, "tracepoint:SYSTEM:EVENT is meant", NULL);
	p.event = arena_printf(&t->diag->arena, "%s:%s", at->parts[1], at->parts[2]);
	if (!event_name_is_known(t->kernel, p.event))
		return event_name_refuse(t->kernel, t->diag, at->span, NULL, p.event);
	if (has_words && strpbrk(p.event, "*?["))
		return refuse(t, at->span, "conditions and histograms are of one event each", NULL);
	predicate_event_live(&t->diag->arena, t->kernel, at->parts[1], at->parts[2], NULL,
			     &p.fields);
	if (probe->predicate)
		err = check_predicate(&p, probe->predicate);
	if (!err)
		err = take_body(&p, probe->body);
	predicate_event_release(&p.fields);
	return err;
}

static int take_function(struct taking *t, const struct probe *probe, const struct attach_point *at)
{
	const bool is_return = at->parts[0][1] == 'r' || str_starts(at->parts[0], "kret");

	if (at->count != 2)
		return refuse(t, at->span, "a function of the kernel itself is meant: kprobe:NAME",
			      NULL);
	if (probe->predicate)
		return refuse(t, probe->predicate->span, "probes have no conditions at boot",
			      "report's -w chooses later");
	if (probe->body->count)
		return refuse(t, probe->body->stmts[0]->span,
			      "at boot the probe of a function is empty, which records its calls",
			      "--kprobe records arguments, too");
	add(&t->options->probes,
	    arena_printf(&t->diag->arena, "%s%s", at->parts[1], is_return ? "%return" : ""));
	return 0;
}

static int take_attach_point(struct taking *t, const struct probe *probe,
			     const struct attach_point *at)
{
	static const struct {
		const char *names[2];
		int (*take)(struct taking *t, const struct probe *probe,
			    const struct attach_point *at);
	} rows[] = {
		{{"tracepoint", "t"}, take_tracepoint},
		{{"kprobe", "k"}, take_function},
		{{"kretprobe", "kr"}, take_function},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_eq(at->parts[0], rows[i].names[0]) ||
		    str_eq(at->parts[0], rows[i].names[1]))
			return rows[i].take(t, probe, at);
	return refuse(t, at->span, "at boot there are tracepoint, kprobe and kretprobe", NULL);
}

static int take_script(struct taking *t, const struct ast *script)
{
	int err = 0;

	if (script->nconfigs)
		return refuse(t, script->configs[0].span, "the kernel has no settings of a script",
			      NULL);
	for (u32 i = 0; i < script->nprobes; i++)
		for (u32 k = 0; k < script->probes[i].nattach && !err; k++)
			err = take_attach_point(t, &script->probes[i],
						&script->probes[i].attach_points[k]);
	return err;
}

int boot_script_take(struct boot_options *o, struct kernel *k, struct diag *d)
{
	static const struct parse_options options = {.as_written = true};
	struct taking t = {o, k, d};
	struct type_store types;
	struct ast script = {0};
	char *text;
	size_t len;
	int err = file_read(o->script, LANG_MAX_SOURCE, &text, &len);

	if (err) {
		diag_error(d, NO_SPAN, "cannot read '%s': %s", o->script, strerror(-err));
		return err;
	}
	type_store_init(&types);
	err = parse_script(&d->arena, &types, d,
			   diag_add_source(d, o->script, arena_strndup(&d->arena, text, len), len),
			   &options, &script);
	if (!err)
		err = take_script(&t, &script);
	type_store_release(&types);
	free(text);
	return err;
}
