/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values in the record of an event of the kernel. */
#ifndef PANTRACE_TRACE_FTRACE_EVENT_FIELD_H
#define PANTRACE_TRACE_FTRACE_EVENT_FIELD_H

#include "trace/field_value.h"
#include "trace/ftrace/event_table.h"
#include "trace/ring/page.h"

/* By name, the common ones too. Texts end with their NUL. */
struct field_value event_field(const struct event_info *info, const struct page_event *e,
			       const char *name);

/* All but the common ones. */
void event_values(const struct event_info *info, const struct page_event *e, field_value_fn *fn,
		  void *arg);

/* The bytes of a member's value, wherever in the record they lie; NULL: they are not all there. */
const u8 *event_member_bytes(const struct type_member *m, const struct page_event *e,
			     u32 *ret_size);
struct event_stack {
	const u8 *addresses; /* u64 each, unaligned; innermost first */
	u32 count;
	bool is_user;
	pid_t process; /* is_user: whose they are */
};

/* What ftrace's events kernel_stack and user_stack hold. False: it is none of them. */
bool event_stack(const struct event_info *info, const struct page_event *e,
		 struct event_stack *ret);
u64 event_stack_address(const struct event_stack *s, u32 i);

/* An integer of up to 8 bytes, little endian, sign-extended if it has one. */
u64 event_number(const struct type *t, const u8 *data);

#endif
