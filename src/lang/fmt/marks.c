/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comments, blank lines and lines of the preprocessor: found in the source, printed where the tree
 * is printed. */
#include "base/vector.h"
#include "lang/fmt/internal.h"
#include "lang/syntax/lex.h"
#include "lang/syntax/preprocess.h"

/* --- finding them --- */

struct scan {
	struct formatter *f;
	u32 pos;
	u32 newlines; /* since the last text or comment */
	bool has_text; /* on this line */
	bool has_token; /* on this line: a '#' is no directive any more */
};

static char at(const struct scan *s, u32 ahead)
{
	return s->pos + ahead < s->f->len ? s->f->text[s->pos + ahead] : '\0';
}

static void push(struct scan *s, enum format_mark_kind kind, u32 begin)
{
	vector_push(&s->f->marks,
		    (struct format_mark){
			    .kind = kind, .begin = begin, .end = s->pos, .own_line = !s->has_text});
}

static void scan_newline(struct scan *s)
{
	s->pos++;
	if (++s->newlines == 2)
		push(s, MARK_BLANK, s->pos - 1);
	s->has_text = s->has_token = false;
}

static void scan_comment(struct scan *s)
{
	const u32 begin = s->pos;
	const char *close;

	if (at(s, 1) == '/') {
		while (s->pos < s->f->len && at(s, 0) != '\n')
			s->pos++;
	} else {
		close = memmem(s->f->text + begin + 2, s->f->len - begin - 2, "*/", 2);
		s->pos = close ? (u32)(close - s->f->text) + 2 : s->f->len;
	}
	push(s, MARK_COMMENT, begin);
	s->newlines = 0;
	s->has_text = true;
}

static void scan_directive(struct scan *s)
{
	const u32 begin = s->pos;

	s->pos = preprocess_line_end(s->f->text, s->pos, s->f->len);
	push(s, MARK_DIRECTIVE, begin);
	s->newlines = 0;
}

static void scan_text(struct scan *s)
{
	if (at(s, 0) == '"') {
		for (s->pos++; s->pos < s->f->len && at(s, 0) != '"'; s->pos++)
			s->pos += at(s, 0) == '\\';
	}
	s->pos++;
	s->newlines = 0;
	s->has_text = s->has_token = true;
}

/* Backwards, so that it is known whether only comments follow a comment. */
static void find_line_ends(struct formatter *f)
{
	for (size_t i = f->marks.len; i-- > 0;) {
		struct format_mark *m = &f->marks.items[i];
		u32 pos = m->end;

		while (pos < f->len && strchr(" \t\r\f\v;,", f->text[pos]) && f->text[pos])
			pos++;
		m->ends_line = pos >= f->len || f->text[pos] == '\n' ||
			       (i + 1 < f->marks.len && f->marks.items[i + 1].begin == pos &&
				f->marks.items[i + 1].ends_line);
	}
}

void marks_scan(struct formatter *f, const struct span *opaque, size_t nopaque)
{
	struct scan s = {.f = f};
	size_t next = 0;

	if (at(&s, 0) == '#' && at(&s, 1) == '!')
		while (s.pos < f->len && at(&s, 0) != '\n')
			s.pos++;
	while (s.pos < f->len) {
		const char c = at(&s, 0);

		while (next < nopaque && opaque[next].end <= s.pos)
			next++;
		if (next < nopaque && s.pos >= opaque[next].begin) {
			s.pos = opaque[next++].end;
			s.newlines = 0;
			s.has_text = s.has_token = true;
		} else if (c == '\n') {
			scan_newline(&s);
		} else if (lex_is_blank(c) || c == '\\') {
			s.pos++;
		} else if (c == '/' && (at(&s, 1) == '/' || at(&s, 1) == '*')) {
			scan_comment(&s);
		} else if (c == '#' && !s.has_token) {
			scan_directive(&s);
		} else {
			scan_text(&s);
		}
	}
	find_line_ends(f);
}

/* --- asking for them --- */

