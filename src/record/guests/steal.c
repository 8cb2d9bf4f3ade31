/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/agent/steal.h"

#include "base/file.h"
#include "base/process.h"
#include "record/guests/guest.h"

static int add_thread(void *arg, pid_t tid)
{
	clock_thread_add(arg, (u32)tid);
	return 0;
}

static void write_steal(const struct guest *g, const struct steal *now)
{
	struct strbuf lines = STRBUF_INIT;

	process_each_thread(g->process, add_thread, &lines);
	for (u32 cpu = 0; cpu < MIN(now->count, g->steal->count); cpu++)
		if (now->ns[cpu] >= g->steal->ns[cpu])
			clock_steal_add(&lines, cpu, now->ns[cpu] - g->steal->ns[cpu]);
	write_all(g->clock.file, lines.data, lines.len);
	strbuf_release(&lines);
}

void guest_steal(struct guest *g, const struct agent_frame *f, const u8 *body)
{
	struct steal *now;

	if (g->has_steal) {
		guest_gone(g, "its agent sent a message out of turn");
		return;
	}
	g->has_steal = g->steal != NULL;
	now = xzalloc(sizeof(*now));
	now->count = f->size / sizeof(*now->ns);
	memcpy(now->ns, body, now->count * sizeof(*now->ns));
	if (g->steal && g->process && g->clock.file >= 0)
		write_steal(g, now);
	free(g->steal);
	g->steal = now;
}
