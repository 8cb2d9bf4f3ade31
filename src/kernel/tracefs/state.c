/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/state.h"
#include "kernel/tracefs/triggers.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "kernel/tracefs/instance.h"
#include "kernel/tracefs/lasting_buffer.h"
#include "kernel/tracefs/owner.h"
#include "kernel/tracefs/saved.h"
#include "kernel/tracefs/walk.h"

struct reader {
	struct kernel *kernel;
	struct tracefs_state *state;
	const char *instance; /* "" = top */
	char *directory; /* of it */
	pid_t owner;
	bool alive;
	enum state_scope scope;
	char *session;
};

static const char *const kind_names[] = {
	[STATE_SETTING] = "setting",
	[STATE_LIST] = "list",
	[STATE_EVENT] = "event",
	[STATE_FILTER] = "filter",
	[STATE_TRIGGER] = "trigger",
	[STATE_PROBE] = "probe",
	[STATE_SYNTHETIC] = "synthetic event",
	[STATE_INSTANCE] = "instance",
};

const char *state_kind_name(enum state_kind kind)
{
	return kind_names[kind];
}

/* Takes file and undo (malloc'ed). */
static void add(struct reader *r, enum state_kind kind, char *file, const char *value, char *undo)
{
	vector_push(&r->state->items, (struct state_item){
					      .kind = kind,
					      .instance = xstrdup(r->instance),
					      .file = file,
					      .value = xstrdup(value),
					      .undo = undo,
					      .owner = r->owner,
					      .alive = r->alive,
					      .session = r->session ? xstrdup(r->session) : NULL,
				      });
}

/* The text of a file of the buffer; NULL if it cannot be read. Malloc'ed. */
static char *read_text(struct reader *r, const char *file)
{
	char *path = xasprintf("%s/%s", r->directory, file), *text = NULL;
	const int err = file_read(path, (size_t)64 << 20, &text, NULL);

	free(path);
	if (!err)
		return text;
	if (err != -ENOENT)
		r->state->unreadable++;
	return NULL;
}

/* ---- settings ---- */

/* Values after boot (kernel/trace/trace.c, trace_functions_graph.c). */
static const struct {
	const char *file, *value;
} defaults[] = {
	{"current_tracer", "nop"}, {"tracing_on", "1"},
	{"trace_clock", "local"},  {"tracing_thresh", "0"},
	{"max_graph_depth", "0"},  {"function_profile_enabled", "0"},
	{"stack_max_size", NULL}, /* what was measured, not set */
	{"buffer_percent", "50"},  {"buffer_subbuf_size_kb", "4"},
};

static const char *const lists[] = {
	"set_ftrace_filter", "set_ftrace_notrace",    "set_graph_function",
	"set_graph_notrace", "set_ftrace_pid",	      "set_ftrace_notrace_pid",
	"set_event_pid",     "set_event_notrace_pid",
};

/* Options that are on after boot, and those that are off. What is in neither is left out: a newer
 * kernel's defaults are not known. */
static const char *const options_on[] = {
	"print-parent",	      "trace_printk",	"annotate",	      "context-info",
	"record-cmd",	      "overwrite",	"irq-info",	      "markers",
	"hash-ptr",	      "function-trace", "trace_printk_dest",  "funcgraph-cpu",
	"funcgraph-overhead", "funcgraph-irqs", "funcgraph-duration", "sleep-time",
	"graph-time",
};
static const char *const options_off[] = {
	"sym-offset",
	"sym-addr",
	"verbose",
	"raw",
	"hex",
	"bin",
	"block",
	"fields",
	"userstacktrace",
	"sym-userobj",
	"printk-msg-only",
	"latency-format",
	"record-tgid",
	"disable_on_free",
	"event-fork",
	"pause-on-trace",
	"function-fork",
	"display-graph",
	"stacktrace",
	"func_stack_trace",
	"func-no-repeats",
	"func-args",
	"funcgraph-overrun",
	"funcgraph-proc",
	"funcgraph-abstime",
	"funcgraph-tail",
	"funcgraph-retval",
	"funcgraph-retval-hex",
	"funcgraph-retaddr",
	"funcgraph-args",
	"test_nop_accept",
	"test_nop_refuse",
	"blk_classic",
	"blk_cgroup",
	"blk_cgname",
};

