// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/in_process_session.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/foreign.h"
#include "user/in_process_tables.h"
#include "user/owner.h"
#include "user/process.h"
#include "user/recorder.h"
#include "user/runtime.h"
#include "user/script_session.h"

#define ASK_MS	  1000
#define FILES_MAX 100000u /* in the directory of tables */

/* Of a key: what the dead have left, and whether zero() keeps it. */
struct kept {
	u64 a, b;
	bool any, is_zero;
};

struct map_state {
	struct aggregates_map info;
	struct hashmap kept; /* by key -> struct kept * */
};

struct aggregates {
	struct script_session session;
	struct map_state *maps;
	struct aggregates_map *layout;
	u32 nr_maps;
	int epoll, inotify;
	u64 pid_namespace;
	VECTOR(struct aggregate_source *) sources;
	struct hashmap known; /* names of files that were looked at */
	struct user_owners owners;
	struct aggregates_losses losses; /* of sources that are gone */
	struct diag *diag;
};

/* ---- sums ---- */

static bool is_extreme(u32 kind)
{
	return kind >= PANTRACE_AGGREGATE_MIN;
}

static void kept_add(u32 kind, struct kept *to, const struct aggregates_element *from)
{
	if (!is_extreme(kind)) {
		to->a += from->a;
		to->b += from->b;
	} else if (!to->any || aggregates_better(kind, from->a, to->a)) {
		to->a = from->a;
	}
	to->any = true;
}

static struct kept *kept_of(struct hashmap *all, const void *key, u32 key_size)
{
	bool is_new;
	void **place = hashmap_put(all, key, key_size, &is_new);

	if (is_new)
		*place = xzalloc(sizeof(struct kept));
	return *place;
}

static void kept_release(struct hashmap *all)
{
	hashmap_each (all, e)
		free(e->value);
	hashmap_release(all);
}

struct gather {
	u32 kind, key_size;
	struct hashmap *into;
};

static void gather_one(void *arg, const void *key, const struct aggregates_element *element)
{
	const struct gather *g = arg;

	kept_add(g->kind, kept_of(g->into, key, g->key_size), element);
}

/* ---- processes ---- */

/* PEER: who has handed FD over, or NULL for a file NAME. -EAGAIN: half made yet. */
static int source_new(struct aggregates *c, int fd, const char *name,
		      const struct user_process *peer)
{
	pid_t pid = peer ? peer->pid : 0;
	struct aggregate_source *s;
	struct epoll_event event = {.events = EPOLLIN};
	const int err = aggregates_source_open(fd, c->layout, c->nr_maps, c->session.name, &s);

	if (err) {
		c->losses.damaged += err == -EBADMSG;
		return err;
	}
	if (peer ? !user_owner_handed(&c->owners, s->owner, peer->pid, peer->uid, s->pid,
				      s->pid_namespace)
		 : !user_owner_good(&c->owners, s->owner, s->pid, s->pid_namespace)) {
		aggregates_source_close(s);
		return -EPERM;
	}
	s->name = name ? xstrdup(name) : NULL;
	if (!pid && s->pid_namespace == c->pid_namespace)
		pid = s->pid;
	s->pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	s->has_ended = pid > 0 && s->pidfd < 0 && errno == ESRCH;
	if (s->pidfd >= 0)
		epoll_ctl(c->epoll, EPOLL_CTL_ADD, s->pidfd, &event);
	vector_push(&c->sources, s);
	return 0;
}

static int find_file(void *arg, int directory, const char *name)
{
	struct aggregates *c = arg;
	int fd, err;

	if (!user_rings_name(name) || hashmap_gets(&c->known, name))
		return 0;
	fd = err = foreign_file(directory, name, O_RDWR, NULL);
	if (fd >= 0) {
		err = source_new(c, fd, name, NULL);
		close(fd);
	}
	if (err != -EAGAIN && err != -EMFILE && err != -ENFILE)
		hashmap_puts(&c->known, name, c);
	return 0;
}

static void find_files(struct aggregates *c)
{
	const int directory = user_rings_open(c->session.directory);

	if (directory < 0)
		return;
	user_owners_look(&c->owners);
	foreign_each(directory, FILES_MAX, find_file, c);
	close(directory);
}

static bool is_known_memory(const struct aggregates *c, ino_t inode)
{
	for (size_t i = 0; i < c->sources.len; i++)
		if (!c->sources.items[i]->name && c->sources.items[i]->inode == inode)
			return true;
	return false;
}

