/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/event_field.h"

u64 event_number(const struct type *t, const u8 *data)
{
	const u32 unused = t->size < 8 ? 64 - t->size * 8 : 0;
	u64 v = 0;

	memcpy(&v, data, MIN(t->size, (u32)sizeof(v)));
	return t->is_signed && t->size ? (u64)((s64)(v << unused) >> unused) : v;
}

const u8 *event_member_bytes(const struct type_member *m, const struct page_event *e, u32 *ret_size)
{
	const bool is_located = m->is_data_loc || m->is_rel_loc;
	u32 size = is_located ? 4 : m->type->size, offset = m->offset, word;

	if (offset > e->size || size > e->size - offset)
		return NULL;
	if (is_located) { /* a u32 says where: length << 16 | offset */
		memcpy(&word, e->data + offset, sizeof(word));
		offset = (word & 0xffff) + (m->is_rel_loc ? offset + 4 : 0);
		size = word >> 16;
		if (offset > e->size || size > e->size - offset)
			return NULL;
	} else if (!size && m->type->kind == TYPE_ARRAY) {
		size = e->size - offset; /* what is after the others */
	}
	*ret_size = size;
	return e->data + offset;
}

static bool is_text(const struct type_member *m)
{
	if (m->type->kind == TYPE_ARRAY)
		return m->type->element->is_char;
	return m->is_data_loc || m->is_rel_loc || m->type->kind == TYPE_STRING;
}

static struct field_value value_of(const struct type_member *m, const struct page_event *e)
{
	struct field_value v = {0};
	u32 size;
	const u8 *const data = event_member_bytes(m, e, &size);

	if (data && is_text(m)) {
		v.kind = FIELD_TEXT;
		v.text = (const char *)data;
		v.size = strnlen(v.text, size);
	} else if (data && (size == 1 || size == 2 || size == 4 || size == 8)) {
		v.kind = FIELD_INTEGER;
		v.is_signed = m->type->is_signed;
		v.integer = event_number(m->type, data);
		v.bits = (u8)(size * 8);
		v.is_hex = m->type->kind == TYPE_POINTER;
	}
	return v;
}

struct field_value event_field(const struct event_info *info, const struct page_event *e,
			       const char *name)
{
	for (u32 i = 0; i < info->record->count; i++) {
		const struct type_member *m = &info->record->members[i];

		if (m->name && str_eq(m->name, name))
			return value_of(m, e);
	}
	return (struct field_value){0};
}

/* In ITEMS, which has room for a record's bytes. */
static struct field_value list_of(const struct type_member *m, const struct page_event *e,
				  u64 *items)
{
	const struct type *const element = m->type->element;
	const u32 step = element->size;
	struct field_value v = {.kind = FIELD_LIST,
				.is_signed = element->is_signed,
				.is_hex = element->kind == TYPE_POINTER,
				.bits = (u8)(step * 8),
				.items = items};
	u32 size;
	const u8 *const data = event_member_bytes(m, e, &size);

	if (!data || !(step == 1 || step == 2 || step == 4 || step == 8))
		return (struct field_value){0};
	for (u32 at = 0; at + step <= size; at += step)
		items[v.count++] = event_number(element, data + at);
	return v;
}

void event_values(const struct event_info *info, const struct page_event *e, field_value_fn *fn,
		  void *arg)
{
	u64 *items = NULL;

	for (u32 i = 0; i < info->record->count; i++) {
		const struct type_member *m = &info->record->members[i];
		const bool is_list = m->type->kind == TYPE_ARRAY && !m->type->element->is_char;
		struct field_value v;

		if (!m->name || str_starts(m->name, "common_"))
			continue;
		if (is_list && !items)
			items = xreallocarray(NULL, e->size + 1, sizeof(*items));
		v = is_list ? list_of(m, e, items) : value_of(m, e);
		fn(arg, m->name, strlen(m->name), &v);
	}
	free(items);
}

/*
 * Behind the common fields stand the number of frames, of a user stack the process, then the
 * addresses.
 */
bool event_stack(const struct event_info *info, const struct page_event *e, struct event_stack *ret)
{
	const bool is_user = str_eq(info->name, "user_stack");
	u32 count = e->size > 16 ? (e->size - 16) / 8 : 0, word = 0;

	if (!str_eq(info->system, "ftrace") || !(is_user || str_eq(info->name, "kernel_stack")))
		return false;
	if (e->size >= 12)
		memcpy(&word, e->data + 8, sizeof(word));
	*ret = (struct event_stack){
		.addresses = e->data + 16, .is_user = is_user, .process = (pid_t)word};
	if (!is_user)
		count = MIN(count, word);
	while (ret->count < count) {
		const u64 address = event_stack_address(ret, ret->count);

		if (!address || address == UINT64_MAX)
			break;
		ret->count++;
	}
	return true;
}

u64 event_stack_address(const struct event_stack *s, u32 i)
{
	u64 address;

	memcpy(&address, s->addresses + (size_t)i * 8, sizeof(address));
	return address;
}
