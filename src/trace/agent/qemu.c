/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/agent/qemu.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/vector.h"
#include "trace/agent/protocol.h"

#define WORDS_MOST   ((size_t)1 << 20) /* bytes of a command line */
#define SOCKETS_MOST ((size_t)16 << 20) /* bytes of the list of all Unix sockets */
#define USERS_MOST   ((size_t)16 << 20) /* bytes of /etc/passwd */
#define ENDS	     ",\"}" /* what ends a value */

/* Taken from its command line. */
struct guest {
	const char *pid; /* of its process */
	bool is_trusted; /* that it is QEMU, and what its command line says */
	char name[128]; /* "" = it has none */
	const char *chardev; /* id= of the port's, and what is behind it; NULL = it has no port */
	char path[256]; /* of the port's socket */
	u64 cid; /* of vsock; 0 = none */
};

typedef void guest_fn(void *arg, const struct guest *g);

/* KEY of "a,key=b,c", or of {"key":"b"} as libvirt has it: what follows; NULL: it is not there. */
static const char *value_of(const char *options, const char *key)
{
	const size_t n = strlen(key);
	const char *at = options;

	if (*options != '{') {
		for (; at; at = strchr(at, ','), at += at != NULL)
			if (str_starts(at, key) && at[n] == '=')
				return at + n + 1;
		return NULL;
	}
	while ((at = strstr(at + 1, key)))
		if (at[-1] == '"' && str_starts(at + n, "\":"))
			return at + n + 2 + (at[n + 2] == '"');
	return NULL;
}

static void copy_value(char *to, size_t size, const char *value)
{
	snprintf(to, size, "%.*s", (int)strcspn(value ?: "", ENDS), value ?: "");
}

static bool is_same(const char *a, const char *b)
{
	const size_t n = a ? strcspn(a, ENDS) : 0;

	return a && b && n == strcspn(b, ENDS) && !strncmp(a, b, n);
}

static void take_device(struct guest *g, const char *value)
{
	const char *const driver = *value == '{' ? value_of(value, "driver") ?: "" : value;
	const char *const cid = value_of(value, "guest-cid");

	if (is_same(driver, "virtserialport") &&
	    is_same(value_of(value, "name"), AGENT_VIRTIO_PORT))
		g->chardev = value_of(value, "chardev");
	if (str_starts(driver, "vhost-vsock") && cid)
		g->cid = strtoull(cid, NULL, 10);
}

static void take_name(struct guest *g, const char *value)
{
	copy_value(g->name, sizeof(g->name), value_of(value, "guest") ?: value);
}

/* An option and its value. */
static void each_option(const char *words, size_t n, struct guest *g,
			void (*fn)(struct guest *g, const char *option, const char *value))
{
	for (const char *at = words, *next; at < words + n; at = next) {
		next = at + strlen(at) + 1;
		if (*at == '-' && next < words + n)
			fn(g, at + 1 + (at[1] == '-'), next);
	}
}

static void take_option(struct guest *g, const char *option, const char *value)
{
	if (str_eq(option, "name"))
		take_name(g, value);
	else if (str_eq(option, "device"))
		take_device(g, value);
}

/* The path of a socket that QEMU was started with, as libvirt starts it: its descriptor there. */
static void path_of_descriptor(struct guest *g, u32 fd)
{
	char link[64], inode[64] = "", *text, *line, *rest;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%s/fd/%u", g->pid, fd);
	n = readlink(link, inode, sizeof(inode) - 1);
	if (n <= 0 || !str_starts(inode, "socket:["))
		return;
	inode[n - 1] = 0; /* the ']' */
	snprintf(link, sizeof(link), "/proc/%s/net/unix", g->pid);
	if (file_read(link, SOCKETS_MOST, &text, NULL))
		return;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *const at = strchr(line, '/');
		char found[32];

		/* Num: RefCount Protocol Flags Type St Inode Path */
		if (at && sscanf(line, "%*s %*s %*s %*s %*s %*s %31s", found) == 1 &&
		    str_eq(found, inode + strlen("socket:[")))
			snprintf(g->path, sizeof(g->path), "%s", at);
	}
	free(text);
}

/* Chardevs, which may come before or after the port. */
static void take_chardev(struct guest *g, const char *option, const char *value)
{
	const char *fd;

	if (!str_eq(option, "chardev") || !str_starts(value, "socket,") ||
	    !is_same(value_of(value, "id"), g->chardev))
		return;
	copy_value(g->path, sizeof(g->path), value_of(value, "path"));
	fd = value_of(value, "fd");
	if (fd && !*g->path)
		path_of_descriptor(g, (u32)strtoul(fd, NULL, 10));
}

static bool is_qemu(const char *word)
{
	const char *const slash = strrchr(word, '/');
	const char *const name = slash ? slash + 1 : word;

	return str_starts(name, "qemu-system-") || str_eq(name, "qemu-kvm") || str_eq(name, "kvm");
}

/* ---- whose it is ---- */

