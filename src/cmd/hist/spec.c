/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/hist/spec.h"

#include "base/nearest.h"
#include "kernel/tracefs/event_name.h"

#define DEFAULT_SIZE 2048u /* the kernel's */
#define WORD	     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

struct parser {
	struct arena *arena;
	struct diag *diag;
	struct hist_spec *spec;
	const char *p;
	const char *sort; /* behind "sort="; NULL = none */
};

static struct span span_of(const struct parser *p, const char *begin, size_t len)
{
	const u32 at = (u32)(begin - p->spec->text);

	return (struct span){at, at + (u32)MAX(len, (size_t)1), p->spec->file};
}

static size_t word_length(const char *s)
{
	return strspn(s, WORD);
}

/* ---- fields ---- */

static const struct {
	const char *name;
	enum hist_source source;
} pseudo_fields[] = {
	{"common_pid", HIST_FROM_THREAD}, {"cpu", HIST_FROM_CPU},
	{"common_cpu", HIST_FROM_CPU},	  {"common_timestamp", HIST_FROM_TIME},
	{"stacktrace", HIST_FROM_STACK},  {"common_stacktrace", HIST_FROM_STACK},
};

static enum hist_source source_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(pseudo_fields); i++)
		if (str_eq(pseudo_fields[i].name, name))
			return pseudo_fields[i].source;
	return HIST_FROM_FIELD;
}

static int bad_form(struct parser *p, const char *word, struct span at)
{
	static const char *const words[] = {"hex",     "sym",	   "sym-offset", "log2",
					    "buckets", "execname", "syscall",	 "usecs",
					    "percent", "graph",	   "stacktrace", "string"};

	diag_error(p->diag, at, "there is no form '.%s'", word);
	diag_hint_nearest(p->diag, word, words, ARRAY_SIZE(words));
	diag_hint(p->diag,
		  ".hex .sym .sym-offset .log2 .buckets=N .execname .syscall .usecs .string "
		  "of keys; .hex .percent .graph of values");
	return -EINVAL;
}

/* "=N" of .buckets */
static int parse_width(struct parser *p, struct hist_column *c)
{
	char *end = NULL;

	if (*p->p == '=')
		c->width = strtoull(p->p + 1, &end, 10);
	if (!c->width || !end) {
		diag_error(p->diag, span_of(p, p->p, 1), ".buckets needs the width of a bucket");
		diag_hint(p->diag, ".buckets=100");
		return -EINVAL;
	}
	p->p = end;
	return 0;
}

static int parse_form(struct parser *p, u32 column)
{
	struct hist_column *c = &p->spec->columns[column];
	const char *begin = ++p->p;
	const size_t n = strspn(begin, WORD "-");
	const char *word = arena_strndup(p->arena, begin, n);

	p->p += n;
	if (str_eq(word, "string")) {
		c->form = HIST_STRING;
		p->spec->is_user_string[column] = true;
		return 0;
	}
	for (u32 f = 0; f < HIST_FORM_COUNT; f++) {
		if (!hist_form_words[f][0] || !str_eq(hist_form_words[f] + 1, word))
			continue;
		c->form = (enum hist_form)f;
		return f == HIST_BUCKETS ? parse_width(p, c) : 0;
	}
	return bad_form(p, word, span_of(p, begin, n));
}

/* Moves the values up by one: keys come before them, in whatever order they were written. */
static void make_room(struct hist_spec *s)
{
	for (u32 c = s->ncolumns; c > s->nkeys; c--) {
		s->columns[c] = s->columns[c - 1];
		s->sources[c] = s->sources[c - 1];
		s->places[c] = s->places[c - 1];
		s->is_user_string[c] = s->is_user_string[c - 1];
	}
	s->is_user_string[s->nkeys] = false;
}

