/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --block: latency of disk requests, from issue to completion, by the tracepoints of block or by
 * what the tracer blk recorded.
 */

#include "base/hashmap.h"
#include "cmd/report/analysis.h"
#include "trace/ftrace/blk_text.h"
#include "view/quantiles.h"

enum { INSERT = ANALYSIS_ROLES, ISSUE, COMPLETE, BLK };

static const struct analysis_event events[] = {
	{"block:block_rq_issue", ISSUE},
	{"block_rq_issue", ISSUE},
	{"block:block_rq_complete", COMPLETE},
	{"block_rq_complete", COMPLETE},
	{"block:block_rq_insert", INSERT},
	{"block_rq_insert", INSERT},
	{"ftrace:" BLK_EVENT, BLK},
	{BLK_EVENT, BLK},
	{0},
};

struct request {
	s64 inserted_ns, issued_ns;
	bool is_inserted, is_issued;
};

struct kind {
	const char *names[2]; /* "8,0", "WS" */
	u64 requests, bytes, errors;
	struct quantiles queued, took;
};

struct block {
	struct arena arena;
	struct hashmap requests; /* key: u64 host, device, sector, whether it carries data */
	struct hashmap kinds; /* key: "8,0\0WS" */
	struct strbuf key;
	u64 open, cut; /* cut: open when events were lost */
	bool has_issues, has_ends;
};

/* An event of a request, whichever way it was recorded. */
struct step {
	u8 role;
	u64 dev, sector, bytes;
	bool has_failed;
	const char *op; /* "WS" */
	size_t op_size;
	char text[BLK_OP_SIZE];
};

static void *block_begin(const struct analysis_request *q, struct diag *d)
{
	struct block *b = xzalloc(sizeof(*b));

	b->key = (struct strbuf)STRBUF_INIT;
	return b;
}

static void block_release(void *state)
{
	struct block *const b = state;

	hashmap_each (&b->kinds, e) {
		struct kind *const k = e->value;

		quantiles_release(&k->queued);
		quantiles_release(&k->took);
	}
	hashmap_release(&b->requests);
	hashmap_release(&b->kinds);
	strbuf_release(&b->key);
	arena_release(&b->arena);
	free(b);
}

/* Flush requests carry no data, so one may be in flight at the same sector as a write. */
static struct request *request_of(struct block *b, u64 host, u64 dev, u64 sector, bool is_empty)
{
	const u64 key[] = {host, dev, sector, is_empty};
	void **at = hashmap_put(&b->requests, key, sizeof(key), NULL);

	if (!*at)
		*at = arena_new(&b->arena, struct request);
	return *at;
}

/* The kernel's dev_t has 20 bits of minor number. */
static struct kind *kind_of(struct block *b, const struct step *step)
{
	struct kind *k;
	size_t n;
	void **at;

	strbuf_reset(&b->key);
	strbuf_addf(&b->key, "%" PRIu64 ",%" PRIu64, step->dev >> 20, step->dev & 0xfffff);
	strbuf_addch(&b->key, '\0');
	n = b->key.len;
	if (step->op)
		strbuf_add(&b->key, step->op, step->op_size);
	else
		strbuf_addch(&b->key, '?');
	at = hashmap_put(&b->kinds, b->key.data, b->key.len, NULL);
	if (*at)
		return *at;
	k = *at = arena_new(&b->arena, struct kind);
	k->names[0] = arena_strdup(&b->arena, b->key.data);
	k->names[1] = arena_strdup(&b->arena, b->key.data + n);
	return k;
}

static void completed(struct block *b, struct recording *r, struct request *q,
		      const struct step *step)
{
	struct kind *const k = kind_of(b, step);

	k->requests++;
	k->bytes += step->bytes;
	k->errors += step->has_failed;
	if (q->is_issued)
		quantiles_add(&k->took, r->ns - q->issued_ns);
	if (q->is_issued && q->is_inserted)
		quantiles_add(&k->queued, q->issued_ns - q->inserted_ns);
	b->open -= q->is_issued;
	*q = (struct request){0};
}

static u64 number(struct recording *r, const char *name)
{
	return analysis_number(r, (const char *const[]){name, NULL});
}

/* A tracepoint of block. */
static void step_of_tracepoint(struct recording *r, struct step *ret)
{
	static const char *const errors[] = {"error", "errors", NULL};
	const struct field_value op = r->reader->value(r, "rwbs", true);

	ret->dev = number(r, "dev");
	ret->bytes = number(r, "nr_sector") * 512;
	ret->has_failed = analysis_number(r, errors) != 0;
	if (op.kind == FIELD_TEXT) {
		ret->op = op.text;
		ret->op_size = op.size;
	}
}

