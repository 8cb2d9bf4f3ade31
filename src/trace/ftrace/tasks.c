/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/tasks.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"

#define MAX_FILE     (1u << 26)
#define RELOAD_EVERY 100000000 /* ns */
#define COMM_SIZE    56 /* 15 characters, each at most \xNN, and room */

struct task {
	s32 pid, tgid; /* pid 0: free slot */
	u8 len; /* of the name; 0 = unknown */
	char name[COMM_SIZE - 1];
};

/* Open addressing; the slots are the entries. */
struct task_names {
	struct task *slots;
	size_t nslots, used;
	bool raw, has_tgids;
	char *directory;
	u64 reloaded; /* ns */
};

struct task_names *task_names_new(bool raw_strings)
{
	struct task_names *t = xzalloc(sizeof(*t));

	t->raw = raw_strings;
	t->nslots = 256;
	t->slots = xzalloc(t->nslots * sizeof(*t->slots));
	return t;
}

void task_names_release(struct task_names *t)
{
	if (!t)
		return;
	free(t->slots);
	free(t->directory);
	free(t);
}

static struct task *slot_of(const struct task_names *t, s32 pid)
{
	size_t i = (u32)pid * 2654435761u & (t->nslots - 1);

	while (t->slots[i].pid && t->slots[i].pid != pid)
		i = (i + 1) & (t->nslots - 1);
	return &t->slots[i];
}

static void grow(struct task_names *t)
{
	struct task *old = t->slots;
	const size_t n = t->nslots;

	t->nslots *= 2;
	t->slots = xzalloc(t->nslots * sizeof(*t->slots));
	for (size_t i = 0; i < n; i++)
		if (old[i].pid)
			*slot_of(t, old[i].pid) = old[i];
	free(old);
}

static struct task *task_of(struct task_names *t, s32 pid)
{
	struct task *s = slot_of(t, pid);

	if (s->pid)
		return s;
	if (++t->used * 3 > t->nslots * 2) {
		grow(t);
		s = slot_of(t, pid);
	}
	s->pid = pid;
	return s;
}

static void set_name(struct task_names *t, s32 pid, const char *comm, size_t len)
{
	struct strbuf sb = STRBUF_INIT;
	struct task *s;

	if (pid <= 0)
		return;
	s = task_of(t, pid);
	if (t->raw)
		strbuf_add(&sb, comm, len);
	else
		escape_line(&sb, comm, len);
	s->len = (u8)MIN(sb.len, sizeof(s->name) - 1);
	memcpy(s->name, sb.data, s->len);
	s->name[s->len] = '\0';
	strbuf_release(&sb);
}

void task_names_set(struct task_names *t, s32 pid, const char *comm)
{
	set_name(t, pid, comm, strlen(comm));
}

void task_names_set_tgid(struct task_names *t, s32 pid, long tgid)
{
	if (pid <= 0 || tgid <= 0 || tgid > INT32_MAX)
		return;
	task_of(t, pid)->tgid = (s32)tgid;
	t->has_tgids = true;
}

/* A name may hold anything but NUL; one with a newline goes on in a line that does not begin with a
 * number. Our recorder has lines "-THREAD PROCESS". */
void task_names_add_cmdlines(struct task_names *t, const char *text)
{
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		char *blank;
		const long pid = strtol(line, &blank, 10);

		end = strchrnul(line, '\n');
		if (blank == line || *blank != ' ' || blank >= end || pid > INT32_MAX ||
		    pid < -INT32_MAX)
			continue;
		if (pid < 0)
			task_names_set_tgid(t, (s32)-pid, strtol(blank + 1, NULL, 10));
		else
			set_name(t, (s32)pid, blank + 1, (size_t)(end - blank - 1));
	}
}

void task_names_add_tgids(struct task_names *t, const char *text)
{
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		int pid, tgid;

		end = strchrnul(line, '\n');
		if (sscanf(line, "%d %d", &pid, &tgid) == 2)
			task_names_set_tgid(t, pid, tgid);
	}
}

/* ---- of a running kernel ---- */

static void reload_file(struct task_names *t, const char *file,
			void (*add)(struct task_names *t, const char *text))
{
	char *path = xasprintf("%s/%s", t->directory, file), *text;

	if (!file_read(path, MAX_FILE, &text, NULL)) {
		add(t, text);
		free(text);
	}
	free(path);
}

void task_names_reload(struct task_names *t)
{
	if (!t->directory)
		return;
	t->reloaded = clock_now_ns(CLOCK_MONOTONIC);
	reload_file(t, "saved_cmdlines", task_names_add_cmdlines);
	reload_file(t, "saved_tgids", task_names_add_tgids);
}

void task_names_follow(struct task_names *t, const char *tracefs)
{
	free(t->directory);
	t->directory = xstrdup(tracefs);
}

static struct task *find(struct task_names *t, s32 pid)
{
	struct task *s = slot_of(t, pid);

	if (s->pid && s->len)
		return s;
	if (t->directory && clock_now_ns(CLOCK_MONOTONIC) - t->reloaded >= RELOAD_EVERY) {
		task_names_reload(t);
		s = slot_of(t, pid);
	}
	return s->pid ? s : NULL;
}

const char *task_name(struct task_names *t, s32 pid, size_t *ret_len)
{
	const struct task *s = pid > 0 ? find(t, pid) : NULL;
	const char *name = !pid ? "<idle>" : pid < 0 ? "<XXX>" : s && s->len ? s->name : "<...>";

	if (ret_len)
		*ret_len = s && s->len ? s->len : strlen(name);
	return name;
}

bool task_names_have_tgids(const struct task_names *t)
{
	return t->has_tgids;
}

s32 task_tgid(struct task_names *t, s32 pid)
{
	const struct task *s = pid > 0 ? find(t, pid) : NULL;

	return s ? s->tgid : 0;
}
