/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/live_recording.h"

#include <ctype.h>
#include <dirent.h>
#include <linux/sched.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "trace/ftrace/event_field.h"
#include "trace/ftrace/tasks.h"

#define EVENT_IDS 65536

struct live_recording {
	struct recording recording;
	struct raw_buffer *buffer;
	struct event_table *events;
	struct task_names *tasks;
	struct recorded_kind **kinds; /* by event id: once it was met */
	struct kernel *kernel;
	struct raw_event event; /* it stands at */
	struct page_event stack; /* that follows it; no data: there is none */
	const struct event_info *info; /* of it; NULL = unknown */
	u64 until; /* events up to here can be given out in order */
	bool is_ending;
};

static struct live_recording *live_of(const struct recording *r)
{
	return container_of(r, struct live_recording, recording);
}

/* ---- threads ---- */

static u64 number(const struct live_recording *l, const char *field)
{
	return event_field(l->info, &l->event.event, field).integer;
}

static void set_comm(struct live_recording *l, s32 tid, const char *field)
{
	const struct field_value v = event_field(l->info, &l->event.event, field);
	char comm[16] = "";

	if (v.kind == FIELD_TEXT)
		memcpy(comm, v.text, MIN(v.size, sizeof(comm) - 1));
	task_names_set(l->tasks, tid, comm);
}

/* At the event a thread has its old name, and its new one from the next on. */
static void follow_threads(struct live_recording *l)
{
	const struct event_info *const info = l->info;
	const s32 creator = page_event_pid(&l->event.event);
	s32 tid;

	if (!info || !str_eq(info->system, "task"))
		return;
	tid = (s32)number(l, "pid");
	if (str_eq(info->name, "task_rename")) {
		set_comm(l, tid, "newcomm");
	} else if (str_eq(info->name, "task_newtask")) {
		set_comm(l, tid, "comm");
		task_names_set_tgid(l->tasks, tid,
				    number(l, "clone_flags") & CLONE_THREAD
					    ? task_tgid(l->tasks, creator)
					    : tid);
	}
}

struct look {
	struct live_recording *recording;
	pid_t process;
};

static int look_at_thread(void *arg, pid_t thread)
{
	const struct look *const look = arg;
	char path[64], *comm;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)look->process, (int)thread);
	if (file_read(path, 64, &comm, &len))
		return 0;
	if (len && comm[len - 1] == '\n')
		comm[len - 1] = '\0';
	task_names_set(look->recording->tasks, thread, comm);
	task_names_set_tgid(look->recording->tasks, thread, look->process);
	free(comm);
	return 0;
}

/* In another PID namespace /proc has other numbers than events. */
void live_recording_look(struct recording *r)
{
	struct look look = {.recording = live_of(r)};
	struct dirent *e;
	struct stat st;
	DIR *proc;

	if (!process_numbers_are_initial(&st))
		return;
	proc = opendir("/proc");
	while (proc && (e = readdir(proc))) {
		if (!isdigit((u8)e->d_name[0]))
			continue;
		look.process = (pid_t)strtol(e->d_name, NULL, 10);
		process_each_thread(look.process, look_at_thread, &look);
	}
	if (proc)
		closedir(proc);
}

/* ---- events ---- */

static struct recorded_kind *kind_of(struct live_recording *l, u32 id)
{
	char *name;

	if (l->kinds[id])
		return l->kinds[id];
	name = l->info ? xasprintf("%s:%s", l->info->system, l->info->name)
		       : xasprintf("unknown event %u", id);
	l->kinds[id] = recorded_kind_new(l->recording.all, name, l->info ? l->info->name : NULL);
	free(name);
	return l->kinds[id];
}

/*
 * The stack that the kernel has recorded behind the event. In between an interrupt may have had an
 * event of its own: then nobody knows whose the stack is, and it is an event that nobody wants.
 */
static void take_stack(struct live_recording *l)
{
	const struct event_info *info;
	struct page_event next;

	l->stack = (struct page_event){0};
	if (!raw_buffer_peek(l->buffer, &next))
		return;
	info = event_table_get(l->events, page_event_id(&next));
	if (!info || !str_eq(info->system, "ftrace") || !str_eq(info->name, "kernel_stack") ||
	    page_event_pid(&next) != page_event_pid(&l->event.event))
		return;
	l->stack = next;
	raw_buffer_skip(l->buffer);
}

