/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of perf script, with its default fields or those of `-F comm,pid,tid,cpu,time,...`:
 *
 *	sh   926 36585.188777:     250000 cpu-clock:
 *		ffffffff82203249 _raw_spin_unlock_irqrestore+0x19 ([kernel.kallsyms])
 *		           1139 main+0x5 (/tmp/program)
 *
 *	perf  1027/1027 [000] 36586.371974: raw_syscalls:sys_enter: NR 16 (d, 2400, ...)
 *
 * A thread may be called anything: its name ends where the numbers begin that only such a line has.
 */
#include "trace/text/dialect.h"

/* Parses " 926/927 [000] 36585.188777: ", which follows the name. */
static bool numbers(struct text_at *t, struct text_event *e)
{
	struct text_at at = *t;
	bool is_negative;
	u64 first, second, cpu;

	text_blanks(&at);
	is_negative = text_char(&at, '-');
	if (at.at == t->at || !text_number(&at, &first) || first > INT32_MAX)
		return false;
	e->tid = is_negative ? -1 : (s64)first;
	e->pid = -1;
	if (text_char(&at, '/')) {
		if (!text_number(&at, &second) || second > INT32_MAX)
			return false;
		e->pid = e->tid;
		e->tid = (s64)second;
	}
	if (at.at == at.end || (*at.at != ' ' && *at.at != '\t'))
		return false;
	text_blanks(&at);
	e->cpu = -1;
	if (text_char(&at, '[')) {
		if (!text_number(&at, &cpu) || cpu > INT32_MAX || !text_char(&at, ']'))
			return false;
		e->cpu = (s64)cpu;
		text_blanks(&at);
	}
	if (!text_time(&at, &e->ns) || !text_char(&at, ':'))
		return false;
	*t = at;
	return true;
}

static bool task_and_time(struct text_at *t, struct text_event *e)
{
	text_blanks(t);
	e->comm.at = t->at;
	for (; t->at < t->end; t->at++) {
		if (*t->at != ' ' && *t->at != '\t')
			continue;
		e->comm.size = (size_t)(t->at - e->comm.at);
		if (e->comm.size > TEXT_COMM_MOST)
			break;
		if (e->comm.size && numbers(t, e))
			return true;
	}
	return false;
}

/* "   250000 cpu-clock:ppp: text" */
static bool name_and_text(struct text_at *t, struct text_event *e)
{
	struct text_at before;
	u64 period;

	text_blanks(t);
	before = *t;
	e->period = 0;
	if (text_number(t, &period) && t->at < t->end && *t->at == ' ') {
		e->period = period;
		text_blanks(t);
	} else {
		*t = before;
	}
	e->name = text_word(t);
	e->text = text_rest(t);
	e->is_loss = false;
	if (e->name.size > 1 && e->name.at[e->name.size - 1] == ':') {
		e->name.size--;
		return true;
	}
	/* perf script --show-lost-events */
	e->is_loss = text_equals(e->name, "PERF_RECORD_LOST");
	text_blanks(t);
	if (!e->is_loss || !text_equals(text_word(t), "lost"))
		return false;
	text_blanks(t);
	return text_number(t, &e->lost);
}

/* The start of the parenthesis that ends the line: a file may be named "a (deleted)". */
static const char *last_parenthesis(struct text_at t)
{
	int depth = 0;

	for (const char *p = t.end; p > t.at; p--) {
		depth += p[-1] == ')' ? 1 : p[-1] == '(' ? -1 : 0;
		if (!depth)
			return p - 1;
	}
	return NULL;
}

static bool frame_of(struct text_at t, struct text_frame *ret)
{
	const char *open;

	*ret = (struct text_frame){0};
	text_blanks(&t);
	while (t.end > t.at && (t.end[-1] == ' ' || t.end[-1] == '\t'))
		t.end--;
	if (!text_hex(&t, &ret->address) || !text_char(&t, ' ') || t.end == t.at ||
	    t.end[-1] != ')')
		return false;
	open = last_parenthesis(t);
	if (!open || open == t.at || open[-1] != ' ')
		return false;
	ret->object = (struct text_range){open + 1, (size_t)(t.end - open) - 2};
	text_symbol(text_rest(&(struct text_at){t.at, open}), ret);
	if (text_equals(ret->object, "[unknown]"))
		ret->object.size = 0;
	return true;
}

static enum text_line parse(const struct line *line, struct text_event *event,
			    struct text_frame *frame)
{
	struct text_at t = {line->text, line->text + line->size};

	if (text_rest(&t).size == 0)
		return TEXT_BLANK;
	if (*line->text == '#')
		return TEXT_COMMENT;
	if (*line->text == '\t')
		return frame_of(t, frame) ? TEXT_FRAME
					  : TEXT_COMMENT; /* a place in the source: skipped */
	if (task_and_time(&t, event) && name_and_text(&t, event))
		return TEXT_EVENT;
	t = (struct text_at){line->text, line->text + line->size};
	return frame_of(t, frame) ? TEXT_FRAME : *line->text == ' ' ? TEXT_COMMENT : TEXT_STRANGE;
}

const struct text_dialect perf_script_dialect = {"the text of perf script", parse};
