/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/boot/grub.h"

#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "base/new_file.h"

#define HEADING "# Made by pantrace boot install; pantrace boot remove takes it away.\n"
#define COMMAND "# command: "
#define LINE	"# line: "
#define MOST	((size_t)16 << 20) /* longer than any command, quoted */

extern char **environ;

bool grub_is_there(void)
{
	struct stat st;

	return !stat("/etc/default/grub.d", &st) && S_ISDIR(st.st_mode);
}

void grub_add_word(struct strbuf *out, const char *name, const char *value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.,:/=+@%-";
	const char *const quote = value[strspn(value, plain)] ? "'" : "";

	strbuf_addf(out, "%s%s=", quote, name);
	for (; *value; value++) {
		if (*value == '$' || *value == '`')
			strbuf_addch(out, '\\');
		strbuf_addch(out, *value);
	}
	strbuf_addstr(out, quote);
}

/* The file's text, if it is ours. */
static int read_ours(char **ret)
{
	const int fd = foreign_open(GRUB_FILE, NULL);
	char *text;
	int err;

	if (fd < 0)
		return fd == -EPERM || fd == -EISDIR ? -EEXIST : fd; /* no regular file */
	err = file_read_fd(fd, MOST, &text, NULL);
	close(fd);
	if (err)
		return err;
	if (str_starts(text, HEADING)) {
		*ret = text;
		return 0;
	}
	free(text);
	return -EEXIST;
}

/* A comment is one line. */
static void add_comment(struct strbuf *out, const char *what, const char *text)
{
	strbuf_addstr(out, what);
	for (; *text; text++)
		strbuf_addch(out, *text == '\n' ? ' ' : *text);
	strbuf_addch(out, '\n');
}

static int write_file(const char *text, size_t n)
{
	struct new_file f;
	int err = new_file_open(&f, GRUB_FILE, true);

	if (!err)
		err = write_all(f.fd, text, n);
	if (!err && fchmod(f.fd, 0644)) /* root's shell runs it: whatever the umask is */
		err = -errno;
	if (!err)
		err = new_file_keep(&f);
	new_file_drop(&f);
	return err;
}

int grub_install(const char *command, const char *line, const char *words, char **ret_earlier)
{
	struct strbuf text = STRBUF_INIT;
	int err;

	*ret_earlier = NULL;
	err = read_ours(ret_earlier);
	if (err && err != -ENOENT)
		return err;
	strbuf_addstr(&text, HEADING);
	add_comment(&text, COMMAND, command);
	add_comment(&text, LINE, line);
	strbuf_addf(&text, "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX %s\"\n", words);
	err = write_file(text.data, text.len);
	strbuf_release(&text);
	return err;
}

int grub_restore(const char *earlier)
{
	return earlier ? write_file(earlier, strlen(earlier)) : grub_remove();
}

static int check_ours(void)
{
	char *text = NULL;
	const int err = read_ours(&text);

	free(text);
	return err;
}

int grub_empty(void)
{
	return check_ours() ?: write_file(HEADING, strlen(HEADING));
}

int grub_remove(void)
{
	const int err = check_ours();

	return err ?: unlink(GRUB_FILE) ? -errno : 0;
}

/* What stands behind the word at the beginning of a line; malloc'ed, "" if it is not there. */
static char *comment_of(const char *text, const char *what)
{
	for (; text; text = strchr(text, '\n'), text += text != NULL)
		if (str_starts(text, what)) {
			text += strlen(what);
			return xstrndup(text, strcspn(text, "\n"));
		}
	return xstrdup("");
}

int grub_installed(struct grub_installed *ret)
{
	char *text;
	const int err = read_ours(&text);

	if (err)
		return err;
	*ret = (struct grub_installed){comment_of(text, COMMAND), comment_of(text, LINE)};
	free(text);
	return 0;
}

int grub_update(void)
{
	char *const words[] = {(char *)"update-grub", NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int status, err;
	sigset_t none;
	pid_t pid;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	err = posix_spawnp(&pid, words[0], &actions, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		return -err;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}
