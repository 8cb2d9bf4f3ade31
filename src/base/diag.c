/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/diag.h"

#include <stdarg.h>
#include <unistd.h>

#include "base/escape.h"

#define COMMAND_WARNINGS 64 /* distinct warnings that are printed */
#define EXCERPT_MAX	 300 /* bytes of a source line shown around the place */

u16 diag_add_source(struct diag *d, const char *name, const char *text, size_t len)
{
	vector_push(&d->sources, (struct source){.name = name, .text = text, .len = len});
	return (u16)(d->sources.len - 1);
}

static void add(struct diag *d, enum diag_level level, struct span at, const char *fmt, va_list ap)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_vaddf(&sb, fmt, ap);
	vector_push(&d->messages, (struct diag_message){.level = level,
							.span = at,
							.text = arena_strdup(&d->arena, sb.data)});
	strbuf_release(&sb);
}

void diag_error(struct diag *d, struct span at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(d, DIAG_ERROR, at, fmt, ap);
	va_end(ap);
	d->errors++;
}

void diag_warning(struct diag *d, struct span at, const char *fmt, ...)
{
	va_list ap;

	if (d->no_warnings)
		return;
	va_start(ap, fmt);
	add(d, DIAG_WARNING, at, fmt, ap);
	va_end(ap);
	d->warnings++;
}

void diag_hint(struct diag *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(d, DIAG_HINT, NO_SPAN, fmt, ap);
	va_end(ap);
}

void diag_code(struct diag *d, enum exit_code code)
{
	if (d->code == EXIT_OK)
		d->code = code;
}

enum exit_code diag_exit_code(const struct diag *d)
{
	if (!d->errors)
		return EXIT_OK;
	return d->code == EXIT_OK ? EXIT_FAILED : d->code;
}

void diag_place(const struct source *s, u32 offset, u32 *ret_line, u32 *ret_column)
{
	u32 line = 1, start = 0;

	offset = MIN(offset, (u32)s->len);
	for (u32 i = 0; i < offset; i++)
		if (s->text[i] == '\n') {
			line++;
			start = i + 1;
		}
	*ret_line = line;
	*ret_column = offset - start + 1;
}

/* The source line with the place underlined. Tabs become blanks so that the marks stand below. */
static void print_excerpt(const struct source *s, struct span at, u32 column, FILE *out,
			  bool colour)
{
	u32 begin = MIN(at.begin, (u32)s->len) - (column - 1), end = begin;
	u32 mark_end = MAX(at.end, at.begin + 1), from;
	struct strbuf text = STRBUF_INIT, marks = STRBUF_INIT, safe = STRBUF_INIT;

	while (end < s->len && s->text[end] != '\n')
		end++;
	from = at.begin - begin > EXCERPT_MAX / 2 ? at.begin - EXCERPT_MAX / 2 : begin;
	end = MIN(end, from + EXCERPT_MAX);
	for (u32 i = from; i < end; i++) {
		size_t before = text.len;

		if (s->text[i] == '\t')
			strbuf_addch(&text, ' ');
		else if ((u8)s->text[i] >= 0x80)
			strbuf_addch(&text, s->text[i]);
		else
			escape_line(&text, s->text + i, 1);
		if (((u8)s->text[i] & 0xc0) != 0x80) /* one mark per character, not per byte */
			strbuf_addchars(&marks,
					i < at.begin   ? ' '
					: i < mark_end ? '~'
						       : '\0',
					i < mark_end ? (int)(text.len - before) : 0);
	}
	if (mark_end > end && at.begin >= end)
		strbuf_addch(&marks, '~');
	escape_line(&safe, text.data, text.len);
	fprintf(out, "%s\n%s%s%s\n", safe.data, colour ? "\033[1;35m" : "", marks.data,
		colour ? "\033[0m" : "");
	strbuf_release(&safe);
	strbuf_release(&text);
	strbuf_release(&marks);
}

