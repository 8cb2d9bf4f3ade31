/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events are counted:
 *
 *	LIST	:= ITEM[,ITEM...]		ITEM := EVENT | {EVENT,EVENT...}
 *	EVENT	:= NAME[:u|:k] [/CONDITION/]
 *
 * NAME is a counter of the kernel or the processor ("cs", "cycles"), a tracepoint ("sched:*"), or
 * any attach point of a script that perf events can count ("uprobe:libc:malloc"). Commas in quotes
 * and conditions part nothing.
 */
#include <linux/perf_event.h>

#include "base/glob.h"
#include "base/nearest.h"
#include "cmd/stat/stat.h"
#include "kernel/kernel.h"
#include "kernel/tracefs/event_name.h"
#include "lang/predicate/predicate.h"

static const char *const defaults[] = {"context-switches", "cpu-migrations", "page-faults"};
static const char *const processor_defaults[] = {"cycles", "instructions", "branches",
						 "branch-misses"};

struct words {
	struct stat_run *run;
	const char *at; /* what is still to be read */
	u32 group; /* of the braces that are open; 0 = none */
	u32 groups;
};

static int refuse(struct stat_run *run, const char *word, const char *why)
{
	diag_error(&run->diag, NO_SPAN, "-e '%s': %s", word, why);
	diag_hint(&run->diag, "as in -e cs,page-faults -e 'sched:sched_switch /prev_prio < 120/'");
	diag_code(&run->diag, EXIT_USAGE);
	return -EINVAL;
}

/* ---- names ---- */

/* ":u" and ":k" behind a counter's name: in user space, in the kernel. Cuts them off. */
static bool take_modifier(char *name, struct perf_event_attr *ret)
{
	char *colon = strrchr(name, ':');

	if (!colon || !colon[1] || strspn(colon + 1, "uk") != strlen(colon + 1) ||
	    memchr(name, ':', (size_t)(colon - name)))
		return false;
	ret->exclude_kernel = !strchr(colon, 'k');
	ret->exclude_user = !strchr(colon, 'u');
	*colon = '\0';
	return true;
}

struct search {
	struct nearest *nearest;
	bool found;
	const char *name;
};

static int look(void *arg, const char *name)
{
	struct search *s = arg;
	const char *begin = strchr(name, ':') + 1; /* "software:cs:" */
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(begin, ":"), begin);
	s->found |= str_eq(word, s->name);
	nearest_offer(s->nearest, word);
	return 0;
}

/* A counter by its bare name: of which provider? NULL with a diagnostic: of none. */
static const char *provider_of(struct stat_run *run, const char *name)
{
	static const char *const kinds[] = {"software", "hardware"};
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct search s = {.nearest = &nearest, .name = name};

		probe_each(&run->env, probe_find_provider(kinds[i]), NULL, look, &s);
		if (s.found)
			return kinds[i];
	}
	if (*nearest.best[0]) {
		diag_error(&run->diag, NO_SPAN, "there is no counter '%s'%s", name,
			   nearest_question(&nearest));
		diag_hint(&run->diag, "`pantrace list 'software:*'` shows the kernel's; a "
				      "tracepoint is SYSTEM:EVENT");
	} else {
		event_name_refuse(run->kernel, &run->diag, NO_SPAN, NULL, name);
	}
	return NULL;
}

/* ---- targets ---- */

static int set_filter(struct stat_run *run, struct stat_event *e, const char *condition)
{
	struct predicate_event fields = {0};
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	int err;

	if (e->attr.type != PERF_TYPE_TRACEPOINT) {
		diag_error(&run->diag, NO_SPAN, "-e '%s': conditions are for tracepoints", e->name);
		diag_hint(&run->diag,
			  "a script may ask anything: `pantrace -e '%s { @ = count() }'`",
			  e->target->name);
		return -EINVAL;
	}
	predicate_event_live(&run->arena, run->kernel, e->target->module, e->target->function, NULL,
			     &fields);
	err = predicate_to_kernel(condition, &fields, &run->diag, &c);
	if (!err)
		e->filter = arena_strdup(&run->arena, c.text.data);
	tracefs_command_release(&c);
	predicate_event_release(&fields);
	return err;
}

/* As the user would write it: tracepoints without their provider, counters as they were written. */
static const char *shown_name(const struct stat_event *e, const char *written)
{
	const char *name = e->target->name;

	return e->attr.type == PERF_TYPE_TRACEPOINT ? strchr(name, ':') + 1
	       : glob_has_wildcard(written)	    ? name
						    : written;
}

static int add_target(struct words *w, const struct probe_target *t, const char *written,
		      const char *condition, const struct perf_event_attr *modifier)
{
	struct stat_run *run = w->run;
	struct stat_event e = {.target = t, .group = w->group};
	int err;

	if (!t->provider->count) {
		diag_error(&run->diag, NO_SPAN,
			   "-e '%s': %s events cannot be counted without a program", written,
			   t->provider->name);
		diag_hint(&run->diag, "a script counts them: `pantrace -e '%s { @ = count() }'`",
			  t->name);
		return -EOPNOTSUPP;
	}
	err = t->provider->count(&run->env, t, &e.attr);
	if (err) {
		count_refused(&run->env, t, err);
		return err;
	}
	e.attr.exclude_kernel = modifier->exclude_kernel;
	e.attr.exclude_user = modifier->exclude_user;
	e.name = shown_name(&e, written);
	e.is_one_of_many = glob_has_wildcard(written);
	e.is_time =
		e.attr.type == PERF_TYPE_SOFTWARE && (e.attr.config == PERF_COUNT_SW_CPU_CLOCK ||
						      e.attr.config == PERF_COUNT_SW_TASK_CLOCK);
	err = condition ? set_filter(run, &e, condition) : 0;
	if (!err)
		vector_push(&run->events, e);
	return err;
}

