/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --latency FROM,TO[,KEY...]: the time from one event to the next of another that has the same keys
 * (without any: that is of the same thread). FROM that comes again begins anew.
 */
#include "base/glob.h"
#include "base/hashmap.h"
#include "cmd/report/analysis.h"
#include "kernel/tracefs/event_name.h"
#include "lang/predicate/recorded.h"
#include "view/histogram.h"
#include "view/quantiles.h"

enum { FROM, TO, ENDS };
enum { ROLE_FROM = ANALYSIS_ROLES, ROLE_TO, ROLE_BOTH };

struct latency_end {
	const char *event; /* a glob */
	const struct expr *condition; /* NULL = none */
	u64 met; /* events that it holds for */
};

struct latency_key {
	const char *field[ENDS];
};

struct begun {
	s64 ns;
	bool is_open;
};

struct latency {
	struct arena arena;
	struct latency_end ends[ENDS];
	struct latency_key keys[TABLE_KEYS];
	u32 nr_keys;
	struct hashmap begun; /* by keys */
	struct strbuf key;
	u64 open, cut, again, unbegun, lacking; /* cut: where events were lost */
	struct quantiles values;
	s64 max_at; /* when the longest one ended */
	u64 buckets[2][66]; /* of nanoseconds, of microseconds */
};

/* ---- what is asked for ---- */

static const char *skip_spaces(const char *p)
{
	return p + strspn(p, " \t");
}

static char *trimmed(struct arena *a, const char *text, size_t n)
{
	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	return arena_strndup(a, text, n);
}

/* "EVENT" or "EVENT /CONDITION/"; returns what is behind it, NULL with a diagnostic. */
static const char *parse_end(struct latency *l, const char *p, struct latency_end *ret,
			     struct diag *d)
{
	size_t n = strcspn(p, ",/");
	const char *end;

	ret->event = event_name_bare(trimmed(&l->arena, p, n));
	p += n;
	if (*p == '/') {
		end = strchr(p + 1, '/');
		if (!end) {
			diag_error(d, NO_SPAN, "--latency: the condition behind '%s' has no end",
				   ret->event);
			return NULL;
		}
		ret->condition = predicate_recorded(
			d, arena_strndup(&l->arena, p + 1, (size_t)(end - p - 1)));
		if (!ret->condition)
			return NULL;
		p = skip_spaces(end + 1);
	}
	if (*ret->event && (!*p || *p == ','))
		return p;
	diag_error(d, NO_SPAN, "--latency: '%s' is not expected here", *p ? p : "nothing");
	return NULL;
}

/* "FIELD" of both, or "FIELD=FIELD" of the one and of the other. */
static void add_key(struct latency *l, const char *text, size_t n)
{
	struct latency_key *const k = &l->keys[l->nr_keys++];
	char *word = trimmed(&l->arena, text, n), *equals = strchr(word, '=');

	k->field[FROM] = k->field[TO] = word;
	if (!equals)
		return;
	k->field[TO] = skip_spaces(equals + 1);
	k->field[FROM] = trimmed(&l->arena, word, (size_t)(equals - word));
}

/* Both are spelt as in record's triggers: latency(FROM, TO); the name may be left out. */
static int parse(struct latency *l, const char *text, struct diag *d)
{
	const size_t len = strlen(text);
	const char *p = text;

	if (str_starts(text, "latency(") && text[len - 1] == ')')
		p = arena_strndup(&l->arena, text + 8, len - 9);
	for (u32 i = 0; i < ENDS; i++) {
		p = parse_end(l, skip_spaces(p), &l->ends[i], d);
		if (!p)
			break;
		if (i == FROM && *p++ != ',') {
			diag_error(d, NO_SPAN, "--latency: the second event is missing in '%s'",
				   text);
			p = NULL;
			break;
		}
	}
	while (p && *p) {
		const char *const word = skip_spaces(p + 1);
		const size_t n = strcspn(word, ",");

		if (l->nr_keys == TABLE_KEYS || !n) {
			diag_error(d, NO_SPAN, "--latency: %s",
				   n ? "there are too many keys" : "a key is missing");
			p = NULL;
			break;
		}
		add_key(l, word, n);
		p = word + n;
	}
	if (!p)
		diag_hint(d, "--latency 'FROM,TO' or 'FROM,TO,KEY', as in 'sched:sched_wakeup, "
			     "sched:sched_switch /prev_prio < 120/, pid=next_pid'");
	else if (!l->nr_keys)
		add_key(l, "tid", 3);
	return p ? 0 : -EINVAL;
}

