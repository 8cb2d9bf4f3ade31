/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel is the judge: all events that it has are recorded for a moment under a mixed workload,
 * its own `trace` file is read, then the raw pages of the same buffer, and line is compared with
 * line, byte by byte.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hashmap.h"
#include "base/vector.h"
#include "kernel/tracefs/tracefs.h"
#include "kernel/tracefs/owner.h"
#include "tap.h"
#include "trace/ftrace/graph_text.h"
#include "trace/ftrace/trace_text.h"

static char directory[128];

static int put(const char *file, const char *value)
{
	char path[512];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static char *get(const char *dir, const char *file)
{
	char path[512], *text;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return file_read(path, 0, &text, NULL) ? NULL : text;
}

/* ---- formats ---- */

struct formats {
	struct kernel *k;
	u32 total, refused;
	struct event_table *table;
};

static int compile_one(void *arg, const char *system, const char *name)
{
	struct formats *f = arg;
	char *text;
	struct event_table *t;
	struct event_info *e;

	if (tracefs_event_format(f->k, system, name, &text))
		return 0;
	t = f->table;
	if (!event_table_add(t, system, text, strlen(text))) {
		e = event_table_get(t, (u32)strtoul(strstr(text, "\nID: ") + 5, NULL, 10));
		f->total++;
		if (e && e->refused) {
			f->refused++;
			printf("# %s:%s: %s\n", system, name, e->refused);
		}
		if (!e)
			printf("# %s:%s: no format\n", system, name);
	}
	free(text);
	return 0;
}

static void test_formats(struct kernel *k)
{
	struct formats f = {.k = k, .table = event_table_recorded()};
	struct btf_source *btf = btf_attach(event_table_types(f.table), NULL);

	tracefs_each_event(k, "*", "*", compile_one, &f);
	printf("# %u formats, %u refused\n", f.total, f.refused);
	ok(f.total > 500, "formats of this kernel");
	ok(f.refused * 100 <= f.total, "of 100 print formats 99 are compiled");
	btf_release(btf);
	event_table_release(f.table);
}

/* ---- recording ---- */

static void run(const char *command)
{
	int rc = system(command);

	(void)rc;
}

static void work(const char *extra)
{
	run("i=0; while [ $i -lt 8 ]; do ls -l /etc /proc/self/ >/dev/null 2>&1; (exit 3); "
	    "i=$((i+1)); done");
	run("rm -f /tmp/trace_live.$$; dd if=/dev/zero of=/tmp/trace_live.$$ bs=64k count=20 "
	    "conv=fsync 2>/dev/null; "
	    "cat /tmp/trace_live.$$ >/dev/null; mv /tmp/trace_live.$$ /tmp/trace_live2.$$; rm -f "
	    "/tmp/trace_live2.$$; sync");
	run("sleep 0.05 & kill $!; wait 2>/dev/null; cat /proc/meminfo /proc/interrupts >/dev/null "
	    "2>&1");
	run("(echo hello | cat) >/dev/null; mkdir -p /tmp/trace_live.d && mount -t tmpfs x "
	    "/tmp/trace_live.d 2>/dev/null && "
	    "touch /tmp/trace_live.d/a && umount /tmp/trace_live.d; rmdir /tmp/trace_live.d");
	/* Strings of system calls: two in one call, too long ones, odd bytes, none. */
	run("l=$(printf '%0200d' 7); mkdir -p /tmp/trace_live.d; cd /tmp/trace_live.d && { echo "
	    "\"$l\" >$l; ln -s $l b; mv b c; "
	    "cat /nowhere/$l; printf '\\001\\002' >/dev/null; printf 'a\\tb\\n' >\"d $(printf "
	    "'\\033\\303\\244')\"; "
	    "echo >>$l; rm -f $l c d*; cd /; rmdir /tmp/trace_live.d; } >/dev/null 2>&1");
	run("command -v ping >/dev/null && ping -c1 -W1 127.0.0.1 >/dev/null 2>&1; "
	    "(command -v nc >/dev/null && echo x | nc -w1 127.0.0.1 9 ) >/dev/null 2>&1; true");
	run("command -v ip >/dev/null && ip link add trlive type dummy 2>/dev/null && ip link set "
	    "trlive up && ip link del trlive");
	if (extra)
		run(extra);
}

static bool record(const char *root, const char *kb)
{
	char name[TRACEFS_OWNER_NAME];
	const struct tracefs_owner self = tracefs_owner_self();

	/* As pantrace's own, which the next run removes if this one is killed. */
	tracefs_owner_name(&self, '-', name);
	snprintf(directory, sizeof(directory), "%s/instances/%s", root, name);
	if (mkdir(directory, 0700))
		return false;
	put("tracing_on", "0");
	put("buffer_size_kb", kb);
	put("trace_clock", "mono");
	put("options/hash-ptr", "0");
	put("options/record-tgid", "0");
	return true;
}

static bool definition(const char *root, const char *file, const char *fmt, ...)
{
	char own[sizeof(directory)], line[512];
	va_list ap;
	int rc, fd;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	snprintf(own, sizeof(own), "%s/%s", root, file);
	fd = open(own, O_WRONLY | O_APPEND | O_CLOEXEC);
	rc = fd < 0 ? -1 : write(fd, line, strlen(line)) < 0 ? -1 : 0;
	if (fd >= 0)
		close(fd);
	return rc == 0;
}

/* ---- arguments ---- */

/* "mode=1 [HRTIMER_MODE_REL]" */
static bool names_enumerators(const char *text)
{
	/* by strchr(): strstr() under ASan measures the whole rest of the text each time */
	for (const char *at = text; (at = strchr(at, '[')); at++)
		if (at > text + 1 && at[-1] == ' ' && isdigit((unsigned char)at[-2]) &&
		    isupper((unsigned char)at[1]))
			return true;
	return false;
}

static bool has_option(const char *option)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", directory, option);
	return !access(path, F_OK);
}

