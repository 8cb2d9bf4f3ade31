// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/user/user.h"

#include "base/nearest.h"
#include "base/process.h"
#include "lang/predicate/process.h"

#include <stdio.h>

static const struct {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} subcommands[] = {
	{"list", "instrumented processes and their events", user_list},
	{"create", "a session whose events are off until `user start`", user_create},
	{"start", "begin a session that stays, without a recorder", user_start},
	{"stop", "its events off; the rings stay", user_order},
	{"resume", "its events on again", user_order},
	{"enable", "more events on in a session", user_enable},
	{"disable", "events off in a session", user_disable},
	{"track", "limit a session to some processes", user_track},
	{"untrack", "some processes no longer in a session", user_untrack},
	{"status", "sessions, their processes, counts of events", user_status},
	{"snapshot", "write what the rings hold now", user_snapshot_command},
	{"rotate", "the session's recorder begins a new chunk", user_order},
	{"clear", "forget what was recorded so far", user_order},
	{"destroy", "end a session", user_order},
	{"trigger", "when an event comes: start, stop, rotate, snapshot a session, tell",
	 user_trigger},
	{"list-triggers", "triggers that are waited for", user_list_triggers},
	{"remove-trigger", "end one", user_remove_trigger},
};

static void overview(FILE *out)
{
	fprintf(out, "Sessions of programs with tracepoints of their own (libpantrace).\n\n"
		     "Usage: pantrace user COMMAND [options]\n\nExamples:\n"
		     "  pantrace user list 'shop:*'                 # who has these events\n"
		     "  pantrace user start black-box -u 'shop:*' --mode overwrite\n"
		     "  pantrace user snapshot black-box -o /tmp/now\n"
		     "  pantrace record -u 'shop:*' -o /tmp/trace   # until Ctrl-C\n"
		     "\nCommands:\n");
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		fprintf(out, "  %-14s  %s\n", subcommands[i].name, subcommands[i].summary);
	fputs("\n'pantrace user COMMAND --help' tells more.\n", out);
}

static const struct command_spec overview_spec = {
	.name = "user",
	.synopsis = "COMMAND [options]",
	.summary = "sessions of programs with tracepoints of their own",
	.examples =
		"pantrace user list 'shop:*'   # who has these events\n"
		"pantrace user start black-box -u 'shop:*' --mode overwrite   # a flight recorder\n"
		"pantrace user snapshot black-box -o /tmp/now   # what it holds now\n"
		"pantrace user destroy black-box   # end it\n",
	.details = "Commands: list, create, start, stop, resume, enable, disable, track, untrack, "
		   "status, snapshot, rotate, clear, destroy, trigger, list-triggers, "
		   "remove-trigger. Each has a --help of its own.\n\n"
		   "A session is named and outlives the tool: programs that start later join it, "
		   "and `pantrace record --session NAME` writes what it collects. It talks to "
		   "processes over their sockets in $XDG_RUNTIME_DIR/pantrace (root: "
		   "/run/pantrace); they accept only root and their own user.\n",
	.options = options_none,
};

/* Completes the words after `user`: the name of a sub-command, or its arguments. */
static int complete(int argc, char **argv)
{
	char *asked[argc + 2];

	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++) {
		if (argc < 2) {
			printf("%s\t%s\n", subcommands[i].name, subcommands[i].summary);
		} else if (str_eq(argv[0], subcommands[i].name)) {
			asked[0] = argv[0];
			asked[1] = xstrdup("--help-complete");
			memcpy(asked + 2, argv + 1, sizeof(*argv) * (size_t)(argc - 1));
			return subcommands[i].run(argc + 1, asked);
		}
	}
	return EXIT_OK;
}

static int unknown(const char *word)
{
	struct nearest near;

	nearest_init(&near, word);
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		nearest_offer(&near, subcommands[i].name);
	return options_usage_error(&overview_spec, "there is no command '%s'%s", word,
				   nearest_question(&near));
}

