/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/perf/script_text.h"

#include "base/escape.h"
#include "trace/ftrace/number_text.h"

#define CHAIN_MAX 127 /* kernel.perf_event_max_stack, which perf script holds to */

void perf_script_begin(struct perf_script *s, const struct perf_data *data)
{
	for (size_t i = 0; i < perf_data_kinds(data); i++) {
		const struct perf_kind *const k = perf_data_kind(data, i);
		const bool has_chain = k->attr.sample_type & PERF_SAMPLE_CALLCHAIN;

		if (k->name)
			s->name_width = MAX(s->name_width, strlen(k->name));
		s->has_chains |= has_chain;
		s->tracepoints_have_chains |= has_chain && k->attr.type == PERF_TYPE_TRACEPOINT;
	}
}

void perf_script_release(struct perf_script *s)
{
	strbuf_release(&s->text);
	vector_free(&s->stack);
	arena_release(&s->locals);
}

/* ---- columns ---- */

/* Spaces before what was put from `begin` on, up to this width. There is room. */
static char *pad(char *begin, char *end, size_t width)
{
	const size_t n = (size_t)(end - begin), spaces = width > n ? width - n : 0;

	if (spaces) {
		memmove(begin + spaces, begin, n);
		memset(begin, ' ', spaces);
	}
	return end + spaces;
}

static char *put_number(char *p, u64 value, size_t width)
{
	return pad(p, text_put_digits(p, value), width);
}

/* With zeros before it. */
static char *put_digits(char *p, u32 value, u32 digits)
{
	for (u32 i = digits; i-- > 0; value /= 10)
		p[i] = (char)('0' + value % 10);
	return p + digits;
}

/* ---- addresses ---- */

static enum perf_mode mode_of(u16 misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
		return PERF_MODE_KERNEL;
	case PERF_RECORD_MISC_USER:
		return PERF_MODE_USER;
	default:
		return PERF_MODE_OTHER;
	}
}

/* Words of a chain that are no addresses say what the next ones are of. */
static bool is_marker(u64 word, enum perf_mode *mode)
{
	if (word < (u64)PERF_CONTEXT_MAX)
		return false;
	*mode = word == (u64)PERF_CONTEXT_KERNEL ? PERF_MODE_KERNEL
		: word == (u64)PERF_CONTEXT_USER ? PERF_MODE_USER
						 : PERF_MODE_OTHER;
	return true;
}

/* How much of a chain is wanted. */
enum chain_style {
	CHAIN_AS_PERF, /* functions that are inlined only where the chain was unwound */
	CHAIN_WHOLE,
};

/*
 * With the functions that are inlined there before it. code: the address in the call itself.
 * unwound: where variables are; NULL = nowhere.
 */
static void add_user_frame(struct perf_script *s, struct perf_machine *m, u64 address, u64 code,
			   const struct perf_frames *unwound, struct recorded_stack *to)
{
	const bool has_locals = unwound && perf_machine_wants_locals(m);
	struct recorded_frame f = perf_machine_place(m, s->sample.pid, PERF_MODE_USER, address);
	const char *const *names;
	const u32 count = perf_machine_inlines(m, s->sample.pid, code, &names);

	for (u32 i = 0; i < count; i++) {
		struct recorded_frame inner = f;

		inner.symbol = names[i];
		inner.is_inlined = true;
		if (has_locals)
			perf_locals_read(unwound, i, &s->locals, &inner);
		vector_push(to, inner);
	}
	if (has_locals && count < PERF_INLINES_MAX) /* else how deep it is is not known */
		perf_locals_read(unwound, count, &s->locals, &f);
	vector_push(to, f);
}

static void add_unwound_frames(struct perf_script *s, struct perf_machine *m, size_t most,
			       struct recorded_stack *to)
{
	struct perf_frame list[CHAIN_MAX];
	struct perf_frames frames = {.machine = m, .pid = s->sample.pid, .list = list};

	if (s->sample.user_stack)
		frames.count = perf_unwind(m, s->attr, &s->sample, list, most);
	arena_release(&s->locals);
	for (; frames.at < frames.count; frames.at++)
		add_user_frame(s, m, list[frames.at].address, list[frames.at].address, &frames, to);
}

static void add_chain_frames(struct perf_script *s, struct perf_machine *m, enum chain_style style,
			     struct recorded_stack *to)
{
	enum perf_mode mode = PERF_MODE_USER;
	bool is_return = false; /* it is behind a call */
	size_t n = 0;
	u64 word;

