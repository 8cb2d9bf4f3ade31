/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line for each event, by the program of its kind (trace/ctf/program.h): copies and decimal
 * numbers, for the most part.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/file.h"
#include "base/json.h"
#include "trace/ctf/program.h"
#include "trace/ctf/value.h"
#include "trace/ftrace/number_text.h"

#define CHUNK (256u << 10)

struct ctf_printer {
	struct ctf_print_options options;
	int fd;
	int error;
	struct strbuf out;
	struct arena arena; /* programs */
	s64 last_ns;
	bool has_last;
	s64 second; /* that `clock_text` is of */
	char clock_text[48];
	u32 clock_size;
	/* the packet context of the stream that was printed last */
	const struct ctf_stream *packet_stream;
	u64 packet_number;
	struct strbuf packet_text;
	struct strbuf begin,
		/* JSON: what stands before the time, and before the CPU; 32 bytes can be read */
		cpu;
};

/* The pieces of a line that are the same for every event. */
static void json_pieces(struct ctf_printer *p)
{
	struct json j;

	p->begin = p->cpu = (struct strbuf)STRBUF_INIT;
	strbuf_reserve(&p->begin, 32);
	strbuf_reserve(&p->cpu, 32);
	j = (struct json)JSON_INIT(&p->begin);
	json_object(&j);
	json_key(&j, "time_ns");
	j = (struct json){.out = &p->cpu, .has_value = true};
	json_key(&j, "cpu");
}

struct ctf_printer *ctf_printer_new(const struct ctf_print_options *options, int fd)
{
	struct ctf_printer *p = xzalloc(sizeof(*p));

	p->options = *options;
	p->fd = fd;
	p->second = INT64_MIN;
	p->out = (struct strbuf)STRBUF_INIT;
	p->packet_text = (struct strbuf)STRBUF_INIT;
	strbuf_reserve(&p->out, CHUNK * 2);
	json_pieces(p);
	return p;
}

static inline struct ctf_program *program_of(struct ctf_printer *p, const struct ctf_event *event)
{
	if (!event->class->program)
		event->class->program = ctf_program(&p->options, &p->arena, event);
	return event->class->program;
}

/* ---- the beginning of a line ---- */

static char *nine_digits(char *p, u32 v)
{
	const u32 high = v / 10000, low = v % 10000, top = high / 10000, middle = high % 10000;

	*p = (char)('0' + top);
	memcpy(p + 1, text_pairs + middle / 100 * 2, 2);
	memcpy(p + 3, text_pairs + middle % 100 * 2, 2);
	memcpy(p + 5, text_pairs + low / 100 * 2, 2);
	memcpy(p + 7, text_pairs + low % 100 * 2, 2);
	return p + 9;
}

/* "[12:34:56." */
static void clock_text(struct ctf_printer *p, s64 second)
{
	const time_t time = (time_t)second;
	struct tm tm;

	p->second = second;
	if (!p->options.seconds &&
	    (p->options.gmt ? gmtime_r(&time, &tm) : localtime_r(&time, &tm)))
		p->clock_size = (u32)snprintf(p->clock_text, sizeof(p->clock_text),
					      "[%02d:%02d:%02d.", tm.tm_hour, tm.tm_min, tm.tm_sec);
	else
		p->clock_size = (u32)snprintf(p->clock_text, sizeof(p->clock_text), "[%lld.",
					      (long long)second);
}

