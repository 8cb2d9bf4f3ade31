// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/absent.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/foreign.h"
#include "binary/elf/user_events.h"
#include "binary/process/maps.h"
#include "user/description.h"
#include "user/owner.h"
#include "user/process.h"

#define AT_ONCE	    16u /* processes, while rings fill up */
#define KNOWN_MAX   100000u
#define LIST_NS	    5000000000ull
#define SURE_NS	    300000000ull /* a program that begins has its socket, or rings, by then */
#define MOUNTS_MAX  (4u << 20)
#define ENVIRON_MAX (1u << 20)

static void *const YES = &(char){1}, *const NO = &(char){0};

/* ---- files ---- */

/* The inode of a namespace of process PID, 0: it is gone. */
static u64 namespace_of(pid_t pid, const char *kind)
{
	char path[48];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
	return stat(path, &st) ? 0 : st.st_ino;
}

/*
 * What a list of mounts says of a device. A file of a FUSE file system is read by a program of its
 * user's, which need not answer; one that no list has may be such. The list is the process's, or
 * ours where it has a user namespace of its own: there it mounts what it likes (an overlay over
 * FUSE), and leaves out what others have.
 */
static bool device_good(struct absent *a, pid_t pid, const struct process_mapping *m)
{
	const bool is_own = namespace_of(pid, "user") != namespace_of(getpid(), "user");
	const pid_t of = is_own ? getpid() : pid;
	char device[32], path[32], *text, *line, *save, *key;
	void **good;
	bool is_new;
	size_t len;

	snprintf(device, sizeof(device), " %u:%u ", m->major, m->minor);
	key = xasprintf("%" PRIu64 "%s", namespace_of(of, "mnt"), device);
	good = hashmap_put(&a->devices, key, strlen(key), &is_new);
	free(key);
	if (!is_new)
		return *good == YES;
	*good = NO;
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)of);
	if (file_read(path, MOUNTS_MAX, &text, &len))
		return false;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *const type = strstr(line, " - ");

		if (type && strstr(line, device) && !str_starts(type, " - fuse"))
			*good = YES;
	}
	free(text);
	return *good == YES;
}

/* The very file that is mapped, whatever has its name by now. */
static int mapped_open(pid_t pid, const struct process_mapping *m)
{
	char link[80], *path;
	struct stat st;
	int fd;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, m->start,
		 m->end);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 || !geteuid())
		return fd;
	/* that takes a capability; our own processes' files can be had by name */
	path = m->kind == MAPPING_FILE ? process_path(pid, m->path) : NULL;
	fd = path ? foreign_open(path, &st) : -ENOENT;
	free(path);
	return fd;
}

static int event_wanted(void *arg, const char *line)
{
	unsigned int level;
	int n = 0;

	return sscanf(line, "event %*u %*u %u %n", &level, &n) == 1 && n &&
	       user_description_wants(arg, line + n, level);
}

static bool has_events(struct absent *a, int fd)
{
	struct elf_file *file;
	bool yes;

	if (elf_file_open_fd(fd, "", &file))
		return false;
	yes = elf_file_each_user_event(file, event_wanted, a->session->text) == 1;
	elf_file_close(file);
	return yes;
}

struct mappings {
	struct absent *a;
	pid_t pid;
};

static int mapping_look(void *arg, const struct process_mapping *m)
{
	const struct mappings *const of = arg;
	const struct {
		u64 device, inode;
	} key = {(u64)m->major << 32 | m->minor, m->inode};
	void *known;
	int fd;

	if (m->kind != MAPPING_FILE && m->kind != MAPPING_DELETED)
		return 0;
	known = hashmap_get(&of->a->files, &key, sizeof(key));
	if (known)
		return known == YES;
	/* what cannot be read by way of this process may be so by another's */
	fd = device_good(of->a, of->pid, m) ? mapped_open(of->pid, m) : -1;
	if (fd < 0)
		return 0;
	known = has_events(of->a, fd) ? YES : NO;
	*hashmap_put(&of->a->files, &key, sizeof(key), NULL) = known;
	close(fd);
	return known == YES;
}

/* ---- processes ---- */

/* The value of a variable in the environment with which its program began; "": none. */
static void environment(pid_t pid, const char *name, char *ret, size_t size)
{
	char path[32], *text;
	size_t len;

	*ret = '\0';
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	if (file_read(path, ENVIRON_MAX, &text, &len))
		return;
	for (const char *v = text; v < text + len; v += strlen(v) + 1)
		if (str_starts(v, name) && v[strlen(name)] == '=')
			snprintf(ret, size, "%s", v + strlen(name) + 1);
	free(text);
}

/* Whether it has more rights than who has started it, as setuid programs. */
static bool is_secure(pid_t pid)
{
	char path[32], *data;
	bool yes = false;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	if (file_read(path, 65536, &data, &len))
		return false;
	for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= len; at += sizeof(Elf64_auxv_t)) {
		Elf64_auxv_t entry;

		memcpy(&entry, data + at, sizeof(entry));
		yes |= entry.a_type == AT_SECURE && entry.a_un.a_val;
	}
	free(data);
	return yes;
}

