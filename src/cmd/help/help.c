/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pantrace help`: the overview, a command's or tool's help, a function of the language, a topic;
 * and the program's own page.
 */
#include <ctype.h>
#include <stdio.h>

#include "base/nearest.h"
#include "base/options.h"
#include "cmd/commands.h"
#include "cmd/help/builtin.h"
#include "cmd/help/topics.h"
#include "cmd/run/run.h"
#include "cmd/tools/tools.h"

void help_short(FILE *out)
{
	fputs("pantrace - every tracing mechanism of Linux behind one small static binary\n"
	      "\n"
	      "  pantrace opensnoop                        files being opened, with errors\n"
	      "  pantrace execsnoop                        processes being started, with "
	      "arguments\n"
	      "  pantrace -e 'tracepoint:raw_syscalls:sys_enter { @[comm] = count() }'\n"
	      "                                            system calls by process, until Ctrl-C\n"
	      "  pantrace -e 'profile:hz:99 { @[kstack] = count() }' -c 'make'\n"
	      "                                            where the kernel's time goes while make "
	      "runs\n"
	      "  pantrace SCRIPT.bt                        a bpftrace script\n"
	      "  pantrace list 'tracepoint:sched:*'        what can be traced\n"
	      "  pantrace doctor                           what this kernel allows, and why not\n"
	      "\n"
	      "`pantrace help` names all commands and tools, `pantrace COMMAND --help` explains "
	      "one,\n"
	      "`pantrace help printf` a function of the language.\n",
	      out);
}

/* ---- what there is to ask for ---- */

typedef void (*each_fn)(void *arg, const char *name, const char *summary);

static void each_command(each_fn fn, void *arg)
{
	for (const struct command *c = commands; c->name; c++)
		if (c->summary)
			fn(arg, c->name, c->summary);
}

static void each_tool(each_fn fn, void *arg)
{
	for (const struct embedded_tool *t = embedded_tools; t->name; t++) {
		struct arena arena = ARENA_INIT;
		struct tool_spec spec;

		if (!tool_parse(&arena, t->text, &spec)) {
			fn(arg, t->name, spec.summary);
			tool_spec_release(&spec);
		}
		arena_release(&arena);
	}
}

static void each_topic(each_fn fn, void *arg)
{
	for (const struct help_topic *t = help_topics; t->name; t++)
		fn(arg, t->name, t->summary);
}

static void print_line(void *arg, const char *name, const char *summary)
{
	FILE *out = arg;
	char *text = xstrdup(summary);
	const size_t len = strlen(text);

	text[0] =
		(char)toupper((unsigned char)text[0]); /* some rows hold sentences, others words */
	if (len && text[len - 1] == '.')
		text[len - 1] = '\0';
	fprintf(out, "  %-15s ", name);
	options_wrap(out, text, 18, 18);
	free(text);
}

static void print_all(void)
{
	help_short(stdout);
	printf("\nCommands:\n");
	each_command(print_line, stdout);
	printf("\nTools:\n");
	each_tool(print_line, stdout);
	printf("\nTopics (pantrace help TOPIC):\n");
	each_topic(print_line, stdout);
}

/* For scripts and shell completion: "word<TAB>what it is". */
static void print_word(void *arg, const char *name, const char *summary)
{
	printf("%s\t%s\n", name, summary);
}

static void print_tool_word(void *arg, const char *name, const char *summary)
{
	printf("%s\ttool\n", name);
}

/* ---- the program's own manual page, from its tables ---- */

static void man_line(void *arg, const char *name, const char *summary)
{
	const char *page = arg;

	printf(".TP\n.BR %s%s \" (8)\"\n%s\n", page, name, summary);
}

static void print_man(void)
{
	printf(".TH PANTRACE 8 \"\" \"pantrace " PANTRACE_VERSION "\" \"pantrace\"\n"
	       ".SH NAME\npantrace \\- every tracing mechanism of Linux behind one binary\n"
	       ".SH COMMANDS\n");
	each_command(man_line, (void *)"pantrace\\-");
	printf(".SH TOOLS\n");
	each_tool(man_line, (void *)"");
	options_man_exit_status(stdout);
}

/* ---- the command ---- */

static void look(void *arg, const char *name, const char *summary)
{
	nearest_offer(arg, name);
}

static int unknown(const char *word)
{
	struct nearest n;

	nearest_init(&n, word);
	each_command(look, &n);
	each_tool(look, &n);
	each_topic(look, &n);
	help_each_builtin(look, &n);
	return options_usage_error(NULL, "there is no command, tool, function or topic '%s'%s",
				   word, nearest_question(&n));
}

/* Words that scripts and shells say instead of a name. */
static bool print_list(const char *word)
{
	if (str_eq(word, "--words")) {
		each_command(print_word, NULL);
		each_tool(print_tool_word, NULL);
	} else if (str_eq(word, "--help-complete")) {
		each_command(print_word, NULL);
		each_tool(print_word, NULL);
		each_topic(print_word, NULL);
		help_each_builtin(print_word, NULL);
	} else if (str_eq(word, "--reference")) {
		help_reference();
	} else if (str_eq(word, "--examples")) {
		help_examples();
	} else if (str_eq(word, "--help-man")) {
		print_man();
	} else {
		return false;
	}
	return true;
}

static bool print_topic(const char *word)
{
	for (const struct help_topic *t = help_topics; t->name; t++)
		if (str_eq(t->name, word)) {
			t->print(stdout);
			return true;
		}
	return false;
}

int cmd_help(int argc, char **argv)
{
	char *help[] = {NULL, "--help", NULL};
	const struct embedded_tool *tool;

	if (argc < 2 || str_eq(argv[1], "--help") || str_eq(argv[1], "-h")) {
		print_all();
		return EXIT_OK;
	}
	if (print_list(argv[1]))
		return EXIT_OK;
	help[0] = argv[1];
	for (const struct command *c = commands; c->name; c++)
		if (str_eq(c->name, argv[1]))
			return c->run(2, help);
	tool = tool_find(argv[1]);
	if (tool)
		return cmd_tool(tool, 2, help);
	if (help_builtin(argv[1]) || print_topic(argv[1]))
		return EXIT_OK;
	return unknown(argv[1]);
}

int cmd_version(int argc, char **argv)
{
	static const struct command_spec spec = {
		.name = "version",
		.synopsis = "",
		.summary = "print the version",
		.examples =
			"pantrace version   # for a report of a fault, with `pantrace doctor`\n",
		.options = options_none,
		.takes_no_argument = true,
	};
	int first, rc = options_parse(&spec, argc, argv, NULL, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	printf("pantrace %s\n", PANTRACE_VERSION);
	return EXIT_OK;
}