static void latency_release(void *state)
{
	struct latency *const l = state;

	quantiles_release(&l->values);
	hashmap_release(&l->begun);
	strbuf_release(&l->key);
	arena_release(&l->arena);
	free(l);
}

static void *latency_begin(const struct analysis_request *q, struct diag *d)
{
	struct latency *l = xzalloc(sizeof(*l));

	l->key = (struct strbuf)STRBUF_INIT;
	if (!parse(l, q->latency, d))
		return l;
	latency_release(l);
	return NULL;
}

static u8 latency_role(void *state, const struct recorded_kind *k)
{
	const struct latency *const l = state;
	bool is[ENDS];

	for (u32 i = 0; i < ENDS; i++)
		is[i] = glob_match(l->ends[i].event, k->name) ||
			(k->short_name && glob_match(l->ends[i].event, k->short_name));
	return is[FROM] && is[TO] ? ROLE_BOTH
	       : is[FROM]	  ? ROLE_FROM
	       : is[TO]		  ? ROLE_TO
				  : ANALYSIS_NO_ROLE;
}

/* ---- events ---- */

static struct field_value look_up(void *arg, const char *name, bool only_field)
{
	struct recording *const from = arg;

	return from->reader->value(from, name, only_field);
}

/* False: the event has not all keys. */
static bool make_key(struct latency *l, struct recording *r, u32 end)
{
	strbuf_reset(&l->key);
	for (u32 i = 0; i < l->nr_keys; i++) {
		const struct field_value v = r->reader->value(r, l->keys[i].field[end], false);

		if (v.kind == FIELD_TEXT)
			strbuf_add(&l->key, v.text, v.size);
		else if (v.kind == FIELD_INTEGER)
			strbuf_add(&l->key, &v.integer, sizeof(v.integer));
		else
			return false;
		strbuf_addch(&l->key, (char)v.kind);
	}
	return true;
}

static void add_bucket(u64 *buckets, u64 v)
{
	buckets[v ? 65 - __builtin_clzll(v) : 1]++;
}

static void ended(struct latency *l, struct begun *b, s64 ns)
{
	const s64 took = ns - b->ns;

	if (!l->values.count || took > l->values.max)
		l->max_at = ns;
	quantiles_add(&l->values, took);
	add_bucket(l->buckets[0], (u64)took);
	add_bucket(l->buckets[1], (u64)took / 1000);
	b->is_open = false;
	l->open--;
}

static void end_event(struct latency *l, struct recording *r)
{
	struct begun *b;

	if (!make_key(l, r, TO)) {
		l->lacking++;
		return;
	}
	b = hashmap_get(&l->begun, l->key.data, l->key.len);
	if (b && b->is_open && b->ns <= r->ns)
		ended(l, b, r->ns);
	else
		l->unbegun++;
}

static void begin_event(struct latency *l, struct recording *r)
{
	struct begun *b;
	void **at;

	if (!make_key(l, r, FROM)) {
		l->lacking++;
		return;
	}
	at = hashmap_put(&l->begun, l->key.data, l->key.len, NULL);
	if (!*at)
		*at = arena_new(&l->arena, struct begun);
	b = *at;
	if (b->is_open)
		l->again++;
	else
		l->open++;
	*b = (struct begun){r->ns, true};
}