static void read_settings(struct reader *r)
{
	char *value;

	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
		if (!defaults[i].value ||
		    tracefs_value_read(r->directory, defaults[i].file, &value))
			continue;
		if (!str_eq(value, defaults[i].value))
			add(r, STATE_SETTING, xstrdup(defaults[i].file), value,
			    xstrdup(defaults[i].value));
		free(value);
	}
}

static void read_options(struct reader *r, const char *const *names, size_t count, bool on)
{
	for (size_t i = 0; i < count; i++) {
		char *file = xasprintf("options/%s", names[i]), *value;

		/* This one says which buffer trace_printk() writes to: the top one, after boot. */
		if (*r->instance && str_eq(names[i], "trace_printk_dest")) {
			free(file);
			continue;
		}
		if (tracefs_value_read(r->directory, file, &value)) {
			free(file);
			continue;
		}
		if ((*value == '1') != on)
			add(r, STATE_SETTING, file, value, xstrdup(on ? "1" : "0"));
		else
			free(file);
		free(value);
	}
}

/* Bits for all CPUs: as wide as the file's own text. "3", "ff", "ffffffff,ffffffff" */
static void read_cpumask(struct reader *r)
{
	u32 bits = kernel_possible_cpus(r->kernel), set = 0;
	char *value, *all;

	if (tracefs_value_read(r->directory, "tracing_cpumask", &value))
		return;
	for (const char *p = value; *p; p++)
		if (*p != ',')
			set += (u32)__builtin_popcount(
				(unsigned int)strtoul((char[]){*p, '\0'}, NULL, 16));
	if (set < bits && set < 1024) {
		struct strbuf mask = STRBUF_INIT;

		for (u32 left = bits; left;) {
			const u32 in_word = left % 32 ? left % 32 : 32;

			strbuf_addf(&mask, "%s%x", mask.len ? "," : "",
				    in_word == 32 ? 0xffffffffu : (1u << in_word) - 1);
			left -= in_word;
		}
		all = strbuf_detach(&mask);
		add(r, STATE_SETTING, xstrdup("tracing_cpumask"), value, all);
	}
	free(value);
}

/* The size after boot: trace_buf_size= of the command line, else 1408 KiB, which some kernels round
 * up by a page or two. */
static void read_buffer_size(struct reader *r)
{
	char *value, *line = NULL, *p;
	u64 expected = 1408, now;
	char *end;

	if (tracefs_value_read(r->directory, "buffer_size_kb", &value))
		return;
	if (!file_read("/proc/cmdline", 1 << 16, &line, NULL) &&
	    (p = strstr(line, "trace_buf_size="))) {
		expected = strtoull(p + strlen("trace_buf_size="), &end, 0);
		expected = *end == 'M' || *end == 'm'	? expected << 10
			   : *end == 'K' || *end == 'k' ? expected
							: expected >> 10;
	}
	free(line);
	now = strtoull(value, NULL, 10);
	/* Until something is traced the buffer is tiny: "7 (expanded: 1408)". */
	if (now > 16 && (now < expected || now > expected + 16))
		add(r, STATE_SETTING, xstrdup("buffer_size_kb"), value,
		    xasprintf("%" PRIu64, expected));
	free(value);
}

static void read_snapshot(struct reader *r)
{
	char *text = read_text(r, "snapshot");

	if (text && strstr(text, "# * Snapshot is allocated *"))
		add(r, STATE_SETTING, xstrdup("snapshot"), "allocated", xstrdup("0"));
	free(text);
}

/* "a b c ... (12 more)" */
static char *summary_of(const char *lines)
{
	struct strbuf sb = STRBUF_INIT;
	u32 count = 0;

	while (*lines) {
		const size_t n = strcspn(lines, "\n");

		if (count++ < 4)
			strbuf_addf(&sb, "%s%.*s", sb.len ? " " : "", (int)n, lines);
		lines += n + (lines[n] == '\n');
	}
	if (count > 4)
		strbuf_addf(&sb, " ... (%u more)", count - 4);
	return strbuf_detach(&sb);
}

