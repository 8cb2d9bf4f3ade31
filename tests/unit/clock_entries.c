/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock of a guest by when its virtual CPUs ran: what is found holds the truth. */
#include <stdlib.h>

#include "tap.h"
#include "trace/clock/entries.h"

#define SECONDS 10
#define OFFSET	7000000000ll /* host - guest, at the guest's 0 */

static u64 random_below(u64 n)
{
	static u64 state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* The host's time at a time of the guest, whose clock is 40 ppm slow. */
static s64 truth(s64 guest_ns)
{
	return guest_ns + OFFSET + guest_ns / 25000;
}

struct found {
	u32 wrong, all;
	s64 widest;
};

static void found(void *arg, const struct clock_exchange *e)
{
	struct found *const f = arg;
	const s64 ns = truth((s64)e->received);

	f->all++;
	f->wrong += ns < (s64)e->sent || ns > (s64)e->back;
	f->widest = MAX(f->widest, (s64)(e->back - e->sent));
}

/* By messages that are 6 ms on their way there, and 1 ms back. */
static struct clock_relation *by_messages(void)
{
	struct strbuf text = STRBUF_INIT;
	struct clock_relation *const r = xzalloc(sizeof(*r));

	clock_head(&text, "vm", 0, 0);
	for (s64 at = 1000000; at < SECONDS * 1000000000ll; at += 100000000)
		clock_exchange_add(&text,
				   &(struct clock_exchange){.sent = (u64)(truth(at) - 6000000),
							    .received = (u64)at,
							    .answered = (u64)at,
							    .back = (u64)(truth(at) + 1000000)});
	clock_relation_parse(r, text.data, text.len);
	strbuf_release(&text);
	return r;
}

/*
 * Two virtual CPUs that run and stand in turns of up to LONGEST ns, with up to three events in each
 * turn that they run; the guest's number of each is cpu ^ OTHER.
 */
static struct clock_entries_count run(struct clock_relation *r, u32 longest, u32 other,
				      struct found *f)
{
	struct clock_entries *const e = clock_entries_new(r, found, f);
	s64 at[2] = {1000000, 1200000};

	*f = (struct found){0};
	while (at[0] < SECONDS * 1000000000ll) {
		const u32 cpu = at[1] < at[0];
		const s64 ran = 1000 + (s64)random_below(longest);

		clock_entries_entry(e, cpu, truth(at[cpu]));
		for (u32 n = (u32)random_below(4); n--;)
			clock_entries_event(e, cpu ^ other, at[cpu] + ran * (3 - n) / 4);
		at[cpu] += ran;
		clock_entries_exit(e, cpu, truth(at[cpu]));
		at[cpu] += 1000 + (s64)random_below(longest);
	}
	return clock_entries_end(e);
}

int main(void)
{
	struct clock_relation *r = by_messages();
	struct clock_entries_count count;
	struct found f;
	u64 least, most;

	clock_relation_uncertainty(r, &least, &most);
	count = run(r, 2000000, 0, &f);
	ok(f.all >= 10 * (SECONDS - 1) && !f.wrong, "the truth lies in all: %u of %u do not",
	   f.wrong, f.all);
	ok(f.widest < 700000, "which are a tenth of what the messages say, or less: %lld ns",
	   (long long)f.widest);
	ok(count.outside > count.events / 10 && count.outside < count.events && !count.dropped,
	   "by the messages alone many events were at wrong times: %llu of %llu",
	   (unsigned long long)count.outside, (unsigned long long)count.events);
	count = run(r, 50000000, 0, &f);
	ok(!f.wrong, "long turns: the truth lies in all of %u", f.all);
	count = run(r, 2000000, 1, &f);
	ok(!f.all && !count.events && count.dropped,
	   "virtual CPUs with other numbers: the events contradict each other, nothing is said");
	clock_relation_free(r);
	return tap_done();
}