static char *put_time(struct ctf_printer *p, char *to, s64 ns)
{
	s64 second = ns / 1000000000, rest = ns % 1000000000;
	u64 delta;

	if (rest < 0) {
		second--;
		rest += 1000000000;
	}
	if (second != p->second)
		clock_text(p, second);
	memcpy(to, p->clock_text, 32);
	to = nine_digits(to + p->clock_size, (u32)rest);
	if (!p->has_last) {
		memcpy(to,
		       "] (+?.????????"
		       "?) ",
		       17);
		p->has_last = true;
		p->last_ns = ns;
		return to + 17;
	}
	delta = (u64)ns - (u64)p->last_ns; /* a damaged trace may jump by more than 2^63 */
	memcpy(to, "] (+", 4);
	if (ns < p->last_ns &&
	    p->options.format == CTF_FORMAT_TEXT) { /* came late, in a live trace */
		delta = 0 - delta;
		to[3] = '-';
	}
	p->last_ns = ns;
	to = text_put_digits(to + 4, delta / 1000000000u);
	*to++ = '.';
	to = nine_digits(to, (u32)(delta % 1000000000u));
	memcpy(to, ") ", 2);
	return to + 2;
}

static void packet_text(struct ctf_printer *p, const struct ctf_event *event)
{
	struct ctf_stream *s = event->stream;
	const struct ctf_type *t = s->class->packet_context;
	const struct ctf_value_style style = {&p->options, s->trace, event->ns};
	struct ctf_cursor c = s->at;
	bool first = true;

	p->packet_stream = s;
	p->packet_number = s->number;
	strbuf_reset(&p->packet_text);
	if (!t)
		return;
	c.at = s->context_at;
	ctf_align(&c, t->align);
	strbuf_addch(&p->packet_text, '{');
	for (u32 i = 0; i < t->count && !c.failed; i++) {
		if (ctf_is_about_packet(t->fields[i].name)) {
			ctf_skip(&c, t->fields[i].type);
			continue;
		}
		strbuf_addf(&p->packet_text, "%s%s = ", first ? " " : ", ", t->fields[i].shown);
		ctf_put_text(&p->packet_text, &c, t->fields[i].type, t->fields[i].slot, &style);
		first = false;
	}
	strbuf_addstr(&p->packet_text, " }, ");
}

/* ---- steps ---- */

static inline char *copy(char *to, const char *from, u32 n)
{
	if (__builtin_expect(n <= 32, 1)) {
		memcpy(to, from, 32);
		return to + n;
	}
	memcpy(to, from, n);
	return to + n;
}

static inline char *put_signed(char *to, s64 value)
{
	if (value >= 0)
		return text_put_digits(to, (u64)value);
	*to++ = '-';
	return text_put_digits(to, 0 - (u64)value);
}

/* A little endian integer of 8 << log bits at a whole byte. */
static inline bool take(struct ctf_cursor *c, u32 align, u32 log, u64 *ret)
{
	const u64 at = (c->at + align - 1) & ~((u64)align - 1);
	u64 value = 0;

	if (__builtin_expect(at > c->end || (8u << log) > c->end - at, 0)) {
		c->failed = true;
		return false;
	}
	switch (log) {
	case 0:
		memcpy(&value, c->data + at / 8, 1);
		break;
	case 1:
		memcpy(&value, c->data + at / 8, 2);
		break;
	case 2:
		memcpy(&value, c->data + at / 8, 4);
		break;
	default:
		memcpy(&value, c->data + at / 8, 8);
	}
	c->at = at + (8u << log);
	*ret = value;
	return true;
}

static void put_named(struct ctf_printer *p, const struct ctf_event *event, u64 address)
{
	strbuf_addf(&p->out, "0x%" PRIX64, address);
	p->options.address(p->options.arg, event->stream->trace, event->ns, address, &p->out);
}