static void print_message(const struct diag *d, const struct diag_message *m, FILE *out,
			  bool colour)
{
	static const struct {
		const char *word, *colour;
	} levels[] = {{"ERROR", "\033[1;31m"}, {"WARNING", "\033[1;33m"}, {"HINT", "\033[1;36m"}};
	const char *on = colour ? levels[m->level].colour : "", *off = colour ? "\033[0m" : "";
	struct strbuf text = STRBUF_INIT;
	const struct source *s = NULL;
	u32 line = 0, column = 0, end_line = 0, end_column = 0;

	if (m->span.begin != UINT32_MAX && m->span.file < d->sources.len) {
		s = &d->sources.items[m->span.file];
		diag_place(s, m->span.begin, &line, &column);
		diag_place(s, MAX(m->span.end, m->span.begin + 1), &end_line, &end_column);
		if (end_line == line)
			fprintf(out, "%s:%u:%u-%u: ", s->name, line, column,
				MAX(end_column, column + 1));
		else
			fprintf(out, "%s:%u-%u: ", s->name, line, end_line);
	}
	escape_terminal(&text, m->text, strlen(m->text));
	fprintf(out, "%s%s:%s %s\n", on, levels[m->level].word, off, text.data);
	strbuf_release(&text);
	if (s && s->len)
		print_excerpt(s, m->span, column, out, colour);
}

u16 diag_add_expansion(struct diag *d, u16 file, struct span call)
{
	struct source s;

	if (file >= d->sources.len || d->sources.len == UINT16_MAX)
		return file;
	s = d->sources.items[file];
	s.origin = s.is_expansion ? s.origin : file;
	s.is_expansion = true;
	s.call = call;
	vector_push(&d->sources, s);
	return (u16)(d->sources.len - 1);
}

void diag_print_expansions(const struct diag *d, enum diag_level level, struct span at, FILE *out,
			   bool colour)
{
	struct diag_message m = {.level = level, .span = at, .text = "expanded from"};

	if (at.begin == UINT32_MAX)
		return;
	/* A macro is registered after the text that it is called from, so the chain ends. */
	while (m.span.file < d->sources.len && d->sources.items[m.span.file].is_expansion) {
		m.span = d->sources.items[m.span.file].call;
		print_message(d, &m, out, colour);
	}
}

static bool is_said(struct diag *d, const char *text)
{
	for (size_t i = 0; i < d->said.len; i++)
		if (str_eq(d->said.items[i], text))
			return true;
	if (d->said.len < COMMAND_WARNINGS)
		vector_push(&d->said, text);
	return d->said.len == COMMAND_WARNINGS;
}

/* For a command's own script: the first error and each new warning, with their hints. */
static void print_of_command(struct diag *d, FILE *out)
{
	bool has_error = false, shown = false;
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < d->messages.len; i++) {
		const struct diag_message *m = &d->messages.items[i];

		if (m->level == DIAG_ERROR) {
			shown = !has_error;
			has_error = true;
		} else if (m->level == DIAG_WARNING) {
			shown = !is_said(d, m->text);
		}
		if (!shown)
			continue;
		strbuf_reset(&text);
		escape_terminal(&text, m->text, strlen(m->text));
		if (m->level == DIAG_HINT)
			fprintf(out, "HINT: %s\n", text.data);
		else
			fprintf(out, "pantrace %s: %s%s\n", d->command,
				m->level == DIAG_WARNING ? "warning: " : "", text.data);
	}
	strbuf_release(&text);
	d->messages.len = 0;
}

void diag_print(struct diag *d, FILE *out, bool colour)
{
	if (d->command) {
		print_of_command(d, out);
		return;
	}
	for (size_t i = 0; i < d->messages.len; i++) {
		const struct diag_message *m = &d->messages.items[i];

		print_message(d, m, out, colour);
		diag_print_expansions(d, m->level, m->span, out, colour);
	}
	d->messages.len = 0;
}

bool terminal_is_coloured(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && !getenv("NO_COLOR") && term && !str_eq(term, "dumb");
}

void diag_tell(struct diag *d)
{
	diag_print(d, stderr, terminal_is_coloured(STDERR_FILENO));
}

int diag_close(struct diag *d, int rc)
{
	const int code = d->errors ? (int)diag_exit_code(d) : rc;

	diag_tell(d);
	diag_release(d);
	return code;
}

void complain(const char *name, const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT, shown = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	escape_terminal(&shown, text.data, text.len); /* names of files may be anything */
	fprintf(stderr, "pantrace%s%s: %s\n", name ? " " : "", name ? name : "", shown.data);
	strbuf_release(&text);
	strbuf_release(&shown);
}

void diag_release(struct diag *d)
{
	vector_free(&d->sources);
	vector_free(&d->messages);
	vector_free(&d->said);
	arena_release(&d->arena);
}
