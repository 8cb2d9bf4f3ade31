/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Serves a page and its pieces to a browser on this machine: from 127.0.0.1, at an address with a
 * random token. Everything else is refused: other paths, other methods, and other host names (DNS
 * rebinding: a foreign page whose name resolves to this address). Requests are bounded in number,
 * size and time. Nothing blocks: the caller polls server_fd() and calls server_step(). SIGPIPE must
 * be ignored.
 */
#ifndef PANTRACE_VIEW_SERVER_SERVER_H
#define PANTRACE_VIEW_SERVER_SERVER_H

#include "base/strbuf.h"
#include "view/server/request.h"

#define SERVER_IDLE_NS 300000000000u /* the default of commands */

struct server;

struct server_answer {
	const char *type; /* "text/html; charset=utf-8"; preset to application/octet-stream */
	struct strbuf body; /* empty; the server releases it */
};

/*
 * Gives the piece with this name, which follows the token; "" is the page. False: there is none.
 * request: for http_number().
 */
typedef bool server_answer_fn(void *arg, const char *name, const struct http_request *request,
			      struct server_answer *ret);

/* 0 or -errno */
int server_open(server_answer_fn *answer, void *arg, struct server **ret);
void server_close(struct server *s); /* NULL is fine */
/*
 * Prints the address, "http://127.0.0.1:4711/TOKEN/", to standard output, and what to do with it to
 * standard error.
 */
void server_announce(const struct server *s, const char *command, u64 idle_ns);
/* An epoll: readable when there is something to do. */
int server_fd(const struct server *s);
void server_step(struct server *s);
/* The time since a piece was last requested, or since server_open(). */
u64 server_idle_ns(const struct server *s);
/*
 * Serves until Ctrl-C or SIGTERM, until idle_ns without a request, or until *done (NULL = never).
 * 0 or -errno. For commands that do nothing else.
 */
int server_run(struct server *s, u64 idle_ns, const bool *done);

#endif