/* ---- comparing ---- */

struct score {
	u64 total, wrong;
	u32 shown;
};

struct comparison {
	struct trace_text text;
	struct hashmap scores;
	const char *at; /* in the kernel's text */
	u64 total, wrong, missing;
	bool hashed;
};

static struct score *score_of(struct comparison *c, const struct event_info *info)
{
	char *key = xasprintf("%s:%s", info ? info->system : "?", info ? info->name : "?");
	bool is_new;
	void **place = hashmap_put(&c->scores, key, strlen(key), &is_new);

	if (is_new)
		*place = xzalloc(sizeof(struct score));
	free(key);
	return *place;
}

/* The next line of the kernel's that has this in its head. */
static const char *seek(const char *at, const char *time)
{
	const char *line = at;

	for (u32 i = 0; *line && i < 2000; i++) {
		const char *end = strchrnul(line, '\n');
		const char *found = memmem(line, (size_t)(end - line), time, strlen(time));

		if (line[0] != '#' && found && found - line < 90)
			return line;
		line = *end ? end + 1 : end;
	}
	return NULL;
}

static size_t hex_run(const char *s)
{
	return strspn(s, "0123456789abcdef");
}

/*
 * The same but for what a record cannot have: variables of the kernel, and the kernel's hash of
 * pointers where the option nohash-ptr does not work.
 */
static bool is_same_but(const char *ours, const char *kernel, size_t len, bool hashed)
{
	const char *const end = ours + len;

	while (ours < end) {
		if (str_starts(ours, "(unknown)")) {
			ours += strlen("(unknown)");
			kernel += strcspn(kernel, " ,]\n");
		} else if (hashed && hex_run(ours) == 16 && hex_run(kernel) == 16) {
			ours += 16;
			kernel += 16;
		} else if (*ours++ != *kernel++) {
			return false;
		}
	}
	return true;
}

static void compare(struct comparison *c, const struct raw_event *e, struct strbuf *out)
{
	struct event_info *info = event_table_get(c->text.events, page_event_id(&e->event));
	struct score *s = score_of(c, info);
	const char *line;
	char time[64];
	struct strbuf stamp = STRBUF_INIT;

	trace_text_time(e->event.time, &stamp);
	snprintf(time, sizeof(time), "%s: ", stamp.data);
	strbuf_release(&stamp);
	strbuf_reset(out);
	trace_text_head(&c->text, e, out);
	if (info)
		trace_text_body(&c->text, info, e, out);
	c->total++;
	s->total++;
	if (info && str_starts(c->at, out->data)) {
		c->at += out->len;
		return;
	}
	line = seek(c->at, time);
	if (!line) {
		c->missing++;
		return;
	}
	c->at = strchrnul(line, '\n');
	c->at += *c->at != 0;
	if (info && str_starts(line, out->data)) {
		c->at = line + out->len;
		return;
	}
	if (info && is_same_but(out->data, line, out->len, c->hashed))
		return;
	s->wrong++;
	c->wrong++;
	if (s->shown++ < 2)
		printf("# %s:%s\n#   kernel %.*s\n#   ours   %.*s\n", info ? info->system : "?",
		       info ? info->name : "?", (int)(c->at - line - 1), line,
		       (int)strcspn(out->data, "\n"), out->data);
}

