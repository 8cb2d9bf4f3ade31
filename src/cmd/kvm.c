/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pantrace kvm: what `record` and `report` can do for virtual machines, named as in perf kvm. Each
 * word stands for one of their command lines, to which the remaining arguments are added.
 */
#include "cmd/kvm.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/nearest.h"
#include "base/options.h"
#include "cmd/report/report.h"
#include "cmd/user/user.h"

#define WORDS_MOST 10

static const struct row {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
	const char *words[WORDS_MOST]; /* ended by NULL */
} rows[] = {
	{"exits",
	 "exits by reason, with the time to the next entry; --per-task: of each virtual CPU",
	 cmd_report,
	 {"report", "--exits"}},
	{"live",
	 "the same again each second, on a terminal as a screen; --every SECONDS",
	 cmd_report,
	 {"report", "--exits", "--every=1"}},
	{"vcpus",
	 "where the time of each virtual CPU goes: guest, host, halted, waiting, and for what",
	 cmd_report,
	 {"report", "--vcpus"}},
	{"faults",
	 "page faults by the address in the guest",
	 cmd_report,
	 {"report", "--top=fault_address", "-e", "kvm:kvm_page_fault"}},
	{"interrupts",
	 "interrupts given to guests, by vector",
	 cmd_report,
	 {"report", "--top=vector", "-e", "kvm:kvm_inj_virq"}},
	{"record",
	 "record what the other commands need",
	 cmd_record,
	 {"record", "-a", "-e", "kvm:*", "-e", "sched:sched_switch", "-e", "sched:sched_waking"}},
};

/* perf's `kvm stat WORD`. */
static const struct {
	const char *word, *name;
} stat_words[] = {{"live", "live"}, {"report", "exits"}, {"record", "record"}};

static const struct command_spec spec = {
	.name = "kvm",
	.synopsis = "COMMAND [options of report or record] [RECORDING | -- COMMAND...]",
	.summary = "virtual machines seen from the host: exits, virtual CPUs, faults, interrupts",
	.examples =
		"pantrace kvm exits                # all guests here, until Ctrl-C\n"
		"pantrace kvm live                 # again each second, as a screen\n"
		"pantrace kvm vcpus -d 5           # where the time of virtual CPUs goes, for 5 "
		"seconds\n"
		"pantrace kvm exits --per-task -p 4711   # one QEMU, each virtual CPU\n"
		"pantrace kvm record -d 10 -o kvm.dat    # for later\n"
		"pantrace kvm exits kvm.dat        # from a recording, also of trace-cmd or "
		"perf\n"
		"pantrace kvm faults kvm.dat\n"
		"pantrace kvm stat report kvm.dat  # perf's words: stat live, stat record, stat "
		"report\n",
	.details =
		"Commands: exits, live, vcpus, faults and interrupts take the options of `pantrace "
		"report`, record those of `pantrace record`. Without arguments, a table "
		"covers all guests of this machine until Ctrl-C.\n\n"
		"exits: how often virtual CPUs left their guest, and how long the host took "
		"until they entered again, as perf kvm stat counts it.\n\n"
		"An exit of a guest's guest is marked: (nested); or (nested, for its "
		"hypervisor), if the host hands it on to that guest.\n\n"
		"vcpus: time in the guest, in its own guests (NESTED), in the host on its behalf, "
		"halted, asleep, and waiting for a CPU; below the table, who had the CPU "
		"meanwhile; and what a guest that was recorded beside (record --guest) counted "
		"itself as stolen, in ticks of 10 ms.\n\n"
		"`pantrace record --guest` shows guests and their host on one time line.",
	.options = options_none,
};

static const struct row *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_eq(rows[i].name, name))
			return &rows[i];
	return NULL;
}

/* Removes the command's words from the line. NULL: there is no such command. */
static const struct row *take(int *argc, char ***argv)
{
	const char *name = (*argv)[0];

	if (str_eq(name, "stat") && *argc > 1) {
		++*argv;
		--*argc;
		name = "";
		for (size_t i = 0; i < ARRAY_SIZE(stat_words); i++)
			if (str_eq(stat_words[i].word, (*argv)[0]))
				name = stat_words[i].name;
	}
	++*argv;
	--*argc;
	return find(name);
}

/* Runs its words, `more`, and those of the line. */
static int run(const struct row *row, const char *more, int argc, char **argv)
{
	char *words[WORDS_MOST + 1 + argc];
	struct arena arena = {0};
	int n = 0, rc;

	for (; row->words[n]; n++)
		words[n] = arena_strdup(&arena, row->words[n]);
	if (more)
		words[n++] = arena_strdup(&arena, more);
	memcpy(words + n, argv, sizeof(*argv) * (size_t)(argc + 1));
	rc = row->run(n + argc, words);
	arena_release(&arena);
	return rc;
}

static int complete(int argc, char **argv)
{
	const struct row *row;

	if (argc < 2) {
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			printf("%s\t%s\n", rows[i].name, rows[i].summary);
		printf("stat\tthe same by perf's words\n");
		return EXIT_OK;
	}
	if (argc == 2 && str_eq(argv[0], "stat")) {
		for (size_t i = 0; i < ARRAY_SIZE(stat_words); i++)
			printf("%s\t%s\n", stat_words[i].word, find(stat_words[i].name)->summary);
		return EXIT_OK;
	}
	row = take(&argc, &argv);
	return row ? run(row, "--help-complete", argc, argv) : EXIT_OK;
}

static int unknown(const char *word)
{
	struct nearest near;

	nearest_init(&near, word);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		nearest_offer(&near, rows[i].name);
	return options_usage_error(&spec, "there is no command '%s'%s", word,
				   nearest_question(&near));
}

int cmd_kvm(int argc, char **argv)
{
	const struct row *row;
	int first;

	argc--;
	argv++;
	if (argc && str_eq(argv[0], "--help-complete"))
		return complete(argc - 1, argv + 1);
	if (!argc || *argv[0] == '-') {
		first = options_parse(&spec, argc + 1, argv - 1, NULL, &first);
		return first == OPTIONS_GO_ON
			       ? options_usage_error(&spec,
						     "which command? exits, live, vcpus, faults, "
						     "interrupts or record")
			       : first;
	}
	row = take(&argc, &argv);
	if (!row)
		return unknown(argv[-1]);
	return run(row, argc || row->run != cmd_report ? NULL : "-a", argc, argv);
}
