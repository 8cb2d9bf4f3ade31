/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "record/ftrace/ftrace.h"
#include "trace/ftrace/latency_trace.h"

bool kernel_longest_is(const struct record_request *r)
{
	return !r->lasting && latency_tracer(r->tracer);
}

int kernel_longest_start(struct instance *in, const char *tracer)
{
	const int err = instance_write(in, "tracing_max_latency", "0");

	return err ? err : instance_set_tracer(in, tracer);
}

static void say(const struct latency_trace *t, const char *path, u64 size)
{
	if (t->lines)
		fprintf(stderr,
			"%s: %" PRIu64 " us at the longest, CPU %u; %" PRIu64 " bytes, in %s\n",
			t->tracer, t->latency_us, t->cpu, size, path);
	else
		fprintf(stderr, "%s: nothing was measured; %" PRIu64 " bytes, in %s\n", t->tracer,
			size, path);
}

int kernel_longest_write(const struct kernel_files_options *o, struct instance *in)
{
	struct strbuf text = STRBUF_INIT;
	struct latency_trace t;
	struct arena arena = {0};
	char *read = NULL;
	u64 size;
	int err = instance_read(in, "trace", &read);

	if (err) {
		diag_error(o->run->diag, NO_SPAN, "cannot read what the tracer %s left: %s",
			   o->run->request->tracer, strerror(-err));
	} else if (!latency_trace_parse(&arena, read, &t)) {
		diag_error(o->run->diag, NO_SPAN,
			   "what the tracer %s left is not as its documentation says",
			   o->run->request->tracer);
		err = -EPROTO;
	} else {
		strbuf_addstr(&text, read);
		err = dat_text_write(o->path, &o->writer, &o->state->contents, &text, o->run->diag,
				     &size);
	}
	if (!err && !o->run->request->quiet)
		say(&t, o->path, size);
	arena_release(&arena);
	strbuf_release(&text);
	free(read);
	return err;
}