static void skip_comments(struct comparison *c)
{
	while (*c->at == '#' || str_starts(c->at, "CPU:")) {
		c->at = strchrnul(c->at, '\n');
		c->at += *c->at != 0;
	}
}

/* Of the events "system:name system:name ..." each was compared. */
static void test_seen(const struct comparison *c, const char *wanted)
{
	char *copy = xstrdup(wanted), *rest, *word;

	for (word = strtok_r(copy, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest))
		ok(hashmap_gets(&c->scores, word) != NULL, "%s was recorded", word);
	free(copy);
}

/* wanted: events that must be among them; NULL = any */
static void test_lines(struct kernel *k, const char *root, const char *name, double least,
		       const char *wanted)
{
	struct comparison c = {0};
	struct strbuf out = STRBUF_INIT;
	struct raw_buffer *rb;
	struct raw_event e;
	struct raw_buffer_stats stats;
	char *text = get(directory, "trace"), *strings = get(root, "printk_formats");
	u32 events = 0, bad = 0;

	/* Before 6.2 this option makes the kernel lose the strings of all events
	 * (trace_check_vprintf() overwrites its own format). */
	if (text && (strstr(text, "comm= pid=") || strstr(text, "prot_op= "))) {
		free(text);
		put("options/hash-ptr", "1");
		text = get(directory, "trace");
		c.hashed = true;
	}
	c.at = text ? text : "";
	c.text.events = event_table_live(k);
	c.text.args = (struct function_args){
		.btf = event_table_btf(c.text.events),
		.types = event_table_types(c.text.events),
		.bare_enums = !names_enumerators(c.at),
	};
	c.text.tasks = task_names_new(true);
	c.text.context = (struct print_context){
		.symbols = kernel_ksyms(k),
		.strings = strings ? string_table_new(strings) : NULL,
		.raw_strings = true,
		.hz = 250,
	};
	c.text.options.bare_syscalls =
		text && !strstr(text, ": 0x") && strstr(text, "sys_close(fd: ");
	task_names_follow(c.text.tasks, root);
	task_names_reload(c.text.tasks);
	ok((raw_buffer_open(directory, &rb)) == 0, "%s: open", name);
	ok((raw_buffer_drain(rb)) == 0, "%s: drain", name);
	skip_comments(&c);
	while (raw_buffer_next(rb, UINT64_MAX, &e)) {
		skip_comments(&c);
		compare(&c, &e, &out);
	}
	ok((raw_buffer_stats(rb, &stats)) == 0, "%s: counts", name);
	printf("# %s: %" PRIu64 " events, %" PRIu64 " differ, %" PRIu64
	       " not in the kernel's text, %" PRIu64 " overwritten\n",
	       name, c.total, c.wrong, c.missing, stats.overrun);
	if (wanted)
		test_seen(&c, wanted);
	hashmap_each (&c.scores, entry) {
		struct score *s = entry->value;

		events++;
		bad += s->wrong * 100 > s->total;
		if (s->wrong)
			printf("# %8" PRIu64 " of %8" PRIu64 " differ: %.*s\n", s->wrong, s->total,
			       (int)entry->key_len, (char *)entry->key);
		free(s);
	}
	printf("# %s: %u kinds of events, %u with differences\n", name, events, bad);
	ok(c.total > 100, "%s: events were recorded", name);
	ok(c.wrong <= (u64)((double)c.total * (1 - least)), "%s: lines are the kernel's", name);
	ok(c.missing * 1000 <= c.total, "%s: the same events in the same order", name);
	ok(((int)stats.entries) == 0, "%s: nothing is left in the buffer", name);
	raw_buffer_close(rb);
	strbuf_release(&out);
	function_args_release(&c.text.args);
	event_table_release(c.text.events);
	task_names_release(c.text.tasks);
	string_table_release((struct string_table *)c.text.context.strings);
	hashmap_release(&c.scores);
	free(text);
	free(strings);
}

