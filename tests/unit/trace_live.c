/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel is the judge: all events that it has are recorded for a moment under a mixed workload,
 * its own `trace` file is read, then the raw pages of the same buffer, and line is compared with
 * line, byte by byte.
 */
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
#include "kernel/tracefs.h"
#include "tap.h"
#include "trace/trace_text.h"

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
	event_table_release(f.table);
	btf_release(btf);
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
	run("command -v ping >/dev/null && ping -c1 -W1 127.0.0.1 >/dev/null 2>&1; "
	    "(command -v nc >/dev/null && echo x | nc -w1 127.0.0.1 9 ) >/dev/null 2>&1; true");
	run("command -v ip >/dev/null && ip link add trlive type dummy 2>/dev/null && ip link set "
	    "trlive up && ip link del trlive");
	if (extra)
		run(extra);
}

static bool record(const char *root, const char *kb)
{
	snprintf(directory, sizeof(directory), "%s/instances/trace_live_%d", root, getpid());
	if (mkdir(directory, 0700))
		return false;
	put("tracing_on", "0");
	put("buffer_size_kb", kb);
	put("trace_clock", "mono");
	put("options/hash-ptr", "0");
	put("options/record-tgid", "0");
	return true;
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
	u64 total, wrong, lines, missing;
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

static bool is_unknowable(const char *a, const char *b)
{
	/* Addresses of variables of the kernel are not in the record. */
	return strstr(a, "(unknown)") != NULL;
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
	if (str_starts(c->at, out->data)) {
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
	if (str_starts(line, out->data)) {
		c->at = line + out->len;
		return;
	}
	if (is_unknowable(out->data, line))
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

static void test_lines(struct kernel *k, const char *root, const char *name, double least)
{
	struct comparison c = {0};
	struct strbuf out = STRBUF_INIT;
	struct raw_buffer *rb;
	struct raw_event e;
	struct raw_buffer_stats stats;
	char *text = get(directory, "trace"), *strings = get(root, "printk_formats");
	u32 events = 0, bad = 0;

	c.at = text ? text : "";
	c.text.events = event_table_live(k);
	c.text.tasks = task_names_new(true);
	c.text.context = (struct print_context){
		.symbols = symbol_table_live(),
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
	event_table_release(c.text.events);
	task_names_release(c.text.tasks);
	symbol_table_release(c.text.context.symbols);
	string_table_release((struct string_table *)c.text.context.strings);
	hashmap_release(&c.scores);
	free(text);
	free(strings);
}

int main(int argc, char **argv)
{
	struct kernel *k = kernel_new();
	const char *root = kernel_tracefs(k);

	if (!root || geteuid()) {
		ok(true, "tracefs # SKIP not root, or no tracefs");
		return tap_done();
	}
	test_formats(k);
	if (!record(root, argc > 1 ? argv[1] : "16384")) {
		ok(true, "instances # SKIP cannot be made");
		return tap_done();
	}
	put("events/enable", "1");
	put("tracing_on", "1");
	work(argc > 2 ? argv[2] : NULL);
	put("tracing_on", "0");
	put("events/enable", "0");
	test_lines(k, root, "all events", 0.99);
	rmdir(directory);
	kernel_release(k);
	return tap_done();
}
