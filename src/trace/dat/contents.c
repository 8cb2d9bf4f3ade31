/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a trace.dat hold: in a row (version 6), each in a section of its own (7). */
#include "trace/dat/internal.h"

int trace_dat_damaged(struct trace_dat *t, const char *what)
{
	diag_error(t->diag, NO_SPAN, "%s: damaged or cut off: %s", t->path, what);
	return -EINVAL;
}

static const char *text_of(struct trace_dat *t, struct cursor *c, u64 size)
{
	const char *p = size > c->len ? NULL : cursor_bytes(c, size);

	if (!p)
		c->failed = true;
	return p ? arena_strndup(&t->arena, p, size) : "";
}

static int read_headers(struct trace_dat *t, struct cursor *c)
{
	const char *page, *event;

	if (!str_eq(cursor_string(c) ?: "", "header_page"))
		return trace_dat_damaged(t, "no header_page");
	page = text_of(t, c, cursor_u64(c));
	if (!str_eq(cursor_string(c) ?: "", "header_event"))
		return trace_dat_damaged(t, "no header_event");
	event = text_of(t, c, cursor_u64(c));
	if (c->failed || page_layout_parse(page, event, &t->layout))
		return trace_dat_damaged(t, "header_page");
	return 0;
}

static int read_formats_of(struct trace_dat *t, struct cursor *c, const char *system)
{
	u32 count = cursor_u32(c);

	while (count-- && !c->failed) {
		const u64 size = cursor_u64(c);
		const char *text = size > c->len ? NULL : cursor_bytes(c, size);

		if (text)
			event_table_add(t->events, system, text, size);
		else
			c->failed = true;
	}
	return c->failed ? trace_dat_damaged(t, "the formats of its events") : 0;
}

static int read_ftrace_formats(struct trace_dat *t, struct cursor *c)
{
	return read_formats_of(t, c, "ftrace");
}

static int read_formats(struct trace_dat *t, struct cursor *c)
{
	u32 systems = cursor_u32(c);
	int err = 0;

	while (systems-- && !err && !c->failed) {
		const char *system = cursor_string(c);

		if (system)
			err = read_formats_of(t, c, system);
	}
	return err ? err : c->failed ? trace_dat_damaged(t, "the formats of its events") : 0;
}

static int read_kallsyms(struct trace_dat *t, struct cursor *c)
{
	const u32 size = cursor_u32(c);
	const void *text = cursor_bytes(c, size);

	if (!text)
		return trace_dat_damaged(t, "the kernel's symbols");
	ksyms_release(t->symbols);
	t->symbols = ksyms_new(xstrndup(text, size), strnlen(text, size));
	return 0;
}

static int read_printk(struct trace_dat *t, struct cursor *c)
{
	const u32 size = cursor_u32(c);
	const char *text = text_of(t, c, size);

	if (c->failed)
		return trace_dat_damaged(t, "the kernel's strings");
	string_table_release(t->strings);
	t->strings = string_table_new(text);
	return 0;
}

static int read_cmdlines(struct trace_dat *t, struct cursor *c)
{
	const u64 size = cursor_u64(c);
	const char *text = text_of(t, c, size);

	if (c->failed)
		return trace_dat_damaged(t, "the names of its threads");
	task_names_add_cmdlines(t->tasks, text);
	return 0;
}

/* "local global [mono] boot": the one in brackets. */
static const char *chosen_clock(struct trace_dat *t, const char *text)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	return close ? arena_strndup(&t->arena, open + 1, (size_t)(close - open - 1)) : "";
}

/*
 * Options that mean the same in any file of these events: not where something stands, nor what the
 * kernel counted for all of it.
 */
static bool is_kept(u16 id)
{
	static const u16 ids[] = {OPTION_DATE,	   OPTION_TRACECLOCK, OPTION_UNAME,
				  OPTION_HOOK,	   OPTION_OFFSET,     OPTION_VERSION,
				  OPTION_PROCMAPS, OPTION_TRACEID,    OPTION_TIME_SHIFT,
				  OPTION_GUEST,	   OPTION_TSC2NSEC};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		if (ids[i] == id)
			return true;
	return false;
}

static void keep_option(struct trace_dat *t, u16 id, const void *data, u32 size)
{
	if (!t->keep || !is_kept(id))
		return;
	strbuf_add(&t->keep->options, &id, sizeof(id));
	strbuf_add(&t->keep->options, &size, sizeof(size));
	strbuf_add(&t->keep->options, data, size);
}

static bool number_behind(const char *text, const char *words, s64 *ret)
{
	const char *const found = strstr(text, words);

	if (found)
		*ret = strtoll(found + strlen(words), NULL, 10);
	return found != NULL;
}

/* Options that are text in both versions. */
void trace_dat_text_option(struct trace_dat *t, u16 id, const char *data, size_t size)
{
	const char *text;

	keep_option(t, id, data, (u32)size);
	if (id != OPTION_UNAME && id != OPTION_TRACECLOCK && id != OPTION_DATE &&
	    id != OPTION_OFFSET && id != OPTION_VERSION)
		return;
	text = arena_strndup(&t->arena, data, size);
	if (id == OPTION_UNAME) {
		t->uname = text;
	} else if (id == OPTION_TRACECLOCK) {
		t->clock = chosen_clock(t, text);
	} else if (id == OPTION_DATE) { /* in microseconds */
		t->date_ns = (s64)(strtoull(text, NULL, 0) * 1000u);
		t->has_date = true;
	} else if (id == OPTION_VERSION) {
		if (!str_starts(text, "pantrace ")) /* trace-cmd's; ours may stand beside it */
			return;
		t->has_realtime = number_behind(text, TRACE_DAT_REALTIME, &t->realtime_ns);
		t->said = text;
		text = strstr(text, ", " TRACE_DAT_BOOT);
		t->boot = text ? text + strlen(", " TRACE_DAT_BOOT) : NULL;
	} else {
		t->offset_ns = (s64)strtoull(text, NULL, 0);
	}
}

static int (*const parts[])(struct trace_dat *t, struct cursor *c) = {
	[OPTION_HEADER_INFO] = read_headers,   [OPTION_FTRACE_EVENTS] = read_ftrace_formats,
	[OPTION_EVENT_FORMATS] = read_formats, [OPTION_KALLSYMS] = read_kallsyms,
	[OPTION_PRINTK] = read_printk,	       [OPTION_CMDLINES] = read_cmdlines,
};

bool trace_dat_has_part(u16 id)
{
	return id < ARRAY_SIZE(parts) && parts[id];
}

int trace_dat_read_part(struct trace_dat *t, u16 id, struct cursor *c)
{
	const size_t begin = c->pos;
	const int err = parts[id](t, c);
	struct strbuf *keep;

	if (err || !t->keep)
		return err;
	keep = &t->keep->parts[id - OPTION_HEADER_INFO];
	strbuf_reset(keep);
	strbuf_add(keep, c->data + begin, c->pos - begin);
	return 0;
}