/* What takes more than a few instructions; goes through the buffer. */
static void step_slowly(struct ctf_printer *p, const struct ctf_event *event,
			const struct ctf_print_step *step, struct ctf_cursor *c)
{
	const struct ctf_value_style style = {&p->options, event->stream->trace, event->ns};
	struct json json;
	const char *s;
	size_t n;
	u64 count;

	switch (step->kind) {
	case STEP_HEX:
		ctf_put_integer(&p->out, ctf_integer(c, step->type), step->type);
		break;
	case STEP_ADDRESS:
		put_named(p, event, ctf_integer(c, step->type));
		break;
	case STEP_ADDRESSES:
		ctf_align(c, step->type->align);
		count = ctf_count(c, step->type);
		strbuf_addch(&p->out, '[');
		for (u64 i = 0; i < count && !c->failed; i++) {
			strbuf_addstr(&p->out, i ? ", " : " ");
			put_named(p, event, ctf_integer(c, step->type->element));
		}
		strbuf_addstr(&p->out, " ]");
		break;
	case STEP_STRING:
		s = ctf_string(c, &n);
		ctf_put_string(&p->out, s ? s : "", n, p->options.escape);
		break;
	case STEP_ALIGN:
		ctf_align(c, step->align);
		break;
	case STEP_SKIP:
		ctf_noted(c, step->type, step->slot);
		break;
	case STEP_JSON:
		json = (struct json)JSON_INIT(&p->out);
		ctf_put_json(&json, c, step->type, step->slot, &style);
		break;
	default:
		ctf_put_text(&p->out, c, step->type, step->slot, &style);
	}
}

static char *put_json_string(struct ctf_printer *p, char *to, const char *s, size_t n, size_t room)
{
	*to++ = '"';
	p->out.len = (size_t)(to - p->out.data);
	if (json_is_plain(s, n)) {
		to = text_room(&p->out, n + room);
		memcpy(to, s, n);
		to += n;
	} else {
		escape_json(&p->out, s, n);
		to = text_room(&p->out, room);
	}
	*to++ = '"';
	return to;
}

static char *put_json_integer(char *to, u64 value, bool is_signed)
{
	const s64 v = (s64)value;
	const bool plain = is_signed ? json_s64_is_number(v) : json_u64_is_number(value);

	if (!plain)
		*to++ = '"';
	to = is_signed ? put_signed(to, v) : text_put_digits(to, value);
	if (!plain)
		*to++ = '"';
	return to;
}

static void run(struct ctf_printer *p, const struct ctf_event *event,
		const struct ctf_program *program, struct ctf_cursor *c)
{
	char *to = p->out.data + p->out.len;
	const char *s;
	size_t n;
	u64 value;

	for (const struct ctf_print_step *step = program->steps; !c->failed; step++) {
		to = copy(to, program->text + step->text, step->text_size);
		switch (step->kind) {
		case STEP_U8:
		case STEP_U16:
		case STEP_U32:
		case STEP_U64:
			if (take(c, step->align, step->kind - STEP_U8, &value))
				to = text_put_digits(to, value);
			break;
		case STEP_S8:
			if (take(c, step->align, 0, &value))
				to = put_signed(to, (s8)value);
			break;
		case STEP_S16:
			if (take(c, step->align, 1, &value))
				to = put_signed(to, (s16)value);
			break;
		case STEP_S32:
			if (take(c, step->align, 2, &value))
				to = put_signed(to, (s32)value);
			break;
		case STEP_S64:
			if (take(c, step->align, 3, &value))
				to = put_signed(to, (s64)value);
			break;
		case STEP_JSON_U64:
		case STEP_JSON_S64:
			if (take(c, step->align, 3, &value))
				to = put_json_integer(to, value, step->kind == STEP_JSON_S64);
			break;
		case STEP_JSON_STRING:
			s = ctf_string(c, &n);
			if (s)
				to = put_json_string(p, to, s, n, program->room);
			break;
		case STEP_END:
			p->out.len = (size_t)(to - p->out.data);
			return;
		default:
			p->out.len = (size_t)(to - p->out.data);
			step_slowly(p, event, step, c);
			to = text_room(&p->out, program->room);
		}
	}
	p->out.len = (size_t)(to - p->out.data);
}

/* ---- lines ---- */

