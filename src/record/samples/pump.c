/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies records from the rings into the file. */
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/samples/internal.h"

/* offset in a sample, after the header: PERF_SAMPLE_IDENTIFIER, IP, TID, TIME */
#define ID_AT	   8
#define TIME_AT	   32
#define LOST_AT	   16 /* in PERF_RECORD_LOST */
#define PIECES	   2
#define MMAP2_PATH 72 /* in PERF_RECORD_MMAP2 */

/* ---- what is in a record ---- */

/* Copies n bytes from an offset of the records, which lie in two pieces. */
static void copy(const struct iovec *p, size_t at, void *to, size_t n)
{
	const size_t first = at < p[0].iov_len ? MIN(n, p[0].iov_len - at) : 0;

	memcpy(to, (const u8 *)p[0].iov_base + (first ? at : 0), first);
	if (n > first)
		memcpy((u8 *)to + first, (const u8 *)p[1].iov_base + (at + first - p[0].iov_len),
		       n - first);
}

static u64 word(const struct iovec *p, size_t at)
{
	u64 v;

	copy(p, at, &v, sizeof(v)); /* records are aligned, so a value never spans both pieces */
	return v;
}

static struct sample_event *event_of(struct samples *s, u64 id)
{
	size_t low = 0, high = s->ids.len;

	if (s->last_id.id == id)
		return &s->events.items[s->last_id.event];
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (s->ids.items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->ids.len || s->ids.items[low].id != id)
		return NULL;
	s->last_id = s->ids.items[low];
	return &s->events.items[s->last_id.event];
}

/* A sample that could not be written is lost. */
static void count_sample(struct samples *s, const struct iovec *p, size_t at, bool is_written)
{
	struct sample_event *const e = event_of(s, word(p, at + ID_AT));
	const u64 time = word(p, at + TIME_AT);

	if (e && is_written)
		e->kept++;
	else if (e)
		e->lost++;
	if (!is_written)
		return;
	s->first_ns = s->first_ns ? MIN(s->first_ns, time) : time;
	s->last_ns = MAX(s->last_ns, time);
}

static void note_mapping(struct samples *s, const struct iovec *p, size_t at, u16 size)
{
	char path[4096];
	struct sample_file file;
	u32 pid, numbers[2];

	if (size <= MMAP2_PATH || size > MMAP2_PATH + sizeof(path))
		return;
	copy(p, at + 8, &pid, sizeof(pid));
	copy(p, at + 40, numbers, sizeof(numbers));
	file = (struct sample_file){numbers[0], numbers[1], word(p, at + 48)};
	copy(p, at + MMAP2_PATH, path, (size_t)size - MMAP2_PATH);
	path[size - MMAP2_PATH - 1] = 0;
	samples_note_file(s, (pid_t)pid, path, &file);
}

static void look_at(struct samples *s, const struct iovec *p, size_t at,
		    const struct perf_event_header *h, bool is_written)
{
	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		count_sample(s, p, at, is_written);
		break;
	case PERF_RECORD_LOST:
		s->lost_records += word(p, at + LOST_AT);
		break;
	case PERF_RECORD_THROTTLE:
		s->throttled++;
		break;
	case PERF_RECORD_MMAP2:
		note_mapping(s, p, at, h->size);
		break;
	}
}

static void look_through(struct samples *s, const struct iovec *p, size_t n, bool is_written)
{
	struct perf_event_header h;

	for (size_t at = 0; at < n; at += h.size) {
		const u64 head = word(p, at);

		memcpy(&h, &head, sizeof(h));
		if (h.size < sizeof(h))
			break;
		look_at(s, p, at, &h, is_written);
	}
}

/* ---- all rings ---- */

size_t samples_pump(struct samples *s)
{
	struct epoll_event woken[16];
	size_t sum = 0;

	epoll_wait(s->epoll, woken, ARRAY_SIZE(woken), 0); /* reported once */
	for (size_t i = 0; i < s->rings.len; i++) {
		struct iovec pieces[PIECES];
		const size_t n = perf_ring_pieces(&s->rings.items[i].ring, pieces);

		if (!n)
			continue;
		look_through(s, pieces, n, !perf_writer_data(s->writer, pieces, PIECES));
		perf_ring_consume(&s->rings.items[i].ring, n);
		sum += n;
	}
	if (!sum)
		return 0;
	perf_writer_round(s->writer);
	perf_writer_checkpoint(s->writer);
	return sum;
}

/* ---- losses ---- */

/* u64 lost, then what sample_id_all adds: PERF_SAMPLE_TID, TIME, CPU, IDENTIFIER. */
static void write_lost(struct samples *s, u64 id, u64 lost)
{
	const u64 body[] = {lost, 0, clock_now_ns(CLOCK_MONOTONIC), 0, id};

	perf_writer_record(s->writer, PERF_RECORD_LOST_SAMPLES, 0, body, sizeof(body));
}

static void count_lost(struct samples *s, struct sample_event *e)
{
	for (size_t i = 0; i < e->fds.len; i++) {
		u64 words[3]; /* value, id, lost */

		if (read(e->fds.items[i], words, sizeof(words)) != sizeof(words) || !words[2])
			continue;
		e->lost += words[2];
		write_lost(s, words[1], words[2]);
	}
}

void samples_count_lost(struct samples *s)
{
	for (size_t i = 0; i < s->events.len && s->counts_lost; i++)
		count_lost(s, &s->events.items[i]);
}