/* ---- function_graph: the whole text ---- */

static u64 compare_lines(const char *kernel, const char *ours, const char *name)
{
	u64 line = 1, differ = 0;

	while (*kernel && *ours) {
		const size_t a = strcspn(kernel, "\n"), b = strcspn(ours, "\n");

		if ((a != b || memcmp(kernel, ours, a)) && differ++ < 5)
			printf("# %s line %" PRIu64 "\n#   kernel %.*s\n#   ours   %.*s\n", name,
			       line, (int)a, kernel, (int)b, ours);
		kernel += a + (kernel[a] != 0);
		ours += b + (ours[b] != 0);
		line++;
	}
	printf("# %s: %" PRIu64 " lines, %" PRIu64 " differ\n", name, line - 1, differ);
	if (line < 50)
		differ++;
	return differ + (*kernel != 0) + (*ours != 0);
}

static void test_graph(struct kernel *k, const char *root, const char *name,
		       const struct graph_text_options *o, const char *const *settings)
{
	struct trace_text t = {.events = event_table_live(k), .tasks = task_names_new(true)};
	struct strbuf out = STRBUF_INIT;
	struct graph_text *g;
	struct raw_buffer *rb;
	struct raw_event e;
	const char *at;
	char *text;

	/* 6.1 forgets to enlarge the top buffer once an instance has got a size of its own. */
	put("buffer_size_kb", "1408");
	put("trace", "\n");
	put("set_graph_function", "vfs_read vfs_write do_nanosleep");
	definition(directory, "set_graph_function", "do_sys_openat2");
	definition(directory, "set_graph_function", "blkdev_ioctl");
	put("current_tracer", "nop");
	ok(put("current_tracer", "function_graph") == 0, "%s: the tracer starts", name);
	for (const char *const *setting = settings; *setting; setting += 2)
		if (!has_option(setting[0])) {
			ok(true, "%s # SKIP this kernel has no %s", name, setting[0]);
			put("current_tracer", "nop");
			put("set_graph_function", "");
			event_table_release(t.events);
			task_names_release(t.tasks);
			return;
		}
	for (const char *const *setting = settings; *setting; setting += 2)
		ok(put(setting[0], setting[1]) == 0, "%s: %s", name, setting[0]);
	put("tracing_on", "1");
	run("dd if=/dev/zero of=/dev/null bs=1 count=20 2>/dev/null; cat /proc/self/stat "
	    "/etc/passwd /nowhere >/dev/null 2>&1; sleep 0.1; losetup /dev/loop7 /etc/passwd "
	    "2>/dev/null && losetup -d /dev/loop7");
	put("trace_marker", "a note");
	run("echo x | cat >/dev/null");
	put("tracing_on", "0");
	text = get(directory, "trace");
	t.args = (struct function_args){
		.btf = event_table_btf(t.events),
		.types = event_table_types(t.events),
		.bare_enums = !names_enumerators(text),
	};
	t.context.symbols = kernel_ksyms(k);
	t.context.raw_strings = true;
	task_names_follow(t.tasks, root);
	task_names_reload(t.tasks);
	if (raw_buffer_open(directory, &rb))
		return;
	raw_buffer_drain(rb);
	g = graph_text_new(&t, o, rb, kernel_possible_cpus(k));
	while (raw_buffer_next(rb, UINT64_MAX, &e))
		graph_text_event(g, &e, &out);
	raw_buffer_close(rb);
	at = text;
	while (*at == '#')
		at += strcspn(at, "\n") + 1;
	at += *at == '\n';
	ok(compare_lines(at, out.data, name) == 0, "%s: the text is the kernel's", name);
	for (const char *const *setting = settings; *setting; setting += 2)
		put(setting[0], setting[1][0] == '1' ? "0" : "1");
	put("current_tracer", "nop");
	put("set_graph_function", "");
	put("tracing_on", "1");
	graph_text_release(g);
	function_args_release(&t.args);
	event_table_release(t.events);
	task_names_release(t.tasks);
	strbuf_release(&out);
	free(text);
}