	for (u64 i = 0; i < s->sample.nr_chain && n < CHAIN_MAX; i++) {
		memcpy(&word, s->sample.chain + 8 * i, sizeof(word));
		if (is_marker(word, &mode)) {
			is_return = false;
			continue;
		}
		if (style == CHAIN_WHOLE && mode == PERF_MODE_USER)
			add_user_frame(s, m, word, word - is_return, NULL, to);
		else
			vector_push(to, perf_machine_place(m, s->sample.pid, mode, word));
		is_return = true;
		n++;
	}
	add_unwound_frames(s, m, CHAIN_MAX - n, to);
}

bool perf_script_stack(struct perf_script *s, struct perf_machine *m, struct recorded_stack *ret)
{
	const enum perf_mode mode = mode_of(s->misc);

	add_chain_frames(s, m, CHAIN_WHOLE, ret);
	if (ret->len || !(s->attr->sample_type & PERF_SAMPLE_IP))
		return ret->len;
	if (mode == PERF_MODE_USER)
		add_user_frame(s, m, s->sample.ip, s->sample.ip, NULL, ret);
	else
		vector_push(ret, perf_machine_place(m, s->sample.pid, mode, s->sample.ip));
	return true;
}

static void add_name(const struct recorded_frame *f, struct strbuf *out)
{
	if (f->symbol) {
		escape_line(out, f->symbol, strlen(f->symbol));
		strbuf_add(out, "+0x", 3);
		text_hex(out, f->offset);
	} else {
		strbuf_addstr(out, "[unknown]");
	}
}

static void add_place(u64 address, const struct recorded_frame *f, struct strbuf *out)
{
	const char *const object = f->object ?: "[unknown]";

	char *p = text_room(out, 64);

	p = pad(p, text_put_hex(p, address), 16);
	*p++ = ' ';
	text_end(out, p);
	add_name(f, out);
	strbuf_addstr(out, " (");
	if (f->is_inlined)
		strbuf_addstr(out, "inlined");
	else
		escape_line(out, object, strlen(object));
	strbuf_addch(out, ')');
}

static void add_local(const struct perf_script *s, const struct recorded_local *l,
		      struct strbuf *out)
{
	strbuf_addf(out, "\t%19s", "");
	escape_line(out, l->name, strlen(l->name));
	strbuf_addstr(out, " = ");
	if (l->value)
		s->values.print(s->values.arg, l->type, l->value, out, NULL);
	else
		strbuf_addf(out, "<%s>", l->why);
	if (l->text) {
		strbuf_addstr(out, " \"");
		escape_line(out, l->text, strlen(l->text));
		strbuf_addch(out, '"');
	}
	strbuf_addch(out, '\n');
}

/* In chains perf shows where in its file an address is. */
static void add_chain(struct perf_script *s, struct perf_machine *m, struct strbuf *out)
{
	s->stack.len = 0;
	add_chain_frames(s, m, CHAIN_AS_PERF, &s->stack);
	for (size_t i = 0; i < s->stack.len; i++) {
		const struct recorded_frame *const f = &s->stack.items[i];

		strbuf_addch(out, '\t');
		add_place(f->object && !f->is_kernel ? f->in_file : f->address, f, out);
		strbuf_addch(out, '\n');
		for (u32 k = 0; k < f->local_count; k++)
			add_local(s, &f->locals[k], out);
	}
}

/* ---- lines ---- */

static bool is_tracepoint(const struct perf_script *s)
{
	return s->attr->type == PERF_TYPE_TRACEPOINT;
}

static bool shows_address(const struct perf_script *s)
{
	return is_tracepoint(s) ? s->tracepoints_have_chains
				: s->attr->sample_type & PERF_SAMPLE_IP;
}

static bool has_chain(const struct perf_script *s)
{
	return s->attr->sample_type & PERF_SAMPLE_CALLCHAIN;
}

/* Without an address there is room for a column of names. */
static void add_task(const struct perf_script *s, struct perf_machine *m, struct strbuf *out)
{
	const char *const comm = perf_machine_comm(m, s->sample.tid);
	const size_t width = shows_address(s) && has_chain(s) ? 0 : 16, before = out->len;
	const s32 tid = (s32)s->sample.tid;
	char *p, *number;

	escape_line(out, comm, strlen(comm));
	p = text_room(out, 96);
	p = pad(out->data + before, p, width);
	*p++ = ' ';
	number = p;
	if (tid < 0)
		*p++ = '-';
	p = pad(number, text_put_digits(p, tid < 0 ? -(u64)tid : (u64)tid), 5);
	*p++ = ' ';
	text_end(out, p);
}

static char *put_cpu(char *p, u32 cpu)
{
	*p++ = '[';
	p = cpu < 1000 ? put_digits(p, cpu, 3) : text_put_digits(p, cpu);
	*p++ = ']';
	*p++ = ' ';
	return p;
}

