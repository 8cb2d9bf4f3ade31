/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan as parameters of the kernel's command line. */
#include "cmd/boot/boot.h"

#include <sys/utsname.h>

#define FOR_FIRMWARE_KB 4096u /* 64 were too few in QEMU */
#define TRIGGERS_MOST	32u /* MAX_BOOT_TRIGGERS of the kernel */

struct making {
	const struct boot_plan *plan;
	struct boot_line *line;
	struct diag *diag;
	int err; /* the first one */
};

static void refuse(struct making *m, enum exit_code code, const char *what, const char *hint)
{
	diag_error(m->diag, NO_SPAN, "%s", what);
	if (hint)
		diag_hint(m->diag, "%s", hint);
	diag_code(m->diag, code);
	m->err = -EOPNOTSUPP;
}

static void judge(struct making *m, enum boot_parameter p)
{
	const char *const name = boot_parameter_name(p);
	struct utsname u = {0};

	uname(&u);
	switch (boot_parameter_ask(m->plan->kernel, p)) {
	case BOOT_IS_KNOWN:
		break;
	case BOOT_IS_UNKNOWN:
		diag_error(m->diag, NO_SPAN,
			   "this kernel, %s, does not know %s= (since Linux %s%s%s)", u.release,
			   name, boot_parameter_since(p),
			   boot_parameter_config(p) ? ", with CONFIG_" : "",
			   boot_parameter_config(p) ?: "");
		diag_code(m->diag, EXIT_UNSUPPORTED);
		m->err = -EOPNOTSUPP;
		break;
	case BOOT_MAY_BE_KNOWN:
		diag_warning(m->diag, NO_SPAN,
			     "whether this kernel, %s, knows %s= cannot be told: its symbols are "
			     "not to be seen, or it is built without",
			     u.release, name);
	}
}

static bool is_passed_on(const char *value)
{
	while ((u8)*value >= ' ' && !strchr("\"'\\", *value))
		value++;
	return !*value;
}

/* Takes over the value; an empty one is left out. */
static void add(struct making *m, enum boot_parameter p, struct strbuf *value)
{
	if (m->err || !value->len) {
		strbuf_release(value);
		return;
	}
	judge(m, p);
	if (!is_passed_on(value->data))
		refuse(m, EXIT_UNSUPPORTED,
		       "quotes, backslashes and control characters have no way through boot "
		       "loaders to the kernel's command line",
		       "a condition on text goes into --bootconfig, or into report's -w later");
	vector_push(&m->line->settings, (struct boot_setting){p, strbuf_detach(value)});
}

static void add_text(struct making *m, enum boot_parameter p, const char *text)
{
	struct strbuf value = STRBUF_INIT;

	strbuf_addstr(&value, text);
	add(m, p, &value);
}

/* ---- what it traces ---- */

/* "sched:sched_switch,initcall:*" */
static struct strbuf event_list(struct making *m)
{
	const struct boot_plan *const p = m->plan;
	struct strbuf list = STRBUF_INIT;
	const char *whole = NULL; /* the system all of whose events are in the list */

	for (size_t i = 0; i < p->events.all.len; i++) {
		const struct kernel_event *const e = &p->events.all.items[i];

		if (!e->asked || (whole && str_eq(whole, e->system)))
			continue;
		if (p->conditions.items[i])
			refuse(m, EXIT_UNSUPPORTED, "events on the command line have no conditions",
			       "--bootconfig has, where the kernel has that; or choose later, "
			       "by report's -w");
		if (list.len)
			strbuf_addch(&list, ',');
		whole = boot_plan_has_system(p, e->system) ? e->system : NULL;
		strbuf_addf(&list, "%s:%s", e->system, whole ? "*" : e->name);
	}
	return list;
}

/*
 * The kernel takes such memory from the end of what there is, where firmware (SeaBIOS) puts its own
 * things while it starts the next kernel: that goes into a part of its own, which comes first.
 */