int cmd_user(int argc, char **argv)
{
	int first;

	if (argc < 2) {
		overview(stderr);
		return EXIT_USAGE;
	}
	if (str_eq(argv[1], "--help-complete"))
		return complete(argc - 2, argv + 2);
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (str_eq(argv[1], subcommands[i].name))
			return subcommands[i].run(argc - 1, argv + 1);
	if (*argv[1] != '-')
		return unknown(argv[1]);
	if (str_eq(argv[1], "--help") || str_eq(argv[1], "-h")) {
		overview(stdout);
		return EXIT_OK;
	}
	first = options_parse(&overview_spec, argc, argv, NULL, &first);
	return first == OPTIONS_GO_ON ? EXIT_USAGE : first;
}

int user_session_filter(const struct user_session_arguments *a, struct user_session_options *o,
			struct diag *d, struct strbuf *lines)
{
	int rc;

	if (!a->filter)
		return 0;
	rc = predicate_for_processes.lines(a->events.items, a->events.count, a->filter,
					   o->ask != NULL, d, lines);
	o->filters = lines->data;
	o->predicate = a->filter;
	return rc;
}

/* --uid and --gid. */
static int tracked_from(const struct user_session_arguments *a, struct user_tracked *ret)
{
	const struct {
		enum user_attribute attribute;
		const struct string_list *lists;
	} given[] = {{USER_UID, &a->uids}, {USER_GID, &a->gids}};
	struct diag d = DIAG_INIT;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(given) && !rc; i++) {
		u32 ids[PANTRACE_TRACKED_MAX], nr = 0;

		for (u32 k = 0; k < given[i].lists->count && !rc; k++)
			rc = user_attribute_parse(given[i].attribute, given[i].lists->items[k], ids,
						  &nr, &d);
		for (u32 k = 0; k < nr && !rc; k++)
			user_tracked_add(ret, given[i].attribute, ids[k]);
	}
	diag_close(&d, 0);
	return rc ? EXIT_USAGE : OPTIONS_GO_ON;
}

int user_session_options_from(const struct command_spec *spec,
			      const struct user_session_arguments *a,
			      struct user_session_options *ret)
{
	int rc;

	ret->events = a->events.items;
	ret->nr_events = a->events.count;
	ret->excluded = a->excluded.items;
	ret->nr_excluded = a->excluded.count;
	ret->level = a->level;
	ret->contexts = a->contexts;
	ret->threads = a->threads;
	ret->rings = a->rings;
	ret->which.names = a->names.items;
	ret->which.nr_names = a->names.count;
	ret->which.pids = a->pids.items;
	ret->which.nr_pids = a->pids.count;
	ret->sub_size = a->sub_size;
	ret->subs = a->subs;
	for (u32 i = 0; i < a->pids.count && spec; i++)
		if (!process_exists(a->pids.items[i])) {
			complain(spec->name, "there is no process %d (-p)", (int)a->pids.items[i]);
			return EXIT_FAILED;
		}
	rc = tracked_from(a, &ret->tracked);
	if (rc != OPTIONS_GO_ON)
		return rc;
	if (a->all && (a->pids.count || a->names.count))
		return options_usage_error(spec, "--all and -p or -n exclude each other");
	if (a->mode && user_mode_parse(a->mode, &ret->mode, &ret->block_us))
		return options_usage_error(
			spec, "'%s' is none of discard, overwrite, block, block=TIME", a->mode);
	if (a->sub_size && (a->sub_size < 4096 || a->sub_size > 1 << 30))
		return options_usage_error(spec, "--sub-size is 4K to 1G");
	if (a->subs && (a->subs < 2 || a->subs > 65536))
		return options_usage_error(spec, "--subs is 2 to 65536");
	return OPTIONS_GO_ON;
}

void user_session_arguments_release(struct user_session_arguments *a)
{
	free(a->uids.items);
	free(a->gids.items);
	free(a->events.items);
	free(a->excluded.items);
	free(a->pids.items);
	free(a->names.items);
}
