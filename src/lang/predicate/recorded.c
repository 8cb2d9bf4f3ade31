/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/predicate/recorded.h"

#include <ctype.h>

#include "base/glob.h"
#include "lang/syntax/constants.h"

/* ---- FIELD=VALUE ---- */

static const struct {
	const char *text;
	enum op op;
} short_operators[] = {{"==", OP_EQ}, {"!=", OP_NE}, {"<=", OP_LE}, {">=", OP_GE},
		       {"=", OP_EQ},  {"<", OP_LT},  {">", OP_GT}};

static struct expr *new_node(struct arena *a, enum expr_kind kind, struct span at)
{
	struct expr *e = arena_new(a, struct expr);

	*e = (struct expr){.kind = kind, .span = at, .name_span = at};
	return e;
}

static struct expr *decimal_new(struct arena *a, double value, struct span at)
{
	struct expr *e = new_node(a, EXPR_INTEGER, at);

	e->annotation = arena_new(a, double);
	*(double *)e->annotation = value;
	return e;
}

static struct expr *literal(struct arena *a, const char *text, struct span at)
{
	struct expr *e = new_node(a, EXPR_INTEGER, at);
	double decimal;
	char *end;

	errno = 0;
	e->integer = strtoll(text, &end, 0);
	if (*text && !*end && !errno)
		return e;
	errno = 0;
	e->integer = (s64)strtoull(text, &end, 0);
	e->is_unsigned_literal = true;
	if (*text && !*end && !errno)
		return e;
	decimal = strtod(text, &end);
	if (*text && !*end)
		return decimal_new(a, decimal, at);
	e = new_node(a, EXPR_STRING, at);
	e->string.data = arena_strdup(a, text);
	e->string.len = (u32)strlen(text);
	return e;
}

/* NULL: none of these. */
static struct expr *short_spelling(struct diag *d, const char *text)
{
	const struct span at = {0, (u32)strlen(text), (u16)d->sources.len};
	size_t n = 0, i = 0;
	struct expr *e, *not ;

	while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '.')
		n++;
	while (i < ARRAY_SIZE(short_operators) && !str_starts(text + n, short_operators[i].text))
		i++;
	if (!n || i == ARRAY_SIZE(short_operators))
		return NULL;
	e = new_node(&d->arena, EXPR_BINARY, at);
	e->op = short_operators[i].op;
	e->left = new_node(&d->arena, EXPR_NAME, at);
	e->left->name = arena_strndup(&d->arena, text, n);
	text += n + strlen(short_operators[i].text);
	if (*text == '"' || strstr(text, "&&") || strstr(text, "||"))
		return NULL;
	e->right = literal(&d->arena, text, at);
	if (e->right->kind != EXPR_STRING)
		return e;
	if (e->op != OP_EQ && e->op != OP_NE)
		return NULL;
	not = e->op == OP_NE ? new_node(&d->arena, EXPR_UNARY, at) : NULL;
	e->op = OP_MATCH;
	if (!not )
		return e;
	not ->op = OP_NOT;
	not ->left = e;
	return not ;
}

static bool is_assignment(const char *text)
{
	const size_t n = strcspn(text, "=!<>");

	return text[n] == '=' && text[n + 1] != '=';
}

/* ---- what a recording can be asked ---- */

static bool refuse(struct diag *d, const struct expr *e)
{
	diag_error(d, e->span, "a condition on a recording cannot do this");
	diag_hint(d, "it compares fields (args.NAME or NAME), comm, pid, tid and cpu with "
		     "constants or with each other");
	return false;
}

/* "a.b.c" of members of members; NULL: it is something else. */
static const char *path_of(struct arena *a, const struct expr *e)
{
	const char *left;

	if (e->kind == EXPR_NAME)
		return e->name;
	left = e->kind == EXPR_MEMBER ? path_of(a, e->left) : NULL;
	return left ? arena_printf(a, "%s.%s", left, e->name) : NULL;
}

static bool prepare_member(struct diag *d, struct expr *e)
{
	const char *path;
	char *end;

	if (e->left->kind == EXPR_INTEGER) { /* 0.5: a tuple has a member 5, a number has not */
		const struct span at = {e->left->span.begin, e->name_span.end, e->span.file};
		const char *text = d->sources.items[at.file].text + at.begin;
		const double value = strtod(text, &end);

		if (end - text != at.end - at.begin)
			return refuse(d, e);
		*e = *decimal_new(&d->arena, value, at);
		return true;
	}
	path = path_of(&d->arena, e);
	if (!path)
		return refuse(d, e);
	e->kind = EXPR_NAME;
	e->is_arrow = str_starts(path, "args."); /* only a field is meant */
	e->left = NULL;
	e->name = e->is_arrow ? path + strlen("args.") : path;
	return true;
}

