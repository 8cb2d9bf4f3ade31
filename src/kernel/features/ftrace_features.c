/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/features/ftrace_features.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "kernel/tracefs/dynamic_event.h"
#include "kernel/tracefs/instance.h"
#include "kernel/tracefs/saved.h"
#include "kernel/tracefs/walk.h"

struct trial {
	struct kernel *kernel;
	const char *root;
	struct instance *instance; /* NULL: could not be made */
	int instance_error;
	char *readme;
};

enum how {
	TOP_FILE, /* can be opened in the top buffer */
	INSTANCE, /* an instance could be made */
	INSTANCE_FILE, /* can be opened in an instance */
	INSTANCE_VALUE, /* a value can be written there */
	TOP_TRACER, /* is listed, and its filter may be used */
	INSTANCE_TRACER,
	OPTION, /* of the top buffer, which lists those of all tracers */
	README, /* the kernel's own description has it */
	EVENT_PROBE, /* one can be defined */
	MAPPED, /* the ring buffer can be mapped */
};

static const struct row {
	const char *name, *doc;
	enum how how;
	const char *argument, *value;
} rows[] = {
	{"instances", "ring buffers of their own for each run", INSTANCE, NULL, NULL},
	{"clock_mono", "times that compare with CLOCK_MONOTONIC", INSTANCE_VALUE, "trace_clock",
	 "mono"},
	{"event_pid", "events of chosen threads", INSTANCE_FILE, "set_event_pid", NULL},
	{"event_fork", "and of those that they start", INSTANCE_FILE, "options/event-fork", NULL},
	{"event_notrace_pid", "all but chosen threads", INSTANCE_FILE, "set_event_notrace_pid",
	 NULL},
	{"error_log", "the place of a mistake in a filter or probe", TOP_FILE, "error_log", NULL},
	{"kprobe_events", "probes of kernel functions", TOP_FILE, "kprobe_events", NULL},
	{"uprobe_events", "probes of programs", TOP_FILE, "uprobe_events", NULL},
	{"dynamic_events", "probes of any kind in one file", TOP_FILE, "dynamic_events", NULL},
	{"event_probes", "probes of other events' fields", EVENT_PROBE, NULL, NULL},
	{"function_probes", "probes by fprobe, with BTF arguments", README, "f[:[<group>/]", NULL},
	{"probe_ustring", "strings of user memory in probes", README, "ustring", NULL},
	{"probe_arguments", "$argN in probes", README, "$arg<N>", NULL},
	{"uprobe_ref_ctr", "USDT semaphores", README, "ref_ctr_offset", NULL},
	{"synthetic_events", "events made of two others", TOP_FILE, "synthetic_events", NULL},
	{"hist_triggers", "histograms in the kernel", TOP_FILE, "events/sched/sched_switch/hist",
	 NULL},
	{"hist_buckets", ".buckets=N in histograms", README, ".buckets=size", NULL},
	{"function", "function tracer", TOP_TRACER, "function", NULL},
	{"function_instance", "in an instance", INSTANCE_TRACER, "function", NULL},
	{"function_args", "with arguments", OPTION, "func-args", NULL},
	{"function_graph", "function graph tracer", TOP_TRACER, "function_graph", NULL},
	{"function_graph_instance", "in an instance", INSTANCE_TRACER, "function_graph", NULL},
	{"function_graph_retval", "with return values", OPTION, "funcgraph-retval", NULL},
	{"function_graph_retaddr", "with return addresses", OPTION, "funcgraph-retaddr", NULL},
	{"function_graph_args", "with arguments", OPTION, "funcgraph-args", NULL},
	{"function_profile", "counts and times of functions", TOP_FILE, "function_profile_enabled",
	 NULL},
	{"snapshot", "a copy of the buffer at a moment", INSTANCE_FILE, "snapshot", NULL},
	{"stack_tracer", "the deepest kernel stack", TOP_FILE, "stack_max_size", NULL},
	{"record_tgid", "process ids beside thread ids", OPTION, "record-tgid", NULL},
	{"subbuffer_size", "larger pages in the ring buffer", INSTANCE_FILE,
	 "buffer_subbuf_size_kb", NULL},
	{"mapped_buffer", "the ring buffer can be mapped", MAPPED, NULL, NULL},
	{"user_events", "events of programs by a system call", TOP_FILE, "user_events_data", NULL},
};

static int try_open(const char *directory, const char *file)
{
	char *path = xasprintf("%s/%s", directory, file);
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int err = 0;

	/* Some can only be written. */
	if (fd < 0 && (errno != EINVAL && errno != EACCES))
		err = -errno;
	else if (fd < 0)
		err = access(path, W_OK) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	free(path);
	return err;
}

static int try_tracer(const struct trial *t, const char *directory, const char *tracer)
{
	if (!tracefs_lists(directory, "available_tracers", tracer))
		return -ENOENT;
	return try_open(t->root, "set_ftrace_filter");
}

/* _IO('R', 0x20) is TRACE_MMAP_IOCTL_GET_READER of 6.10; mapping itself tells as well, and wakes
 * nobody. */
static int try_map(const struct trial *t)
{
	const int fd = instance_open_file(t->instance, "per_cpu/cpu0/trace_pipe_raw",
					  O_RDONLY | O_NONBLOCK);
	void *map;
	int err = 0;

	if (fd < 0)
		return fd;
	map = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		err = -errno;
	else
		munmap(map, (size_t)sysconf(_SC_PAGESIZE));
	close(fd);
	return err;
}

static int try_row(const struct trial *t, const struct row *r)
{
	char option[64];

	switch (r->how) {
	case TOP_FILE:
		return try_open(t->root, r->argument);
	case TOP_TRACER:
		return try_tracer(t, t->root, r->argument);
	case OPTION:
		snprintf(option, sizeof(option), "options/%s", r->argument);
		return try_open(t->root, option);
	case EVENT_PROBE:
		return dynamic_events_can_probe_events(t->kernel) ? 0 : -EOPNOTSUPP;
	case README:
		return t->readme && strstr(t->readme, r->argument) ? 0 : -ENOENT;
	default:
		break;
	}
	if (!t->instance)
		return t->instance_error;
	switch (r->how) {
	case INSTANCE_FILE:
		return try_open(instance_directory(t->instance), r->argument);
	case INSTANCE_VALUE:
		return tracefs_value_write(instance_directory(t->instance), r->argument, r->value);
	case INSTANCE_TRACER:
		return try_tracer(t, instance_directory(t->instance), r->argument);
	case MAPPED:
		return try_map(t);
	default:
		return 0;
	}
}

size_t ftrace_features(struct kernel *k, struct ftrace_feature **ret)
{
	struct diag d = DIAG_INIT;
	struct trial t = {.kernel = k, .root = kernel_tracefs(k)};
	char *path;

	*ret = NULL;
	if (!t.root || access(t.root, R_OK | X_OK))
		return 0;
	t.instance_error = instance_open(k, &d, INSTANCE_OWN, &t.instance);
	path = xasprintf("%s/README", t.root);
	if (file_read(path, 1 << 20, &t.readme, NULL))
		t.readme = NULL;
	free(path);
	*ret = xreallocarray(NULL, ARRAY_SIZE(rows), sizeof(**ret));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const int err = try_row(&t, &rows[i]);

		(*ret)[i] = (struct ftrace_feature){rows[i].name, rows[i].doc, !err, -err};
	}
	free(t.readme);
	instance_close(t.instance);
	diag_release(&d);
	return ARRAY_SIZE(rows);
}
