/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/clock/relation.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/foreign.h"

#define FILE_MOST ((size_t)64 << 20)
#define NS_MOST	  ((u64)INT64_MAX / 4) /* 73 years: sums and differences of two fit */

/* ---- writing ---- */

void clock_head(struct strbuf *to, const char *machine, s64 realtime, s64 host_realtime)
{
	strbuf_addf(to,
		    "pantrace-clock 1\nmachine %s\nrealtime %" PRId64 "\nhost-realtime %" PRId64
		    "\n",
		    machine, realtime, host_realtime);
}

static const char *const words[CLOCK_MEANS] = {"exchange", "tsc", "ptp", "kvm"};

void clock_exchange_add(struct strbuf *to, const struct clock_exchange *e)
{
	strbuf_addf(to, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", words[e->means],
		    e->sent, e->received, e->answered, e->back);
}

void clock_thread_add(struct strbuf *to, u32 tid)
{
	strbuf_addf(to, "thread %u\n", tid);
}

void clock_steal_add(struct strbuf *to, u32 cpu, u64 ns)
{
	strbuf_addf(to, "steal %u %" PRIu64 "\n", cpu, ns);
}

/* ---- bounds ---- */

static s64 drift(const struct clock_bounds_list *l, const struct clock_bounds *a,
		 const struct clock_bounds *b)
{
	return (s64)((__int128)(b->at - a->at) * l->drift / 1000000);
}

/* What the bounds at one time say of those at another, which no jump is in between. */
static void narrow(struct clock_bounds *b, const struct clock_bounds *by, s64 by_drift)
{
	b->least = MAX(b->least, by->least - by_drift);
	b->most = MIN(b->most, by->most + by_drift);
}

/* Once all exchanges are there. */
static void narrow_all(struct clock_bounds_list *l)
{
	for (size_t i = 1; i < l->all.len; i++) {
		struct clock_bounds *const b = &l->all.items[i], *const before = b - 1;
		const s64 most = drift(l, before, b);

		b->jumped = b->least > before->most + most || b->most < before->least - most;
		l->jumps += b->jumped;
		if (!b->jumped)
			narrow(b, before, most);
	}
	for (size_t i = l->all.len; i-- > 1;) {
		struct clock_bounds *const b = &l->all.items[i], *const before = b - 1;

		if (!b->jumped)
			narrow(before, b, drift(l, before, b));
	}
}

static void copy(struct clock_bounds_list *to, const struct clock_bounds_list *from)
{
	to->all.len = 0;
	for (size_t i = 0; i < from->all.len; i++)
		vector_push(&to->all, from->all.items[i]);
	to->jumps = 0;
}

