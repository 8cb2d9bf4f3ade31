/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Grammar: Documentation/trace/kprobetrace.rst, "Synopsis of kprobe_events". */
#include "cmd/hist/definition.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#define MAX_ARGUMENTS 16u
#define MAX_DEPTH     8 /* of +OFFSET(+OFFSET(...)) */

struct parser {
	struct arena *arena;
	struct diag *diag;
	struct type_store *types;
	struct hist_definition *def;
	u16 file;
	const char *names[MAX_ARGUMENTS];
	const struct type *argument_types[MAX_ARGUMENTS];
	u32 narguments;
	struct strbuf assignments;
};

/* The type as which a value in memory or a register is read. */
struct fetch_type {
	const char *name;
	u32 size;
	bool is_signed;
};

static const struct fetch_type fetch_types[] = {
	{"u8", 1, false},     {"u16", 2, false}, {"u32", 4, false}, {"u64", 8, false},
	{"s8", 1, true},      {"s16", 2, true},	 {"s32", 4, true},  {"s64", 8, true},
	{"x8", 1, false},     {"x16", 2, false}, {"x32", 4, false}, {"x64", 8, false},
	{"symbol", 8, false},
};

static int refuse(struct parser *p, const char *at, size_t len, const char *what, const char *hint)
{
	const u32 begin = (u32)(at - p->def->text);

	diag_error(p->diag, (struct span){begin, begin + (u32)MAX(len, (size_t)1), p->file}, "%s",
		   what);
	if (hint)
		diag_hint(p->diag, "%s", hint);
	return -EINVAL;
}

/* The next word between blanks; NULL at the end. */
static const char *next_word(const char **p, size_t *ret_len)
{
	const char *begin = *p + strspn(*p, " \t");

	*ret_len = strcspn(begin, " \t");
	*p = begin + *ret_len;
	return *ret_len ? begin : NULL;
}

static bool is_module(const char *name, size_t len)
{
	char path[256];

	return len &&
	       (size_t)snprintf(path, sizeof(path), "/sys/module/%.*s", (int)len, name) <
		       sizeof(path) &&
	       access(path, F_OK) == 0;
}

static bool is_user_place(const char *place, size_t len)
{
	const char *colon = memchr(place, ':', len);

	return memchr(place, '/', len) || memchr(place, '@', len) ||
	       (colon && !is_module(place, (size_t)(colon - place)));
}

/* ---- arguments ---- */

static const struct fetch_type *find_type(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(fetch_types); i++)
		if (strlen(fetch_types[i].name) == len &&
		    strncmp(fetch_types[i].name, name, len) == 0)
			return &fetch_types[i];
	return NULL;
}

/* "%di", "$arg1", "$retval": the number itself. NULL if it is none of them. */
static const char *register_text(struct parser *p, const char *s, size_t len)
{
	unsigned int n;
	char tail;

	if (len > 1 && s[0] == '%')
		return arena_printf(p->arena, "reg(\"%.*s\")", (int)len - 1, s + 1);
	s = arena_strndup(p->arena, s, len);
	if (str_eq(s, "$retval"))
		return "retval";
	if (str_eq(s, "$comm"))
		return "comm";
	if (sscanf(s, "$arg%u%c", &n, &tail) == 1 && n >= 1 && n <= 6)
		return arena_printf(p->arena, "arg%u", n - 1);
	return NULL;
}

static const char *memory_text(struct parser *p, const char *address, const struct fetch_type *t)
{
	return arena_printf(p->arena, "*(%sint%u *)%s(%s)", t->is_signed ? "" : "u", t->size * 8,
			    p->def->is_user ? "uptr" : "kptr", address);
}

/* The address that +OFFSET(PLACE) means, or the value of a register. NULL after a diagnostic. */
static const char *fetch_text(struct parser *p, const char *s, size_t len, bool *ret_is_memory,
			      int depth)
{
	static const struct fetch_type pointer = {"u64", 8, false};
	const char *open = memchr(s, '(', len), *inner;
	bool inner_is_memory;
	char *end;
	long long offset;

	*ret_is_memory = false;
	if (len && s[0] != '+' && s[0] != '-') {
		inner = register_text(p, s, len);
		if (!inner)
			refuse(p, s, len, "this argument cannot be fetched by a BPF program",
			       "%register, $arg1 to $arg6, $retval, $comm, +OFFSET(...) of them");
		return inner;
	}
	offset = strtoll(s, &end, 0);
	if (!open || end != open || len < 4 || s[len - 1] != ')' || depth == MAX_DEPTH) {
		refuse(p, s, len, "this argument is malformed",
		       "+OFFSET(WHERE), for instance +8(%di)");
		return NULL;
	}
	inner = fetch_text(p, open + 1, len - (size_t)(open + 1 - s) - 1, &inner_is_memory,
			   depth + 1);
	if (!inner)
		return NULL;
	*ret_is_memory = true;
	if (inner_is_memory)
		inner = memory_text(p, inner, &pointer);
	return arena_printf(p->arena, "(uint64)%s + %lld", inner, offset);
}

