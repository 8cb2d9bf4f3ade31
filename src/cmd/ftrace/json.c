/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events as JSON: the members that all events have, then the event's own fields. */
#include "base/json.h"
#include "cmd/ftrace/session.h"
#include "trace/ftrace/event_json.h"

static bool user_name(void *arg, pid_t process, u64 address, struct strbuf *name)
{
	struct symbol_name symbol;

	if (!symbolize_user(ftrace_session_symbols(arg), process, address, &symbol) ||
	    !symbol.function)
		return false;
	strbuf_addf(name, "%s+0x%" PRIx64, symbol.function, symbol.offset);
	return true;
}

void ftrace_json_begin(struct ftrace_session *s, const struct raw_event *e, u64 ns, s32 pid,
		       struct json *j)
{
	size_t len;
	const char *comm = task_name(s->text.tasks, pid, &len);

	json_object(j);
	json_member_u64(j, "time_ns", ns);
	json_member_u64(j, "cpu", e->cpu);
	json_member_s64(j, "pid", pid);
	json_member_string(j, "comm", comm, len);
}

void ftrace_json_event(struct ftrace_session *s, const struct raw_event *e, struct strbuf *out)
{
	const struct event_info *info = event_table_get(s->text.events, page_event_id(&e->event));
	const struct event_json_names names = {
		.kernel = s->text.context.symbols, .user = user_name, .arg = s};
	struct json j = JSON_INIT(out);

	ftrace_json_begin(s, e, e->event.time, page_event_pid(&e->event), &j);
	if (e->lost == PAGE_LOST_UNKNOWN) {
		json_key(&j, "lost");
		json_null(&j);
	} else if (e->lost) {
		json_member_u64(&j, "lost", e->lost);
	}
	if (info) {
		json_member_text(&j, "event", info->name);
		event_json_add(&j, info, &e->event, &names);
	} else {
		json_key(&j, "event");
		json_u64(&j, page_event_id(&e->event));
	}
	json_end(&j, '}');
	json_end_line(&j);
}
