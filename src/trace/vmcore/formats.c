/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a dead kernel as their `format` files showed them (kernel/trace/trace_events.c):
 *
 *	ftrace_events ─► trace_event_call { class, name, event.type, print_fmt }
 *			class ─► trace_event_class { system, fields }
 *				fields ─► ftrace_event_field { type, name, offset, size ... }
 *	ftrace_common_fields ─► the same of all events
 */
#include <stdlib.h>

#include "trace/vmcore/state.h"

#define TEXT_MAX  1024 /* of a name or a type */
#define PRINT_MAX ((size_t)1 << 20)

struct reading {
	struct dead_kernel *kernel;
	u64 common; /* the list of fields of all events */
	u64 named_by_tracepoint; /* flags of events that have their tracepoint's name */
	struct strbuf *out; /* the event's text */
	size_t len; /* of all texts */
	VECTOR(struct dat_format) all;
};

/* Longer arrays than the kernel's own text shows have their length apart (Linux 6.3). */
static void print_type(struct strbuf *out, const char *type, const char *name, u64 len)
{
	const char *const array = str_starts(type, "__data_loc") ? NULL : strchr(type, '[');

	strbuf_addf(out, "\tfield:%.*s %s", array ? (int)(array - type) : (int)strlen(type), type,
		    name);
	if (array && len)
		strbuf_addf(out, "[%u]", (u32)len);
	else if (array)
		strbuf_addstr(out, array);
}

static int print_field(void *arg, u64 field)
{
	struct reading *const r = arg;
	struct dead_kernel *const k = r->kernel;
	u64 offset, size, is_signed, len = 0;
	char *type, *name;
	int err = dead_member(k, field, F(ftrace_event_field, offset), &offset);

	if (!err)
		err = dead_member(k, field, F(ftrace_event_field, size), &size);
	if (!err)
		err = dead_member(k, field, F(ftrace_event_field, is_signed), &is_signed);
	if (!err && dead_has(k, F(ftrace_event_field, len)))
		err = dead_member(k, field, F(ftrace_event_field, len), &len);
	if (err)
		return err;
	type = dead_member_string(k, field, F(ftrace_event_field, type), TEXT_MAX);
	name = dead_member_string(k, field, F(ftrace_event_field, name), TEXT_MAX);
	if (type && name) {
		print_type(r->out, type, name, len);
		strbuf_addf(r->out, ";\toffset:%u;\tsize:%u;\tsigned:%d;\n", (u32)offset, (u32)size,
			    is_signed != 0);
	}
	err = type && name ? 0 : -EINVAL;
	free(type);
	free(name);
	return err;
}

/*
 * A class has a list of fields, or a function that finds it: only events of system calls have one,
 * whose fields are in the call's description.
 */
static int fields_of(struct dead_kernel *k, u64 call, u64 class, u64 *ret)
{
	u64 finds;
	int err = dead_member(k, class, F(trace_event_class, get_fields), &finds);

	*ret = class + dead_offset(k, F(trace_event_class, fields));
	if (err || !finds)
		return err;
	if (!dead_has(k, F(syscall_metadata, enter_fields)))
		return -EOPNOTSUPP;
	err = dead_member(k, call, F(trace_event_call, data), ret);
	*ret += dead_offset(k, F(syscall_metadata, enter_fields));
	return err;
}

static char *name_of(const struct reading *r, u64 call)
{
	struct dead_kernel *const k = r->kernel;
	u64 flags, name;

	if (dead_member(k, call, F(trace_event_call, flags), &flags) ||
	    dead_member(k, call, F(trace_event_call, name), &name))
		return NULL;
	return flags & r->named_by_tracepoint
		       ? dead_member_string(k, name, F(tracepoint, name), TEXT_MAX)
		       : dead_string(k, name, TEXT_MAX);
}

static int print_event(struct reading *r, u64 call, u64 class, const char *name, u64 id)
{
	struct dead_kernel *const k = r->kernel;
	char *print;
	u64 fields;
	int err = fields_of(k, call, class, &fields);

	if (err)
		return err;
	strbuf_addf(r->out, "name: %s\nID: %u\nformat:\n", name, (u32)id);
	err = dead_each(k, r->common, F(ftrace_event_field, link), true, print_field, r);
	strbuf_addch(r->out, '\n');
	if (!err)
		err = dead_each(k, fields, F(ftrace_event_field, link), true, print_field, r);
	print = dead_member_string(k, call, F(trace_event_call, print_fmt), PRINT_MAX);
	strbuf_addf(r->out, "\nprint fmt: %s\n", print ?: "");
	free(print);
	return err;
}

/* An event that cannot be read is left out; its records are then shown as unknown. */
static int add_event(void *arg, u64 call)
{
	struct reading *const r = arg;
	struct dead_kernel *const k = r->kernel;
	struct strbuf text = STRBUF_INIT;
	char *name, *system = NULL;
	u64 class, id;
	int err = dead_member(k, call, F(trace_event_call, class), &class);

	if (!err)
		err = dead_member(k, call + dead_offset(k, F(trace_event_call, event)),
				  F(trace_event, type), &id);
	if (err)
		return err;
	name = name_of(r, call);
	system = dead_member_string(k, class, F(trace_event_class, system), TEXT_MAX);
	r->out = &text;
	if (name && system && id && !print_event(r, call, class, name, id)) {
		const size_t len = text.len;

		r->len += len;
		vector_push(&r->all,
			    (struct dat_format){system, (u32)id, strbuf_detach(&text), len});
		system = NULL;
	}
	strbuf_release(&text);
	free(name);
	free(system);
	return r->len > DEAD_TEXT_MAX ? -EINVAL : 0;
}

int dead_formats_read(struct dead_kernel *k, struct dat_contents *c)
{
	const u64 head = dead_symbol(k, "ftrace_events");
	struct reading r = {.kernel = k, .common = dead_symbol(k, "ftrace_common_fields")};
	int err;

	r.named_by_tracepoint = (u64)dead_enumerator(k, "TRACE_EVENT_FL_TRACEPOINT") |
				(u64)dead_enumerator(k, "TRACE_EVENT_FL_CUSTOM");
	err = head && r.common ? dead_each(k, head, F(trace_event_call, list), false, add_event, &r)
			       : -EINVAL;
	if (err)
		dead_refuse(k, err, "the list of its events");
	else
		dat_contents_formats(c, r.all.items, r.all.len);
	for (size_t i = 0; i < r.all.len; i++) {
		free((char *)r.all.items[i].system);
		free((char *)r.all.items[i].text);
	}
	vector_free(&r.all);
	return err;
}
