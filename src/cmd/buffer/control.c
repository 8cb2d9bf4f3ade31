/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace stop`, `restart`, `clear`, `reset`. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/buffer/buffer.h"
#include "kernel/tracefs/lasting_buffer.h"
#include "trace/ring/live.h"

struct control_options {
	struct buffer_choice buffer;
	bool all, remove, quiet;
	const char *cpu;
};

#define O(field) offsetof(struct control_options, field)
#define CONTROL_ALL                                                   \
	{                                                             \
		'a', "all", NULL, "all sessions", OPTION_FLAG, O(all) \
	}

struct control {
	const struct control_options *o;
	struct kernel *kernel;
	struct diag *diag;
	int (*fn)(struct control *c, struct chosen_buffer *b);
	u32 count;
};

static void act(struct control *c, const struct buffer_choice *choice)
{
	struct chosen_buffer b;

	if (!buffer_choose(choice, BUFFER_CHANGE, c->kernel, c->diag, &b))
		c->fn(c, &b);
	buffer_release(&b);
	c->count++;
}

static void act_session(void *arg, const char *name)
{
	act(arg, &(struct buffer_choice){.name = name});
}

static int run(const struct command_spec *spec, const struct control_options *o,
	       int (*fn)(struct control *c, struct chosen_buffer *b))
{
	struct diag d = DIAG_INIT;
	struct control c = {.o = o, .kernel = kernel_new(), .diag = &d, .fn = fn};

	if (!o->all)
		act(&c, &o->buffer);
	else if (!buffer_check_tracefs(c.kernel, &d))
		buffer_each_session(act_session, &c);
	kernel_release(c.kernel);
	return diag_close(&d, EXIT_OK);
}

static int parse(const struct command_spec *spec, int argc, char **argv, struct control_options *o)
{
	int first, rc = options_parse(spec, argc, argv, o, &first);

	if (rc == OPTIONS_GO_ON && o->all && (o->buffer.name || o->buffer.top))
		rc = options_usage_error(spec, "-a is all sessions: %s says one buffer",
					 o->buffer.top ? "--top" : "-B");
	return rc;
}

/* ---- reset ---- */

struct resetting {
	struct diag *diag;
	const char *session;
};

static void say_failed(void *arg, const char *file, int error)
{
	const struct resetting *const r = arg;

	if (!error)
		return;
	diag_error(r->diag, NO_SPAN, "session %s: %s could not be put back: %s", r->session, file,
		   strerror(error));
	if (error == EBUSY)
		diag_hint(r->diag, "somebody has a file of it open; it records nothing any more, "
				   "and the next run of pantrace after that removes it");
}

static int reset(struct control *c, const char *session)
{
	struct resetting r = {c->diag, session};
	const int err = lasting_buffer_remove(c->kernel, session, say_failed, &r);

	if (err == -EAGAIN)
		diag_error(c->diag, NO_SPAN, "session %s is just being made or removed", session);
	else if (err && !c->diag->errors)
		diag_error(c->diag, NO_SPAN, "session %s cannot be removed: %s", session,
			   strerror(-err));
	else if (!err && !c->o->quiet)
		fprintf(stderr, "session %s is removed\n", session);
	return err;
}

static void reset_session(void *arg, const char *name)
{
	reset(arg, name);
}

struct only {
	char *name;
	u32 count;
};

static void find_only(void *arg, const char *name)
{
	struct only *const o = arg;

	free(o->name);
	o->name = xstrdup(name);
	o->count++;
}

/* By name: its instance may be gone. */
static int reset_chosen(struct control *c)
{
	struct only only = {0};
	struct chosen_buffer b;
	int err;

	buffer_each_session(find_only, &only);
	if (c->o->buffer.name) {
		err = reset(c, c->o->buffer.name);
		if (err == -ENOENT)
			diag_hint(c->diag, "`pantrace status` lists the sessions; what other "
					   "programs made, `pantrace reset-ftrace -a` takes back");
	} else if (only.count == 1) {
		err = reset(c, only.name);
	} else {
		err = buffer_choose(&c->o->buffer, BUFFER_CHANGE, c->kernel, c->diag, &b);
		buffer_release(&b);
	}
	free(only.name);
	return err;
}

static int run_reset(const struct control_options *o)
{
	struct diag d = DIAG_INIT;
	struct control c = {.o = o, .kernel = kernel_new(), .diag = &d};

	if (!buffer_check_tracefs(c.kernel, &d)) {
		if (o->all)
			buffer_each_session(reset_session, &c);
		else
			reset_chosen(&c);
	}
	kernel_release(c.kernel);
	return diag_close(&d, EXIT_OK);
}

static const struct option_spec reset_table[] = {
	{'B', "name", "BUFFER", "this session (default: the only one)", OPTION_STRING,
	 O(buffer.name)},
	CONTROL_ALL,
	{'q', "quiet", NULL, "say nothing", OPTION_FLAG, O(quiet)},
	{0},
};

static const struct command_spec reset_spec = {
	.name = "reset",
	.synopsis = "[-B NAME | -a]",
	.summary = "remove sessions of `pantrace start`, and undo what they changed",
	.examples = "pantrace reset   # the only session\n"
		    "pantrace reset -B disk\n"
		    "pantrace reset -a   # all of them\n",
	.details =
		"The buffer and its events are gone. What other programs have set in ftrace is not "
		"touched: `pantrace reset-ftrace` shows and undoes that.\n\n"
		"For users of trace-cmd: its reset undoes everything in ftrace, whoever set it; "
		"that is `pantrace reset-ftrace -f`.\n",
	.options = reset_table,
	.takes_no_argument = true,
};

int cmd_reset(int argc, char **argv)
{
	struct control_options o = {0};
	const int rc = parse(&reset_spec, argc, argv, &o);

	return rc == OPTIONS_GO_ON ? run_reset(&o) : rc;
}

/* ---- stop, restart ---- */

static int stop(struct control *c, struct chosen_buffer *b)
{
	const int err = instance_write(b->instance, "tracing_on", "0");
	struct ring_counts n;

	if (err || c->o->quiet)
		return err;
	n = ring_counts_of_all(instance_directory(b->instance), NULL);
	fprintf(stderr, "%s is stopped: %" PRIu64 " event%s %s in its buffer", b->label, n.entries,
		plural(n.entries), is_are(n.entries));
	if (n.overrun || n.dropped)
		fprintf(stderr, ", %" PRIu64 " were overwritten, %" PRIu64 " had no room",
			n.overrun, n.dropped);
	fputc('\n', stderr);
	return 0;
}

static const struct option_spec stop_table[] = {
	BUFFER_OPTIONS(struct control_options, buffer),
	CONTROL_ALL,
	{0, "remove", NULL, "and remove it, as reset does", OPTION_FLAG, O(remove)},
	{'q', "quiet", NULL, "say nothing", OPTION_FLAG, O(quiet)},
	{0},
};

static const struct command_spec stop_spec = {
	.name = "stop",
	.synopsis = "[-B NAME | -t | -a] [--remove]",
	.summary = "stop tracing into a buffer; its events stay",
	.examples = "pantrace stop   # the session of `pantrace start`\n"
		    "pantrace stop -B disk\n"
		    "pantrace stop --remove   # the buffer goes, too\n"
		    "pantrace stop --top   # what `trace-cmd start` began\n",
	.details = "Tracepoints stay enabled, but nothing is written to the buffer. `pantrace "
		   "restart` resumes, `pantrace extract` writes the events to a file, `pantrace "
		   "reset` removes the session.\n",
	.options = stop_table,
	.takes_no_argument = true,
};