static int parse_field(struct parser *p, bool is_key)
{
	struct hist_spec *s = p->spec;
	const u32 column = is_key ? s->nkeys : s->ncolumns;
	const u32 most = is_key ? HIST_MAX_KEYS : s->nkeys + HIST_MAX_VALUES;
	const char *begin = p->p;
	const size_t n = word_length(begin);
	int err = 0;

	if (!n) {
		diag_error(p->diag, span_of(p, begin, 1), "a field is missing here");
		return -EINVAL;
	}
	p->p += n;
	if (!is_key && n == strlen("hitcount") && str_starts(begin, "hitcount"))
		return 0; /* always counted */
	if (column == most) {
		diag_error(p->diag, span_of(p, begin, n), "there are at most %u %s",
			   is_key ? HIST_MAX_KEYS : HIST_MAX_VALUES, is_key ? "keys" : "values");
		return -E2BIG;
	}
	if (is_key)
		make_room(s);
	s->columns[column] = (struct hist_column){.name = arena_strndup(p->arena, begin, n)};
	s->sources[column] = source_of(s->columns[column].name);
	if (s->sources[column] == HIST_FROM_STACK)
		s->columns[column].form = HIST_STACK;
	if (*p->p == '.')
		err = parse_form(p, column);
	s->places[column] = span_of(p, begin, (size_t)(p->p - begin));
	s->ncolumns++;
	if (is_key)
		s->nkeys++;
	return err;
}

static int parse_fields(struct parser *p, bool is_key)
{
	int err = parse_field(p, is_key);

	while (!err && *p->p == ',') {
		p->p++;
		err = parse_field(p, is_key);
	}
	return err;
}

/* ---- the parts ---- */

/* A part ends with a colon, a blank, or the text. */
static int check_end(const struct parser *p)
{
	if (!*p->p || strchr(": \t", *p->p))
		return 0;
	diag_error(p->diag, span_of(p, p->p, 1), "unexpected '%c'", *p->p);
	return -EINVAL;
}

static int parse_keys(struct parser *p)
{
	return parse_fields(p, true);
}

static int parse_values(struct parser *p)
{
	return parse_fields(p, false);
}

static int parse_sort_key(struct parser *p)
{
	struct hist_spec *s = p->spec;
	const char *begin = p->p;
	const size_t n = word_length(begin);
	const char *name = arena_strndup(p->arena, begin, n);
	struct hist_sort sort = {.column = HIST_BY_HITS};
	bool found = str_eq(name, "hitcount");

	for (u32 c = 0; c < s->ncolumns && !found; c++) {
		found = str_eq(s->columns[c].name, name);
		sort.column = c;
	}
	if (!found) {
		diag_error(p->diag, span_of(p, begin, n), "'%s' is neither a key nor a value",
			   name);
		diag_hint(p->diag, "sort by hitcount, or by a field of keys= or vals=");
		return -EINVAL;
	}
	p->p += n;
	if (*p->p == '.') {
		const size_t m = word_length(p->p + 1);

		sort.is_descending = m && strncmp(p->p + 1, "descending", m) == 0;
		if (!sort.is_descending && !(m && strncmp(p->p + 1, "ascending", m) == 0)) {
			diag_error(p->diag, span_of(p, p->p, m + 1),
				   "a sort is .ascending or .descending");
			return -EINVAL;
		}
		p->p += m + 1;
	}
	if (s->nsorts == HIST_MAX_SORTS) {
		diag_error(p->diag, span_of(p, begin, n), "there are at most %u sorts",
			   HIST_MAX_SORTS);
		return -E2BIG;
	}
	s->sorts[s->nsorts++] = sort;
	return 0;
}

/* It may come before the fields that it names, so it is resolved when all are known. */
static int parse_sort(struct parser *p)
{
	if (p->sort) {
		diag_error(p->diag, span_of(p, p->p, 1), "there is a sort= already");
		diag_hint(p->diag, "sort=FIRST,SECOND sorts by several");
		return -EINVAL;
	}
	p->sort = p->p;
	p->p += strcspn(p->p, ": \t");
	return 0;
}

static int parse_sort_keys(struct parser *p)
{
	int err;

	if (!p->sort)
		return 0;
	p->p = p->sort;
	err = parse_sort_key(p);
	while (!err && *p->p == ',') {
		p->p++;
		err = parse_sort_key(p);
	}
	return err ? err : check_end(p);
}

