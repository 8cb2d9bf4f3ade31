/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The grammar of point.h. Errors that `perf probe` has, too, are in its words. */
#include "probe/definition/point.h"

#include <ctype.h>

#include "base/glob.h"
#include "probe/definition/internal.h"

struct point_parser {
	struct arena *arena;
	struct diag *diag;
	const char *text; /* of the whole definition */
	u16 file;
	struct point_definition *def;
};

static struct span span_of(const struct point_parser *p, const char *begin, size_t len)
{
	const u32 at = (u32)(begin - p->text);

	return (struct span){at, at + (u32)MAX(len, (size_t)1), p->file};
}

static int refuse(struct point_parser *p, struct span at, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int refuse(struct point_parser *p, struct span at, const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	diag_error(p->diag, at, "Semantic error :%s", text.data);
	diag_code(p->diag, EXIT_USAGE);
	strbuf_release(&text);
	return -EINVAL;
}

/* Names of C++ have blanks and operators. */
static void hint_quotes(struct point_parser *p)
{
	const char *const operator= strstr(p->text, "operator");
	const size_t name = strcspn(p->text, " \t"), open = strcspn(p->text, "(<");

	if (operator||(open < name && p->text[name]))
		diag_hint(p->diag, "a name with blanks or operators stands in quotes, as in "
				   "\"'ns::f(char const*)' len\"");
}

static const char *plain(struct point_parser *p, const char *begin, const char *end)
{
	return word_plain(p->arena, begin, (size_t)(end - begin), NULL);
}

/* [A-Za-z_][A-Za-z0-9_]* of this length. */
static bool is_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_')
			return false;
	return len && !isdigit((unsigned char)*s);
}

static bool parse_number(const char *begin, const char *end, int base, u64 *ret)
{
	char *stop;

	errno = 0;
	*ret = strtoull(begin, &stop, base);
	return isdigit((unsigned char)*begin) && stop == end && !errno;
}

/* ---- the point ---- */

/* Of ";:+@%", what ends a part of the point; "::" is a part of a name. */
static const char *find_mark(const char *s, const char *end, const char *marks)
{
	const char *at = s;

	while ((at = word_find(at, marks)) != NULL && at < end && at[0] == ':' && at[1] == ':')
		at += 2;
	return at && at < end ? at : NULL;
}

/* "GROUP:EVENT=", "EVENT=": *at goes behind it. */
static int parse_event(struct point_parser *p, const char **at, const char *end)
{
	struct point *point = &p->def->point;
	const char *const equals = word_find(*at, ";=@+%"), *begin = *at, *colon;

	if (!equals || *equals != '=' || equals >= end)
		return 0;
	colon = word_find(begin, ":");
	if (colon && colon < equals) {
		if (!is_name(begin, (size_t)(colon - begin)))
			return refuse(p, span_of(p, begin, (size_t)(colon - begin)),
				      "%.*s is bad for event name -it must follow C symbol-naming "
				      "rule.",
				      (int)(colon - begin), begin);
		point->group = plain(p, begin, colon);
		begin = colon + 1;
	}
	if (!is_name(begin, (size_t)(equals - begin)))
		return refuse(p, span_of(p, begin, (size_t)(equals - begin)),
			      "%.*s is bad for event name -it must follow C symbol-naming rule.",
			      (int)(equals - begin), begin);
	point->event = plain(p, begin, equals);
	*at = equals + 1;
	return 0;
}

/* "%sdt_PROVIDER:EVENT", "%EVENT", "sdt_PROVIDER:EVENT". True: it is one. */
static bool parse_sdt(struct point_parser *p, const char *at, const char *end)
{
	struct point *point = &p->def->point;
	const char *const begin = at + (*at == '%'), *colon = word_find(begin, ":");

	if (*at != '%' && (!str_starts(at, "sdt_") || !colon || colon >= end))
		return false;
	at = begin;
	if (colon && colon < end) {
		const char *const provider = plain(p, begin, colon);

		point->sdt_provider = str_starts(provider, "sdt_") ? provider + 4 : provider;
		at = colon + 1;
	}
	point->sdt_event = plain(p, at, end);
	return true;
}

/* What stands before the first mark: a function, a file, or an address. */
static int parse_first(struct point_parser *p, const char *at, const char *end, bool is_file)
{
	struct point *point = &p->def->point;
	const size_t len = (size_t)(end - at);

	if (is_file) {
		point->source = plain(p, at, end);
	} else if (str_starts(at, "0x")) {
		if (!parse_number(at, end, 16, &point->address))
			return refuse(p, span_of(p, at, len), "Invalid absolute address.");
		point->has_address = true;
	} else if (len) {
		point->function = word_plain(p->arena, at, len, &point->is_exact);
	}
	return 0;
}

