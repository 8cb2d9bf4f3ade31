/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -L: the source of a function or file, with the lines that can be probed. */
#include <ctype.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/json.h"
#include "binary/debug/listing.h"
#include "binary/debug/lines.h"
#include "binary/debug/source.h"
#include "cmd/probe/commands.h"

#define LINES_AFTER 3 /* shown after the last line with code, if no end was given */

#define COLOUR_LINE  "\033[34m"
#define COLOUR_PLACE "\033[2m"
#define COLOUR_OFF   "\033[m"

/* FUNC[@SRC][:RLN[+NUM|-RLN2]] or SRC[:ALN[+NUM|-ALN2]] */
struct line_range {
	const char *text; /* as written */
	char *function, *source; /* either may be NULL; malloc'ed */
	u32 from, to; /* to: UINT32_MAX = no end was given */
	bool is_numbered;
};

struct line_view {
	struct probe_command *command;
	struct translator *translator;
	struct elf_file *file;
	struct line_range range;
	struct debug_listing listing;
	struct debug_source source;
	struct strbuf out;
};

/* ---- the request ---- */

static int bad_range(struct line_view *v, const char *at, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int bad_range(struct line_view *v, const char *at, const char *fmt, ...)
{
	struct diag *d = &v->command->diag;
	const u16 source = diag_add_source(d, "line", v->range.text, strlen(v->range.text));
	const u32 begin = (u32)(at - v->range.text);
	struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	diag_error(d, (struct span){begin, begin + 1, source}, "%s", text.data);
	diag_hint(d, "the form is FUNCTION[@SOURCE][:LINE[-LINE|+COUNT]] or "
		     "SOURCE[:LINE[-LINE|+COUNT]]");
	diag_code(d, EXIT_USAGE);
	strbuf_release(&text);
	return -EINVAL;
}

/* The first ':' that is not part of "::" and not within parentheses or template arguments. */
static const char *find_colon(const char *s)
{
	int depth = 0;

	for (; *s; s++) {
		if (s[0] == ':' && s[1] == ':')
			s++;
		else if (*s == '(' || *s == '<')
			depth++;
		else if ((*s == ')' || *s == '>') && depth)
			depth--;
		else if (*s == ':' && !depth)
			return s;
	}
	return NULL;
}

static int read_line(struct line_view *v, const char **at, const char *what, u32 *ret)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(*at, &end, 10);
	if (end == *at || !isdigit((unsigned char)**at) || errno || n > INT32_MAX)
		return bad_range(v, *at, "'%s' is not a valid number.", what);
	*at = end;
	*ret = (u32)n;
	return 0;
}

static int parse_numbers(struct line_view *v, const char *at)
{
	struct line_range *r = &v->range;
	const char *const begin = at;
	char sign;

	if (read_line(v, &at, "start line", &r->from))
		return -EINVAL;
	r->is_numbered = true;
	sign = *at;
	if (sign == '+' || sign == '-') {
		at++;
		if (read_line(v, &at, "end line", &r->to))
			return -EINVAL;
		if (sign == '+')
			r->to += r->from - 1;
		if (r->from > r->to || (sign == '+' && r->to == UINT32_MAX))
			return bad_range(v, begin, "Start line must be smaller than end line.");
	}
	return *at ? bad_range(v, at, "Tailing with invalid str '%s'.", at) : 0;
}

static bool is_function_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strchr(";+%*?", s[i]))
			return false;
	return n > 0;
}

static int parse_range(struct line_view *v, const char *text)
{
	struct line_range *r = &v->range;
	const char *colon = find_colon(text), *at;
	size_t n = colon ? (size_t)(colon - text) : strlen(text);

	*r = (struct line_range){.text = text, .to = UINT32_MAX};
	if (colon && parse_numbers(v, colon + 1))
		return -EINVAL;
	at = memchr(text, '@', n);
	if (!at && (memchr(text, '/', n) || memchr(text, '.', n))) {
		r->source = xstrndup(text, n);
		return 0;
	}
	if (at) {
		r->source = xstrndup(at + 1, n - (size_t)(at + 1 - text));
		n = (size_t)(at - text);
	}
	if (!is_function_name(text, n) || (at && !*r->source))
		return bad_range(v, text, "'%.*s' is not a valid function name.", (int)n, text);
	r->function = xstrndup(text, n);
	return 0;
}

