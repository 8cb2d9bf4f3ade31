/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a tracer takes to attach and to go away, and what of it is the kernel's.
 *
 *	startstop WORD CMD...		prints "START STOP": milliseconds from exec until WORD is
 *					printed, and from SIGINT to the end
 *	startstop floor-multi GLOB	one BPF link of the kprobe_multi kind on the functions that
 *					match: create, close
 *	startstop floor-tracer GLOB	ftrace's function tracer on them, in an instance: make,
 *					filter, start; stop, remove
 *	startstop floor-event GLOB	a kprobe on each, all of one event of tracefs: define,
 *					enable; disable, remove
 *
 * A floor is what the kernel takes for the bare system calls; names and addresses are read before.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRACEFS	 "/sys/kernel/tracing/"
#define MOST	 65536
#define INSTANCE TRACEFS "instances/pantrace-floor/"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- a tracer from outside ---- */

static int run(const char *word, char **argv)
{
	static char text[1 << 16];
	double begin = now(), attached, killed;
	size_t len = 0;
	int line[2];
	pid_t pid, drain;
	ssize_t n;

	if (pipe(line))
		return 1;
	pid = fork();
	if (!pid) {
		dup2(line[1], 1);
		dup2(line[1], 2);
		close(line[0]);
		close(line[1]);
		execvp(*argv, argv);
		_exit(127);
	}
	close(line[1]);
	while (!strstr(text, word) && len < sizeof(text) - 1 &&
	       (n = read(line[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	attached = now();
	if (!strstr(text, word)) {
		fprintf(stderr, "%s", text);
		kill(pid, SIGKILL);
		return 1;
	}
	drain = fork();
	if (!drain) {
		while (read(line[0], text, sizeof(text)) > 0)
			;
		_exit(0);
	}
	killed = now();
	kill(pid, SIGINT);
	waitpid(pid, NULL, 0);
	printf("%.0f %.0f\n", attached - begin, now() - killed);
	waitpid(drain, NULL, 0);
	return 0;
}

/* ---- floors ---- */

static unsigned long addresses[MOST], stext;
static unsigned int count;

static int put(const char *path, const char *value, int flags)
{
	const int fd = open(path, O_WRONLY | flags);
	int err = fd < 0 ? errno : 0;

	if (fd >= 0 && write(fd, value, strlen(value)) < 0)
		err = errno;
	if (fd >= 0)
		close(fd);
	if (err)
		fprintf(stderr, "%s: %s\n", path, strerror(err));
	return err;
}

/* vmlinux's functions that match and that ftrace lists. Both files come in the order of addresses.
 */
static void find(const char *glob)
{
	static char names[MOST][64];
	char line[1024], name[512], kind;
	unsigned int n = 0, at;
	unsigned long address;
	FILE *f = fopen(TRACEFS "available_filter_functions", "r");

	while (f && n < MOST && fgets(line, sizeof(line), f)) {
		if (strchr(line, '['))
			continue;
		line[strcspn(line, " \n")] = '\0';
		if (!fnmatch(glob, line, 0) && strlen(line) < sizeof(names[0]))
			strcpy(names[n++], line);
	}
	if (f)
		fclose(f);
	f = fopen("/proc/kallsyms", "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %c %511s", &address, &kind, name) != 3 || strchr(line, '['))
			continue;
		if (!strcmp(name, "_stext"))
			stext = address;
		if ((kind | 0x20) != 't' || fnmatch(glob, name, 0))
			continue;
		for (at = count; at < n && at < count + 16; at++)
			if (!strcmp(names[at], name)) {
				memmove(names + count, names + at, sizeof(names[0]) * (n - at));
				n -= at - count;
				addresses[count++] = address;
				break;
			}
	}
	if (f)
		fclose(f);
}

static int floor_multi(void)
{
	const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K},
					   {.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr attr;
	double begin, created;
	int program, link;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.expected_attach_type = BPF_TRACE_KPROBE_MULTI;
	attr.insns = (unsigned long)nothing;
	attr.insn_cnt = 2;
	attr.license = (unsigned long)"GPL";
	program = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (unsigned int)program;
	attr.link_create.attach_type = BPF_TRACE_KPROBE_MULTI;
	attr.link_create.kprobe_multi.addrs = (unsigned long)addresses;
	attr.link_create.kprobe_multi.cnt = count;
	begin = now();
	link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	created = now();
	if (link < 0)
		return printf("none: %s\n", strerror(errno)), 0;
	close(link);
	printf("%.0f %.0f\n", created - begin, now() - created);
	return 0;
}

static int floor_tracer(const char *glob)
{
	const double begin = now();
	double started, stopped;

	mkdir(INSTANCE, 0750);
	put(INSTANCE "set_ftrace_filter", glob, O_TRUNC);
	put(INSTANCE "current_tracer", "function", O_TRUNC);
	started = now();
	put(INSTANCE "tracing_on", "0", O_TRUNC);
	put(INSTANCE "current_tracer", "nop", O_TRUNC);
	rmdir(INSTANCE);
	stopped = now();
	printf("%.0f %.0f\n", started - begin, stopped - started);
	return 0;
}

static int floor_event(void)
{
	const int fd = open(TRACEFS "kprobe_events", O_WRONLY | O_APPEND);
	const double begin = now();
	double started;
	char line[128];

	for (unsigned int i = 0; i < count; i++) {
		snprintf(line, sizeof(line), "p:pantrace_floor/f _stext+%lu\n",
			 addresses[i] - stext);
		if (write(fd, line, strlen(line)) < 0 && i == 0)
			perror("kprobe_events");
	}
	close(fd);
	put(TRACEFS "events/pantrace_floor/f/enable", "1", 0);
	started = now();
	put(TRACEFS "events/pantrace_floor/f/enable", "0", 0);
	put(TRACEFS "kprobe_events", "-:pantrace_floor/f\n", O_APPEND);
	printf("%.0f %.0f\n", started - begin, now() - started);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (strncmp(argv[1], "floor-", 6))
		return run(argv[1], argv + 2);
	find(argv[2]);
	fprintf(stderr, "%u functions\n", count);
	if (!strcmp(argv[1], "floor-multi"))
		return floor_multi();
	return strcmp(argv[1], "floor-tracer") ? floor_event() : floor_tracer(argv[2]);
}
