/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/watch.h"

#include <linux/perf_event.h>

#include "base/cursor.h"
#include "kernel/bpf/perf_rings.h"

#define WATCH_PAGES 64u

struct watch {
	struct perf_rings rings;
	struct symbolizer *symbols;
	pid_t followed;
	bool has_changed;
};

static void read_when_asked(void *arg)
{
	watch_read(arg);
}

struct watch *watch_open(struct kernel *k, pid_t followed, struct symbolizer *s)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1, /* executable mappings only */
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.watermark = 1,
		/* A process that is being started makes some 2 KiB: read then, not at each record.
		 */
		.wakeup_watermark = followed > 0 ? 1 : 2048,
	};
	struct watch *w = xzalloc(sizeof(*w));

	w->followed = followed;
	w->symbols = s;
	if (perf_rings_open(&w->rings, k, &attr, WATCH_PAGES)) {
		free(w);
		return NULL;
	}
	symbolizer_ask(s, read_when_asked, w);
	return w;
}

void watch_close(struct watch *w)
{
	if (!w)
		return;
	symbolizer_ask(w->symbols, NULL, NULL);
	perf_rings_close(&w->rings);
	free(w);
}

u32 watch_fds(const struct watch *w, const int **ret)
{
	*ret = w->rings.fds.items;
	return (u32)w->rings.fds.len;
}

/* u32 pid, tid; u64 addr, len, pgoff; u32 maj, min; u64 ino, ino_generation; u32 prot, flags; char
 * filename[] */
static void tell_mapping(struct symbolizer *s, struct cursor *c)
{
	u32 pid = cursor_u32(c);
	u64 start, length, offset, inode;
	const char *path;

	cursor_u32(c);
	start = cursor_u64(c);
	length = cursor_u64(c);
	offset = cursor_u64(c);
	cursor_u64(c);
	inode = cursor_u64(c);
	cursor_u64(c);
	cursor_u64(c);
	path = cursor_string(c);
	if (path)
		symbolizer_tell_mapping(s, (pid_t)pid, start, length, offset, inode, path);
}

/* u32 pid, ppid, tid, ptid; u64 time. Threads share their process's mappings. */
static void tell_fork(struct symbolizer *s, struct cursor *c)
{
	u32 pid = cursor_u32(c), parent = cursor_u32(c);

	if (!c->failed && pid != parent)
		symbolizer_tell_fork(s, (pid_t)pid, (pid_t)parent);
}

static void tell(struct watch *w, const struct perf_event_header *h)
{
	struct symbolizer *const s = w->symbols;
	struct cursor c = cursor_of(h + 1, h->size - sizeof(*h)), pid = c;
	const bool is_exec = h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC;

	if (w->followed && (h->type == PERF_RECORD_MMAP2 || is_exec) &&
	    (pid_t)cursor_u32(&pid) == w->followed)
		w->has_changed = true;

	switch (h->type) {
	case PERF_RECORD_MMAP2:
		tell_mapping(s, &c);
		break;
	case PERF_RECORD_FORK:
		tell_fork(s, &c);
		break;
	case PERF_RECORD_COMM:
		if (h->misc & PERF_RECORD_MISC_COMM_EXEC)
			symbolizer_tell_exec(s, (pid_t)cursor_u32(&c));
		break;
	}
}

void watch_read(struct watch *w)
{
	const struct perf_event_header *h;

	while ((h = perf_rings_next(&w->rings)))
		tell(w, h);
}

bool watch_has_changed(struct watch *w)
{
	const bool changed = w->has_changed;

	w->has_changed = false;
	return changed;
}
