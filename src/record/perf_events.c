/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/perf_events.h"

#include "base/glob.h"
#include "base/nearest.h"
#include "kernel/kernel.h"
#include "kernel/tracefs/event_name.h"
#include "lang/predicate/predicate.h"
#include "probe/count.h"

struct words {
	struct perf_events *events;
	const char *at; /* the rest of the text */
	u32 group; /* inside braces; 0 = not */
};

static int refuse(struct perf_events *events, const char *word, const char *why)
{
	diag_error(events->env->diag, NO_SPAN, "-e '%s': %s", word, why);
	diag_hint(events->env->diag,
		  "as in -e cs,page-faults -e 'sched:sched_switch /prev_prio < 120/'");
	diag_code(events->env->diag, EXIT_USAGE);
	return -EINVAL;
}

/* ---- names ---- */

/* Cuts off ":u" (user space) and ":k" (kernel) after a counter's name. */
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

/* The provider that has a counter of this bare name; NULL = none. */
static const char *provider_named(struct probe_env *env, const char *name, struct nearest *nearest)
{
	static const char *const kinds[] = {"software", "hardware"};

	nearest_init(nearest, name);
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct search s = {.nearest = nearest, .name = name};

		probe_each(env, probe_find_provider(kinds[i]), NULL, look, &s);
		if (s.found)
			return kinds[i];
	}
	return NULL;
}

/* The same, with a diagnostic if there is none. */
static const char *provider_of(struct perf_events *events, const char *name)
{
	struct nearest nearest;
	const char *const provider = provider_named(events->env, name, &nearest);

	if (provider)
		return provider;
	if (*nearest.best[0]) {
		diag_error(events->env->diag, NO_SPAN, "there is no counter '%s'%s", name,
			   nearest_question(&nearest));
		diag_hint(events->env->diag, "`pantrace list 'software:*'` shows the kernel's; a "
					     "tracepoint is SYSTEM:EVENT");
	} else {
		event_name_refuse(events->env->kernel, events->env->diag, NO_SPAN, NULL, name);
	}
	return NULL;
}

/* ---- targets ---- */

static int set_filter(struct perf_events *events, struct perf_choice *e, const char *condition)
{
	struct predicate_event fields = {0};
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	int err;

	if (e->attr.type != PERF_TYPE_TRACEPOINT) {
		diag_error(events->env->diag, NO_SPAN, "-e '%s': conditions are for tracepoints",
			   e->name);
		diag_hint(events->env->diag,
			  "a script may ask anything: `pantrace -e '%s { @ = count() }'`",
			  e->target->name);
		return -EINVAL;
	}
	predicate_event_live(events->env->arena, events->env->kernel, e->target->module,
			     e->target->function, NULL, &fields);
	err = predicate_to_kernel(condition, &fields, events->env->diag, &c);
	if (!err)
		e->filter = arena_strdup(events->env->arena, c.text.data);
	tracefs_command_release(&c);
	predicate_event_release(&fields);
	return err;
}

/* As the user would write it: tracepoints without their provider, counters as given. */
static const char *shown_name(const struct perf_choice *e, const char *written)
{
	const char *name = e->target->name;

	return e->attr.type == PERF_TYPE_TRACEPOINT ? strchr(name, ':') + 1
	       : glob_has_wildcard(written)	    ? name
						    : written;
}

static int add_target(struct words *w, const struct probe_target *t, const char *written,
		      const char *condition, const struct perf_event_attr *modifier)
{
	struct perf_events *events = w->events;
	struct perf_choice e = {.target = t, .group = w->group};
	int err;

	if (!t->provider->count) {
		diag_error(events->env->diag, NO_SPAN,
			   "-e '%s': %s events cannot be counted without a program", written,
			   t->provider->name);
		diag_hint(events->env->diag,
			  "a script counts them: `pantrace -e '%s { @ = count() }'`", t->name);
		return -EOPNOTSUPP;
	}
	err = t->provider->count(events->env, t, &e.attr);
	if (err) {
		count_refused(events->env, t, err);
		return err;
	}
	e.attr.exclude_kernel = modifier->exclude_kernel;
	e.attr.exclude_user = modifier->exclude_user;
	e.name = shown_name(&e, written);
	e.is_one_of_many = glob_has_wildcard(written);
	e.is_time =
		e.attr.type == PERF_TYPE_SOFTWARE && (e.attr.config == PERF_COUNT_SW_CPU_CLOCK ||
						      e.attr.config == PERF_COUNT_SW_TASK_CLOCK);
	err = condition ? set_filter(events, &e, condition) : 0;
	if (!err)
		vector_push(&events->list, e);
	return err;
}