/* ---- lines with code ---- */

static int say_missing(struct line_view *v, int err)
{
	struct diag *d = &v->command->diag;
	const struct debug_listing *l = &v->listing;
	const struct line_range *r = &v->range;

	if (err == -ENODATA || debug_lacks(v->file)) {
		translator_refuse(v->translator, NO_SPAN);
	} else if (!l->file && r->function) {
		diag_error(d, NO_SPAN,
			   "%s: its debug information has no code of a function '%s'%s%s",
			   elf_file_path(v->file), r->function, r->source ? " of " : "",
			   r->source ? r->source : "");
	} else if (!l->file) {
		diag_error(d, NO_SPAN, "no code of %s comes from a file '%s'",
			   elf_file_path(v->file), r->source);
		diag_hint(d, "give the end of its path, as in parse.c or lib/parse.c");
	} else {
		diag_error(d, NO_SPAN, "Specified source line is not found: no code in '%s'",
			   r->text);
		if (l->nearest && l->nearest >= l->base)
			diag_hint(d, "the nearest line with code is %s:%u",
				  r->function ? r->function : r->source, l->nearest - l->base);
	}
	return -ENOENT;
}

/* Only one of several functions with the same name is shown: name the others. */
static void say_others(struct line_view *v)
{
	const struct debug_listing *l = &v->listing;
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < l->others.len; i++) {
		strbuf_addf(&text, "%s%s", i ? ", " : "", l->others.items[i].file);
		if (l->others.items[i].line)
			strbuf_addf(&text, ":%u", l->others.items[i].line);
	}
	if (text.len) {
		diag_warning(&v->command->diag, NO_SPAN, "others of that name: %s", text.data);
		diag_hint(&v->command->diag, "%s chooses one",
			  v->range.function ? "FUNCTION@SOURCE" : "more of the path");
	}
	strbuf_release(&text);
}

static int find_lines(struct line_view *v)
{
	const struct line_range *r = &v->range;
	const int err = r->function
				? debug_list_function(v->file, r->function, r->source, r->from,
						      r->to, &v->listing)
				: debug_list_file(v->file, r->source, r->from, r->to, &v->listing);

	if (err)
		return say_missing(v, err);
	say_others(v);
	return 0;
}

static int read_source(struct line_view *v)
{
	struct probe_command *p = v->command;
	const struct debug_listing *l = &v->listing;
	const int err =
		debug_source_read(l->file, l->directory, p->o.source, p->o.symfs, &v->source);
	struct stat st;

	if (err) {
		diag_error(&p->diag, NO_SPAN, "the source %s cannot be read: %s", v->source.path,
			   debug_source_why(err));
		diag_hint(&p->diag,
			  p->o.source ? "-s DIRECTORY is the directory that contains %s, or the "
					"end of that path"
				      : "%s was there when the program was compiled; -s "
					"DIRECTORY says where it is now",
			  l->file);
		return err;
	}
	if (!stat(elf_file_path(v->file), &st) && v->source.modified.tv_sec > st.st_mtim.tv_sec)
		diag_warning(&p->diag, NO_SPAN, "%s is newer than %s: its lines may have moved",
			     v->source.path, elf_file_path(v->file));
	return 0;
}

/* ---- output ---- */

/* "  <- main+75, handle+32": the addresses of a probe at this line. */
static void add_places(struct line_view *v, const struct debug_listed_line *lines, size_t n)
{
	struct elf_symbol s;
	u64 into;

	for (size_t i = 0; i < n; i++) {
		strbuf_addstr(&v->out, i ? ", " : "   <- ");
		if (elf_file_symbol_at(v->file, lines[i].address, &s, &into)) {
			escape_line(&v->out, s.name, strlen(s.name));
			strbuf_addf(&v->out, "+%" PRIu64, into);
		} else {
			strbuf_addf(&v->out, "0x%" PRIx64, lines[i].address);
		}
		if (lines[i].is_inlined)
			strbuf_addstr(&v->out, " (inlined)");
	}
}