static bool prepare_name(struct diag *d, struct expr *e)
{
	static const char *const words[][2] = {
		{"COMM", "comm"}, {"CPU", "cpu"}, {"common_pid", "tid"}};
	s64 value;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_eq(words[i][0], e->name))
			e->name = words[i][1];
	if (constant_find(e->name, &value)) { /* if no event has a field of this name */
		e->annotation = arena_new(&d->arena, s64);
		*(s64 *)e->annotation = value;
	}
	return true;
}

static bool prepare(struct diag *d, struct expr *e)
{
	switch (e->kind) {
	case EXPR_INTEGER:
	case EXPR_BOOL:
	case EXPR_STRING:
		return true;
	case EXPR_NAME:
		return prepare_name(d, e);
	case EXPR_MEMBER:
		return prepare_member(d, e);
	case EXPR_UNARY:
		if (e->op == OP_DEREF || e->op == OP_ADDRESS)
			return refuse(d, e);
		return prepare(d, e->left);
	case EXPR_BINARY:
		if (e->op == OP_MATCH && e->right->kind != EXPR_STRING) {
			diag_error(d, e->right->span, "~ takes a pattern in quotes");
			return false;
		}
		return prepare(d, e->left) && prepare(d, e->right);
	case EXPR_CALL: /* strings are already text */
		if (!str_eq(e->name, "str") || !e->nargs)
			return refuse(d, e);
		*e = *e->args[0];
		return prepare(d, e);
	default:
		return refuse(d, e);
	}
}

const struct expr *predicate_recorded(struct diag *d, const char *text)
{
	struct diag unused = DIAG_INIT;
	struct expr *e = NULL;
	/* what the language can parse is parsed; "url!=/a/b" and "name==x*" cannot */
	const bool is_short = is_assignment(text) || !predicate_parse(&unused, "", text);

	diag_release(&unused);
	if (is_short)
		e = short_spelling(d, text);
	if (!e)
		e = predicate_parse(d, "filter", text);
	return e && prepare(d, e) ? e : NULL;
}

/* ---- the answer ---- */

struct asker {
	predicate_lookup *lookup;
	void *arg;
};

static const struct field_value unknown;

static struct field_value integer(u64 value, bool is_signed)
{
	return (struct field_value){
		.kind = FIELD_INTEGER, .integer = value, .is_signed = is_signed};
}

static struct field_value text(const char *s, size_t n)
{
	return (struct field_value){.kind = FIELD_TEXT, .text = s, .size = n};
}

static bool is_negative(const struct field_value *v)
{
	return v->is_signed && (s64)v->integer < 0;
}

static double decimal_of(const struct field_value *v)
{
	return v->kind == FIELD_DECIMAL ? v->decimal
	       : v->is_signed		? (double)(s64)v->integer
					: (double)v->integer;
}

static bool truth(const struct field_value *v)
{
	return v->kind == FIELD_INTEGER	  ? v->integer
	       : v->kind == FIELD_DECIMAL ? v->decimal != 0
					  : v->size;
}

/* Labels, numbers and strings as text; room: buffer for a number. */
static struct field_value as_text(const struct field_value *v, char room[48])
{
	if (v->text || v->kind == FIELD_TEXT)
		return text(v->text, v->text ? v->size : 0);
	if (v->kind == FIELD_DECIMAL)
		snprintf(room, 48, "%.17g", v->decimal);
	else
		snprintf(room, 48, v->is_signed ? "%" PRId64 : "%" PRIu64, v->integer);
	return text(room, strlen(room));
}

static int order_of(const struct field_value *a, const struct field_value *b)
{
	char rooms[2][48];
	double x, y;
	int order;

	if (a->kind == FIELD_TEXT || b->kind == FIELD_TEXT) {
		const struct field_value l = as_text(a, rooms[0]), r = as_text(b, rooms[1]);
		const size_t n = MIN(l.size, r.size);

		order = n ? memcmp(l.text, r.text, n) : 0;
		return order ? order : (l.size > r.size) - (l.size < r.size);
	}
	if (a->kind == FIELD_INTEGER && b->kind == FIELD_INTEGER) {
		if (is_negative(a) != is_negative(b))
			return is_negative(a) ? -1 : 1;
		return (a->integer > b->integer) - (a->integer < b->integer);
	}
	x = decimal_of(a);
	y = decimal_of(b);
	return (x > y) - (x < y);
}

static bool matches(const struct field_value *v, const struct field_value *pattern)
{
	char rooms[2][48];
	const struct field_value t = as_text(v, rooms[0]), p = as_text(pattern, rooms[1]);
	char *copy = xstrndup(t.size ? t.text : "", t.size);
	char *glob = xstrndup(p.size ? p.text : "", p.size);
	const bool yes = glob_match(glob, copy);

	free(copy);
	free(glob);
	return yes;
}