/* A record of blk: its action says what it is. False: it is none of a request's steps. */
static bool step_of_blk(struct recording *r, struct step *ret)
{
	const u32 action = (u32)number(r, "action");
	const u32 what = BLK_ACTION(action);

	ret->role = what == BLK_INSERT	   ? INSERT
		    : what == BLK_ISSUE	   ? ISSUE
		    : what == BLK_COMPLETE ? COMPLETE
					   : ANALYSIS_NO_ROLE;
	ret->dev = number(r, "device");
	ret->bytes = number(r, "bytes");
	ret->has_failed = number(r, "error") != 0;
	blk_op_text(action, (u32)ret->bytes, ret->text);
	ret->op = ret->text;
	ret->op_size = strlen(ret->text);
	return ret->role != ANALYSIS_NO_ROLE;
}

static void block_feed(void *state, struct recording *r, u8 role)
{
	struct block *const b = state;
	struct step step = {.role = role, .sector = number(r, "sector")};
	struct request *q;

	if (role != BLK)
		step_of_tracepoint(r, &step);
	else if (!step_of_blk(r, &step))
		return;
	q = request_of(b, analysis_host(r), step.dev, step.sector, !step.bytes);
	switch (step.role) {
	case INSERT:
		*q = (struct request){.inserted_ns = r->ns, .is_inserted = true};
		break;
	case ISSUE:
		b->has_issues = true;
		b->open += !q->is_issued;
		q->issued_ns = r->ns;
		q->is_issued = true;
		break;
	default:
		b->has_ends = true;
		completed(b, r, q, &step);
	}
}

static void block_lost(void *state)
{
	struct block *const b = state;

	hashmap_each (&b->requests, e)
		*(struct request *)e->value = (struct request){0};
	b->cut += b->open;
	b->open = 0;
}

static const struct table_column columns[] = {
	{"total_ns", "TIME(ms)", TABLE_MS, true},
	{"requests", "REQUESTS", TABLE_COUNT, true},
	{"bytes", "BYTES", TABLE_COUNT, true},
	{"errors", "ERRORS", TABLE_COUNT, true},
	{"queue_average_ns", "QUEUED(us)", TABLE_US, false},
	{"average_ns", "AVERAGE(us)", TABLE_US, false},
	{"p50_ns", "P50(us)", TABLE_US, false},
	{"p99_ns", "P99(us)", TABLE_US, false},
	{"max_ns", "MAX(us)", TABLE_US, false},
	{0},
};

static void block_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct block *const b = state;

	if (!b->has_issues || !b->has_ends) {
		diag_error(d, NO_SPAN,
			   "no event 'block:block_rq_%s' was recorded, which this is made of",
			   b->has_issues ? "complete" : "issue");
		analysis_hint_record(&analysis_block, d);
		return;
	}
	*ret = (struct report_table){
		.keys = {"device", "operation"}, .nr_keys = 2, .columns = columns, .is_flat = true};
	hashmap_each (&b->kinds, e) {
		struct kind *const k = e->value;
		const char **const names = arena_memdup(&ret->arena, k->names, sizeof(k->names));
		struct table_row *const row = table_add(ret, 1, names);
		const u64 values[] = {
			(u64)(s64)k->took.sum,
			k->requests,
			k->bytes,
			k->errors,
			(u64)quantiles_average(&k->queued),
			(u64)quantiles_average(&k->took),
			(u64)quantiles_at(&k->took, 0.5),
			(u64)quantiles_at(&k->took, 0.99),
			(u64)k->took.max,
		};

		for (u32 i = 0; i < 2; i++)
			names[i] = arena_strdup(&ret->arena, names[i]);
		memcpy(row->values, values, sizeof(values));
	}
	table_sort(ret);
}

static void block_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct block *const b = state;

	if (b->open + b->cut)
		strbuf_addf(out, "\nnot in it: %" PRIu64 " request%s whose end was not recorded\n",
			    b->open + b->cut, plural(b->open + b->cut));
}

static const char *const recorded[] = {"block:block_rq_*", NULL};

const struct report_analysis analysis_block = {
	.events = events,
	.record = recorded,
	.record_machine = true,
	.begin = block_begin,
	.feed = block_feed,
	.lost = block_lost,
	.finish = block_finish,
	.text = block_text,
	.release = block_release,
};
