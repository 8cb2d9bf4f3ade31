/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types as the language spells them. */
#include "types/type.h"

/* Foreign types may contain themselves. */
#define MAX_NESTING 16

/* Kinds that are completely described by their name. */
static const char *const kind_names[TYPE_KIND_COUNT] = {
	[TYPE_NONE] = "none",
	[TYPE_VOID] = "void",
	[TYPE_BOOL] = "bool",
	[TYPE_KSTACK] = "kstack",
	[TYPE_USTACK] = "ustack",
	[TYPE_KSYM] = "ksym_t",
	[TYPE_USYM] = "usym_t",
	[TYPE_INET] = "inet",
	[TYPE_MAC] = "mac_address",
	[TYPE_TIMESTAMP] = "timestamp",
	[TYPE_CGROUP_PATH] = "cgroup_path_t",
	[TYPE_STRERROR] = "strerror_t",
	[TYPE_ERRNO_NAME] = "errno_name_t",
	[TYPE_USERNAME] = "username_t",
	[TYPE_PROBE_NAME] = "probe_name_t",
	[TYPE_SYSCALL_NAME] = "syscall_name_t",
	[TYPE_SIGNAL_NAME] = "signal_name_t",
	[TYPE_MEMINFO] = "meminfo_t",
	[TYPE_DISK_NAME] = "disk_name_t",
	[TYPE_NOTE] = "none",
	[TYPE_COUNT] = "count_t",
	[TYPE_HIST] = "hist_t",
	[TYPE_LHIST] = "lhist_t",
	[TYPE_LLHIST] = "llhist_t",
	[TYPE_STDDEV] = "stddev_t",
	[TYPE_TSERIES] = "tseries_t",
	/* Kinds whose unsigned form has a "u" before the name. */
	[TYPE_SUM] = "sum_t",
	[TYPE_MIN] = "min_t",
	[TYPE_MAX] = "max_t",
	[TYPE_AVG] = "avg_t",
	[TYPE_STATS] = "stats_t",
};

static void format_within(struct strbuf *out, const struct type *t, u32 depth);

static void format_tagged(struct strbuf *out, const struct type *t, const char *keyword, u32 depth)
{
	if (t->name) {
		strbuf_addf(out, "%s %s", keyword, t->name);
		return;
	}
	if (t->alias) {
		strbuf_addstr(out, t->alias);
		return;
	}
	strbuf_addf(out, "%s {", keyword);
	if (t->kind != TYPE_ENUM && t->is_complete && t->members && depth < 2)
		for (u32 i = 0; i < t->count; i++) {
			if (i)
				strbuf_addch(out, ',');
			format_within(out, t->members[i].type, depth + 1);
		}
	else
		strbuf_addstr(out, "...");
	strbuf_addch(out, '}');
}

static void format_tuple(struct strbuf *out, const struct type *t, u32 depth)
{
	strbuf_addch(out, '(');
	for (u32 i = 0; i < t->count; i++) {
		if (i)
			strbuf_addch(out, ',');
		format_within(out, t->members[i].type, depth + 1);
	}
	strbuf_addch(out, ')');
}

static void format_record(struct strbuf *out, const struct type *t, u32 depth)
{
	strbuf_addstr(out, "record { ");
	for (u32 i = 0; i < t->count; i++) {
		strbuf_addf(out, "%s.%s = ", i ? ", " : "", t->members[i].name);
		format_within(out, t->members[i].type, depth + 1);
	}
	strbuf_addstr(out, " }");
}

static void format_function(struct strbuf *out, const struct type *t, const char *star, u32 depth)
{
	if (t->element)
		format_within(out, t->element, depth + 1);
	else
		strbuf_addstr(out, "void");
	strbuf_addf(out, " (%s)", star);
	format_tuple(out, t, depth);
}

static void format_pointer(struct strbuf *out, const struct type *t, u32 depth)
{
	const struct type *to = t->element;

	if (to && to->kind == TYPE_FUNCTION && to->members) {
		format_function(out, to, "*", depth);
		return;
	}
	if (!to || to->kind == TYPE_FUNCTION)
		strbuf_addstr(out, "void");
	else
		format_within(out, to, depth + 1);
	strbuf_addstr(out, " *");
}

/* "ustack_perf_10": stacks of different modes or depths are different types. */
static void format_stack(struct strbuf *out, const struct type *t)
{
	static const char *const modes[] = {[STACK_BPFTRACE] = "bpftrace",
					    [STACK_PERF] = "perf",
					    [STACK_RAW] = "raw",
					    [STACK_BUILD_ID] = "build_id"};

	strbuf_addf(out, "%s_%s_%u", t->kind == TYPE_KSTACK ? "kstack" : "ustack",
		    t->stack_mode < ARRAY_SIZE(modes) ? modes[t->stack_mode] : "?", t->stack_depth);
}

static void format_within(struct strbuf *out, const struct type *t, u32 depth)
{
	if (depth > MAX_NESTING) {
		strbuf_addstr(out, "...");
		return;
	}
	switch (t->kind) {
	case TYPE_INT:
		strbuf_addf(out, "%sint%u", t->is_signed ? "" : "u", 8 * t->size);
		return;
	case TYPE_FLOAT:
		strbuf_addstr(out, t->name ? t->name : (t->size == 4 ? "float" : "double"));
		return;
	case TYPE_ENUM:
		format_tagged(out, t, "enum", depth);
		return;
	case TYPE_STRUCT:
		format_tagged(out, t, "struct", depth);
		return;
	case TYPE_UNION:
		format_tagged(out, t, "union", depth);
		return;
	case TYPE_POINTER:
		format_pointer(out, t, depth);
		return;
	case TYPE_KSTACK:
	case TYPE_USTACK:
		format_stack(out, t);
		return;
	case TYPE_FUNCTION:
		format_function(out, t, "", depth);
		return;
	case TYPE_ARRAY:
		format_within(out, t->element, depth + 1);
		strbuf_addf(out, "[%u]", t->count);
		return;
	case TYPE_STRING:
		strbuf_addstr(out, "string");
		if (t->size)
			strbuf_addf(out, "[%u]", t->size);
		return;
	case TYPE_BUFFER:
		strbuf_addstr(out, "buffer");
		if (t->size > 4)
			strbuf_addf(out, "[%u]", t->size - 4);
		return;
	case TYPE_TUPLE:
		format_tuple(out, t, depth);
		return;
	case TYPE_RECORD:
		format_record(out, t, depth);
		return;
	default:
		if (t->kind >= TYPE_SUM && t->kind <= TYPE_STATS && !t->is_signed)
			strbuf_addch(out, 'u');
		strbuf_addstr(out, kind_names[t->kind]);
	}
}

void type_format(struct strbuf *out, const struct type *t)
{
	if (t)
		format_within(out, t, 0);
	else
		strbuf_addstr(out, "none");
}

const char *type_str(struct arena *a, const struct type *t)
{
	struct strbuf sb = STRBUF_INIT;
	const char *s;

	type_format(&sb, t);
	s = arena_strndup(a, sb.data, sb.len);
	strbuf_release(&sb);
	return s;
}
