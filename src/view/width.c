/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/width.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define NARROWEST 40u /* below, nothing could be read */

u32 terminal_width(int fd)
{
	struct winsize size;

	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return 0;
	return MAX((u32)size.ws_col, NARROWEST);
}

/*
 * Where the column begins that a line of n bytes has no room for; n = it fits. Characters are
 * counted, not bytes.
 */
static size_t edge(const char *line, size_t n, u32 columns, size_t *ret_last)
{
	u32 shown = 0;

	for (size_t i = 0; i < n; i++) {
		if (((u8)line[i] & 0xc0) == 0x80)
			continue;
		if (shown == columns - 1)
			*ret_last = i;
		if (shown++ == columns)
			return i;
	}
	return n;
}

void text_fit(struct strbuf *text, size_t from, u32 columns)
{
	size_t to = from, at = from;

	while (columns && at < text->len) {
		const char *line = text->data + at, *end = memchr(line, '\n', text->len - at);
		const size_t n = end ? (size_t)(end - line) : text->len - at;
		size_t last = 0;
		const bool is_cut = edge(line, n, columns, &last) < n;
		const size_t kept = is_cut ? last : n;

		memmove(text->data + to, line, kept);
		to += kept;
		if (is_cut)
			text->data[to++] = '>';
		if (end)
			text->data[to++] = '\n';
		at += n + (end != NULL);
	}
	if (columns) {
		text->len = to;
		text->data[to] = '\0';
	}
}