/* The first mark at or behind pos. */
static size_t mark_at(const struct formatter *f, u32 pos)
{
	size_t low = 0, high = f->marks.len;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (f->marks.items[middle].begin < pos)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool marks_in(const struct formatter *f, u32 begin, u32 end)
{
	for (size_t i = mark_at(f, begin); i < f->marks.len && f->marks.items[i].begin < end; i++)
		if (f->marks.items[i].kind != MARK_BLANK && !f->marks.items[i].is_done)
			return true;
	return false;
}

void marks_drop_blanks(struct formatter *f, u32 begin, u32 end)
{
	for (size_t i = mark_at(f, begin); i < f->marks.len && f->marks.items[i].begin < end; i++)
		f->marks.items[i].is_done |= f->marks.items[i].kind == MARK_BLANK;
}

void marks_done(struct formatter *f, u32 begin, u32 end)
{
	for (size_t i = mark_at(f, begin); i < f->marks.len && f->marks.items[i].begin < end; i++)
		f->marks.items[i].is_done = true;
}

/* The next mark before pos that was not printed yet, or NULL. */
static struct format_mark *mark_before(struct formatter *f, u32 pos)
{
	while (f->next < f->marks.len && f->marks.items[f->next].is_done)
		f->next++;
	if (f->next >= f->marks.len || f->marks.items[f->next].begin >= pos)
		return NULL;
	return &f->marks.items[f->next];
}

/* --- printing them --- */

/* "// text", with a blank after the slashes if there is none. */
static void line_comment(const char *text, size_t n, struct format_lines *out)
{
	const bool joined = n && !lex_is_blank(*text) && *text != '/';

	lines_add(out, joined ? "// " : "//");
	lines_addn(out, text, n);
}

static size_t blanks(const char *text, const char *end)
{
	const char *s = text;

	while (s < end && *s != '\n' && lex_is_blank(*s))
		s++;
	return (size_t)(s - text);
}

/* How far all lines but the first of a block comment without stars are indented. */
static size_t common_indent(const char *text, const char *end)
{
	const char *line = memchr(text, '\n', (size_t)(end - text));
	size_t least = SIZE_MAX;

	while (line) {
		const size_t n = blanks(++line, end);

		if (line + n < end && line[n] != '\n') {
			if (line[n] == '*')
				return 0;
			least = MIN(least, n);
		}
		line = memchr(line, '\n', (size_t)(end - line));
	}
	return least;
}

static size_t trimmed(const char *text, size_t n)
{
	while (n && lex_is_blank(text[n - 1]))
		n--;
	return n;
}

/* A block comment as lines of its own, without the stars in front. */
static void block_comment(const char *text, const char *end, struct format_lines *out)
{
	const size_t common = common_indent(text, end);
	bool is_first = true;

	while (text <= end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;
		size_t skip = blanks(text, stop), n;

		if (text + skip < stop && text[skip] == '*') {
			while (text + skip < stop && text[skip] == '*')
				skip++;
			skip += text + skip < stop && text[skip] == ' ';
		} else if (!is_first) {
			skip = MIN(skip, common);
		}
		n = trimmed(text + skip, (size_t)(stop - text) - skip);
		/* its first and last line hold no text, mostly */
		if (n || (!is_first && newline)) {
			lines_add(out, n ? "// " : "//");
			lines_addn(out, text + skip, n);
			lines_break(out);
		}
		is_first = false;
		text = stop + 1;
	}
}

static bool is_block(const struct formatter *f, const struct format_mark *m)
{
	return f->text[m->begin + 1] == '*';
}

static bool is_one_line(const struct formatter *f, const struct format_mark *m)
{
	return !memchr(f->text + m->begin, '\n', m->end - m->begin);
}

/* Unchanged but for trailing blanks, which may matter behind a backslash. */
static void directive_lines(const char *text, size_t n, struct format_lines *out)
{
	const size_t least = trimmed(text, n);
	const char *end = text + (text[least - 1] == '\\' ? n : least), *newline;

	do {
		newline = memchr(text, '\n', (size_t)(end - text));
		vector_last(out).flush_left = true;
		lines_addn(out, text, (size_t)((newline ? newline : end) - text));
		lines_break(out);
		text = newline ? newline + 1 : end;
	} while (newline);
}

/* As lines of their own; the current line is empty before and after. */
static void own_lines(const struct formatter *f, const struct format_mark *m,
		      struct format_lines *out)
{
	const char *text = f->text + m->begin;
	const size_t n = m->end - m->begin;

	out->must_break = true;
	if (m->kind == MARK_DIRECTIVE) {
		directive_lines(text, n, out);
	} else if (is_block(f, m)) {
		block_comment(text + 2, text + n - 2, out);
	} else {
		line_comment(text + 2, trimmed(text + 2, n - 2), out);
		lines_break(out);
	}
}

static void blank_line(struct format_lines *out)
{
	const size_t n = out->len;

	if (n < 2 || out->items[n - 2].text.len)
		lines_break(out);
}

void marks_lead(struct formatter *f, u32 pos, struct format_lines *out)
{
	struct format_mark *m;

	while ((m = mark_before(f, pos))) {
		m->is_done = true;
		if (m->kind == MARK_BLANK)
			blank_line(out);
		else
			own_lines(f, m, out);
	}
}

void marks_hoist(struct formatter *f, u32 begin, u32 end, struct format_lines *out)
{
	for (size_t i = mark_at(f, begin); i < f->marks.len && f->marks.items[i].begin < end; i++) {
		struct format_mark *m = &f->marks.items[i];

		if (!m->is_done && m->kind != MARK_BLANK)
			own_lines(f, m, out);
		m->is_done = true;
	}
}

/* At the end of the current line; comments after it must end the line, too. */
static void trailing(const struct formatter *f, const struct format_mark *m, bool is_last,
		     struct format_lines *out)
{
	const char *text = f->text + m->begin + 2;
	const size_t n = m->end - m->begin - 2;

	out->must_break = true;
	if (!lines_last_empty(out))
		lines_add(out, " ");
	if (!is_block(f, m)) {
		line_comment(text, trimmed(text, n), out);
	} else if (!is_last) {
		lines_add(out, "/*");
		lines_addn(out, text, n);
	} else {
		const size_t skip = blanks(text, text + n - 2);

		lines_add(out, "// ");
		lines_addn(out, text + skip, trimmed(text + skip, n - 2 - skip));
	}
}

void marks_trail(struct formatter *f, u32 pos, struct format_lines *out)
{
	struct format_mark *m;

	while ((m = mark_before(f, pos)) && m->kind == MARK_COMMENT && !m->own_line &&
	       m->ends_line && is_one_line(f, m)) {
		const struct format_mark *next;

		m->is_done = true;
		next = mark_before(f, pos);
		trailing(f, m,
			 !next || next->kind != MARK_COMMENT || next->own_line ||
				 !is_one_line(f, next),
			 out);
	}
}

void marks_flush(struct formatter *f, u32 pos, struct format_lines *out)
{
	struct format_mark *m;

	marks_trail(f, pos, out);
	while ((m = mark_before(f, pos))) {
		m->is_done = true;
		if (m->kind == MARK_BLANK)
			continue;
		lines_break(out);
		own_lines(f, m, out);
		out->len--; /* the empty line that it ends with */
	}
}
