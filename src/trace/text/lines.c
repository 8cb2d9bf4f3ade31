/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/text/lines.h"

#include <unistd.h>

#define BUFFER (2 * LINE_MOST)

void lines_open(struct lines *l, int fd)
{
	*l = (struct lines){.fd = fd, .buffer = xmalloc(BUFFER)};
}

void lines_close(struct lines *l)
{
	if (l->buffer)
		close(l->fd);
	free(l->buffer);
	*l = (struct lines){0};
}

/* Moves unread bytes to the front, then reads more. */
static void fill(struct lines *l)
{
	ssize_t n;

	memmove(l->buffer, l->buffer + l->at, l->end - l->at);
	l->end -= l->at;
	l->at = 0;
	do
		n = read(l->fd, l->buffer + l->end, BUFFER - l->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		l->error = -errno;
	if (n <= 0)
		l->is_over = true;
	else
		l->end += (size_t)n;
}

/* Skips the rest of a line that was too long. */
static void skip_rest(struct lines *l)
{
	for (;;) {
		const char *newline = memchr(l->buffer + l->at, '\n', l->end - l->at);

		l->at = newline ? (size_t)(newline - l->buffer) + 1 : l->end;
		if (newline || l->is_over)
			break;
		fill(l);
	}
	l->is_cut = false;
}

bool lines_next(struct lines *l, struct line *ret)
{
	size_t looked = 0;
	const char *newline;

	if (l->is_back) {
		l->is_back = false;
		*ret = l->last;
		return true;
	}
	if (l->is_cut)
		skip_rest(l);
	for (;;) {
		newline = memchr(l->buffer + l->at + looked, '\n', l->end - l->at - looked);
		looked = l->end - l->at;
		if (newline || looked >= LINE_MOST || l->is_over)
			break;
		fill(l);
	}
	if (!newline && !looked)
		return false;
	l->number++;
	ret->text = l->buffer + l->at;
	ret->size = newline ? (size_t)(newline - ret->text) : looked;
	l->at += ret->size + (newline ? 1 : 0);
	l->is_cut = !newline && !l->is_over;
	l->cut += l->is_cut;
	if (ret->size && ret->text[ret->size - 1] == '\r')
		ret->size--;
	l->last = *ret;
	return true;
}

void lines_back(struct lines *l)
{
	l->is_back = true;
}
