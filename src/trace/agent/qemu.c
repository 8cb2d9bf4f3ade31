/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/agent/qemu.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>

#include "base/file.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/vector.h"
#include "trace/agent/protocol.h"

#define WORDS_MOST ((size_t)1 << 20) /* bytes of a command line */
#define PORT	   "name=" AGENT_VIRTIO_PORT

/* What its command line says. */
struct guest {
	const char *pid; /* of its process */
	char name[128]; /* "" = it has none */
	const char *chardev; /* id= of the port's, and what is behind it; NULL = it has no port */
	char path[256]; /* of the port's socket */
	u64 cid; /* of vsock; 0 = none */
};

typedef void guest_fn(void *arg, const struct guest *g);

/* KEY= of "a,key=b,c": what is behind the '='; NULL: it is not there. */
static const char *value_of(const char *options, const char *key)
{
	const size_t n = strlen(key);

	for (const char *at = options; at; at = strchr(at, ','), at += at != NULL)
		if (str_starts(at, key) && at[n] == '=')
			return at + n + 1;
	return NULL;
}

static void copy_value(char *to, size_t size, const char *value)
{
	snprintf(to, size, "%.*s", (int)strcspn(value ?: "", ","), value ?: "");
}

static bool is_same(const char *a, const char *b)
{
	const size_t n = strcspn(a, ",");

	return n == strcspn(b, ",") && !strncmp(a, b, n);
}

static void take_device(struct guest *g, const char *value)
{
	const char *cid = value_of(value, "guest-cid") ?: strstr(value, "\"guest-cid\":");

	if (str_starts(value, "virtserialport,") && strstr(value, PORT))
		g->chardev = value_of(value, "chardev");
	if (strstr(value, "vhost-vsock") && cid)
		g->cid = strtoull(cid + (*cid == '"' ? strlen("\"guest-cid\":") : 0), NULL, 10);
}

static void take_name(struct guest *g, const char *value)
{
	copy_value(g->name, sizeof(g->name), value_of(value, "guest") ?: value);
}

/* Each option and its value. */
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

/* Chardevs, which may stand before the port or behind it. */
static void take_chardev(struct guest *g, const char *option, const char *value)
{
	const char *id;

	if (!str_eq(option, "chardev") || !g->chardev || !str_starts(value, "socket,"))
		return;
	id = value_of(value, "id");
	if (id && is_same(id, g->chardev))
		copy_value(g->path, sizeof(g->path), value_of(value, "path"));
}

static bool is_qemu(const char *word)
{
	const char *const slash = strrchr(word, '/');
	const char *const name = slash ? slash + 1 : word;

	return str_starts(name, "qemu-system-") || str_eq(name, "qemu-kvm") || str_eq(name, "kvm");
}

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

	if (!str_eq(s->name, g->name) && !str_eq(s->name, g->pid))
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

static void add_name(void *arg, const struct guest *g)
{
	struct strbuf *const names = arg;

	strbuf_addf(names, "%s%s", names->len ? ", " : "", *g->name ? g->name : g->pid);
}

char *agent_guests(void)
{
	struct strbuf names = STRBUF_INIT;

	each_guest(add_name, &names);
	return names.len ? strbuf_detach(&names) : NULL;
}
