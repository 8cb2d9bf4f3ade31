/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the clock of a guest stands to ours, compared all through the recording. Messages bound it by
 * the time that they are on their way. Closer is what the hypervisor tells, where that is this
 * kernel:
 *
 *	the TSC	the guest's is ours, scaled and shifted, as debugfs says: a moment that the guest
 *		read there lies between two of our readings
 *	PTP_KVM	the guest's kernel asks ours for CLOCK_REALTIME
 *
 * Both must fit the question and the answer that they came with, or they are not used.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "record/guests/guest.h"

#define CLOCK_NS 100000000ull /* between an answer and the next question */
#define TRIES	 3 /* questions, of which the fastest is kept */
#define LOST_NS	 2000000000ull /* without an answer, a question is repeated */

int guest_clock_begin(struct guest *g)
{
	struct strbuf text = STRBUF_INIT;
	struct guest_clock *const c = &g->clock;
	int err;

	c->count_is_common = clock_count_is_common();
	clock_head(&text, g->name, g->realtime_ns,
		   clock_distance_ns(CLOCK_MONOTONIC, CLOCK_REALTIME));
	c->file = openat(g->directory, CLOCK_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	err = c->file < 0 ? -errno : write_all(c->file, text.data, text.len);
	strbuf_release(&text);
	return err;
}

static void write_exchange(struct guest_clock *c, const struct clock_exchange *e)
{
	struct strbuf line = STRBUF_INIT;

	c->tries = 0;
	if (e->received <= c->written_ns || c->file < 0)
		return;
	c->written_ns = e->received;
	clock_exchange_add(&line, e);
	write_all(c->file, line.data, line.len);
	strbuf_release(&line);
}

/* ---- what the hypervisor says ---- */

/*
 * CLOCK_MONOTONIC when the TSC was that, by two readings around it: at the earliest, or at the
 * latest. It lies on the line between them, which NTP may have bent.
 */
static u64 line_at(const struct clock_count *from, const struct clock_count *to, u64 tsc, bool late)
{
	const u64 a = late ? from->before : from->after, b = late ? to->before : to->after;
	const u64 took = to->ns - from->ns, bent = took * CLOCK_DRIFT_MOST / 2000000 + 1;
	const __int128 at = (__int128)((s64)(tsc - a)) * took / (s64)(b - a);

	return from->ns + (u64)at + (late ? bent : -bent);
}

static bool by_tsc(const struct guest_clock *c, const struct agent_clock *a,
		   struct clock_exchange *ret)
{
	const struct clock_count now = clock_count(), *const was = &c->count;

	if (!c->is_known || !a->tsc.ns || now.before <= was->after || now.ns <= was->ns)
		return false;
	*ret = (struct clock_exchange){
		.sent = line_at(was, &now, kvm_tsc_ours(&c->tsc, a->tsc.before), false),
		.received = a->tsc.ns,
		.answered = a->tsc.ns,
		.back = line_at(was, &now, kvm_tsc_ours(&c->tsc, a->tsc.after), true),
		.means = CLOCK_TSC,
	};
	return true;
}

static bool by_ptp(const struct guest_clock *c, const struct agent_clock *a,
		   struct clock_exchange *ret)
{
	const struct clock_ptp *const p = &a->ptp;
	struct clock_distance ours = c->realtime;

	if (!p->realtime || p->most_ns < p->least_ns)
		return false;
	clock_distance_widen(&ours);
	*ret = (struct clock_exchange){
		.sent = p->realtime - (u64)ours.most - (p->most_ns - p->least_ns),
		.received = p->least_ns,
		.answered = p->least_ns,
		.back = p->realtime - (u64)ours.least,
		.means = CLOCK_PTP,
	};
	return true;
}

static s64 least(const struct clock_exchange *e)
{
	return (s64)(e->sent - e->received);
}

static s64 most(const struct clock_exchange *e)
{
	return (s64)(e->back - e->answered);
}

/* *best becomes what was told if that is closer, and fits the messages that it came with. */
static void take_told(struct guest_clock *c, const struct clock_exchange *messages,
		      const struct clock_exchange *told, struct clock_exchange *best)
{
	if (told->back < told->sent || least(told) > most(messages) || most(told) < least(messages))
		c->refused++;
	else if (most(told) - least(told) < most(best) - least(best))
		*best = *told;
}

static bool read_tsc(const struct guest *g, struct kvm_tsc *ret)
{
	return g->process && g->clock.count_is_common && kvm_tsc_read(KVM_DEBUGFS, g->process, ret);
}

/* ---- messages ---- */

void guest_clock_answer(struct guest *g, const struct agent_frame *f, const u8 *body)
{
	struct guest_clock *const c = &g->clock;
	struct clock_exchange e, told, best;
	struct agent_clock a;
	struct kvm_tsc tsc;

	memcpy(&a, body, sizeof(a));
	e = best = (struct clock_exchange){a.sent_ns, a.received_ns, a.answered_ns, g->heard_ns};
	if (!c->asked_ns || e.sent != c->asked_ns || e.answered < e.received ||
	    e.answered - e.received > e.back - e.sent)
		return;
	c->asked_ns = 0;
	c->answered_ns = e.back;
	c->is_known = c->is_known && read_tsc(g, &tsc) && kvm_tsc_equal(&tsc, &c->tsc);
	if (by_tsc(c, &a, &told))
		take_told(c, &e, &told, &best);
	if (by_ptp(c, &a, &told))
		take_told(c, &e, &told, &best);
	if (!c->tries++ || most(&best) - least(&best) < most(&c->best) - least(&c->best))
		c->best = best;
	if (c->tries == TRIES || best.means != CLOCK_MESSAGES)
		write_exchange(c, &c->best);
}

static void ask(struct guest *g)
{
	struct guest_clock *const c = &g->clock;
	struct agent_clock a = {0};

	agent_out_push(&g->out, g->fd);
	if (agent_out_waiting(&g->out)) /* it would only wait here, and tell nothing */
		return;
	c->is_known = read_tsc(g, &c->tsc);
	c->realtime = CLOCK_DISTANCE_NONE;
	clock_distance_widen(&c->realtime);
	c->count = clock_count();
	a.sent_ns = c->asked_ns = clock_now_ns(CLOCK_MONOTONIC);
	agent_out_put(&g->out, AGENT_CLOCK, &a, sizeof(a), NULL, 0);
	agent_out_push(&g->out, g->fd);
}

void guest_clock_round(struct guest *g)
{
	const struct guest_clock *const c = &g->clock;
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);

	if (g->state < GUEST_WELCOME || g->fd < 0)
		return;
	if (c->asked_ns ? now - c->asked_ns > LOST_NS : now - c->answered_ns > CLOCK_NS)
		ask(g);
}

void guest_clock_burst(struct guest *g, u32 count)
{
	struct guest_clock *const c = &g->clock;
	const u64 until = clock_now_ns(CLOCK_MONOTONIC) + LOST_NS;

	while (count && g->fd >= 0 && clock_now_ns(CLOCK_MONOTONIC) < until) {
		if (!c->asked_ns)
			ask(g);
		if (guest_pump(g, 50) < 0)
			break;
		count -= !c->asked_ns;
	}
	if (c->tries)
		write_exchange(c, &c->best);
}
