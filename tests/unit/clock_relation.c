/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The relation of two clocks from messages: the truth lies within what it says, always. */
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"
#include "trace/agent/steal.h"
#include "trace/clock/relation.h"

#define SECONDS 60
#define OFFSET	7000000000ll /* host - machine, at the machine's 0 */

static u64 random_below(u64 n)
{
	static u64 state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* The host's time at a time of the machine: 40 ppm fast, and it stood still at 30 s, for 5 s. */
static s64 truth(s64 machine_ns, bool stands)
{
	return machine_ns + OFFSET + machine_ns / 25000 +
	       (stands && machine_ns >= 30000000000ll ? 5000000000ll : 0);
}

static struct clock_relation *make(bool stands, bool is_lopsided)
{
	struct strbuf text = STRBUF_INIT;
	struct clock_relation *r = calloc(1, sizeof(*r));

	clock_head(&text, "vm", 5, 7);
	for (s64 at = 1000000; at < SECONDS * 1000000000ll;
	     at += 100000000 + (s64)random_below(1000)) {
		const s64 there = 200000 + (s64)random_below(800000),
			  back = 100000 + (s64)random_below(9000000);
		const struct clock_exchange e = {
			.sent = (u64)(truth(at, stands) - (is_lopsided ? 1000 : there)),
			.received = (u64)at,
			.answered = (u64)at + 500,
			.back = (u64)(truth(at + 500, stands) + back),
			.means = at % 3 ? CLOCK_MESSAGES : CLOCK_PTP};

		clock_exchange_add(&text, &e);
	}
	strbuf_addstr(&text, "exchange 1 2"); /* the host was killed here */
	ok(!clock_relation_parse(r, text.data, text.len),
	   "the file is read, but for half a line at its end");
	strbuf_release(&text);
	return r;
}

/* How many of its times are wrong by more than what it says; *ret: the largest that it says. */
static u32 count_wrong(struct clock_relation *r, bool stands, s64 from, s64 to, u64 *ret)
{
	u32 wrong = 0;

	*ret = 0;
	for (s64 at = from; at < to; at += 1234567) {
		u64 off;
		const s64 offset = clock_relation_offset(r, at, &off);

		wrong += (u64)llabs(at + offset - truth(at, stands)) > off;
		*ret = off > *ret ? off : *ret;
	}
	return wrong;
}

static void test_steal(void)
{
	static const char text[] = "cpu  9 9 9 9 9 9 9 99 9 9\n"
				   "cpu0 1 2 3 4 5 6 7 8 9 10\n"
				   "cpu2 1 2 3 4 5 6 7 80 9 10\n"
				   "cpu3 1 2 3 4\n"
				   "cpu4000000000 1 2 3 4 5 6 7 8 9 10\n"
				   "intr 5 0 0 0 0 0 0 0 0 0\n";
	const u64 tick = 1000000000ull / (u64)sysconf(_SC_CLK_TCK);
	struct steal s;

	steal_parse(&s, text);
	ok(s.count == 3 && s.ns[0] == 8 * tick && !s.ns[1] && s.ns[2] == 80 * tick,
	   "steal of CPUs in /proc/stat");
}

int main(void)
{
	struct clock_relation *r;
	static const char *const bad[] = {
		"",
		"pantrace-clock 2\nmachine a\n",
		"pantrace-clock 1\n",
		/* back before it was sent, answered before it was asked, not rising, too large */
		"pantrace-clock 1\nmachine a\nexchange 10 5 6 9\n",
		"pantrace-clock 1\nmachine a\nexchange 10 5 3 90\n",
		"pantrace-clock 1\nmachine a\nexchange 1 5 6 9\nexchange 2 5 6 9\n",
		"pantrace-clock 1\nmachine a\nexchange 1 5 6 9\nkvm 1 7 7 9\nkvm 1 6 6 9\n",
		"pantrace-clock 1\nmachine a\nexchange 1 18446744073709551615 5 9\n",
		"pantrace-clock 1\nmachine a\ntsc 1 5\n",
		"pantrace-clock 1\nmachine a\nrealtime -9223372036854775808\n",
	};
	static const char alone[] = "pantrace-clock 1\nmachine a\nrealtime 5\nhost-realtime 7\n";
	u64 most, best, worst;

	r = make(false, false);
	ok(!count_wrong(r, false, 0, SECONDS * 1000000000ll, &most),
	   "drift: the truth is within what it says");
	ok(most < 2000000, "which is below 2 ms, of ways of up to 10: %llu",
	   (unsigned long long)most);
	ok(clock_relation_uncertainty(r, &best, &worst) && best <= worst && !r->bounds.jumps,
	   "no jump is seen");
	count_wrong(r, false, 1000000, (SECONDS - 1) * 1000000000ll, &most);
	ok(most <= worst && worst <= 2 * most, "the worst of all is the worst anywhere: %llu, %llu",
	   (unsigned long long)most, (unsigned long long)worst);
	ok(r->compared[CLOCK_MESSAGES] && r->compared[CLOCK_PTP] && !r->compared[CLOCK_TSC] &&
		   r->compared[CLOCK_MESSAGES] + r->compared[CLOCK_PTP] == r->bounds.all.len,
	   "how the clocks were compared");
	clock_relation_free(r);

	r = make(false, true);
	ok(!count_wrong(r, false, 0, SECONDS * 1000000000ll, &most),
	   "one way always faster than the other");
	clock_relation_free(r);

	r = make(true, false);
	ok(r->bounds.jumps == 1, "a machine that stood still: one jump");
	ok(!count_wrong(r, true, 0, 29800000000ll, &most) && most < 2000000 &&
		   !count_wrong(r, true, 30200000000ll, SECONDS * 1000000000ll, &most) &&
		   most < 2000000,
	   "before and after it is known as well as without");
	ok(!count_wrong(r, true, 29800000000ll, 30200000000ll, &most) && most > 1000000000,
	   "in between it says that it does not know");
	clock_relation_free(r);

	r = calloc(1, sizeof(*r));
	ok(!clock_relation_parse(r, alone, strlen(alone)) &&
		   clock_relation_offset(r, 77, &most) == -2 && most == UINT64_MAX,
	   "without an exchange: by the calendar, and nobody knows how well");
	clock_relation_free(r);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		r = calloc(1, sizeof(*r));
		ok(clock_relation_parse(r, bad[i], strlen(bad[i])) == -EBADMSG, "refused: text %zu",
		   i);
		clock_relation_free(r);
	}
	test_steal();
	return tap_done();
}
