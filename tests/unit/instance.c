/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instances of tracefs: names, complaints at their places, what is left when an owner is killed. */
#include "kernel/tracefs/instance.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "kernel/tracefs/dynamic_event.h"
#include "kernel/tracefs/sweep.h"
#include "kernel/tracefs/owner.h"
#include "kernel/tracefs/saved.h"
#include "tap.h"

static void test_names(struct kernel *k)
{
	struct tracefs_owner self = tracefs_owner_self(), o;
	char name[TRACEFS_OWNER_NAME];
	const char *rest;

	tracefs_owner_name(&self, '-', name);
	ok(tracefs_owner_parse(name, &o, &rest) && o.pid == getpid() && o.start == self.start &&
		   !*rest,
	   "the name of this process' things: %s", name);
	ok(tracefs_owner_alive(k, &self), "this process is alive");
	o.start++;
	ok(!tracefs_owner_alive(k, &o), "a process with this number and another start is not");
	ok(tracefs_owner_parse("pantrace_71_3300_x", &o, &rest) && o.pid == 71 && o.start == 3300,
	   "an event's name");
	is_str(rest, "_x", "with its rest");
	ok(!tracefs_owner_parse("pantrace-71", &o, NULL), "no start");
	ok(!tracefs_owner_parse("pantrace-71_3300", &o, NULL), "mixed separators");
	ok(!tracefs_owner_parse("pantrace-x-1", &o, NULL), "no number");
	ok(!tracefs_owner_parse("pantrace_99999999999_1", &o, NULL), "no such number");
	ok(!tracefs_owner_parse("mypantrace-1-1", &o, NULL), "somebody else's");
}

static void test_spans(void)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	struct diag d = DIAG_INIT;
	const u16 file = diag_add_source(&d, "definition", "p:f   vfs_read a=%foo", 21);
	struct span at;

	tracefs_command_add(&c, "p:g/f ");
	tracefs_command_user(&c, "vfs_read", 8, file, 6);
	tracefs_command_add(&c, " ");
	tracefs_command_user(&c, "a=%foo", 6, file, 15);
	at = tracefs_command_span(&c, &d, 17);
	ok(at.begin == 17 && at.end == 21, "an offset in an argument: %u-%u", at.begin, at.end);
	at = tracefs_command_span(&c, &d, 6);
	ok(at.begin == 6 && at.end == 14, "at a word's start: %u-%u", at.begin, at.end);
	at = tracefs_command_span(&c, &d, 2);
	ok(at.begin == UINT32_MAX, "our own words have no place");
	at = tracefs_command_span(&c, &d, 21);
	ok(at.begin == 21, "the end: %u", at.begin);
	tracefs_command_release(&c);
	diag_release(&d);
}

static char *messages(struct diag *d)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	diag_print(d, out, false);
	fclose(out);
	return text;
}

static char *file_in(struct instance *in, const char *name)
{
	char *text;

	if (instance_read(in, name, &text))
		return xstrdup("?");
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void is_file(struct instance *in, const char *file, const char *want)
{
	char *got = file_in(in, file);

	is_str(got, want, file);
	free(got);
}

static void bad_filter(struct instance *in, const char *text, const char *want)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	char *said;

	tracefs_command_from(&c, instance_diag(in), "filter", text);
	instance_set_filter(in, "sched", "sched_switch", &c);
	said = messages(instance_diag(in));
	is_str(said, want, text);
	free(said);
	tracefs_command_release(&c);
}

