/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/pairs.h"

#include "base/glob.h"
#include "cmd/report/analysis.h"
#include "cmd/report/selection.h"
#include "kernel/tracefs/event_name.h"
#include "lang/predicate/recorded.h"

struct begun {
	s64 ns;
	u64 losses; /* pairs.losses + 1 when it began; 0 = it has ended */
};

/* ---- parsing ---- */

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

/*
 * Parses "EVENT" or "EVENT /CONDITION/". Returns the rest of the text, or NULL with a diagnostic.
 */
static const char *parse_end(struct pairs *q, const char *p, struct pair_end *ret, struct diag *d)
{
	size_t n = strcspn(p, ",/");
	const char *end;

	ret->event = event_name_bare(trimmed(&q->arena, p, n));
	p += n;
	if (*p == '/') {
		end = strchr(p + 1, '/');
		if (!end) {
			diag_error(d, NO_SPAN,
				   "--latency: the condition of '%s' is not closed by '/'",
				   ret->event);
			return NULL;
		}
		ret->condition = predicate_recorded(
			d, arena_strndup(&q->arena, p + 1, (size_t)(end - p - 1)));
		if (!ret->condition)
			return NULL;
		p = skip_spaces(end + 1);
	}
	if (*ret->event && (!*p || *p == ','))
		return p;
	diag_error(d, NO_SPAN, "--latency: '%s' is not expected here", *p ? p : "nothing");
	return NULL;
}

/* Parses "FIELD" (the same in both events) or "FIELD=FIELD" (in FROM and in TO). */
static void add_key(struct pairs *q, const char *text, size_t n)
{
	struct pair_key *const k = &q->keys[q->nr_keys++];
	char *word = trimmed(&q->arena, text, n), *equals = strchr(word, '=');

	k->field[PAIR_FROM] = k->field[PAIR_TO] = word;
	if (!equals)
		return;
	k->field[PAIR_TO] = skip_spaces(equals + 1);
	k->field[PAIR_FROM] = trimmed(&q->arena, word, (size_t)(equals - word));
}

/* Also takes the spelling of record's triggers: "latency(FROM, TO)" or "(FROM, TO)". */
static int parse(struct pairs *q, const char *text, struct diag *d)
{
	const size_t len = strlen(text);
	const char *p = text;

	if (str_starts(text, "latency(") && text[len - 1] == ')')
		p = arena_strndup(&q->arena, text + 8, len - 9);
	for (u32 i = 0; i < PAIR_ENDS; i++) {
		p = parse_end(q, skip_spaces(p), &q->ends[i], d);
		if (!p)
			break;
		if (i == PAIR_FROM && *p++ != ',') {
			diag_error(d, NO_SPAN, "--latency: the second event is missing in '%s'",
				   text);
			p = NULL;
			break;
		}
	}
	while (p && *p) {
		const char *const word = skip_spaces(p + 1);
		const size_t n = strcspn(word, ",");

		if (q->nr_keys == PAIR_KEYS || !n) {
			diag_error(d, NO_SPAN, "--latency: %s",
				   n ? "there are too many keys" : "a key is missing");
			p = NULL;
			break;
		}
		add_key(q, word, n);
		p = word + n;
	}
	if (!p)
		diag_hint(d, "--latency 'FROM,TO' or 'FROM,TO,KEY', as in 'sched:sched_wakeup, "
			     "sched:sched_switch /prev_prio < 120/, pid=next_pid'");
	else if (!q->nr_keys)
		q->nr_keys = 1; /* the thread */
	return p ? 0 : -EINVAL;
}

struct pairs *pairs_new(const char *text, struct diag *d)
{
	struct pairs *q = xzalloc(sizeof(*q));

	q->key = (struct strbuf)STRBUF_INIT;
	if (!parse(q, text, d))
		return q;
	pairs_release(q);
	return NULL;
}

void pairs_release(struct pairs *q)
{
	if (!q)
		return;
	hashmap_release(&q->begun);
	strbuf_release(&q->key);
	arena_release(&q->arena);
	free(q);
}

enum pair_role pairs_role(const struct pairs *q, const struct recorded_kind *k)
{
	bool is[PAIR_ENDS];

