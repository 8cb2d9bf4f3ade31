// SPDX-License-Identifier: GPL-2.0-or-later
/* Asking processes; where they are other users', by a proxy, which hands on what they answered. */
#include <signal.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "user/process.h"
#include "user/proxy.h"

#define SEARCH_MS 10000 /* the longest time until processes are asked */
#define CLOSE_MS  2000 /* who closes for longer is left behind */
#define LEFT_MAX  16 /* of those; then other users' processes are not asked */
#define CHUNK	  (128u << 10)

struct question {
	const struct user_selection *which;
	const char *request;
	char *(*each)(const void *arg, const struct user_process *process);
	const void *arg;
	int timeout_ms;
};

/* What a proxy says of a process, and last of all. The text of text_size follows. */
struct answer {
	struct user_process process;
	bool is_last;
	u32 unseen, left_out;
	uid_t left_out_user;
};

/* ---- who does not come to an end ---- */

static VECTOR(struct left {
	pid_t pid;
	uid_t *closing; /* a page that we share with it */
	u64 since_ms;
}) left;
static VECTOR(uid_t) left_out;

bool user_is_left_out(uid_t uid)
{
	for (size_t i = 0; i < left_out.len; i++)
		if (left_out.items[i] == uid)
			return true;
	return false;
}

static void left_look(void)
{
	const u64 now = clock_now_ms(CLOCK_MONOTONIC);

	for (size_t i = left.len; i--;) {
		const struct left *const one = &left.items[i];

		if (waitpid(one->pid, NULL, WNOHANG)) {
			munmap(one->closing, sizeof(uid_t));
			left.items[i] = left.items[--left.len];
		} else if (now - one->since_ms > CLOSE_MS && *one->closing &&
			   !user_is_left_out(*one->closing)) {
			vector_push(&left_out, *one->closing);
		}
	}
}

/* Whether there may be one more. */
static bool left_room(void)
{
	left_look();
	for (int ms = 0; left.len >= LEFT_MAX && ms < CLOSE_MS; ms += 10) {
		usleep(10000);
		left_look();
	}
	return left.len < LEFT_MAX;
}

/* ---- here and there ---- */

/* Two descriptors a process, until they are released: there may be more than the usual thousand. */
static void raise_file_limit(struct user_processes *p)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return;
	p->file_limit = limit.rlim_cur;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void ask_here(struct user_processes *p, const struct question *q)
{
	user_connect(p, q->which);
	for (size_t i = 0; q->each && i < p->all.len; i++)
		p->all.items[i].message = q->each(q->arg, &p->all.items[i]);
	if (q->request || q->each)
		user_exchange(p, q->request, q->timeout_ms);
}

static void __attribute__((noreturn))
ask_as_proxy(int channel, uid_t *closing, const struct question *q)
{
	struct user_processes p = {.closing = closing};
	struct answer last = {.is_last = true};

	ask_here(&p, q);
	for (size_t i = 0; i < p.all.len; i++) {
		const struct user_process *const process = &p.all.items[i];
		const struct answer one = {.process = *process};

		proxy_send(channel, &one, sizeof(one), process->fd, true);
		for (size_t at = 0; at < process->text_size; at += CHUNK)
			proxy_send(channel, process->text + at,
				   MIN(process->text_size - at, (size_t)CHUNK), -1, true);
	}
	last.unseen = p.unseen;
	last.left_out = p.left_out;
	last.left_out_user = p.left_out_user;
	proxy_send(channel, &last, sizeof(last), -1, true);
	user_processes_release(&p);
	_exit(0);
}

/* Within UNTIL_MS. */
static ssize_t receive(int channel, void *data, size_t size, int *ret_fd, u64 until_ms)
{
	const u64 now = clock_now_ms(CLOCK_MONOTONIC);
	struct pollfd poll_channel = {channel, POLLIN, 0};

	*ret_fd = -1;
	if (poll(&poll_channel, 1, until_ms > now ? (int)(until_ms - now) : 0) < 0 &&
	    errno == EINTR)
		return receive(channel, data, size, ret_fd, until_ms);
	return proxy_receive(channel, data, size, ret_fd, false);
}

