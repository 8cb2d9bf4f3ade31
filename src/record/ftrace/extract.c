/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/ftrace/extract.h"

#include "record/ftrace/clock.h"
#include "record/ftrace/ftrace.h"
#include "trace/dat/trace_dat.h"

struct extracting {
	struct instance *instance;
	const struct extract_request *request;
	struct diag *diag;
	struct kernel_state state;
	struct trace_dat *head; /* of request.head */
	struct kernel_pages *pages;
	struct dat_writer *writer;
	struct page_layout layout;
	u32 *cpus, cpu_count;
};

static bool compresses(const struct extract_request *r)
{
	return !r->is_plain && !r->version_6;
}

static int open_pages(struct extracting *x)
{
	const char *const directory = instance_directory(x->instance);
	struct kernel_pages_options o = {.directory = directory,
					 .layout = &x->layout,
					 .is_snapshot = x->request->is_snapshot,
					 .compress = compresses(x->request)};
	int err = ring_layout(directory, &x->layout);

	if (!err)
		err = ring_cpus(directory, &x->cpus, &x->cpu_count);
	if (err) {
		diag_error(x->diag, NO_SPAN, "cannot read %s: %s", directory, strerror(-err));
		return err;
	}
	o.cpus = x->cpus;
	o.cpu_count = x->cpu_count;
	return kernel_pages_open(&o, x->diag, &x->pages);
}

static int open_writer(struct extracting *x)
{
	const struct dat_writer_options o = {
		.version = x->request->version_6 ? 6 : 7,
		.compress = compresses(x->request),
		.page_size = x->layout.size,
		.cpus = x->cpus,
		.cpu_count = x->cpu_count,
	};
	const int err = dat_writer_open(x->request->path, &o, x->diag, &x->writer);

	return err ? err : dat_writer_begin(x->writer, &x->state.contents);
}

static int read_head(struct extracting *x)
{
	struct dat_contents *const c = &x->state.contents;
	int err;

	dat_contents_init(c);
	err = trace_dat_open_whole(x->request->head, c, x->diag, &x->head);
	if (!err)
		c->clock = trace_dat_buffer(x->head, 0)->clock;
	return err;
}

static void say_boot(struct extracting *x)
{
	char *const boot = kernel_boot_id(), *const version = xasprintf("%s, " TRACE_DAT_BOOT "%s",
									x->state.version, boot);

	free(boot);
	free(x->state.version);
	x->state.contents.version = x->state.version = version;
}

/* Says in the file where times of another clock than CLOCK_MONOTONIC lie beside that. */
static int place_clock(struct extracting *x)
{
	const char *const clock = x->state.clock;
	struct trace_clock_place place;
	char *version;
	int err;

	if (str_eq(clock, "mono") || !trace_clock_is_ns(clock))
		return 0;
	err = trace_clock_place(instance_kernel(x->instance), x->diag, clock, x->request->of_boot,
				&place);
	if (err)
		return err;
	version = xasprintf("%s, " TRACE_DAT_MONOTONIC " (within %" PRIu64 ")", x->state.version,
			    clock, place.monotonic_ns, place.within_ns);
	free(x->state.version);
	x->state.contents.version = x->state.version = version;
	return 0;
}

/* ---- the result ---- */

/*
 * Counts events in the file: the kernel's counters do not cover the second buffer. By descriptor,
 * as its name may be another file's by now.
 */
static int count_kept(const struct extracting *x, struct extracted *ret)
{
	char *const path = xasprintf("/proc/self/fd/%d", dat_writer_fd(x->writer));
	struct page_merge m;
	struct trace_dat *t;
	struct raw_event e;
	int err = trace_dat_open(path, x->diag, &t);

	free(path);
	if (err)
		return err;
	err = trace_dat_events(t, 0, &m);
	while (!err && page_merge_next(&m, &e))
		for (u32 i = 0; i < ret->cpu_count; i++)
			if (ret->each[i].cpu == e.cpu)
				ret->each[i].kept++;
	if (!err)
		page_merge_release(&m);
	trace_dat_close(t);
	return err;
}

static int count(const struct extracting *x, struct extracted *ret)
{
	int err;

	ret->cpu_count = x->cpu_count;
	ret->each = xzalloc(MAX(x->cpu_count, 1u) * sizeof(*ret->each));
	for (u32 i = 0; i < x->cpu_count; i++) {
		struct extract_counts *const c = &ret->each[i];
		struct ring_counts now = {0};

		c->cpu = x->cpus[i];
		c->unwritten = kernel_pages_unwritten(x->pages, i);
		if (x->request->is_snapshot)
			continue;
		ring_counts(instance_directory(x->instance), x->cpus[i], &now);
		c->overwritten = now.overrun;
		c->dropped = now.dropped;
	}
	err = count_kept(x, ret);
	for (u32 i = 0; i < x->cpu_count; i++) {
		ret->all.kept += ret->each[i].kept;
		ret->all.overwritten += ret->each[i].overwritten;
		ret->all.dropped += ret->each[i].dropped;
		ret->all.unwritten += ret->each[i].unwritten;
	}
	return err;
}

/* ---- all ---- */

static void finish(struct extracting *x, u64 *ret_bytes)
{
	const int err = kernel_pages_error(x->pages);

	if (!x->head) {
		kernel_state_stats(&x->state, instance_directory(x->instance), x->cpus,
				   x->cpu_count);
		kernel_state_tasks(&x->state, instance_kernel(x->instance));
	}
	dat_writer_finish(x->writer, &x->state.contents, ret_bytes);
	x->writer = NULL;
	if (err)
		diag_warning(x->diag, NO_SPAN,
			     "not everything could be written: %s; the rest of '%s' is whole",
			     strerror(-err), x->request->path);
}

/* All events may be in the buffer. */
static int read_state(struct extracting *x)
{
	int err;

	if (x->request->head)
		return read_head(x);
	err = kernel_state_read_all(&x->state, x->instance, x->diag);
	if (!err)
		err = place_clock(x);
	if (!err && x->request->only_head)
		say_boot(x);
	return err;
}

int kernel_extract(struct instance *in, const struct extract_request *r, struct extracted *ret)
{
	struct extracting x = {.instance = in, .request = r, .diag = instance_diag(in)};
	int err = open_pages(&x);

	*ret = (struct extracted){0};
	if (!err)
		err = read_state(&x);
	if (!err)
		err = open_writer(&x);
	if (!err) {
		if (!r->only_head) {
			kernel_pages_take(x.pages, x.writer);
			err = count(&x, ret);
		}
		finish(&x, &ret->bytes);
	}
	kernel_pages_close(x.pages);
	dat_writer_abandon(x.writer);
	kernel_state_release(&x.state);
	trace_dat_close(x.head);
	free(x.cpus);
	return err;
}