/* "SYSTEM:EVENT", but there is no such event, or tracefs cannot be read. */
static bool is_unknown_event(struct perf_events *events, const struct probe_request *r)
{
	return r->count == 2 && !probe_find_provider(r->parts[0]) &&
	       !event_name_is_known(events->env->kernel, r->text);
}

/* One event or wildcard; condition NULL = none. Both are in the arena. */
static int add_event(struct words *w, const char *written, const char *condition)
{
	struct perf_events *events = w->events;
	struct perf_event_attr modifier = {0};
	char *name = arena_strdup(events->env->arena, written);
	const bool is_modified = take_modifier(name, &modifier);
	struct probe_targets targets = {0};
	struct probe_request request;
	const char *text = name;
	int err = 0;

	if (!strchr(name, ':')) {
		const char *provider = provider_of(events, name);

		if (!provider)
			return -ENOENT;
		text = arena_printf(events->env->arena, "%s:%s", provider, name);
	} else if (is_modified) {
		return refuse(events, written, ":u and :k are for counters such as page-faults:u");
	}
	request = probe_split(events->env->arena, text);
	if (is_unknown_event(events, &request))
		return event_name_refuse(events->env->kernel, events->env->diag, NO_SPAN,
					 request.parts[0], request.parts[1]);
	/* own programs need no privilege: leaves it to the kernel */
	events->env->compile_only = text != name && events->of_own_programs;
	request.pid = events->pid;
	err = probe_expand(events->env, &request, &targets);
	for (size_t i = 0; i < targets.list.len && !err; i++)
		err = add_target(w, targets.list.items[i], written, condition, &modifier);
	if (targets.skipped)
		diag_warning(events->env->diag, NO_SPAN,
			     "-e '%s': %u of the matches cannot be probed", written,
			     targets.skipped);
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

/* s: after the opening '/'. The length up to the closing one; 0 = there is none. */
static size_t condition_length(const char *s)
{
	for (const char *p = s; (p = strchr(p, '/')); p++)
		if (strchr(",}", p[1 + strspn(p + 1, " \t")]))
			return (size_t)(p - s);
	return 0;
}

static int read_event(struct words *w)
{
	struct arena *arena = w->events->env->arena;
	const size_t n = name_length(w->at);
	const char *name = arena_strndup(arena, w->at, n), *condition = NULL;
	size_t length;

	w->at += n;
	w->at += strspn(w->at, " \t");
	if (*w->at == '/') {
		length = condition_length(++w->at);
		if (!length)
			return refuse(w->events, name, "the condition is not closed by '/'");
		condition = arena_strndup(arena, w->at, length);
		w->at += length + 1;
		w->at += strspn(w->at, " \t");
	}
	return n ? add_event(w, name, condition) : refuse(w->events, w->at, "an event is missing");
}

int perf_events_parse(struct perf_events *events, const char *text)
{
	struct words w = {.events = events, .at = text};
	int err = 0;

	for (bool more = true; more && !err;) {
		w.at += strspn(w.at, " \t");
		if (*w.at == '{' && !w.group) {
			w.group = ++events->groups;
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
	if (!err && (*w.at || w.group))
		err = refuse(events, text,
			     w.group && !*w.at ? "'{' is not closed" : "a comma separates events");
	return err;
}

int perf_events_add(struct perf_events *events, const char *name)
{
	return add_event(&(struct words){.events = events}, name, NULL);
}

bool perf_events_has_counter(struct kernel *k, const char *text)
{
	struct probe_env env = {.kernel = k};
	struct perf_event_attr modifier;
	struct nearest nearest;
	bool found = false;

	for (const char *at = text; *at && !found; at += *at != 0) {
		const size_t n = name_length(at);
		char *name = xstrndup(at, n);

		take_modifier(name, &modifier);
		found = n && provider_named(&env, name, &nearest);
		free(name);
		at += n;
		if (*at == '/')
			at += 1 + condition_length(at + 1);
	}
	return found;
}

void perf_events_release(struct perf_events *events)
{
	vector_free(&events->list);
}