static void test_graphs(struct kernel *k, const char *root)
{
	static const char *const none[] = {NULL};
	static const char *const wide[] = {"options/funcgraph-proc",
					   "1",
					   "options/funcgraph-abstime",
					   "1",
					   "options/funcgraph-tail",
					   "1",
					   NULL};
	static const char *const narrow[] = {"options/funcgraph-irqs",
					     "0",
					     "options/funcgraph-duration",
					     "0",
					     "options/funcgraph-cpu",
					     "0",
					     NULL};
	static const char *const results[] = {"options/funcgraph-retval", "1", NULL};
	static const char *const hex[] = {"options/funcgraph-retval",
					  "1",
					  "options/funcgraph-retval-hex",
					  "1",
					  "options/funcgraph-tail",
					  "1",
					  NULL};
	static const char *const callers[] = {"options/funcgraph-retaddr", "1", NULL};
	static const char *const arguments[] = {"options/funcgraph-args", "1", NULL};
	static const char *const everything[] = {"options/funcgraph-retval",
						 "1",
						 "options/funcgraph-retaddr",
						 "1",
						 "options/funcgraph-args",
						 "1",
						 NULL};
	const struct graph_text_options plain = {0},
					all = {.proc = true, .abstime = true, .tail = true},
					few = {.no_irqs = true,
					       .no_duration = true,
					       .no_cpu = true};
	char *tracers = get(directory, "available_tracers");
	/* What it begins at is a setting of the top buffer, so far. */
	const bool own =
		tracers && strstr(tracers, "function_graph") && has_option("set_graph_function");

	free(tracers);
	tracers = get(root, "available_tracers");
	if (!tracers || !strstr(tracers, "function_graph")) {
		ok(true, "function_graph # SKIP not in this kernel");
		free(tracers);
		return;
	}
	free(tracers);
	if (!own)
		snprintf(directory, sizeof(directory), "%s", root);
	test_graph(k, root, "graph", &plain, none);
	test_graph(k, root, "graph with all columns", &all, wide);
	test_graph(k, root, "graph with few columns", &few, narrow);
	test_graph(k, root, "graph with results", &(struct graph_text_options){.retval = true},
		   results);
	test_graph(k, root, "graph with results in hex",
		   &(struct graph_text_options){.retval = true, .retval_hex = true, .tail = true},
		   hex);
	test_graph(k, root, "graph with callers", &(struct graph_text_options){.retaddr = true},
		   callers);
	test_graph(k, root, "graph with arguments", &plain, arguments);
	test_graph(k, root, "graph with all that a call has",
		   &(struct graph_text_options){.retval = true, .retaddr = true}, everything);
}

/* ---- functions, stacks, notes, probes ---- */

static void test_others(struct kernel *k, const char *root)
{
	char path[256];
	bool functions, kprobes, uprobes, events;

	put("trace", "\n");
	put("set_ftrace_filter", "vfs_*");
	functions = put("current_tracer", "function") == 0;
	kprobes = definition(root, "kprobe_events",
			     "p:trace_live/enter vfs_read count=$arg3 name=+0(+0(%%di)):x64 "
			     "comm=$comm") &&
		  definition(root, "kprobe_events", "r:trace_live/leave vfs_read ret=$retval:s32");
	uprobes = definition(root, "uprobe_events", "p:trace_live/user /bin/cat:0x2000");
	events = definition(root, "dynamic_events",
			    "e:trace_live/switch sched.sched_switch pid=$next_pid:s32 "
			    "state=$prev_state:x64") &&
		 definition(root, "dynamic_events", "e:trace_live/bare sched.sched_wakeup");
	printf("# functions %d, kprobes %d, uprobes %d, event probes %d\n", functions, kprobes,
	       uprobes, events);
	put("events/trace_live/enable", "1");
	put("events/sched/sched_switch/enable", "1");
	put("events/sched/sched_switch/trigger", "stacktrace:20");
	put("options/sym-offset", "0");
	put("options/userstacktrace", "1");
	put("tracing_on", "1");
	put("trace_marker", "a note\n");
	put("trace_marker", "another one, without an end");
	run("dd if=/dev/zero of=/dev/null bs=1 count=30 2>/dev/null; cat /proc/self/stat "
	    ">/dev/null; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; ls / >/dev/null; done");
	put("tracing_on", "0");
	put("events/sched/sched_switch/trigger", "!stacktrace");
	put("events/enable", "0");
	/* Changing the tracer would empty the buffer. */
	test_lines(k, root, "functions, probes, stacks, notes", 1,
		   events ? "trace_live:switch trace_live:bare" : NULL);
	put("current_tracer", "nop");
	snprintf(path, sizeof(path), "-:trace_live/enter\n");
	definition(root, "kprobe_events", "%s", path);
	definition(root, "kprobe_events", "-:trace_live/leave");
	definition(root, "uprobe_events", "-:trace_live/user");
	definition(root, "dynamic_events", "-:trace_live/switch");
	definition(root, "dynamic_events", "-:trace_live/bare");
}

