// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/recorder.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ASK_MS	       1000
#define ASK_BRIEFLY_MS 20 /* while rings fill up; who is slow is asked again */

/* ---- files that shrink ---- */

static void on_bus_error(int signal, siginfo_t *info, void *context)
{
	const uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)4095;

	(void)context;
	/* only what a file no longer backs; anything else is a fault of ours */
	if (info->si_code != BUS_ADRERR ||
	    mmap((void *)page, 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
		struct sigaction fatal = {.sa_handler = SIG_DFL};

		sigaction(signal, &fatal, NULL);
	}
}

void recorder_guard(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

	sigaction(SIGBUS, &action, NULL);
}

/* ---- finding ---- */

int recorder_open(struct recorder *r, const struct user_session *session, struct ctf_output *output,
		  bool consume)
{
	char runtime[512];
	struct stat st;

	*r = (struct recorder){
		.session = session, .output = output, .consume = consume, .inotify = -1};
	if (!stat("/proc/self/ns/pid", &st))
		r->pid_namespace = st.st_ino;
	recorder_guard();
	r->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (r->inotify < 0)
		return 0; /* found by looking now and then */
	inotify_add_watch(r->inotify, session->directory, IN_CREATE | IN_ONLYDIR);
	if (!user_runtime(runtime, sizeof(runtime)))
		inotify_add_watch(r->inotify, runtime, IN_CREATE | IN_ONLYDIR);
	return 0;
}

int recorder_fd(const struct recorder *r)
{
	return r->inotify;
}

void recorder_fd_clear(struct recorder *r)
{
	char events[4096];

	while (r->inotify >= 0 && read(r->inotify, events, sizeof(events)) > 0)
		;
}

static bool known_file(const struct recorder *r, const char *name)
{
	for (size_t i = 0; i < r->sources.len; i++)
		if (r->sources.items[i].file && str_eq(r->sources.items[i].file, name))
			return true;
	return false;
}

static bool known_rings(const struct recorder *r, struct pantrace_reader *reader)
{
	const struct pantrace_shm *const h = pantrace_reader_header(reader);

	for (size_t i = 0; i < r->sources.len; i++)
		if (!memcmp(pantrace_reader_header(r->sources.items[i].reader)->uuid, h->uuid,
			    sizeof(h->uuid)))
			return true;
	return false;
}

/* Takes FD over. PID: 0 = the one that the header names. */
static void source_add(struct recorder *r, int fd, const char *name, pid_t pid)
{
	struct recorder_source source = {.pidfd = -1};
	const struct pantrace_shm *h;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    pantrace_reader_open_fd(fd, r->consume, &source.reader)) {
		close(fd); /* half made yet, or no ring file */
		return;
	}
	close(fd);
	h = pantrace_reader_header(source.reader);
	if (strncmp(h->session, r->session->name, sizeof(h->session)) != 0 ||
	    known_rings(r, source.reader) ||
	    (r->output && ctf_output_add(r->output, source.reader, &source.output))) {
		pantrace_reader_close(source.reader);
		return;
	}
	if (!pid && h->pid_namespace == r->pid_namespace)
		pid = (pid_t)h->pid;
	if (pid > 0) {
		source.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		source.ended = source.pidfd < 0 && errno == ESRCH;
	}
	source.file = name ? xstrdup(name) : NULL;
	vector_push(&r->sources, source);
	r->nr_processes++;
}

static void find_files(struct recorder *r)
{
	DIR *dir = opendir(r->session->directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const size_t n = strlen(entry->d_name);
		int fd;

		if (n < 9 || !str_eq(entry->d_name + n - 9, ".pantrace") ||
		    known_file(r, entry->d_name))
			continue;
		fd = openat(dirfd(dir), entry->d_name,
			    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0)
			source_add(r, fd, entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

static void find_memory(struct recorder *r, int timeout_ms)
{
	struct user_processes asked = {0};
	char *request = user_request("attach", r->session->name);

	user_connect(&asked, NULL);
	user_ask(&asked, request, timeout_ms);
	for (size_t i = 0; i < asked.all.len; i++) {
		struct user_process *const p = &asked.all.items[i];

		if (p->error || p->fd < 0)
			continue;
		source_add(r, p->fd, NULL, p->pid);
		p->fd = -1;
	}
	user_processes_release(&asked);
	free(request);
}

void recorder_find(struct recorder *r, bool ask)
{
	find_files(r);
	if (ask)
		find_memory(r, r->nr_processes && r->started ? ASK_BRIEFLY_MS : ASK_MS);
	r->started = true;
}

/* ---- writing ---- */

static int source_drain(struct recorder *r, struct recorder_source *s, enum ctf_drain what)
{
	int rc;

	if (s->damaged || !r->output)
		return 0;
	rc = ctf_output_drain(r->output, s->output, what);
	if (rc == -EBADMSG) {
		s->damaged = true;
		r->nr_damaged++;
		rc = 0;
	}
	return rc;
}

int recorder_drain(struct recorder *r, enum ctf_drain what)
{
	const u64 before = r->output ? ctf_output_totals(r->output).packets : 0;
	int rc = 0;

	for (size_t i = 0; i < r->sources.len; i++) {
		const int one = source_drain(r, &r->sources.items[i], what);

		rc = one ? one : rc;
	}
	if (rc)
		return rc;
	return r->output && ctf_output_totals(r->output).packets != before;
}

static void source_release(struct recorder *r, struct recorder_source *s)
{
	if (s->output)
		ctf_output_remove(r->output, s->output);
	pantrace_reader_close(s->reader);
	if (s->pidfd >= 0)
		close(s->pidfd);
	free(s->file);
}

void recorder_reap(struct recorder *r)
{
	for (size_t i = 0; i < r->sources.len; i++) {
		struct recorder_source *const s = &r->sources.items[i];
		struct pollfd p = {s->pidfd, POLLIN, 0};

		if (!s->ended && s->pidfd >= 0 && poll(&p, 1, 0) > 0)
			s->ended = true;
		/* in a flight recorder's session the last moments of the dead are what it is for */
		if (!s->ended || !r->consume || source_drain(r, s, CTF_ALL))
			continue;
		r->lost += pantrace_reader_lost(s->reader);
		if (s->file && !s->damaged) {
			char *path = xasprintf("%s/%s", r->session->directory, s->file);

			unlink(path);
			free(path);
		}
		if (s->damaged)
			continue;
		source_release(r, s);
		r->sources.items[i] = vector_last(&r->sources);
		r->sources.len--;
		i--;
	}
}

u64 recorder_lost(const struct recorder *r)
{
	u64 lost = r->lost;

	for (size_t i = 0; i < r->sources.len; i++)
		lost += pantrace_reader_lost(r->sources.items[i].reader);
	return lost;
}

void recorder_close(struct recorder *r)
{
	for (size_t i = 0; i < r->sources.len; i++)
		source_release(r, &r->sources.items[i]);
	vector_free(&r->sources);
	if (r->inotify >= 0)
		close(r->inotify);
}
