/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/analysis.h"

#include "base/glob.h"
#include "base/hashmap.h"
#include "trace/ftrace/number_text.h"

#define IDLE (1u << 31) /* beyond all thread numbers */

static const struct {
	const char *name;
	const struct report_analysis *row;
} analyses[] = {{"top", &analysis_top},
		{"latency", &analysis_latency},
		{"calls", &analysis_calls},
		{"annotate", &analysis_annotate},
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

void analysis_machines(struct analysis *a, struct recordings *all)
{
	if (a->row && a->row->machine)
		recordings_each_machine(all, a->row->machine, a->state);
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

void analysis_hint_record(const struct report_analysis *row, struct diag *d)
{
	struct strbuf command = STRBUF_INIT;

	if (row->record)
		strbuf_addstr(&command, "pantrace record -e '");
	for (u32 i = 0; row->record && row->record[i]; i++)
		strbuf_addf(&command, "%s%s", i ? "," : "", row->record[i]);
	if (row->record)
		strbuf_addch(&command, '\'');
	diag_hint(d, "`%s` records it", row->record ? command.data : row->record_command);
	strbuf_release(&command);
}

/* Reports a missing role by its first event. */
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
		analysis_hint_record(a->row, d);
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

/* Two names get the same number once in 2^32 pairs. */
static u64 host_of(const struct recorded_place *p)
{
	return p->host ? (u64)hash_bytes(p->host, strlen(p->host)) << 32 : 0;
}

u64 analysis_host(struct recording *r)
{
	const struct recorded_place place = recording_place(r);

	return host_of(&place);
}

u64 analysis_thread(struct recording *r)
{
	const struct recorded_place place = recording_place(r);

	return host_of(&place) | (place.tid > 0 ? (u64)place.tid : IDLE | (u32)MAX(place.cpu, 0));
}

void analysis_refuse_sum(const char *field, struct diag *d)
{
	diag_error(d, NO_SPAN, "'%s' or its sum does not fit 63 bits", field);
}

u64 analysis_cpu(struct recording *r)
{
	const s64 cpu = recording_place(r).cpu;

	return cpu > 0 ? (u64)cpu : 0;
}

void analysis_symbol(const struct recorded_frame *f, struct strbuf *out)
{
	if (f->symbol)
		strbuf_addstr(out, f->symbol);
	else
		strbuf_addf(out, "0x%016" PRIx64, f->in_file);
}

void analysis_task(struct recording *r, bool by_comm, struct strbuf *out)
{
	const struct recorded_place place = recording_place(r);

	if (place.comm)
		strbuf_add(out, place.comm, place.comm_size);
	else
		strbuf_addch(out, '?');
	if (by_comm || r->reader->comm_says_who)
		return;
	strbuf_addch(out, '-');
	text_unsigned(out, place.tid > 0 ? (u64)place.tid : 0);
}
