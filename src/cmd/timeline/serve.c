/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A time line from 127.0.0.1: the page, and the parts of its data that it asks for. */
#include "cmd/timeline/serve.h"

#include "base/diag.h"
#include "cmd/timeline/links.h"
#include "view/server/server.h"

#define COLUMNS 2000 /* of the first part: what screens have, or more */

struct served {
	const struct timeline *timeline;
	const struct timeline_options *options;
	char *const *words;
};

static void add_part(const struct served *s, const struct http_request *request, struct strbuf *out)
{
	u64 from = 0, to = (u64)timeline_length(s->timeline), columns = COLUMNS;

	http_number(request, "from", &from);
	http_number(request, "to", &to);
	http_number(request, "columns", &columns);
	timeline_part(s->timeline, s->options,
		      &(struct timeline_range){(s64)MIN(from, (u64)INT64_MAX),
					       (s64)MIN(to, (u64)INT64_MAX),
					       (u32)MIN(columns, UINT32_MAX)},
		      out);
}

/* "flame: make-1234, 12:34:56.000000000 to 12:34:57.000000000" */
static void add_title(const struct served *s, const struct link *l, const char *name, u32 thread,
		      struct strbuf *out)
{
	strbuf_addf(out, "%s: ", name);
	if (l->tid >= 0) {
		timeline_row_text(s->timeline, (struct timeline_lane){TIMELINE_THREAD, thread},
				  out);
		strbuf_addstr(out, ", ");
	}
	timeline_time_text(s->options, l->from_ns, out);
	strbuf_addstr(out, " to ");
	timeline_time_text(s->options, l->to_ns, out);
}

/* "flame?from=NS&to=NS&thread=NUMBER": another picture. False: there is none of this name. */
static bool add_link(const struct served *s, const char *name, const struct http_request *request,
		     struct server_answer *ret)
{
	const s64 begin = timeline_ns(s->timeline, 0);
	u64 from = 0, to = (u64)timeline_length(s->timeline), last = to, thread = 0;
	struct link link = {.words = s->words, .tid = -1};
	struct strbuf title = STRBUF_INIT;
	size_t threads;
	int rc;

	http_number(request, "from", &from);
	http_number(request, "to", &to);
	link.from_ns = begin + (s64)MIN(from, last);
	link.to_ns = begin + (s64)MIN(to, last);
	if (http_number(request, "thread", &thread)) {
		const struct timeline_thread *const all = timeline_threads(s->timeline, &threads);

		if (thread >= threads)
			return false;
		link.tid = all[thread].tid;
	}
	add_title(s, &link, name, (u32)thread, &title);
	link.title = title.data;
	rc = link_draw(&link, name, &ret->body);
	strbuf_release(&title);
	ret->type = rc ? "text/plain; charset=utf-8" : "text/html; charset=utf-8";
	if (rc == -EIO)
		strbuf_addf(&ret->body,
			    "pantrace %s made no picture of this; it said why where "
			    "the time line was started.\n",
			    name);
	else if (rc)
		strbuf_addf(&ret->body, "pantrace %s: %s\n", name, strerror(-rc));
	return rc != -ENOENT;
}

static bool answer(void *arg, const char *name, const struct http_request *request,
		   struct server_answer *ret)
{
	const struct served *const s = arg;

	if (!*name) {
		ret->type = "text/html; charset=utf-8";
		timeline_served_page(s->timeline, s->options, &ret->body);
		return true;
	}
	if (str_eq(name, "data")) {
		add_part(s, request, &ret->body);
		return true;
	}
	return str_eq(name, "alive") || add_link(s, name, request, ret);
}

int timeline_serve(const struct timeline *t, const struct timeline_options *o, u64 idle_ns,
		   char *const *words)
{
	struct served served = {t, o, words};
	struct server *server;
	int rc = server_open(answer, &served, &server);

	if (!rc) {
		server_announce(server, "timeline", idle_ns);
		rc = server_run(server, idle_ns, NULL);
		server_close(server);
	}
	if (rc)
		complain("timeline", "cannot serve: %s", strerror(-rc));
	return rc ? EXIT_FAILED : EXIT_OK;
}
