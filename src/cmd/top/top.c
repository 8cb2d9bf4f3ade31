/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/top.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/process.h"
#include "cmd/commands.h"
#include "cmd/run/run.h"
#include "engine/engine.h"
#include "kernel/sandbox/sandbox.h"

#define DELAY_NS 1500000000u
#define FIRST_NS 500000000u /* the first interval of a screen */

#define O(field) offsetof(struct top_options, field)
static const struct option_spec top_table[] = {
	{'d', "delay", "SECONDS", "how long to count between two readings (default 1.5)",
	 OPTION_SECONDS, O(delay_ns)},
	{'n', "rounds", "COUNT", "end after this many readings", OPTION_POSITIVE, O(rounds)},
	{0, NULL, NULL, "Which rows", OPTION_HEADING, 0},
	{'H', "threads", NULL, "threads instead of processes", OPTION_FLAG, O(by_thread)},
	{'p', "pid", "PID", "only this process or thread, until it ends (may be repeated)",
	 OPTION_PIDS, O(pids)},
	{'f', "filter", "TEXT", "only those with this in their name", OPTION_STRING, O(filter)},
	{'s', "sort", "COLUMN",
	 "cpu (default), runq, off, calls, faults, read, write, disk, time, pid, threads, state, "
	 "name",
	 OPTION_STRING, O(sort)},
	{'t', "tree", NULL, "as a tree: children below their parents", OPTION_FLAG, O(as_tree)},
	{0, NULL, NULL, "Without a screen", OPTION_HEADING, 0},
	{'b', "batch", NULL, "print lines (the default if standard output is not a terminal)",
	 OPTION_FLAG, O(is_batch)},
	{'l', "limit", "ROWS", "only the first rows of each reading", OPTION_POSITIVE, O(limit)},
	{'j', "json", NULL, "one JSON object per row", OPTION_FLAG, O(config.is_json)},
	{'o', "output", "FILE", "write to a file", OPTION_STRING, O(config.output)},
	{0, SANDBOX_OPTION_NAME, NULL, SANDBOX_OPTION_HELP, OPTION_FLAG, O(config.keep_privileges)},
	{0},
};

static const struct command_spec top_command = {
	.name = "top",
	.synopsis = "[options]",
	.summary = "Shows live what tasks do: CPU, run queue, off-CPU, system calls, faults, I/O, "
		   "and their stacks.",
	.examples = "  pantrace top                      processes, the busiest first\n"
		    "  pantrace top -H -s calls          threads, by system calls\n"
		    "  pantrace top -p 713 -d 0.5        one process, twice a second\n"
		    "  pantrace top -b -n 10 -l 20       the busiest 20, ten times\n"
		    "  pantrace top -j -n 1 -d 10        one reading of ten seconds\n",
	.details =
		"Tasks that began and ended within an interval are counted, too. The kernel "
		"updates the CPU time of a running task at each timer tick, so CPU% and OFF% may "
		"be off by a tick (4 ms) in one interval, which the next one makes up for. A wait "
		"for a CPU is counted when it is over. Needs Linux 5.18 with BTF.",
	.options = top_table,
	.takes_no_argument = true,
	.fits_terminal = true,
};

size_t top_selected(const struct top *t)
{
	for (size_t i = 0; i < t->rows.items.len; i++)
		if (t->rows.items.items[i].id == t->selected_id)
			return i;
	return 0;
}

void top_make_rows(struct top *t)
{
	rows_release(&t->rows);
	rows_make(t->shown, &t->choice, &t->rows);
}

/* ---- readings ---- */

static void forget(struct tasks *t)
{
	if (t)
		tasks_release(t);
	free(t);
}