/*
 * The function tracer's: enumerators, structs in one and two registers, functions that take any
 * number.
 */
static void test_arguments(struct kernel *k, const char *root)
{
	static const char *const functions[] = {
		"vfs_*",      "do_nanosleep",  "hrtimer_start*", "from_kuid*", "*sock_setsockopt*",
		"seq_printf", "do_sys_openat2"};

	put("current_tracer", "nop");
	put("trace", "\n");
	put("set_ftrace_filter", "");
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		definition(directory, "set_ftrace_filter", "%s", functions[i]);
	put("current_tracer", "function");
	if (put("options/func-args", "1")) {
		ok(true, "arguments of functions # SKIP not in this kernel");
	} else {
		put("tracing_on", "1");
		run("dd if=/dev/zero of=/dev/null bs=1 count=20 2>/dev/null; cat /proc/meminfo "
		    "/proc/self/stat /nowhere >/dev/null 2>&1; ls -l / >/dev/null; id >/dev/null; "
		    "sleep 0.05; ping -c1 -W1 127.0.0.1 >/dev/null 2>&1");
		put("tracing_on", "0");
		test_lines(k, root, "arguments of functions", 1, NULL);
		put("options/func-args", "0");
	}
	put("current_tracer", "nop");
	put("set_ftrace_filter", "");
	put("tracing_on", "1");
}

/* Only these events, while a command runs; all of them must be recorded. */
static void test_chosen(struct kernel *k, const char *root, const char *command, const char *events)
{
	char *copy = xstrdup(events), *rest, *word, file[256];

	for (word = strtok_r(copy, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
		snprintf(file, sizeof(file), "events/%s/enable", word);
		if (strchr(file, ':'))
			*strchr(file, ':') = '/';
		ok(put(file, "1") == 0, "%s can be recorded", word);
	}
	free(copy);
	put("tracing_on", "1");
	run(command);
	put("tracing_on", "0");
	put("events/enable", "0");
	test_lines(k, root, "chosen events", 1, events);
}

/* [KB [COMMAND [EVENTS]]]: size of the buffer, what to run beside the workload, or (with events)
 * instead of it. "functions" as the command: only the function tracers. */
int main(int argc, char **argv)
{
	struct kernel *k = kernel_new();
	const char *root = kernel_tracefs(k);
	char own[sizeof(directory)];

	if (!root || geteuid()) {
		ok(true, "tracefs # SKIP not root, or no tracefs");
		return tap_done();
	}
	if (argc <= 2 || !str_eq(argv[2], "functions"))
		test_formats(k);
	if (!record(root, argc > 1 ? argv[1] : "16384")) {
		ok(true, "instances # SKIP cannot be made");
		return tap_done();
	}
	if (argc > 3) {
		test_chosen(k, root, argv[2], argv[3]);
		rmdir(directory);
		kernel_release(k);
		return tap_done();
	}
	if (argc > 2 && str_eq(argv[2], "functions")) {
		snprintf(own, sizeof(own), "%s", directory);
		test_arguments(k, root);
		test_graphs(k, root);
		rmdir(own);
		kernel_release(k);
		return tap_done();
	}
	put("events/enable", "1");
	put("tracing_on", "1");
	work(argc > 2 ? argv[2] : NULL);
	put("tracing_on", "0");
	put("events/enable", "0");
	test_lines(k, root, "all events", 0.99, NULL);
	test_others(k, root);
	test_arguments(k, root);
	snprintf(own, sizeof(own), "%s", directory);
	test_graphs(k, root);
	rmdir(own);
	kernel_release(k);
	return tap_done();
}
