/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/drawn.h"

#include "cmd/report/names.h"

static int refuse_timeless(struct recording *r, void *arg)
{
	struct drawn *const d = arg;

	return d->needs_times && r->has_no_times && recording_refuse_timeless(r->path, &d->diag)
		       ? EXIT_FAILED
		       : 0;
}

int drawn_open(struct drawn *d, char *const *paths)
{
	static const char *const usual[] = {"perf.data", NULL};
	const struct drawn_arguments *const a = d->arguments;
	int rc;

	d->paths = *paths ? (const char *const *)paths : usual;
	d->all = recordings_new(&(struct recordings_options){
		.events = a->selection.events,
		.files = a->opening.files,
		.clock = a->opening.clock,
		.tsc_hz = opening_tsc_hz(&a->opening),
		.no_symbols = a->opening.no_symbols,
		.recorded_times = selection_takes_recorded(&a->selection, d->paths),
	});
	d->selection.arguments = &a->selection;
	rc = selection_open(&d->selection, d->all, d->paths, d->spec, &d->diag);
	if (!rc)
		rc = recordings_each(d->all, refuse_timeless, d);
	if (rc)
		diag_tell(&d->diag);
	return rc;
}

struct recording *drawn_next(struct drawn *d)
{
	struct recording *const r = selection_next(&d->selection, d->all, &d->diag);

	d->is_unplaced |= r && r->is_unplaced;
	return r;
}

void drawn_end(struct drawn *d, const struct string_list *fields)
{
	struct recording_loss loss;

	report_names_check(d->all, d->selection.where.items, d->selection.where.len, fields,
			   &d->diag);
	loss = recordings_loss(d->all, &d->diag);
	d->lost = loss.events + loss.packets;
	d->has_gaps = loss.gaps;
	d->is_damaged = loss.damaged || d->diag.errors;
	diag_tell(&d->diag);
}

static void add_field(void *arg, const char *name, size_t name_size, const struct field_value *v)
{
	struct strbuf *const out = arg;

	if (v->kind == FIELD_NONE || v->kind == FIELD_LIST)
		return;
	if (out->len)
		strbuf_addch(out, ' ');
	strbuf_add(out, name, name_size);
	strbuf_addch(out, '=');
	if (v->kind == FIELD_TEXT || v->text)
		strbuf_add(out, v->text, v->size);
	else if (v->kind == FIELD_DECIMAL)
		strbuf_addf(out, "%g", v->decimal);
	else
		strbuf_addf(out,
			    v->is_hex	   ? "0x%" PRIx64
			    : v->is_signed ? "%" PRId64
					   : "%" PRIu64,
			    v->integer);
}

void drawn_add_fields(struct recording *r, struct strbuf *out)
{
	r->reader->values(r, add_field, out);
}

void drawn_add_files(const struct drawn *d, struct strbuf *out)
{
	for (const char *const *p = d->paths; *p; p++)
		strbuf_addf(out, "%s%s", p == d->paths ? "" : " ", *p);
}

enum exit_code drawn_code(const struct drawn *d)
{
	if (d->lost)
		complain(d->spec->name, "the tracer lost %" PRIu64 " event%s", d->lost,
			 plural(d->lost));
	return d->is_damaged ? EXIT_FAILED : d->lost || d->has_gaps ? EXIT_LOST : EXIT_OK;
}

void drawn_release(struct drawn *d)
{
	selection_release(&d->selection);
	if (d->all)
		recordings_release(d->all);
	diag_release(&d->diag);
}