static bool live_next(struct recording *r, struct diag *d)
{
	struct live_recording *const l = live_of(r);
	u32 id;

	if (r->has_event)
		follow_threads(l);
	if (!raw_buffer_next(l->buffer, l->until, &l->event))
		return false;
	id = page_event_id(&l->event.event);
	l->info = event_table_get(l->events, id);
	r->kind = kind_of(l, id);
	r->ns = (s64)l->event.event.time + r->origin_ns;
	recording_lost(r, l->event.lost);
	take_stack(l);
	return true;
}

/* The function of ftrace that recorded a tracepoint; programs of BPF begin behind theirs. */
static bool is_ftrace_own(struct live_recording *l, u64 address)
{
	struct kernel_symbol s;

	return kernel_symbol_at(l->kernel, address, &s) &&
	       (str_starts(s.name, "trace_event_raw_event_") ||
		str_starts(s.name, "trace_event_buffer_commit"));
}

static bool live_stack(struct recording *r, struct recorded_stack *ret)
{
	struct live_recording *const l = live_of(r);
	struct event_stack stack;
	u32 i = 0;

	if (!l->stack.data ||
	    !event_stack(event_table_get(l->events, page_event_id(&l->stack)), &l->stack, &stack))
		return false;
	while (i < stack.count && is_ftrace_own(l, event_stack_address(&stack, i)))
		i++;
	for (; i < stack.count; i++)
		vector_push(ret, (struct recorded_frame){.address = event_stack_address(&stack, i),
							 .in_file = event_stack_address(&stack, i),
							 .is_kernel = true});
	return ret->len;
}

static void live_refresh(struct recording *r, struct diag *d)
{
	struct live_recording *const l = live_of(r);
	const int err =
		l->is_ending ? raw_buffer_drain_all(l->buffer) : raw_buffer_drain(l->buffer);

	if (err)
		diag_error(d, NO_SPAN, "the trace buffer cannot be read: %s", strerror(-err));
	l->until = l->is_ending ? UINT64_MAX : raw_buffer_complete(l->buffer);
}

static const u8 *live_raw(struct recording *r, u32 *ret_size)
{
	const struct page_event *const e = &live_of(r)->event.event;

	*ret_size = e->size;
	return e->data;
}

static void live_place(struct recording *r, struct recorded_place *ret)
{
	const struct live_recording *const l = live_of(r);
	const s32 tid = page_event_pid(&l->event.event), pid = task_tgid(l->tasks, tid);

	ret->cpu = l->event.cpu;
	ret->tid = tid;
	ret->pid = pid || !tid ? pid : -1;
	ret->comm = task_name(l->tasks, tid, &ret->comm_size);
}

static struct field_value live_value(struct recording *r, const char *name, bool only_field)
{
	const struct live_recording *const l = live_of(r);

	return l->info ? event_field(l->info, &l->event.event, name) : (struct field_value){0};
}

static void live_loss(struct recording *r, struct diag *d, struct recording_loss *ret)
{
	struct raw_buffer_stats stats;

	if (raw_buffer_stats(live_of(r)->buffer, &stats)) {
		ret->gaps = true;
		return;
	}
	ret->events += stats.lost;
	ret->damaged += stats.damaged;
}

static void live_close(struct recording *r)
{
	struct live_recording *const l = live_of(r);

	event_table_release(l->events);
	task_names_release(l->tasks);
	free(l->kinds);
	free(l);
}

static int no_names(struct recording *r, recorded_name_fn *fn, void *arg)
{
	return 0;
}

static const struct recording_reader live_reader = {
	.name = "trace buffer",
	.is_kernel = true,
	.next = live_next,
	.value = live_value,
	.place = live_place,
	.loss = live_loss,
	.each_event = no_names,
	.each_field = no_names,
	.close = live_close,
	.raw = live_raw,
	.stack = live_stack,
	.refresh = live_refresh,
};

struct recording *live_recording_new(struct recordings *all, struct kernel *k,
				     struct raw_buffer *buffer)
{
	struct live_recording *const l = xzalloc(sizeof(*l));

	l->recording = (struct recording){
		.reader = &live_reader,
		.all = all,
		.origin_ns = clock_distance_ns(CLOCK_MONOTONIC, CLOCK_REALTIME),
	};
	l->kernel = k;
	l->buffer = buffer;
	l->events = event_table_live(k);
	l->tasks = task_names_new(true);
	l->kinds = xzalloc(EVENT_IDS * sizeof(struct recorded_kind *));
	return &l->recording;
}

void live_recording_end(struct recording *r)
{
	live_of(r)->is_ending = true;
}

u64 live_recording_complete(const struct recording *r)
{
	return live_of(r)->until;
}
