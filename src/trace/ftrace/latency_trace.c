/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/latency_trace.h"

#include <stdio.h>

static const struct {
	const char *name, *what;
} tracers[] = {
	{"irqsoff", "interrupts were off"},
	{"preemptoff", "preemption was off"},
	{"preemptirqsoff", "interrupts or preemption were off"},
	{"wakeup", "a task of the highest priority waited from its wakeup until it ran"},
	{"wakeup_rt", "a real-time task waited from its wakeup until it ran"},
	{"wakeup_dl", "a deadline task waited from its wakeup until it ran"},
};

const char *latency_tracer(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(tracers); i++)
		if (str_eq(tracers[i].name, name))
			return tracers[i].what;
	return NULL;
}

/* The rest of the line behind HEAD if the line begins so; else NULL. */
static const char *behind(const char *line, const char *head)
{
	return str_starts(line, head) ? line + strlen(head) : NULL;
}

static const char *rest_of_line(struct arena *a, const char *at)
{
	return arena_strndup(a, at, strcspn(at, "\n"));
}

static bool read_tracer(struct arena *a, const char *line, struct latency_trace *t)
{
	char name[32], kernel[128];

	if (sscanf(line, "# %31s latency trace v1.1.5 on %127s", name, kernel) != 2)
		return false;
	t->tracer = arena_strdup(a, name);
	t->kernel = arena_strdup(a, kernel);
	return true;
}

static bool read_latency(const char *line, struct latency_trace *t)
{
	return sscanf(line, "# latency: %" SCNu64 " us, #%" SCNu64 "/%" SCNu64 ", CPU#%u",
		      &t->latency_us, &t->entries, &t->written, &t->cpu) == 4;
}

/* "migration/0-11 (uid:0 nice:0 policy:1 rt_prio:99)"; a name may have anything in it */
static bool read_task(struct arena *a, const char *at, struct latency_trace *t)
{
	const size_t size = strcspn(at, "\n");
	const char *open = NULL, *dash;

	for (const char *p = at; (p = memmem(p, size - (size_t)(p - at), " (uid:", 6)); p++)
		open = p;
	dash = open ? memrchr(at, '-', (size_t)(open - at)) : NULL;
	if (!dash ||
	    sscanf(dash + 1,
		   "%" SCNd32 " (uid:%u nice:%" SCNd64 " policy:%" SCNd64 " rt_prio:%" SCNd64,
		   &t->pid, &t->uid, &t->nice, &t->policy, &t->rt_priority) != 5)
		return false;
	t->comm = arena_strndup(a, at, (size_t)(dash - at));
	return true;
}

bool latency_trace_parse(struct arena *a, const char *text, struct latency_trace *ret)
{
	const char *line = text, *found;
	bool has_tracer = false, has_latency = false, has_task = false;

	*ret = (struct latency_trace){0};
	for (; *line == '#'; line += strcspn(line, "\n"), line += *line == '\n') {
		if (read_tracer(a, line, ret))
			has_tracer = true;
		else if (read_latency(line, ret))
			has_latency = true;
		else if ((found = behind(line, "#    | task: ")))
			has_task = read_task(a, found, ret);
		else if ((found = behind(line, "#  => started at: ")))
			ret->begin = rest_of_line(a, found);
		else if ((found = behind(line, "#  => ended at:   ")))
			ret->end = rest_of_line(a, found);
		else if ((found = behind(line, "# tracer: ")) && !ret->tracer)
			ret->tracer = rest_of_line(a, found);
	}
	if (has_tracer && has_latency && has_task)
		ret->lines = line;
	/* nothing was measured: the kernel prints no more than the tracer's name */
	return ret->lines || (!*line && !has_latency && latency_tracer(ret->tracer));
}