/* A line "NAME:x:UID:..." of /etc/passwd, if the name is one that libvirt runs QEMU as. */
static bool is_of_libvirt(const char *line, uid_t uid)
{
	static const char *const names[] = {"libvirt-qemu:", "qemu:"};
	const char *number;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		number = str_starts(line, names[i]) ? strchr(line + strlen(names[i]), ':') : NULL;
		if (number && strtoul(number + 1, NULL, 10) == uid)
			return true;
	}
	return false;
}

static bool is_libvirts(uid_t uid)
{
	char *text, *line, *rest;
	bool found = false;

	if (file_read("/etc/passwd", USERS_MOST, &text, NULL))
		return false;
	for (line = strtok_r(text, "\n", &rest); line && !found; line = strtok_r(NULL, "\n", &rest))
		found = is_of_libvirt(line, uid);
	free(text);
	return found;
}

/*
 * Any user can start a process that is called as QEMU is. One is taken for QEMU if it is root's,
 * our own user's, or of the user as whom libvirt runs guests. Its real user, too: a set-user-ID
 * program of root has the words that its caller gave it. (Who owns /proc/PID says neither: it is
 * root if the process wants that.)
 */
static bool is_trusted(const char *pid)
{
	char *const path = xasprintf("/proc/%s/status", pid), *text = NULL, *line;
	uid_t uids[2];
	bool good = !file_read(path, WORDS_MOST, &text, NULL);

	line = good ? strstr(text, "\nUid:") : NULL;
	good = line && sscanf(line + 5, "%u %u", &uids[0], &uids[1]) == 2;
	for (size_t i = 0; i < ARRAY_SIZE(uids) && good; i++)
		good = !uids[i] || uids[i] == geteuid() || is_libvirts(uids[i]);
	free(text);
	free(path);
	return good;
}

/* ---- all of them ---- */

static void each_guest(guest_fn *fn, void *arg)
{
	DIR *const dir = opendir("/proc");
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char *const path = xasprintf("/proc/%s/cmdline", e->d_name);
		struct guest g = {.pid = e->d_name};
		char *words;
		size_t n;

		if (isdigit((unsigned char)*e->d_name) &&
		    !file_read(path, WORDS_MOST, &words, &n)) {
			if (n && is_qemu(words)) {
				g.is_trusted = is_trusted(g.pid);
				each_option(words, n, &g, take_option);
				each_option(words, n, &g, take_chardev);
				fn(arg, &g);
			}
			free(words);
		}
		free(path);
	}
	if (dir)
		closedir(dir);
}

/* ---- one of them ---- */

struct search {
	const char *name;
	char *way;
	u32 found;
};

static void look(void *arg, const struct guest *g)
{
	struct search *const s = arg;

	if (!str_eq(s->name, g->pid) && !(g->is_trusted && str_eq(s->name, g->name)))
		return;
	s->found++;
	free(s->way);
	s->way = NULL;
	if (*g->path == '/')
		s->way = xasprintf("unix:%s", g->path);
	else if (*g->path)
		s->way = xasprintf("unix:/proc/%s/cwd/%s", g->pid, g->path);
	else if (g->cid)
		s->way = xasprintf("vsock:%" PRIu64, g->cid);
}

char *agent_way_of_guest(const char *name, struct diag *d)
{
	struct search s = {.name = name};

	each_guest(look, &s);
	if (s.found == 1 && s.way)
		return s.way;
	free(s.way);
	if (s.found > 1) {
		diag_error(d, NO_SPAN, "--guest '%s': %u guests are called so", name, s.found);
		diag_hint(d, "the number of its QEMU process names one");
	} else if (s.found) {
		diag_error(d, NO_SPAN,
			   "--guest '%s': its QEMU has neither a port " AGENT_VIRTIO_PORT
			   " with a socket, nor vsock",
			   name);
		diag_hint(d, "`pantrace agent --help` shows what QEMU needs");
	}
	return NULL;
}

struct peer_search {
	u64 cid;
	const char *path;
	pid_t process;
};

static void look_for_peer(void *arg, const struct guest *g)
{
	struct peer_search *const s = arg;

	if (!g->is_trusted)
		return;
	if ((s->cid && g->cid == s->cid) || (s->path && str_eq(g->path, s->path)))
		s->process = (pid_t)strtol(g->pid, NULL, 10);
}

pid_t agent_guest_process(u64 cid, const char *path)
{
	struct peer_search s = {.cid = cid, .path = path};

	each_guest(look_for_peer, &s);
	return s.process;
}

static void add_name(void *arg, const struct guest *g)
{
	struct strbuf *const names = arg;

	strbuf_addf(names, "%s%s", names->len ? ", " : "",
		    *g->name && g->is_trusted ? g->name : g->pid);
}

char *agent_guests(void)
{
	struct strbuf names = STRBUF_INIT;

	each_guest(add_name, &names);
	return names.len ? strbuf_detach(&names) : NULL;
}
