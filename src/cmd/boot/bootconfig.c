/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plan as a boot configuration (Documentation/admin-guide/bootconfig.rst,
 * Documentation/trace/boottime-trace.rst): lines KEY = VALUE, VALUE...
 */
#include "cmd/boot/boot.h"

#define VALUE_MOST 255u /* MAX_BUF_LEN of the kernel's trace_boot.c */
#define TEXT_MOST  32767u /* XBC_DATA_MAX of its bootconfig.h, with a NUL behind the text */

struct writing {
	const struct boot_plan *plan;
	struct strbuf *out;
	struct strbuf prefix; /* "ftrace" or "ftrace.instance.boot" */
	int err;
};

/* Values have no escapes: one with both kinds of quotes cannot be written. */
static void add_value(struct writing *w, const char *value)
{
	const char quote = strchr(value, '\'') ? '"' : '\'';
	const bool is_long = strlen(value) > VALUE_MOST;

	if ((is_long || strchr(value, quote)) && !w->err) {
		diag_error(w->plan->diag, NO_SPAN,
			   is_long ? "a value of a boot configuration has at most 255 bytes: %s"
				   : "a value of a boot configuration cannot have both kinds of "
				     "quotes: %s",
			   value);
		w->err = -EINVAL;
	}
	strbuf_addf(w->out, "%c%s%c", quote, value, quote);
}

static void add(struct writing *w, const char *key, const char *value)
{
	strbuf_addf(w->out, "%s.%s = ", w->prefix.data, key);
	add_value(w, value);
	strbuf_addch(w->out, '\n');
}

static void add_list(struct writing *w, const char *key, const struct string_list *list)
{
	if (!list->count)
		return;
	strbuf_addf(w->out, "%s.%s = ", w->prefix.data, key);
	for (u32 i = 0; i < list->count; i++) {
		strbuf_addstr(w->out, i ? ", " : "");
		add_value(w, list->items[i]);
	}
	strbuf_addch(w->out, '\n');
}

static void add_options(struct writing *w)
{
	const struct boot_options *const o = w->plan->options;

	if (o->overwrites && !o->request.stack && !o->request.trace_options.count)
		return;
	strbuf_addf(w->out, "%s.options = %s", w->prefix.data,
		    o->overwrites ? "overwrite" : "nooverwrite");
	if (o->request.stack)
		strbuf_addstr(w->out, ", stacktrace");
	for (u32 i = 0; i < o->request.trace_options.count; i++)
		strbuf_addf(w->out, ", %s", o->request.trace_options.items[i]);
	strbuf_addch(w->out, '\n');
}

/* ---- events ---- */

static void add_actions(struct writing *w, const char *system, const char *event)
{
	const struct boot_plan *const p = w->plan;
	bool has_any = false;

	for (size_t i = 0; i < p->triggers.len; i++) {
		const struct boot_trigger *const t = &p->triggers.items[i];

		if (!str_eq(t->system, system) || !str_eq(t->event, event))
			continue;
		if (!has_any)
			strbuf_addf(w->out, "%s.event.%s.%s.actions = ", w->prefix.data, system,
				    event);
		strbuf_addstr(w->out, has_any ? ", " : "");
		add_value(w, t->text);
		has_any = true;
	}
	if (has_any)
		strbuf_addch(w->out, '\n');
}

static void add_events(struct writing *w)
{
	const struct boot_plan *const p = w->plan;
	const char *whole = NULL;

	for (size_t i = 0; i < p->events.all.len; i++) {
		const struct kernel_event *const e = &p->events.all.items[i];

		if (!e->asked)
			continue;
		if (p->conditions.items[i]) {
			strbuf_addf(w->out, "%s.event.%s.%s.filter = ", w->prefix.data, e->system,
				    e->name);
			add_value(w, p->conditions.items[i]);
			strbuf_addch(w->out, '\n');
		}
		if (whole && str_eq(whole, e->system))
			continue;
		whole = boot_plan_has_system(p, e->system) ? e->system : NULL;
		strbuf_addf(w->out, "%s.event.%s.%s%senable\n", w->prefix.data, e->system,
			    whole ? "" : e->name, whole ? "" : ".");
	}
}

