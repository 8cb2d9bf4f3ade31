/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/nearest.h"
#include "base/stall.h"
#include "cmd/agent/agent.h"
#include "cmd/boot/boot.h"
#include "cmd/buffer/buffer.h"
#include "cmd/cache.h"
#include "cmd/commands.h"
#include "cmd/convert/convert.h"
#include "cmd/doctor.h"
#include "cmd/fmt.h"
#include "cmd/flame/flame.h"
#include "cmd/heatmap/heatmap.h"
#include "cmd/hist/hist.h"
#include "cmd/ftrace/functrace.h"
#include "cmd/list/list.h"
#include "cmd/ftrace/probe_commands.h"
#include "cmd/pieces/pieces.h"
#include "cmd/probe/commands.h"
#include "cmd/record/relay.h"
#include "cmd/report/report.h"
#include "cmd/ftrace/reset_ftrace.h"
#include "cmd/run/run.h"
#include "cmd/run/aot.h"
#include "cmd/stat/stat.h"
#include "cmd/tools/tools.h"
#include "cmd/timeline/timeline.h"
#include "cmd/top/top.h"
#include "cmd/user/user.h"
#include "cmd/ftrace/tpoint.h"
#include "cmd/kvm.h"
#include "cmd/view.h"

const struct command commands[] = {
	{"run", "compile and run a script (also without the word: pantrace -e ..., pantrace FILE)",
	 cmd_run},
	{"list", "what can be traced", cmd_list},
	{"flame", "draw stacks as a flame graph: of a recording, or recorded now", cmd_flame},
	{"heatmap", "draw latencies, values, or the use of CPUs over time", cmd_heatmap},
	{"view", "draw a recording by the picture that suits it", cmd_view},
	{"timeline", "draw what threads and CPUs did, and when", cmd_timeline},
	{"top", "what tasks do, live: CPU, run queue, system calls, faults, I/O, stacks", cmd_top},
	{"fmt", "print scripts in the standard layout", cmd_fmt},
	{"record", "record events of the kernel, samples, and events of programs", cmd_record},
	{"start", "trace into a kernel buffer until stop, as trace-cmd start", cmd_start},
	{"stop", "stop tracing into a buffer; its events stay", cmd_stop},
	{"restart", "resume tracing into a stopped buffer", cmd_restart},
	{"show", "print what is in a buffer", cmd_show},
	{"extract", "write what is in a buffer into a trace.dat", cmd_extract},
	{"snapshot", "set aside what is in a buffer, while tracing goes on", cmd_snapshot},
	{"status", "what the kernel traces now, into which buffers, and whose they are",
	 cmd_status},
	{"clear", "empty a buffer; tracing goes on", cmd_clear},
	{"reset", "remove sessions of start, and undo what they changed", cmd_reset},
	{"boot", "trace the kernel from its first moments on, before there is any process",
	 cmd_boot},
	{"user", "instrumented programs and their sessions", cmd_user},
	{"crash", "the last events of programs that were killed, or of a kernel that crashed",
	 cmd_crash},
	{"relay", "receive recordings of other machines", cmd_relay},
	{"agent", "record, and run scripts, in a guest or on any other machine, for a host",
	 cmd_agent},
	{"report", "print and analyse recordings: trace.dat, perf.data, CTF traces", cmd_report},
	{"kvm", "virtual machines seen from the host: exits, virtual CPUs, faults, interrupts",
	 cmd_kvm},
	{"convert", "turn recordings into files of other programs", cmd_convert},
	{"split", "split a trace.dat by time, number of events, or CPU", cmd_split},
	{"restore", "make a whole trace.dat from what a killed recorder left", cmd_restore},
	{"stat", "count events of a command, of processes, or of the whole machine", cmd_stat},
	{"functrace", "calls of kernel functions", cmd_functrace},
	{"funcgraph", "what kernel functions call, as a graph with times", cmd_funcgraph},
	{"doctor", "what this kernel and these privileges allow", cmd_doctor},
	{"hist", "counts and sums by keys in the kernel (histogram triggers)", cmd_hist},
	{"tpoint", "trace tracepoints: every event as the kernel prints it", cmd_tpoint},
	{"kprobe", "trace calls or returns of kernel functions", cmd_kprobe},
	{"uprobe", "trace calls or returns of functions of programs and libraries", cmd_uprobe},
	{"probe", "probes at source lines, with local variables, that stay", cmd_probe},
	{"cache", "programs and definitions of probes that are kept by build-id", cmd_cache},
	{"reset-ftrace", "show what ftrace has switched on, and switch it off", cmd_reset_ftrace},
	{"info", "the same as bpftrace --info", cmd_info},
	{"help", "this overview, or a command's help", cmd_help},
	{"version", "the version", cmd_version},
	{"complete", NULL, cmd_complete},
	{0},
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Neither a command, a tool, an option nor a file. */
static int unknown(const char *word)
{
	struct nearest n;

	nearest_init(&n, word);
	for (const struct command *c = commands; c->name; c++)
		if (c->summary)
			nearest_offer(&n, c->name);
	for (const struct embedded_tool *t = embedded_tools; t->name; t++)
		nearest_offer(&n, t->name);
	return options_usage_error(NULL, "'%s' is neither a command nor a file%s", word,
				   nearest_question(&n));
}

/*
 * Standard descriptors that are closed: what we open next would take their numbers. These fail as
 * closed ones do.
 */
static void fill_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/*
 * What was printed must have arrived, in every command. A reader that left (| head) wanted no more.
 */
static int check_output(int rc)
{
	const bool failed = ferror(stdout) != 0;
	const int error = fclose(stdout) ? errno : 0;

	if (error == EPIPE || (!failed && !error))
		return rc;
	if (error == EINTR) { /* a signal ended the wait for a reader that stalls */
		complain(NULL, "nobody read the output any more: the rest of it is lost");
		return rc ? rc : EXIT_LOST;
	}
	complain(NULL, "cannot write the output%s%s", error ? ": " : "",
		 error ? strerror(error) : "");
	return rc ? rc : EXIT_FAILED;
}

/* As the command that was run ended, by the same signal. */
static int die_of(int sig)
{
	const struct rlimit none = {0};
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none); /* the command's core is the one of interest */
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	return 128 + sig;
}

