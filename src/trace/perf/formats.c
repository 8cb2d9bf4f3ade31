/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/perf/formats.h"

#include <unistd.h>

#include "base/file.h"
#include "kernel/tracefs/tracefs.h"

static void add_u32(struct strbuf *to, u32 v)
{
	strbuf_add(to, &v, sizeof(v));
}

static void add_text(struct strbuf *to, const char *text, size_t len)
{
	const u64 size = len;

	strbuf_add(to, &size, sizeof(size));
	strbuf_add(to, text, len);
}

static int add_file(struct kernel *k, const char *name, struct strbuf *to)
{
	char *path = xasprintf("%s/events/%s", kernel_tracefs(k), name), *text;
	size_t len;
	const int err = file_read(path, 0, &text, &len);

	free(path);
	if (err)
		return err;
	strbuf_add(to, name, strlen(name) + 1);
	add_text(to, text, len);
	free(text);
	return 0;
}

static int add_format(struct kernel *k, const struct perf_tracepoint *event, struct strbuf *to)
{
	char *text;
	const int err = tracefs_event_format(k, event->system, event->name, &text);

	if (err)
		return err;
	add_text(to, text, strlen(text));
	free(text);
	return 0;
}

/* The events of the system that events[first] is of; the first one of it tells all. */
static int add_system(struct kernel *k, const struct perf_tracepoint *events, size_t n,
		      size_t first, struct strbuf *to)
{
	const char *const system = events[first].shown_system;
	u32 count = 0;
	size_t count_at;
	int err = 0;

	strbuf_add(to, system, strlen(system) + 1);
	count_at = to->len;
	add_u32(to, 0);
	for (size_t i = first; i < n && !err; i++) {
		if (!str_eq(events[i].shown_system, system))
			continue;
		err = add_format(k, &events[i], to);
		count++;
	}
	memcpy(to->data + count_at, &count, sizeof(count));
	return err;
}

static bool is_first_of_system(const struct perf_tracepoint *events, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (str_eq(events[i].shown_system, events[at].shown_system))
			return false;
	return true;
}

void perf_formats_begin(struct strbuf *to)
{
	static const char head[] = "\x17\x08\x44tracing0.6";
	const u8 machine[] = {__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, sizeof(long)};

	strbuf_add(to, head, sizeof(head));
	strbuf_add(to, machine, sizeof(machine));
	add_u32(to, (u32)sysconf(_SC_PAGESIZE));
}

void perf_formats_end(struct strbuf *to)
{
	add_u32(to, 0);
	add_u32(to, 0);
	strbuf_add(to, &(u64){0}, sizeof(u64));
}

int perf_formats_add(struct kernel *k, const struct perf_tracepoint *events, size_t n,
		     struct strbuf *to)
{
	u32 systems = 0;
	int err;

	if (!kernel_tracefs(k))
		return -errno;
	perf_formats_begin(to);
	err = add_file(k, "header_page", to);
	if (!err)
		err = add_file(k, "header_event", to);
	add_u32(to, 0); /* events of ftrace itself */
	for (size_t i = 0; i < n; i++)
		systems += is_first_of_system(events, i);
	add_u32(to, systems);
	for (size_t i = 0; i < n && !err; i++)
		if (is_first_of_system(events, i))
			err = add_system(k, events, n, i, to);
	perf_formats_end(to);
	return err;
}