/* Also while frozen: ended tasks would fill the kernel's map. */
static void read_tasks(struct top *t)
{
	static const struct tasks nothing;
	struct tasks *const next = xzalloc(sizeof(*next));
	const int err = tasks_read(t->engine, t->live ? t->live : &nothing, next);

	if (err) {
		forget(next);
		t->error = err;
		t->is_over = true;
		return;
	}
	if (t->live != t->shown)
		forget(t->live);
	t->live = next;
	t->round += next->from_ns > 0;
	if (t->is_frozen)
		return;
	forget(t->shown);
	t->shown = next;
	top_make_rows(t);
}

static void set_timer(struct top *t, u64 first_ns)
{
	const u64 every = t->o->delay_ns;
	const struct itimerspec when = {
		.it_value = {(time_t)(first_ns / 1000000000), (long)(first_ns % 1000000000)},
		.it_interval = {(time_t)(every / 1000000000), (long)(every % 1000000000)}};

	timerfd_settime(t->timer, 0, &when, NULL);
}

static void watch_input(struct top *t)
{
	struct epoll_event ev = {.events = EPOLLIN};

	epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->terminal.in, &ev);
}

/* When everything is attached: until here messages are printed as usual. */
static void begin(struct top *t)
{
	read_tasks(t);
	set_timer(t, t->o->is_batch ? t->o->delay_ns : MIN(t->o->delay_ns, FIRST_NS));
	if (t->o->is_batch || t->is_over)
		return;
	t->error = terminal_open(&t->terminal);
	t->is_over = t->error;
	if (!t->error)
		watch_input(t);
}

/* ---- -p ---- */

static int watch_pids(struct top *t)
{
	const struct pid_list *const pids = &t->o->pids;

	t->of_pids = xreallocarray(NULL, MAX(pids->count, 1u), sizeof(*t->of_pids));
	for (u32 i = 0; i < pids->count; i++)
		t->of_pids[i] = -1;
	for (u32 i = 0; i < pids->count; i++) {
		const pid_t pid = pids->items[i];

		if (!process_exists(pid)) {
			complain("top", "there is no process or thread %d (-p)", (int)pid);
			return EXIT_FAILED;
		}
		t->of_pids[i] = process_open(pid);
		if (t->of_pids[i] == -EINVAL)
			t->of_pids[i] = process_open_thread(pid);
	}
	return OPTIONS_GO_ON;
}

static bool pids_have_ended(const struct top *t)
{
	const struct pid_list *const pids = &t->o->pids;

	for (u32 i = 0; i < pids->count; i++) {
		struct pollfd p = {.fd = t->of_pids[i], .events = POLLIN};

		if (p.fd >= 0 ? poll(&p, 1, 0) <= 0 : process_exists(pids->items[i]))
			return false;
	}
	return pids->count;
}

static void release_pids(struct top *t)
{
	for (u32 i = 0; t->of_pids && i < t->o->pids.count; i++)
		if (t->of_pids[i] >= 0)
			close(t->of_pids[i]);
	free(t->of_pids);
}

/* An interval has gone by. */
static void take_round(struct top *t)
{
	u64 times;

	if (read(t->timer, &times, sizeof(times)) != sizeof(times))
		return;
	if (!t->shown) {
		begin(t);
		return;
	}
	read_tasks(t);
	if (t->is_over)
		return;
	if (t->mode == TOP_STACKS && !t->is_frozen)
		hot_stacks_read(&t->stacks, t->engine);
	if (t->o->is_batch)
		top_print(t, t->engine->out);
	t->is_over = (t->o->rounds && t->round >= t->o->rounds) || pids_have_ended(t);
}

static bool wake(void *arg, struct engine *e)
{
	struct top *const t = arg;
	u32 key;

	t->engine = e;
	take_round(t);
	if (t->o->is_batch) {
		if (output_flush(e->out)) /* said at the end */
			t->is_over = true;
		return !t->is_over;
	}
	if (!t->is_over && !terminal_is_open(&t->terminal))
		return true; /* the window was resized before there is a screen */
	if (!t->is_over)
		terminal_measure(&t->terminal);
	while (!t->is_over && (key = terminal_key(&t->terminal)))
		top_key(t, key);
	if (!t->is_over && (t->error = top_draw(t))) {
		t->is_over = true;
		t->error = t->error == -ETIMEDOUT ? 0 : t->error; /* it was asked to end */
	}
	if (t->is_over) /* detaching takes a moment */
		terminal_close(&t->terminal);
	return !t->is_over;
}