static void add_memory(struct making *m)
{
	const struct boot_plan *const p = m->plan;
	struct strbuf value = STRBUF_INIT;

	strbuf_addf(&value, "%uK:4096:%s_above", FOR_FIRMWARE_KB, p->instance);
	add(m, BOOT_RESERVE_MEM, &value);
	value = (struct strbuf)STRBUF_INIT;
	strbuf_addf(&value, "%" PRIu64 "K:4096:%s", p->persistent_bytes / 1024, p->instance);
	add(m, BOOT_RESERVE_MEM, &value);
}

static void add_events(struct making *m)
{
	const struct boot_plan *const p = m->plan;
	struct strbuf events = event_list(m), value = STRBUF_INIT;

	if (!*p->instance) {
		strbuf_release(&value);
		add(m, BOOT_EVENT, &events);
		return;
	}
	/*
	 * Memory of the boot before is not added to: its buffer is off until it was read, and is
	 * switched on by hand.
	 */
	if (p->persistent_bytes) {
		add_memory(m);
		strbuf_addf(&value, "%s^traceoff@%s", p->instance, p->instance);
	} else {
		strbuf_addstr(&value, p->instance);
	}
	if (events.len)
		strbuf_addf(&value, ",%s", events.data);
	add(m, BOOT_INSTANCE, &value);
	strbuf_release(&events);
}

static void add_probes(struct making *m)
{
	struct strbuf value = STRBUF_INIT;

	for (size_t i = 0; i < m->plan->probes.len; i++) {
		const struct boot_probe *const probe = &m->plan->probes.items[i];

		if (strpbrk(probe->definition, ",;"))
			refuse(m, EXIT_UNSUPPORTED,
			       "probes on the command line have no ',' and ';' in them", NULL);
		strbuf_addf(&value, "%s%c:%s,", i ? ";" : "", probe->is_return ? 'r' : 'p',
			    probe->event);
		for (const char *c = probe->definition; *c; c++)
			strbuf_addch(&value, *c == ' ' ? ',' : *c);
	}
	add(m, BOOT_KPROBE, &value);
}

static void add_triggers(struct making *m)
{
	struct strbuf value = STRBUF_INIT;

	for (size_t i = 0; i < m->plan->triggers.len; i++) {
		const struct boot_trigger *const t = &m->plan->triggers.items[i];

		if (strchr(t->text, ','))
			refuse(m, EXIT_UNSUPPORTED,
			       "triggers on the command line have no ',' in them: a histogram has "
			       "one key and one value",
			       "--bootconfig takes more, where the kernel has that");
		strbuf_addf(&value, "%s%s.%s", i ? "," : "", t->event, t->text);
	}
	if (m->plan->triggers.len > TRIGGERS_MOST)
		refuse(m, EXIT_UNSUPPORTED, "the command line has room for 32 triggers", NULL);
	add(m, BOOT_TRIGGER, &value);
}

static void add_list(struct making *m, enum boot_parameter p, const struct string_list *list)
{
	struct strbuf value = STRBUF_INIT;

	for (u32 i = 0; i < list->count; i++)
		strbuf_addf(&value, "%s%s", i ? "," : "", list->items[i]);
	add(m, p, &value);
}

/* ---- how ---- */

/* A boot is interesting from its beginning on: the first events are kept, unless -w is given. */
static void add_options(struct making *m)
{
	const struct boot_options *const o = m->plan->options;
	const struct string_list *const list = &o->request.trace_options;
	struct strbuf value = STRBUF_INIT;

	if (!o->overwrites && !m->plan->persistent_bytes)
		strbuf_addstr(&value, "nooverwrite");
	if (o->request.stack)
		strbuf_addf(&value, "%sstacktrace", value.len ? "," : "");
	for (u32 i = 0; i < list->count; i++)
		strbuf_addf(&value, "%s%s", value.len ? "," : "", list->items[i]);
	add(m, BOOT_OPTIONS, &value);
}

