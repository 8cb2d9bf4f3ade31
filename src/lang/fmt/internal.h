/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by format_*.c: laying a script out anew.
 *
 * Text is built bottom up, as lines that know their indentation relative to where they will be put,
 * because whether a list of arguments is broken depends on the width of what is inside. Widths are
 * bytes.
 *
 * Marks are what the tree does not hold: comments, blank lines and the lines of the preprocessor,
 * in the order of the source. Whoever lays out a piece takes the marks before it; a mark is printed
 * once.
 */
#ifndef PANTRACE_LANG_FMT_INTERNAL_H
#define PANTRACE_LANG_FMT_INTERNAL_H

#include "base/strbuf.h"
#include "lang/syntax/ast.h"

#define FORMAT_WIDTH  90 /* columns of a line, as in upstream's formatter */
#define FORMAT_INDENT 2

struct format_line {
	int indent; /* columns */
	/*
	 * printed as it is, from the first column on: a directive, or the rest of a multi-line
	 * string
	 */
	bool flush_left;
	/* as written: indented relative to the column where its statement begins */
	bool is_kept;
	struct strbuf text;
};

/* At least one line; the last one is being written. */
struct format_lines {
	struct format_line *items;
	size_t len, cap;
	bool must_break; /* has a comment of its own: must not be joined into one line */
};

enum format_mark_kind {
	MARK_COMMENT,
	MARK_BLANK, /* one or more empty lines */
	MARK_DIRECTIVE, /* a line of the preprocessor with its continuations */
};

struct format_mark {
	enum format_mark_kind kind;
	u32 begin, end;
	bool own_line; /* first on its line */
	bool ends_line; /* only comments follow it on its line */
	bool is_done;
};

struct formatter {
	struct arena *arena;
	const char *text; /* the source */
	u32 len;
	VECTOR(struct format_mark) marks;
	size_t next; /* all marks before are done */
	u32 base; /* where the statement that is being laid out begins */
	u32 column_pos; /* a place of the source, and its column */
	int column;
};

/* --- lines (lang/fmt/lines.c) --- */
void lines_init(struct format_lines *l);
void lines_release(struct format_lines *l);
void lines_add(struct format_lines *l, const char *text);
void lines_addn(struct format_lines *l, const char *text, size_t n);
void lines_addf(struct format_lines *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
void lines_break(struct format_lines *l);
/*
 * Moves other's lines to the end: from the current column on, continuation lines below it. Releases
 * other.
 */
void lines_append(struct format_lines *l, struct format_lines *other);
/* The same, but continuation lines keep their own indentation. */
void lines_append_loose(struct format_lines *l, struct format_lines *other);
/* On lines of their own, FORMAT_INDENT deeper; then a new line. Does nothing if other is empty. */
void lines_append_indented(struct format_lines *l, struct format_lines *other);
size_t lines_width(const struct format_lines *l); /* of the widest */
size_t lines_count(const struct format_lines *l); /* an empty last one is not counted */
/* The statement is complete: from now on lines that were kept move along with it. */
void lines_settle(struct format_lines *l);
bool lines_last_empty(const struct format_lines *l);
void lines_print(const struct format_lines *l, struct strbuf *out);

/* --- marks (lang/fmt/marks.c) --- */
/*
 * opaque: ranges, in order, in which nothing is a mark although it may look like one (attach
 * points, C definitions).
 */
void marks_scan(struct formatter *f, const struct span *opaque, size_t nopaque);
/* Is there a comment or directive that was not printed yet in [begin, end)? */
bool marks_in(const struct formatter *f, u32 begin, u32 end);
void marks_done(struct formatter *f, u32 begin, u32 end);
void marks_drop_blanks(struct formatter *f, u32 begin, u32 end);
/* Those before pos, each on a line of its own; the current line is empty before and after. */
void marks_lead(struct formatter *f, u32 pos, struct format_lines *out);
/* Prints those in [begin, end) in the same way; blank lines among them are dropped. */
void marks_hoist(struct formatter *f, u32 begin, u32 end, struct format_lines *out);
/* Comments before pos that stand on the line of what was just written, at the end of its line. */
void marks_trail(struct formatter *f, u32 pos, struct format_lines *out);
/* Both, behind a complete line; the current line stays the last one that was written. */
void marks_flush(struct formatter *f, u32 pos, struct format_lines *out);

/* --- expressions (lang/fmt/expr.c) --- */
/*
 * A whole expression. is_bare: needs no parentheses here, whatever it is. Returns true if it was
 * kept as written, because of comments inside.
 */
bool format_value(struct formatter *f, const struct expr *e, size_t max, bool is_bare,
		  struct format_lines *out);
void format_type(struct formatter *f, const struct type_name *t, size_t max,
		 struct format_lines *out);
/* Does it never need parentheses? */
bool format_is_primitive(const struct expr *e);
/* Lays it out anew, whatever is inside; is_bare: needs no parentheses of its own. */
void format_expr(struct formatter *f, const struct expr *e, size_t max, bool is_bare,
		 struct format_lines *out);
/* A token as it was written. */
void format_source(struct formatter *f, struct span at, struct format_lines *out);

/* --- statements (lang/fmt/stmt.c) --- */
/* The same within braces: on one line if it fits. */
void format_scope(struct formatter *f, const struct block *b, const struct expr *value, size_t max,
		  struct format_lines *out);
/* "{", the block deeper, "}". */
void format_braces(struct formatter *f, const struct block *b, const struct expr *value, size_t max,
		   struct format_lines *out);
/* if ... else if ... else ..., as a statement or as a value. */
void format_if_value(struct formatter *f, const struct expr *e, size_t max,
		     struct format_lines *out);

#endif
