// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/trigger.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/glob.h"
#include "base/options.h"
#include "user/usage.h"

#define QUIET_NS  1000000000ull
#define ASK_NS	  5000000000ull /* programs that did not find the session are looked for */
#define OPEN_MAX_ 65536 /* latencies that have begun */
#define CHAINS	  8192
#define AHEAD_NS  60000000000ull /* clocks differ by less */

/* ---- the text ---- */

static char *trimmed(const char *text, size_t n)
{
	while (n && (*text == ' ' || *text == '\t'))
		text++, n--;
	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	return xstrndup(text, n);
}

static int bad(const char *text, struct diag *d)
{
	diag_error(d, NO_SPAN, "'%s' is not a condition", text);
	diag_hint(d, "'app:event', 'app:event /args.x > 5/', 'rate(app:event) > 100/s', "
		     "'latency(app:begin, app:end) > 10ms'; of a session: 'usage(web) >= 80%%', "
		     "'usage(web) <= 64K', 'written(web) >= 1G'");
	return -EINVAL;
}

/* "> NUMBER UNIT" after the parenthesis. */
static bool bound_parse(const char *p, double *ret, const char **ret_unit)
{
	char *end;

	p += strspn(p, " ");
	if (*p++ != '>')
		return false;
	*ret = strtod(p, &end);
	if (end == p || !(*ret >= 0) || *ret > 1e12)
		return false;
	*ret_unit = end + strspn(end, " ");
	return true;
}

static int parse_rate(const char *inside, size_t n, const char *behind, struct trigger *t)
{
	const char *unit;
	double value;

	if (!bound_parse(behind, &value, &unit) || (!str_eq(unit, "/s") && !str_eq(unit, "/m")))
		return -EINVAL;
	t->kind = TRIGGER_RATE;
	t->event = trimmed(inside, n);
	t->limit = (u64)value;
	t->window_ns = unit[1] == 's' ? 1000000000ull : 60000000000ull;
	return 0;
}

static int parse_latency(const char *inside, size_t n, const char *behind, struct trigger *t)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	const char *comma = memchr(inside, ',', n), *unit;
	double value;

	if (!comma || !bound_parse(behind, &value, &unit))
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!str_eq(unit, units[i].unit))
			continue;
		t->kind = TRIGGER_LATENCY;
		t->event = trimmed(inside, (size_t)(comma - inside));
		t->end = trimmed(comma + 1, n - (size_t)(comma + 1 - inside));
		t->limit = (u64)MIN(value * units[i].ns, 9e18);
		return 0;
	}
	return -EINVAL;
}

/* ">= NUMBER%" or ">= BYTES" after the parenthesis. */
static int parse_of_session(const char *inside, size_t n, const char *behind, struct trigger *t)
{
	static const struct {
		const char *word;
		int sign;
		bool or_equal;
	} signs[] = {{">=", 1, true}, {"<=", -1, true}, {">", 1, false}, {"<", -1, false}};
	char *bound = trimmed(behind, strlen(behind));
	size_t sign = 0, last = strlen(bound) - 1;
	double percent;
	int rc = -EINVAL;

	while (sign < ARRAY_SIZE(signs) && !str_starts(bound, signs[sign].word))
		sign++;
	if (sign < ARRAY_SIZE(signs)) {
		const char *value = bound + strlen(signs[sign].word);

		value += strspn(value, " ");
		t->is_ratio = bound[last] == '%';
		if (t->is_ratio) {
			bound[last] = '\0';
			rc = parse_double(value, &percent);
			if (!rc && !(percent >= 0 && percent <= 100))
				rc = -ERANGE;
			t->limit = rc ? 0 : (u64)(percent * 1000 + 0.5);
		} else {
			rc = parse_value(OPTION_SIZE, value, &t->limit);
		}
		t->sign = signs[sign].sign;
		t->or_equal = signs[sign].or_equal;
	}
	free(bound);
	t->session = trimmed(inside, n);
	return rc;
}

static int parse_usage(const char *inside, size_t n, const char *behind, struct trigger *t)
{
	t->kind = TRIGGER_USAGE;
	return parse_of_session(inside, n, behind, t);
}

/* What is written only grows. */
static int parse_written(const char *inside, size_t n, const char *behind, struct trigger *t)
{
	const int rc = parse_of_session(inside, n, behind, t);

	t->kind = TRIGGER_WRITTEN;
	return rc ? rc : t->is_ratio || t->sign < 0 ? -EINVAL : 0;
}

bool trigger_is_of_session(const struct trigger *t)
{
	return t->session;
}

static bool pattern_good(const char *pattern)
{
	return !pattern || (*pattern && strchr(pattern, ':') && !strpbrk(pattern, " \t\n(),>"));
}

