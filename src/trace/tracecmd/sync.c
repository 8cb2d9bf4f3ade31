/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As the host: the agent tells the middle between its times before and after a probe, not how far
 * these are apart. But it notes the time before probe i when it has our answer to probe i - 1, so
 * between our receiving that and this one; and the time after it before probe i + 1 is here. So
 * the middle lies between the middles of two of our times. Only the probe for which these are the
 * closest gets a time in our results, and so is the one that it tells of.
 */
#include "trace/tracecmd/sync.h"

#include <limits.h>

#include "base/clock.h"
#include "base/cursor.h"

#define ANSWER_MS 45000 /* it may have to read all its formats first, and be emulated */

/* received[0]: before the first probe; [i]: probe i; [count + 1]: what came after the last one. */
struct probes {
	u64 received[TRACECMD_PROBES + 2];
	u32 count;
};

static int next(struct tracecmd_stream *s, struct tracecmd_message *ret, u32 *ret_number)
{
	const int err = tracecmd_read(s, ANSWER_MS, ret);

	return err ?: tracecmd_sync_parse(ret, TRACECMD_PTP, ret_number);
}

static bool is_probe(const struct tracecmd_message *m, u32 number, u32 i)
{
	const u32 big = htobe32(i);

	return number == TRACECMD_PROBE && i <= TRACECMD_PROBES && m->size == sizeof(big) &&
	       !memcmp(m->data, &big, sizeof(big));
}

/* Its beginning and its probes go back to it as they came. *ret_series: as it stands there. */
static int answer_probes(struct tracecmd_stream *s, struct probes *p, u32 *ret_series)
{
	struct tracecmd_message m;
	u32 number;
	int err = next(s, &m, &number);

	if (!err && (number != TRACECMD_BEGIN || m.size < sizeof(*ret_series)))
		err = -EPROTO;
	if (!err)
		memcpy(ret_series, m.data, sizeof(*ret_series));
	for (u32 i = 0; !err; i++) {
		p->received[i] = clock_now_ns(CLOCK_MONOTONIC);
		p->count = i;
		err = tracecmd_sync_write(s, TRACECMD_PTP, number, m.data, m.size)
			      ?: next(s, &m, &number);
		if (!err && number == TRACECMD_END)
			break;
		if (!err && !is_probe(&m, number, i + 1))
			err = -EPROTO;
	}
	p->received[p->count + 1] = clock_now_ns(CLOCK_MONOTONIC);
	return err;
}

static u32 closest(const struct probes *p)
{
	u32 best = 1;

	for (u32 i = 2; i <= p->count; i++)
		if (p->received[i + 1] - p->received[i - 1] <
		    p->received[best + 1] - p->received[best - 1])
			best = i;
	return best;
}

static int send_results(struct tracecmd_stream *s, const struct probes *p, u32 series, u32 chosen)
{
	struct strbuf data = STRBUF_INIT;
	int err;

	strbuf_add(&data, &series, sizeof(series));
	tracecmd_put32(&data, p->count);
	for (u32 i = 1; i <= p->count; i++) {
		tracecmd_put64(&data, i == chosen ? p->received[i] : 0);
		tracecmd_put32(&data, i);
	}
	err = tracecmd_sync_write(s, TRACECMD_PTP, TRACECMD_RESULTS, data.data, data.len);
	strbuf_release(&data);
	return err;
}

/* What it tells: 0 or -errno, as above. */
static int take_offset(const struct tracecmd_message *m, u32 number, u64 ours, u64 *ret_machine_ns)
{
	u64 told[2];

	if (number != TRACECMD_OFFSET || m->size < sizeof(told))
		return -EPROTO;
	memcpy(told, m->data, sizeof(told));
	*ret_machine_ns = be64toh(told[0]);
	if (!*ret_machine_ns)
		return -EAGAIN;
	return *ret_machine_ns + be64toh(told[1]) == ours ? 0 : -EPROTO;
}

