/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads and writes the values of files in tracefs, some of which read differently than they are
 * written.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "kernel/tracefs/saved.h"

enum value_form {
	FORM_PLAIN,
	FORM_CHOICE, /* "local [mono] boot" */
	FORM_NUMBER, /* "7 (expanded: 1408)": whoever traces gets 1408, and 7 once it is written */
	FORM_LIST, /* a line each; '#' begins what is no entry */
	FORM_THREADS, /* likewise; no line at all: the list is there, and all in it have ended */
	FORM_FILTER, /* "none" is written as 0 */
};

/* By the last part of the name. */
static const struct {
	const char *name;
	enum value_form form;
} forms[] = {
	{"trace_clock", FORM_CHOICE},	   {"buffer_size_kb", FORM_NUMBER},
	{"set_event_pid", FORM_LIST},	   {"set_event_notrace_pid", FORM_LIST},
	{"set_ftrace_pid", FORM_THREADS},  {"set_ftrace_notrace_pid", FORM_THREADS},
	{"set_ftrace_filter", FORM_LIST},  {"set_ftrace_notrace", FORM_LIST},
	{"set_graph_function", FORM_LIST}, {"set_graph_notrace", FORM_LIST},
	{"filter", FORM_FILTER},
};

static enum value_form form_of(const char *file)
{
	const char *name = strrchr(file, '/');

	name = name ? name + 1 : file;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (str_eq(forms[i].name, name))
			return forms[i].form;
	return FORM_PLAIN;
}

/* Cuts the text down to what stands between brackets. */
static void keep_choice(char *text)
{
	char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

	if (!end)
		return;
	*end = '\0';
	memmove(text, begin + 1, strlen(begin + 1) + 1);
}

static void keep_number(char *text)
{
	const char *expanded = strstr(text, "(expanded: ");

	if (expanded) {
		expanded += strlen("(expanded: ");
		memmove(text, expanded, strlen(expanded) + 1);
	}
	text[strspn(text, "0123456789X")] = '\0';
}

/* "#### all functions enabled ####", "no pid" and the triggers of functions
 * ("f:traceoff:unlimited") are no entries. */
static char *keep_entries(const char *text)
{
	struct strbuf out = STRBUF_INIT;

	while (*text) {
		const size_t len = strcspn(text, "\n");

		if (len && text[0] != '#' && !memchr(text, ':', len) &&
		    !(len == 6 && !strncmp(text, "no pid", 6))) {
			strbuf_add(&out, text, strcspn(text, " \n"));
			strbuf_addch(&out, '\n');
		}
		text += len + (text[len] == '\n');
	}
	return strbuf_detach(&out);
}

/* What the tracer blk traces is said in sysfs. */
static char *path_of(const char *directory, const char *file)
{
	return xasprintf("%s/%s", str_starts(file, TRACEFS_BLOCK) ? "/sys" : directory, file);
}

int tracefs_value_read(const char *directory, const char *file, char **ret)
{
	char *path = path_of(directory, file), *text;
	const int err = file_read(path, (size_t)64 << 20, &text, NULL);
	size_t len;

	free(path);
	if (err)
		return err;
	*ret = text;
	switch (form_of(file)) {
	case FORM_THREADS:
	case FORM_LIST:
		/* an empty list of threads lets nobody be traced, none at all everybody */
		*ret = form_of(file) == FORM_THREADS && !*text ? xstrdup("nobody\n")
							       : keep_entries(text);
		free(text);
		return 0;
	case FORM_CHOICE:
		keep_choice(text);
		break;
	case FORM_NUMBER:
		keep_number(text);
		break;
	case FORM_FILTER:
		if (str_starts(text, "none"))
			strcpy(text, "0");
		break;
	case FORM_PLAIN:
		break;
	}
	for (len = strlen(text); len && text[len - 1] == '\n'; len--)
		text[len - 1] = '\0';
	return 0;
}

static int write_list(int fd, const char *value)
{
	int err = 0;

	while (*value && !err) {
		const size_t len = strcspn(value, "\n"), all = len + (value[len] == '\n');

		/*
		 * With its newline: without one, the next write continues the word
		 * (trace_get_user()). An entry that is gone meanwhile (a thread, a module) must not
		 * keep the others out.
		 */
		if (len && (err = write_all(fd, value, all)) && (err == -ESRCH || err == -EINVAL))
			err = 0;
		value += all;
	}
	return err;
}

int tracefs_value_write(const char *directory, const char *file, const char *value)
{
	const enum value_form form = form_of(file);
	char *path = path_of(directory, file);
	const int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int err;

	free(path);
	if (fd < 0)
		return -errno;
	if (form == FORM_LIST || form == FORM_THREADS)
		err = write_list(fd, value);
	else
		err = *value ? write_all(fd, value, strlen(value)) : write_all(fd, "\n", 1);
	if (close(fd) && !err)
		err = -errno;
	return err;
}