int trigger_parse(const char *text, struct diag *d, struct trigger *ret)
{
	static const struct {
		const char *word;
		int (*parse)(const char *inside, size_t n, const char *behind, struct trigger *t);
	} forms[] = {{"rate(", parse_rate},
		     {"latency(", parse_latency},
		     {"usage(", parse_usage},
		     {"written(", parse_written}};
	const char *const slash = strchr(text, '/'), *const close = strchr(text, ')');
	const size_t n = strlen(text);

	*ret = (struct trigger){.text = text};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const char *inside = text + strlen(forms[i].word);

		if (!str_starts(text, forms[i].word))
			continue;
		if (!close || forms[i].parse(inside, (size_t)(close - inside), close + 1, ret) ||
		    !pattern_good(ret->event) || !pattern_good(ret->end)) {
			trigger_release(ret);
			return bad(text, d);
		}
		return 0;
	}
	ret->kind = TRIGGER_EVENT;
	ret->event = trimmed(text, slash ? (size_t)(slash - text) : n);
	if (slash && (text[n - 1] != '/' || slash == text + n - 1)) {
		trigger_release(ret);
		return bad(text, d);
	}
	if (slash)
		ret->predicate = trimmed(slash + 1, (size_t)(text + n - 1 - slash - 1));
	if (!pattern_good(ret->event)) {
		trigger_release(ret);
		return bad(text, d);
	}
	return 0;
}

void trigger_release(struct trigger *t)
{
	free(t->event);
	free(t->end);
	free(t->predicate);
	vector_free(&t->open);
	free(t->chains);
	free(t->session);
	usage_close(t->usage);
}

/* ---- watching ---- */

static int usages_open(struct triggers *t, struct diag *d)
{
	int rc = 0;

	for (size_t i = 0; i < t->all.len && !rc; i++) {
		struct trigger *const one = &t->all.items[i];

		if (one->session)
			rc = usage_open(one->session,
					one->kind == TRIGGER_USAGE ? USAGE_RINGS : USAGE_WRITTEN, d,
					&one->usage);
	}
	return rc;
}

/* An event has one filter in the watching session. */
static int predicates_check(const struct triggers *t, struct diag *d)
{
	for (size_t i = 1; i < t->all.len; i++) {
		const struct trigger *const one = &t->all.items[i];

		for (size_t k = 0; k < i; k++) {
			const struct trigger *const other = &t->all.items[k];
			const char *const a = one->predicate, *const b = other->predicate;

			if ((!a && !b) || (a && b && str_eq(a, b)) ||
			    (!glob_match(one->event, other->event) &&
			     !glob_match(other->event, one->event)))
				continue;
			diag_error(d, NO_SPAN,
				   "'%s' and '%s' are about one event with different predicates",
				   other->text, one->text);
			diag_hint(d, "join them: 'EVENT /FIRST || SECOND/'");
			return -EINVAL;
		}
	}
	return 0;
}

static void predicates_announce(struct triggers *t, struct announce *announce)
{
	for (size_t i = 0; i < t->all.len; i++)
		if (t->all.items[i].predicate)
			announce_add(announce, t->session.name, t->all.items[i].event,
				     t->all.items[i].predicate);
	announce_add(announce, t->session.name, "*", NULL);
}

int triggers_begin(struct triggers *t, const struct user_session_options *like,
		   struct announce *announce, struct diag *d)
{
	struct user_session_options o = {
		.watch = true,
		.name = t->name,
		.mode = PANTRACE_DISCARD,
		.sub_size = 16384,
		.subs = 8,
		.contexts = "vtid",
		.keeper = like->keeper,
		.which = like->which,
		.environment = like->environment,
		.trigger = t->note,
	};
	struct strbuf filters = STRBUF_INIT;
	VECTOR(const char *) events = {0};
	bool predicates = false;
	int rc = predicates_check(t, d);

	if (!rc)
		rc = usages_open(t, d);
	for (size_t i = 0; i < t->all.len && !rc; i++) {
		struct trigger *const one = &t->all.items[i];
		const char *event = one->event;

		if (one->session)
			continue;
		vector_push(&events, event);
		if (one->end)
			vector_push(&events, one->end);
		if (!one->predicate)
			continue;
		predicates = true;
		rc = t->compiler->lines(&event, 1, one->predicate, announce != NULL, d, &filters);
	}
	if (predicates && announce)
		o.ask = like->ask;
	o.events = events.items;
	o.nr_events = (u32)events.len;
	o.filters = filters.data;
	t->listens = events.len;
	/* one without events is there to be listed */
	o.environment |= !t->listens;
	if (!rc)
		rc = user_session_create(&o, true, d, &t->session);
	vector_free(&events);
	strbuf_release(&filters);
	if (rc)
		return rc;
	if (o.ask)
		predicates_announce(t, announce);
	recorder_open(&t->recorder, &t->session, NULL, true);
	if (t->listens) {
		recorder_find_late(&t->recorder, announce);
		recorder_find(&t->recorder, true);
	}
	t->asked_ns = clock_now_ns(CLOCK_MONOTONIC);
	t->begun = true;
	return 0;
}

