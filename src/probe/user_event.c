// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * user:PROVIDER:EVENT. Processes are asked for their events; a uprobe sits on the place in
 * libpantrace (the program itself, or the library) that the event calls, and a session without
 * rings has the event on.
 */
#include "probe/user_event.h"

#include <stdio.h>

#include "binary/process_maps.h"
#include "binary/user_events.h"
#include "user/script_session.h"

struct expand_arg {
	struct probe_env *env;
	const struct probe_request *request;
	struct probe_targets *out;
	const char *provider, *name; /* globs */
	u32 matched, unreachable;
	struct nearest nearest;
	struct hashmap targets; /* "hash path" */
	struct hashmap events; /* by hash: the first target of an event is the one that counts */
	struct hashmap places; /* pid -> struct place *, files of processes */
};

/* Where a process's copy of the library has its places. */
struct place {
	struct elf_file *file; /* NULL: it has none that we can open */
	const char *path;
	u64 offset; /* in the file */
};

struct place_search {
	struct expand_arg *a;
	struct place *place;
	const char *path;
};

static int place_note(void *arg, const struct usdt_note *n)
{
	struct place_search *s = arg;

	if (!str_eq(n->provider, "libpantrace") || !str_eq(n->name, "script"))
		return 0;
	s->place->offset = n->offset;
	s->place->path = s->path;
	return 1;
}

static int place_mapping(void *arg, const struct process_mapping *m)
{
	struct place_search *s = arg;
	struct elf_file *file;

	if (m->kind != MAPPING_FILE)
		return 0;
	if (user_open(s->a->env, NO_SPAN, m->path, false, &file))
		return 0;
	s->path = arena_strdup(s->a->env->arena, m->path);
	if (elf_file_each_usdt(file, place_note, s) != 1)
		return 0;
	s->place->file = file;
	return 1;
}

/* Processes in another mount namespace have their files under /proc/PID/root. */
static struct place *place_of(struct expand_arg *a, pid_t pid)
{
	char key[16];
	struct place *place;
	struct place_search s;

	snprintf(key, sizeof(key), "%d", (int)pid);
	place = hashmap_gets(&a->places, key);
	if (place)
		return place;
	place = arena_new(a->env->arena, struct place);
	s = (struct place_search){.a = a, .place = place};
	process_each_mapping(pid, place_mapping, &s);
	hashmap_puts(&a->places, arena_strdup(a->env->arena, key), place);
	return place;
}

static int add_event(void *arg, struct user_event *event)
{
	struct expand_arg *a = arg;
	struct arena *arena = a->env->arena;
	const struct place *place;
	struct probe_target *t;
	const char *key;
	bool is_new;

	nearest_offer(&a->nearest, event->name);
	if (!glob_match(a->provider, event->provider) || !glob_match(a->name, event->name))
		return 0;
	place = place_of(a, event->pid);
	if (!place->file) {
		a->unreachable++;
		return 0;
	}
	a->matched++;
	key = arena_printf(arena, "%" PRIx64 " %s", event->hash, place->path);
	hashmap_put(&a->targets, key, strlen(key), &is_new);
	if (!is_new)
		return 0;
	key = arena_printf(arena, "%" PRIx64, event->hash);
	hashmap_put(&a->events, key, strlen(key), &is_new);
	event->site.is_repeated = !is_new;
	event->site.file = place->file;
	t = probe_add_target(a->env, a->out, &probe_user, a->request,
			     arena_printf(arena, "user:%s:%s", event->provider, event->name));
	t->private = event;
	t->path = place->path;
	t->module = event->provider;
	t->function = event->name;
	t->address = place->offset + 16 * (event->hash & 63);
	return 0;
}

/* ---- the command of -c, which cannot be asked yet ---- */

static int child_event(void *arg, const char *line)
{
	struct expand_arg *a = arg;
	struct user_event *event = user_event_parse(a->env->arena, line);

	if (!event)
		return 0;
	event->pid = a->env->child;
	return add_event(a, event);
}

static int child_mapping(void *arg, const struct process_mapping *m)
{
	struct expand_arg *a = arg;
	struct elf_file *file;

	if (m->kind != MAPPING_FILE || user_open(a->env, NO_SPAN, m->path, false, &file))
		return 0;
	return elf_file_each_user_event(file, child_event, a);
}

/* It is let run until its files are mapped, and those are read. */
static int child_events(struct expand_arg *a)
{
	const int err = user_check_pid(a->env, a->request);

	return err ? err : process_each_mapping(a->env->child, child_mapping, a);
}

