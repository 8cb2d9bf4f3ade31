// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/tracked.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/escape.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/options.h"

static const struct attribute {
	const char *name;
	const char *file; /* where names of ids stand; NULL: ids are numbers */
	const char *what;
	const char *namespace; /* NULL: numbers are the process's own */
	const char *field; /* of /proc/PID/status: the number that we see */
} attributes[USER_ATTRIBUTES] = {
	[USER_PID] = {"pid", NULL, "process id", "pid", NULL},
	[USER_UID] = {"uid", "/etc/passwd", "user", "user", "\nUid:"},
	[USER_GID] = {"gid", "/etc/group", "group", "user", "\nGid:"},
	[USER_VPID] = {"vpid", NULL, "process id", NULL, NULL},
	[USER_VUID] = {"vuid", "/etc/passwd", "user", NULL, NULL},
	[USER_VGID] = {"vgid", "/etc/group", "group", NULL, NULL},
};

const char *user_attribute_name(enum user_attribute attribute)
{
	return attributes[attribute].name;
}

/* ---- names of users and groups ---- */

/* Calls FN with "NAME" and the id of each line "NAME:x:ID:..." until it returns true. */
static bool names_each(const char *file, bool (*fn)(void *arg, const char *name, u32 id), void *arg)
{
	char *text, *line, *save;
	bool found = false;

	if (file_read(file, 16 << 20, &text, NULL))
		return false;
	for (line = strtok_r(text, "\n", &save); line && !found;
	     line = strtok_r(NULL, "\n", &save)) {
		char *second = strchr(line, ':');
		const char *third = second ? strchr(second + 1, ':') : NULL;

		if (!third)
			continue;
		*second = '\0';
		found = fn(arg, line, (u32)strtoul(third + 1, NULL, 10));
	}
	free(text);
	return found;
}

struct lookup {
	const char *name;
	u32 id;
	char found[64];
	VECTOR(const char *) all;
};

static bool by_name(void *arg, const char *name, u32 id)
{
	struct lookup *l = arg;

	if (str_eq(name, l->name)) {
		l->id = id;
		return true;
	}
	vector_push(&l->all, xstrdup(name));
	return false;
}

static bool by_id(void *arg, const char *name, u32 id)
{
	struct lookup *l = arg;

	snprintf(l->found, sizeof(l->found), "%s", name);
	return id == l->id;
}

static int id_parse(const struct attribute *a, const char *word, u32 *ret, struct diag *d)
{
	struct lookup l = {.name = word};
	u64 value;
	int rc = 0;

	if (!parse_u64(word, &value) && value < (a->file ? UINT32_MAX : INT32_MAX) &&
	    (value || a->file)) {
		*ret = (u32)value;
		return 0;
	}
	if (!a->file || !*word) {
		diag_error(d, NO_SPAN, "'%s' is no %s", word, a->what);
		return -EINVAL;
	}
	if (!names_each(a->file, by_name, &l)) {
		diag_error(d, NO_SPAN, "there is no %s '%s' in %s", a->what, word, a->file);
		diag_hint_nearest(d, word, l.all.items, (u32)l.all.len);
		rc = -ENOENT;
	}
	*ret = l.id;
	for (size_t i = 0; i < l.all.len; i++)
		free((char *)l.all.items[i]);
	vector_free(&l.all);
	return rc;
}

int user_attribute_parse(enum user_attribute attribute, const char *list,
			 u32 ids[PANTRACE_TRACKED_MAX], u32 *nr, struct diag *d)
{
	const struct attribute *const a = &attributes[attribute];

	for (const char *p = list;; p++) {
		const size_t n = strcspn(p, ",");
		char *word = xstrndup(p, n);
		int rc = 0;

		if (*nr == PANTRACE_TRACKED_MAX) {
			diag_error(d, NO_SPAN, "more than %d ids", PANTRACE_TRACKED_MAX);
			rc = -E2BIG;
		}
		if (!rc)
			rc = id_parse(a, word, &ids[*nr], d);
		free(word);
		if (rc)
			return rc;
		++*nr;
		p += n;
		if (!*p)
			return 0;
	}
}

