// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * user:PROVIDER:EVENT. Processes are asked for their events; a uprobe sits on the place in
 * libpantrace (the program itself, or the library) that the event calls, and a session without
 * rings has the event on.
 */
#include "probe/user_event.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <stdio.h>

#include "binary/process/maps.h"
#include "binary/elf/user_events.h"
#include "user/process.h"
#include "user/runtime.h"
#include "user/script_session.h"

#define CHILD_MS 2000
#define LATER_MS 100
#define LIST_MS	 2000

/* Until the process listens at its socket, for so long at most. */
static void wait_socket(pid_t pid, int most_ms)
{
	const struct user_selection which = {.pids = &pid, .nr_pids = 1};
	bool found = false;

	for (int ms = 0; ms < most_ms && !found; ms++) {
		struct user_processes processes = {0};

		user_ask(&processes, &which, NULL, 0);
		found = processes.all.len;
		user_processes_release(&processes);
		if (!found)
			usleep(1000);
	}
}

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
	const pid_t pid = a->env->child;
	const struct place *place;
	char link[64], *program;
	int err = user_check_pid(a->env, a->request);

	if (!err)
		err = process_each_mapping(pid, child_mapping, a);
	place = !err && a->matched ? place_of(a, pid) : NULL;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	program = place ? realpath(link, NULL) : NULL;
	/*
	 * A shared library has begun before the program does, and makes its socket by a thread of
	 * its own: a command that is let go before could end before it is told of anything.
	 */
	if (program && !str_eq(program, place->path))
		wait_socket(pid, CHILD_MS);
	free(program);
	return err;
}

static int no_match(struct expand_arg *a, u32 processes)
{
	struct diag *d = a->env->diag;

	diag_error(d, a->request->span, "No matches for user:%s:%s.", a->provider, a->name);
	if (a->unreachable)
		diag_hint(d, "the programs that have it are mapped from files that cannot be "
			     "opened here, or have another version of libpantrace");
	else if (a->env->child && a->request->pid == a->env->child && !a->nearest.best[0][0])
		diag_hint(d, "the command of -c has no such event: it must be the program itself "
			     "(not a shell that starts it), built with libpantrace");
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

static int expand(struct probe_env *env, const struct probe_request *r, struct probe_targets *out,
		  const struct probe_provider *p)
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

static int describe(struct probe_env *env, const struct probe_target *t,
		    const struct probe_use *use, struct span at, struct probe_context *ret)
{
	const struct user_event *event = t->private;

	*ret = (struct probe_context){
		.kind = CONTEXT_REGISTERS,
		.program_type = BPF_PROG_TYPE_KPROBE,
		.space = SPACE_USER,
		.has_cookie = kernel_features(env->kernel)->attach_cookie,
		.has_guard = true,
		.guard = event->hash,
		.argn = {{.kind = LOCATION_REGISTER,
			  .size = 8,
			  .offset = (u16)arch_argument_offset(0)}},
		.argn_count = 1,
	};
	if (use->arguments)
		ret->args = user_event_args(env, event, true, &ret->locations);
	ret->layout_key = arena_printf(env->arena, "user/%" PRIx64, event->hash);
	return 0;
}

/* ---- the session that has the events on ---- */

/* A target that is attached; programs that start later may have the event in other files. */
struct attached {
	const struct probe_target *target;
	int prog_fd;
};

struct live {
	struct script_session session;
	VECTOR(struct attached) attached;
	struct hashmap places; /* "hash program path" */
	struct probe_attachments *out;
	int inotify; /* on the sockets of processes; -1: those that start later are not looked for
		      */
};

static struct live *live_of(struct probe_env *env, pid_t pid, struct probe_attachments *out)
{
	struct probe_cache *cache = probe_cache_of(env);
	struct live *l = cache->user_session;
	char runtime[512];

	if (l)
		return l;
	l = arena_new(env->arena, struct live);
	if (script_session_open(&l->session, pid, pid && pid == env->child, "script\n", false,
				env->diag))
		return NULL;
	l->out = out;
	l->inotify = pid ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (l->inotify >= 0 && !user_runtime(runtime, sizeof(runtime)))
		inotify_add_watch(l->inotify, runtime, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
	cache->user_session = l;
	return l;
}

/* Whether this place has the program yet; it has from now on. */
static bool place_is_new(struct live *l, const struct probe_target *t, int prog_fd)
{
	const struct user_event *event = t->private;
	char *key = xasprintf("%" PRIx64 " %d %s", event->hash, prog_fd, t->path);
	bool is_new;

	hashmap_put(&l->places, key, strlen(key), &is_new);
	free(key);
	return is_new;
}

struct later_arg {
	struct expand_arg a;
	struct live *live;
};

static int later_event(void *arg, struct user_event *event)
{
	struct later_arg *later = arg;
	struct live *l = later->live;
	const size_t n = l->attached.len;

	for (size_t i = 0; i < n; i++) {
		const struct attached *known = &l->attached.items[i];
		const u32 attached = l->out->attached;
		const struct place *place;
		struct user_event *there; /* as it is in this file */
		struct probe_target *t;

		if (((const struct user_event *)known->target->private)->hash != event->hash)
			continue;
		place = place_of(&later->a, event->pid);
		if (!place->file)
			continue;
		t = arena_memdup(later->a.env->arena, known->target, sizeof(*t));
		there = arena_memdup(later->a.env->arena, t->private, sizeof(*there));
		there->site.file = place->file;
		t->private = there;
		t->path = place->path;
		t->address = place->offset + 16 * (event->hash & 63);
		if (place_is_new(l, t, known->prog_fd))
			user_attach(later->a.env, known->prog_fd, &t, 1, false, l->out);
		l->out->attached = attached; /* the event is one that was counted */
	}
	return 0;
}

int probe_later_fd(struct probe_env *env)
{
	const struct live *l = probe_cache_of(env)->user_session;

	return l ? l->inotify : -1;
}

void probe_later(struct probe_env *env)
{
	struct live *l = probe_cache_of(env)->user_session;
	struct later_arg later = {.a = {.env = env}, .live = l};
	char events[4096] __attribute__((aligned(8)));
	struct arena arena = ARENA_INIT;
	bool any = false;
	ssize_t n;

	while (l && l->inotify >= 0 && (n = read(l->inotify, events, sizeof(events))) > 0) {
		const struct inotify_event *e;

		for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(*e) + e->len)) {
			e = (const void *)(events + at);
			if (!e->len || e->name[0] < '0' || e->name[0] > '9')
				continue;
			wait_socket((pid_t)atoi(e->name), LATER_MS);
			any = true;
		}
	}
	if (!any)
		return;
	user_event_each(&arena, 0, NULL, later_event, &later, NULL);
	hashmap_release(&later.a.places);
	arena_release(&arena);
}