static char *put_time(char *p, u64 ns)
{
	char *const begin = p;

	p = put_number(p, ns / 1000000000, 5);
	*p++ = '.';
	p = pad(begin, put_digits(p, (u32)(ns % 1000000000 / 1000), 6), 12);
	*p++ = ':';
	*p++ = ' ';
	return p;
}

static void add_name_column(const struct perf_script *s, const char *name, struct strbuf *out)
{
	const size_t width = MIN(s->name_width, (size_t)256), n = strlen(name);
	char *p = text_room(out, width + n + 2);

	memcpy(p, name, n);
	p = pad(p, p + n, width);
	*p++ = ':';
	*p++ = ' ';
	text_end(out, p);
}

static void add_text(struct perf_script *s, const struct print_context *context, struct strbuf *out)
{
	if (s->info && s->sample.raw)
		print_format_run(s->info->print, context, s->sample.raw, s->sample.raw_size, out);
}

void perf_script_line(struct perf_script *s, struct perf_machine *m, const char *name,
		      const struct print_context *context, struct strbuf *out)
{
	const u64 type = s->attr->sample_type;
	char *p;

	if (type & PERF_SAMPLE_TID)
		add_task(s, m, out);
	p = text_room(out, 192);
	if (type & PERF_SAMPLE_CPU)
		p = put_cpu(p, s->sample.cpu);
	if (type & PERF_SAMPLE_TIME)
		p = put_time(p, s->sample.time);
	if (!is_tracepoint(s)) {
		p = put_number(p, s->sample.period, 10);
		*p++ = ' ';
	}
	text_end(out, p);
	add_name_column(s, name, out);
	add_text(s, context, out);
	if (shows_address(s) && has_chain(s)) {
		strbuf_addch(out, '\n');
		add_chain(s, m, out);
	} else if (shows_address(s)) {
		const struct recorded_frame f =
			perf_machine_place(m, s->sample.pid, mode_of(s->misc), s->sample.ip);

		strbuf_addch(out, ' ');
		add_place(s->sample.ip, &f, out);
	}
	strbuf_addch(out, '\n');
}

void perf_script_body(struct perf_script *s, struct perf_machine *m,
		      const struct print_context *context, struct strbuf *out)
{
	struct recorded_frame f;

	if (is_tracepoint(s)) {
		add_text(s, context, out);
		return;
	}
	strbuf_addf(out, "period = %" PRIu64, s->sample.period);
	if (!(s->attr->sample_type & PERF_SAMPLE_IP))
		return;
	f = perf_machine_place(m, s->sample.pid, mode_of(s->misc), s->sample.ip);
	strbuf_addf(out, ", ip = 0x%" PRIX64 " ", s->sample.ip);
	add_name(&f, out);
}

void perf_script_stack_text(struct perf_script *s, struct perf_machine *m, struct strbuf *out)
{
	if (!has_chain(s))
		return;
	strbuf_addch(out, '\n');
	add_chain(s, m, out);
	out->data[--out->len] = '\0'; /* the last newline is the line's own */
}

static void locals_json(const struct perf_script *s, const struct recorded_frame *f, struct json *j)
{
	if (!f->locals) {
		json_null(j);
		return;
	}
	json_array(j);
	for (u32 i = 0; i < f->local_count; i++) {
		const struct recorded_local *const l = &f->locals[i];

		json_object(j);
		json_member_text(j, "name", l->name);
		if (l->value) {
			json_key(j, "value");
			s->values.print(s->values.arg, l->type, l->value, NULL, j);
		} else {
			json_member_text(j, "reason", l->why);
		}
		if (l->text)
			json_member_text(j, "text", l->text);
		json_end(j, '}');
	}
	json_end(j, ']');
}

void perf_script_frames_json(struct perf_script *s, struct perf_machine *m, struct json *j)
{
	s->stack.len = 0;
	add_chain_frames(s, m, CHAIN_WHOLE, &s->stack);
	if (!s->stack.len)
		return;
	json_key(j, "frames");
	json_array(j);
	for (size_t i = 0; i < s->stack.len; i++) {
		const struct recorded_frame *const f = &s->stack.items[i];

		strbuf_reset(&s->text);
		if (f->symbol)
			strbuf_addf(&s->text, "%s+0x%" PRIx64, f->symbol, f->offset);
		else
			strbuf_addf(&s->text, "0x%" PRIx64, f->address);
		json_string(j, s->text.data, s->text.len);
	}
	json_end(j, ']');
	if (!perf_machine_wants_locals(m))
		return;
	json_key(j, "locals");
	json_array(j);
	for (size_t i = 0; i < s->stack.len; i++)
		locals_json(s, &s->stack.items[i], j);
	json_end(j, ']');
}