/* "schedule:traceoff:unlimited" -> "!schedule:traceoff"; with a count it is removed by ":0"
 * (Documentation/trace/ftrace.rst). */
static char *undo_function_trigger(const char *line)
{
	const char *const count = strstr(line, ":count=");
	const char *const end = count ? count : strstr(line, ":unlimited");

	return xasprintf("!%.*s%s", (int)(end ? (size_t)(end - line) : strlen(line)), line,
			 count ? ":0" : "");
}

static void read_function_triggers(struct reader *r)
{
	char *text = read_text(r, "set_ftrace_filter"), *line, *rest;

	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		if (*line != '#' && strchr(line, ':'))
			add(r, STATE_TRIGGER, xstrdup("set_ftrace_filter"), line,
			    undo_function_trigger(line));
	free(text);
}

static void read_lists(struct reader *r)
{
	char *value, *summary;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const int err = tracefs_value_read(r->directory, lists[i], &value);

		if (err) {
			r->state->unreadable += err != -ENOENT;
			continue;
		}
		if (*value) {
			summary = summary_of(value);
			add(r, STATE_LIST, xstrdup(lists[i]), summary, xstrdup(""));
			free(summary);
		}
		free(value);
	}
}

/* ---- events ---- */

static void read_event(void *arg, const char *system, const char *event)
{
	struct reader *r = arg;
	char *file, *text, *line, *rest;

	if (str_eq(system, "ftrace"))
		return;
	file = xasprintf("events/%s/%s/filter", system, event);
	text = read_text(r, file);
	if (text && !str_starts(text, "none")) {
		text[strcspn(text, "\n")] = '\0';
		add(r, STATE_FILTER, xstrdup(file), text, xstrdup("0"));
	}
	free(text);
	free(file);
	file = xasprintf("events/%s/%s/trigger", system, event);
	text = read_text(r, file);
	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		if (*line != '#')
			add(r, STATE_TRIGGER, xstrdup(file), line, tracefs_trigger_undo(line));
	free(text);
	free(file);
}

static int compare_lines(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static void read_enabled(struct reader *r)
{
	char *text = read_text(r, "set_event"), *line, *rest;
	VECTOR(char *) lines = {0};

	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		/* This one the kernel switches on itself when a BPF program prints. */
		if (strchr(line, ':') && !str_eq(line, "bpf_trace:bpf_trace_printk"))
			vector_push(&lines, line);
	if (lines.len)
		qsort(lines.items, lines.len, sizeof(*lines.items), compare_lines);
	for (size_t i = 0; i < lines.len; i++) {
		const char *const event = lines.items[i];
		const int system = (int)strcspn(event, ":");

		add(r, STATE_EVENT,
		    xasprintf("events/%.*s/%s/enable", system, event, event + system + 1), "1",
		    xstrdup("0"));
	}
	vector_free(&lines);
	free(text);
}

static void read_buffer(struct reader *r)
{
	read_settings(r);
	read_cpumask(r);
	read_enabled(r);
	tracefs_each_event_folder(r->directory, read_event, r);
	read_function_triggers(r);
	read_lists(r);
	read_options(r, options_on, ARRAY_SIZE(options_on), true);
	read_options(r, options_off, ARRAY_SIZE(options_off), false);
	read_snapshot(r);
	read_buffer_size(r);
}

/* ---- what is global ---- */

static void set_owner(struct reader *r, const char *name)
{
	struct tracefs_owner owner;

	r->owner = 0;
	r->alive = false;
	if (!tracefs_owner_parse(name, &owner, NULL))
		return;
	r->owner = owner.pid;
	r->alive = tracefs_owner_alive(r->kernel, &owner);
}

/* "p:group/name place args" -> "-:group/name" */
static void read_probes(struct reader *r, const char *file, const char *skip)
{
	char *text = read_text(r, file), *line, *rest;

	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		const char *const colon = strchr(line, ':');

		if (!colon || strchr(skip, *line))
			continue;
		set_owner(r, colon + 1);
		add(r, STATE_PROBE, xstrdup(file), line,
		    xasprintf("-:%.*s", (int)strcspn(colon + 1, " \t"), colon + 1));
	}
	free(text);
}