/* Where the kernel's parser says nothing exact, and where it does. */
static void test_carets(struct instance *in)
{
	static const struct {
		const char *filter, *place, *why;
	} rows[] = {
		{"prev_pid = 5", "10-11", "Invalid operator"},
		{"prev_pid=5", "9-11", "Invalid operator"},
		{"prev_pid == 1 && next_pid % 5", "27-28", "Invalid operator"},
		{"prev_pid == 1 && (next_prio>1||next_pid", "18-40", "Too many '('"},
		{"prev_pid == 1 && (next_prio>1||next_pid)", "40-41", "Invalid operator"},
		{"nosuch==2", "1-10", "Field not found"},
		{"(prev_pid==2)||!(nosuch<2)", "18-27", "Field not found"},
		{"prev_comm > \"x\"", "13-16", "Illegal operation for field type"},
		{"prev_pid ~ 5", "12-13", "Illegal operation for field type"},
		{"prev_pid == \"x\"", "13-16", "Expecting numeric field"},
		{"prev_comm == 5", "14-15", "Expecting string field"},
		{"prev_pid == 5zz && next_pid == 1", "13-16", "Illegal integer value"},
		{"prev_pid == 123456789012345678901234567890", "13-43", "Operand too long"},
		{"prev_pid == x", "13-14", "Invalid value (did you forget quotes)?"},
		{"prev_comm == \"x", "14-16", "Missing matching quote"},
		{"prev_pid == 1) && next_pid == 2", "14-15", "Too few '('"},
		{"prev_pid == 1 & next_pid == 2", "15-16",
		 "Too many terms in predicate expression"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tracefs_command c = TRACEFS_COMMAND_INIT;
		char *said, *want = xasprintf("filter:1:%s: ERROR: the filter of "
					      "sched:sched_switch: %s\n",
					      rows[i].place, rows[i].why);

		tracefs_command_from(&c, instance_diag(in), "filter", rows[i].filter);
		instance_set_filter(in, "sched", "sched_switch", &c);
		said = messages(instance_diag(in));
		said[strcspn(said, "\n") + 1] = '\0';
		is_str(said, want, rows[i].filter);
		free(said);
		free(want);
		tracefs_command_release(&c);
	}
}

static void test_own(struct kernel *k)
{
	struct diag d = DIAG_INIT;
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	struct instance *in, *second;
	char *directory, *said;
	struct stat st;

	is_int(instance_open(k, &d, INSTANCE_OWN, &in), 0, "an instance of our own");
	if (!in)
		return;
	is_int(instance_open(k, &d, INSTANCE_OWN, &second), 0, "and a second one");
	ok(strcmp(instance_directory(in), instance_directory(second)), "of another name");
	instance_close(second);
	is_int(instance_set_buffer(in, 512), 0, "its size");
	said = file_in(in, "buffer_size_kb");
	ok(atoi(said) >= 512 && atoi(said) < 520, "in whole pages: %s", said);
	free(said);
	is_int(instance_follow_process(in, getpid(), FOLLOW_EVENTS | FOLLOW_CHILDREN), 0,
	       "its threads");
	is_file(in, "options/event-fork", "1");
	is_int(instance_enable_event(in, "sched", "sched_switch", true), 0, "an event");
	is_file(in, "events/sched/sched_switch/enable", "1");
	tracefs_command_from(&c, &d, "filter", "  prev_pid > 5");
	is_int(instance_set_filter(in, "sched", "sched_switch", &c), 0, "a filter");
	tracefs_command_release(&c);
	is_file(in, "events/sched/sched_switch/filter", "prev_pid > 5");

	bad_filter(in, "  prev_pid > 5 && prevpid == 2",
		   "filter:1:19-26: ERROR: the filter of sched:sched_switch: Field not found\n"
		   "  prev_pid > 5 && prevpid == 2\n"
		   "                  ~~~~~~~\n");
	bad_filter(
		in, "next_pid ==",
		"filter:1:12-13: ERROR: the filter of sched:sched_switch: Invalid value (did you "
		"forget quotes)?\n"
		"next_pid ==\n"
		"           ~\n");
	test_carets(in);
	ok(instance_enable_event(in, "sched", "sched_swich", true) == -ENOENT, "an unknown event");
	said = messages(&d);
	ok(strstr(said, "did you mean 'sched:sched_switch'?") != NULL, "with the nearest: %s",
	   said);
	free(said);
	ok(instance_follow_process(in, 0x3fffffff, FOLLOW_EVENTS) == -ESRCH, "no such process");
	ok(instance_set_option(in, "no-such", true) == -ENOENT, "no such option");
	free(messages(&d));
	directory = xstrdup(instance_directory(in));
	instance_close(in);
	ok(stat(directory, &st) && errno == ENOENT, "it is gone");
	is_int((long long)d.messages.len, 0, "nothing to complain of");
	free(directory);
	diag_release(&d);
}

/* ---- owners that are killed ---- */

static void define(struct diag *d, struct dynamic_events *set, const char *tail)
{
	const struct dynamic_event *e;
	struct tracefs_command c = TRACEFS_COMMAND_INIT;

	tracefs_command_from(&c, d, "definition", tail);
	dynamic_events_define(set, DYNAMIC_UPROBE, "my probe", &c, &e);
	tracefs_command_release(&c);
}

/* What a run has open when it is killed. Never returns. */
static void be_killed(struct kernel *k, int ready)
{
	struct diag d = DIAG_INIT;
	struct dynamic_events *set = dynamic_events_new(k, &d);
	struct instance *in;

	instance_open(k, &d, INSTANCE_OWN, &in);
	define(&d, set, "/proc/self/exe:0x1000");
	if (in && dynamic_events_count(set))
		instance_enable_event(in, dynamic_events_at(set, 0)->group,
				      dynamic_events_at(set, 0)->name, true);
	diag_print(&d, stdout, false);
	if (write(ready, "x", 1) == 1)
		pause();
	_exit(1);
}

static pid_t start(void (*fn)(struct kernel *k, int ready), struct kernel *k)
{
	int ends[2];
	pid_t pid;
	char c;

	if (pipe(ends))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid)
		fn(k, ends[1]);
	if (read(ends[0], &c, 1) != 1)
		pid = -1;
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void test_killed(struct kernel *k)
{
	struct sweep_report report = {0};
	const pid_t pid = start(be_killed, k);
	bool instance = false, probe = false;
	char name[64];

	is_int(tracefs_sweep(k, false, &report), 0, "a sweep while the owner lives");
	is_int((long long)report.items.len, 0, "takes nothing");
	sweep_report_release(&report);
	kill(pid, SIGKILL);
	/* Also one that nobody has waited for is dead. */
	waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
	report = (struct sweep_report){0};
	tracefs_sweep(k, true, &report);
	is_int((long long)report.items.len, 2, "looking finds the instance and the event");
	sweep_report_release(&report);
	report = (struct sweep_report){0};
	tracefs_sweep(k, false, &report);
	snprintf(name, sizeof(name), "pantrace-%d-", (int)pid);
	for (size_t i = 0; i < report.items.len; i++) {
		instance |= report.items.items[i].kind == SWEPT_INSTANCE &&
			    str_starts(report.items.items[i].name, name);
		probe |= report.items.items[i].kind == SWEPT_PROBE && !report.items.items[i].error;
	}
	ok(instance && probe && !report.failed, "sweeping takes them");
	sweep_report_release(&report);
	report = (struct sweep_report){0};
	tracefs_sweep(k, true, &report);
	is_int((long long)report.items.len, 0, "nothing is left");
	sweep_report_release(&report);
	waitpid(pid, NULL, 0);
}

static void be_killed_at_top(struct kernel *k, int ready)
{
	struct diag d = DIAG_INIT;
	struct instance *in;

	instance_open(k, &d, INSTANCE_TOP, &in);
	if (in) {
		instance_set_buffer(in, 100);
		instance_write(in, "tracing_cpumask", "1");
		instance_set_option(in, "print-parent", false);
	}
	diag_print(&d, stdout, false);
	if (write(ready, "x", 1) == 1)
		pause();
	_exit(1);
}

static char *top_state(struct kernel *k)
{
	static const char *const files[] = {"trace_clock",	    "tracing_cpumask",
					    "options/print-parent", "options/overwrite",
					    "tracing_on",	    "current_tracer"};
	struct strbuf sb = STRBUF_INIT;
	char *value;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (!tracefs_value_read(kernel_tracefs(k), files[i], &value)) {
			strbuf_addf(&sb, "%s=%s;", files[i], value);
			free(value);
		}
	return strbuf_detach(&sb);
}

/* Somebody else may trace there, whoever it is: that is waited for, a minute. */
static bool top_is_free(struct kernel *k)
{
	struct diag d = DIAG_INIT;
	struct instance *in = NULL;
	char *said = NULL;

	for (int attempt = 0; attempt < 600 && instance_open(k, &d, INSTANCE_TOP, &in); attempt++) {
		free(said);
		said = messages(&d);
		nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
	}
	if (in) {
		instance_close(in);
	} else {
		said[strcspn(said, "\n")] = '\0';
		tap_skip("the top buffer", said);
	}
	free(said);
	diag_release(&d);
	return in;
}

static void test_top(struct kernel *k)
{
	char *before = top_state(k), *during, *after, *said;
	struct diag d = DIAG_INIT;
	struct sweep_report report = {0};
	struct instance *in;
	pid_t pid = start(be_killed_at_top, k);

	ok(instance_open(k, &d, INSTANCE_TOP, &in) == -EBUSY,
	   "the top buffer is taken by one at a time");
	said = messages(&d);
	ok(strstr(said, "in use by process") != NULL, "and the other one is named: %s", said);
	free(said);
	during = top_state(k);
	ok(strcmp(before, during), "it was changed: %s", during);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tracefs_sweep(k, false, &report);
	ok(report.items.len >= 3 && report.items.items[0].kind == SWEPT_SETTING && !report.failed,
	   "the sweep puts values back");
	after = top_state(k);
	is_str(after, before, "all as before");
	free(after);
	is_int(instance_open(k, &d, INSTANCE_TOP, &in), 0, "it can be taken again");
	instance_close(in);
	after = top_state(k);
	is_str(after, before, "and left as it was");
	free(before);
	free(during);
	free(after);
	sweep_report_release(&report);
	diag_release(&d);
}

static void test_dynamic(struct kernel *k)
{
	struct diag d = DIAG_INIT;
	struct dynamic_events *set = dynamic_events_new(k, &d);
	char *said;

	define(&d, set, "/proc/self/exe:0x1000 a=%foo");
	said = messages(&d);
	is_str(said,
	       "definition:1:25-29: ERROR: the probe 'my probe': Invalid register name\n"
	       "/proc/self/exe:0x1000 a=%foo\n"
	       "                        ~~~~\n",
	       "a bad argument at its place");
	free(said);
	define(&d, set, "/proc/self/exe:0x1000");
	define(&d, set, "/proc/self/exe:0x1001");
	is_int((long long)dynamic_events_count(set), 2, "two of one name");
	is_str(dynamic_events_at(set, 0)->name, "my_probe", "the kernel's name");
	is_str(dynamic_events_at(set, 1)->name, "my_probe_2", "and the second one's");
	is_str(dynamic_events_at(set, 1)->shown, "my probe", "the user's");
	dynamic_events_release(set);
	is_int((long long)d.messages.len, 0, "nothing to complain of");
	diag_release(&d);
}

int main(void)
{
	struct kernel *k = kernel_new();

	test_names(k);
	test_spans();
	if (geteuid() || !kernel_tracefs(k)) {
		tap_skip("instances", "needs root and tracefs");
	} else {
		test_own(k);
		test_dynamic(k);
		test_killed(k);
		if (top_is_free(k))
			test_top(k);
	}
	kernel_release(k);
	return tap_done();
}
