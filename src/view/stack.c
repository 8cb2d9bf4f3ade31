/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/stack.h"

#include "base/escape.h"

struct frame {
	u64 address;
	struct symbol_name name;
	bool is_known;
	const struct symbol_places *places; /* with debug info, if it is wanted */
};

static void add_name(const struct value_printer *p, struct strbuf *out, const char *s)
{
	if (p->raw)
		strbuf_addstr(out, s);
	else
		escape_line(out, s, strlen(s));
}

static void add_symbol_offset(const struct value_printer *p, struct strbuf *out,
			      const struct frame *f)
{
	if (!f->is_known || !f->name.function) {
		strbuf_addf(out, "0x%" PRIx64, f->address);
		return;
	}
	add_name(p, out, f->name.function);
	strbuf_addf(out, "+%" PRIu64, f->name.offset);
}

static void add_place(const struct value_printer *p, struct strbuf *out,
		      const struct symbol_place *at)
{
	if (!at->file || !at->line)
		return;
	strbuf_addch(out, '@');
	add_name(p, out, at->file);
	strbuf_addf(out, ":%u", at->line);
}

static void add_bpftrace(const struct value_printer *p, struct strbuf *out, const struct frame *f)
{
	for (u32 i = 0; f->places && i < f->places->count; i++) {
		strbuf_addstr(out, "        [inlined] ");
		add_name(p, out, f->places->inlines[i].function);
		if (p->show_debug_info)
			add_place(p, out, &f->places->inlines[i]);
		strbuf_addch(out, '\n');
	}
	strbuf_addstr(out, "        ");
	add_symbol_offset(p, out, f);
	if (p->show_debug_info && f->places && f->is_known && f->name.function)
		add_place(p, out, &f->places->outer);
	else if (p->show_debug_info && f->is_known && f->name.function && f->name.source_file) {
		strbuf_addch(out, '@');
		add_name(p, out, f->name.source_file);
		strbuf_addf(out, ":%u", f->name.line);
	}
}

static void add_perf(const struct value_printer *p, struct strbuf *out, const struct frame *f)
{
	for (u32 i = 0; f->places && i < f->places->count; i++) {
		strbuf_addf(out, "\t%" PRIx64 " ", f->address);
		add_name(p, out, f->places->inlines[i].function);
		strbuf_addstr(out, " (inlined)\n");
	}
	strbuf_addf(out, "\t%" PRIx64 " ", f->address);
	if (f->is_known && f->name.function)
		add_symbol_offset(p, out, f);
	else
		strbuf_addstr(out, "[unknown]");
	if (f->name.module) {
		strbuf_addstr(out, " (");
		add_name(p, out, f->name.module);
		strbuf_addch(out, ')');
	}
}

static void add_raw(const struct value_printer *p, struct strbuf *out, const struct frame *f)
{
	strbuf_addf(out, "%" PRIx64, f->address);
}

static void add_build_id(const struct value_printer *p, struct strbuf *out, const struct frame *f)
{
	if (f->name.build_id)
		strbuf_addf(out, "%s 0x%02" PRIx64, f->name.build_id, f->name.file_offset);
	else
		add_raw(p, out, f);
}

static void (*const writers[])(const struct value_printer *p, struct strbuf *out,
			       const struct frame *f) = {
	[STACK_BPFTRACE] = add_bpftrace,
	[STACK_PERF] = add_perf,
	[STACK_RAW] = add_raw,
	[STACK_BUILD_ID] = add_build_id,
};

static u32 stack_frames(struct value_printer *p, const struct type *t, const void *data,
			u64 *frames, u32 max)
{
	u64 id;

	memcpy(&id, data, sizeof(id));
	if (!id || !p->stack)
		return 0;
	return p->stack(p->arg, t->kind == TYPE_USTACK, id, frames,
			t->stack_depth ? MIN(max, t->stack_depth) : max);
}

void stack_text(struct value_printer *p, struct strbuf *out, const struct type *t, const void *data)
{
	u32 mode = t->stack_mode < ARRAY_SIZE(writers) ? t->stack_mode : STACK_BPFTRACE;
	u64 frames[VALUE_MAX_FRAMES];
	u32 n = stack_frames(p, t, data, frames, ARRAY_SIZE(frames));
	struct symbolizer *s = NULL;
	u32 tgid = 0;

	if (n && mode != STACK_RAW && p->symbols && !p->frame)
		s = p->symbols(p->arg);
	if (t->kind == TYPE_USTACK)
		memcpy(&tgid, (const u8 *)data + 8, sizeof(tgid));
	strbuf_addch(out, '\n');
	for (u32 i = 0; i < n; i++) {
		struct frame f = {.address = frames[i]};

		if (p->frame)
			f.is_known = p->frame(p->frame_arg, t->kind == TYPE_USTACK, tgid, f.address,
					      &f.name);
		else if (s)
			f.is_known = t->kind == TYPE_USTACK
					     ? symbolize_user(s, (pid_t)tgid, f.address, &f.name)
					     : symbolize_kernel(s, f.address, &f.name);
		if (s && t->kind == TYPE_USTACK && (p->show_debug_info || p->show_inlines) &&
		    mode != STACK_BUILD_ID)
			f.places = symbolize_places(s, (pid_t)tgid, f.address, i > 0);
		writers[mode](p, out, &f);
		strbuf_addch(out, '\n');
	}
}