static void show_text(struct line_view *v, u32 number, const char *text, size_t len,
		      const struct debug_listed_line *lines, size_t n)
{
	const bool coloured = terminal_is_coloured(STDOUT_FILENO);

	if (n && coloured)
		strbuf_addstr(&v->out, COLOUR_LINE);
	if (n)
		strbuf_addf(&v->out, "%7u  ", number - v->listing.base);
	else
		strbuf_addchars(&v->out, ' ', 9);
	escape_terminal(&v->out, text, len);
	if (n && coloured)
		strbuf_addstr(&v->out, COLOUR_OFF);
	if (n && v->command->o.verbose) {
		strbuf_addstr(&v->out, coloured ? COLOUR_PLACE : "");
		add_places(v, lines, n);
		strbuf_addstr(&v->out, coloured ? COLOUR_OFF : "");
	}
	strbuf_addch(&v->out, '\n');
}

static void show_json(struct line_view *v, u32 number, const char *text, size_t len,
		      const struct debug_listed_line *lines, size_t n)
{
	struct json j = JSON_INIT(&v->out);
	struct elf_symbol s;
	u64 into;

	json_object(&j);
	json_member_text(&j, "file", v->source.path);
	json_member_u64(&j, "line", number);
	if (v->range.function)
		json_member_text(&j, "function", v->range.function);
	if (v->range.function && number >= v->listing.base)
		json_member_u64(&j, "function_line", number - v->listing.base);
	json_member_string(&j, "text", text, len);
	json_key(&j, "places");
	json_array(&j);
	for (size_t i = 0; i < n; i++) {
		json_object(&j);
		json_key(&j, "address");
		json_hex(&j, lines[i].address);
		if (elf_file_symbol_at(v->file, lines[i].address, &s, &into)) {
			json_member_text(&j, "symbol", s.name);
			json_member_u64(&j, "offset", into);
		}
		json_member_bool(&j, "inlined", lines[i].is_inlined);
		json_end(&j, '}');
	}
	json_end(&j, ']');
	json_end(&j, '}');
	json_end_line(&j);
}

static void show_header(struct line_view *v)
{
	const struct line_range *r = &v->range;

	strbuf_addch(&v->out, '<');
	if (r->function) {
		escape_line(&v->out, r->function, strlen(r->function));
		strbuf_addch(&v->out, '@');
	}
	escape_line(&v->out, v->source.path, strlen(v->source.path));
	strbuf_addf(&v->out, ":%u>\n", r->from);
}

/* Returns false if the file ends before its last line with code. */
static bool show_lines(struct line_view *v)
{
	const struct debug_listing *l = &v->listing;
	const u32 first = MAX(l->base + v->range.from, 1u);
	const bool has_end = v->range.to != UINT32_MAX;
	const u32 known = vector_last(&l->lines).line;
	const u32 last = has_end ? l->base + v->range.to : known + LINES_AFTER;
	const char *at = v->source.text, *const end = at + v->source.len;
	size_t next = 0;
	u32 number = 1;

	for (; at < end && number <= last; number++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *const stop = newline ? newline : end;
		size_t n = 0;

		while (next + n < l->lines.len && l->lines.items[next + n].line == number)
			n++;
		if (number >= first)
			(v->command->o.json ? show_json : show_text)(
				v, number, at, (size_t)(stop - at), &l->lines.items[next], n);
		next += n;
		at = stop + 1;
	}
	return number > known;
}

static int show(struct line_view *v)
{
	if (!v->command->o.json)
		show_header(v);
	if (!show_lines(v)) {
		diag_error(&v->command->diag, NO_SPAN,
			   "Source file is shorter than expected: %s has no line %u",
			   v->source.path, vector_last(&v->listing.lines).line);
		diag_hint(&v->command->diag, "it is not the one that %s was built from",
			  elf_file_path(v->file));
		return -EINVAL;
	}
	return 0;
}

int probe_lines(struct probe_command *p)
{
	struct translate_config config = probe_target_of(p);
	struct line_view v = {.command = p, .out = STRBUF_INIT};
	int err = parse_range(&v, p->o.lines);

	if (!err) {
		v.file = probe_debug_file(p, &config, &v.translator);
		err = v.file ? find_lines(&v) : -ENOENT;
	}
	if (!err)
		err = translator_check(v.translator);
	if (!err)
		err = read_source(&v);
	if (!err)
		err = show(&v);
	fwrite(v.out.data, 1, v.out.len, stdout);
	strbuf_release(&v.out);
	debug_source_release(&v.source);
	debug_listing_release(&v.listing);
	free(v.range.function);
	free(v.range.source);
	translator_release(v.translator);
	return err ? EXIT_FAILED : EXIT_OK;
}