/* Processes that cannot write to the directory hand their tables over. */
static void find_memory(struct aggregates *c)
{
	const struct user_selection which = {.pids = &c->session.pid,
					     .nr_pids = c->session.pid != 0};
	struct user_processes asked = {0};
	char *request = user_request("attach", c->session.name);
	struct stat st;

	user_ask(&asked, &which, request, ASK_MS);
	for (size_t i = 0; i < asked.all.len; i++) {
		const struct user_process *const p = &asked.all.items[i];

		if (!p->error && p->fd >= 0 && !fstat(p->fd, &st) && !is_known_memory(c, st.st_ino))
			source_new(c, p->fd, NULL, p);
	}
	user_processes_release(&asked);
	free(request);
}

static void losses_add(struct aggregates_losses *to, const struct aggregate_source *s)
{
	struct aggregates_losses its = {.events = s->shm->lost, .mismatched = s->shm->mismatched};

	for (u32 i = 0; i < s->header.nr_maps; i++)
		its.full += s->shm->map[i].full;
	if (s->range.is_cut)
		return;
	to->events += its.events;
	to->mismatched += its.mismatched;
	to->full += its.full;
}

/* What it has counted is ours from now on. */
static void source_fold(struct aggregates *c, struct aggregate_source *s)
{
	for (u32 i = 0; i < c->nr_maps; i++) {
		struct gather g = {c->layout[i].kind, c->layout[i].key_size, &c->maps[i].kept};

		aggregates_source_each(s, i, false, gather_one, &g);
	}
	losses_add(&c->losses, s);
	if (s->name) {
		const int directory = user_rings_open(c->session.directory);

		if (directory >= 0) {
			foreign_remove(directory, s->name, 0);
			close(directory);
		}
	}
	aggregates_source_close(s);
}

void aggregates_refresh(struct aggregates *c)
{
	struct epoll_event ready[16];
	char events[4096];

	while (c->inotify >= 0 && read(c->inotify, events, sizeof(events)) > 0)
		;
	while (epoll_wait(c->epoll, ready, 16, 0) == 16)
		; /* which it is is seen below */
	find_files(c);
	for (size_t i = 0; i < c->sources.len; i++) {
		struct aggregate_source *const s = c->sources.items[i];

		c->losses.damaged += s->range.is_cut;
		if (!s->range.is_cut && !aggregates_source_has_ended(s))
			continue;
		source_fold(c, s);
		c->sources.items[i--] = vector_last(&c->sources);
		c->sources.len--;
	}
}

int aggregates_fd(const struct aggregates *c)
{
	return c->epoll;
}

/* ---- begin and end ---- */

static void describe(const struct aggregates_options *o, u64 pid_namespace, struct strbuf *head,
		     struct strbuf *lines)
{
	static const char *const kinds[PANTRACE_AGGREGATE_KINDS] = {"count", "pair", "min",
								    "max",   "umin", "umax"};

	if (o->counts_pids)
		strbuf_addf(head, "pids %" PRIu64 "\n", pid_namespace);
	for (u32 i = 0; i < o->nr_maps; i++)
		strbuf_addf(head, "map %s %u %u\n", kinds[o->maps[i].kind], o->maps[i].key_size,
			    o->maps[i].entries);
	for (u32 i = 0; i < o->nr_programs; i++) {
		const struct aggregates_program *p = &o->programs[i];

		strbuf_addf(lines, "aggregate %" PRIu64 " ", p->hash);
		strbuf_add_hex(lines, p->image, p->size);
		strbuf_addf(lines, "\nenable %s\n", p->event);
	}
}

int aggregates_begin(const struct aggregates_options *o, struct diag *d, struct aggregates **ret)
{
	struct strbuf head = STRBUF_INIT, lines = STRBUF_INIT;
	struct aggregates *c = xzalloc(sizeof(*c));
	struct epoll_event event = {.events = EPOLLIN};
	struct stat st;
	int err;

	c->diag = d;
	c->nr_maps = o->nr_maps;
	c->maps = xzalloc(o->nr_maps * sizeof(*c->maps) + 1);
	c->layout = xzalloc(o->nr_maps * sizeof(*c->layout) + 1);
	for (u32 i = 0; i < o->nr_maps; i++)
		c->maps[i].info = c->layout[i] = o->maps[i];
	if (!stat("/proc/self/ns/pid", &st))
		c->pid_namespace = st.st_ino;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	describe(o, c->pid_namespace, &head, &lines);
	err = c->epoll < 0
		      ? -errno
		      : script_session_open(&c->session, o->pid, o->is_child, head.data, true, d);
	if (!err) {
		if (c->inotify >= 0) {
			inotify_add_watch(c->inotify, c->session.directory,
					  IN_CLOSE_WRITE | IN_ONLYDIR);
			epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->inotify, &event);
		}
		script_session_add(&c->session, lines.data, d);
		find_files(c);
		find_memory(c);
	}
	strbuf_release(&head);
	strbuf_release(&lines);
	if (err) {
		aggregates_end(c);
		return err;
	}
	*ret = c;
	return 0;
}

