/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace start`: tracing into a kernel buffer, which goes on after the command ends. */
#include <stdio.h>

#include "base/escape.h"
#include "cmd/buffer/buffer.h"
#include "cmd/record/record.h"
#include "kernel/tracefs/event_name.h"
#include "kernel/tracefs/lasting_buffer.h"
#include "record/ftrace/ftrace.h"
#include "record/probes.h"

struct start_options {
	struct record_request request;
	struct option_words events;
	struct string_list targets;
	const char *name;
	bool quiet;
};

#define O(field) offsetof(struct start_options, field)
static const struct option_spec start_table[] = {
	{'e', "event", "TRACEPOINT",
	 "SYSTEM:EVENT, SYSTEM, EVENT or all, with * and ?, separated by commas; a condition may "
	 "follow: 'sched:sched_switch /args.prev_prio < 120/' (may be repeated)",
	 OPTION_WORDS, O(events)},
	{'f', NULL, "CONDITION", "condition of the -e before it, without slashes", OPTION_WORDS,
	 O(events)},
	KERNEL_EVENT_OPTIONS(O(events), O(request), 'T', 'n', 'g'),
	{'x', "exclude", "EVENT", "but not these events (may be repeated)", OPTION_LIST,
	 O(request.excluded)},
	{'p', "pid", "PID|TRACER",
	 "a number: only this process and what it starts (may be repeated); a name: a tracer of "
	 "the kernel, as function or function_graph",
	 OPTION_LIST, O(targets)},
	{'P', NULL, "PID", "only this process, as in trace-cmd", OPTION_PIDS, O(request.pids)},
	{'b', "buffer", "SIZE",
	 "size of each CPU's buffer: in KB, or with a unit, as 64M (default: by the machine, at "
	 "most 16M)",
	 OPTION_STRING, O(request.buffer)},
	{'B', "name", "BUFFER", "of the session (default: " SESSION_DEFAULT ")", OPTION_STRING,
	 O(name)},
	{'t', "top", NULL,
	 "into the kernel's own buffer, which all programs share; reset restores its settings",
	 OPTION_FLAG, O(request.top)},
	{'q', "quiet", NULL, "say nothing", OPTION_FLAG, O(quiet)},
	{0},
};

static const struct command_spec start_spec = {
	.name = "start",
	.synopsis = "-e TRACEPOINT | -p TRACER ... [options]",
	.summary = "trace into a kernel buffer of its own, until `pantrace stop`",
	.examples =
		"pantrace start -e sched   # from now on; see show, stop, extract, reset\n"
		"pantrace start -p function_graph -g do_sys_openat2   # what is called there\n"
		"pantrace start -B disk -e block -b 64M   # a second session beside it\n"
		"pantrace stop && pantrace extract -o sched.dat && pantrace reset\n"
		"pantrace start -e 'irq:*' -e irq:irq_handler_entry -R 'traceoff if irq == 9'\n",
	.details =
		"It starts a session: a trace buffer in the kernel, the instance pantrace.NAME, "
		"which needs no process. The buffer keeps the newest events in memory and "
		"overwrites older ones. `pantrace status` lists sessions, `show` prints the "
		"buffer, `stop` and `restart` switch tracing off and on, `extract` writes a "
		"trace.dat, and `reset` or a reboot removes the session.\n\n"
		"If this command is killed half-way, nothing stays behind.\n\n"
		"Buffers of other programs are not touched. The kernel's own buffer is used with "
		"--top, or where a tracer runs in no other (function_graph before 6.11; a message "
		"says so), unless somebody traces there; `reset` restores every value.\n\n"
		"For users of trace-cmd: the options are the same, but the buffer is an instance "
		"unless -t is given, a second start of the same session is refused (-B starts "
		"another), and -P also follows child processes.\n",
	.options = start_table,
	.takes_no_argument = true,
};
#undef O

static int claim_events(struct kernel *k, struct record_request *r, struct diag *d)
{
	for (size_t i = 0; i < r->events.len; i++) {
		struct record_event *const e = &r->events.items[i];

		e->source = &record_kernel;
		if (record_probe_is(e->text)) {
			diag_error(d, NO_SPAN,
				   "'%s': a probe ends with the command that makes it; a session "
				   "stays",
				   e->text);
			diag_hint(d, "probe -a makes one that stays; start -e takes the name that "
				     "it gets");
			return -EINVAL;
		}
		if (!record_kernel.claims(k, r, e->text))
			return event_name_refuse(k, d, NO_SPAN, NULL, e->text);
	}
	return 0;
}

static void say(const struct start_options *o, const struct kernel_setup *s)
{
	struct strbuf what = STRBUF_INIT;
	u32 events = 0;

	for (size_t i = 0; i < s->events.all.len; i++)
		events += s->events.all.items[i].asked != NULL;
	if (events)
		strbuf_addf(&what, "%u event%s", events, plural(events));
	if (o->request.tracer)
		strbuf_addf(&what, "%sthe tracer %s", events ? " and " : "", o->request.tracer);
	fprintf(stderr, "session %s traces %s, into %s%s\n", o->name, what.data,
		instance_is_top(s->instance) ? "the kernel's top buffer" : "the instance ",
		instance_name(s->instance));
	if (instance_is_top(s->instance) && !o->request.top)
		fprintf(stderr,
			"This kernel runs %s in that buffer only; other programs that use "
			"it will see this.\n",
			o->request.tracer);
	strbuf_release(&what);
}

static int start(const struct start_options *o, struct kernel *k, struct diag *d)
{
	struct record_run run = {.request = &o->request, .diag = d, .kernel = k};
	struct kernel_setup setup;
	int err = kernel_setup_open(&setup, &run);

	if (!err)
		err = kernel_setup_enable(&setup);
	if (!err)
		err = instance_write(setup.instance, "tracing_on", "1");
	if (!err)
		err = instance_stand(setup.instance);
	if (!err && !o->quiet)
		say(o, &setup);
	kernel_setup_close(&setup);
	return err;
}

static int check(struct start_options *o)
{
	int rc = record_take_events(&start_spec, &o->events, &o->request);

	if (rc == OPTIONS_GO_ON)
		rc = record_take_targets(&start_spec, &o->targets, &o->request);
	if (rc == OPTIONS_GO_ON && !o->request.events.len && !o->request.tracer)
		rc = options_usage_error(&start_spec,
					 "which events? -e TRACEPOINT, or -p TRACER; `restart` "
					 "resumes a session");
	if (rc == OPTIONS_GO_ON && !lasting_buffer_is_name(o->name))
		rc = options_usage_error(&start_spec,
					 "-B takes a name of letters, digits, '_', '-' and '.' (at "
					 "most %d), not '%s'",
					 LASTING_NAME_MAX, o->name);
	return rc == OPTIONS_GO_ON ? record_kernel.check(&start_spec, &o->request) : rc;
}

int cmd_start(int argc, char **argv)
{
	struct start_options o = {.name = SESSION_DEFAULT};
	struct strbuf command = STRBUF_INIT;
	struct instance_lasting lasting;
	struct kernel *const k = kernel_new();
	struct diag d = DIAG_INIT;
	int first, rc;

	strbuf_addstr(&command, "pantrace ");
	escape_shell(&command, argv, argc);
	rc = options_parse(&start_spec, argc, argv, &o, &first);
	if (rc == OPTIONS_GO_ON)
		rc = check(&o);
	if (rc == OPTIONS_GO_ON) {
		int err = buffer_check_tracefs(k, &d);

		lasting = (struct instance_lasting){o.name, command.data};
		o.request.lasting = &lasting;
		if (!err)
			err = claim_events(k, &o.request, &d);
		if (!err)
			err = start(&o, k, &d);
		rc = err ? EXIT_FAILED : EXIT_OK;
	}
	record_request_release(&o.request);
	options_release(&start_spec, &o);
	kernel_release(k);
	strbuf_release(&command);
	return diag_close(&d, rc);
}