/* One of ":LINE", "+OFFSET", "@SOURCE", "%return". */
static int parse_part(struct point_parser *p, char mark, const char *at, const char *end)
{
	struct point *point = &p->def->point;
	const struct span s = span_of(p, at, (size_t)(end - at));
	u64 line;

	switch (mark) {
	case ':':
		if (!parse_number(at, end, 10, &line) || line > INT32_MAX)
			return refuse(p, s, "There is non-digit char in line number.");
		point->line = (u32)line;
		return 0;
	case '+':
		if (parse_number(at, end, 0, &point->offset))
			return 0;
		refuse(p, s, "There is non-digit character in offset.");
		hint_quotes(p);
		return -EINVAL;
	case '@':
		if (point->source)
			return refuse(p, s, "SRC@SRC is not allowed.");
		point->source = plain(p, at, end);
		return 0;
	default:
		if (end - at != 6 || !str_starts(at, "return"))
			return refuse(p, s, "%%%.*s is not supported.", (int)(end - at), at);
		point->is_return = true;
		return 0;
	}
}

static const char *exclusion(const struct point *p)
{
	if (p->pattern && p->line)
		return "Lazy pattern can't be used with line number.";
	if (p->pattern && p->offset)
		return "Lazy pattern can't be used with offset.";
	if (p->line && p->offset)
		return "Offset can't be used with line number.";
	if (!p->line && !p->pattern && p->source && !p->function)
		return "File always requires line number or lazy pattern.";
	if (p->offset && !p->function)
		return "Offset requires an entry function.";
	if (p->is_return && !p->function)
		return "Return probe requires an entry function.";
	if ((p->offset || p->line || p->pattern) && p->is_return)
		return "Offset/Line/Lazy pattern can't be used with return probe.";
	if (p->has_address && (p->line || p->pattern || p->source))
		return "An address stands alone.";
	if (!p->function && !p->has_address && !p->source)
		return "The probe point is missing.";
	return NULL;
}

static int parse_point(struct point_parser *p, const struct definition_word *w)
{
	struct point *point = &p->def->point;
	const char *at = p->text + w->at.begin, *const end = p->text + w->at.end, *mark, *next;
	const char *why;

	if (parse_event(p, &at, end))
		return -EINVAL;
	point->at = span_of(p, at, (size_t)(end - at));
	point->text = arena_strndup(p->arena, at, (size_t)(end - at));
	if (parse_sdt(p, at, end))
		return 0;
	mark = find_mark(at, end, ";:+@%");
	/* A file has a '.' before its line. */
	next = find_mark(at, end, "+@%") ? NULL : find_mark(at, end, ";:");
	if (parse_first(p, at, mark ? mark : end, next && memchr(at, '.', (size_t)(next - at))))
		return -EINVAL;
	while (mark && *mark != ';') {
		next = find_mark(mark + 1, end, ";:+@%");
		if (parse_part(p, *mark, mark + 1, next ? next : end))
			return -EINVAL;
		mark = next;
	}
	if (mark)
		point->pattern = plain(p, mark + 1, end);
	why = exclusion(point);
	return why ? refuse(p, point->at, "%s", why) : 0;
}

/* ---- arguments ---- */

/* "->MEMBER", ".MEMBER", "[INDEX]" at `at`: goes behind it, NULL: an error was said. */
static const char *parse_step(struct point_parser *p, const char *at, const char *end,
			      struct point_step *ret)
{
	const char *begin = at;
	char *stop;

	*ret = (struct point_step){0};
	if (*at == '[') {
		errno = 0;
		ret->index = strtoll(at + 1, &stop, 0);
		if (stop == at + 1 || *stop != ']' || stop >= end || errno) {
			refuse(p, span_of(p, at, (size_t)(end - at)),
			       "Array index must be a number.");
			return NULL;
		}
		ret->is_arrow = true;
		ret->at = span_of(p, at, (size_t)(stop + 1 - at));
		return stop + 1;
	}
	ret->is_arrow = str_starts(at, "->");
	begin += *at == '.' ? 1 : ret->is_arrow ? 2 : 0;
	at = begin + strcspn(begin, "-.[");
	at = MIN(at, end);
	if (begin == p->text || at == begin || !is_name(begin, (size_t)(at - begin)) ||
	    (begin[-1] != '.' && begin[-1] != '>')) {
		refuse(p, span_of(p, begin, (size_t)(end - begin)), "Argument parse error: %.*s",
		       (int)(end - begin), begin);
		return NULL;
	}
	ret->member = arena_strndup(p->arena, begin, (size_t)(at - begin));
	ret->at = span_of(p, begin, (size_t)(at - begin));
	return at;
}

static int parse_variable(struct point_parser *p, const char *at, const char *end,
			  struct point_argument *a)
{
	const char *step = at + strcspn(at, "-.[");