void aggregates_stop(struct aggregates *c)
{
	script_session_stop(&c->session, c->diag);
	aggregates_refresh(c);
	find_memory(c); /* of processes that came later */
}

void aggregates_end(struct aggregates *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->sources.len; i++)
		aggregates_source_close(c->sources.items[i]);
	vector_free(&c->sources);
	script_session_close(&c->session);
	for (u32 i = 0; i < c->nr_maps; i++)
		kept_release(&c->maps[i].kept);
	hashmap_release(&c->known);
	user_owners_release(&c->owners);
	if (c->inotify >= 0)
		close(c->inotify);
	if (c->epoll >= 0)
		close(c->epoll);
	free(c->maps);
	free(c->layout);
	free(c);
}

/* ---- reading ---- */

static void give(struct aggregates_elements *ret, const struct hashmap_entry *e,
		 const struct kept *k, size_t *cap)
{
	if (ret->values.len == *cap) {
		*cap = *cap ? *cap * 2 : 64;
		ret->keys = xreallocarray(ret->keys, *cap, MAX(ret->key_size, 1u));
	}
	memcpy(ret->keys + ret->values.len * ret->key_size, e->key, ret->key_size);
	vector_push(&ret->values, ((struct aggregates_element){k->a, k->b, !k->any && k->is_zero}));
}

static void keep_zeros(struct map_state *m, const struct hashmap *now)
{
	hashmap_each (now, e)
		kept_of(&m->kept, e->key, e->key_len)->is_zero = true;
}

void aggregates_read(struct aggregates *c, u32 map, enum aggregates_take take,
		     struct aggregates_elements *ret)
{
	struct map_state *const m = &c->maps[map];
	struct hashmap now = {0};
	struct gather g = {m->info.kind, m->info.key_size, &now};
	size_t cap = 0;

	*ret = (struct aggregates_elements){.key_size = m->info.key_size};
	aggregates_refresh(c);
	for (size_t i = 0; i < c->sources.len; i++)
		aggregates_source_each(c->sources.items[i], map, take != COUNTING_KEEP, gather_one,
				       &g);
	hashmap_each (&m->kept, e) {
		const struct kept *k = e->value;
		const struct aggregates_element one = {k->a, k->b, false};
		struct kept *to;

		if (!k->any && !k->is_zero)
			continue;
		to = kept_of(&now, e->key, m->info.key_size);
		if (k->any)
			kept_add(m->info.kind, to, &one);
		to->is_zero = k->is_zero;
	}
	hashmap_each (&now, e)
		give(ret, e, e->value, &cap);
	if (take != COUNTING_KEEP)
		kept_release(&m->kept);
	if (take != COUNTING_KEEP)
		m->kept = (struct hashmap){0};
	if (take == COUNTING_ZERO)
		keep_zeros(m, &now);
	kept_release(&now);
}

void aggregates_elements_release(struct aggregates_elements *e)
{
	vector_free(&e->values);
	free(e->keys);
	*e = (struct aggregates_elements){0};
}

void aggregates_forget(struct aggregates *c, u32 map, const void *key)
{
	struct map_state *const m = &c->maps[map];
	struct kept *k = hashmap_get(&m->kept, key, m->info.key_size);

	if (k)
		*k = (struct kept){0};
	for (size_t i = 0; i < c->sources.len; i++)
		aggregates_source_forget(c->sources.items[i], map, key);
}

struct aggregates_losses aggregates_losses(const struct aggregates *c)
{
	struct aggregates_losses all = c->losses;

	all.refused = c->owners.refused;
	for (size_t i = 0; i < c->sources.len; i++)
		losses_add(&all, c->sources.items[i]);
	return all;
}
