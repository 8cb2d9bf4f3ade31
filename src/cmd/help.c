/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/options.h"
#include "cmd/commands.h"
#include "cmd/help_builtin.h"
#include "cmd/run.h"
#include "cmd/tools.h"

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
	      "one, `pantrace help printf` a function of the language.\n",
	      out);
}

static void print_all(void)
{
	int column = 0;

	help_short(stdout);
	printf("\nCommands:\n");
	for (const struct command *c = commands; c->name; c++)
		printf("  %-12s %s\n", c->name, c->summary);
	printf("\nTools:\n ");
	for (const struct embedded_tool *t = embedded_tools; t->name; t++) {
		if (column + (int)strlen(t->name) > 76) {
			printf("\n ");
			column = 0;
		}
		column += printf(" %s", t->name);
	}
	printf("\n");
}

/* For shell completion: "word<TAB>what it is". */
static void print_words(void)
{
	for (const struct command *c = commands; c->name; c++)
		printf("%s\t%s\n", c->name, c->summary);
	for (const struct embedded_tool *t = embedded_tools; t->name; t++)
		printf("%s\ttool\n", t->name);
}

int cmd_help(int argc, char **argv)
{
	char *help[] = {NULL, "--help", NULL};
	const struct embedded_tool *tool;

	if (argc < 2 || str_eq(argv[1], "--help") || str_eq(argv[1], "-h")) {
		print_all();
		return EXIT_OK;
	}
	if (str_eq(argv[1], "--words")) {
		print_words();
		return EXIT_OK;
	}
	if (str_eq(argv[1], "--reference")) {
		help_reference();
		return EXIT_OK;
	}
	if (str_eq(argv[1], "--examples")) {
		help_examples();
		return EXIT_OK;
	}
	help[0] = argv[1];
	for (const struct command *c = commands; c->name; c++)
		if (str_eq(c->name, argv[1]))
			return c->run(2, help);
	tool = tool_find(argv[1]);
	if (tool)
		return cmd_tool(tool, 2, help);
	if (help_builtin(argv[1]))
		return EXIT_OK;
	fprintf(stderr, "pantrace: there is no command, tool or function '%s'", argv[1]);
	if (help_nearest_builtin(argv[1]))
		fprintf(stderr, "; did you mean '%s'?", help_nearest_builtin(argv[1]));
	fprintf(stderr, "\nTry 'pantrace help'.\n");
	return EXIT_USAGE;
}

int cmd_version(int argc, char **argv)
{
	printf("pantrace %s\n", PANTRACE_VERSION);
	return EXIT_OK;
}