	step = MIN(step, end);
	a->kind = VALUE_VARIABLE;
	a->variable = arena_strndup(p->arena, at, (size_t)(step - at));
	while (step && step < end) {
		struct point_step s;

		step = parse_step(p, step, end, &s);
		if (step)
			vector_push(&a->steps, s);
	}
	return step ? 0 : -EINVAL;
}

static int parse_argument(struct point_parser *p, const struct definition_word *w,
			  struct point_argument *a)
{
	const char *at = p->text + w->at.begin, *end = p->text + w->at.end;
	const char *const equals = memchr(at, '=', (size_t)(end - at)), *mark;

	a->at = w->at;
	a->text = w->text;
	if (equals && is_name(at, (size_t)(equals - at))) {
		a->name = plain(p, at, equals);
		at = equals + 1;
	}
	if (end - at > 5 && !strncmp(end - 5, "@user", 5)) {
		a->is_user = true;
		end -= 5;
	}
	a->value = span_of(p, at, (size_t)(end - at));
	if (at == end)
		return refuse(p, w->at, "the value of the argument is missing");
	/* Behind the first ':', for what is a bit field has more of them. */
	mark = memchr(at, ':', (size_t)(end - at));
	if (mark && *at != '\\') {
		a->type = arena_strndup(p->arena, mark + 1, (size_t)(end - mark) - 1);
		end = mark;
		a->value.end = a->value.begin + (u32)(end - at);
	}
	mark = at + strcspn(at, "-.[");
	mark = MIN(mark, end);
	if (is_name(at, (size_t)(mark - at)))
		return parse_variable(p, at, end, a);
	if (end - at == 7 && !strncmp(at, "$params", 7))
		a->kind = VALUE_PARAMETERS;
	else if (end - at == 5 && !strncmp(at, "$vars", 5))
		a->kind = VALUE_VARIABLES;
	else if (!strchr("$%@+-\\", *at) && !isdigit((unsigned char)*at)) {
		refuse(p, a->value, "Argument parse error: %.*s", (int)(end - at), at);
		hint_quotes(p);
		return -EINVAL;
	}
	if (a->kind != VALUE_RAW && (a->name || a->type))
		return refuse(p, w->at, "%.*s has neither a name nor a type: it is several",
			      (int)(end - at), at);
	return 0;
}

/* At returns the registers and the stack have other values. */
static int check_return(struct point_parser *p, const struct point_argument *a)
{
	if (!p->def->point.is_return || a->kind == VALUE_RAW)
		return 0;
	refuse(p, a->at, "You can't specify local variable for kretprobe.");
	diag_hint(p->diag, "$retval is what it returns; probe its entry for variables");
	return -EINVAL;
}

int point_parse(struct arena *arena, struct diag *d, const char *text, struct point_definition *ret)
{
	struct point_parser p = {.arena = arena, .diag = d, .text = text, .def = ret};
	struct words words = {0};
	int err;

	*ret = (struct point_definition){0};
	p.file = diag_add_source(d, "definition", text, strlen(text));
	err = words_split(arena, d, text, p.file, &words);
	if (!err && !words.list.len)
		err = refuse(&p, NO_SPAN, "The probe point is missing.");
	if (!err && words.list.len - 1 > ARGUMENTS_MAX)
		err = refuse(&p, words.list.items[ARGUMENTS_MAX + 1].at,
			     "Too many probe arguments (%zu).", words.list.len - 1);
	if (!err)
		err = parse_point(&p, &words.list.items[0]);
	for (size_t i = 1; i < words.list.len && !err; i++) {
		struct point_argument a = {0};

		err = parse_argument(&p, &words.list.items[i], &a);
		if (!err)
			err = check_return(&p, &a);
		vector_push(&ret->arguments, a);
	}
	vector_free(&words.list);
	return err;
}

void point_definition_release(struct point_definition *def)
{
	for (size_t i = 0; i < def->arguments.len; i++)
		vector_free(&def->arguments.items[i].steps);
	vector_free(&def->arguments);
}

bool point_wants_variables(const struct point_definition *def)
{
	for (size_t i = 0; i < def->arguments.len; i++)
		if (def->arguments.items[i].kind != VALUE_RAW)
			return true;
	return false;
}

static char *without_blanks(const char *s)
{
	char *const copy = xmalloc(strlen(s) + 1), *out = copy;

	for (; *s; s++)
		if (!isspace((unsigned char)*s))
			*out++ = *s;
	*out = '\0';
	return copy;
}

bool point_pattern_matches(const char *pattern, const char *line)
{
	char *const wanted = without_blanks(pattern), *const text = without_blanks(line);
	const bool yes = glob_match(wanted, text);

	free(wanted);
	free(text);
	return yes;
}