static int parse_size(struct parser *p)
{
	const char *begin = p->p;
	char *end;

	p->spec->size = strtoull(begin, &end, 10);
	p->p = end;
	if (end > begin && p->spec->size && p->spec->size <= HIST_MAX_SIZE)
		return 0;
	diag_error(p->diag, span_of(p, begin, (size_t)(end - begin)),
		   "a size is a number of entries, from 1 to %u", HIST_MAX_SIZE);
	return -EINVAL;
}

static int parse_name(struct parser *p)
{
	const size_t n = word_length(p->p);

	if (!n) {
		diag_error(p->diag, span_of(p, p->p, 1), "a name is letters, digits and '_'");
		return -EINVAL;
	}
	p->spec->name = arena_strndup(p->arena, p->p, n);
	p->p += n;
	return 0;
}

static int parse_pause(struct parser *p)
{
	p->spec->is_paused = true;
	return 0;
}

static int parse_nothing(struct parser *p)
{
	return 0;
}

static const struct part {
	const char *word;
	int (*parse)(struct parser *p);
} parts[] = {
	{"keys=", parse_keys},	   {"key=", parse_keys},   {"vals=", parse_values},
	{"values=", parse_values}, {"val=", parse_values}, {"sort=", parse_sort},
	{"size=", parse_size},	   {"name=", parse_name},  {"pause", parse_pause},
	{"hist", parse_nothing},
};

static int parse_filter(struct parser *p)
{
	p->p += strlen("if");
	p->p += strspn(p->p, " \t");
	if (!*p->p) {
		diag_error(p->diag, span_of(p, p->p - 1, 1), "a filter is missing behind 'if'");
		return -EINVAL;
	}
	p->spec->filter = p->p;
	p->p += strlen(p->p);
	return 0;
}

static int parse_part(struct parser *p)
{
	const size_t n = word_length(p->p);

	if (str_starts(p->p, "if") && (p->p[2] == ' ' || p->p[2] == '\t'))
		return parse_filter(p);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!str_starts(p->p, parts[i].word))
			continue;
		p->p += strlen(parts[i].word);
		return parts[i].parse(p);
	}
	diag_error(p->diag, span_of(p, p->p, n), "this is not part of a histogram");
	diag_hint(p->diag, "keys=FIELD,... vals=FIELD,... sort=FIELD size=N name=NAME pause, then "
			   "'if FILTER'");
	return -EINVAL;
}

/* "sched:sched_switch" or "myprobe": up to the first part. */
static int parse_event(struct parser *p)
{
	struct hist_spec *s = p->spec;
	const char *begin = p->p;
	size_t n, m;

	p->p = begin = event_name_bare(begin);
	n = word_length(begin);
	m = begin[n] == ':' || begin[n] == '/' ? word_length(begin + n + 1) : 0;
	if (!n) {
		diag_error(p->diag, span_of(p, begin, 1), "an event is missing here");
		diag_hint(p->diag, "for instance `pantrace hist sched:sched_switch keys=next_pid`");
		return -EINVAL;
	}
	if (m && begin[n + 1 + m] != '=' && strncmp(begin + n + 1, "hist:", 5) != 0) {
		s->system = arena_strndup(p->arena, begin, n);
		s->event = arena_strndup(p->arena, begin + n + 1, m);
		n += 1 + m;
	} else {
		s->event = arena_strndup(p->arena, begin, n);
	}
	s->event_at = span_of(p, begin, n);
	p->p += n;
	return 0;
}

/* By hits; a histogram of ranges in the order of its ranges. */
static void default_sort(struct hist_spec *s)
{
	bool ranges = true;

	for (u32 c = 0; c < s->nkeys; c++)
		ranges = ranges &&
			 (s->columns[c].form == HIST_LOG2 || s->columns[c].form == HIST_BUCKETS);
	s->nsorts = 1;
	s->sorts[0] = (struct hist_sort){.column = ranges ? 0 : HIST_BY_HITS};
}

