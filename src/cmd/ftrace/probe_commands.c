/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace kprobe` and `pantrace uprobe`: probes by their definition, each event as the kernel
 * prints it. */
#include "cmd/ftrace/probe_commands.h"

#include <stdio.h>

#include "base/escape.h"
#include "cmd/ftrace/probes.h"
#include "probe/definition/definition.h"

struct probe_options {
	struct ftrace_options common;
	bool force, format;
	const char *list;
};

#define COMMON_ROWS                                                                     \
	FTRACE_OPTION_ROWS(struct probe_options, common),                               \
	{                                                                               \
		'v', "format", NULL, "only show the fields of the event, for a filter", \
			OPTION_FLAG, offsetof(struct probe_options, format)             \
	}

static const struct option_spec kprobe_options[] = {
	COMMON_ROWS,
	{'s', "stack", NULL, "the kernel's stack after each event", OPTION_FLAG,
	 offsetof(struct probe_options, common.stack)},
	{'F', "force", NULL, "also functions that are not in the list of traceable ones",
	 OPTION_FLAG, offsetof(struct probe_options, force)},
	{0},
};

static const struct option_spec uprobe_options[] = {
	COMMON_ROWS,
	{'s', "stack", NULL, "the program's stack after each event", OPTION_FLAG,
	 offsetof(struct probe_options, common.stack)},
	{'l', "list", "FILE", "only list the functions of a program or library", OPTION_STRING,
	 offsetof(struct probe_options, list)},
	{'F', "force", NULL, "also places where no instruction is known to begin", OPTION_FLAG,
	 offsetof(struct probe_options, force)},
	{0},
};

#define ARGUMENT_HELP                                                                              \
	"ARGUMENT is [NAME=]WHERE[:TYPE]; WHERE is $argN, $retval, %register, $stackN, $comm, "    \
	"@symbol, or\n"                                                                            \
	"+OFFSET(WHERE) for what is at an address; TYPE is u8 to u64, s8 to s64, x8 to x64, "      \
	"string, ustring\n"                                                                        \
	"(a user's string, in kernel probes), symbol, or TYPE[N].\n"                               \
	"With debug information WHERE is also a variable of the source, VARIABLE->MEMBER, "        \
	"VARIABLE[INDEX] (for text with :string), and ARGUMENT $params or $vars, as in `pantrace " \
	"probe`.\n"                                                                                \
	"FILTER is a condition on fields (-v shows them), comm, tid and cpu: == != < <= > >= & ~ " \
	"(a pattern of text), && || ! and parentheses.\n"

static const struct command_spec kprobe_spec = {
	.name = "kprobe",
	.synopsis = "[options] DEFINITION [FILTER] [-- COMMAND [ARGUMENT...]]",
	.summary = "trace calls or returns of kernel functions",
	.examples =
		"  pantrace kprobe p:do_sys_openat2                                   # calls of "
		"a function\n"
		"  pantrace kprobe 'r:do_sys_openat2 $retval'                         # its "
		"returns and what it returns\n"
		"  pantrace kprobe 'p:myopen do_sys_openat2 file=+0($arg2):ustring'   # an "
		"argument, under a name\n"
		"  pantrace kprobe 'p:myopen do_sys_openat2 file=+0($arg2):ustring' 'file ~ "
		"\"*.conf\"'\n"
		"  pantrace kprobe 'p:vfs_read count file->f_pos'                     # by name\n"
		"  pantrace kprobe 'p:vfs_read:12 $vars'                              # at its "
		"12th line\n"
		"  pantrace kprobe -s p:tcp_retransmit_skb                            # with the "
		"kernel's stack\n"
		"  pantrace kprobe -p 181 -d 10 'p:tcp_*'                             # many, of "
		"one process, for 10 s\n",
	.details = "DEFINITION is {p|r[MAX]}:[NAME] [MODULE:]FUNCTION[+OFFSET] [ARGUMENT...], or "
		   "FUNCTION:LINE (from its own line on), or SOURCE:LINE: p "
		   "probes calls, r returns.\n"
		   "FUNCTION may have wildcards: functions that cannot be probed are left out "
		   "then.\n" ARGUMENT_HELP,
	.options = kprobe_options,
	.command = COMMAND_TRACED,
	.fields = ftrace_event_fields,
};

static const struct command_spec uprobe_spec = {
	.name = "uprobe",
	.synopsis = "[options] DEFINITION [FILTER] [-- COMMAND [ARGUMENT...]]  |  -l FILE",
	.summary = "trace calls or returns of functions of programs and libraries",
	.examples =
		"  pantrace uprobe p:bash:readline                        # calls in every bash\n"
		"  pantrace uprobe 'r:bash:readline +0($retval):string'   # what it returns\n"
		"  pantrace uprobe 'p:libc:fopen file=+0($arg1):string'   # an argument\n"
		"  pantrace uprobe 'p:./shop:pay sum buyer->name:string'  # variables by name\n"
		"  pantrace uprobe 'p:./shop:pay:12 $vars'                # at a line of the "
		"function\n"
		"  pantrace uprobe -p 1182 p:libc:gettimeofday            # of one process\n"
		"  pantrace uprobe 'r:libc:fopen file=$retval' 'file == 0'\n"
		"  pantrace uprobe -l bash                                # the functions of a "
		"program\n",
	.details = "DEFINITION is {p|r}:[NAME] FILE:FUNCTION[+OFFSET] [ARGUMENT...], or "
		   "FILE:0xOFFSET (in the file), or FILE:FUNCTION:LINE (from its own line on), or "
		   "FILE:SOURCE:LINE; p probes calls, r returns. "
		   "FILE is a path, a program in $PATH, or a library as libc.\n"
		   "FUNCTION may have wildcards.\n" ARGUMENT_HELP,
	.options = uprobe_options,
	.command = COMMAND_TRACED,
	.fields = ftrace_event_fields,
};

/* ---- -l ---- */

static int print_name(void *arg, const char *name)
{
	struct strbuf *out = arg;

	escape_line(out, name, strlen(name));
	strbuf_addch(out, '\n');
	return 0;
}

static int list_functions(const struct probe_options *o)
{
	struct diag d = DIAG_INIT;
	struct kernel *k = kernel_new();
	struct strbuf out = STRBUF_INIT;
	const int err = definition_each_function(k, &d, o->list, 0, print_name, &out);

	fwrite(out.data, 1, out.len, stdout);
	strbuf_release(&out);
	kernel_release(k);
	return diag_close(&d, err ? EXIT_FAILED : EXIT_OK);
}

/* ---- tracing ---- */

static void say_what(struct ftrace_session *s, bool is_user, const struct definition_result *r)
{
	const char *const tool = is_user ? "uprobe" : "kprobe";
	struct strbuf skipped = STRBUF_INIT;

	if (r->skipped)
		strbuf_addf(&skipped, " (%u that cannot be probed left out)", r->skipped);
	if (r->count > 1)
		ftrace_session_say(s, "Tracing %u %ss%s", r->count, tool, skipped.data);
	else
		ftrace_session_say(s, "Tracing %s %s (%s)%s", tool,
				   dynamic_events_at(s->events, r->first)->shown, r->text,
				   skipped.data);
	strbuf_release(&skipped);
}

static int trace(struct ftrace_session *s, const struct probe_options *o, bool is_user,
		 const char *text, const char *filter)
{
	const struct definition_request request = {
		.text = text, .is_user = is_user, .force = o->force, .pid = s->pid};
	struct definition_result result;
	u32 enabled;
	int rc = EXIT_FAILED;

	if (!definition_make(s->kernel, &s->diag, s->events, &request, &result)) {
		if (o->format) {
			rc = ftrace_probes_show(s);
		} else if ((!filter || !ftrace_probes_filter(s, text, filter)) &&
			   !ftrace_probes_enable(s, &enabled)) {
			result.skipped += result.count - enabled;
			result.count = enabled;
			say_what(s, is_user, &result);
			rc = ftrace_session_run(s);
		}
	}
	definition_result_release(&result);
	return rc == EXIT_FAILED && s->diag.errors ? (int)diag_exit_code(&s->diag) : rc;
}

static int run(const struct command_spec *spec, bool is_user, int argc, char **argv)
{
	struct probe_options o = {0};
	struct ftrace_session s;
	int first, rc = options_command(spec, &argc, argv, &o.common.command);
	bool user_stack;

	if (rc == OPTIONS_GO_ON)
		rc = options_parse(spec, argc, argv, &o, &first);
	if (rc != OPTIONS_GO_ON)
		return rc;
	if (o.common.json && (o.list || o.format))
		return options_usage_error(spec, "--json is for events, not for %s",
					   o.list ? "-l" : "-v");
	if (o.list)
		return list_functions(&o);
	if (first == argc)
		return options_usage_error(spec, "what shall be traced?");
	if (first + 2 < argc)
		return options_usage_error(
			spec, "unexpected argument '%s': a definition with blanks needs quotes",
			argv[first + 2]);
	/* for user probes -s means the program's stack */
	user_stack = is_user && o.common.stack;
	o.common.stack &= !is_user;
	rc = ftrace_session_open(&s, spec, &o.common, NULL);
	if (!rc && user_stack && ftrace_session_user_stacks(&s))
		rc = (int)diag_exit_code(&s.diag);
	if (!rc)
		rc = trace(&s, &o, is_user, argv[first], first + 1 < argc ? argv[first + 1] : NULL);
	return ftrace_session_close(&s, rc);
}

int cmd_kprobe(int argc, char **argv)
{
	return run(&kprobe_spec, false, argc, argv);
}

int cmd_uprobe(int argc, char **argv)
{
	return run(&uprobe_spec, true, argc, argv);
}