int tracecmd_compare(struct tracecmd_stream *s, struct tracecmd_moment *ret)
{
	const u16 cpu = 0;
	struct tracecmd_message m;
	struct probes p = {0};
	u32 series, number, chosen;
	int err = tracecmd_sync_write(s, TRACECMD_NO_WAY, TRACECMD_COMPARE, &cpu, sizeof(cpu));

	if (!err)
		err = answer_probes(s, &p, &series);
	if (!err && !p.count)
		err = -EPROTO;
	if (err)
		return err;
	chosen = closest(&p);
	err = send_results(s, &p, series, chosen) ?: next(s, &m, &number);
	if (!err)
		err = take_offset(&m, number, p.received[chosen], &ret->machine_ns);
	/* it has rounded, too */
	ret->least_ns = (p.received[chosen - 1] + p.received[chosen]) / 2 - 1;
	ret->most_ns = (p.received[chosen] + p.received[chosen + 1]) / 2 + 1;
	return err;
}

/* ---- as the agent ---- */

struct own_probe {
	u64 sent_ns, back_ns;
};

/* Its number, and that alone, has to come back. */
static int send_probe(struct tracecmd_stream *s, u32 i, struct own_probe *ret)
{
	const u32 big = htobe32(i);
	struct tracecmd_message m;
	u32 number;
	int err;

	ret->sent_ns = clock_now_ns(CLOCK_MONOTONIC);
	err = tracecmd_sync_write(s, TRACECMD_PTP, TRACECMD_PROBE, &big, sizeof(big))
		      ?: next(s, &m, &number);
	ret->back_ns = clock_now_ns(CLOCK_MONOTONIC);
	return err ?: is_probe(&m, number, i) ? 0 : -EPROTO;
}

/* The fastest of those for which the host has a time. */
static int send_offset(struct tracecmd_stream *s, const struct own_probe *probes)
{
	struct strbuf data = STRBUF_INIT;
	struct tracecmd_message m;
	u64 fastest = UINT64_MAX, middle = 0, offset = 0;
	u32 number;
	int err = next(s, &m, &number);

	if (!err && (number != TRACECMD_RESULTS || m.size < 8))
		err = -EPROTO;
	for (u32 i = 0; !err && i < TRACECMD_PROBES && 8 + 12 * (i + 1) <= m.size; i++) {
		const struct own_probe *const p = &probes[i];
		u64 theirs;

		memcpy(&theirs, m.data + 8 + 12 * i, sizeof(theirs));
		if (!theirs || p->back_ns - p->sent_ns >= fastest)
			continue;
		fastest = p->back_ns - p->sent_ns;
		middle = p->sent_ns + fastest / 2;
		offset = be64toh(theirs) - middle;
	}
	tracecmd_put64(&data, middle);
	tracecmd_put64(&data, offset);
	err = err ?: tracecmd_sync_write(s, TRACECMD_PTP, TRACECMD_OFFSET, data.data, data.len);
	strbuf_release(&data);
	return err;
}

static int be_compared_once(struct tracecmd_stream *s, u32 series)
{
	/* the host, too, takes the fastest, and its times from its trace clock */
	const u32 begin[2] = {htobe32(series), htobe32(3)};
	struct own_probe probes[TRACECMD_PROBES];
	struct tracecmd_message m;
	u32 number;
	int err = tracecmd_sync_write(s, TRACECMD_PTP, TRACECMD_BEGIN, begin, sizeof(begin))
			  ?: next(s, &m, &number);

	for (u32 i = 0; i < TRACECMD_PROBES && !err; i++)
		err = send_probe(s, i + 1, &probes[i]);
	err = err ?: tracecmd_sync_write(s, TRACECMD_PTP, TRACECMD_END, NULL, 0);
	return err ?: send_offset(s, probes);
}

int tracecmd_be_compared(struct tracecmd_stream *s)
{
	struct tracecmd_message m;
	u32 number;
	int err = 0;

	for (u32 series = 1; !err; series++) {
		err = tracecmd_read(s, INT_MAX, &m)
			      ?: tracecmd_sync_parse(&m, TRACECMD_NO_WAY, &number);
		if (!err && number != TRACECMD_COMPARE)
			break;
		err = err ?: be_compared_once(s, series);
	}
	return err;
}