int hist_spec_parse(struct arena *a, struct diag *d, const char *text, bool has_event,
		    struct hist_spec *ret)
{
	struct parser p = {.arena = a, .diag = d, .spec = ret, .p = text};
	int err = 0;

	*ret = (struct hist_spec){.text = text,
				  .file = diag_add_source(d, "hist", text, strlen(text))};
	if (has_event)
		err = parse_event(&p);
	while (!err) {
		p.p += strspn(p.p, ": \t");
		if (!*p.p)
			break;
		err = parse_part(&p);
		if (!err)
			err = check_end(&p);
	}
	if (!err && !ret->nkeys) {
		diag_error(d, ret->event_at, "a histogram needs keys");
		diag_hint(d,
			  "keys=FIELD, for instance keys=common_pid.execname; `pantrace list -v "
			  "'%s%s%s'` shows the fields",
			  ret->system ? ret->system : "", ret->system ? ":" : "", ret->event);
		err = -EINVAL;
	}
	if (!err)
		err = parse_sort_keys(&p);
	if (!ret->nsorts)
		default_sort(ret);
	if (!ret->size)
		ret->size = DEFAULT_SIZE;
	return err;
}

/* ---- with the event's fields ---- */

bool hist_member_is_string(const struct type_member *m)
{
	return (m->type->kind == TYPE_ARRAY || m->is_data_loc) && m->type->element &&
	       m->type->element->is_char;
}

static int unknown_field(const struct hist_spec *s, struct diag *d, struct span at,
			 const char *name, const struct type *record)
{
	const char **names =
		xreallocarray(NULL, record->count + ARRAY_SIZE(pseudo_fields), sizeof(*names));
	u32 n = 0;

	for (u32 i = 0; i < record->count; i++)
		if (record->members[i].name)
			names[n++] = record->members[i].name;
	for (size_t i = 0; i < ARRAY_SIZE(pseudo_fields); i++)
		names[n++] = pseudo_fields[i].name;
	diag_error(d, at, "the event has no field '%s'", name);
	diag_hint_nearest(d, name, names, n);
	diag_hint(d, "`pantrace list -v '%s%s%s'` shows its fields", s->system ? s->system : "",
		  s->system ? ":" : "", s->event);
	free(names);
	return -ENOENT;
}

static int refuse_form(struct hist_spec *s, struct diag *d, u32 column, const char *why)
{
	diag_error(d, s->places[column], "'%s' %s", s->columns[column].name, why);
	return -EINVAL;
}

static int resolve_member(struct hist_spec *s, struct diag *d, u32 column,
			  const struct type_member *m)
{
	struct hist_column *c = &s->columns[column];
	const bool is_string = hist_member_is_string(m);

	if (is_string) {
		if (column >= s->nkeys)
			return refuse_form(s, d, column, "is a string, not a number to be summed");
		if (c->form != HIST_NUMBER && c->form != HIST_STRING)
			return refuse_form(s, d, column, "is a string: it has no form");
		c->form = HIST_STRING;
		s->is_user_string[column] = false;
		s->is_dynamic_string[column] = m->is_data_loc;
		return 0;
	}
	if (s->is_user_string[column] && m->type->kind != TYPE_POINTER)
		return refuse_form(s, d, column, "is not a pointer: .string needs one");
	if (!type_is_integer(m->type) && m->type->kind != TYPE_POINTER)
		return refuse_form(s, d, column, "is neither a number nor a string");
	c->is_signed = m->type->is_signed && c->form == HIST_NUMBER;
	return 0;
}

