/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completion from the option table: the words that may stand at the end of a command line
 * (options.h).
 */
#include <ctype.h>
#include <string.h>

#include "base/options_internal.h"

static void candidate(FILE *out, const char *word, const char *current, const char *help)
{
	if (str_starts(word, current))
		fprintf(out, "%s\t%s\n", word, help);
}

/* "discard|overwrite|block[=TIME]" */
static void choices(FILE *out, const char *what, const char *prefix, const char *current)
{
	char *words = xstrdup(what), *rest = words, *word;

	while ((word = strsep(&rest, "|"))) {
		word[strcspn(word, "[=]")] = '\0';
		if (str_starts(word, current))
			fprintf(out, "%s%s\t\n", prefix, word);
	}
	free(words);
}

/*
 * The kind of word that is expected, as the help calls it: "PID", "TRACEPOINT[,TRACEPOINT...]",
 * "keys=FIELD[.FORM],...".
 */
static void value(FILE *out, const char *what, const char *prefix, const char *current)
{
	const char *kind = strchr(what, '=') ? strchr(what, '=') + 1 : what;

	if (*kind == '[' && strchr(kind, ']')) /* "[GROUP:]EVENT" */
		kind = strchr(kind, ']') + 1;
	if (islower((unsigned char)what[0]) && strchr(what, '|'))
		choices(out, what, prefix, current);
	else
		fprintf(out, OPTIONS_KIND_MARK "%.*s\t%s%s\n",
			(int)strspn(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), kind, prefix, current);
}

static void options(const struct command_spec *spec, const char *current, FILE *out)
{
	bool has_h = false;

	for (const struct option_spec *o = spec->options; o->help; o++) {
		char *name;

		if (!option_is_offered(o))
			continue;
		has_h |= o->short_name == 'h';
		name = xasprintf("-%c", o->short_name);
		if (o->short_name && (!o->long_name || !current[1]))
			candidate(out, name, current, o->help);
		free(name);
		name = xasprintf("--%s", o->long_name ? o->long_name : "");
		if (o->long_name)
			candidate(out, name, current, o->help);
		free(name);
	}
	if (!has_h)
		candidate(out, "--help", current, "this text");
}

/*
 * The word of the synopsis for the n-th argument; the last one repeats; NULL = no arguments. The
 * caller frees it.
 */
static char *argument(const struct command_spec *spec, u32 n)
{
	const char *found = NULL, *s = spec->synopsis, * or = strstr(s, "  |  ");
	const char *const end = or ? or : s + strlen(s);
	bool is_value = false; /* of an option that the synopsis shows with it: "-u EVENTS" */

	for (size_t len; s < end; s += len + (s[len] == ' ')) {
		const char *word = s + strspn(s, "[");

		len = strcspn(s, " ");
		if (*word == '-') {
			is_value = s[len - 1] != ']';
			continue;
		}
		if (len && !is_value &&
		    (isupper((unsigned char)*word) || memchr(word, '=', len) ||
		     (islower((unsigned char)*word) && memchr(word, '|', len)))) {
			found = word;
			if (!n--)
				break;
		}
		is_value = false;
	}
	return found ? xstrndup(found, strcspn(found, " ")) : NULL;
}

void options_complete(const struct command_spec *spec, int argc, char **argv, FILE *out)
{
	const char *const current = argc ? argv[argc - 1] : "";
	const struct option_spec *waiting = NULL; /* for its value */
	const char *eq = strchr(current, '=');
	char *what;
	u32 n = 0;

	for (int i = 0; i + 1 < argc; i++) {
		const char *word = argv[i];

		if (waiting) {
			waiting = NULL;
		} else if (str_eq(word, "--") || (n && spec->stop_at_argument)) {
			fprintf(out, OPTIONS_KIND_MARK "ARGUMENTS\t%s\n", current);
			return;
		} else if (word[0] == '-' && word[1]) {
			waiting = option_that_waits(spec, word);
		} else {
			n++;
		}
	}
	if (waiting) {
		value(out, waiting->value, "", current);
	} else if (current[0] == '-' && current[1] == '-' && eq) {
		char *name = xstrndup(current, (size_t)(eq - current));
		char *prefix = xstrndup(current, (size_t)(eq + 1 - current));

		waiting = option_that_waits(spec, name);
		if (waiting)
			value(out, waiting->value, prefix, eq + 1);
		free(name);
		free(prefix);
	} else if (current[0] == '-') {
		options(spec, current, out);
	} else {
		what = argument(spec, n);
		if (what)
			value(out, what, "", current);
		free(what);
	}
}
