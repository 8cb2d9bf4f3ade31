/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Serves a page and its pieces to a browser on this machine: from 127.0.0.1, at an address that
 * bears a random token. Nothing else is to be had: other paths, other methods and other names of
 * the host (a page elsewhere whose name leads here: DNS rebinding) are refused, requests are
 * bounded in number, size and time. It waits for nothing: whoever polls server_fd() calls
 * server_step(). SIGPIPE is to be ignored.
 */
#ifndef PANTRACE_VIEW_SERVER_SERVER_H
#define PANTRACE_VIEW_SERVER_SERVER_H

#include "base/strbuf.h"
#include "view/server/request.h"

#define SERVER_IDLE_NS 300000000000u /* what commands take if nobody says how long */

struct server;

struct server_answer {
	const char *type; /* "text/html; charset=utf-8"; as it comes, application/octet-stream */
	struct strbuf body; /* empty; the server releases it */
};

/*
 * The piece of this name, behind the token: "" is the page. False: there is none. request: for
 * http_number().
 */
typedef bool server_answer_fn(void *arg, const char *name, const struct http_request *request,
			      struct server_answer *ret);

/* 0 or -errno */
int server_open(server_answer_fn *answer, void *arg, struct server **ret);
void server_close(struct server *s); /* NULL is fine */
/*
 * The address, "http://127.0.0.1:4711/TOKEN/", on standard output; what to do with it on standard
 * error.
 */
void server_announce(const struct server *s, const char *command, u64 idle_ns);
/* An epoll: readable when there is something to do. */
int server_fd(const struct server *s);
void server_step(struct server *s);
/* How long no piece has been asked for; since it was opened, if none was. */
u64 server_idle_ns(const struct server *s);
/*
 * Serves until Ctrl-C or SIGTERM, until nobody has asked for idle_ns, or until *done (NULL =
 * never). 0 or -errno. For commands that do nothing else.
 */
int server_run(struct server *s, u64 idle_ns, const bool *done);

#endif
