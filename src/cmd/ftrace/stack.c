/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of user space (option userstacktrace): u32 tgid, then 8 return addresses (include/trace:
 * struct userstack_entry). The kernel prints addresses; people want names.
 */
#include "base/escape.h"
#include "cmd/ftrace/session.h"

#define TGID_AT	  8
#define CALLER_AT 16

static void add_frame(struct ftrace_session *s, pid_t pid, u64 address, struct strbuf *out)
{
	struct symbol_name name;
	const bool known = symbolize_user(ftrace_session_symbols(s), pid, address, &name);

	strbuf_addstr(out, " =>  ");
	if (known) {
		escape_line(out, name.function, strlen(name.function));
		strbuf_addf(out, "+0x%" PRIx64, name.offset);
	} else {
		strbuf_addf(out, "<%016" PRIx64 ">", address);
	}
	if (name.module) {
		strbuf_addstr(out, " (");
		escape_line(out, name.module, strlen(name.module));
		strbuf_addch(out, ')');
	}
	strbuf_addch(out, '\n');
}

bool ftrace_user_stack(struct ftrace_session *s, const struct event_info *info,
		       const struct raw_event *e, struct strbuf *out)
{
	const struct page_event *event = &e->event;
	u64 address;
	u32 tgid;

	if (!str_eq(info->name, "user_stack") || !str_eq(info->system, "ftrace") ||
	    event->size < CALLER_AT)
		return false;
	memcpy(&tgid, event->data + TGID_AT, sizeof(tgid));
	trace_text_head(&s->text, e, out);
	strbuf_addstr(out, "<user stack trace>\n");
	for (u32 at = CALLER_AT; at + 8 <= event->size; at += 8) {
		memcpy(&address, event->data + at, sizeof(address));
		if (!address || address == UINT64_MAX)
			break;
		add_frame(s, (pid_t)tgid, address, out);
	}
	return true;
}