static int run(int argc, char **argv)
{
	const char *name = argc ? base_name(argv[0]) : "pantrace";
	const struct embedded_tool *tool = tool_find(name);
	const char *word = argc > 1 ? argv[1] : NULL;
	struct aot program;
	int rc;

	rc = aot_find(&program);
	if (rc < 0) {
		fprintf(stderr,
			"%s: the program is damaged: its script, which --aot has put behind it, is "
			"not "
			"whole\n",
			name);
		return EXIT_FAILED;
	}
	if (rc) {
		rc = cmd_run_aot(&program, argc, argv);
		free(program.text);
		free(program.files);
		return rc;
	}
	if (str_eq(name, "bpftrace"))
		return cmd_run_compatible(argc, argv);
	if (tool)
		return cmd_tool(tool, argc, argv);
	for (const struct command *c = commands; c->name; c++) /* a link by its name */
		if (str_eq(c->name, name))
			return c->run(argc, argv);
	if (!word) {
		help_short(stderr);
		return EXIT_USAGE;
	}
	if (str_eq(word, "--help") || str_eq(word, "-h"))
		return cmd_help(1, argv);
	for (const struct command *c = commands; c->name; c++)
		if (str_eq(c->name, word))
			return c->run(argc - 1, argv + 1);
	tool = tool_find(word);
	if (tool)
		return cmd_tool(tool, argc - 1, argv + 1);
	if (word[0] == '-' || strchr(word, '/') || strchr(word, '.') || access(word, F_OK) == 0)
		return cmd_run(argc, argv);
	return unknown(word);
}

int main(int argc, char **argv)
{
	int rc;

	fill_standard_files();
	stall_watch_messages();
	rc = check_output(run(argc, argv));
	return rc & EXIT_SIGNAL ? die_of(rc & ~EXIT_SIGNAL) : rc;
}