struct happened {
	u64 ns; /* CLOCK_MONOTONIC */
	u32 pid, tid;
	const struct pantrace_event_type *type;
};

typedef VECTOR(struct happened) happened_vector;

static int by_time(const void *a, const void *b)
{
	const u64 x = ((const struct happened *)a)->ns, y = ((const struct happened *)b)->ns;

	return (x > y) - (x < y);
}

/*
 * A program that says that something is yet to happen would be waited for for ever: it is NOW. What
 * comes while we look is for the next time.
 */
static void collect(struct pantrace_reader *reader, u64 now, happened_vector *all)
{
	const struct pantrace_shm *const h = pantrace_reader_header(reader);
	struct pantrace_packet_view packet;
	struct pantrace_event_view event;

	for (u32 ring = 0; ring < pantrace_reader_rings(reader); ring++) {
		for (u32 n = 0; n <= h->nr_subs; n++) {
			size_t at;

			if (pantrace_reader_packet(reader, ring, &packet) != 1)
				break;
			at = packet.from;

			while (pantrace_reader_event(reader, &packet, &at, &event) == 1) {
				const __int128 ticks = (__int128)event.tsc - h->tsc_start;
				const __int128 ns = (__int128)h->monotonic_start_ns +
						    ticks * 1000000000 / h->tsc_hz;
				struct happened one = {.pid = h->pid, .type = event.type};

				one.ns = ns < 0 ? 0 : ns < (__int128)now + AHEAD_NS ? (u64)ns : now;
				if (event.contexts_size >= sizeof(one.tid))
					memcpy(&one.tid, event.contexts, sizeof(one.tid));
				vector_push(all, one);
			}
		}
	}
}

static bool is(const char *glob, const struct happened *e)
{
	char name[520];

	snprintf(name, sizeof(name), "%.255s:%.255s", e->type->provider, e->type->name);
	return glob_match(glob, name);
}

static bool rate_passed(struct trigger *t, const struct happened *e)
{
	if (!is(t->event, e))
		return false;
	/* what was published late counts in the window that there is */
	if (e->ns >= t->window_begin + t->window_ns) {
		t->window_begin = e->ns;
		t->count = 0;
	}
	return ++t->count == t->limit + 1;
}

static u32 *latency_chain(struct trigger *t, u32 pid, u32 tid)
{
	const u32 key[] = {pid, tid};

	if (!t->chains)
		t->chains = xzalloc(CHAINS * sizeof(*t->chains));
	return &t->chains[hash_bytes(key, sizeof(key)) % CHAINS];
}

static void latency_begin(struct trigger *t, const struct happened *e)
{
	u32 *const chain = latency_chain(t, e->pid, e->tid);
	u32 place = t->free;

	if (place) {
		t->free = t->open.items[place - 1].next;
	} else if (t->open.len == OPEN_MAX_) {
		t->unwatched++;
		return;
	} else {
		vector_push(&t->open, (struct trigger_open){0});
		place = (u32)t->open.len;
	}
	t->open.items[place - 1] = (struct trigger_open){e->pid, e->tid, e->ns, *chain};
	*chain = place;
}

/* Its place is another one's from here on. */
static void latency_take(struct trigger *t, u32 *link)
{
	const u32 place = *link;
	struct trigger_open *const o = &t->open.items[place - 1];

	*link = o->next;
	o->next = t->free;
	t->free = place;
}

/* The end of the one that the thread began first. */
static bool latency_end(struct trigger *t, const struct happened *e)
{
	u32 *found = NULL;
	u64 began;

	for (u32 *link = latency_chain(t, e->pid, e->tid); *link;
	     link = &t->open.items[*link - 1].next)
		if (t->open.items[*link - 1].pid == e->pid &&
		    t->open.items[*link - 1].tid == e->tid)
			found = link;
	if (!found)
		return false;
	began = t->open.items[*found - 1].ns;
	latency_take(t, found);
	return e->ns - began > t->limit;
}

static bool latency_passed(struct trigger *t, const struct happened *e)
{
	if (is(t->end, e))
		return latency_end(t, e);
	if (is(t->event, e))
		latency_begin(t, e);
	return false;
}