static int no_match(struct expand_arg *a, u32 processes)
{
	struct diag *d = a->env->diag;

	diag_error(d, a->request->span, "No matches for user:%s:%s.", a->provider, a->name);
	if (a->unreachable)
		diag_hint(d, "the programs that have it are mapped from files that cannot be "
			     "opened here, or have "
			     "another version of libpantrace");
	else if (a->env->child && a->request->pid == a->env->child && !a->nearest.best[0][0])
		diag_hint(d, "the command of -c has no such event: it must be the program itself (not a shell that "
			     "starts it), built with libpantrace");
	else if (!processes && a->request->pid > 0 && !a->nearest.best[0][0])
		diag_hint(d, "process %d is not built with libpantrace, or does not answer",
			  (int)a->request->pid);
	else if (!processes && !a->nearest.best[0][0])
		diag_hint(d, "no program that is built with libpantrace runs: start it first");
	else if (a->nearest.best[0][0])
		nearest_hint(&a->nearest, d, "");
	else
		diag_hint(d, "`pantrace user list` shows the events of the programs that run");
	return -ENOENT;
}

static int expand(struct probe_env *env, const struct probe_request *r, struct probe_targets *out)
{
	struct expand_arg a = {.env = env, .request = r, .out = out};
	u32 processes = 0;
	int err;

	if (probe_check_parts(env, r, &probe_user, 2, 2))
		return -EINVAL;
	a.provider = r->parts[1];
	a.name = r->parts[2];
	nearest_init(&a.nearest, a.name);
	err = probe_require(env, r->span, KERNEL_UPROBES, "user");
	if (!err)
		err = user_event_each(env->arena, MAX(r->pid, 0), env->diag, add_event, &a,
				      &processes);
	if (!err && !a.matched && r->pid && r->pid == env->child)
		err = child_events(&a);
	if (!err && !a.matched)
		err = no_match(&a, processes);
	hashmap_release(&a.targets);
	hashmap_release(&a.events);
	hashmap_release(&a.places);
	return err;
}

static int describe(struct probe_env *env, const struct probe_target *t, struct span at,
		    struct probe_context *ret)
{
	const struct user_event *event = t->private;

	*ret = (struct probe_context){
		.kind = CONTEXT_REGISTERS,
		.program_type = BPF_PROG_TYPE_KPROBE,
		.space = SPACE_USER,
		.has_cookie = kernel_features(env->kernel)->attach_cookie,
		.guard = event->hash,
		.argn = {{.kind = LOCATION_REGISTER,
			  .size = 8,
			  .offset = (u16)arch_argument_offset(0)}},
		.argn_count = 1,
	};
	if (!env->skip_args)
		ret->args = user_event_args(env, event, true, &ret->locations);
	ret->layout_key = arena_printf(env->arena, "user/%" PRIx64, event->hash);
	return 0;
}

/* ---- the session that has the events on ---- */

static struct script_session *session_of(struct probe_env *env, pid_t pid)
{
	struct probe_cache *cache = probe_cache_of(env);
	struct script_session *s = cache->user_session;

	if (s)
		return s;
	s = arena_new(env->arena, struct script_session);
	if (script_session_open(s, pid, pid && pid == env->child, "script\n", false, env->diag))
		return NULL;
	cache->user_session = s;
	return s;
}

static int attach(struct probe_env *env, int prog_fd, const struct probe_context *context,
		  struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	struct script_session *s = session_of(env, n ? targets[0]->pid : 0);
	const bool first = s && !s->is_started;
	struct strbuf lines = STRBUF_INIT;
	int err;

	if (!s)
		return -EAGAIN;
	err = user_attach(env, prog_fd, targets, n, false, out);
	if (err)
		return err;
	if (first && env->user_filters)
		strbuf_addstr(&lines, env->user_filters);
	for (u32 i = 0; i < n; i++)
		strbuf_addf(&lines, "enable %s:%s\n", targets[i]->module, targets[i]->function);
	script_session_add(s, lines.data, env->diag);
	strbuf_release(&lines);
	if (first) /* closed with the other attachments, or by our death */
		vector_push(&out->list, ((struct probe_attachment){.fd = s->pipe, .event_fd = -1}));
	return 0;
}

/* ---- list ---- */

struct each_arg {
	const char *glob;
	int (*fn)(void *arg, const char *name);
	void *arg;
	struct hashmap seen;
};

static int each_event(void *arg, struct user_event *event)
{
	struct each_arg *a = arg;
	struct strbuf name = STRBUF_INIT;
	bool is_new;
	int err = 0;

	strbuf_addf(&name, "user:%s:%s", event->provider, event->name);
	if (!a->glob || glob_match(a->glob, name.data)) {
		hashmap_put(&a->seen, name.data, name.len, &is_new);
		if (is_new)
			err = a->fn(a->arg, name.data);
	}
	strbuf_release(&name);
	return err;
}

