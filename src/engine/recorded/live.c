/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/recorded/live.h"

#include <stdio.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "kernel/tracefs/buffer_size.h"
#include "kernel/tracefs/instance.h"
#include "kernel/tracefs/tracefs.h"
#include "trace/ftrace/live_recording.h"

#define WAKE_PERCENT "25" /* wake up at this share of a CPU's buffer, long before it is full */

struct live_source {
	struct kernel *kernel;
	struct recordings *all;
	struct hashmap formats; /* "sched:sched_switch" -> text; NULL = it cannot be read */
	struct instance *instance;
	struct raw_buffer *buffer;
	struct recording *recording; /* of the buffer; belongs to all */
};

struct live_source *live_source_new(struct kernel *k, struct recordings *all)
{
	struct live_source *l = xzalloc(sizeof(*l));

	l->kernel = k;
	l->all = all;
	return l;
}

void live_source_release(struct live_source *l)
{
	if (!l)
		return;
	raw_buffer_close(l->buffer);
	instance_close(l->instance);
	hashmap_each (&l->formats, e)
		free(e->value);
	hashmap_release(&l->formats);
	free(l);
}

/* ---- what the compiler asks ---- */

struct offer {
	int (*fn)(void *arg, const char *category, const char *event);
	void *arg;
};

/* ftrace's own records are not events that can be enabled. */
static int offer_event(void *arg, const char *category, const char *event)
{
	const struct offer *const o = arg;

	return str_eq(category, "ftrace") ? 0 : o->fn(o->arg, category, event);
}

int live_source_each_event(struct live_source *l, const char *category_glob, const char *event_glob,
			   int (*fn)(void *arg, const char *category, const char *event), void *arg)
{
	struct offer offer = {fn, arg};

	return tracefs_each_event(l->kernel, category_glob, event_glob, offer_event, &offer);
}

int live_source_event_format(struct live_source *l, const char *category, const char *event,
			     const char **ret)
{
	char *const name = xasprintf("%s:%s", category, event);
	void **const at = hashmap_put(&l->formats, name, strlen(name) + 1, NULL);
	char *text;

	free(name);
	if (!*at && !tracefs_event_format(l->kernel, category, event, &text))
		*at = text;
	*ret = *at;
	return *at ? 0 : -ENOENT;
}

/* ---- the buffer ---- */

/* Our own reading would be recorded, and read again. */
static void leave_us_out(struct live_source *l)
{
	char self[16];

	snprintf(self, sizeof(self), "%d\n", (int)getpid());
	if (instance_has(l->instance, "set_event_notrace_pid"))
		instance_try(l->instance, "set_event_notrace_pid", self);
}

int live_source_begin(struct live_source *l, struct diag *d)
{
	int err = instance_open(l->kernel, d, INSTANCE_OWN, &l->instance);

	if (!err)
		err = instance_set_buffer(l->instance, buffer_default_kb(l->kernel));
	if (err)
		return err;
	if (instance_has(l->instance, "buffer_percent"))
		instance_try(l->instance, "buffer_percent", WAKE_PERCENT);
	leave_us_out(l);
	err = raw_buffer_open(instance_directory(l->instance), &l->buffer);
	if (err) {
		diag_error(d, NO_SPAN, "cannot read %s/per_cpu/*/trace_pipe_raw: %s",
			   instance_directory(l->instance), strerror(-err));
		return err;
	}
	l->recording = live_recording_new(l->all, l->kernel, l->buffer);
	recordings_take(l->all, l->recording);
	err = live_source_enable(l, "task", "task_newtask");
	if (!err)
		err = live_source_enable(l, "task", "task_rename");
	if (!err)
		live_recording_look(l->recording);
	return err;
}

int live_source_enable(struct live_source *l, const char *category, const char *event)
{
	return instance_enable_event(l->instance, category, event, true);
}

int live_source_fd(const struct live_source *l)
{
	return raw_buffer_fd(l->buffer);
}

u64 live_source_complete(const struct live_source *l)
{
	return live_recording_complete(l->recording);
}

void live_source_stop(struct live_source *l)
{
	instance_try(l->instance, "tracing_on", "0");
	live_recording_end(l->recording);
}
