/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/run/serve.h"

#include "engine/engine.h"
#include "view/page/script.h"
#include "view/server/server.h"

#define LAST_NS 3000000000u /* for a page to take the end of a run that a signal ended */

struct script_server {
	struct server *server;
	struct engine_guest guest;
	const char *title;
	u64 idle_ns;
	struct engine *engine; /* while it runs, and looks after us */
	const struct strbuf *lines; /* all, once it has ended */
	bool was_asked; /* to end, by a signal */
	bool is_taken; /* the end has been */
};

/* The maps as they are at this moment are not part of what is printed. */
static void add_lines(const struct script_server *s, struct strbuf *to)
{
	struct output *const out = s->engine ? s->engine->out : NULL;
	const size_t len = out ? out->text.len : 0;

	if (!out) {
		strbuf_add(to, s->lines->data, s->lines->len);
		return;
	}
	engine_print_maps(s->engine);
	script_page_lines(out, to);
	out->text.len = len;
	out->text.data[len] = '\0';
}

static bool answer(void *arg, const char *name, const struct http_request *request,
		   struct server_answer *ret)
{
	struct script_server *const s = arg;

	if (!*name) {
		ret->type = "text/html; charset=utf-8";
		script_served_page(s->title, &ret->body);
	} else if (str_eq(name, "data")) {
		add_lines(s, &ret->body);
		s->is_taken |= s->lines != NULL;
	} else {
		return false;
	}
	return true;
}

static void wake(void *arg, struct engine *e)
{
	struct script_server *const s = arg;

	s->engine = e;
	server_step(s->server);
	s->engine = NULL;
}

static void end(void *arg, struct engine *e)
{
	((struct script_server *)arg)->was_asked = e->was_asked;
}

int script_server_open(const char *title, u64 idle_ns, struct script_server **ret)
{
	struct script_server *const s = xzalloc(sizeof(*s));
	const int rc = server_open(answer, s, &s->server);

	if (rc) {
		free(s);
		return rc;
	}
	s->title = title;
	s->idle_ns = idle_ns;
	s->guest = (struct engine_guest){s, server_fd(s->server), wake, end};
	server_announce(s->server, NULL, idle_ns);
	*ret = s;
	return 0;
}

void script_server_close(struct script_server *s)
{
	if (s)
		server_close(s->server);
	free(s);
}

const struct engine_guest *script_server_guest(const struct script_server *s)
{
	return &s->guest;
}

int script_server_finish(struct script_server *s, const struct strbuf *lines)
{
	s->lines = lines;
	return server_run(s->server, s->was_asked ? LAST_NS : s->idle_ns,
			  s->was_asked ? &s->is_taken : NULL);
}
