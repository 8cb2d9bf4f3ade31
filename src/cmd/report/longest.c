/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/longest.h"

#include <unistd.h>

#include "base/escape.h"
#include "base/file.h"
#include "trace/ftrace/latency_trace.h"

int report_longest_has(struct recording *r, void *arg)
{
	return r->reader->text && r->reader->text(r);
}

static const char *policy_name(s64 policy)
{
	static const char *const names[] = {"SCHED_OTHER",   "SCHED_FIFO", "SCHED_RR",
					    "SCHED_BATCH",   "SCHED_ISO",  "SCHED_IDLE",
					    "SCHED_DEADLINE"};

	return policy >= 0 && (u64)policy < ARRAY_SIZE(names) ? names[policy] : "?";
}

static void print_text(const struct latency_trace *t, struct strbuf *out)
{
	strbuf_addf(out, "%s: ", t->tracer);
	if (!t->lines) {
		strbuf_addf(out, "no time was measured in which %s\n", latency_tracer(t->tracer));
		return;
	}
	strbuf_addf(out, "%" PRIu64 " us at the longest, in which %s\n  CPU %u, in ", t->latency_us,
		    latency_tracer(t->tracer) ?: "it lasted", t->cpu);
	escape_terminal(out, t->comm, strlen(t->comm));
	strbuf_addf(out, "-%d (user %u, nice %" PRId64 ", %s, real-time priority %" PRId64 ")\n",
		    t->pid, t->uid, t->nice, policy_name(t->policy), t->rt_priority);
	if (t->begin)
		strbuf_addf(out, "  from %s\n  to   %s\n", t->begin, t->end ?: "?");
	strbuf_addf(out, "  what led to it, %" PRIu64 " of %" PRIu64 " entries:\n\n", t->entries,
		    t->written);
	escape_terminal(out, t->lines, strlen(t->lines));
}

static void print_json(const struct latency_trace *t, struct strbuf *out)
{
	struct json j = JSON_INIT(out);

	json_object(&j);
	json_member_text(&j, "tracer", t->tracer);
	if (t->lines) {
		json_member_u64(&j, "latency_ns", t->latency_us * 1000);
		json_member_u64(&j, "cpu", t->cpu);
		json_member_text(&j, "comm", t->comm);
		json_member_s64(&j, "tid", t->pid);
		json_member_u64(&j, "uid", t->uid);
		json_member_s64(&j, "nice", t->nice);
		json_member_text(&j, "policy", policy_name(t->policy));
		json_member_s64(&j, "rt_priority", t->rt_priority);
		json_member_text(&j, "begin", t->begin);
		json_member_text(&j, "end", t->end);
		json_member_u64(&j, "entries", t->entries);
		json_member_u64(&j, "written", t->written);
		json_key(&j, "trace");
		json_array(&j);
		for (const char *at = t->lines; *at; at += *at == '\n') {
			const size_t n = strcspn(at, "\n");

			json_string(&j, at, n);
			at += n;
		}
		json_end(&j, ']');
	}
	json_end(&j, '}');
	json_end_line(&j);
}

/* There are no events to choose from. */
static bool is_as_it_is(const struct reading *r)
{
	const struct arguments *const a = r->asked->arguments;
	const struct selection_arguments *const s = &a->selection;

	return !r->asked->row && !a->count && !a->live && !s->events.count && !s->where.count &&
	       !s->begin && !s->end && !s->limit;
}

static int refuse(const char *path, struct diag *d)
{
	diag_error(d, NO_SPAN, "%s: what a latency tracer left is text: it has no events", path);
	diag_hint(d, "`pantrace report %s` prints it, also with --json", path);
	return -ENOTSUP;
}

struct printing {
	struct reading *reading;
	bool is_alone; /* there are no events in other recordings */
	struct arena arena;
	struct strbuf out;
};

static int print(struct recording *r, void *arg)
{
	struct printing *const p = arg;
	const char *const text = report_longest_has(r, NULL) ? r->reader->text(r) : NULL;
	const char *const style = p->reading->asked->style;
	struct latency_trace t;

	if (text && !is_as_it_is(p->reading))
		return p->is_alone ? refuse(r->path, &p->reading->diag) : 0;
	if (!text)
		return 0;
	if (style && *style) {
		escape_terminal(&p->out, text, strlen(text));
	} else if (!latency_trace_parse(&p->arena, text, &t)) {
		diag_error(&p->reading->diag, NO_SPAN,
			   "%s: its text is not what a latency tracer leaves", r->path);
		return -EINVAL;
	} else if (p->reading->asked->format == CTF_FORMAT_JSON) {
		print_json(&t, &p->out);
	} else {
		print_text(&t, &p->out);
	}
	return 0;
}

static int has_events(struct recording *r, void *arg)
{
	return !report_longest_has(r, NULL);
}

int report_longest(struct reading *r, bool *ret_is_all)
{
	struct printing p = {.reading = r,
			     .is_alone = !recordings_each(r->recordings, has_events, NULL),
			     .out = STRBUF_INIT};
	int err = recordings_each(r->recordings, print, &p);

	if (!err)
		err = write_all(STDOUT_FILENO, p.out.data, p.out.len);
	if (err == -EPIPE)
		err = 0;
	strbuf_release(&p.out);
	arena_release(&p.arena);
	*ret_is_all = p.is_alone;
	return err;
}