/* How many ends are overdue; each is reported once. */
static u32 overdue(struct trigger *t, u64 now)
{
	u32 late = 0;

	for (u32 i = 0; t->chains && i < CHAINS; i++) {
		for (u32 *link = &t->chains[i]; *link;) {
			struct trigger_open *const o = &t->open.items[*link - 1];

			if (now < o->ns || now - o->ns <= t->limit) {
				link = &o->next;
				continue;
			}
			late++;
			latency_take(t, link);
		}
	}
	return late;
}

static bool fires(struct trigger *t, const struct happened *e)
{
	switch (t->kind) {
	case TRIGGER_RATE:
		return rate_passed(t, e);
	case TRIGGER_LATENCY:
		return latency_passed(t, e);
	case TRIGGER_EVENT:
	case TRIGGER_USAGE:
	case TRIGGER_WRITTEN:
		break;
	}
	return is(t->event, e);
}

/* Whether what is said of a session has become true. */
static bool session_passed(struct triggers *t, struct trigger *one)
{
	const bool held = one->holds;
	__int128 value, limit;
	u64 now, size;

	if (!usage_look(one->usage)) {
		t->gone = one->session;
		return false;
	}
	if (!usage_get(one->usage, &now, &size))
		return false;
	value = (__int128)now * (one->is_ratio ? 100000 : 1);
	limit = (__int128)one->limit * (one->is_ratio ? size : 1);
	one->holds = value == limit ? one->or_equal : (value > limit) == (one->sign > 0);
	return one->holds && !held;
}

static void happened_find(struct triggers *t, u64 now, happened_vector *events)
{
	recorder_fd_clear(&t->recorder);
	recorder_find(&t->recorder, now - t->asked_ns >= ASK_NS);
	if (now - t->asked_ns >= ASK_NS)
		t->asked_ns = now;
	for (size_t i = 0; i < t->recorder.sources.len; i++)
		collect(t->recorder.sources.items[i].reader, now, events);
	if (events->len)
		qsort(events->items, events->len, sizeof(*events->items), by_time);
}

void triggers_look(struct triggers *t)
{
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);
	happened_vector events = {0};

	if (t->listens)
		happened_find(t, now, &events);
	for (size_t i = 0; i < t->all.len; i++) {
		struct trigger *const one = &t->all.items[i];

		if (one->session) {
			one->fires += session_passed(t, one);
			continue;
		}
		for (size_t e = 0; e < events.len; e++)
			one->fires += fires(one, &events.items[e]);
		if (one->kind == TRIGGER_LATENCY)
			one->fires += overdue(one, now);
	}
	vector_free(&events);
	recorder_reap(&t->recorder);
}

const char *triggers_round(struct triggers *t)
{
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);
	const char *fired = NULL;

	triggers_look(t);
	for (size_t i = 0; i < t->all.len; i++) {
		if (t->all.items[i].fires)
			fired = t->all.items[i].text;
		t->all.items[i].fires = 0;
	}
	/*
	 * one snapshot serves all that fire within a second; the last of them gets one of its own
	 */
	if (fired)
		t->fired = fired;
	if (!t->fired || now < t->quiet_until_ns)
		return NULL;
	fired = t->fired;
	t->fired = NULL;
	t->quiet_until_ns = now + QUIET_NS;
	return fired;
}

u64 triggers_missed(struct triggers *t, struct diag *d)
{
	u64 lost, unwatched = 0;

	if (t->listens)
		recorder_find_last(&t->recorder);
	lost = recorder_lost(&t->recorder);
	for (size_t i = 0; i < t->all.len; i++)
		unwatched += t->all.items[i].unwatched;
	if (lost)
		diag_warning(d, NO_SPAN, "%" PRIu64 " event%s %s lost before they were looked at",
			     lost, plural(lost), was_were(lost));
	if (unwatched)
		diag_warning(d, NO_SPAN,
			     "%" PRIu64 " %s %s not watched: %d others had begun and not ended",
			     unwatched, unwatched == 1 ? "latency" : "latencies",
			     was_were(unwatched), OPEN_MAX_);
	return lost + unwatched + t->session.refused + t->recorder.nr_refused;
}

void triggers_end(struct triggers *t, struct diag *d)
{
	if (t->begun) {
		recorder_close(&t->recorder);
		if (t->listens)
			user_session_tell(&t->session, "destroy", NULL, d);
		user_session_remove(&t->session);
		user_session_release(&t->session);
	}
	for (size_t i = 0; i < t->all.len; i++)
		trigger_release(&t->all.items[i]);
	vector_free(&t->all);
	t->begun = false;
}