int cmd_stop(int argc, char **argv)
{
	struct control_options o = {0};
	int rc = parse(&stop_spec, argc, argv, &o);

	if (rc == OPTIONS_GO_ON && o.remove && o.buffer.top)
		rc = options_usage_error(&stop_spec, "--remove is for sessions: the kernel's own "
						     "buffer stays");
	if (rc != OPTIONS_GO_ON)
		return rc;
	return o.remove ? run_reset(&o) : run(&stop_spec, &o, stop);
}

static int restart(struct control *c, struct chosen_buffer *b)
{
	return instance_write(b->instance, "tracing_on", "1");
}

static const struct option_spec restart_table[] = {
	BUFFER_OPTIONS(struct control_options, buffer),
	CONTROL_ALL,
	{0},
};

static const struct command_spec restart_spec = {
	.name = "restart",
	.synopsis = "[-B NAME | -t | -a]",
	.summary = "resume tracing into a stopped buffer",
	.examples = "pantrace restart\n"
		    "pantrace restart -B disk\n",
	.options = restart_table,
	.takes_no_argument = true,
};

int cmd_restart(int argc, char **argv)
{
	struct control_options o = {0};
	const int rc = parse(&restart_spec, argc, argv, &o);

	return rc == OPTIONS_GO_ON ? run(&restart_spec, &o, restart) : rc;
}

/* ---- clear ---- */

/* Opening the file with O_TRUNC empties the buffer. */
static int clear(struct control *c, struct chosen_buffer *b)
{
	char *file = NULL;
	int err = buffer_cpu_file(c->diag, b->instance, c->o->cpu, "trace", &file), fd;

	if (!err) {
		fd = instance_open_file(b->instance, file, O_WRONLY | O_TRUNC);
		if (fd < 0) {
			diag_error(c->diag, NO_SPAN, "cannot clear %s: %s", b->label,
				   strerror(-fd));
			if (fd == -EACCES || fd == -EPERM)
				diag_code(c->diag, EXIT_PRIVILEGE);
			err = fd;
		} else {
			close(fd);
		}
	}
	free(file);
	return err;
}

static const struct option_spec clear_table[] = {
	BUFFER_OPTIONS(struct control_options, buffer),
	CONTROL_ALL,
	{'c', "cpu", "CPU", "only what this CPU recorded", OPTION_STRING, O(cpu)},
	{0},
};

static const struct command_spec clear_spec = {
	.name = "clear",
	.synopsis = "[-B NAME | -t | -a] [-c CPU]",
	.summary = "empty a buffer; tracing goes on",
	.examples = "pantrace clear   # of the session of `pantrace start`\n"
		    "pantrace clear -c 3\n"
		    "pantrace clear --top\n",
	.options = clear_table,
	.takes_no_argument = true,
};

int cmd_clear(int argc, char **argv)
{
	struct control_options o = {0};
	const int rc = parse(&clear_spec, argc, argv, &o);

	return rc == OPTIONS_GO_ON ? run(&clear_spec, &o, clear) : rc;
}
