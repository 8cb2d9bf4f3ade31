/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source of other machines' events: --guest. */
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/guests/guest.h"

#define GREETING_MS 10000
#define SSH_MS	    60000 /* somebody may have to type a password */
#define BEGIN_MS    120000 /* an emulated machine reads all its formats first */
#define SILENT_MS   3000 /* then it is said */
#define END_MS	    15000 /* at the end, without receiving a byte */
#define BURST	    16 /* clock exchanges, before and after */

struct guests {
	struct guest *items;
	u32 count;
	int epoll;
};

static bool wanted(const struct record_request *r)
{
	return r->guests.len;
}

static int check(const struct command_spec *spec, const struct record_request *r)
{
	if (r->to)
		return options_usage_error(spec, "--guest: what guests send is written here: "
						 "without --to");
	return OPTIONS_GO_ON;
}

/* ---- begin ---- */

static int greet(struct guests *s, struct guest *g)
{
	struct epoll_event event = {.events = EPOLLIN};
	int err = guest_wait(g, GUEST_WELCOME, g->ssh ? SSH_MS : GREETING_MS);

	if (!err)
		err = guest_make_directory(g);
	if (err)
		return err;
	epoll_ctl(s->epoll, EPOLL_CTL_ADD, g->fd, &event);
	/* trace-cmd's way to compare clocks is a burst in itself */
	guest_clock_burst(g, g->is_tracecmd ? 1 : BURST);
	return g->state < GUEST_GONE ? 0 : -EIO;
}

static void release(struct guests *s)
{
	for (u32 i = 0; i < s->count; i++)
		guest_release(&s->items[i]);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s->items);
	free(s);
}

static void undo(struct guests *s)
{
	for (u32 i = 0; i < s->count; i++)
		guest_undo(&s->items[i]);
}

static int begin(struct record_run *run, void **ret)
{
	const struct record_request *const r = run->request;
	struct guests *const s = xzalloc(sizeof(*s));
	int err = record_directory(run);

	s->items = xzalloc(r->guests.len * sizeof(*s->items));
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	while (s->count < r->guests.len && !err) {
		struct guest *const g = &s->items[s->count++];

		err = guest_open(g, run, &r->guests.items[s->count - 1]) ?: greet(s, g);
	}
	/* all prepare at the same time */
	for (u32 i = 0; i < s->count && !err; i++) {
		guest_record(&s->items[i]);
		err = MIN(guest_pump(&s->items[i], 0), 0);
	}
	if (err) {
		undo(s);
		release(s);
		return err;
	}
	*ret = s;
	return 0;
}

static int start(struct record_run *run, void *state)
{
	struct guests *const s = state;
	int err = 0;

	for (u32 i = 0; i < s->count && !err; i++)
		err = guest_wait(&s->items[i], GUEST_ON, BEGIN_MS);
	if (err)
		undo(s);
	return err;
}

/* ---- the run ---- */

static void look_for_silence(struct guest *g)
{
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);

	if (g->state != GUEST_ON || g->is_silent || now - g->heard_ns < SILENT_MS * 1000000ull)
		return;
	g->is_silent = true;
	fprintf(stderr,
		"WARNING: %s does not answer: it stands still, or is very busy; the recording "
		"goes on\n",
		g->name);
}

static int round_guests(struct record_run *run, void *state)
{
	struct guests *const s = state;
	bool busy = false, any = false;

	for (u32 i = 0; i < s->count; i++) {
		struct guest *const g = &s->items[i];

		busy |= guest_pump(g, 0) > 0;
		guest_clock_round(g);
		look_for_silence(g);
		any |= g->state == GUEST_ON;
	}
	run->end |= !any && run->request->only_guests;
	return busy;
}

static int poll_fd(void *state)
{
	return ((struct guests *)state)->epoll;
}

static void progress(void *state, struct record_progress *ret)
{
	const struct guests *const s = state;

	for (u32 i = 0; i < s->count; i++)
		ret->bytes += s->items[i].files.bytes;
}

/* ---- end ---- */

static void say_clock(const struct guest *g, const char *directory)
{
	char *const path = xasprintf("%s/%s", directory, g->name);
	struct clock_relation *r = NULL;
	u64 least, most;

	if (clock_relation_read_at(g->directory, path, g->run->diag, &r))
		;
	else if (clock_relation_uncertainty(r, &least, &most))
		fprintf(stderr,
			"%s: its clock is known to +-%" PRIu64 " ns at best, +-%" PRIu64
			" at worst, by %zu exchange%s%s%s%s; in %s\n",
			g->name, least, most,
			r->bounds.all.len - (size_t)r->compared[CLOCK_ENTRIES],
			plural(r->bounds.all.len - (size_t)r->compared[CLOCK_ENTRIES]),
			r->compared[CLOCK_TSC] ? ", the offset of its TSC" : "",
			r->compared[CLOCK_PTP] ? ", PTP_KVM" : "",
			r->compared[CLOCK_ENTRIES] ? ", its entries and exits" : "", path);
	if (g->clock.refused)
		fprintf(stderr,
			"WARNING: %s: what the hypervisor says of its clock contradicted the "
			"messages %" PRIu64 " time%s, and was not taken then\n",
			g->name, g->clock.refused, plural(g->clock.refused));
	clock_relation_free(r);
	free(path);
}

static void finish(struct record_run *run, struct guest *g)
{
	if (g->state == GUEST_ENDED)
		guest_clock_burst(g, BURST);
	run->lost += MIN(g->lost.events, UINT64_MAX - run->lost);
	run->damaged += (u32)MIN(g->lost.uncounted, (u64)UINT32_MAX / 2);
	agent_lines_tell(&g->lines, g->name);
	run->failed |= g->state == GUEST_ENDED && g->code != EXIT_OK && g->code != EXIT_LOST;
}

static int end(struct record_run *run, void *state)
{
	const bool is_whole = !run->lost && !run->damaged; /* what was recorded here */
	struct guests *const s = state;

	for (u32 i = 0; i < s->count; i++)
		guest_stop(&s->items[i]);
	for (u32 i = 0; i < s->count; i++) {
		struct guest *const g = &s->items[i];

		if (g->state != GUEST_ON && g->state != GUEST_ENDED)
			continue;
		guest_wait_end(g, END_MS);
		finish(run, g);
	}
	if (is_whole && !run->request->only_guests)
		guests_clock_entries(s->items, s->count, run);
	for (u32 i = 0; i < s->count && !run->request->quiet; i++)
		if (s->items[i].directory >= 0)
			say_clock(&s->items[i], run->directory);
	release(s);
	return 0;
}

const struct record_source record_guests = {
	.name = "guests",
	.needs = SANDBOX_WRITES,
	.idle_ms = 20,
	.wanted = wanted,
	.check = check,
	.begin = begin,
	.start = start,
	.round = round_guests,
	.poll_fd = poll_fd,
	.progress = progress,
	.end = end,
};
