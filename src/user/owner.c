// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/owner.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define STATUS_MAX 65536u

/* What /proc says of a process. */
struct status {
	uid_t uids[3];
	pid_t inner; /* its number in its own pid namespace */
	int seccomp; /* 0: its first thread is not confined */
};

static bool status_read(const char *pid, struct status *ret)
{
	char path[48], *text, *line;
	size_t len;
	bool good;

	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	if (file_read(path, STATUS_MAX, &text, &len))
		return false;
	line = strstr(text, "\nUid:");
	good = line &&
	       sscanf(line + 5, "%u %u %u", &ret->uids[0], &ret->uids[1], &ret->uids[2]) == 3;
	line = strstr(text, "\nSeccomp:");
	ret->seccomp = line ? atoi(line + 9) : 0;
	ret->inner = 0;
	line = strstr(text, "\nNSpid:");
	if (line) {
		line[1 + strcspn(line + 1, "\n")] = '\0';
		line = strrchr(line, '\t');
		ret->inner = line ? (pid_t)atoi(line + 1) : 0;
	}
	free(text);
	return good;
}

static bool has_uid(const struct status *s, uid_t uid)
{
	return s->uids[0] == uid || s->uids[1] == uid || s->uids[2] == uid;
}

static bool is_trusted(uid_t uid)
{
	return !uid || uid == geteuid();
}

enum user_of user_is_of(pid_t pid, uid_t uid)
{
	struct status status;
	char name[24];

	if (is_trusted(uid))
		return USER_OF_YES;
	snprintf(name, sizeof(name), "%d", (int)pid);
	if (!status_read(name, &status))
		return USER_OF_GONE;
	return has_uid(&status, uid) ? USER_OF_YES : USER_OF_NO;
}

pid_t user_inner_pid(pid_t pid)
{
	struct status status;
	char name[24];

	snprintf(name, sizeof(name), "%d", (int)pid);
	return status_read(name, &status) ? status.inner : 0;
}

bool user_is_confined(pid_t pid)
{
	struct status status;
	char name[24];

	snprintf(name, sizeof(name), "%d", (int)pid);
	return pid > 0 && status_read(name, &status) && status.seccomp;
}

static u64 pid_namespace_of(const char *pid)
{
	char path[48];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.20s/ns/pid", pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

struct place {
	u64 pid_namespace, pid; /* the number there */
};

static void elsewhere_release(struct user_owners *o)
{
	hashmap_each (&o->elsewhere, e)
		free(e->value);
	hashmap_release(&o->elsewhere);
}

void user_owners_look(struct user_owners *o)
{
	o->has_looked = false;
}

static void look_around(struct user_owners *o)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	elsewhere_release(o);
	o->has_looked = true;
	while (dir && (entry = readdir(dir))) {
		struct place place;
		struct status status;
		bool is_new;
		void **to;

		if (*entry->d_name < '1' || *entry->d_name > '9' ||
		    !status_read(entry->d_name, &status))
			continue;
		place = (struct place){pid_namespace_of(entry->d_name), (u64)status.inner};
		to = hashmap_put(&o->elsewhere, &place, sizeof(place), &is_new);
		if (is_new) {
			*to = xmalloc(sizeof(status));
			memcpy(*to, &status, sizeof(status));
		}
	}
	if (dir)
		closedir(dir);
}

/* The process that has number PID there; of those that we can see. */
static enum user_of is_of_namespace(struct user_owners *o, const struct place *place, uid_t uid)
{
	const struct status *status;

	if (!o->has_looked)
		look_around(o);
	status = hashmap_get(&o->elsewhere, place, sizeof(*place));
	return !status ? USER_OF_GONE : has_uid(status, uid) ? USER_OF_YES : USER_OF_NO;
}

bool user_owner_good(struct user_owners *o, uid_t owner, pid_t pid, u64 pid_namespace)
{
	const struct place key = {pid_namespace, (u64)pid};
	void *const ours = (void *)((uintptr_t)owner + 1), *noted;
	enum user_of of;

	if (is_trusted(owner))
		return true;
	of = pid_namespace == pid_namespace_of("self") ? user_is_of(pid, owner)
						       : is_of_namespace(o, &key, owner);
	if (of == USER_OF_YES) {
		*hashmap_put(&o->by_process, &key, sizeof(key), NULL) = ours;
		return true;
	}
	noted = hashmap_get(&o->by_process, &key, sizeof(key));
	if (of == USER_OF_GONE && (!noted || noted == ours))
		return true;
	o->refused++;
	return false;
}

bool user_owner_handed(struct user_owners *o, uid_t owner, pid_t peer, uid_t peer_uid, pid_t pid,
		       u64 pid_namespace)
{
	struct status status;
	char name[24];
	bool alive;

	if (is_trusted(owner) && is_trusted(peer_uid))
		return true;
	snprintf(name, sizeof(name), "%d", (int)peer);
	alive = peer && status_read(name, &status);
	if (alive ? (owner == peer_uid || has_uid(&status, owner)) &&
			    (!status.inner || status.inner == pid)
		  : !peer && owner == peer_uid)
		return true;
	/* a short program has handed over its rings and is gone */
	if (peer && !alive && owner == peer_uid)
		return user_owner_good(o, owner, pid, pid_namespace);
	o->refused++;
	return false;
}

void user_owners_release(struct user_owners *o)
{
	elsewhere_release(o);
	hashmap_release(&o->by_process);
}
