// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/script_session.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "user/description.h"
#include "user/process.h"
#include "user/runtime.h"

#define ASK_MS 2000

static void ask_all(pid_t pid, const char *request, struct diag *d)
{
	const struct user_selection which = {.pids = &pid, .nr_pids = pid != 0};
	struct user_processes processes = {0};

	user_ask(&processes, &which, request, ASK_MS);
	if (d)
		user_warn_stays_off(&processes, d);
	for (size_t i = 0; i < processes.all.len && d; i++) {
		const struct user_process *p = &processes.all.items[i];

		/* one that has ended meanwhile has no events either; one that has just begun has
		 * read the description */
		if (p->error && p->error != -ECONNRESET && p->error != -ENOENT &&
		    p->error != -EEXIST)
			user_refusal_warn(p, d);
	}
	user_processes_release(&processes);
}

/* ---- the end ---- */

/* In the child: waits for the end of the parent, then has all processes forget the session. */
static void __attribute__((noreturn)) janitor(int pipe, const struct script_session *s)
{
	const int null = open("/dev/null", O_RDWR);
	char *request = user_request("destroy", s->name);
	char byte;

	/* whatever else is open (attachments, outputs) must end with the parent */
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	dup2(pipe, 3);
	close_range(4, ~0u, 0);
	setsid();
	for (int number = 1; number < 32; number++)
		signal(number, SIG_IGN);
	prctl(PR_SET_NAME, "pantrace-end");
	while (read(3, &byte, 1) < 0 && errno == EINTR)
		;
	if (s->file)
		unlink(s->file);
	ask_all(0, request, NULL);
	if (s->directory)
		user_rings_remove(s->directory);
	_exit(0);
}

static int janitor_start(struct script_session *s)
{
	int ends[2], status;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (child < 0) {
		close(ends[0]);
		close(ends[1]);
		return -errno;
	}
	if (!child) {
		close(ends[1]);
		if (fork()) /* twice: its end is nobody's business */
			_exit(0);
		janitor(ends[0], s);
	}
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	s->pipe = ends[1];
	return 0;
}

/* ---- the beginning ---- */

int script_session_open(struct script_session *s, pid_t pid, bool is_child, const char *head,
			bool with_directory, struct diag *d)
{
	static u32 number;
	char runtime[512];
	int err = user_sessions_make(runtime, sizeof(runtime), d);

	*s = (struct script_session){.pipe = -1, .pid = pid};
	if (err)
		return err;
	snprintf(s->name, sizeof(s->name), "script-%d-%" PRIx64 "-%u", (int)getpid(),
		 process_start_time(getpid()), ++number);
	s->file = pid && !is_child ? NULL : xasprintf("%s/%s", runtime, s->name);
	runtime[strlen(runtime) - strlen("/sessions")] = '\0';
	if (with_directory)
		err = user_rings_make(NULL, runtime, s->name, &s->directory, d);
	if (!err)
		err = janitor_start(s);
	if (err == -EAGAIN || err == -EMFILE)
		diag_error(d, NO_SPAN,
			   "no process can be started that ends the session of user events");
	strbuf_addf(&s->head, "name %s\n", s->name);
	if (is_child)
		strbuf_addf(&s->head, "for child %d\n", (int)pid);
	else
		strbuf_addstr(&s->head, "for all\n");
	if (s->directory)
		user_rings_lines(s->directory, &s->head);
	strbuf_addstr(&s->head, head);
	return err;
}

/* Programs that start later read it. */
static int description_write(const struct script_session *s)
{
	char *const text =
		xasprintf("pantrace-session 1\n# recorder %d %" PRIu64 "\n# anonymous\n%s%s",
			  (int)getpid(), process_start_time(getpid()), s->head.data, s->lines.data);
	const int rc = s->file ? user_description_put(s->file, text, false) : 0;

	free(text);
	return rc;
}

void script_session_add(struct script_session *s, const char *lines, struct diag *d)
{
	struct strbuf text = STRBUF_INIT;
	char *request =
		user_request(s->is_started ? "rules" : "start", s->is_started ? s->name : NULL);
	int rc;

	strbuf_addstr(&s->lines, lines);
	/* described first: a program that starts now finds it, one that runs is told */
	rc = description_write(s);
	if (rc && d)
		diag_warning(d, NO_SPAN, "%s: %s; programs that start from now on do not take part",
			     s->file, strerror(-rc));
	strbuf_addf(&text, "%s%s%s", request, s->is_started ? "" : s->head.data, lines);
	ask_all(s->pid, text.data, d);
	s->is_started = true;
	strbuf_release(&text);
	free(request);
}

void script_session_stop(struct script_session *s, struct diag *d)
{
	char *request = user_request("stop", s->name);

	if (s->file)
		unlink(s->file);
	ask_all(s->pid, request, d);
	free(request);
}

void script_session_close(struct script_session *s)
{
	if (s->pipe >= 0)
		close(s->pipe);
	free(s->file);
	free(s->directory);
	strbuf_release(&s->head);
	strbuf_release(&s->lines);
	*s = (struct script_session){.pipe = -1};
}