static void add_buffer(struct making *m)
{
	struct strbuf size = STRBUF_INIT;

	if (m->plan->buffer_kb)
		strbuf_addf(&size, "%" PRIu64 "K", m->plan->buffer_kb);
	add(m, BOOT_BUFFER_SIZE, &size);
	/*
	 * The clock that the kernel begins with. Said, it is not exchanged, and the buffer emptied,
	 * where the kernel later finds its time stamp counter to be unstable.
	 */
	if (!*m->plan->instance)
		add_text(m, BOOT_CLOCK, "local");
}

/* ---- all ---- */

static bool is_of_line(const struct boot_line *l, const struct boot_word *w)
{
	for (size_t i = 0; i < l->settings.len; i++)
		if (boot_word_is(w, l->settings.items[i].parameter))
			return true;
	return false;
}

/* If the kernel is loaded elsewhere after a reboot (KASLR), the memory may move, too. */
static void warn_of_kaslr(struct making *m)
{
	char *const now = boot_line();

	if (!boot_line_has(now, "nokaslr")) {
		diag_warning(
			m->diag, NO_SPAN,
			"the kernel lies at random places (KASLR): after a reboot the memory may "
			"be another, and what was recorded lost");
		diag_hint(m->diag, "with nokaslr on the command line it stays where it is");
	}
	free(now);
}

/* Together with the rest of this boot's command line, which the next boot will have, too. */
static void check_length(struct making *m)
{
	char *const now = boot_line();
	struct strbuf text = STRBUF_INIT;
	const char *at = now;
	struct boot_word w;

	boot_line_text(m->line, &text);
	while (boot_word_next(&at, &w))
		if (!is_of_line(m->line, &w))
			strbuf_addf(&text, " %.*s%s%.*s", (int)w.name_len, w.name,
				    w.value ? "=" : "", (int)w.value_len, w.value ?: "");
	if (text.len > BOOT_LINE_MOST) {
		diag_error(m->diag, NO_SPAN,
			   "the kernel's command line would have %zu bytes, with what it has now; "
			   "the kernel keeps %u",
			   text.len, BOOT_LINE_MOST);
		diag_hint(m->diag, "a whole system (-e sched) is shorter than many of its events; "
				   "--bootconfig has no such limit");
		m->err = -E2BIG;
	}
	strbuf_release(&text);
	free(now);
}

int boot_line_make(struct boot_line *l, const struct boot_plan *p)
{
	const struct record_request *const r = &p->options->request;
	struct making m = {.plan = p, .line = l, .diag = p->diag};

	*l = (struct boot_line){0};
	add_events(&m);
	add_probes(&m);
	add_triggers(&m);
	if (r->tracer)
		add_text(&m, BOOT_TRACER, r->tracer);
	add_list(&m, BOOT_FILTER, &r->functions);
	add_list(&m, BOOT_NOTRACE, &r->not_functions);
	add_list(&m, BOOT_GRAPH, &r->graph_functions);
	add_options(&m);
	add_buffer(&m);
	if (!m.err)
		check_length(&m);
	if (!m.err && p->persistent_bytes)
		warn_of_kaslr(&m);
	return m.err;
}

void boot_line_text(const struct boot_line *l, struct strbuf *out)
{
	for (size_t i = 0; i < l->settings.len; i++) {
		const struct boot_setting *const s = &l->settings.items[i];
		const char *const quote = strchr(s->value, ' ') ? "\"" : "";

		strbuf_addf(out, "%s%s=%s%s%s", i ? " " : "", boot_parameter_name(s->parameter),
			    quote, s->value, quote);
	}
}

void boot_line_release(struct boot_line *l)
{
	for (size_t i = 0; i < l->settings.len; i++)
		free(l->settings.items[i].value);
	vector_free(&l->settings);
}
