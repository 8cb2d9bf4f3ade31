// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finding the sockets of instrumented processes. Any user can lay out what is looked at here: their
 * runtime directories, those of containers, and mount namespaces of their own. So nothing but
 * sockets is connected to, a socket counts only if it is of the directory's owner and its process
 * is of that user, and nothing is removed outside of our own directory.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/foreign.h"
#include "base/glob.h"
#include "base/hashmap.h"
#include "user/owner.h"
#include "user/process.h"
#include "user/runtime.h"

#define NAMES_MAX      100000u /* of a directory; of another user's directories of sockets */
#define VIEW_NAMES_MAX 1000000u /* of directories as another user's processes see them */
#define VIEWS_MAX      4096u /* of a user's processes */

/* What was looked at for a user: who lays out more than can be looked at hides nobody else. */
struct share {
	u32 views;
	size_t names, view_names;
};

struct search {
	struct user_processes *found;
	const struct user_selection *which;
	struct hashmap views; /* of files, seen already: mount namespace and root directory */
	struct hashmap directories; /* of sockets, seen already, in whatever view */
	struct hashmap shares; /* by user */
	bool in_own; /* our own runtime directory is looked at */
	/* of the only processes that are meant: their own numbers, by which sockets are named */
	VECTOR(pid_t) numbers;
};

static bool name_wanted(const struct user_selection *which, const char *name)
{
	for (u32 i = 0; i < which->nr_names; i++)
		if (glob_match(which->names[i], name))
			return true;
	return false;
}

static bool wanted(const struct user_selection *which, const struct user_process *p)
{
	if (!which || (!which->nr_pids && !which->nr_names))
		return true;
	for (u32 i = 0; i < which->nr_pids; i++)
		if (which->pids[i] == p->pid)
			return true;
	return name_wanted(which, p->name);
}

static void name_read(struct user_process *p)
{
	char path[32], *text;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)p->pid);
	if (file_read(path, 64, &text, &len)) {
		snprintf(p->name, sizeof(p->name), "?");
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	snprintf(p->name, sizeof(p->name), "%.16s", text);
	free(text);
}

/* Nobody listens there any more; a program that has just made its socket may not listen yet. */
static void stale_remove(struct search *s, int directory, const char *name, const struct stat *st)
{
	const s64 now = (s64)(clock_now_ms(CLOCK_REALTIME) / 1000);

	if (s->in_own && now - st->st_ctim.tv_sec > 2)
		foreign_remove(directory, name, 0);
}

static struct share *share_of(struct search *s, uid_t uid)
{
	bool is_new;
	void **const share = hashmap_put(&s->shares, &uid, sizeof(uid), &is_new);

	if (is_new)
		*share = xzalloc(sizeof(struct share));
	return *share;
}

static bool is_trusted(uid_t uid)
{
	return !uid || uid == geteuid();
}

struct each {
	int (*fn)(void *arg, int directory, const char *name);
	void *arg;
	size_t names;
};

static int each_name(void *arg, int directory, const char *name)
{
	struct each *const e = arg;

	e->names++;
	return e->fn(e->arg, directory, name);
}

/* Calls FN for the names in DIRECTORY, as long as they are at most MOST with those *USED. */
static void search_names(struct search *s, int directory, size_t *used, size_t most,
			 int (*fn)(void *arg, int directory, const char *name), void *arg)
{
	struct each each = {fn, arg, 0};

	s->found->unseen += foreign_each(directory, MIN(most - *used, (size_t)NAMES_MAX), each_name,
					 &each) == -E2BIG;
	*used += each.names;
}

/* Whether it may be the socket of a process that is meant. */
static bool name_possible(const struct search *s, const char *name)
{
	const pid_t number = (pid_t)strtol(name, NULL, 10);

	if (*name < '0' || *name > '9')
		return false;
	for (size_t i = 0; i < s->numbers.len; i++)
		if (s->numbers.items[i] == number)
			return true;
	return !s->numbers.len;
}

/* One process can be seen in many mount namespaces, and have many sockets. */
static bool is_known(const struct search *s, const struct user_process *p)
{
	for (size_t i = 0; i < s->found->all.len; i++) {
		const struct user_process *const known = &s->found->all.items[i];

		if ((p->pid && known->pid == p->pid) ||
		    (known->inode == p->inode && known->device == p->device))
			return true;
	}
	return false;
}

/*
 * Who listens: the kernel's word, of the time when listening began. Whoever has a socket from a
 * process that is gone does not speak for the one that has its number now.
 */
static bool peer_read(struct user_process *p, const struct stat *st)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(p->socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.uid != st->st_uid)
		return false;
	p->pid = peer.pid;
	p->uid = peer.uid;
	return !p->pid || user_is_of(p->pid, p->uid) == USER_OF_YES;
}

/* Whether sockets of a user's are asked. */
static bool user_wanted(struct search *s, uid_t uid)
{
	/* who is not root has no business with others' programs, nor trusts them */
	if ((s->found->own_only || geteuid()) && uid != geteuid())
		return false;
	if (!user_is_left_out(uid))
		return true;
	s->found->left_out++;
	s->found->left_out_user = uid;
	return false;
}

