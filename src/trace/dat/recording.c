/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/dat/recording.h"

int dat_recording_open(const char *path, struct diag *d, struct dat_recording *ret)
{
	struct dat_recording r = {0};
	int err = trace_dat_open(path, d, &r.file);

	if (err)
		return err;
	trace_dat_text(r.file, &r.text);
	for (size_t i = 0; i < trace_dat_buffers(r.file) && !err; i++) {
		struct dat_source s = {
			.buffer = i,
			.name = trace_dat_buffer(r.file, i)->name,
			.frequency = 1000000000,
		};

		if (!trace_dat_buffer(r.file, i)->cpus)
			continue;
		err = trace_dat_events(r.file, i, &s.events);
		if (!err)
			vector_push(&r.sources, s);
	}
	if (err)
		dat_recording_close(&r);
	else
		*ret = r;
	return err;
}

static s64 on_time_line(const struct dat_source *s, u64 time)
{
	if (s->frequency == 1000000000)
		return (s64)((u64)s->origin_ns + time);
	return (s64)((u64)s->origin_ns +
		     (u64)((unsigned __int128)time * 1000000000u / s->frequency));
}

void dat_recording_advance(struct dat_recording *r, struct dat_source *s)
{
	while ((s->has_event = page_merge_next(&s->events, &s->event)))
		if (!r->wants || r->wants(r->arg, &s->event))
			break;
	if (s->has_event)
		s->ns = on_time_line(s, s->event.event.time);
}

void dat_recording_begin(struct dat_recording *r)
{
	for (size_t i = 0; i < r->sources.len; i++)
		dat_recording_advance(r, &r->sources.items[i]);
}

struct dat_source *dat_recording_oldest(const struct dat_recording *r)
{
	struct dat_source *best = NULL;

	for (size_t i = 0; i < r->sources.len; i++) {
		struct dat_source *s = &r->sources.items[i];

		if (s->has_event && (!best || s->ns < best->ns))
			best = s;
	}
	return best;
}

struct dat_loss dat_recording_loss(const struct dat_recording *r)
{
	struct dat_loss loss = {0};

	for (size_t i = 0; i < r->sources.len; i++) {
		loss.events += r->sources.items[i].events.lost;
		loss.gaps += r->sources.items[i].events.gaps;
		loss.damaged += r->sources.items[i].events.damaged;
	}
	return loss;
}

void dat_recording_close(struct dat_recording *r)
{
	for (size_t i = 0; i < r->sources.len; i++)
		page_merge_release(&r->sources.items[i].events);
	vector_free(&r->sources);
	trace_dat_close(r->file);
	*r = (struct dat_recording){0};
}
