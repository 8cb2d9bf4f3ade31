/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One table (RFC 4180): what all events have, then the fields that were asked for, or all of them
 * as JSON in the last column. Text is escaped only on a terminal, so that programs read it back
 * unchanged; a spreadsheet may take what begins with '=', '+', '-' or '@' for a formula.
 */
#include "base/escape.h"
#include "trace/writers/writer.h"

static void add_quoted(struct strbuf *out, const char *text, size_t n)
{
	strbuf_addch(out, '"');
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			strbuf_addch(out, '"');
		strbuf_addch(out, text[i]);
	}
	strbuf_addch(out, '"');
}

static void add_text(struct trace_writer *w, const char *text, size_t n)
{
	struct strbuf shown = STRBUF_INIT;
	bool is_plain = true;

	if (w->options.on_terminal) {
		escape_line(&shown, text, n);
		text = shown.data;
		n = shown.len;
	}
	for (size_t i = 0; i < n && is_plain; i++)
		is_plain = text[i] != '"' && text[i] != ',' && text[i] != '\n' && text[i] != '\r';
	if (is_plain)
		strbuf_add(&w->out, text, n);
	else
		add_quoted(&w->out, text, n);
	strbuf_release(&shown);
}

static void add_value(struct trace_writer *w, struct recording *r, const char *name)
{
	struct strbuf *const out = &w->out;
	const struct field_value v = r->reader->value(r, name, true);

	strbuf_addch(out, ',');
	if (v.kind == FIELD_TEXT || (v.kind == FIELD_INTEGER && v.text))
		add_text(w, v.text, v.size);
	else if (v.kind == FIELD_INTEGER && v.is_signed)
		strbuf_addf(out, "%" PRId64, (s64)v.integer);
	else if (v.kind == FIELD_INTEGER)
		strbuf_addf(out, "%" PRIu64, v.integer);
	else if (v.kind == FIELD_DECIMAL)
		strbuf_addf(out, "%.17g", v.decimal);
}

static void add_id(struct strbuf *out, s64 id)
{
	strbuf_addch(out, ',');
	if (id >= 0)
		strbuf_addf(out, "%" PRId64, id);
}

static void csv_begin(struct trace_writer *w)
{
	const struct string_list *const fields = &w->options.fields;

	strbuf_addstr(&w->out, "time_ns,cpu,pid,tid,comm,event");
	for (u32 i = 0; i < fields->count; i++) {
		strbuf_addch(&w->out, ',');
		add_text(w, fields->items[i], strlen(fields->items[i]));
	}
	strbuf_addstr(&w->out, fields->count ? "\r\n" : ",fields\r\n");
}

static void csv_event(struct trace_writer *w, struct recording *r)
{
	const struct string_list *const fields = &w->options.fields;
	const struct recorded_place place = recording_place(r);
	struct strbuf all = STRBUF_INIT;
	struct json j = JSON_INIT(&all);

	strbuf_addf(&w->out, "%" PRId64, r->ns);
	add_id(&w->out, place.cpu);
	add_id(&w->out, place.pid);
	add_id(&w->out, place.tid);
	strbuf_addch(&w->out, ',');
	if (place.comm)
		add_text(w, place.comm, place.comm_size);
	strbuf_addch(&w->out, ',');
	add_text(w, r->kind->name, strlen(r->kind->name));
	for (u32 i = 0; i < fields->count; i++)
		add_value(w, r, fields->items[i]);
	if (!fields->count) {
		r->reader->fields(r, &j);
		strbuf_addch(&w->out, ',');
		add_text(w, all.data, all.len);
	}
	strbuf_addstr(&w->out, "\r\n");
	strbuf_release(&all);
}

const struct trace_format csv_format = {
	.name = "csv",
	.has_times = true,
	.suffixes = {".csv"},
	.size = sizeof(struct trace_writer),
	.begin = csv_begin,
	.event = csv_event,
};