static void read_synthetic(struct reader *r)
{
	char *text = read_text(r, "synthetic_events"), *line, *rest;

	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		const char *const name = str_starts(line, "s:") ? line + 2 : line;

		set_owner(r, name);
		add(r, STATE_SYNTHETIC, xstrdup("synthetic_events"), line,
		    xasprintf("!%.*s", (int)strcspn(name, " \t;"), name));
	}
	free(text);
}

static int take_session(void *arg, const struct lasting_buffer *b)
{
	struct reader *r = arg;

	if (!str_eq(b->instance, r->instance))
		return 0;
	r->session = xstrdup(b->name);
	return 1;
}

static void find_session(struct reader *r)
{
	r->session = NULL;
	lasting_buffers_each(take_session, r);
}

static void read_instance(void *arg, const char *name)
{
	struct reader *r = arg;

	set_owner(r, name);
	r->instance = name;
	r->directory = xasprintf("%s/instances/%s", kernel_tracefs(r->kernel), name);
	find_session(r);
	/* What goes with the instance is no matter for ours. */
	if (r->scope == STATE_OF_RUNS || (!r->owner && !r->session))
		read_buffer(r);
	add(r, STATE_INSTANCE, xasprintf("instances/%s", name), "", xstrdup(""));
	free(r->directory);
	free(r->session);
	r->session = NULL;
}

static void read_instances(struct reader *r, const char *root)
{
	char *path = xasprintf("%s/instances", root);

	tracefs_each_folder(path, read_instance, r);
	free(path);
}

int tracefs_state_read(struct kernel *k, enum state_scope scope, struct tracefs_state *ret)
{
	struct reader r = {.kernel = k, .state = ret, .instance = "", .scope = scope};
	const char *const root = kernel_tracefs(k);

	*ret = (struct tracefs_state){0};
	if (!root)
		return -errno;
	if (access(root, R_OK | X_OK))
		return -errno;
	r.directory = (char *)root;
	r.owner = instance_top_owner(k);
	r.alive = r.owner != 0;
	find_session(&r);
	read_buffer(&r);
	free(r.session);
	r.session = NULL;
	read_instances(&r, root);
	r.instance = "";
	r.directory = (char *)root;
	read_probes(&r, "kprobe_events", "");
	read_probes(&r, "uprobe_events", "");
	read_probes(&r, "dynamic_events", "prs");
	read_synthetic(&r);
	return 0;
}

/* ---- taking back ---- */

static int undo(struct kernel *k, const struct state_item *i)
{
	const char *const root = kernel_tracefs(k);
	char *directory =
		*i->instance ? xasprintf("%s/instances/%s", root, i->instance) : xstrdup(root);
	int err = 0;

	switch (i->kind) {
	case STATE_INSTANCE:
		if (rmdir(directory))
			err = -errno;
		break;
	case STATE_TRIGGER:
	case STATE_PROBE:
	case STATE_SYNTHETIC:
		err = tracefs_append(directory, i->file, i->undo);
		break;
	case STATE_SETTING:
	case STATE_LIST:
	case STATE_EVENT:
	case STATE_FILTER:
		err = tracefs_value_write(directory, i->file, i->undo);
		break;
	}
	free(directory);
	return err == -ENOENT ? 0 : -err;
}

u32 tracefs_state_undo(struct kernel *k, struct tracefs_state *s,
		       bool (*choose)(void *arg, const struct state_item *i), void *arg)
{
	u32 failed = UINT32_MAX, before;

	if (!kernel_tracefs(k))
		return 0;
	/* What another item still uses is refused at first: as long as something is achieved,
	 * again. */
	do {
		before = failed;
		failed = 0;
		for (size_t n = 0; n < s->items.len; n++) {
			struct state_item *i = &s->items.items[n];

			if (i->done || !choose(arg, i))
				continue;
			i->error = undo(k, i);
			i->done = !i->error;
			failed += i->error != 0;
		}
	} while (failed && failed < before);
	return failed;
}

void tracefs_state_release(struct tracefs_state *s)
{
	for (size_t n = 0; n < s->items.len; n++) {
		struct state_item *i = &s->items.items[n];

		free(i->instance);
		free(i->file);
		free(i->value);
		free(i->undo);
		free(i->session);
	}
	vector_free(&s->items);
}