static struct field_value calculate(enum op op, const struct field_value *a,
				    const struct field_value *b)
{
	const bool is_signed = a->is_signed && b->is_signed;
	const u64 x = a->integer, y = b->integer;

	switch (op) {
	case OP_ADD:
		return integer(x + y, is_signed);
	case OP_SUB:
		return integer(x - y, is_signed);
	case OP_MUL:
		return integer(x * y, is_signed);
	case OP_DIV:
		if (!y)
			return integer(0, is_signed);
		return is_signed && (s64)y != -1 ? integer((u64)((s64)x / (s64)y), true)
		       : is_signed		 ? integer(-x, true)
						 : integer(x / y, false);
	case OP_MOD:
		if (!y)
			return *a;
		return is_signed && (s64)y != -1 ? integer((u64)((s64)x % (s64)y), true)
		       : is_signed		 ? integer(0, true)
						 : integer(x % y, false);
	case OP_AND:
		return integer(x & y, is_signed);
	case OP_OR:
		return integer(x | y, is_signed);
	case OP_XOR:
		return integer(x ^ y, is_signed);
	case OP_SHL:
		return integer(x << (y & 63), is_signed);
	case OP_SHR:
		return integer(a->is_signed ? (u64)((s64)x >> (y & 63)) : x >> (y & 63),
			       a->is_signed);
	default:
		return unknown;
	}
}

static struct field_value value_of(const struct asker *a, const struct expr *e);

/* Three-valued logic: false && anything is false, true || anything is true. */
static struct field_value either(const struct asker *a, const struct expr *e)
{
	const bool decides = e->op == OP_LOR;
	struct field_value left = value_of(a, e->left), right;

	if (left.kind && truth(&left) == decides)
		return integer(decides, true);
	right = value_of(a, e->right);
	if (right.kind && truth(&right) == decides)
		return integer(decides, true);
	return left.kind && right.kind ? integer(!decides, true) : unknown;
}

static struct field_value binary(const struct asker *a, const struct expr *e)
{
	struct field_value left, right;
	int order;

	if (e->op == OP_LAND || e->op == OP_LOR)
		return either(a, e);
	left = value_of(a, e->left);
	right = value_of(a, e->right);
	if (!right.kind && e->right->kind == EXPR_NAME && !e->right->is_arrow &&
	    (e->op == OP_EQ || e->op == OP_NE))
		right = text(e->right->name, strlen(e->right->name));
	if (!left.kind || !right.kind)
		return unknown;
	if (e->op == OP_MATCH)
		return integer(matches(&left, &right), true);
	if (e->op < OP_EQ || e->op > OP_GE)
		return left.kind == FIELD_INTEGER && right.kind == FIELD_INTEGER
			       ? calculate(e->op, &left, &right)
			       : unknown;
	order = order_of(&left, &right);
	return integer(e->op == OP_EQ	? !order
		       : e->op == OP_NE ? order != 0
		       : e->op == OP_LT ? order < 0
		       : e->op == OP_LE ? order <= 0
		       : e->op == OP_GT ? order > 0
					: order >= 0,
		       true);
}

static struct field_value unary(const struct asker *a, const struct expr *e)
{
	struct field_value v = value_of(a, e->left);

	if (v.kind == FIELD_NONE)
		return v;
	if (e->op == OP_NOT)
		return integer(!truth(&v), true);
	if (v.kind == FIELD_DECIMAL && e->op == OP_NEG) {
		v.decimal = -v.decimal;
		return v;
	}
	if (v.kind != FIELD_INTEGER)
		return unknown;
	return e->op == OP_NEG ? integer(-v.integer, true) : integer(~v.integer, v.is_signed);
}

static struct field_value value_of(const struct asker *a, const struct expr *e)
{
	struct field_value v;

	switch (e->kind) {
	case EXPR_STRING:
		return text(e->string.data, e->string.len);
	case EXPR_NAME:
		v = a->lookup(a->arg, e->name, e->is_arrow);
		return v.kind || !e->annotation ? v : integer((u64) * (s64 *)e->annotation, true);
	case EXPR_UNARY:
		return unary(a, e);
	case EXPR_BINARY:
		return binary(a, e);
	default:
		if (e->annotation)
			return (struct field_value){.kind = FIELD_DECIMAL,
						    .decimal = *(double *)e->annotation};
		return integer((u64)e->integer, !e->is_unsigned_literal);
	}
}

bool predicate_holds(const struct expr *e, predicate_lookup *lookup, void *arg)
{
	const struct field_value v = value_of(&(struct asker){lookup, arg}, e);

	return v.kind && truth(&v);
}

void predicate_names(const struct expr *e, void (*fn)(void *arg, const char *name), void *arg)
{
	if (e->kind == EXPR_NAME && !e->annotation)
		fn(arg, e->name);
	if (e->left)
		predicate_names(e->left, fn, arg);
	/* on the right, an unknown word is text */
	if (e->right && (e->right->kind != EXPR_NAME || e->right->is_arrow))
		predicate_names(e->right, fn, arg);
}