static int by_time(const void *a, const void *b)
{
	const struct clock_bounds *const x = a, *const y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void bound_all(struct clock_relation *r)
{
	static const s64 drifts[] = {0, 1, 10, 100, CLOCK_DRIFT_MOST};
	struct clock_bounds_list most = {.drift = CLOCK_DRIFT_MOST};

	if (r->compared[CLOCK_ENTRIES])
		qsort(r->bounds.all.items, r->bounds.all.len, sizeof(*r->bounds.all.items),
		      by_time);
	copy(&most, &r->bounds);
	narrow_all(&most);
	for (size_t i = 0; i < ARRAY_SIZE(drifts); i++) {
		copy(&r->likely, &r->bounds);
		r->likely.drift = drifts[i];
		narrow_all(&r->likely);
		if (r->likely.jumps == most.jumps)
			break;
	}
	vector_free(&r->bounds.all);
	r->bounds = most;
}

static int add(struct clock_relation *r, const struct clock_exchange *e)
{
	const struct clock_bounds b = {
		.at = (s64)e->received,
		.least = (s64)(e->sent - e->received),
		.most = (s64)(e->back - e->answered),
	};
	const bool is_first_of_kvm = e->means == CLOCK_ENTRIES && !r->compared[CLOCK_ENTRIES];

	if (MAX(MAX(e->sent, e->back), MAX(e->received, e->answered)) > NS_MOST ||
	    e->answered < e->received || e->back < e->sent || b.most < b.least ||
	    (!is_first_of_kvm && r->bounds.all.len && b.at <= vector_last(&r->bounds.all).at))
		return -EBADMSG;
	vector_push(&r->bounds.all, b);
	r->compared[e->means]++;
	return 0;
}

/* ---- reading ---- */

/* CLOCK_MEANS: the line is of no exchange. */
static enum clock_means means_of(const char *line)
{
	enum clock_means m = CLOCK_MESSAGES;

	while (m < CLOCK_MEANS && !(str_starts(line, words[m]) && line[strlen(words[m])] == ' '))
		m++;
	return m;
}

static int parse_line(struct clock_relation *r, const char *line)
{
	struct clock_exchange e = {.means = means_of(line)};
	struct clock_steal steal;
	u32 tid;
	int end = 0;

	if (e.means < CLOCK_MEANS)
		return sscanf(line, "%*s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n",
			      &e.sent, &e.received, &e.answered, &e.back, &end) == 4 &&
				       !line[end]
			       ? add(r, &e)
			       : -EBADMSG;
	if (str_starts(line, "machine ") && !r->machine && line[8])
		r->machine = xstrdup(line + 8);
	else
		sscanf(line, "realtime %" SCNd64, &r->realtime);
	sscanf(line, "host-realtime %" SCNd64, &r->host_realtime);
	if (sscanf(line, "thread %u", &tid) == 1)
		vector_push(&r->threads, tid);
	if (sscanf(line, "steal %u %" SCNu64, &steal.cpu, &steal.ns) == 2)
		vector_push(&r->steal, steal);
	return 0;
}

/* Not llabs(): the least number has none. */
static bool is_near(s64 ns)
{
	return ns <= (s64)NS_MOST && ns >= -(s64)NS_MOST;
}

/* What a killed host leaves may end in the middle of a line. */
int clock_relation_parse(struct clock_relation *r, const char *text, size_t n)
{
	static const char magic[] = "pantrace-clock 1\n";
	char line[256];
	int err = 0;

	if (n < sizeof(magic) - 1 || memcmp(text, magic, sizeof(magic) - 1))
		return -EBADMSG;
	for (const char *at = text, *end = text + n, *next; at < end && !err; at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		if (!next)
			break;
		if (next - at >= (ptrdiff_t)sizeof(line))
			return -EBADMSG;
		memcpy(line, at, (size_t)(next - at));
		line[next - at] = 0;
		err = parse_line(r, line);
	}
	if (!err && (!r->machine || !is_near(r->realtime) || !is_near(r->host_realtime)))
		err = -EBADMSG;
	if (!err)
		bound_all(r);
	return err;
}

bool clock_relation_is_there(const char *directory)
{
	char *const path = xasprintf("%s/" CLOCK_FILE, directory);
	const bool yes = !access(path, F_OK);

	free(path);
	return yes;
}

int clock_relation_read_at(int directory, const char *path, struct diag *d,
			   struct clock_relation **ret)
{
	struct clock_relation *r = xzalloc(sizeof(*r));
	char *text = NULL;
	size_t n = 0;
	int err = directory < 0 ? directory
				: foreign_read(directory, CLOCK_FILE, FILE_MOST, &text, &n, NULL);

	if (!err)
		err = clock_relation_parse(r, text, n);
	if (err) {
		diag_error(d, NO_SPAN, "%s/" CLOCK_FILE ": %s", path,
			   err == -EBADMSG ? "it does not say how that machine's clock stands"
					   : strerror(-err));
		clock_relation_free(r);
	} else {
		*ret = r;
	}
	free(text);
	return err;
}

int clock_relation_read(const char *directory, struct diag *d, struct clock_relation **ret)
{
	const int at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int err = clock_relation_read_at(at < 0 ? -errno : at, directory, d, ret);

	if (at >= 0)
		close(at);
	return err;
}

void clock_relation_free(struct clock_relation *r)
{
	if (!r)
		return;
	vector_free(&r->bounds.all);
	vector_free(&r->likely.all);
	vector_free(&r->threads);
	vector_free(&r->steal);
	free(r->machine);
	free(r);
}

/* ---- asking ---- */

/* The first bounds behind that time; those are mostly where they were last time. */
static size_t find(struct clock_relation *r, s64 ns)
{
	const struct clock_bounds *const b = r->bounds.all.items;
	size_t low = 0, high = r->bounds.all.len;

	if (r->last && r->last < high && b[r->last - 1].at <= ns && ns < b[r->last].at)
		return r->last;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (b[middle].at <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return r->last = low;
}

/* At that time, before the i-th. */
static struct clock_bounds bounds_at(const struct clock_bounds_list *l, size_t i, s64 ns)
{
	const struct clock_bounds *const before = i ? &l->all.items[i - 1] : NULL,
					 *const after = i < l->all.len ? &l->all.items[i] : NULL;
	struct clock_bounds b = {ns, INT64_MIN / 2, INT64_MAX / 2, false};

	if (before && after && after->jumped) { /* at some time between the two */
		b.least = MIN(before->least, after->least);
		b.most = MAX(before->most, after->most);
		return b;
	}
	if (before)
		narrow(&b, before, drift(l, before, &b));
	if (after)
		narrow(&b, after, drift(l, &b, after));
	return b;
}

s64 clock_relation_offset(struct clock_relation *r, s64 machine_ns, u64 *ret_uncertainty)
{
	const s64 ns = MAX(MIN(machine_ns, (s64)NS_MOST), 0);
	const size_t i = find(r, ns);
	const struct clock_bounds b = bounds_at(&r->bounds, i, ns),
				  likely = bounds_at(&r->likely, i, ns);
	const s64 offset =
		MAX(MIN(likely.least + (likely.most - likely.least) / 2, b.most), b.least);

	if (!r->bounds.all.len) { /* by the calendar, for want of anything better */
		if (ret_uncertainty)
			*ret_uncertainty = UINT64_MAX;
		return r->realtime - r->host_realtime;
	}
	if (ret_uncertainty)
		*ret_uncertainty = (u64)MAX(b.most - offset, offset - b.least);
	return offset;
}

/*
 * At most so much between two exchanges without a jump. The bounds open by the drift from both
 * sides, and what is taken of them leaves its values there by the likely one.
 */
static u64 most_between(struct clock_relation *r, size_t i, s64 before_ns, s64 after_ns)
{
	const struct clock_bounds *const b = &r->bounds.all.items[i], *const before = b - 1;
	const s64 open = drift(&r->bounds, before, b), away = drift(&r->likely, before, b) / 2;
	const s64 most = (before->most + b->most + open) / 2;
	const s64 least = (before->least + b->least - open) / 2;

	if (b->jumped)
		return (u64)(MAX(before->most, b->most) - MIN(before->least, b->least));
	return (u64)(MAX(most - MIN(before_ns, after_ns), MAX(before_ns, after_ns) - least) + away +
		     1);
}

bool clock_relation_jumps(struct clock_relation *r, s64 from_ns, s64 to_ns)
{
	const struct clock_bounds *const b = r->bounds.all.items;

	for (size_t i = find(r, from_ns); i < r->bounds.all.len; i++) {
		if (b[i].jumped)
			return true;
		if (b[i].at >= to_ns)
			break;
	}
	return false;
}

bool clock_relation_uncertainty(struct clock_relation *r, u64 *ret_least, u64 *ret_most)
{
	s64 before = 0;

	*ret_least = UINT64_MAX;
	*ret_most = 0;
	for (size_t i = 0; i < r->bounds.all.len; i++) {
		u64 here;
		const s64 offset = clock_relation_offset(r, r->bounds.all.items[i].at, &here);

		*ret_least = MIN(*ret_least, here);
		*ret_most = MAX(MAX(*ret_most, here), i ? most_between(r, i, before, offset) : 0);
		before = offset;
	}
	return r->bounds.all.len;
}
