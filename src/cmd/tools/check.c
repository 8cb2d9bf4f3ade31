/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks what a tool's user gave against the kernel and its processes, before anything is compiled:
 * the user has not written the script, so errors are in terms of the tool.
 */
#include <errno.h>
#include <signal.h>

#include "base/strbuf.h"
#include "cmd/tools/tools.h"
#include "kernel/tracefs/event_name.h"
#include "kernel/tracefs/tracefs.h"

struct tool_checker {
	const struct tool_spec *spec;
	const struct tool_given *given;
	struct kernel *kernel;
	struct diag *diag;
	const char
		*event; /* "SYSTEM:EVENT" of the argument, with its format; NULL = there is none */
	char *format;
};

/* ---- processes ---- */

/* kill(pid, 0) also accepts threads: a process is the leader of its own thread group. */
static int check_process(const struct tool_checker *c, const char *value, const char *what)
{
	const pid_t pid = (pid_t)strtol(value, NULL, 10);

	if (!kill(pid, 0) || errno != ESRCH)
		return 0;
	diag_error(c->diag, NO_SPAN, "there is no %s %s", what, value);
	return -ESRCH;
}

/* ---- events and fields ---- */

static int load_event(struct tool_checker *c, const char *name)
{
	const char *colon = strchr(name, ':');
	char *system;
	int err;

	if (!colon)
		return event_name_refuse(c->kernel, c->diag, NO_SPAN, NULL, name);
	system = xstrndup(name, (size_t)(colon - name));
	c->event = name;
	err = tracefs_event_format(c->kernel, system, colon + 1, &c->format);
	if (err)
		err = event_name_refuse(c->kernel, c->diag, NO_SPAN, system, colon + 1);
	free(system);
	return err;
}

struct wanted_field {
	const char *name;
	bool found, is_number;
};

static int match_field(void *arg, const char *name, const char *type)
{
	struct wanted_field *f = arg;

	f->found = str_eq(f->name, name);
	f->is_number = !strpbrk(type, "*[") && !str_starts(type, "struct ");
	return f->found;
}

static int check_field(const struct tool_checker *c, const char *name)
{
	struct wanted_field f = {.name = name};

	if (!c->format)
		return 0;
	event_fields_each(c->format, match_field, &f);
	if (!f.found) {
		event_field_refuse(c->diag, NO_SPAN, c->event, c->format, name);
		return -ENOENT;
	}
	if (f.is_number)
		return 0;
	diag_error(c->diag, NO_SPAN, "the field '%s' of %s is not a number", name, c->event);
	diag_hint(c->diag, "`pantrace tpoint -v %s` shows its fields", c->event);
	return -EINVAL;
}

static int check_filter(const struct tool_checker *c, const char *filter)
{
	struct strbuf unused = STRBUF_INIT;
	const int err = tool_filter(c->spec, c->given, c->kernel, filter, c->diag, &unused);

	strbuf_release(&unused);
	return err;
}

static int check_one(struct tool_checker *c, const struct tool_option *o, const char *value)
{
	switch (o->effect) {
	case TOOL_PID:
		return check_process(c, value, "process");
	case TOOL_THREAD:
		return check_process(c, value, "thread");
	case TOOL_EVENT:
		return load_event(c, value);
	case TOOL_FIELD:
		return check_field(c, value);
	case TOOL_FILTER:
		return check_filter(c, value);
	default:
		return 0;
	}
}

/* Arguments come first: filters refer to the event that one of them names. */
static int check_all(struct tool_checker *c)
{
	const struct tool_spec *spec = c->spec;
	int err = 0;

	for (size_t i = 0; i < spec->arguments.len && !err; i++)
		if (c->given->arguments[i])
			err = check_one(c, &spec->arguments.items[i], c->given->arguments[i]);
	for (size_t i = 0; i < spec->options.len && !err; i++)
		if (c->given->options[i])
			err = check_one(c, &spec->options.items[i], c->given->options[i]);
	return err;
}

/* ---- the kernel ---- */

/* Every script needs this. */
static int check_kernel(const struct tool_checker *c)
{
	const struct kernel_answer *a = kernel_ask(c->kernel, KERNEL_BPF);
	const bool is_denied = a->error == EPERM || a->error == EACCES;

	if (a->yes)
		return 0;
	diag_error(c->diag, NO_SPAN, "%s",
		   a->why     ? a->why
		   : a->error ? strerror(a->error)
			      : "the kernel does not run BPF programs");
	if (a->hint)
		diag_hint(c->diag, "%s", a->hint);
	diag_code(c->diag, is_denied ? EXIT_PRIVILEGE : EXIT_UNSUPPORTED);
	return is_denied ? -EPERM : -EOPNOTSUPP;
}

int tool_check(const struct tool_spec *spec, const struct tool_given *given)
{
	struct diag diag = DIAG_INIT;
	struct tool_checker c = {
		.spec = spec, .given = given, .kernel = kernel_new(), .diag = &diag};
	int rc = check_kernel(&c);

	if (!rc)
		rc = check_all(&c);
	/* messages show a filter as it was given */
	diag.command = diag.sources.len ? NULL : spec->name;
	free(c.format);
	kernel_release(c.kernel);
	return diag_close(&diag, rc ? EXIT_FAILED : EXIT_OK);
}
