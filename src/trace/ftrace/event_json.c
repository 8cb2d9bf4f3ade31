/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/event_json.h"

#include <sys/types.h>

#include "trace/ftrace/event_field.h"

static void add_number(struct json *j, const struct type *t, const u8 *data)
{
	const u64 v = event_number(t, data);

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

static void add_value(struct json *j, const struct type_member *m, const struct page_event *e)
{
	const bool is_located = m->is_data_loc || m->is_rel_loc;
	u32 size;
	const u8 *const data = event_member_bytes(m, e, &size);

	if (!data || (is_located && !size && is_text(m->type)))
		json_null(j); /* not even a NUL: a probe could not read it */
	else if (m->type->kind == TYPE_ARRAY)
		add_array(j, m->type->element, data, size);
	else if (is_located || m->type->kind == TYPE_STRING)
		add_text(j, data, size);
	else if (size == 1 || size == 2 || size == 4 || size == 8)
		add_number(j, m->type, data);
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

void event_json_fields(struct json *j, const struct event_info *info, const struct page_event *e,
		       const struct event_json_names *names)
{
	json_object(j);
	for (u32 i = 0; info && i < info->record->count; i++) {
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

static void add_frames(struct json *j, const struct event_stack *s,
		       const struct event_json_names *names)
{
	json_key(j, "frames");
	json_array(j);
	for (u32 i = 0; i < s->count; i++)
		add_frame(j, names, s->is_user, s->process, event_stack_address(s, i));
	json_end(j, ']');
}

void event_json_add(struct json *j, const struct event_info *info, const struct page_event *e,
		    const struct event_json_names *names)
{
	struct event_stack stack;

	if (event_stack(info, e, &stack)) {
		add_frames(j, &stack, names);
		return;
	}
	json_key(j, "fields");
	event_json_fields(j, info, e, names);
}
