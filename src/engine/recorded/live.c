/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/recorded/live.h"

#include <asm/ptrace.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hashmap.h"
#include "arch/arch.h"
#include "kernel/tracefs/buffer_size.h"
#include "kernel/tracefs/dynamic_event.h"
#include "kernel/tracefs/instance.h"
#include "kernel/tracefs/tracefs.h"
#include "probe/provider.h"
#include "trace/ftrace/live_recording.h"

#define WAKE_PERCENT "25" /* wake up at this share of a CPU's buffer, long before it is full */

struct live_source {
	struct kernel *kernel;
	struct recordings *all;
	struct hashmap formats; /* "sched:sched_switch" -> text; NULL = it cannot be read */
	struct instance *instance;
	struct dynamic_events *probes; /* made for the script; NULL = none */
	struct arena arena; /* their names */
	u64 missed; /* calls that the kernel's probes have missed; known once tracing has stopped */
	u8 registers[sizeof(struct pt_regs)]; /* of the event's record */
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
	dynamic_events_release(l->probes);
	arena_release(&l->arena);
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

/* ---- probes ---- */

int live_source_take_stacks(struct live_source *l)
{
	return instance_set_option(l->instance, "stacktrace", true);
}

static bool is_return(const struct probe_target *t)
{
	return t->provider == &probe_kretprobe || t->provider == &probe_uretprobe;
}

/* "vfs_read+4", "ext4:ext4_sync_fs", "/usr/bin/sh:0x1234" */
static void add_place(struct tracefs_command *c, const struct probe_target *t)
{
	if (t->path)
		tracefs_command_add(c, "%s:0x%" PRIx64, t->path, t->address);
	else if (!t->function)
		tracefs_command_add(c, "0x%" PRIx64, t->address);
	else
		tracefs_command_add(c, "%s%s%s+%" PRIu64, t->module ?: "", t->module ? ":" : "",
				    t->function, t->address);
}

int live_source_probe(struct live_source *l, const struct probe_target *t, const char **ret_name)
{
	struct tracefs_command place = TRACEFS_COMMAND_INIT;
	const enum dynamic_kind kind = (t->path ? DYNAMIC_UPROBE : DYNAMIC_KPROBE) + is_return(t);
	const struct dynamic_event *event;
	const struct arch_register *r;
	char *name;
	int err = t->path ? tracefs_path_check(t->path, instance_diag(l->instance)) : 0;

	if (err)
		return err;
	if (!l->probes)
		l->probes = dynamic_events_new(l->kernel, instance_diag(l->instance));
	add_place(&place, t);
	for (u16 at = 0; at < sizeof(struct pt_regs); at += 8)
		if ((r = arch_register_at(at)))
			tracefs_command_add(&place, " %s=%%%s:u64", r->name, r->name);
	/* kprobe_profile tells events apart by this alone */
	name = xasprintf("p%d_%zu", (int)getpid(), dynamic_events_count(l->probes));
	err = dynamic_events_define(l->probes, kind, name, &place, &event);
	free(name);
	tracefs_command_release(&place);
	if (err)
		return err;
	*ret_name = arena_printf(&l->arena, "%s:%s", event->group, event->name);
	return live_source_enable(l, event->group, event->name);
}

/*
 * A record: u64 of ftrace, the address (of returns two), then the registers, which are those of
 * struct pt_regs that have names, in its order.
 */
const u8 *live_source_registers(struct live_source *l, const struct probe_target *t,
				const u8 *record, u32 size, u32 *ret_size)
{
	u32 from = is_return(t) ? 24 : 16;

	for (u16 at = 0; at < sizeof(struct pt_regs); at += 8) {
		if (!arch_register_at(at))
			continue;
		if (from + 8 > size)
			return NULL;
		memcpy(l->registers + at, record + from, 8);
		from += 8;
	}
	*ret_size = sizeof(struct pt_regs);
	return l->registers;
}

int live_source_fd(const struct live_source *l)
{
	return raw_buffer_fd(l->buffer);
}

u64 live_source_complete(const struct live_source *l)
{
	return live_recording_complete(l->recording);
}

/* "  p4711_0    2000    3": hits, and those missed, as in another probe or in too many calls */
static u64 missed_of(const struct live_source *l, char *text)
{
	char *rest = NULL, name[64];
	u64 hits, missed, all = 0;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (sscanf(line, "%63s %" SCNu64 " %" SCNu64, name, &hits, &missed) != 3)
			continue;
		for (size_t i = 0; i < dynamic_events_count(l->probes); i++)
			if (str_eq(dynamic_events_at(l->probes, i)->name, name))
				all += missed;
	}
	return all;
}

static void count_missed(struct live_source *l)
{
	char *const path = xasprintf("%s/kprobe_profile", kernel_tracefs(l->kernel)), *text;

	if (l->probes && !file_read(path, (size_t)64 << 20, &text, NULL)) {
		l->missed = missed_of(l, text);
		free(text);
	}
	free(path);
}

u64 live_source_missed(const struct live_source *l)
{
	return l->missed;
}

void live_source_stop(struct live_source *l)
{
	count_missed(l);
	instance_try(l->instance, "tracing_on", "0");
	live_recording_end(l->recording);
}
