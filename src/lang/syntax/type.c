/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types in scripts: "struct foo *", "uint64", "unsigned long", "string[64]", "typeof($x)". */
#include "lang/syntax/internal.h"

static const char *const tag_words[] = {"struct", "union", "enum"};
static const char *const qualifiers[] = {"const",    "volatile", "restrict", "__user",
					 "__kernel", "__percpu", "__rcu"};
/* Words that C combines to name an integer type. */
static const char *const c_words[] = {"unsigned", "signed", "long", "short", "int", "char"};

static bool is_one_of(const struct token *t, const char *const *words, size_t n)
{
	if (t->kind == TOKEN_NAME)
		for (size_t i = 0; i < n; i++)
			if (str_eq(t->text, words[i]))
				return true;
	return false;
}

#define IS_ONE_OF(t, words) is_one_of((t), (words), ARRAY_SIZE(words))

/* Words that are values although they look like type names. */
bool parse_is_value_word(const char *name)
{
	static const char *const words[] = {"args", "ctx",    "kstack", "nsecs", "pid",
					    "tid",  "ustack", "true",	"false"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_eq(name, words[i]))
			return true;
	name += *name == 's';
	if (str_starts(name, "arg") && name[3] && name[3 + strspn(name + 3, "0123456789")] == '\0')
		return true;
	return str_starts(name, "__builtin_");
}

/* Is this name certainly a type, whatever follows? */
static bool is_type_word(struct parser *p, const struct token *t)
{
	static const char *const own[] = {
		"int8",	  "int16",     "int32",	   "int64",	"uint8",	 "uint16",
		"uint32", "uint64",    "void",	   "bool",	"string",	 "buffer",
		"inet",	  "timestamp", "min_t",	   "max_t",	"sum_t",	 "count_t",
		"avg_t",  "stats_t",   "hist_t",   "lhist_t",	"tseries_t",	 "usym_t",
		"ksym_t", "ustack_t",  "kstack_t", "macaddr_t", "cgroup_path_t", "strerror_t",
		"size_t", "u8",	       "u16",	   "u32",	"u64",		 "s8",
		"s16",	  "s32",       "s64"};

	if (t->kind != TOKEN_NAME || parse_is_value_word(t->text))
		return false;
	if (IS_ONE_OF(t, tag_words) || IS_ONE_OF(t, c_words) || IS_ONE_OF(t, own) ||
	    IS_ONE_OF(t, qualifiers))
		return true;
	return type_named(p->types, t->text) != NULL;
}

/* The words of the name; false after an error. */
static bool parse_type_words(struct parser *p, struct type_name *ret)
{
	const struct token *t = parse_peek(p, 0);
	struct strbuf name = STRBUF_INIT;

	while (IS_ONE_OF(t, qualifiers)) {
		parse_next(p);
		t = parse_peek(p, 0);
	}
	if (t->kind != TOKEN_NAME) {
		parse_unexpected(p, "type name");
	} else if (IS_ONE_OF(t, tag_words)) {
		strbuf_addf(&name, "%s ", t->text);
		parse_next(p);
		strbuf_addstr(&name,
			      parse_peek(p, 0)->kind == TOKEN_NAME ? parse_peek(p, 0)->text : "");
		parse_expect_kind(p, TOKEN_NAME, "name of a struct, union or enum");
	} else if (IS_ONE_OF(t, c_words)) {
		for (; IS_ONE_OF(t, c_words) && !p->failed; t = parse_peek(p, 0)) {
			strbuf_addf(&name, name.len ? " %s" : "%s", t->text);
			parse_next(p);
		}
	} else {
		strbuf_addstr(&name, t->text);
		parse_next(p);
	}
	ret->name = arena_strdup(p->arena, name.data);
	strbuf_release(&name);
	return !p->failed;
}

static void parse_dimension(struct parser *p, struct type_name *ret)
{
	if (!parse_open(p, '['))
		return;
	if (ret->dimensions >= ARRAY_SIZE(ret->counts)) {
		parse_error(p, parse_peek(p, 0)->span, "syntax error, more than %zu dimensions",
			    ARRAY_SIZE(ret->counts));
		return;
	}
	if (!parse_is(p, ']'))
		ret->counts[ret->dimensions] = parse_expr(p);
	ret->dimensions++;
	parse_close(p, ']');
}

/* A pointer to an array: the type so far becomes the inner type. */
static void wrap(struct parser *p, struct type_name *t)
{
	struct type_name *inner = arena_new(p->arena, struct type_name);

	*inner = *t;
	*t = (struct type_name){.span = t->span, .inner = inner};
	if (inner->inner && inner->inner->inner && inner->inner->inner->inner)
		parse_error(p, t->span, "syntax error, more than 4 pointers to arrays");
}

