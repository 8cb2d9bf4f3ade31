/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/event_json.h"

#include <sys/types.h>

/* Little endian, sign or not; up to 8 bytes. */
static u64 load(const struct type *t, const u8 *data)
{
	const u32 unused = t->size < 8 ? 64 - t->size * 8 : 0;
	u64 v = 0;

	memcpy(&v, data, MIN(t->size, (u32)sizeof(v)));
	return t->is_signed && t->size ? (u64)((s64)(v << unused) >> unused) : v;
}

static void add_number(struct json *j, const struct type *t, const u8 *data)
{
	const u64 v = load(t, data);

	if (t->kind == TYPE_POINTER)
		json_hex(j, v);
	else if (t->kind == TYPE_BOOL)
		json_bool(j, v);
	else if (t->is_signed)
		json_s64(j, (s64)v);
	else
		json_u64(j, v);
}

static void add_text(struct json *j, const u8 *text, size_t max)
{
	json_string(j, (const char *)text, strnlen((const char *)text, max));
}

/* size bytes at data, as many elements as they are. */
static void add_array(struct json *j, const struct type *element, const u8 *data, u32 size)
{
	const u32 step = element->size;

	if (element->is_char) {
		add_text(j, data, size);
		return;
	}
	json_array(j);
	for (u32 at = 0; step && step <= 8 && at + step <= size; at += step)
		add_number(j, element, data + at);
	json_end(j, ']');
}

static bool is_text(const struct type *t)
{
	return t->kind != TYPE_ARRAY || t->element->is_char;
}

/* The value lies elsewhere in the record: a u32 says where, length << 16 | offset. */
static void add_located(struct json *j, const struct type_member *m, const struct page_event *e)
{
	u32 word, offset, len;

	memcpy(&word, e->data + m->offset, sizeof(word));
	offset = (word & 0xffff) + (m->is_rel_loc ? m->offset + 4 : 0);
	len = word >> 16;
	if (offset > e->size || len > e->size - offset)
		json_null(j);
	else if (!len && is_text(m->type)) /* not even a NUL: a probe could not read it */
		json_null(j);
	else if (m->type->kind == TYPE_ARRAY)
		add_array(j, m->type->element, e->data + offset, len);
	else
		add_text(j, e->data + offset, len);
}

static void add_value(struct json *j, const struct type_member *m, const struct page_event *e)
{
	const u32 size = m->is_data_loc || m->is_rel_loc ? 4 : m->type->size;

	if (m->offset > e->size || size > e->size - m->offset)
		json_null(j);
	else if (m->is_data_loc || m->is_rel_loc)
		add_located(j, m, e);
	else if (m->type->kind == TYPE_ARRAY)
		add_array(j, m->type->element, e->data + m->offset,
			  size ? size : e->size - m->offset);
	else if (m->type->kind == TYPE_STRING)
		add_text(j, e->data + m->offset, size);
	else if (size == 1 || size == 2 || size == 4 || size == 8)
		add_number(j, m->type, e->data + m->offset);
	else
		json_null(j);
}

/* Fields of ftrace's own records and of probes that say where in the code it was. */
static bool is_place(const struct type_member *m)
{
	static const char *const names[] = {"ip", "parent_ip", "__probe_ip", "__probe_func",
					    "__probe_ret_ip"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq(names[i], m->name))
			return m->type->kind == TYPE_INT && m->type->size == 8;
	return false;
}

/*
 * By name, as the text has it; those of a program, which has the lower half of addresses, by
 * number.
 */
static void add_place(struct json *j, const struct type_member *m, const struct event_info *info,
		      const struct page_event *e, const struct event_json_names *names)
{
	const bool is_function = str_eq(info->name, "function");
	struct strbuf name = STRBUF_INIT;
	u64 address;

	memcpy(&address, e->data + m->offset, sizeof(address));
	if ((s64)address >= 0) {
		json_hex(j, address);
		return;
	}
	symbol_print(names->kernel, address, is_function ? SYMBOL_PLAIN : SYMBOL_OFFSET, &name);
	json_string(j, name.data, name.len);
	strbuf_release(&name);
}

static void add_fields(struct json *j, const struct event_info *info, const struct page_event *e,
		       const struct event_json_names *names)
{
	json_key(j, "fields");
	json_object(j);
	for (u32 i = 0; i < info->record->count; i++) {
		const struct type_member *m = &info->record->members[i];

		if (!m->name || str_starts(m->name, "common_"))
			continue;
		json_key(j, m->name);
		if (is_place(m) && m->offset + sizeof(u64) <= e->size)
			add_place(j, m, info, e, names);
		else
			add_value(j, m, e);
	}
	json_end(j, '}');
}

static void add_frame(struct json *j, const struct event_json_names *names, bool is_user,
		      pid_t process, u64 address)
{
	struct strbuf name = STRBUF_INIT;

	if (!is_user)
		symbol_print(names->kernel, address, SYMBOL_BACKTRACE, &name);
	else if (!names->user || !names->user(names->arg, process, address, &name))
		strbuf_addf(&name, "0x%" PRIx64, address);
	json_string(j, name.data, name.len);
	strbuf_release(&name);
}

/*
 * Behind the common fields stand the number of frames, of a user stack the process, then the
 * addresses.
 */
static void add_frames(struct json *j, const struct page_event *e, bool is_user,
		       const struct event_json_names *names)
{
	u32 count = e->size > 16 ? (e->size - 16) / 8 : 0, word = 0;

	if (e->size >= 12)
		memcpy(&word, e->data + 8, sizeof(word));
	if (!is_user)
		count = MIN(count, word);
	json_key(j, "frames");
	json_array(j);
	for (u32 i = 0; i < count; i++) {
		u64 address;

		memcpy(&address, e->data + 16 + i * 8, sizeof(address));
		if (!address || address == UINT64_MAX)
			break;
		add_frame(j, names, is_user, (pid_t)word, address);
	}
	json_end(j, ']');
}

void event_json_add(struct json *j, const struct event_info *info, const struct page_event *e,
		    const struct event_json_names *names)
{
	const bool is_user = str_eq(info->name, "user_stack");

	if (is_user || str_eq(info->name, "kernel_stack"))
		add_frames(j, e, is_user, names);
	else
		add_fields(j, info, e, names);
}