static void name_of(pid_t pid, char ret[17])
{
	char path[32], *text;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	snprintf(ret, 17, "?");
	if (file_read(path, 64, &text, &len))
		return;
	snprintf(ret, 17, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
}

/* Whether the session is for it. */
static bool is_meant(const struct absent *a, pid_t pid)
{
	char name[17], files[4096];
	bool yes;

	name_of(pid, name);
	yes = user_description_means(a->session->text, name, pid);
	if (!yes && strstr(a->session->text, "\nfor environment\n")) {
		environment(pid, "PANTRACE_SESSION", files, sizeof(files));
		yes = strstr(files, a->session->file);
	}
	return yes && user_tracked_has(&a->tracked, pid);
}

/* Whether it has a socket at which it is asked, or rings. */
static bool is_present(const struct absent *a, pid_t pid)
{
	const struct user_selection which = {.pids = &pid, .nr_pids = 1};
	struct user_processes found = {0};
	char path[32];
	struct stat st;
	bool yes;

	user_ask(&found, &which, NULL, 0);
	yes = found.all.len;
	user_processes_release(&found);
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return yes || (!stat(path, &st) && a->has_rings(a->arg, user_inner_pid(pid), st.st_ino));
}

/* Pages that the process has mapped, which change with its files; 0: a thread of the kernel. */
static u64 size_of(pid_t pid)
{
	char path[32], *text;
	size_t len;
	u64 pages;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (file_read(path, 4096, &text, &len))
		return 0;
	pages = strtoull(text, NULL, 10);
	free(text);
	return pages;
}

static void look_at(struct absent *a, pid_t pid)
{
	const u64 key[] = {(u64)pid, size_of(pid)};
	struct mappings of = {a, pid};
	bool is_new = false;

	if (key[1])
		hashmap_put(&a->looked, key, sizeof(key), &is_new);
	if (is_new && process_each_mapping(pid, mapping_look, &of) == 1 && is_meant(a, pid))
		vector_push(&a->suspects,
			    ((struct absent_one){pid, clock_now_ns(CLOCK_MONOTONIC)}));
}

static void say(struct absent *a, pid_t pid)
{
	char name[17], control[8];
	struct strbuf text = STRBUF_INIT;
	const char *reason = "it has events that are asked for, but no socket where programs are "
			     "looked for (a directory that it may not write to, or its own "
			     "XDG_RUNTIME_DIR or PANTRACE_RUNTIME)";

	name_of(pid, name);
	environment(pid, "PANTRACE_CONTROL", control, sizeof(control));
	if (str_eq(control, "0"))
		reason = "it was started with PANTRACE_CONTROL=0";
	else if (is_secure(pid))
		reason = "it has more rights than who has started it (setuid), and so listens to "
			 "nobody";
	user_refusal_text(&text, pid, name, reason, 0);
	a->say(a->arg, text.data);
	strbuf_release(&text);
}

/* Those who have had time enough to come. */
static void suspects_judge(struct absent *a)
{
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);
	size_t kept = 0;

	for (size_t i = 0; i < a->suspects.len; i++) {
		const struct absent_one one = a->suspects.items[i];
		char name[17];
		bool is_new;

		if (now - one.seen_ns < SURE_NS) {
			a->suspects.items[kept++] = one;
			continue;
		}
		name_of(one.pid, name);
		if (str_eq(name, "?") || is_present(a, one.pid))
			continue;
		hashmap_put(&a->told, &one.pid, sizeof(one.pid), &is_new);
		if (is_new)
			say(a, one.pid);
	}
	a->suspects.len = kept;
}

static void list(struct absent *a)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *end;
		const long pid = strtol(entry->d_name, &end, 10);

		if (!*end && pid > 0 && pid != getpid())
			vector_push(&a->queue, (pid_t)pid);
	}
	if (dir)
		closedir(dir);
}

void absent_begin(struct absent *a)
{
	user_tracked_read(a->session->text, &a->tracked);
}

void absent_look(struct absent *a, bool last)
{
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);

	/* it names the one place that counts */
	if (secure_getenv("PANTRACE_RUNTIME"))
		return;
	if (a->looked.len > KNOWN_MAX)
		hashmap_release(&a->looked);
	if (a->files.len > KNOWN_MAX)
		hashmap_release(&a->files);
	if (last || (!a->queue.len && now - a->listed_ns >= LIST_NS)) {
		a->queue.len = 0;
		list(a);
		a->listed_ns = now;
	}
	for (u32 i = 0; a->queue.len && (last || i < AT_ONCE); i++)
		look_at(a, a->queue.items[--a->queue.len]);
	if (last && a->suspects.len)
		usleep(SURE_NS / 1000);
	suspects_judge(a);
}

void absent_release(struct absent *a)
{
	hashmap_release(&a->files);
	hashmap_release(&a->devices);
	hashmap_release(&a->looked);
	hashmap_release(&a->told);
	vector_free(&a->queue);
	vector_free(&a->suspects);
}

static bool none_has_rings(void *arg, pid_t inner, u64 pid_namespace)
{
	return false;
}

static void warn(void *arg, const char *text)
{
	diag_warning(arg, NO_SPAN, "%s", text);
}

void absent_warn(const struct user_session *session, struct diag *d)
{
	struct absent a = {.session = session, .has_rings = none_has_rings, .say = warn, .arg = d};

	absent_begin(&a);
	absent_look(&a, true);
	absent_release(&a);
}