static void parse_suffixes(struct parser *p, struct type_name *t)
{
	u32 height = p->height;

	while (!p->failed) {
		if (IS_ONE_OF(parse_peek(p, 0), qualifiers)) {
			parse_next(p);
		} else if (parse_is(p, '*')) {
			if (t->dimensions)
				wrap(p, t);
			if (++t->pointers > 16)
				parse_error(p, t->span,
					    "syntax error, more than 16 levels of pointers");
			parse_next(p);
		} else if (parse_is(p, '[')) {
			parse_dimension(p, t);
			height = MAX(height, p->height);
		} else {
			break;
		}
	}
	p->height = height;
}

struct type_name *parse_type_name(struct parser *p)
{
	struct type_name *t = arena_new(p->arena, struct type_name);

	t->span = parse_peek(p, 0)->span;
	p->height = 0;
	if (!parse_enter(p))
		return t;
	if (parse_accept_name(p, "typeof")) {
		struct type_name *inner = NULL;

		if (parse_open(p, '(')) {
			parse_type_or_expr(p, ')', &inner, &t->typeof_expr);
			parse_close(p, ')');
		}
		if (inner) {
			const struct span begin = t->span;

			*t = *inner;
			t->span = begin;
		}
		parse_suffixes(p, t);
	} else if (parse_type_words(p, t)) {
		parse_suffixes(p, t);
	}
	t->span = parse_span_since(p, t->span);
	parse_leave(p);
	return t;
}

/* After the name at p->at: `*`s and [..]s up to the punctuator `end`? Counts the suffixes. */
static bool suffixes_until(struct parser *p, u32 ahead, char end, char end2, u32 *ret_suffixes,
			   u32 *ret_ahead)
{
	int depth = 0;

	*ret_suffixes = 0;
	for (; !p->failed && ahead < 64; ahead++) {
		const struct token *t = parse_peek(p, ahead);
		const u32 punct = t->kind == TOKEN_PUNCT ? t->punct : 0;

		if (t->kind == TOKEN_END)
			return false;
		if (!depth && punct && (punct == (u8)end || punct == (u8)end2)) {
			*ret_ahead = ahead;
			return true;
		}
		depth += punct == '[' ? 1 : punct == ']' ? -1 : 0;
		if (depth < 0 ||
		    (!depth && punct != '*' && punct != ']' && !IS_ONE_OF(t, qualifiers)))
			return false;
		*ret_suffixes += punct == '*' || punct == '[';
	}
	return false;
}

void parse_type_or_expr(struct parser *p, char end, struct type_name **ret_type,
			struct expr **ret_expr)
{
	const struct token first = *parse_peek(p, 0);
	u32 suffixes, ahead;
	bool is_type;

	if (parse_is_name(p, "typeof")) {
		*ret_type = parse_type_name(p);
		return;
	}
	is_type = IS_ONE_OF(&first, tag_words) || IS_ONE_OF(&first, c_words) ||
		  IS_ONE_OF(&first, qualifiers);
	/* A bare name is a type if it is known as one; with a suffix like '*' it cannot be anything
	 * else. */
	if (!is_type && first.kind == TOKEN_NAME && !parse_is_value_word(first.text) &&
	    suffixes_until(p, 1, end, end, &suffixes, &ahead))
		is_type = suffixes || is_type_word(p, &first);
	if (is_type)
		*ret_type = parse_type_name(p);
	else
		*ret_expr = parse_expr(p);
}

static bool starts_operand(const struct token *t, bool surely_type)
{
	switch (t->kind) {
	case TOKEN_NAME:
	case TOKEN_INTEGER:
	case TOKEN_STRING:
	case TOKEN_VARIABLE:
	case TOKEN_MAP:
	case TOKEN_POSITIONAL:
	case TOKEN_COUNT:
		return true;
	case TOKEN_PUNCT:
		/* After (x) these could as well be binary operators. */
		if (t->punct == '-' || t->punct == '*' || t->punct == '&')
			return surely_type;
		return t->punct == '(' || t->punct == '!' || t->punct == '~' ||
		       t->punct == PUNCT('+', '+') || t->punct == PUNCT('-', '-') ||
		       (t->punct == '{' && surely_type);
	default:
		return false;
	}
}

bool parse_looks_like_cast(struct parser *p)
{
	const struct token first = *parse_peek(p, 0);
	u32 suffixes, ahead = 1;

	if (first.kind != TOKEN_NAME || parse_is_value_word(first.text))
		return false;
	if (str_eq(first.text, "typeof"))
		return parse_peek(p, 1)->kind == TOKEN_PUNCT && parse_peek(p, 1)->punct == '(';
	if (IS_ONE_OF(&first, tag_words) || IS_ONE_OF(&first, qualifiers))
		return true;
	while (IS_ONE_OF(parse_peek(p, ahead), c_words))
		ahead++;
	if (!suffixes_until(p, ahead, ')', ')', &suffixes, &ahead))
		return false;
	return starts_operand(parse_peek(p, ahead + 1), suffixes || is_type_word(p, &first));
}