static int attach(struct probe_env *env, int prog_fd, const struct probe_context *context,
		  struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	struct live *l = live_of(env, n ? targets[0]->pid : 0, out);
	const bool first = l && !l->session.is_started;
	struct strbuf lines = STRBUF_INIT;
	int err;

	if (!l)
		return -EAGAIN;
	err = user_attach(env, prog_fd, targets, n, false, out);
	if (err)
		return err;
	if (first && env->user_filters)
		strbuf_addstr(&lines, env->user_filters);
	for (u32 i = 0; i < n; i++) {
		strbuf_addf(&lines, "enable %s:%s\n", targets[i]->module, targets[i]->function);
		place_is_new(l, targets[i], prog_fd);
		vector_push(&l->attached, ((struct attached){targets[i], prog_fd}));
	}
	script_session_add(&l->session, lines.data, env->diag);
	strbuf_release(&lines);
	if (first) /* closed with the other attachments, or by our death */
		vector_push(&out->list, ((struct probe_attachment){.fd = l->session.pipe,
								   .event_fd = l->inotify}));
	return 0;
}

void user_event_release(void *session)
{
	struct live *l = session;

	if (!l)
		return;
	hashmap_release(&l->places);
	vector_free(&l->attached);
	l->session.pipe = -1; /* closed with the attachments */
	script_session_close(&l->session);
}

/* ---- list ---- */

struct each_arg {
	const struct probe_listing *listing;
	struct hashmap seen;
};

static int each_event(void *arg, struct user_event *event)
{
	struct each_arg *a = arg;
	struct strbuf name = STRBUF_INIT;
	bool is_new;
	int err = 0;

	strbuf_addf(&name, "user:%s:%s", event->provider, event->name);
	hashmap_put(&a->seen, name.data, name.len, &is_new);
	if (is_new)
		err = probe_offer(a->listing, name.data);
	strbuf_release(&name);
	return err;
}

/* As `user list` does. */
static void say_stays_off(struct probe_env *env)
{
	const struct user_selection which = {.pids = &env->pid, .nr_pids = env->pid != 0};
	struct user_processes processes = {0};
	char *request = user_request("list", NULL);

	user_ask(&processes, &which, request, LIST_MS);
	user_warn(&processes, env->diag);
	user_warn_stays_off(&processes, env->diag);
	user_processes_release(&processes);
	free(request);
}

static int each(const struct probe_listing *l)
{
	struct each_arg a = {.listing = l};
	int err;

	if (l->glob && !str_starts(l->glob, "user:") && *l->glob != '*')
		return 0;
	if (l->env->list_reasons)
		say_stays_off(l->env);
	err = user_event_each(l->env->arena, l->env->pid, NULL, each_event, &a, NULL);
	hashmap_release(&a.seen);
	return err;
}

const struct probe_provider probe_user = {
	.name = "user",
	.form = "user:PROVIDER:EVENT",
	.doc = "events of programs that are built with libpantrace",
	.needs = KERNEL_UPROBES,
	.has_fields = true,
	.is_user_event = true,
	.in_process = &probe_user_process,
	.filter = &probe_user_filter,
	.expand = expand,
	.describe = describe,
	.attach = attach,
	.each = each,
};
