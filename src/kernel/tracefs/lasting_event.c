/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/lasting_event.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "kernel/kernel_internal.h"
#include "kernel/tracefs/owner.h"
#include "kernel/tracefs/walk.h"

#define LIST_MAX ((size_t)256 << 20)

static const char *list_of(bool is_user)
{
	return is_user ? "uprobe_events" : "kprobe_events";
}

/* "r10:GROUP/NAME PLACE ARGS": cut up in place. False: it is none, or a run's own. */
static bool parse_line(char *line, struct lasting_event *ret)
{
	char *name = strchr(line, ':'), *slash, *place, *arguments;
	struct tracefs_owner owner;
	const char *rest;

	if (!name || (*line != 'p' && *line != 'r'))
		return false;
	ret->is_return = *line == 'r';
	ret->group = ++name;
	slash = strchr(name, '/');
	place = slash ? strchr(slash, ' ') : NULL;
	if (!place)
		return false;
	*slash = '\0';
	*place++ = '\0';
	ret->name = slash + 1;
	ret->place = place;
	arguments = strchr(place, ' ');
	if (arguments)
		*arguments++ = '\0';
	ret->arguments = arguments ? arguments : "";
	return !tracefs_owner_parse(ret->group, &owner, &rest);
}

static int each_of(const char *tracefs, bool is_user,
		   int (*fn)(void *arg, const struct lasting_event *e), void *arg)
{
	char *path = xasprintf("%s/%s", tracefs, list_of(is_user)), *text, *line, *rest;
	int err = file_read(path, LIST_MAX, &text, NULL);

	free(path);
	if (err) /* kernels without kprobes have no such file */
		return err == -ENOENT ? 0 : err;
	for (line = strtok_r(text, "\n", &rest); line && !err; line = strtok_r(NULL, "\n", &rest)) {
		struct lasting_event e = {.is_user = is_user};

		if (parse_line(line, &e))
			err = fn(arg, &e);
	}
	free(text);
	return err;
}

int lasting_events_each(struct kernel *k, int (*fn)(void *arg, const struct lasting_event *e),
			void *arg)
{
	const char *const tracefs = kernel_tracefs(k);
	int err;

	if (!tracefs)
		return -errno;
	err = each_of(tracefs, false, fn, arg);
	return err ? err : each_of(tracefs, true, fn, arg);
}

int lasting_event_define(struct kernel *k, struct diag *d, bool is_user,
			 const struct tracefs_command *c, const char *what)
{
	const enum kernel_capability needs = is_user ? KERNEL_UPROBES : KERNEL_KPROBES;
	const char *const root = kernel_tracefs(k);
	const struct kernel_answer *a;
	int err;

	err = root ? tracefs_command_write(k, root, list_of(is_user), O_APPEND, c, d, what)
		   : -errno;
	if (root && err != -ENOENT)
		return err;
	if (!root) {
		diag_error(d, NO_SPAN, "%s: tracefs cannot be used: %s", what, strerror(-err));
		diag_code(d, err == -EACCES || err == -EPERM ? EXIT_PRIVILEGE : EXIT_UNSUPPORTED);
	}
	a = kernel_ask(k, root ? needs : KERNEL_TRACEFS);
	if (!a->yes && a->why)
		diag_hint(d, "%s", a->why);
	return err;
}

int lasting_event_remove(struct kernel *k, bool is_user, const char *group, const char *name)
{
	char *line = xasprintf("-:%s/%s\n", group, name);
	const int err = tracefs_append(kernel_tracefs(k), list_of(is_user), line);

	free(line);
	return err;
}

/* ---- who uses one ---- */

struct looking {
	const char *tracefs, *enable; /* the file of the event, below each buffer */
	struct strbuf found;
};

static void look_into(struct looking *l, const char *directory, const char *shown)
{
	char *value;

	if (tracefs_value_read(directory, l->enable, &value))
		return;
	if (!str_eq(value, "0")) /* "0*": a trigger */
		strbuf_addf(&l->found, "%s%s", l->found.len ? ", " : "", shown);
	free(value);
}

static void look_into_instance(void *arg, const char *name)
{
	struct looking *const l = arg;
	char *const directory = xasprintf("%s/instances/%s", l->tracefs, name);
	char *const shown = xasprintf("instance %s", name);

	look_into(l, directory, shown);
	free(directory);
	free(shown);
}

