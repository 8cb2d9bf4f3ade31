/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All of a trace.dat but the pages: event formats, kernel symbols, names of tasks. */
#include <dirent.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hashmap.h"
#include "kernel/tracefs/saved.h"
#include "kernel/tracefs/tracefs.h"
#include "kernel/tracefs/walk.h"
#include "record/ftrace/ftrace.h"
#include "trace/dat/trace_dat.h"

#define KALLSYMS_MAX ((size_t)256 << 20)

/* A file of the top buffer's directory; "" if it cannot be read. Malloc'ed. */
static char *text_of(struct kernel *k, const char *file)
{
	char *path = xasprintf("%s/%s", kernel_tracefs(k), file), *text;

	if (file_read(path, (size_t)64 << 20, &text, NULL))
		text = xstrdup("");
	free(path);
	return text;
}

static int read_headers(struct kernel_state *s, struct kernel *k, struct diag *d)
{
	char *page = text_of(k, "events/header_page"), *event = text_of(k, "events/header_event");
	const bool has = *page;

	dat_contents_headers(&s->contents, page, event);
	free(page);
	free(event);
	if (has)
		return 0;
	diag_error(d, NO_SPAN, "cannot read %s/events/header_page", kernel_tracefs(k));
	return -EIO;
}

struct own_formats {
	struct kernel *kernel;
	struct dat_formats formats;
};

static void add_own(void *arg, const char *event)
{
	struct own_formats *o = arg;
	char *text;

	if (tracefs_event_format(o->kernel, "ftrace", event, &text))
		return;
	dat_formats_add(&o->formats, text, strlen(text));
	free(text);
}

static void read_own_formats(struct kernel_state *s, struct kernel *k)
{
	struct own_formats o = {
		.kernel = k,
		.formats = dat_formats_begin(&s->contents.parts[DAT_FTRACE_FORMATS], NULL)};
	char *path = xasprintf("%s/events/ftrace", kernel_tracefs(k));

	tracefs_each_folder(path, add_own, &o);
	dat_formats_end(&o.formats);
	free(path);
}

/* The events are sorted by system. */
static void read_formats(struct kernel_state *s, struct kernel *k, const struct kernel_events *e)
{
	struct strbuf *const out = &s->contents.parts[DAT_EVENT_FORMATS];
	struct dat_formats formats;
	const char *system = NULL;
	u32 systems = 0;

	strbuf_add(out, &systems, sizeof(systems));
	for (size_t i = 0; i < e->all.len; i++) {
		const struct kernel_event *const event = &e->all.items[i];
		char *text;

		if (!system || !str_eq(system, kernel_event_system(event))) {
			if (system)
				dat_formats_end(&formats);
			system = kernel_event_system(event);
			formats = dat_formats_begin(out, system);
			systems++;
		}
		if (tracefs_event_format(k, event->system, event->name, &text))
			continue;
		dat_formats_add(&formats, text, strlen(text));
		free(text);
	}
	if (system)
		dat_formats_end(&formats);
	memcpy(out->data, &systems, sizeof(systems));
}

static void read_symbols(struct kernel_state *s)
{
	char *text;
	size_t len;

	if (file_read("/proc/kallsyms", KALLSYMS_MAX, &text, &len)) {
		dat_contents_symbols(&s->contents, "", 0);
		return;
	}
	dat_contents_symbols(&s->contents, text, len);
	free(text);
}

static void read_strings(struct kernel_state *s, struct kernel *k)
{
	char *text = text_of(k, "printk_formats");

	dat_contents_strings(&s->contents, text, strlen(text));
	free(text);
}

/* ---- names of tasks ---- */

/* "PID NAME\n"; a name may hold anything. */
static void add_task(struct strbuf *out, const char *pid, const char *name)
{
	strbuf_addf(out, "%s ", pid);
	for (; *name; name++)
		strbuf_addch(out, *name == '\n' ? '?' : *name);
	strbuf_addch(out, '\n');
}

static void each_number(const char *path,
			void (*fn)(struct strbuf *out, const char *directory, const char *number),
			struct strbuf *out)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (*e->d_name >= '1' && *e->d_name <= '9')
			fn(out, path, e->d_name);
	if (dir)
		closedir(dir);
}

/*
 * The process of a thread. The format has no place for it: it is stored as the name of "-TID",
 * which no event has and other readers ignore.
 */
static void add_owner(struct strbuf *out, const char *thread, const char *process)
{
	strbuf_addf(out, "-%s %s\n", thread, process);
}

/* directory: /proc/PROCESS/task */
static void add_thread(struct strbuf *out, const char *directory, const char *number)
{
	const char *const process = directory + strlen("/proc/");
	char *const owner = xstrndup(process, strcspn(process, "/"));
	char *path = xasprintf("%s/%s/comm", directory, number), *name;
	size_t len;

	if (!file_read(path, 4096, &name, &len)) {
		if (len && name[len - 1] == '\n')
			name[len - 1] = '\0';
		add_task(out, number, name);
		add_owner(out, number, owner);
		free(name);
	}
	free(owner);
	free(path);
}

