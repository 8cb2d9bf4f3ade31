/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/analysis.h"

#include "base/glob.h"

static const struct {
	const char *name;
	const struct report_analysis *row;
} analyses[] = {{"top", &analysis_top},
		{"latency", &analysis_latency},
#define ROW(name, help) {#name, &analysis_##name},
		REPORT_ANALYSES(ROW)
#undef ROW
};

const struct report_analysis *analysis_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(analyses); i++)
		if (str_eq(analyses[i].name, name))
			return analyses[i].row;
	return NULL;
}

int analysis_begin(struct analysis *a, const struct report_analysis *row,
		   const struct analysis_request *q, struct diag *d)
{
	*a = (struct analysis){.row = row};
	if (row)
		a->state = row->begin(q, d);
	return row && !a->state ? -EINVAL : 0;
}

static u8 role_of(const struct analysis *a, const struct recorded_kind *k)
{
	const struct report_analysis *const row = a->row;

	if (row->role)
		return row->role(a->state, k);
	if (!row->events)
		return ANALYSIS_ROLES;
	for (const struct analysis_event *e = row->events; e->name; e++)
		if (glob_match(e->name, k->name) ||
		    (k->short_name && glob_match(e->name, k->short_name)))
			return e->role;
	return ANALYSIS_NO_ROLE;
}

void analysis_feed(struct analysis *a, struct recording *r)
{
	if (r->kind->role == ANALYSIS_NOT_ASKED)
		r->kind->role = role_of(a, r->kind);
	if (r->kind->role == ANALYSIS_NO_ROLE)
		return;
	a->roles |= 1ull << r->kind->role;
	a->row->feed(a->state, r, r->kind->role);
}

void analysis_lost(struct analysis *a)
{
	if (a->row->lost)
		a->row->lost(a->state);
}

/* The first event of each role names it. */
static bool has_needed(const struct analysis *a, struct diag *d)
{
	u64 missing = 0;

	for (const struct analysis_event *e = a->row->events; e && e->name; e++) {
		const u64 bit = 1ull << e->role;

		if (e->is_needed && !((a->roles | missing) & bit)) {
			diag_error(d, NO_SPAN, "no event '%s' was recorded, which this is made of",
				   e->name);
			missing |= bit;
		}
	}
	if (missing)
		diag_hint(d, "`pantrace record -e '%s'` records it", a->row->record);
	return !missing;
}

void analysis_finish(struct analysis *a, struct report_table *ret, struct diag *d)
{
	*ret = (struct report_table){0};
	if (has_needed(a, d))
		a->row->finish(a->state, ret, d);
}

void analysis_release(struct analysis *a)
{
	if (a->state)
		a->row->release(a->state);
}

u64 analysis_number(struct recording *r, const char *const *names)
{
	struct field_value v = {0};

	for (; *names && v.kind != FIELD_INTEGER; names++)
		v = r->reader->value(r, *names, true);
	return v.kind == FIELD_INTEGER ? v.integer : 0;
}

u64 analysis_context(struct recording *r, const char *name)
{
	const struct field_value v = r->reader->value(r, name, false);

	return v.kind == FIELD_INTEGER ? v.integer : 0;
}

void analysis_task(struct recording *r, bool by_comm, struct strbuf *out)
{
	const struct field_value comm = r->reader->value(r, "comm", false);

	if (comm.kind == FIELD_TEXT)
		strbuf_add(out, comm.text, comm.size);
	else
		strbuf_addch(out, '?');
	if (!by_comm)
		strbuf_addf(out, "-%" PRIu64, analysis_context(r, "tid"));
}