/* Triggers of -R and --hist: all of an event at once, where it is first named. */
static void add_triggers(struct writing *w)
{
	const struct boot_plan *const p = w->plan;

	for (size_t i = 0; i < p->triggers.len; i++) {
		const struct boot_trigger *const t = &p->triggers.items[i];
		bool is_first = true;

		for (size_t n = 0; n < i; n++)
			is_first &= !str_eq(p->triggers.items[n].system, t->system) ||
				    !str_eq(p->triggers.items[n].event, t->event);
		if (is_first)
			add_actions(w, t->system, t->event);
	}
}

static bool is_alike(const struct boot_probe *a, const struct boot_probe *b)
{
	return str_eq(a->event, b->event);
}

/* A return probe is marked behind the place (since Linux 5.10), as there is no "r:" before it. */
static void add_definition(struct writing *w, const struct boot_probe *probe)
{
	const int place = (int)strcspn(probe->definition, " ");
	char *const text = xasprintf("%.*s%s%s", place, probe->definition,
				     probe->is_return ? "%return" : "", probe->definition + place);

	add_value(w, text);
	free(text);
}

/* Places of one event share a line. Probes are global; they are enabled in this buffer. */
static void add_probes(struct writing *w)
{
	const struct boot_plan *const p = w->plan;

	for (size_t i = 0; i < p->probes.len; i++) {
		const struct boot_probe *const probe = &p->probes.items[i];
		bool is_first = true;

		for (size_t n = 0; n < i; n++)
			is_first &= !is_alike(&p->probes.items[n], probe);
		if (!is_first)
			continue;
		strbuf_addf(w->out, "%s.event.kprobes.%s.probes = ", w->prefix.data, probe->event);
		for (size_t n = i; n < p->probes.len; n++) {
			if (!is_alike(&p->probes.items[n], probe))
				continue;
			strbuf_addstr(w->out, n > i ? ", " : "");
			add_definition(w, &p->probes.items[n]);
		}
		strbuf_addf(w->out, "\n%s.event.kprobes.%s.enable\n", w->prefix.data, probe->event);
	}
}

int boot_config_text(const struct boot_plan *p, struct strbuf *out)
{
	const struct record_request *const r = &p->options->request;
	struct writing w = {.plan = p, .out = out, .prefix = STRBUF_INIT};
	char size[32];

	strbuf_addf(&w.prefix, *p->instance ? "ftrace.instance.%s" : "ftrace%s", p->instance);
	snprintf(size, sizeof(size), "%" PRIu64 "KB", p->buffer_kb);
	add(&w, "buffer_size", size);
	add(&w, "trace_clock", "local");
	add_options(&w);
	add_probes(&w);
	add_events(&w);
	add_triggers(&w);
	add_list(&w, "ftrace.filters", &r->functions);
	add_list(&w, "ftrace.notraces", &r->not_functions);
	if (r->tracer)
		add(&w, "tracer", r->tracer);
	if (r->graph_functions.count && !w.err) {
		diag_error(p->diag, NO_SPAN, "a boot configuration has no -g");
		diag_code(p->diag, EXIT_UNSUPPORTED);
		w.err = -EOPNOTSUPP;
	}
	if (out->len >= TEXT_MOST && !w.err) {
		diag_error(p->diag, NO_SPAN,
			   "a boot configuration has at most %u bytes, and this one %zu",
			   TEXT_MOST - 1, out->len);
		diag_hint(p->diag, "a trigger of a whole system takes a line for each of its "
				   "events; -e of whole systems takes one line each");
		w.err = -E2BIG;
	}
	strbuf_release(&w.prefix);
	return w.err;
}