static int assign(struct parser *p, const char *fetch, size_t len, const char *type,
		  size_t type_len, bool is_comm)
{
	const struct fetch_type *t = type_len ? find_type(type, type_len) : &fetch_types[3];
	const bool is_string = type_len && (strncmp(type, "string", type_len) == 0 ||
					    strncmp(type, "ustring", type_len) == 0);
	bool is_memory;
	const char *text = fetch_text(p, fetch, len, &is_memory, 0);

	if (!text)
		return -EINVAL;
	if (!t && !is_string)
		return refuse(p, type, type_len, "this type is not known to a BPF program",
			      "u8 to u64, s8 to s64, x8 to x64, symbol, string, ustring");
	if (is_comm)
		strbuf_addstr(&p->assignments, text);
	else if (is_string)
		strbuf_addf(&p->assignments, "str(%s(%s))",
			    p->def->is_user || *type == 'u' ? "uptr" : "kptr", text);
	else if (is_memory)
		strbuf_addstr(&p->assignments, memory_text(p, text, t));
	else
		strbuf_addf(&p->assignments, "(%sint%u)%s", t->is_signed ? "" : "u", t->size * 8,
			    text);
	p->argument_types[p->narguments] = is_string || is_comm
						   ? type_array(p->types, type_char(), 64)
						   : type_int(t->size, t->is_signed);
	return 0;
}

/* [NAME=]FETCH[:TYPE]; without a name it is called argN, as in the kernel. */
static int parse_argument(struct parser *p, const char *s, size_t len)
{
	const char *equals = memchr(s, '=', len), *fetch = equals ? equals + 1 : s, *end = s + len;
	const char *colon = memchr(fetch, ':', (size_t)(end - fetch)), *stop = colon ? colon : end;
	const size_t fetch_len = (size_t)(stop - fetch);
	int err;

	if (p->narguments == MAX_ARGUMENTS)
		return refuse(p, s, len, "there are more than 16 arguments", NULL);
	p->names[p->narguments] = equals ? arena_strndup(p->arena, s, (size_t)(equals - s))
					 : arena_printf(p->arena, "arg%u", p->narguments + 1);
	for (const char *c = p->names[p->narguments]; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			return refuse(p, s, len,
				      "the name of an argument is letters, digits and '_'", NULL);
	strbuf_addf(&p->assignments, "\t$%s = ", p->names[p->narguments]);
	err = assign(p, fetch, fetch_len, colon ? colon + 1 : "",
		     colon ? (size_t)(end - colon - 1) : 0,
		     fetch_len == strlen("$comm") && str_starts(fetch, "$comm"));
	strbuf_addstr(&p->assignments, ";\n");
	p->narguments++;
	return err;
}

/* ---- the whole ---- */

/* "p:NAME", "r:NAME", "r16:NAME" */
static int parse_head(struct parser *p, const char *s, size_t len)
{
	const char *colon = s ? memchr(s, ':', len) : NULL;

	if (!colon || (s[0] != 'p' && s[0] != 'r') || colon + 1 == s + len)
		return refuse(p, s ? s : p->def->text, len,
			      "the definition of an event begins with p:NAME or r:NAME",
			      "-e 'p:reads vfs_read size=%dx'");
	p->def->is_return = s[0] == 'r';
	p->def->name = arena_strndup(p->arena, colon + 1, (size_t)(s + len - colon - 1));
	return 0;
}

static int parse_place(struct parser *p, const char *s, size_t len)
{
	if (!s)
		return refuse(p, p->def->text, strlen(p->def->text), "the place is missing",
			      "p:NAME FUNCTION or p:NAME FILE:FUNCTION");
	p->def->is_user = is_user_place(s, len);
	p->def->probe = arena_printf(p->arena, "%s%sprobe:%.*s", p->def->is_user ? "u" : "k",
				     p->def->is_return ? "ret" : "", (int)len, s);
	return 0;
}

static int parse_arguments(struct parser *p, const char **at)
{
	const char *word;
	size_t len;
	int err = 0;

	while (!err && (word = next_word(at, &len)))
		err = parse_argument(p, word, len);
	if (err)
		return err;
	p->def->record = type_record(p->types, p->names, p->argument_types, p->narguments);
	p->def->assignments = arena_strdup(p->arena, p->assignments.data);
	return 0;
}

int hist_definition_parse(struct arena *a, struct diag *d, struct type_store *types,
			  const char *text, bool with_language, struct hist_definition *ret)
{
	struct parser p = {
		.arena = a, .diag = d, .types = types, .def = ret, .assignments = STRBUF_INIT};
	const char *at = text, *word;
	size_t len;
	int err;

	*ret = (struct hist_definition){.text = text};
	p.file = diag_add_source(d, "definition", text, strlen(text));
	word = next_word(&at, &len);
	err = parse_head(&p, word, len);
	if (!err) {
		word = next_word(&at, &len);
		err = parse_place(&p, word, len);
	}
	if (!err && with_language)
		err = parse_arguments(&p, &at);
	strbuf_release(&p.assignments);
	return err;
}
