/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events as JSON: what every event has, then its fields by their names. */
#include "base/escape.h"
#include "cmd/ftrace_session.h"
#include "view/value.h"

struct json {
	struct ftrace_session *session;
	const struct raw_event *e;
	struct strbuf *out;
};

static void add_text(struct json *j, const void *text, size_t max)
{
	strbuf_addch(j->out, '"');
	escape_json(j->out, text, strnlen(text, max));
	strbuf_addch(j->out, '"');
}

/* Numbers that JSON's readers take for inexact go as they are: jq and Python read them whole. */
static void add_number(struct json *j, const struct type *t, const void *data)
{
	const s64 v = value_integer(t, data);

	if (t->kind == TYPE_POINTER)
		strbuf_addf(j->out, "\"0x%" PRIx64 "\"", (u64)v);
	else if (t->kind == TYPE_BOOL)
		strbuf_addstr(j->out, v ? "true" : "false");
	else if (t->is_signed)
		strbuf_addf(j->out, "%" PRId64, v);
	else
		strbuf_addf(j->out, "%" PRIu64, (u64)v);
}

/* size bytes at data, as many elements as they are. */
static void add_array(struct json *j, const struct type *element, const u8 *data, u32 size)
{
	const u32 step = element->size;

	if (element->is_char) {
		add_text(j, data, size);
		return;
	}
	strbuf_addch(j->out, '[');
	for (u32 at = 0; step && step <= 8 && at + step <= size; at += step) {
		if (at)
			strbuf_addch(j->out, ',');
		add_number(j, element, data + at);
	}
	strbuf_addch(j->out, ']');
}

static bool is_text(const struct type *t)
{
	return t->kind != TYPE_ARRAY || t->element->is_char;
}

/* The value lies elsewhere in the record: a u32 says where, length << 16 | offset. */
static void add_elsewhere(struct json *j, const struct type_member *m)
{
	const struct page_event *e = &j->e->event;
	u32 word, offset, len;

	memcpy(&word, e->data + m->offset, sizeof(word));
	offset = (word & 0xffff) + (m->is_rel_loc ? m->offset + 4 : 0);
	len = word >> 16;
	if (offset > e->size || len > e->size - offset)
		strbuf_addstr(j->out, "null");
	else if (!len && is_text(m->type)) /* not even a NUL: a probe could not read it */
		strbuf_addstr(j->out, "null");
	else if (m->type->kind == TYPE_ARRAY)
		add_array(j, m->type->element, e->data + offset, len);
	else
		add_text(j, e->data + offset, len);
}

static void add_value(struct json *j, const struct type_member *m)
{
	const struct page_event *e = &j->e->event;
	const u32 size = m->is_data_loc || m->is_rel_loc ? 4 : m->type->size;

	if (m->offset > e->size || size > e->size - m->offset) {
		strbuf_addstr(j->out, "null");
		return;
	}
	if (m->is_data_loc || m->is_rel_loc)
		add_elsewhere(j, m);
	else if (m->type->kind == TYPE_ARRAY)
		add_array(j, m->type->element, e->data + m->offset,
			  size ? size : e->size - m->offset);
	else if (m->type->kind == TYPE_STRING)
		add_text(j, e->data + m->offset, size);
	else if (size == 1 || size == 2 || size == 4 || size == 8)
		add_number(j, m->type, e->data + m->offset);
	else
		strbuf_addstr(j->out, "null");
}

static void add_fields(struct json *j, const struct event_info *info)
{
	for (u32 i = 0; i < info->record->count; i++) {
		const struct type_member *m = &info->record->members[i];

		if (!m->name || str_starts(m->name, "common_"))
			continue;
		strbuf_addstr(j->out, ",\"");
		escape_json(j->out, m->name, strlen(m->name));
		strbuf_addstr(j->out, "\":");
		add_value(j, m);
	}
}

/* A stack's frames by name, innermost first. */
static void add_frames(struct json *j, const struct event_info *info)
{
	const bool is_user = str_eq(info->name, "user_stack");
	const struct page_event *e = &j->e->event;
	u32 count = e->size > 16 ? (e->size - 16) / 8 : 0, word = 0;
	struct strbuf name = STRBUF_INIT;
	struct symbol_name symbol;

	if (e->size >= 12)
		memcpy(&word, e->data + 8, sizeof(word));
	if (!is_user)
		count = MIN(count, word);
	strbuf_addstr(j->out, ",\"frames\":[");
	for (u32 i = 0; i < count; i++) {
		u64 address;

		memcpy(&address, e->data + 16 + i * 8, sizeof(address));
		if (!address || address == UINT64_MAX)
			break;
		strbuf_reset(&name);
		if (!is_user)
			symbol_print(j->session->text.context.symbols, address, SYMBOL_BACKTRACE,
				     &name);
		else if (symbolize_user(ftrace_session_symbols(j->session), (pid_t)word, address,
					&symbol))
			strbuf_addf(&name, "%s+0x%" PRIx64, symbol.function, symbol.offset);
		else
			strbuf_addf(&name, "0x%" PRIx64, address);
		strbuf_addstr(j->out, i ? "," : "");
		add_text(j, name.data, name.len);
	}
	strbuf_addch(j->out, ']');
	strbuf_release(&name);
}

void ftrace_json_event(struct ftrace_session *s, const struct raw_event *e, struct strbuf *out)
{
	const struct event_info *info = event_table_get(s->text.events, page_event_id(&e->event));
	struct json j = {.session = s, .e = e, .out = out};
	s32 pid = 0;
	const char *comm;
	size_t len;

	if (e->event.size >= 8)
		memcpy(&pid, e->event.data + 4, sizeof(pid));
	comm = task_name(s->text.tasks, pid, &len);
	strbuf_addf(out, "{\"time_ns\":%" PRIu64 ",\"cpu\":%u,\"pid\":%d,\"comm\":", e->event.time,
		    e->cpu, pid);
	add_text(&j, comm, len);
	if (e->lost == PAGE_LOST_UNKNOWN)
		strbuf_addstr(out, ",\"lost\":null");
	else if (e->lost)
		strbuf_addf(out, ",\"lost\":%" PRIu64, e->lost);
	strbuf_addstr(out, ",\"event\":");
	if (!info) {
		strbuf_addf(out, "\"%u\"}\n", page_event_id(&e->event));
		return;
	}
	add_text(&j, info->name, strlen(info->name));
	if (str_eq(info->name, "kernel_stack") || str_eq(info->name, "user_stack"))
		add_frames(&j, info);
	else
		add_fields(&j, info);
	strbuf_addstr(out, "}\n");
}