static bool text_take(struct user_process *p, int channel, u64 until_ms)
{
	size_t have = 0;
	int fd;

	p->text = xzalloc(p->text_size + 1);
	while (have < p->text_size) {
		const ssize_t n =
			receive(channel, p->text + have, p->text_size - have, &fd, until_ms);

		if (n <= 0)
			return false;
		have += (size_t)n;
	}
	return true;
}

/* False: it did not come to the last. */
static bool answers_take(struct user_processes *p, int channel, u64 until_ms)
{
	struct answer one;
	int fd;

	while (receive(channel, &one, sizeof(one), &fd, until_ms) == sizeof(one)) {
		if (one.is_last) {
			p->unseen += one.unseen;
			p->left_out = one.left_out;
			p->left_out_user = one.left_out_user;
			return true;
		}
		p->unseen += one.process.fd >= 0 && fd < 0;
		one.process.fd = fd;
		one.process.place = one.process.socket = -1;
		one.process.message = NULL;
		if (one.process.text && !text_take(&one.process, channel, until_ms)) {
			free(one.process.text);
			return false;
		}
		if (one.process.silent)
			user_silent_note(&one.process);
		vector_push(&p->all, one.process);
	}
	return false;
}

static int begin(struct user_asking *a, const struct question *q)
{
	if (geteuid())
		return -EPERM;
	if (!left_room())
		return -EAGAIN;
	*a = (struct user_asking){.closing = mmap(NULL, sizeof(*a->closing), PROT_READ | PROT_WRITE,
						  MAP_SHARED | MAP_ANONYMOUS, -1, 0),
				  .until_ms = clock_now_ms(CLOCK_MONOTONIC) + (u64)q->timeout_ms +
					      SEARCH_MS};
	if (a->closing == MAP_FAILED)
		return -errno;
	a->pid = proxy_fork(NULL, 0, &a->channel);
	if (!a->pid)
		ask_as_proxy(a->channel, a->closing, q);
	if (a->pid < 0)
		munmap(a->closing, sizeof(*a->closing));
	return MIN(a->pid, 0);
}

int user_ask_begin(struct user_asking *a, const struct user_selection *which, const char *request,
		   int timeout_ms)
{
	const int rc = begin(
		a,
		&(struct question){.which = which, .request = request, .timeout_ms = timeout_ms});

	a->is_begun = !rc;
	return rc;
}

bool user_ask_ready(const struct user_asking *a)
{
	struct pollfd poll_channel = {a->channel, POLLIN, 0};

	return a->is_begun &&
	       (poll(&poll_channel, 1, 0) > 0 || clock_now_ms(CLOCK_MONOTONIC) > a->until_ms);
}

void user_ask_end(struct user_asking *a, struct user_processes *p)
{
	raise_file_limit(p);
	a->is_begun = false;
	if (!answers_take(p, a->channel, a->until_ms)) {
		p->unseen++;
		kill(a->pid, SIGKILL);
	}
	close(a->channel);
	vector_push(&left, ((struct left){a->pid, a->closing, clock_now_ms(CLOCK_MONOTONIC)}));
}

static void ask(struct user_processes *p, const struct question *q)
{
	struct user_asking a;

	if (!begin(&a, q)) {
		user_ask_end(&a, p);
		return;
	}
	raise_file_limit(p);
	p->own_only = !geteuid();
	p->unseen += p->own_only;
	ask_here(p, q);
}

void user_ask(struct user_processes *p, const struct user_selection *which, const char *request,
	      int timeout_ms)
{
	ask(p, &(struct question){.which = which, .request = request, .timeout_ms = timeout_ms});
}

void user_ask_each(struct user_processes *p, const struct user_selection *which,
		   char *(*each)(const void *arg, const struct user_process *process),
		   const void *arg, int timeout_ms)
{
	ask(p,
	    &(struct question){.which = which, .each = each, .arg = arg, .timeout_ms = timeout_ms});
}
