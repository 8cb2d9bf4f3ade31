/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a script printed as HTML that needs no JavaScript: text as it is, maps as tables. Read from
 * the lines of `-f json` in one pass; what does not look like them ends the line that it is in.
 */
#include "base/escape.h"
#include "view/page/script.h"

#define COLUMNS_MOST 3

/* Maps whose values are lists of objects: the members are columns. */
static const struct {
	const char *type, *members[COLUMNS_MOST + 1], *header;
} lists[] = {
	{"hist", {"min", "max", "count"}, "<th>From</th><th>To</th><th>Count</th>"},
	{"tseries", {"interval_start", "value"}, "<th>From</th><th>Value</th>"},
};

/* Lines that are no output of the script. */
static const char *const silent[] = {"attached_probes", "printed"};

struct still {
	const char *at, *end;
	struct strbuf type, text; /* of the line; the string that was read last */
	struct strbuf *out;
};

static bool take(struct still *s, char c)
{
	while (s->at < s->end && *s->at == ' ')
		s->at++;
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static bool is_next(struct still *s, char c)
{
	const bool is = take(s, c);

	s->at -= is;
	return is;
}

/* \uNNNN is only written for control characters. */
static void add_escape(struct still *s)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	const char *const letter = strchr(from, *s->at);

	if (*s->at == 'u' && s->end - s->at > 4) {
		const char digits[] = {s->at[1], s->at[2], s->at[3], s->at[4], 0};
		const u64 code = strtoul(digits, NULL, 16);

		strbuf_addch(&s->text, code < 0x80 ? (char)code : '?');
		s->at += 4;
	} else {
		strbuf_addch(&s->text, *s->at && letter ? to[letter - from] : *s->at);
	}
	s->at++;
}

/* Into text. */
static bool read_string(struct still *s)
{
	strbuf_reset(&s->text);
	if (!take(s, '"'))
		return false;
	while (s->at < s->end && *s->at != '"') {
		if (*s->at == '\\' && s->end - s->at > 1) {
			s->at++;
			add_escape(s);
		} else {
			strbuf_addch(&s->text, *s->at++);
		}
	}
	return take(s, '"');
}

/* A string or a number; anything else as JSON. */
static bool read_plain(struct still *s)
{
	u32 depth = 0;

	if (is_next(s, '"'))
		return read_string(s);
	strbuf_reset(&s->text);
	for (; s->at < s->end && (depth || !strchr(",]}", *s->at)); s->at++) {
		depth += *s->at == '[' || *s->at == '{';
		depth -= *s->at == ']' || *s->at == '}';
		strbuf_addch(&s->text, *s->at);
	}
	return s->text.len;
}

static void add_text(struct still *s)
{
	escape_xml(s->out, s->text.data, s->text.len);
}

static bool read_key(struct still *s)
{
	return read_string(s) && take(s, ':');
}

/* ---- maps ---- */

static bool add_row_of_list(struct still *s, const char *const *members)
{
	struct strbuf cells[COLUMNS_MOST] = {STRBUF_INIT, STRBUF_INIT, STRBUF_INIT};
	bool is_good = take(s, '{');

	while (is_good && !take(s, '}')) {
		u32 i = 0;

		is_good = read_key(s);
		while (members[i] && !str_eq(members[i], s->text.data))
			i++;
		is_good = is_good && members[i] && read_plain(s);
		if (is_good)
			strbuf_add(&cells[i], s->text.data, s->text.len);
		take(s, ',');
	}
	strbuf_addstr(s->out, "<tr>");
	for (u32 i = 0; i < COLUMNS_MOST; i++) {
		if (members[i]) {
			strbuf_addstr(s->out, "<td>");
			escape_xml(s->out, cells[i].data, cells[i].len);
			strbuf_addstr(s->out, "</td>");
		}
		strbuf_release(&cells[i]);
		if (!members[i])
			break;
	}
	strbuf_addstr(s->out, "</tr>\n");
	return is_good;
}

/* False: the line's type has no lists. */
static bool add_list(struct still *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		bool is_good = true;

		if (!str_eq(lists[i].type, s->type.data) || !take(s, '['))
			continue;
		strbuf_addf(s->out, "<table><thead><tr>%s</tr></thead><tbody>\n", lists[i].header);
		while (is_good && !take(s, ']')) {
			is_good = add_row_of_list(s, lists[i].members);
			take(s, ',');
		}
		strbuf_addstr(s->out, "</tbody></table>\n");
		return true;
	}
	return false;
}

static void add_value(struct still *s, u32 depth);

/* Keys and what belongs to them. */
static void add_rows(struct still *s, u32 depth)
{
	bool is_good = take(s, '{');

	strbuf_addstr(s->out, "<table><tbody>\n");
	while (is_good && !take(s, '}')) {
		is_good = read_key(s);
		strbuf_addstr(s->out, "<tr><td>");
		add_text(s);
		strbuf_addstr(s->out, "</td><td>");
		if (is_good)
			add_value(s, depth + 1);
		strbuf_addstr(s->out, "</td></tr>\n");
		take(s, ',');
	}
	strbuf_addstr(s->out, "</tbody></table>\n");
}

/* Statistics of a key are a table in the table. */
static void add_value(struct still *s, u32 depth)
{
	if (depth < 2 && is_next(s, '{'))
		add_rows(s, depth);
	else if (!add_list(s) && read_plain(s))
		add_text(s);
}

static void add_maps(struct still *s)
{
	bool is_good = take(s, '{');

	while (is_good && !take(s, '}')) {
		is_good = read_key(s);
		strbuf_addstr(s->out, "<h2>");
		add_text(s);
		strbuf_addstr(s->out, "</h2>\n");
		if (is_good)
			add_value(s, 0);
		take(s, ',');
	}
}

static void add_printed(struct still *s)
{
	strbuf_addstr(s->out, "<pre class=\"printed\">");
	if (is_next(s, '{')) /* a message: lost events */
		strbuf_addf(s->out, "%s ", s->type.data);
	if (read_plain(s))
		add_text(s);
	strbuf_addstr(s->out, "</pre>\n");
}

/* {"type": "map", "data": ...} */
static void add_line(struct still *s)
{
	static const char *const maps[] = {"map", "hist", "stats", "tseries"};

	if (!take(s, '{') || !read_key(s) || !read_string(s))
		return;
	strbuf_reset(&s->type);
	strbuf_add(&s->type, s->text.data, s->text.len);
	if (!take(s, ',') || !read_key(s))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		if (str_eq(silent[i], s->type.data))
			return;
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		if (str_eq(maps[i], s->type.data)) {
			add_maps(s);
			return;
		}
	add_printed(s);
}

bool script_still(const struct strbuf *lines, size_t most, struct strbuf *out)
{
	struct still s = {.type = STRBUF_INIT, .text = STRBUF_INIT, .out = out};
	const char *at = lines->data, *const end = at + lines->len;

	while (at < end && (size_t)(at - lines->data) < most) {
		s.at = at;
		s.end = memchr(at, '\n', (size_t)(end - at)) ?: end;
		at = MIN(s.end + 1, end);
		add_line(&s);
	}
	strbuf_release(&s.type);
	strbuf_release(&s.text);
	return at == end;
}