static int resolve_column(struct hist_spec *s, struct diag *d, struct type_store *store,
			  const struct type *record, u32 column)
{
	struct hist_column *c = &s->columns[column];
	const struct type_member *m;
	u32 offset;

	if (column < s->nkeys && (c->form == HIST_PERCENT || c->form == HIST_GRAPH))
		return refuse_form(s, d, column, "is a key: .percent and .graph are for values");
	if (column >= s->nkeys && c->form != HIST_NUMBER && c->form != HIST_HEX &&
	    c->form != HIST_PERCENT && c->form != HIST_GRAPH)
		return refuse_form(s, d, column,
				   "is a value: it has the forms .hex, .percent and .graph");
	if (c->form == HIST_EXECNAME && s->sources[column] != HIST_FROM_THREAD)
		return refuse_form(
			s, d, column,
			"is not common_pid: .execname is the name of the thread that runs");
	if (c->form == HIST_USECS && s->sources[column] != HIST_FROM_TIME)
		return refuse_form(s, d, column, "is not common_timestamp: .usecs is for times");
	if (c->form == HIST_STACK && s->sources[column] == HIST_FROM_FIELD)
		return refuse_form(s, d, column,
				   "is not a stack: the key stacktrace is the stack of the event");
	if (s->has_latency && str_eq(c->name, "latency"))
		s->sources[column] = HIST_FROM_LATENCY;
	if (s->sources[column] != HIST_FROM_FIELD)
		return 0;
	m = type_find_member(store, record, c->name, &offset);
	return m ? resolve_member(s, d, column, m)
		 : unknown_field(s, d, s->places[column], c->name, record);
}

static int resolve_filter(struct hist_spec *s, struct diag *d, const struct type *record)
{
	struct predicate_event event = {
		.name = s->shown    ? s->shown
			: s->system ? arena_printf(&d->arena, "%s:%s", s->system, s->event)
				    : s->event,
		.hint = arena_printf(&d->arena, "`pantrace list -v '%s%s%s'` shows its fields",
				     s->system ? s->system : "", s->system ? ":" : "", s->event)};
	int err = 0;

	if (!s->filter)
		return 0;
	for (u32 i = 0; i < record->count; i++)
		if (record->members[i].name)
			vector_push(&event.fields, record->members[i].name);
	if (s->has_latency)
		vector_push(&event.fields, "latency");
	s->condition = predicate_parse(d, "filter", s->filter);
	err = s->condition ? predicate_bind(s->condition, &event, d) : -EINVAL;
	predicate_event_release(&event);
	return err;
}

int hist_spec_resolve(struct hist_spec *s, struct diag *d, struct type_store *store,
		      const struct type *record)
{
	int err = 0;

	for (u32 c = 0; c < s->ncolumns && !err; c++)
		err = resolve_column(s, d, store, record, c);
	return err ? err : resolve_filter(s, d, record);
}

/* ---- back to text ---- */

static void add_column(struct strbuf *out, const struct hist_spec *s, u32 column)
{
	const struct hist_column *c = &s->columns[column];

	strbuf_addstr(out, c->name);
	if (s->is_user_string[column])
		strbuf_addstr(out, ".string");
	else if (c->form != HIST_STACK)
		strbuf_addstr(out, hist_form_words[c->form]);
	if (c->form == HIST_BUCKETS)
		strbuf_addf(out, "=%" PRIu64, c->width);
}

const char *hist_spec_title(struct arena *a, const struct hist_spec *s)
{
	struct strbuf out = STRBUF_INIT;
	const char *title;

	if (s->shown)
		strbuf_addf(&out, "%s:keys=", s->shown);
	else
		strbuf_addf(&out, "%s%s%s:keys=", s->system ? s->system : "", s->system ? ":" : "",
			    s->event);
	for (u32 c = 0; c < s->nkeys; c++) {
		if (c)
			strbuf_addch(&out, ',');
		add_column(&out, s, c);
	}
	strbuf_addstr(&out, ":vals=hitcount");
	for (u32 c = s->nkeys; c < s->ncolumns; c++) {
		strbuf_addch(&out, ',');
		add_column(&out, s, c);
	}
	for (u32 i = 0; i < s->nsorts; i++) {
		const u32 c = s->sorts[i].column;

		strbuf_addf(&out, "%s%s%s",
			    i ? "," : ":sort=", c == HIST_BY_HITS ? "hitcount" : s->columns[c].name,
			    s->sorts[i].is_descending ? ".descending" : "");
	}
	strbuf_addf(&out, ":size=%" PRIu64, s->size);
	if (s->filter)
		strbuf_addf(&out, " if %s", s->filter);
	title = arena_strdup(a, out.data);
	strbuf_release(&out);
	return title;
}