/* "SYSTEM:EVENT", but there is none, or it cannot be seen. */
static bool is_unknown_event(struct stat_run *run, const struct probe_request *r)
{
	return r->count == 2 && !probe_find_provider(r->parts[0]) &&
	       !event_name_is_known(run->kernel, r->text);
}

/* One event or wildcard; condition NULL = none. Both are in the arena. */
static int add_event(struct words *w, const char *written, const char *condition)
{
	struct stat_run *run = w->run;
	struct perf_event_attr modifier = {0};
	char *name = arena_strdup(&run->arena, written);
	const bool is_modified = take_modifier(name, &modifier);
	struct probe_targets targets = {0};
	struct probe_request request;
	const char *text = name;
	int err = 0;

	if (!strchr(name, ':')) {
		const char *provider = provider_of(run, name);

		if (!provider)
			return -ENOENT;
		text = arena_printf(&run->arena, "%s:%s", provider, name);
	} else if (is_modified) {
		return refuse(run, written, ":u and :k are for counters such as page-faults:u");
	}
	request = probe_split(&run->arena, text);
	if (is_unknown_event(run, &request))
		return event_name_refuse(run->kernel, &run->diag, NO_SPAN, request.parts[0],
					 request.parts[1]);
	/* Users may count what their own programs do: the kernel is asked then, not before. */
	run->env.compile_only = text != name && !run->o.system_wide;
	if (run->o.pids.count)
		request.pid = run->o.pids.items[0];
	err = probe_expand(&run->env, &request, &targets);
	for (size_t i = 0; i < targets.list.len && !err; i++)
		err = add_target(w, targets.list.items[i], written, condition, &modifier);
	if (targets.skipped)
		diag_warning(&run->diag, NO_SPAN, "-e '%s': %u of what matches cannot be probed",
			     written, targets.skipped);
	vector_free(&targets.list);
	return err;
}

/* ---- words ---- */

/* The length of a name: up to a comma, a brace or a blank outside quotes. */
static size_t name_length(const char *s)
{
	size_t n = 0;

	for (bool quoted = false; s[n] && (quoted || !strchr(", \t{}", s[n])); n++)
		quoted ^= s[n] == '"';
	return n;
}

/* Behind the '/' that opens a condition: its length up to the one that closes it; 0 = none does. */
static size_t condition_length(const char *s)
{
	for (const char *p = s; (p = strchr(p, '/')); p++)
		if (strchr(",}", p[1 + strspn(p + 1, " \t")]))
			return (size_t)(p - s);
	return 0;
}

static int read_event(struct words *w)
{
	struct arena *arena = &w->run->arena;
	const size_t n = name_length(w->at);
	const char *name = arena_strndup(arena, w->at, n), *condition = NULL;
	size_t length;

	w->at += n;
	w->at += strspn(w->at, " \t");
	if (*w->at == '/') {
		length = condition_length(++w->at);
		if (!length)
			return refuse(w->run, name, "the condition behind it is not closed by '/'");
		condition = arena_strndup(arena, w->at, length);
		w->at += length + 1;
		w->at += strspn(w->at, " \t");
	}
	return n ? add_event(w, name, condition) : refuse(w->run, w->at, "an event is missing");
}

static int read_list(struct stat_run *run, const char *text, u32 *groups)
{
	struct words w = {.run = run, .at = text, .groups = *groups};
	int err = 0;

	for (bool more = true; more && !err;) {
		w.at += strspn(w.at, " \t");
		if (*w.at == '{' && !w.group) {
			w.group = ++w.groups;
			w.at++;
		}
		err = read_event(&w);
		if (!err && *w.at == '}' && w.group) {
			w.group = 0;
			w.at += 1 + strspn(w.at + 1, " \t");
		}
		more = *w.at == ',';
		w.at += more;
	}
	*groups = w.groups;
	if (!err && (*w.at || w.group))
		err = refuse(run, text,
			     w.group && !*w.at ? "'{' is not closed" : "a comma parts events");
	return err;
}

static int add_defaults(struct stat_run *run)
{
	struct words w = {.run = run};
	const bool has_processor = kernel_ask(run->kernel, KERNEL_PERF_HARDWARE)->yes;
	int err = add_event(&w, run->o.system_wide ? "cpu-clock" : "task-clock", NULL);

	for (u32 i = 0; i < ARRAY_SIZE(defaults) && !err; i++)
		err = add_event(&w, defaults[i], NULL);
	for (u32 i = 0; i < ARRAY_SIZE(processor_defaults) && !err && has_processor; i++)
		err = add_event(&w, processor_defaults[i], NULL);
	for (size_t i = 0; i < run->events.len; i++)
		run->events.items[i].is_optional =
			run->events.items[i].attr.type == PERF_TYPE_HARDWARE;
	return err;
}

int stat_parse_events(struct stat_run *run)
{
	u32 groups = 0;
	int err = run->o.events.count ? 0 : add_defaults(run);

	for (u32 i = 0; i < run->o.events.count && !err; i++)
		err = read_list(run, run->o.events.items[i], &groups);
	return err;
}
