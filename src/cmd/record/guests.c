/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machines of a recording: what stands behind --guest WHERE, up to the next or up to "--", is
 * recorded there, as trace-cmd has it with -A. Options of the run as a whole may stand anywhere.
 */
#include "cmd/record/record.h"
#include "trace/agent/protocol.h"
#include "trace/agent/reach.h"

#define OPTION "--guest"

/* Whether the word is the option; *ret: its value, if that is in the same word, or NULL. */
static bool is_guest(const char *word, const char **ret)
{
	const size_t n = strlen(OPTION);

	*ret = NULL;
	if (!str_starts(word, OPTION) || (word[n] && word[n] != '='))
		return false;
	if (word[n])
		*ret = word + n + 1;
	return true;
}

static int find_guest(int argc, char **argv, int from)
{
	const char *value;
	int i = from;

	while (i < argc && !str_eq(argv[i], "--") && !is_guest(argv[i], &value))
		i++;
	return i;
}

/* What trace-cmd's agent takes no more, or what would make its recording another than ours. */
static int check_tracecmd_words(const struct command_spec *spec, const struct record_guest *g)
{
	static const struct {
		const char *word, *why;
	} rows[] = {
		{"-C", "its clock is mono, as everywhere here"},
		{"-B", "trace-cmd's agent sends its main buffer"},
		{"-o", "what it sends is written here"},
		{"-N", "what it sends is written here"},
		{"-A", "a guest of a guest is its host's"},
		{"--subbuf-size", "its pages are as large as its machine's"},
	};

	for (u32 i = 0; i < g->count; i++)
		for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
			if (str_starts(g->words[i], rows[k].word))
				return options_usage_error(spec, "%s: without %s: %s", g->where,
							   rows[k].word, rows[k].why);
	return OPTIONS_GO_ON;
}

/* The words are checked here, too: a mistake is told before anybody is connected to. */
static int check_words(const struct command_spec *spec, const struct record_guest *g)
{
	VECTOR(char *) argv = {0};
	const char *way;
	size_t size = 0;
	int rc;

	if (!g->count)
		return options_usage_error(spec,
					   "which events of %s? what stands behind " OPTION
					   " WHERE is recorded there: -e TRACEPOINT",
					   g->where);
	free(agent_way_name(g->where, &way));
	if (agent_is_tracecmd(way))
		return check_tracecmd_words(spec, g);
	vector_push(&argv, (char *)"record");
	for (u32 i = 0; i < g->count; i++) {
		vector_push(&argv, g->words[i]); /* which are put into another order */
		size += strlen(g->words[i]) + 1;
	}
	vector_push(&argv, NULL);
	rc = record_check_words((int)argv.len - 1, argv.items);
	vector_free(&argv);
	if (rc == OPTIONS_GO_ON && size > AGENT_FRAME_MOST)
		rc = options_usage_error(spec, "too many words for %s", g->where);
	return rc;
}

/* How many words an option of the whole run takes that begins there; 0 = it is none. */
static int words_of_run(int left, char *const *words)
{
	static const struct {
		char letter;
		const char *name;
		bool has_value;
	} rows[] = {
		{'o', "--output", true},
		{'d', "--duration", true},
		{0, "--max-size", true},
		{'q', "--quiet", false},
	};
	const char *const word = words[0];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const size_t n = strlen(rows[i].name);
		const bool is_short = rows[i].letter && word[0] == '-' && word[1] == rows[i].letter,
			   is_long = str_starts(word, rows[i].name) && strchr("=", word[n]);

		if (is_short || is_long)
			return rows[i].has_value && !word[is_short ? 2 : n] ? MIN(2, left) : 1;
	}
	return 0;
}

/* Words of one guest, the request's own; those of the run go back to *kept words of argv. */
static void take_guest(struct record_guest *g, char *const *words, int count, char **argv,
		       int *kept)
{
	g->words = xreallocarray(NULL, (size_t)count + 1, sizeof(*g->words));
	for (int i = 0, n; i < count; i += MAX(n, 1)) {
		n = words_of_run(count - i, words + i);
		if (!n)
			g->words[g->count++] = words[i];
		for (int k = 0; k < n; k++)
			argv[(*kept)++] = words[i + k];
	}
}

int record_cut_guests(const struct command_spec *spec, int *argc, char **argv,
		      struct record_request *ret)
{
	int kept = find_guest(*argc, argv, 1), at = kept, rc = OPTIONS_GO_ON;

	while (at < *argc && !str_eq(argv[at], "--") && rc == OPTIONS_GO_ON) {
		struct record_guest g = {0};
		int end;

		is_guest(argv[at++], &g.where);
		if (!g.where && at < *argc)
			g.where = argv[at++];
		if (!g.where || !*g.where || *g.where == '-')
			return options_usage_error(spec, OPTION " takes " AGENT_WAYS);
		end = find_guest(*argc, argv, at);
		take_guest(&g, argv + at, end - at, argv, &kept);
		vector_push(&ret->guests, g);
		rc = check_words(spec, &g);
		at = end;
	}
	memmove(argv + kept, argv + at, (size_t)(*argc - at) * sizeof(*argv));
	*argc -= at - kept;
	argv[*argc] = NULL;
	return rc;
}
