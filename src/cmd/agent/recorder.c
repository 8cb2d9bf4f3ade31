/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/agent/agent.h"
#include "cmd/record/record.h"
#include "cmd/run/run.h"
#include "trace/agent/sender.h"

#define PIPE_BYTES (1 << 20)
#define END_MS	   10000 /* until a recorder whose frames nobody reads is killed */

/* The recorder inherits no descriptor of the agent but those that it writes to. */
static void only_these(int frames, int messages)
{
	const int nothing = open("/dev/null", O_RDONLY);

	dup2(nothing, STDIN_FILENO);
	dup2(messages, STDOUT_FILENO);
	dup2(messages, STDERR_FILENO);
	dup2(frames, 3);
	close_range(4, ~0u, 0);
}

static int record(char **words, int count)
{
	struct agent_sender sender;
	VECTOR(char *) argv = {0};

	vector_push(&argv, (char *)"record");
	for (int i = 0; i < count; i++)
		vector_push(&argv, words[i]);
	vector_push(&argv, NULL);
	agent_sender_init(&sender, 3);
	return record_carried((int)argv.len - 1, argv.items, &sender.carrier);
}

/* The host chooses no options, only format, text and arguments. */
static int run(char **words, int count)
{
	VECTOR(char *) argv = {0};
	const char *const head[] = {"run", "-f", words[0], "-e", count > 1 ? words[1] : "", "--"};

	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		vector_push(&argv, (char *)head[i]);
	for (int i = 2; i < count; i++)
		vector_push(&argv, words[i]);
	vector_push(&argv, NULL);
	dup2(3, STDOUT_FILENO);
	close(3);
	return cmd_run((int)argv.len - 1, argv.items);
}

static void begin(bool is_script, const char *text, size_t n)
{
	VECTOR(char *) words = {0};
	sigset_t none;
	int code;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL); /* the agent gets its signals in another way */
	for (const char *at = text; at < text + n; at += strlen(at) + 1)
		vector_push(&words, xstrdup(at));
	code = (is_script ? run : record)(words.items, (int)words.len);
	fflush(NULL);
	_exit(code < EXIT_SIGNAL ? code : EXIT_FAILED);
}

int agent_recorder_start(struct agent_recorder *r, bool is_script, const char *words, size_t n)
{
	int frames[2] = {-1, -1}, messages[2] = {-1, -1}, rc = 0;
	const pid_t agent = getpid();

	*r = (struct agent_recorder){.frames = -1, .messages = -1, .is_script = is_script};
	if (pipe2(frames, O_CLOEXEC) || pipe2(messages, O_CLOEXEC))
		rc = -errno;
	if (!rc) {
		fcntl(frames[1], F_SETPIPE_SZ, PIPE_BYTES);
		fflush(NULL);
		r->pid = fork();
		rc = r->pid < 0 ? -errno : 0;
	}
	if (!rc && !r->pid) {
		prctl(PR_SET_PDEATHSIG, SIGINT);
		if (getppid() != agent)
			_exit(EXIT_FAILED);
		only_these(frames[1], messages[1]);
		begin(is_script, words, n);
	}
	if (frames[1] >= 0)
		close(frames[1]);
	if (messages[1] >= 0)
		close(messages[1]);
	if (!rc) {
		r->frames = frames[0];
		r->messages = messages[0];
		fcntl(r->frames, F_SETFL, O_NONBLOCK);
		fcntl(r->messages, F_SETFL, O_NONBLOCK);
		return 0;
	}
	r->pid = 0;
	if (frames[0] >= 0)
		close(frames[0]);
	if (messages[0] >= 0)
		close(messages[0]);
	return rc;
}

void agent_recorder_stop(const struct agent_recorder *r)
{
	if (r->pid > 0)
		kill(r->pid, SIGINT);
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* True: end of the pipe. */
static bool pass_on(int from)
{
	char text[4096];
	const ssize_t n = read(from, text, sizeof(text));

	if (n > 0)
		fwrite(text, 1, (size_t)n, stderr);
	return !n || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void agent_recorder_abandon(struct agent_recorder *r)
{
	const u64 until = clock_now_ms(CLOCK_MONOTONIC) + END_MS;

	shut(&r->frames);
	agent_recorder_stop(r);
	while (!pass_on(r->messages) && clock_now_ms(CLOCK_MONOTONIC) < until) {
		struct pollfd p = {.fd = r->messages, .events = POLLIN};

		clock_poll(&p, 1, 100);
	}
	if (clock_now_ms(CLOCK_MONOTONIC) >= until)
		kill(r->pid, SIGKILL);
	agent_recorder_end(r);
}

int agent_recorder_end(struct agent_recorder *r)
{
	int status;
	pid_t pid;

	shut(&r->frames);
	shut(&r->messages);
	do
		pid = waitpid(r->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	r->pid = 0;
	if (pid < 0)
		return EXIT_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SIGNAL + WTERMSIG(status);
}