/* ---- sets ---- */

static bool find(const struct user_tracked *t, enum user_attribute attribute, u32 id, u32 *ret)
{
	for (u32 i = 0; i < t->nr; i++) {
		if (t->value[i].attribute != attribute || t->value[i].id != id)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

bool user_tracked_add(struct user_tracked *t, enum user_attribute attribute, u32 id)
{
	u32 at;

	t->none = false;
	t->limited[attribute] = true;
	if (find(t, attribute, id, &at))
		return true;
	if (t->nr == PANTRACE_TRACKED_MAX)
		return false;
	t->value[t->nr].attribute = attribute;
	t->value[t->nr++].id = id;
	return true;
}

bool user_tracked_remove(struct user_tracked *t, enum user_attribute attribute, u32 id)
{
	u32 at;

	if (!find(t, attribute, id, &at))
		return false;
	t->nr--;
	memmove(&t->value[at], &t->value[at + 1], (t->nr - at) * sizeof(t->value[0]));
	return true;
}

void user_tracked_set(struct user_tracked *t, enum user_attribute attribute, bool all)
{
	u32 kept = 0;

	for (u32 i = 0; i < t->nr; i++)
		if (t->value[i].attribute != attribute)
			t->value[kept++] = t->value[i];
	t->nr = kept;
	t->limited[attribute] = !all;
	if (all)
		t->none = false;
}

/* ---- lines ---- */

/* "ID [NAMESPACE] N,N,..." */
static void line_read(const char *line, struct user_tracked *t)
{
	const size_t n = strcspn(line, " \n");

	if (n == 4 && !strncmp(line, "none", n)) {
		t->none = true;
		return;
	}
	for (enum user_attribute a = 0; a < USER_ATTRIBUTES; a++) {
		const char *p = line + n;
		char *end;

		if (strlen(attributes[a].name) != n || strncmp(line, attributes[a].name, n) != 0)
			continue;
		t->limited[a] = true;
		if (attributes[a].namespace && *p == ' ')
			p += 1 + strcspn(p + 1, " \n");
		while (*p == ' ' || *p == ',') {
			const unsigned long id = strtoul(p + 1, &end, 10);

			if (end == p + 1 || id > UINT32_MAX || !user_tracked_add(t, a, (u32)id))
				break;
			p = end;
		}
		return;
	}
}

void user_tracked_read(const char *text, struct user_tracked *ret)
{
	bool none = false;

	*ret = (struct user_tracked){0};
	for (const char *line = text; line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (str_starts(line, "tracked "))
			line_read(line + strlen("tracked "), ret);
		none |= ret->none;
	}
	ret->none = none;
}

static u64 namespace_of(pid_t pid, const char *name)
{
	char path[64] = "/proc/self/ns/", *to = path + strlen(path);
	struct stat st;

	if (pid)
		to = path + snprintf(path, sizeof(path), "/proc/%d/ns/", (int)pid);
	snprintf(to, sizeof(path) - (size_t)(to - path), "%s", name);
	return stat(path, &st) ? 0 : st.st_ino;
}

static bool elsewhere(pid_t pid, const char *namespace)
{
	const u64 there = namespace_of(pid, namespace);

	return there && there != namespace_of(0, namespace);
}

bool user_tracked_elsewhere(pid_t pid)
{
	return elsewhere(pid, "pid") || elsewhere(pid, "user");
}

/*
 * The last number of "NSpid:", which is the process's own; else the first of FIELD, which is ours.
 */
static bool status_number(pid_t pid, const char *field, u32 *ret)
{
	char path[64], *text, *line;
	size_t len;
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (file_read(path, 65536, &text, &len))
		return false;
	line = strstr(text, field ? field : "\nNSpid:");
	rc = line ? 0 : -ENOENT;
	if (line) {
		line += strcspn(line, ":") + 1;
		line[strcspn(line, "\n")] = '\0';
		if (!field && strrchr(line, '\t'))
			line = strrchr(line, '\t');
		*ret = (u32)strtoul(line, NULL, 10);
	}
	free(text);
	return !rc;
}

static void set_line(const struct user_tracked *t, enum user_attribute a, struct strbuf *ret)
{
	char before = ' ';

	strbuf_addf(ret, "tracked %s", attributes[a].name);
	if (attributes[a].namespace)
		strbuf_addf(ret, " %" PRIu64, namespace_of(0, attributes[a].namespace));
	for (u32 i = 0; i < t->nr; i++) {
		if (t->value[i].attribute != a)
			continue;
		strbuf_addf(ret, "%c%u", before, t->value[i].id);
		before = ',';
	}
	strbuf_addch(ret, '\n');
}

/*
 * Whether a process that has other numbers than we see is meant: then one of its own stands for it.
 */
static void line_elsewhere(const struct user_tracked *t, enum user_attribute a, pid_t pid,
			   struct strbuf *ret)
{
	u32 ours = (u32)pid, own = 0, at;

	if (attributes[a].field && !status_number(pid, attributes[a].field, &ours))
		return;
	if (!find(t, a, ours, &at))
		strbuf_addstr(ret, "tracked none\n");
	else if (a == USER_PID && status_number(pid, NULL, &own))
		strbuf_addf(ret, "tracked pid 0 %u\n", own);
}

void user_tracked_lines(const struct user_tracked *t, pid_t pid, struct strbuf *ret)
{
	if (t->none)
		strbuf_addstr(ret, "tracked none\n");
	for (enum user_attribute a = 0; a < USER_ATTRIBUTES; a++) {
		if (!t->limited[a])
			continue;
		if (pid && attributes[a].namespace && elsewhere(pid, attributes[a].namespace))
			line_elsewhere(t, a, pid, ret);
		else
			set_line(t, a, ret);
	}
}

bool user_tracked_has(const struct user_tracked *t, pid_t pid)
{
	for (enum user_attribute a = 0; a < USER_ATTRIBUTES; a++) {
		u32 id = (u32)pid, at;

		if (!t->limited[a])
			continue;
		/* the process's own ids are ours, unless it has a user namespace of its own */
		if ((a == USER_VPID && !status_number(pid, NULL, &id)) ||
		    ((a == USER_UID || a == USER_VUID) && !status_number(pid, "\nUid:", &id)) ||
		    ((a == USER_GID || a == USER_VGID) && !status_number(pid, "\nGid:", &id)) ||
		    !find(t, a, id, &at))
			return false;
	}
	return !t->none;
}

/* ---- for people and programs ---- */

static void id_text(enum user_attribute a, u32 id, struct strbuf *ret)
{
	struct lookup l = {.id = id};

	if (attributes[a].file && names_each(attributes[a].file, by_id, &l))
		escape_line(ret, l.found, strlen(l.found));
	else
		strbuf_addf(ret, "%u", id);
}

void user_tracked_text(const struct user_tracked *t, struct strbuf *ret)
{
	const char *between = "";

	if (t->none)
		strbuf_addstr(ret, "no process");
	for (enum user_attribute a = 0; a < USER_ATTRIBUTES && !t->none; a++) {
		const char *before = " ";

		if (!t->limited[a])
			continue;
		strbuf_addf(ret, "%s%s", between, attributes[a].name);
		between = "; ";
		for (u32 i = 0; i < t->nr; i++) {
			if (t->value[i].attribute != a)
				continue;
			strbuf_addstr(ret, before);
			id_text(a, t->value[i].id, ret);
			before = ", ";
		}
		if (*before == ' ')
			strbuf_addstr(ret, " none");
	}
}

void user_tracked_json(const struct user_tracked *t, struct json *j)
{
	json_object(j);
	for (enum user_attribute a = 0; a < USER_ATTRIBUTES; a++) {
		if (!t->limited[a] && !(t->none && a == USER_PID))
			continue;
		json_key(j, attributes[a].name);
		json_array(j);
		for (u32 i = 0; i < t->nr; i++)
			if (t->value[i].attribute == a)
				json_u64(j, t->value[i].id);
		json_end(j, ']');
	}
	json_end(j, '}');
}
