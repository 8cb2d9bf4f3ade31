// SPDX-License-Identifier: MIT
/*
 * Which processes a session records (pantrace/protocol.h): sets of ids, by which each process
 * judges itself.
 */
#include "internal.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* System calls themselves: a child asks before fork() returns in it. */
static const struct attribute {
	const char *word;
	const char *namespace; /* ids of the tool's; NULL: of the process's own */
	long id;
} attributes[] = {
	{"pid", "/proc/self/ns/pid", SYS_getpid},
	{"uid", "/proc/self/ns/user", SYS_getuid},
	{"gid", "/proc/self/ns/user", SYS_getgid},
	{"vpid", NULL, SYS_getpid},
	{"vuid", NULL, SYS_getuid},
	{"vgid", NULL, SYS_getgid},
};

_Static_assert(sizeof(attributes) / sizeof(*attributes) == PT_ATTRIBUTES, "one a set");

static int values_take(struct pt_tracked *to, uint8_t attribute, struct pt_line list)
{
	while (list.at < list.end) {
		const char *const comma = memchr(list.at, ',', (size_t)(list.end - list.at));
		const struct pt_line word = {list.at, comma ? comma : list.end};
		uint64_t value;

		if (!pt_word_number(&word, UINT32_MAX, &value))
			return -EINVAL;
		if (to->nr == PANTRACE_TRACKED_MAX)
			return -ENOSPC;
		to->attribute[to->nr] = attribute;
		to->value[to->nr++] = (uint32_t)value;
		list.at = comma ? comma + 1 : list.end;
	}
	return 0;
}

int pt_tracked_take(struct pt_tracked *to, struct pt_line *values)
{
	struct pt_line word, list = {NULL, NULL};

	if (!pt_word_next(values, &word))
		return -EINVAL;
	if (pt_word_is(&word, "none")) {
		to->none = true;
		return 0;
	}
	for (uint8_t i = 0; i < PT_ATTRIBUTES; i++) {
		struct pt_line inode;

		if (!pt_word_is(&word, attributes[i].word))
			continue;
		if (attributes[i].namespace &&
		    (!pt_word_next(values, &inode) ||
		     !pt_word_number(&inode, UINT64_MAX, &to->namespace[i])))
			return -EINVAL;
		to->limited |= (uint8_t)(1u << i);
		return pt_word_next(values, &list) ? values_take(to, i, list) : 0;
	}
	return -EINVAL;
}

static bool namespace_is(const char *path, uint64_t inode)
{
	struct stat st;

	return !inode || (!stat(path, &st) && st.st_ino == inode);
}

static bool contains(const struct pt_tracked *tracked, uint8_t attribute)
{
	const uint32_t id = (uint32_t)syscall(attributes[attribute].id);

	for (unsigned int i = 0; i < tracked->nr; i++)
		if (tracked->attribute[i] == attribute && tracked->value[i] == id)
			return true;
	return false;
}

bool pt_tracked_here(const struct pt_tracked *tracked)
{
	if (tracked->none)
		return false;
	for (uint8_t i = 0; i < PT_ATTRIBUTES; i++) {
		if (!(tracked->limited & 1u << i))
			continue;
		if (!contains(tracked, i) ||
		    (attributes[i].namespace &&
		     !namespace_is(attributes[i].namespace, tracked->namespace[i])))
			return false;
	}
	return true;
}