static int socket_try(void *arg, int directory, const char *name)
{
	struct user_process p = {.fd = -1, .socket = -1};
	struct search *const s = arg;
	struct stat st, above;

	if (!name_possible(s, name) || fstat(directory, &above))
		return 0;
	p.place = foreign_socket(directory, name, &st);
	if (p.place < 0) {
		s->found->unseen += p.place == -EMFILE;
		return 0;
	}
	p.device = st.st_dev;
	p.inode = st.st_ino;
	p.uid = st.st_uid;
	if (st.st_uid != above.st_uid || is_known(s, &p) || !user_wanted(s, p.uid))
		goto out;
	p.socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	s->found->unseen += p.socket < 0;
	p.error = p.socket < 0 ? -errno : foreign_connect(p.socket, p.place);
	if (p.error == -ECONNREFUSED)
		stale_remove(s, directory, name, &st);
	if (p.error == -EAGAIN) /* its queue is full: it does not listen */
		p.error = -ETIMEDOUT;
	else if (p.error)
		goto out;
	if (!peer_read(&p, &st))
		goto out;
	name_read(&p);
	if (!wanted(s->which, &p) || is_known(s, &p))
		goto out;
	vector_push(&s->found->all, p);
	return 0;
out:
	user_close_late(s->found, p.socket, p.uid);
	close(p.place);
	return 0;
}

/* One that others than its owner can write to is nobody's runtime directory. */
static void search_directory(struct search *s, int directory)
{
	struct stat st;
	bool is_new;

	if (fstat(directory, &st) || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return;
	/* one that is mounted in many places is looked at once */
	hashmap_put(&s->directories, (u64[]){st.st_dev, st.st_ino}, 2 * sizeof(u64), &is_new);
	if (is_new)
		search_names(s, directory,
			     is_trusted(st.st_uid) ? &(size_t){0} : &share_of(s, st.st_uid)->names,
			     NAMES_MAX, socket_try, s);
}

static const struct place {
	const char *parent, *prefix, *below;
} places[] = {{"/run", "pantrace", ""}, {"/run/user", "", "pantrace"}, {"/tmp", "pantrace-", ""}};

struct place_search {
	struct search *search;
	const struct place *place;
};

static int place_try(void *arg, int directory, const char *name)
{
	const struct place_search *const p = arg;
	char *path;
	int below;

	if (!str_starts(name, p->place->prefix))
		return 0;
	path = xasprintf("%s/%s", name, p->place->below);
	below = foreign_directory(directory, path, NULL);
	if (below >= 0) {
		search_directory(p->search, below);
		close(below);
	}
	free(path);
	return 0;
}

/*
 * Directories below ROOT where processes of all users keep their sockets, as a process of UID sees
 * it. -1: our own root directory, whose links are root's.
 */
static void search_root(struct search *s, int root, uid_t uid)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct place_search p = {s, &places[i]};
		const int parent =
			root < 0 ? open(places[i].parent, O_PATH | O_DIRECTORY | O_CLOEXEC)
				 : foreign_directory(root, places[i].parent + 1, NULL);

		if (parent < 0)
			continue;
		if (!i)
			place_try(&p, parent, places[i].prefix);
		else
			search_names(s, parent,
				     is_trusted(uid) ? &(size_t){0} : &share_of(s, uid)->view_names,
				     VIEW_NAMES_MAX, place_try, &p);
		close(parent);
	}
}

/* Whether process PID sees files as another one that was looked at, or they cannot be told. */
static bool seen(struct search *s, const char *pid)
{
	struct stat namespace, root;
	bool is_new = false;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/ns/mnt", pid);
	if (stat(path, &namespace))
		return true;
	snprintf(path, sizeof(path), "/proc/%.20s/root", pid);
	if (!stat(path, &root)) {
		const u64 key[] = {namespace.st_ino, root.st_dev, root.st_ino};

		hashmap_put(&s->views, key, sizeof(key), &is_new);
	}
	return !is_new;
}

static void search_view(struct search *s, pid_t pid)
{
	const int root = foreign_root(pid);
	struct stat st;
	char path[24];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (root < 0 || stat(path, &st))
		goto out;
	if (++share_of(s, st.st_uid)->views > VIEWS_MAX)
		s->found->unseen++;
	else
		search_root(s, root, st.st_uid);
out:
	if (root >= 0)
		close(root);
}

static void search_containers(struct search *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	seen(s, "self");
	while (dir && (entry = readdir(dir)))
		if (*entry->d_name >= '0' && *entry->d_name <= '9' && !seen(s, entry->d_name))
			search_view(s, (pid_t)atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

void user_connect(struct user_processes *p, const struct user_selection *which)
{
	struct search s = {.found = p, .which = which};
	char path[512];
	int own;

	if (user_runtime(path, sizeof(path)))
		return;
	for (u32 i = 0; which && !which->nr_names && i < which->nr_pids; i++)
		vector_push(&s.numbers, user_inner_pid(which->pids[i]));
	own = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (own >= 0) {
		s.in_own = true;
		search_directory(&s, own);
		s.in_own = false;
		close(own);
	}
	/* PANTRACE_RUNTIME names the one place that counts */
	if (!secure_getenv("PANTRACE_RUNTIME")) {
		search_root(&s, -1, 0);
		for (size_t i = 0; i < s.numbers.len; i++)
			search_view(&s, which->pids[i]);
		if (!s.numbers.len)
			search_containers(&s);
	}
	vector_free(&s.numbers);
	hashmap_release(&s.views);
	hashmap_release(&s.directories);
	hashmap_each (&s.shares, e)
		free(e->value);
	hashmap_release(&s.shares);
}