int ctf_print(struct ctf_printer *p, const struct ctf_event *event, struct ctf_cursor *c)
{
	const struct ctf_program *program = program_of(p, event);
	const size_t begin = p->out.len;
	const s64 last = p->last_ns;
	const bool had_last = p->has_last;
	char *to;

	if (p->options.format == CTF_FORMAT_JSON) {
		to = text_room(&p->out, program->room);
		to = copy(to, p->begin.data, (u32)p->begin.len);
		to = put_json_integer(to, (u64)(event->ns + event->shift_ns), true);
		to = copy(to, program->head, program->head_size);
		if (event->stream->cpu != UINT64_MAX) {
			to = copy(to, p->cpu.data, (u32)p->cpu.len);
			to = text_put_digits(to, event->stream->cpu);
		}
		p->out.len = (size_t)(to - p->out.data);
		run(p, event, program, c);
	} else {
		if (p->packet_stream != event->stream || p->packet_number != event->stream->number)
			packet_text(p, event);
		to = text_room(&p->out, program->room + p->packet_text.len);
		if (event->stream->trace->has_clock)
			to = put_time(p, to, event->ns + event->shift_ns);
		to = copy(to, program->head, program->head_size);
		memcpy(to, p->packet_text.data, p->packet_text.len);
		p->out.len = (size_t)(to + p->packet_text.len - p->out.data);
		run(p, event, program, c);
	}
	if (c->failed) { /* half an event is not an event */
		p->out.len = begin;
		p->last_ns = last;
		p->has_last = had_last;
		return 0;
	}
	return ctf_print_added(p);
}

static void ready_json(const struct ctf_ready_event *e, struct strbuf *out)
{
	struct json j = JSON_INIT(out);

	json_object(&j);
	json_member_s64(&j, "time_ns", e->ns);
	json_member_text(&j, "event", e->name);
	if (e->host)
		json_member_text(&j, "host", e->host);
	if (e->cpu != UINT32_MAX)
		json_member_u64(&j, "cpu", e->cpu);
	json_key(&j, "context");
	json_object(&j);
	json_member_text(&j, "procname", e->task);
	json_member_s64(&j, "tid", e->pid);
	json_end(&j, '}');
	if (e->fields)
		e->fields(e->arg, &j);
	json_member_string(&j, "text", e->text, e->size);
	json_end(&j, '}');
	json_end_line(&j);
}

int ctf_print_ready(struct ctf_printer *p, const struct ctf_ready_event *e)
{
	if (p->options.format == CTF_FORMAT_JSON) {
		ready_json(e, &p->out);
	} else {
		text_end(&p->out, put_time(p, text_room(&p->out, 128), e->ns));
		strbuf_addf(&p->out, "%s%s%s: ", e->host ?: "", e->host ? " " : "", e->name);
		if (e->cpu != UINT32_MAX)
			strbuf_addf(&p->out, "{ cpu_id = %u }, ", e->cpu);
		strbuf_addstr(&p->out, "{ procname = ");
		ctf_put_string(&p->out, e->task, strlen(e->task), p->options.escape);
		strbuf_addf(&p->out, ", tid = %d }%s", e->pid, e->size ? ", " : "");
		strbuf_add(&p->out, e->text, e->size);
		strbuf_addch(&p->out, '\n');
	}
	return ctf_print_added(p);
}

struct strbuf *ctf_print_out(struct ctf_printer *p)
{
	return &p->out;
}

int ctf_print_added(struct ctf_printer *p)
{
	return p->out.len < CHUNK || p->fd < 0 ? p->error : ctf_print_flush(p);
}

int ctf_print_flush(struct ctf_printer *p)
{
	if (p->out.len && !p->error)
		p->error = write_all(p->fd, p->out.data, p->out.len);
	strbuf_reset(&p->out);
	return p->error;
}

void ctf_printer_release(struct ctf_printer *p)
{
	strbuf_release(&p->out);
	strbuf_release(&p->packet_text);
	strbuf_release(&p->begin);
	strbuf_release(&p->cpu);
	arena_release(&p->arena);
	free(p);
}
