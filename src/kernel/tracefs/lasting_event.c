/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/lasting_event.h"

#include <fcntl.h>

#include "base/file.h"
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

static int each_of(struct kernel *k, bool is_user,
		   int (*fn)(void *arg, const struct lasting_event *e), void *arg)
{
	char *path = xasprintf("%s/%s", kernel_tracefs(k), list_of(is_user)), *text, *line, *rest;
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
	int err;

	if (!kernel_tracefs(k))
		return -errno;
	err = each_of(k, false, fn, arg);
	return err ? err : each_of(k, true, fn, arg);
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