	for (u32 i = 0; i < PAIR_ENDS; i++)
		is[i] = glob_match(q->ends[i].event, k->name) ||
			(k->short_name && glob_match(q->ends[i].event, k->short_name));
	return is[PAIR_FROM] && is[PAIR_TO] ? PAIR_ROLE_BOTH
	       : is[PAIR_FROM]		    ? PAIR_ROLE_FROM
	       : is[PAIR_TO]		    ? PAIR_ROLE_TO
					    : PAIR_NO_ROLE;
}

/* ---- events ---- */

static struct field_value key_value(const struct pair_key *k, struct recording *r, u32 end)
{
	if (k->field[end])
		return r->reader->value(r, k->field[end], false);
	return (struct field_value){.kind = recording_place(r).tid >= 0 ? FIELD_INTEGER
									: FIELD_NONE,
				    .integer = analysis_thread(r)};
}

/* Returns false if the event lacks one of the keys. */
static bool make_key(struct pairs *q, struct recording *r, u32 end)
{
	strbuf_reset(&q->key);
	for (u32 i = 0; i < q->nr_keys; i++) {
		const struct field_value v = key_value(&q->keys[i], r, end);

		if (v.kind == FIELD_TEXT)
			strbuf_add(&q->key, v.text, v.size);
		else if (v.kind == FIELD_INTEGER)
			strbuf_add(&q->key, &v.integer, sizeof(v.integer));
		else
			return false;
		strbuf_addch(&q->key, (char)v.kind);
	}
	return true;
}

static bool is_open(const struct pairs *q, const struct begun *b)
{
	return b->losses == q->losses + 1;
}

static bool end_event(struct pairs *q, struct recording *r, s64 *ret_ns)
{
	struct begun *b;

	if (!make_key(q, r, PAIR_TO)) {
		q->lacking++;
		return false;
	}
	b = hashmap_get(&q->begun, q->key.data, q->key.len);
	if (!b || !is_open(q, b) || b->ns > r->ns) {
		q->unbegun++;
		return false;
	}
	*ret_ns = r->ns - b->ns;
	b->losses = 0;
	q->open--;
	q->ended++;
	return true;
}

static void begin_event(struct pairs *q, struct recording *r)
{
	struct begun *b;
	void **at;

	if (!make_key(q, r, PAIR_FROM)) {
		q->lacking++;
		return;
	}
	at = hashmap_put(&q->begun, q->key.data, q->key.len, NULL);
	if (!*at)
		*at = arena_new(&q->arena, struct begun);
	b = *at;
	if (is_open(q, b))
		q->again++;
	else
		q->open++;
	*b = (struct begun){r->ns, q->losses + 1};
}

static bool holds(struct pair_end *e, struct recording *r)
{
	const bool yes = !e->condition || condition_holds(e->condition, r);

	e->met += yes;
	return yes;
}

/* An event may be TO of one pair and FROM of the next. */
bool pairs_feed(struct pairs *q, struct recording *r, enum pair_role role, s64 *ret_ns)
{
	bool has_ended = false;

	if ((role == PAIR_ROLE_TO || role == PAIR_ROLE_BOTH) && holds(&q->ends[PAIR_TO], r))
		has_ended = end_event(q, r, ret_ns);
	if ((role == PAIR_ROLE_FROM || role == PAIR_ROLE_BOTH) && holds(&q->ends[PAIR_FROM], r))
		begin_event(q, r);
	return has_ended;
}

void pairs_lost(struct pairs *q)
{
	q->losses++;
	q->cut += q->open;
	q->open = 0;
}

bool pairs_check(const struct pairs *q, struct diag *d)
{
	const unsigned int errors = d->errors;

	for (u32 i = 0; i < PAIR_ENDS; i++)
		if (!q->ends[i].met)
			diag_error(d, NO_SPAN, "no event '%s'%s was recorded", q->ends[i].event,
				   q->ends[i].condition ? " for which that holds" : "");
	if (!q->ended && q->lacking)
		diag_error(d, NO_SPAN, "%" PRIu64 " event%s %s not have the key '%s'", q->lacking,
			   plural(q->lacking), q->lacking == 1 ? "does" : "do",
			   q->keys[0].field[PAIR_TO] ?: "tid");
	return d->errors == errors;
}