char *lasting_event_buffers(struct kernel *k, const char *group, const char *name)
{
	char *const enable = xasprintf("events/%s/%s/enable", group, name);
	struct looking l = {kernel_tracefs(k), enable, STRBUF_INIT};
	char *const instances = xasprintf("%s/instances", l.tracefs);

	look_into(&l, l.tracefs, "the top buffer");
	tracefs_each_folder(instances, look_into_instance, &l);
	free(instances);
	free(enable);
	if (l.found.len)
		return l.found.data;
	strbuf_release(&l.found);
	return NULL;
}

/* ---- one run at a time ---- */

enum {
	LOCK_ATTEMPTS = 1000,
	LOCK_PAUSE = 10000 /* us: 10 s at most, as the holder may be stopped */
};

/* On a file of tracefs itself: nobody but those who may add events can open it for writing. */
int lasting_events_lock(struct kernel *k)
{
	static const char *const files[] = {"uprobe_events", "kprobe_events"};
	struct flock whole = {.l_type = F_WRLCK};
	int fd = -1, err = 0;

	if (k->probe_lock_depth) {
		k->probe_lock_depth++;
		return 0;
	}
	if (!kernel_tracefs(k))
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(files) && fd < 0; i++) {
		char *path = xasprintf("%s/%s", kernel_tracefs(k), files[i]);

		fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		err = -errno;
		free(path);
	}
	if (fd < 0)
		return err;
	/* Of the descriptor: reading the file elsewhere does not give it up. */
	for (u32 i = 0; fcntl(fd, F_OFD_SETLK, &whole); i++) {
		if ((errno != EAGAIN && errno != EACCES) || i == LOCK_ATTEMPTS) {
			err = -errno;
			close(fd);
			return err;
		}
		usleep(LOCK_PAUSE);
	}
	k->probe_lock = fd;
	k->probe_lock_depth = 1;
	return 0;
}

void lasting_events_unlock(struct kernel *k)
{
	if (k->probe_lock_depth && !--k->probe_lock_depth)
		close(k->probe_lock);
}

/* ---- what a killed run has made ---- */

int lasting_event_note(struct tracefs_saved *journal, bool is_user, const char *group,
		       const char *name, const char *place)
{
	char *value = xasprintf("%s/%s %s", group, name, place);
	const int err = tracefs_saved_remember_text(journal, list_of(is_user), value);

	free(value);
	return err;
}

bool lasting_event_is_note(const char *file)
{
	return str_eq(file, list_of(true)) || str_eq(file, list_of(false));
}

/* The kernel writes addresses with all their digits: "/tmp/demo:0x0000000000001240". */
static bool is_same_place(const char *a, const char *b)
{
	const char separator = *a == '/' ? ':' : '+';
	const char *const x = strrchr(a, separator), *const y = strrchr(b, separator);

	if (!x || !y)
		return str_eq(a, b) || (!x && !y && strtoull(a, NULL, 0) &&
					strtoull(a, NULL, 0) == strtoull(b, NULL, 0));
	return x - a == y - b && !strncmp(a, b, (size_t)(x - a)) &&
	       strtoull(x + 1, NULL, 0) == strtoull(y + 1, NULL, 0);
}

struct taking_back {
	const char *name; /* "GROUP/NAME" */
	const char *place;
	bool is_there;
};

static int look_for(void *arg, const struct lasting_event *e)
{
	struct taking_back *t = arg;
	const size_t group = strlen(e->group);

	t->is_there = !strncmp(t->name, e->group, group) && t->name[group] == '/' &&
		      str_eq(t->name + group + 1, e->name) && is_same_place(t->place, e->place);
	return t->is_there;
}

int lasting_event_take_back(const char *tracefs, const char *file, const char *value)
{
	char *name = xstrdup(value), *blank = strchr(name, ' '), *line;
	struct taking_back t = {.name = name, .place = blank ? blank + 1 : ""};
	int err = 0;

	if (blank)
		*blank = '\0';
	each_of(tracefs, str_eq(file, list_of(true)), look_for, &t);
	if (t.is_there) {
		line = xasprintf("-:%s\n", name);
		err = tracefs_append(tracefs, file, line);
		free(line);
	}
	free(name);
	return err == -ENOENT ? 0 : err;
}
