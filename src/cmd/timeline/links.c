/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/timeline/links.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vector.h"
#include "cmd/flame/flame.h"
#include "cmd/heatmap/heatmap.h"

#define PAGE_MOST (200u << 20)

static const struct {
	char *name;
	int (*run)(int argc, char **argv);
} commands[] = {{"flame", cmd_flame}, {"heatmap", cmd_heatmap}};

struct words {
	VECTOR(char *) items;
};

/* "1700000000.123456789" */
static char *seconds(s64 ns)
{
	return xasprintf("%" PRId64 ".%09" PRId64, ns / 1000000000, ns % 1000000000);
}

/* The command line: what is served is not the other's business; of two times the last counts. */
static struct words words_of(const struct link *l, char *command)
{
	struct words w = {0};

	vector_push(&w.items, command);
	vector_push(&w.items, (char *)"-o-");
	vector_push(&w.items, xasprintf("-b%s", seconds(l->from_ns)));
	vector_push(&w.items, xasprintf("-E%s", seconds(l->to_ns)));
	vector_push(&w.items, xasprintf("--title=%s", l->title));
	if (l->tid >= 0)
		vector_push(&w.items, xasprintf("-wtid == %" PRId64, l->tid));
	for (char *const *p = l->words + 1; *p; p++) {
		if (str_eq(*p, "--idle") && p[1])
			p++;
		else if (!str_eq(*p, "--serve") && !str_starts(*p, "--idle="))
			vector_push(&w.items, *p);
	}
	vector_push(&w.items, NULL);
	return w;
}

/* In the child: memory that is lost here is gone with it. */
static void draw(const struct link *l, size_t command, int page)
{
	struct words w = words_of(l, commands[command].name);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL); /* Ctrl-C ends it */
	if (dup2(page, STDOUT_FILENO) < 0)
		_exit(EXIT_FAILED);
	fflush(stdout);
	_exit(commands[command].run((int)w.items.len - 1, w.items.items));
}

static int wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	/* losses were told, and there is a page */
	return WIFEXITED(status) && (!WEXITSTATUS(status) || WEXITSTATUS(status) == EXIT_LOST)
		       ? 0
		       : -EIO;
}

/* What it says goes where everything that this command says goes. */
static int draw_by(const struct link *l, size_t command, struct strbuf *ret)
{
	const int page = memfd_create("page", MFD_CLOEXEC);
	const pid_t child = page < 0 ? -1 : fork();
	size_t len;
	char *data;
	int rc;

	if (!child)
		draw(l, command, page);
	rc = child < 0 ? -errno : wait_for(child);
	if (!rc)
		rc = lseek(page, 0, SEEK_SET) < 0 ? -errno
						  : file_read_fd(page, PAGE_MOST, &data, &len);
	if (!rc) {
		strbuf_add(ret, data, len);
		free(data);
	}
	if (page >= 0)
		close(page);
	return rc;
}

int link_draw(const struct link *l, const char *command, struct strbuf *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (str_eq(commands[i].name, command))
			return draw_by(l, i, ret);
	return -ENOENT;
}
