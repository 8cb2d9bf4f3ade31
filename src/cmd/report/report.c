/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pantrace report: prints recordings as lines and as tables. */
#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/report/report.h"
#include "cmd/report/reading.h"
#include "cmd/report/rounds.h"
#include "cmd/report/tui/tui.h"
#include "view/pager.h"

static volatile sig_atomic_t interrupted;

/* One second after Ctrl-C the output's reader still has not taken what is to be printed. */
static void on_alarm(int number)
{
	_exit(EXIT_LOST);
}

static void on_signal(int number)
{
	interrupted = 1;
	signal(SIGALRM, on_alarm);
	alarm(1);
}

/* ---- tables ---- */

void report_table_text(const struct asked *asked, struct reading *r, const struct report_table *t,
		       struct strbuf *out)
{
	const struct arguments *const a = asked->arguments;
	const struct table_style style = {
		.format = a->json || (a->format && str_eq(a->format, "json")) ? TABLE_JSON
			  : a->format && str_eq(a->format, "csv")	      ? TABLE_CSV
									      : TABLE_TEXT,
		.limit = a->selection.limit,
		.utc = a->selection.utc,
		.as_recorded = asked->style,
	};

	table_print(t, &style, out);
	if (r && style.format == TABLE_TEXT && asked->row->text)
		asked->row->text(r->analysis.state, &style, out);
}

static int print_table(const struct asked *asked, struct reading *r, const struct report_table *t)
{
	struct strbuf out = STRBUF_INIT;
	int rc;

	report_table_text(asked, r, t, &out);
	rc = write_all(STDOUT_FILENO, out.data, out.len);
	strbuf_release(&out);
	if (rc && rc != -EPIPE)
		complain("report", "cannot write: %s", strerror(-rc));
	return rc && rc != -EPIPE ? EXIT_FAILED : 0;
}

static double seconds_of(const struct reading *r)
{
	return (double)(r->last_ns - r->first_ns) / 1e9;
}

/* If the user named no keys, each recording chooses its own: they must agree. */
static bool has_same_keys(const struct report_table tables[2])
{
	bool same = tables[0].nr_keys == tables[1].nr_keys;

	for (u32 i = 0; same && i < tables[0].nr_keys; i++)
		same = str_eq(tables[0].keys[i], tables[1].keys[i]);
	return same;
}

static int compare(const struct asked *asked, char **paths)
{
	struct report_table tables[2] = {0}, result = {0};
	struct reading readings[2] = {{.interrupted = &interrupted}, {.interrupted = &interrupted}};
	double seconds[2];
	int rc[2], written = 0;

	for (u32 i = 0; i < 2; i++) {
		rc[i] = reading_run(&readings[i], asked, (char *[]){paths[i], NULL}, &tables[i]);
		seconds[i] = seconds_of(&readings[i]);
	}
	if (tables[0].columns && tables[1].columns && !has_same_keys(tables)) {
		complain("report", "samples and other events have different tables; "
				   "--top KEY,... says which");
		written = EXIT_FAILED;
	} else if (tables[0].columns && tables[1].columns) {
		table_compare(&tables[0], &tables[1], seconds, &result);
		written = print_table(asked, NULL, &result);
		table_release(&result);
	}
	for (u32 i = 0; i < 2; i++) {
		table_release(&tables[i]);
		reading_release(&readings[i]);
	}
	/* a failure outranks losses */
	return written ?: rc[0] == EXIT_OK || rc[1] == EXIT_FAILED ? rc[1] : rc[0];
}

/* Only tables that say what they are made of. */
static int check_live(const struct arguments *a, const struct report_analysis *row, char **paths)
{
	if (*paths)
		return options_usage_error(&report_spec,
					   "a recording, or a command, -p, -a, -d: choose one");
	if (a->compare)
		return options_usage_error(&report_spec, "--compare takes two recordings: OLD NEW");
	if (!row || (!row->record && !row->record_samples))
		return options_usage_error(&report_spec, "only a table is made of what is recorded "
							 "now: --top, --sched, --syscalls, "
							 "--faults, --block, --locks, --exits or "
							 "--vcpus");
	if (row->record_machine && a->recording.pids.count)
		return options_usage_error(&report_spec, "--sched, --block and --vcpus are made of "
							 "what the whole machine does: without -p");
	return 0;
}

/* Makes the recording that the table is of. */
static int record_it(const struct arguments *a, const struct report_analysis *row, struct live *l)
{
	const struct string_list *const events = &a->selection.events;
	const char **names = xreallocarray(NULL, events->count + 1, sizeof(*names));
	int rc;

	for (u32 i = 0; i < events->count; i++)
		names[i] = events->items[i];
	names[events->count] = NULL;
	l->events = row->record ?: events->count ? names : NULL;
	l->stacks = row->record_stacks || a->call_graph || a->children || a->tui;
	l->period = l->events ? 1 : 0;
	l->whole_machine = row->record_machine;
	rc = live_record(l, &report_spec);
	free(names);
	return rc;
}

static int report(const struct arguments *a, char **paths, struct live *l, struct pager *pager)
{
	const struct sigaction action = {.sa_handler = on_signal};
	char *made[] = {l->path, NULL};
	struct report_table table = {0};
	struct asked asked;
	struct reading r = {.interrupted = &interrupted};
	int rc = report_ask(a, live_is_asked(l) ? made : paths, &asked);

	if (!rc && live_is_asked(l)) {
		const struct report_analysis *const row = asked.row
								  ?: a->tui ? &analysis_top
									    : NULL;

		rc = check_live(a, row, paths);
		if (!rc && a->every_ns)
			return report_rounds(&asked, l, record_it);
		rc = rc ?: record_it(a, row, l);
		paths = made;
	}
	if (rc)
		return rc;
	if (a->tui && a->on_terminal)
		return report_tui(a, paths);
	if (!a->no_pager && !a->live)
		pager_begin(pager);
	if (!pager->pid)
		sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (a->compare)
		return compare(&asked, paths);
	rc = reading_run(&r, &asked, paths, &table);
	if (table.columns)
		rc = print_table(&asked, &r, &table) ?: rc;
	table_release(&table);
	reading_release(&r);
	return rc == EXIT_OK && l->code ? l->code : rc == EXIT_OK && l->has_lost ? EXIT_LOST : rc;
}

int cmd_report(int argc, char **argv)
{
	struct arguments a = {.hold_ms = 1000, .on_terminal = isatty(STDOUT_FILENO)};
	struct live live = {.arguments = &a.recording, .fd = -1};
	struct pager pager = {0};
	struct arena arena = {0};
	int first, rc = options_command(&report_spec, &argc, argv, &live.command);

	report_join_words(&arena, &argc, argv);
	if (rc == OPTIONS_GO_ON)
		rc = options_parse(&report_spec, argc, argv, &a, &first);
	if (rc == OPTIONS_GO_ON && a.every_ns && (live.command || a.tui))
		rc = options_usage_error(&report_spec, "--every is of the machine or a process, "
						       "without a command and --tui");
	a.recording.all |= a.every_ns && !a.recording.pids.count;
	if (rc == OPTIONS_GO_ON) {
		signal(SIGPIPE, SIG_IGN);
		rc = first == argc && !live_is_asked(&live)
			     ? options_usage_error(&report_spec,
						   "which trace? The directory is missing")
			     : report(&a, argv + first, &live, &pager);
		pager_end(&pager);
	}
	live_release(&live);
	options_release(&report_spec, &a);
	arena_release(&arena);
	return rc;
}