static void end(void *arg, struct engine *e)
{
	struct top *const t = arg;

	terminal_close(&t->terminal);
	if (!t->o->is_batch && pids_have_ended(t))
		complain("top", "what was asked for with -p has ended");
	if (e->lost[LOST_MAP_FULL])
		complain("top",
			 "%" PRIu64
			 " numbers were lost: there were more than 65536 tasks, or so many "
			 "ended in one interval",
			 e->lost[LOST_MAP_FULL]);
}

static int run(struct top *t)
{
	const struct engine_reporter reporter = {
		.arg = t, .fd = t->epoll, .wake = wake, .report = end};
	struct run_config r = t->o->config;
	struct epoll_event ev = {.events = EPOLLIN};
	struct strbuf script = STRBUF_INIT;
	int rc;

	if (!t->o->is_batch)
		strbuf_addstr(&script, "#define STACKS\n");
	strbuf_addstr(&script, top_script);
	r.name = "top";
	r.text = script.data;
	r.len = script.len;
	r.is_tool = r.quiet = true;
	r.names_of_living = true; /* watching all processes would cost more than the rest */
	r.reporter = &reporter;
	epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->timer, &ev);
	set_timer(t, 1);
	terminal_guard();
	rc = run_script(&r);
	terminal_close(&t->terminal);
	if (t->error) {
		complain("top", "%s", strerror(-t->error));
		rc = rc ? rc : EXIT_FAILED;
	}
	strbuf_release(&script);
	return rc;
}

/* OPTIONS_GO_ON or an exit code. */
static int check(struct top_options *o, struct row_choice *choice)
{
	choice->sort = column_find(o->sort ? o->sort : "cpu");
	if (!choice->sort)
		return options_usage_error(&top_command, "there is no column '%s' to sort by",
					   o->sort);
	o->is_batch |= o->config.is_json || o->config.output || !isatty(STDOUT_FILENO);
	if (!o->is_batch && terminal_refusal()) {
		complain("top", "%s; -b prints lines", terminal_refusal());
		return EXIT_FAILED;
	}
	if (!o->delay_ns)
		o->delay_ns = DELAY_NS;
	return OPTIONS_GO_ON;
}

int cmd_top(int argc, char **argv)
{
	struct top_options o = {0};
	struct top t = {.o = &o, .choice.pids = &o.pids};
	struct option_field fields[32];
	struct command_spec command = top_command;
	int first, rc;

	columns_help(fields, ARRAY_SIZE(fields));
	command.fields = fields;
	rc = options_parse(&command, argc, argv, &o, &first);
	if (rc == OPTIONS_GO_ON)
		rc = check(&o, &t.choice);
	if (rc == OPTIONS_GO_ON) {
		snprintf(t.filter, sizeof(t.filter), "%s", o.filter ? o.filter : "");
		t.choice.filter = t.filter;
		t.choice.by_thread = o.by_thread;
		t.choice.as_tree = o.as_tree;
		t.choice.is_ascending = str_eq(t.choice.sort->key, "pid");
		rc = watch_pids(&t);
	}
	if (rc == OPTIONS_GO_ON) {
		t.cpus = (u32)sysconf(_SC_NPROCESSORS_ONLN);
		t.epoll = epoll_create1(EPOLL_CLOEXEC);
		t.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		rc = run(&t);
		close(t.timer);
		close(t.epoll);
		if (t.live != t.shown)
			forget(t.live);
		forget(t.shown);
		rows_release(&t.rows);
		screen_release(&t.screen);
		hot_stacks_release(&t.stacks);
		vector_free(&t.lines.items);
		arena_release(&t.text);
	}
	release_pids(&t);
	options_release(&top_command, &o);
	return rc;
}
