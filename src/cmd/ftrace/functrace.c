/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace functrace`: calls of kernel functions by ftrace's function tracer. */
#include "cmd/ftrace/functrace.h"

#include "cmd/ftrace/session.h"
#include "kernel/tracefs/function_filter.h"

struct functrace_options {
	struct ftrace_options common;
	const char *notrace;
	bool stack, args, offset;
};

#define FIELD(name) offsetof(struct functrace_options, name)

static const struct option_spec options[] = {
	FTRACE_OPTION_ROWS(struct functrace_options, common),
	{'s', "stack", NULL, "the kernel's stack after each call", OPTION_FLAG, FIELD(stack)},
	{'A', "args", NULL, "the arguments, named and typed by BTF (kernels since 6.15)",
	 OPTION_FLAG, FIELD(args)},
	{'O', "offset", NULL, "names of callers with the offset in the function", OPTION_FLAG,
	 FIELD(offset)},
	{'n', "notrace", "FUNCTIONS", "but not these", OPTION_STRING, FIELD(notrace)},
	{0},
};

static const struct option_field fields[] = {
	{"TASK-PID", "the thread that called: its name and id"},
	{"CPU#", "the CPU that it ran on"},
	{"flags", "irqs off, reschedule, hard or soft irq, depth of disabled preemption, of "
		  "disabled migration"},
	{"TIMESTAMP", "seconds since boot (CLOCK_MONOTONIC)"},
	{"FUNCTION", "the function, <- its caller"},
	{0},
};

static const struct command_spec spec = {
	.name = "functrace",
	.synopsis = "[options] FUNCTION[,FUNCTION...] [-- COMMAND [ARGUMENT...]]",
	.summary = "trace calls of kernel functions",
	.examples =
		"pantrace functrace do_nanosleep                  # each call, until Ctrl-C\n"
		"pantrace functrace 'tcp_*'                       # of all functions that begin "
		"like this\n"
		"pantrace functrace -d 1 'vfs_*' -n vfs_read      # one second, buffered; without "
		"one of them\n"
		"pantrace functrace -A vfs_write                  # and what they were given\n"
		"pantrace functrace -s -p 181 ext4_file_write_iter   # with stacks, one process\n",
	.details = "FUNCTION may have wildcards (* ? [...]).\n"
		   "Tracing many functions makes the whole system slower. With -d the events stay "
		   "in the kernel's buffer until the time is over, which costs less; those that it "
		   "has no room for are counted and said.\n",
	.fields = fields,
	.options = options,
	.command = COMMAND_TRACED,
};

static int set_up(struct ftrace_session *s, const struct functrace_options *o,
		  const char *functions)
{
	struct instance *in = s->instance;
	int err = function_filter_set(in, "set_ftrace_filter", functions);

	if (!err && o->notrace)
		err = function_filter_set(in, "set_ftrace_notrace", o->notrace);
	if (!err && o->args)
		err = instance_set_option(in, "func-args", true);
	/*
	 * Only after the filter: a stack for every function would stall the machine. Also set when
	 * it is to be off: the option belongs to the tracer, not to the instance, and may be on
	 * from elsewhere. Nothing is recorded until it is set.
	 */
	instance_try(in, "tracing_on", "0");
	if (!err)
		err = instance_set_tracer(in, "function");
	if (!err && (o->stack || instance_has_option(in, "func_stack_trace")))
		err = instance_set_option(in, "func_stack_trace", o->stack);
	instance_try(in, "tracing_on", "1");
	return err;
}

static int trace(struct ftrace_session *s, const struct functrace_options *o, const char *functions)
{
	if (set_up(s, o, functions))
		return (int)diag_exit_code(&s->diag);
	s->text.options.symbol_offset = o->offset;
	s->text.args.btf = o->args ? event_table_btf(s->text.events) : NULL;
	s->text.args.types = event_table_types(s->text.events);
	ftrace_session_say(s, "Tracing calls of %s", functions);
	return ftrace_session_run(s);
}

int cmd_functrace(int argc, char **argv)
{
	struct functrace_options o = {0};
	struct ftrace_session s;
	int first, rc = options_command(&spec, &argc, argv, &o.common.command);

	if (rc == OPTIONS_GO_ON)
		rc = options_parse(&spec, argc, argv, &o, &first);
	if (rc == OPTIONS_GO_ON)
		rc = function_filter_word(&spec, argc, argv, first);
	if (rc != OPTIONS_GO_ON)
		return rc;
	rc = ftrace_session_open(&s, &spec, &o.common, "function");
	if (!rc)
		rc = trace(&s, &o, argv[first]);
	return ftrace_session_close(&s, rc);
}
