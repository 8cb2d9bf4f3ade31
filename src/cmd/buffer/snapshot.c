/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace snapshot`: swaps the buffer with a spare one. */

#include "cmd/buffer/buffer.h"
#include "kernel/tracefs/saved.h"

struct snapshot_options {
	struct buffer_choice buffer;
	bool take, clear, release;
	const char *cpu;
};

#define O(field) offsetof(struct snapshot_options, field)
static const struct option_spec snapshot_table[] = {
	BUFFER_OPTIONS(struct snapshot_options, buffer),
	{'s', "take", NULL, "take a snapshot of what is in the buffer now", OPTION_FLAG, O(take)},
	{'r', "clear", NULL, "empty the snapshot, but keep its memory", OPTION_FLAG, O(clear)},
	{'f', "free", NULL, "free its memory", OPTION_FLAG, O(release)},
	{'c', "cpu", "CPU", "only this CPU", OPTION_STRING, O(cpu)},
	{0},
};
#undef O

static const struct command_spec snapshot_spec = {
	.name = "snapshot",
	.synopsis = "-s | -r | -f [-B NAME | -t] [-c CPU]",
	.summary = "set aside what is in a buffer, while tracing goes on",
	.examples = "pantrace snapshot -s   # of the session of `pantrace start`\n"
		    "pantrace show -s   # print it\n"
		    "pantrace extract -s -o before.dat   # write it into a file\n"
		    "pantrace snapshot -f   # frees as much memory as the buffer takes\n",
	.details =
		"A snapshot swaps the buffer with an empty second one: the events so far are in "
		"the snapshot, new ones go to the buffer.\n\n"
		"For users of trace-cmd: without an option it prints the snapshot; here `pantrace "
		"show -s` does.\n",
	.options = snapshot_table,
	.takes_no_argument = true,
};

/* What is written into the kernel's file (Documentation/trace/ftrace.rst, "Snapshot"). */
static const char *command_of(const struct snapshot_options *o)
{
	return o->take ? "1" : o->clear ? "2" : "0";
}

/* Not by instance_write(), which skips a value that the file has already. */
static int write_command(const struct snapshot_options *o, struct chosen_buffer *b, struct diag *d)
{
	char *file;
	int err = buffer_cpu_file(d, b->instance, o->cpu, "snapshot", &file);

	if (err)
		return err;
	err = tracefs_value_write(instance_directory(b->instance), file, command_of(o));
	if (err)
		diag_error(d, NO_SPAN, "%s: cannot write '%s' to %s: %s", b->label, command_of(o),
			   file, strerror(-err));
	if (err == -EACCES || err == -EPERM)
		diag_code(d, EXIT_PRIVILEGE);
	if (err == -EINVAL && o->cpu && o->take) {
		diag_hint(d, "this kernel can only snapshot all CPUs at once: leave out -c");
		diag_code(d, EXIT_UNSUPPORTED);
	} else if (err == -EINVAL && o->cpu) {
		diag_hint(d, "memory is freed for all CPUs at once: leave out -c");
	} else if (err == -ENOMEM) {
		diag_hint(d, "a snapshot takes as much memory as the buffer: see `start -b`");
	}
	free(file);
	return err;
}

static int run(const struct snapshot_options *o, struct kernel *k, struct diag *d)
{
	struct chosen_buffer b;
	int err = buffer_choose(&o->buffer, BUFFER_CHANGE, k, d, &b);

	if (!err && !instance_has(b.instance, "snapshot")) {
		diag_error(d, NO_SPAN, "this kernel has no snapshots");
		diag_hint(d, "it is built without CONFIG_TRACER_SNAPSHOT");
		diag_code(d, EXIT_UNSUPPORTED);
		err = -EOPNOTSUPP;
	}
	if (!err)
		err = write_command(o, &b, d);
	buffer_release(&b);
	return err;
}

int cmd_snapshot(int argc, char **argv)
{
	struct snapshot_options o = {0};
	struct diag d = DIAG_INIT;
	struct kernel *k;
	int first, rc = options_parse(&snapshot_spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (o.take + o.clear + o.release != 1)
		return options_usage_error(&snapshot_spec,
					   "one of -s (take), -r (empty) and -f (free) is needed; "
					   "show -s prints it");
	k = kernel_new();
	rc = run(&o, k, &d) ? EXIT_FAILED : EXIT_OK;
	kernel_release(k);
	return diag_close(&d, rc);
}
