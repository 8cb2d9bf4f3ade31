/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pantrace complete`: what may stand at the end of a command line. The scripts of the shells
 * (scripts/completion/) call it and know nothing themselves.
 *
 *	pantrace complete WORD...              zsh, fish: the words of the line, from the program
 *                                             on; the last is being written
 *	pantrace complete --line LINE BREAKS   bash: the line as it stands, and the characters that
 *                                             end a word for bash
 *
 * Prints lines "candidate<TAB>help". ":files", ":directories" and ":commands" ask the shell for its
 * own. For bash a candidate begins where bash thinks that the word begins.
 */
#include <ctype.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/vector.h"
#include "cmd/commands.h"
#include "cmd/complete/candidates.h"
#include "cmd/tools/tools.h"

/* bash inserts a candidate as it is; zsh and fish quote it. */
#define BASH_SPECIAL " \t\n\"\\'`$&|;<>()[]{}*?!"

struct line {
	struct arena arena;
	VECTOR(const char *) words; /* from the program's name on; the last is being written */
	size_t cut; /* bytes of the last word that the shell keeps as they are */
	const char *unsafe; /* characters that the shell would interpret */
};

/*
 * One word as a shell splits it; it ends at *at. *ret_breaks: the position after the last unquoted
 * character that ends a word for bash.
 */
static const char *next_word(struct line *l, const char **at, const char *breaks, size_t *ret_cut)
{
	struct strbuf sb = STRBUF_INIT;
	const char *p = *at, *word;
	char quote = 0;

	*ret_cut = 0;
	for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
		if (*p == quote) {
			quote = 0;
		} else if (!quote && (*p == '\'' || *p == '"')) {
			quote = *p;
			*ret_cut = sb.len;
		} else if (*p == '\\' && quote != '\'' && p[1]) {
			strbuf_addch(&sb, *++p);
		} else {
			strbuf_addch(&sb, *p);
			if (!quote && strchr(breaks, *p))
				*ret_cut = sb.len;
		}
	}
	*at = p;
	word = arena_strdup(&l->arena, sb.data ? sb.data : "");
	strbuf_release(&sb);
	return word;
}

static void split_line(struct line *l, const char *text, const char *breaks)
{
	do {
		text += strspn(text, " \t\n");
		vector_push(&l->words, next_word(l, &text, breaks, &l->cut));
	} while (*text);
}

/* Does it tell the shell to complete by itself? */
static bool is_kind(const char *candidate)
{
	return str_eq(candidate, ":files") || str_eq(candidate, ":directories") ||
	       str_eq(candidate, ":commands");
}

/*
 * Names of processes, files and events are chosen by others. A name that the shell would interpret
 * is not offered, and nothing is written unescaped.
 */
static void print_candidate(void *arg, const char *candidate, const char *help)
{
	const struct line *l = arg;
	const char *word = l->words.items[l->words.len - 1];
	struct strbuf name = STRBUF_INIT, note = STRBUF_INIT;

	if (is_kind(candidate)) {
		printf("%s\n", candidate);
		return;
	}
	if (!str_starts(candidate, word) || strpbrk(candidate + strlen(word), l->unsafe))
		return;
	escape_line(&name, candidate, strlen(candidate));
	escape_line(&note, help, strlen(help));
	if (str_eq(name.data, candidate))
		printf("%s\t%s\n", candidate + l->cut, note.data);
	strbuf_release(&name);
	strbuf_release(&note);
}

/*
 * Asks the command for its options and arguments: runs it as `COMMAND --help-complete WORD...` in a
 * child.
 */
static FILE *ask_command(const char *name, const char *const *words, size_t n, pid_t *ret_pid)
{
	const struct embedded_tool *tool = tool_find(name);
	const struct command *command = commands;
	char **argv;
	int fds[2];

	while (command->name && !str_eq(command->name, name))
		command++;
	if ((!tool && !command->name) || pipe(fds))
		return NULL;
	fflush(stdout);
	*ret_pid = fork();
	if (*ret_pid) {
		close(fds[1]);
		return fdopen(fds[0], "r");
	}
	dup2(fds[1], STDOUT_FILENO);
	argv = xzalloc(sizeof(*argv) * (n + 3));
	argv[0] = xstrdup(name);
	argv[1] = xstrdup("--help-complete");
	for (size_t i = 0; i < n; i++)
		argv[2 + i] = xstrdup(words[i]);
	if (tool)
		cmd_tool(tool, (int)n + 2, argv);
	else
		command->run((int)n + 2, argv);
	fflush(stdout);
	_exit(0);
}

/* words: from the command's name on. */
static void complete_arguments(struct line *l, const char *name, size_t first)
{
	struct completion c = {.words = &l->words.items[first],
			       .nr_words = l->words.len - first - 1,
			       .offer = print_candidate,
			       .arg = l};
	pid_t pid = -1;
	char *text = NULL;
	size_t size;
	FILE *answer =
		ask_command(name, &l->words.items[first + 1], l->words.len - first - 1, &pid);

	while (answer && getline(&text, &size, answer) > 0) {
		char *tab;

		text[strcspn(text, "\n")] = '\0';
		tab = strchr(text, '\t');
		if (!tab)
			continue; /* a command without options, which prints something else */
		*tab++ = '\0';
		c.word = tab;
		if (text[0] == OPTIONS_KIND_MARK[0])
			candidates(text + 1, &c);
		else
			print_candidate(l, text, tab);
	}
	free(text);
	if (answer)
		fclose(answer);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void complete_commands(struct line *l)
{
	for (const struct command *c = commands; c->name; c++)
		if (c->summary)
			print_candidate(l, c->name, c->summary);
	for (const struct embedded_tool *t = embedded_tools; t->name; t++)
		print_candidate(l, t->name, "tool");
	printf(":files\n"); /* scripts */
}

int cmd_complete(int argc, char **argv)
{
	struct line l = {.unsafe = ""};
	const char *program;

	if (argc > 2 && str_eq(argv[1], "--line")) {
		l.unsafe = BASH_SPECIAL;
		split_line(&l, argv[2], argc > 3 ? argv[3] : "");
	} else {
		for (int i = 1; i < argc; i++)
			vector_push(&l.words, argv[i]);
	}
	if (l.words.len > 1) {
		program = strrchr(l.words.items[0], '/') ? strrchr(l.words.items[0], '/') + 1
							 : l.words.items[0];
		if (!str_eq(program, "pantrace"))
			complete_arguments(&l, str_eq(program, "bpftrace") ? "run" : program, 0);
		else if (l.words.items[1][0] == '-')
			complete_arguments(&l, "run", 0);
		else if (l.words.len == 2)
			complete_commands(&l);
		else
			complete_arguments(&l, l.words.items[1], 1);
	}
	vector_free(&l.words);
	arena_release(&l.arena);
	return EXIT_OK;
}
