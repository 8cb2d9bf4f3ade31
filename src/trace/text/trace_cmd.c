/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of trace-cmd report, and of the kernel's own file "trace":
 *
 *	cpus=2
 *	              ls-926   [001] d..2. 36585.188777: sched_switch: ls:926 [120] R ==> sh:1
 *	              ls-926   [001] 36585.188779: kernel_stack:  <stack trace >
 *	=> do_syscall_64 (ffffffff82203249)
 *	CPU:1 [LOST 26484 EVENTS]
 */
#include "trace/text/dialect.h"

static bool flags_and_time(struct text_at *t, struct text_event *e)
{
	text_blanks(t);
	if (!text_time(t, &e->ns)) {
		const size_t size = text_word(t).size; /* "d..2." */

		text_blanks(t);
		if (!size || size > 8 || !text_time(t, &e->ns))
			return false;
	}
	return text_char(t, ':');
}

/* Parses "-926 (  900) [001] d..2. 36585.188777:", which follows the name. */
static bool numbers(struct text_at *t, struct text_event *e)
{
	struct text_at at = *t;
	u64 v;

	e->pid = -1;
	if (!text_char(&at, '-') || !text_number(&at, &v) || v > INT32_MAX)
		return false;
	e->tid = (s64)v;
	text_blanks(&at);
	if (text_char(&at, '(')) {
		text_blanks(&at);
		if (text_number(&at, &v) && v <= INT32_MAX)
			e->pid = (s64)v;
		else
			while (text_char(&at, '-'))
				;
		if (!text_char(&at, ')'))
			return false;
		text_blanks(&at);
	}
	if (!text_char(&at, '[') || !text_number(&at, &v) || v > INT32_MAX || !text_char(&at, ']'))
		return false;
	e->cpu = (s64)v;
	if (!flags_and_time(&at, e))
		return false;
	*t = at;
	return true;
}

static bool event_of(struct text_at t, struct text_event *e)
{
	text_blanks(&t);
	e->comm.at = t.at;
	for (; t.at < t.end; t.at++) {
		if (*t.at != '-')
			continue;
		e->comm.size = (size_t)(t.at - e->comm.at);
		if (e->comm.size > TEXT_COMM_MOST)
			return false;
		if (e->comm.size && numbers(&t, e))
			break;
	}
	if (t.at == t.end)
		return false;
	text_blanks(&t);
	e->name = text_word(&t);
	e->text = text_rest(&t);
	e->period = 0;
	e->is_loss = false;
	if (e->name.size < 2 || e->name.at[e->name.size - 1] != ':')
		return false;
	e->name.size--;
	return true;
}

/* Parses "CPU:1 [LOST 5 EVENTS]" and "CPU:1 [EVENTS DROPPED]". */
static bool loss_of(struct text_at t, struct text_event *e)
{
	static const char lost[] = "[LOST ";
	const char *const at = memmem(t.at, (size_t)(t.end - t.at), lost, strlen(lost));

	if (t.end - t.at < 4 || memcmp(t.at, "CPU:", 4) != 0)
		return false;
	*e = (struct text_event){.is_loss = true};
	t.at = at ? at + strlen(lost) : t.end;
	text_number(&t, &e->lost);
	return true;
}

static bool frame_of(struct text_at t, struct text_frame *ret)
{
	struct text_at at;

	*ret = (struct text_frame){0};
	text_blanks(&t);
	if (!text_char(&t, '=') || !text_char(&t, '>'))
		return false;
	text_blanks(&t);
	text_symbol(text_word(&t), ret);
	text_blanks(&t);
	at = t;
	if (text_char(&at, '('))
		text_hex(&at, &ret->address);
	return true;
}

static enum text_line parse(const struct line *line, struct text_event *event,
			    struct text_frame *frame)
{
	const struct text_at t = {line->text, line->text + line->size};

	if (text_rest(&t).size == 0)
		return TEXT_COMMENT;
	if (event_of(t, event) || loss_of(t, event))
		return TEXT_EVENT;
	if (frame_of(t, frame))
		return TEXT_FRAME;
	return *line->text == '#' || !strncmp(line->text, "cpus=", MIN(line->size, (size_t)5)) ||
			       !strncmp(line->text, "version =", MIN(line->size, (size_t)9))
		       ? TEXT_COMMENT
		       : TEXT_STRANGE;
}

const struct text_dialect trace_cmd_dialect = {"the text of trace-cmd report", parse};