static bool holds(struct latency_end *e, struct recording *r)
{
	const bool yes = !e->condition || predicate_holds(e->condition, look_up, r);

	e->met += yes;
	return yes;
}

/* An event that is both ends the one before and begins the next. */
static void latency_feed(void *state, struct recording *r, u8 role)
{
	struct latency *const l = state;

	if (role != ROLE_FROM && holds(&l->ends[TO], r))
		end_event(l, r);
	if (role != ROLE_TO && holds(&l->ends[FROM], r))
		begin_event(l, r);
}

static void latency_lost(void *state)
{
	struct latency *const l = state;

	hashmap_each (&l->begun, e)
		((struct begun *)e->value)->is_open = false;
	l->cut += l->open;
	l->open = 0;
}

/* ---- the table ---- */

static const struct table_column columns[] = {
	{"count", "COUNT", TABLE_COUNT, true},
	{"average_ns", "AVERAGE(us)", TABLE_US, false},
	{"min_ns", "MIN(us)", TABLE_US, false},
	{"p50_ns", "P50(us)", TABLE_US, false},
	{"p90_ns", "P90(us)", TABLE_US, false},
	{"p99_ns", "P99(us)", TABLE_US, false},
	{"p999_ns", "P99.9(us)", TABLE_US, false},
	{"max_ns", "MAX(us)", TABLE_US, false},
	{"max_time_ns", "MAX AT", TABLE_TIME, false},
	{0},
};

static void latency_finish(void *state, struct report_table *ret, struct diag *d)
{
	static const double parts[] = {0.5, 0.9, 0.99, 0.999};
	struct latency *const l = state;
	const unsigned int errors = d->errors;
	struct table_row *row;
	char *name;

	for (u32 i = 0; i < ENDS; i++)
		if (!l->ends[i].met)
			diag_error(d, NO_SPAN, "no event '%s'%s was recorded", l->ends[i].event,
				   l->ends[i].condition ? " for which that holds" : "");
	if (!l->values.count && l->lacking)
		diag_error(d, NO_SPAN, "%" PRIu64 " events have not the key '%s'", l->lacking,
			   l->keys[0].field[TO]);
	if (d->errors > errors)
		return;
	*ret = (struct report_table){
		.keys = {"latency"}, .nr_keys = 1, .columns = columns, .main = 1};
	name = xasprintf("%s to %s", l->ends[FROM].event, l->ends[TO].event);
	row = table_add_flat(ret, name);
	free(name);
	row->values[0] = l->values.count;
	row->values[1] = (u64)quantiles_average(&l->values);
	row->values[2] = (u64)l->values.min;
	for (u32 i = 0; i < ARRAY_SIZE(parts); i++)
		row->values[3 + i] = (u64)quantiles_at(&l->values, parts[i]);
	row->values[7] = (u64)l->values.max;
	row->values[8] = (u64)l->max_at;
}

static void latency_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct latency *const l = state;
	const bool in_us = l->values.max >= 100000;
	const struct type type = {.kind = TYPE_HIST};
	const struct histogram h = {
		.type = &type, .buckets = l->buckets[in_us], .nbuckets = ARRAY_SIZE(l->buckets[0])};

	if (l->values.count) {
		strbuf_addf(out, "\n%s:\n", in_us ? "microseconds" : "nanoseconds");
		histogram_text(out, &h);
	}
	if (l->open || l->cut || l->again || l->unbegun)
		strbuf_addf(out,
			    "\nnot in it: %" PRIu64 " begun and not ended, %" PRIu64
			    " begun again before they ended, %" PRIu64
			    " ended that did not begin\n",
			    l->open + l->cut, l->again, l->unbegun);
}

const struct report_analysis analysis_latency = {
	.begin = latency_begin,
	.role = latency_role,
	.feed = latency_feed,
	.lost = latency_lost,
	.finish = latency_finish,
	.text = latency_text,
	.release = latency_release,
};