static void add_process(struct strbuf *out, const char *directory, const char *number)
{
	char *path = xasprintf("%s/%s/task", directory, number);

	each_number(path, add_thread, out);
	free(path);
}

/* Takes lines of the form "PID NAME" only: names may contain newlines. */
static void add_saved(struct strbuf *out, char *text)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const size_t digits = strspn(line, "0123456789");

		if (digits && line[digits] == ' ' && line[digits + 1])
			strbuf_addf(out, "%s\n", line);
	}
}

/* "THREAD PROCESS" */
static void add_saved_owners(struct strbuf *out, char *text)
{
	char *rest = NULL, thread[16], process[16];

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (sscanf(line, "%15[0-9] %15[0-9]", thread, process) == 2)
			add_owner(out, thread, process);
}

/* Keeps the last line of each PID: readers differ in which one they take. */
static void last_names(const struct strbuf *all, struct strbuf *out)
{
	struct hashmap last = {0};
	const char *end = all->data + all->len, *next;

	for (const char *line = all->data; line < end; line = next) {
		next = (char *)memchr(line, '\n', (size_t)(end - line)) + 1;
		*hashmap_put(&last, line, strcspn(line, " "), NULL) = (void *)line;
	}
	for (const char *line = all->data; line < end; line = next) {
		next = (char *)memchr(line, '\n', (size_t)(end - line)) + 1;
		if (hashmap_get(&last, line, strcspn(line, " ")) == line)
			strbuf_add(out, line, (size_t)(next - line));
	}
	hashmap_release(&last);
}

void kernel_state_tasks(struct kernel_state *s, struct kernel *k)
{
	struct strbuf out = STRBUF_INIT;
	char *saved = text_of(k, "saved_cmdlines"), *owners = text_of(k, "saved_tgids");

	add_saved(&s->tasks, saved);
	add_saved_owners(&s->tasks, owners);
	each_number("/proc", add_process, &s->tasks);
	last_names(&s->tasks, &out);
	dat_contents_tasks(&s->contents, out.data, out.len);
	strbuf_release(&s->tasks);
	s->tasks = out;
	free(owners);
	free(saved);
}

/* ---- all ---- */

void kernel_state_stats(struct kernel_state *s, const char *directory, const u32 *cpus, u32 count)
{
	s->stats = xreallocarray(NULL, count, sizeof(*s->stats));
	s->contents.stats = (const char *const *)s->stats;
	for (u32 i = 0; i < count; i++) {
		char file[64], *text;

		snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", cpus[i]);
		if (ring_text(directory, file, &text))
			continue;
		s->stats[s->contents.stats_count++] = xasprintf("CPU: %u\n%s", cpus[i], text);
		free(text);
	}
}

int kernel_state_read(struct kernel_state *s, struct instance *in, const struct kernel_events *e,
		      struct diag *d)
{
	struct kernel *const k = instance_kernel(in);
	struct utsname u;
	int err;

	dat_contents_init(&s->contents);
	s->tasks = (struct strbuf)STRBUF_INIT;
	err = read_headers(s, k, d);
	if (err)
		return err;
	read_own_formats(s, k);
	read_formats(s, k, e);
	read_symbols(s);
	read_strings(s, k);
	kernel_state_tasks(s, k);
	if (!uname(&u))
		s->uname = xasprintf("%s %s %s %s", u.sysname, u.nodename, u.release, u.machine);
	s->version = xasprintf("pantrace " PANTRACE_VERSION ", " TRACE_DAT_REALTIME "%" PRId64,
			       clock_distance_ns(CLOCK_MONOTONIC, CLOCK_REALTIME));
	if (instance_read(in, "trace_clock", &s->clocks))
		s->clocks = xstrdup("[mono]\n");
	if (tracefs_value_read(instance_directory(in), "trace_clock", &s->clock))
		s->clock = xstrdup("mono");
	s->contents.clocks = s->clocks;
	s->contents.clock = s->clock;
	s->contents.uname = s->uname;
	s->contents.version = s->version;
	return 0;
}

static int add_event(void *arg, const char *system, const char *event)
{
	struct kernel_events *const e = arg;

	vector_push(&e->all,
		    (struct kernel_event){.system = xstrdup(system), .name = xstrdup(event)});
	return 0;
}

int kernel_state_read_all(struct kernel_state *s, struct instance *in, struct diag *d)
{
	struct kernel_events all = {0};
	int err;

	tracefs_each_event(instance_kernel(in), "*", "*", add_event, &all);
	err = kernel_state_read(s, in, &all, d);
	kernel_events_release(&all);
	return err;
}

void kernel_state_release(struct kernel_state *s)
{
	for (u32 i = 0; i < s->contents.stats_count; i++)
		free(s->stats[i]);
	dat_contents_release(&s->contents);
	free(s->stats);
	free(s->clock);
	free(s->clocks);
	free(s->uname);
	free(s->version);
	strbuf_release(&s->tasks);
}