static int each(struct probe_env *env, const char *glob, int (*fn)(void *arg, const char *name),
		void *arg)
{
	struct each_arg a = {.glob = glob, .fn = fn, .arg = arg};
	int err;

	if (glob && !str_starts(glob, "user:") && *glob != '*')
		return 0;
	err = user_event_each(env->arena, env->pid, NULL, each_event, &a, NULL);
	hashmap_release(&a.seen);
	return err;
}

const struct probe_provider probe_user = {
	.name = "user",
	.form = "user:PROVIDER:EVENT",
	.doc = "events of programs that are built with libpantrace",
	.needs = KERNEL_UPROBES,
	.expand = expand,
	.describe = describe,
	.attach = attach,
	.each = each,
};

/* ---- probes that run in the program: never attached, the engine hands them over ---- */

static int process_describe(struct probe_env *env, const struct probe_target *t, struct span at,
			    struct probe_context *ret)
{
	const struct user_event *event = t->private;
	const struct probe_location *unused;

	*ret = (struct probe_context){
		.kind = CONTEXT_TRACEPOINT,
		.program_type = BPF_PROG_TYPE_TRACEPOINT,
		.space = SPACE_USER,
		.in_process = true,
	};
	if (!env->skip_args)
		ret->args = user_event_args(env, event, false, &unused);
	ret->layout_key = arena_printf(env->arena, "user-process/%" PRIx64, event->hash);
	return 0;
}

const struct probe_provider probe_user_process = {
	.name = "user-process",
	.form = "user:PROVIDER:EVENT",
	.doc = "events of programs that count them themselves",
	.describe = process_describe,
};

bool probe_to_process(struct probe_target *t)
{
	const struct user_event *event = t->private;

	if (t->provider == &probe_user)
		t->provider = &probe_user_process;
	return !event->site.is_repeated;
}

struct probe_target *probe_to_filter(struct arena *arena, const struct probe_target *t)
{
	const struct user_event *event = t->private;
	struct probe_target *filter;

	if (t->provider != &probe_user || event->site.is_repeated)
		return NULL;
	filter = arena_new(arena, struct probe_target);
	*filter = *t;
	filter->provider = &probe_user_filter;
	return filter;
}

/* ---- filters: compiled for the program itself (lib/vm.h), never attached ---- */

struct filter_arg {
	const char *provider, *name;
	struct user_event *found;
};

static int filter_find(void *arg, struct user_event *event)
{
	struct filter_arg *a = arg;

	if (!str_eq(a->provider, event->provider) || !str_eq(a->name, event->name))
		return 0;
	a->found = event;
	return 1;
}

static int filter_expand(struct probe_env *env, const struct probe_request *r,
			 struct probe_targets *out)
{
	struct filter_arg a;
	struct probe_target *t;
	int err = 0;

	if (probe_check_parts(env, r, &probe_user_filter, 2, 2))
		return -EINVAL;
	a = (struct filter_arg){.provider = r->parts[1], .name = r->parts[2]};
	if (env->announced)
		a.found = (struct user_event *)env->announced;
	else
		err = user_event_each(env->arena, MAX(r->pid, 0), NULL, filter_find, &a, NULL);
	if (err < 0)
		return err;
	if (!a.found) {
		diag_error(env->diag, r->span, "No matches for user:%s:%s.", a.provider, a.name);
		return -ENOENT;
	}
	t = probe_add_target(env, out, &probe_user_filter, r, "user-filter");
	t->private = a.found;
	return 0;
}

static int filter_describe(struct probe_env *env, const struct probe_target *t, struct span at,
			   struct probe_context *ret)
{
	const struct probe_location *unused;

	*ret = (struct probe_context){
		.kind = CONTEXT_TRACEPOINT,
		.program_type = BPF_PROG_TYPE_TRACEPOINT,
		.space = SPACE_USER,
		.args = user_event_args(env, t->private, false, &unused),
		.in_process = true,
		.layout_key = "user-filter",
	};
	return 0;
}

static int filter_each(struct probe_env *env, const char *glob,
		       int (*fn)(void *arg, const char *name), void *arg)
{
	return 0;
}

const struct probe_provider probe_user_filter = {
	.name = "user-filter",
	.form = "user-filter:PROVIDER:EVENT",
	.doc = "predicates of `pantrace record --filter`, which run in the program",
	.expand = filter_expand,
	.describe = filter_describe,
	.each = filter_each,
};
