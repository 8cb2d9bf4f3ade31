/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arguments of a print format are C as the preprocessor left it: casts, conditionals,
 * arithmetic, statement expressions of min() and max(). Recursive descent over the text; no token
 * list.
 */

#include "trace/print_format/internal.h"

#define MAX_DEPTH 256
/* Steps to evaluate one argument: a local variable that is used twice is computed twice. */
#define MAX_STEPS 100000

static const struct pf_type type_s32 = {.value = PF_NUMBER, .size = 4, .is_signed = true};
static const struct pf_type type_u64 = {.value = PF_NUMBER, .size = 8, .is_signed = false};

static struct pf_node *index_node(struct pf_parser *p, struct pf_node *base, struct pf_node *index)
{
	struct pf_node *n;

	if (!base || !index)
		return NULL;
	if (base->kind == PF_STRINGS && index->type.value == PF_NUMBER) {
		n = arena_memdup(p->arena, base, sizeof(*base));
		n->kind = PF_SYMBOLIC;
		n->a = index;
		n->text = "(bad)";
		n->text_len = 5;
		return n;
	}
	if (base->type.value != PF_BYTES || !base->type.element_size) {
		pf_refuse(p, "an index into something outside of the record");
		return NULL;
	}
	n = pf_new(p, PF_ELEMENT,
		   (struct pf_type){.value = PF_NUMBER,
				    .size = base->type.element_size,
				    .is_signed = base->type.element_signed});
	if (base->kind == PF_PLACE && base->bytes != UINT32_MAX && index->kind == PF_CONST &&
	    index->number < base->bytes / n->type.size) {
		n->kind = PF_LOAD;
		n->offset = base->offset + (u32)index->number * n->type.size;
		return n;
	}
	n->a = base;
	n->b = index;
	return n;
}

struct pf_node *pf_local_value(struct pf_parser *p, const char *w, size_t len)
{
	for (struct pf_local *l = p->locals; l; l = l->next)
		if (l->len == len && !memcmp(l->name, w, len))
			return l->value;
	return NULL;
}

static struct pf_node *identifier(struct pf_parser *p)
{
	const char *w;
	const size_t len = pf_word(p, &w);
	const struct type *t = NULL;
	struct pf_node *n;
	char *name;
	s64 value;

	if (!len) {
		pf_refuse(p, "not understood: '%.20s'", p->at);
		return NULL;
	}
	if (pf_word_is(w, len, "REC")) {
		n = pf_new(p, PF_PLACE,
			   (struct pf_type){.value = PF_BYTES,
					    .size = 8,
					    .element_size = 1,
					    .element = p->record});
		n->bytes = UINT32_MAX;
		return n;
	}
	n = pf_local_value(p, w, len);
	if (n)
		return n;
	pf_skip_blanks(p);
	if (*p->at == '(') {
		p->at++;
		return pf_parse_call(p, w, len);
	}
	if (pf_word_is(w, len, "NULL") || pf_word_is(w, len, "false") ||
	    pf_word_is(w, len, "true")) {
		n = pf_new(p, PF_CONST, type_s32);
		n->number = w[0] == 't';
		return n;
	}
	name = xstrndup(w, len);
	if (p->store->lookup_enumerator)
		t = p->store->lookup_enumerator(p->store, name, &value);
	free(name);
	if (t) {
		n = pf_new(p, PF_CONST,
			   (struct pf_type){.value = PF_NUMBER,
					    .size = (u8)MAX(t->size, 4u),
					    .is_signed = value < 0 || value <= INT32_MAX});
		n->number = (u64)value;
		return n;
	}
	n = pf_new(p, PF_VARIABLE, type_u64);
	n->type.unknown = true;
	n->text = w;
	n->text_len = (u32)len;
	return n;
}

/* "({ int x = (a); int y = (b); x < y ? x : y; })": min() and max(). "({" was read. */
static struct pf_node *statements(struct pf_parser *p)
{
	struct pf_local *outer = p->locals;
	struct pf_node *n = NULL;

	while (!p->refused && !pf_accept(p, "}")) {
		struct pf_type t;
		const char *w;
		size_t len;

		if (!pf_parse_type(p, &t)) {
			n = pf_assignment(p) ? NULL : pf_parse_expression(p);
			pf_expect(p, ";");
			continue;
		}
		len = pf_word(p, &w);
		n = len ? pf_declaration(p, &t) : NULL;
		if (!n) {
			if (p->refused || !len || !pf_expect(p, "="))
				return NULL;
			n = pf_parse_expression(p);
		}
		if (!n || !pf_expect(p, ";"))
			return NULL;
		if (n->type.value == PF_NUMBER && t.value == PF_NUMBER) {
			struct pf_node *cast = pf_new(p, PF_CAST, t);

			cast->a = n;
			n = cast;
		}
		p->locals = arena_memdup(p->arena, &(struct pf_local){p->locals, w, len, n},
					 sizeof(struct pf_local));
	}
	p->locals = outer;
	return pf_expect(p, ")") ? n : NULL;
}

static struct pf_node *primary(struct pf_parser *p)
{
	struct pf_node *n;

	pf_skip_blanks(p);
	if (*p->at == '(') {
		p->at++;
		if (pf_accept(p, "{"))
			return statements(p);
		n = pf_parse_expression(p);
		return n && pf_expect(p, ")") ? n : NULL;
	}
	if (*p->at == '"') {
		n = pf_new(p, PF_LITERAL, (struct pf_type){.value = PF_TEXT, .size = 8});
		n->text = pf_parse_string(p, &n->text_len);
		return n;
	}
	if (*p->at == '\'')
		return pf_character(p);
	if (isdigit((unsigned char)*p->at))
		return pf_number(p);
	return identifier(p);
}

static struct pf_node *postfix(struct pf_parser *p)
{
	struct pf_node *n = primary(p);

	while (n && !p->refused) {
		if (pf_accept(p, "[")) {
			struct pf_node *index = pf_parse_expression(p);

			n = index && pf_expect(p, "]") ? index_node(p, n, index) : NULL;
		} else if (pf_accept(p, "->")) {
			n = n->kind == PF_PLACE && n->bytes == UINT32_MAX ? pf_record_field(p)
									  : pf_struct_member(p, n);
		} else if (*p->at == '.' && pf_is_word(p->at[1]) &&
			   !isdigit((unsigned char)p->at[1])) {
			p->at++;
			n = pf_struct_member(p, n);
		} else {
			break;
		}
	}
	return n;
}

static struct pf_node *unary(struct pf_parser *p);

/* "(type)" was read: what follows as that type. */
static struct pf_node *cast_to(struct pf_parser *p, struct pf_type t, struct pf_node *a)
{
	struct pf_node *n;

	if (!a)
		return NULL;
	if (a->type.value == PF_TEXT)
		return a;
	if (a->type.value == PF_BYTES) {
		if (!t.is_pointer) {
			/* (unsigned long)array: its address is not in the record. */
			pf_refuse(p, "an address of the kernel's buffer as a number");
			return NULL;
		}
		n = arena_memdup(p->arena, a, sizeof(*a));
		n->type.element_size = t.element_size;
		n->type.element_signed = t.element_signed;
		n->type.element = t.element;
		return n;
	}
	n = pf_new(p, PF_CAST, t);
	n->type.unknown = a->type.unknown;
	n->a = a;
	return n;
}

static struct pf_node *size_of(struct pf_parser *p)
{
	struct pf_node *n = pf_new(p, PF_CONST, type_u64), *a;
	const bool paren = pf_accept(p, "(");
	struct pf_type t;

	if (paren && pf_parse_type(p, &t)) {
		n->number = t.element && !t.is_pointer ? t.element->size : t.size;
		if (!n->number)
			pf_refuse(p, "sizeof of an unknown type");
	} else {
		a = paren ? pf_parse_expression(p) : unary(p);
		if (!a)
			return NULL;
		n->number = a->kind == PF_PLACE	    ? a->bytes
			    : a->kind == PF_LITERAL ? a->text_len + 1
						    : a->type.size;
	}
	return !paren || pf_expect(p, ")") ? n : NULL;
}

/* sizeof(REC->array[0]) needs no value, *x of the record is an element. */
static struct pf_node *address_or_deref(struct pf_parser *p, char op)
{
	struct pf_node *a = unary(p), *n, *zero;

	if (!a)
		return NULL;
	if (op == '*') {
		zero = pf_new(p, PF_CONST, type_s32);
		return index_node(p, a, zero);
	}
	if (a->kind == PF_PLACE || a->type.value == PF_BYTES)
		return a;
	if (a->kind == PF_LOAD) {
		n = pf_new(p, PF_PLACE,
			   (struct pf_type){.value = PF_BYTES,
					    .size = 8,
					    .element_size = a->type.size,
					    .element_signed = a->type.is_signed});
		n->offset = a->offset;
		n->bytes = a->type.size;
		return n;
	}
	if (a->kind == PF_ELEMENT) {
		n = pf_new(p, PF_ADVANCE, a->a->type);
		n->a = a->a;
		n->b = a->b ? a->b : pf_new(p, PF_CONST, type_s32);
		n->number = a->type.size;
		return n;
	}
	pf_refuse(p, "an address of something outside of the record");
	return NULL;
}

static struct pf_type promoted(struct pf_type t)
{
	if (t.size < 4)
		return (struct pf_type){
			.value = PF_NUMBER, .size = 4, .is_signed = true, .unknown = t.unknown};
	t.element = NULL;
	return t;
}

static struct pf_node *unary_node(struct pf_parser *p, char op, struct pf_node *a)
{
	struct pf_node *n;

	if (!a)
		return NULL;
	if (a->type.value != PF_NUMBER && op != '!') {
		pf_refuse(p, "'%c' of text", op);
		return NULL;
	}
	n = pf_new(p, PF_UNARY, op == '!' ? type_s32 : promoted(a->type));
	n->type.is_pointer = false;
	n->type.unknown = a->type.unknown;
	n->op = (u8)op;
	n->a = a;
	return n;
}

static struct pf_node *unary(struct pf_parser *p)
{
	struct pf_node *n = NULL;
	struct pf_type t;
	const char *start;

	if (p->depth >= MAX_DEPTH) {
		pf_refuse(p, "nested too deeply");
		return NULL;
	}
	p->depth++;
	pf_skip_blanks(p);
	start = p->at;
	if (str_starts(p->at, "sizeof") && !pf_is_word(p->at[6])) {
		p->at += 6;
		n = size_of(p);
	} else if (*p->at == '(') {
		p->at++;
		if (pf_parse_type(p, &t) && pf_accept(p, ")")) {
			n = cast_to(p, t, unary(p));
		} else {
			p->at = start;
			n = postfix(p);
		}
	} else if (*p->at == '&' || *p->at == '*') {
		const char op = *p->at++;

		n = address_or_deref(p, op);
	} else if (*p->at && strchr("-+~!", *p->at)) {
		const char op = *p->at++;

		n = unary(p);
		if (op != '+')
			n = unary_node(p, op, n);
	} else {
		n = postfix(p);
	}
	p->depth--;
	return p->refused ? NULL : n;
}

/* The usual arithmetic conversions. */
static struct pf_type common_type(struct pf_type a, struct pf_type b)
{
	struct pf_type r;

	a = promoted(a);
	b = promoted(b);
	r = a.size > b.size ? a : b.size > a.size ? b : a.is_signed ? b : a;
	r.is_pointer = false;
	r.unknown = a.unknown | b.unknown;
	return r;
}

static struct pf_node *advance_node(struct pf_parser *p, u8 op, struct pf_node *a,
				    struct pf_node *b)
{
	struct pf_node *n;

	if (b->type.value != PF_NUMBER || (op != '+' && op != '-')) {
		pf_refuse(p, "arithmetic with text");
		return NULL;
	}
	n = pf_new(p, PF_ADVANCE, a->type);
	n->a = a;
	n->b = op == '-' ? unary_node(p, '-', b) : b;
	n->number = a->type.element_size ? a->type.element_size
		    : a->type.element	 ? a->type.element->size
					 : 1;
	return n;
}

/* pointer + number: in steps of what it points to. */
static struct pf_node *scale(struct pf_parser *p, struct pf_node *pointer, struct pf_node *n)
{
	const u64 step =
		pointer->type.element ? pointer->type.element->size : pointer->type.element_size;
	struct pf_node *product, *factor;

	if (step == 1)
		return n;
	if (!step && !pointer->type.unknown)
		pf_refuse(p, "arithmetic with a pointer to an unknown type");
	factor = pf_new(p, PF_CONST, type_u64);
	factor->number = step;
	product = pf_new(p, PF_BINARY, type_u64);
	product->op = '*';
	product->a = n;
	product->b = factor;
	return product;
}

static struct pf_node *binary_node(struct pf_parser *p, u8 op, struct pf_node *a, struct pf_node *b)
{
	struct pf_node *n;

	if (!a || !b)
		return NULL;
	if (a->type.value == PF_BYTES && (op == '+' || op == '-'))
		return advance_node(p, op, a, b);
	if (b->type.value == PF_BYTES && op == '+')
		return advance_node(p, op, b, a);
	if ((a->type.value != PF_NUMBER || b->type.value != PF_NUMBER) && op != PF_EQ &&
	    op != PF_NE && op != PF_AND && op != PF_OR) {
		pf_refuse(p, "arithmetic with text");
		return NULL;
	}
	if (op == '+' || op == '-') {
		if (a->type.is_pointer && !b->type.is_pointer)
			b = scale(p, a, b);
		else if (b->type.is_pointer && !a->type.is_pointer)
			a = scale(p, b, a);
	}
	n = pf_new(p, PF_BINARY, type_s32);
	n->op = op;
	n->a = a;
	n->b = b;
	if (op == PF_SHL || op == PF_SHR)
		n->type = promoted(a->type);
	else if (op < PF_LE && op != '<' && op != '>')
		n->type = common_type(a->type, b->type);
	n->type.unknown = a->type.unknown | b->type.unknown;
	if (a->type.is_pointer && (op == '+' || op == '-') && !b->type.is_pointer)
		n->type = a->type;
	return n;
}

static const struct binary_operator {
	const char *spelled;
	u8 op, level;
	char not_before; /* a longer operator begins like this */
} binary_operators[] = {
	{"||", PF_OR, 1, 0}, {"&&", PF_AND, 2, 0}, {"|", '|', 3, '|'},	 {"^", '^', 4, 0},
	{"&", '&', 5, '&'},  {"==", PF_EQ, 6, 0},  {"!=", PF_NE, 6, 0},	 {"<=", PF_LE, 7, 0},
	{">=", PF_GE, 7, 0}, {"<<", PF_SHL, 8, 0}, {">>", PF_SHR, 8, 0}, {"<", '<', 7, 0},
	{">", '>', 7, 0},    {"+", '+', 9, 0},	   {"-", '-', 9, 0},	 {"*", '*', 10, 0},
	{"/", '/', 10, 0},   {"%", '%', 10, 0},
};

static const struct binary_operator *peek_operator(struct pf_parser *p)
{
	pf_skip_blanks(p);
	for (size_t i = 0; i < ARRAY_SIZE(binary_operators); i++) {
		const struct binary_operator *o = &binary_operators[i];
		const size_t len = strlen(o->spelled);

		if (!strncmp(p->at, o->spelled, len) &&
		    (!o->not_before || p->at[len] != o->not_before))
			return o;
	}
	return NULL;
}

static struct pf_node *binary(struct pf_parser *p, u8 level)
{
	struct pf_node *n = unary(p);
	const struct binary_operator *o;

	while (n && !p->refused && (o = peek_operator(p)) && o->level >= level) {
		p->at += strlen(o->spelled);
		n = binary_node(p, o->op, n, binary(p, o->level + 1));
	}
	return n;
}

static struct pf_node *cond_node(struct pf_parser *p, struct pf_node *a, struct pf_node *b,
				 struct pf_node *c)
{
	const struct pf_node *yes = b ? b : a;
	struct pf_node *n;
	struct pf_type t;

	if (!c)
		return NULL;
	if (yes->type.value == PF_NUMBER && c->type.value == PF_NUMBER) {
		t = common_type(yes->type, c->type);
		t.is_pointer = yes->type.is_pointer || c->type.is_pointer;
	} else {
		/* A text and NULL, or texts of two kinds. */
		t = yes->type.value == PF_NUMBER ? c->type : yes->type;
		if (yes->type.value != c->type.value)
			t.value = PF_TEXT;
	}
	t.unknown = yes->type.unknown | c->type.unknown;
	n = pf_new(p, PF_COND, t);
	n->a = a;
	n->b = b;
	n->c = c;
	return n;
}

struct pf_node *pf_parse_expression(struct pf_parser *p)
{
	struct pf_node *n, *b = NULL;

	if (p->depth >= MAX_DEPTH) {
		pf_refuse(p, "nested too deeply");
		return NULL;
	}
	p->depth++;
	n = binary(p, 1);
	if (n && pf_accept(p, "?")) {
		if (!pf_accept(p, ":")) {
			b = pf_parse_expression(p);
			if (!b || !pf_expect(p, ":"))
				return NULL;
		}
		n = cond_node(p, n, b, pf_parse_expression(p));
	}
	p->depth--;
	return p->refused ? NULL : n;
}

/* A local variable makes a tree that shares parts. */
static u32 steps_of(struct pf_node *n)
{
	u64 sum = 1;

	if (!n)
		return 0;
	if (!n->steps) {
		sum += (u64)steps_of(n->a) + steps_of(n->b) + steps_of(n->c);
		if (n->args)
			for (u32 i = 0; i < n->count; i++)
				sum += steps_of(n->args[i]);
		n->steps = (u32)MIN(sum, MAX_STEPS + 1ull);
	}
	return n->steps;
}

struct pf_node *pf_parse_argument(struct pf_parser *p)
{
	struct pf_node *n = pf_parse_expression(p);

	if (n && steps_of(n) > MAX_STEPS) {
		pf_refuse(p, "too long");
		return NULL;
	}
	return n;
}

static bool depends_on_record(const struct pf_node *n)
{
	if (!n)
		return false;
	if (n->kind != PF_CONST && n->kind != PF_UNARY && n->kind != PF_BINARY &&
	    n->kind != PF_COND && n->kind != PF_CAST && n->kind != PF_SWAP)
		return true;
	return depends_on_record(n->a) || depends_on_record(n->b) || depends_on_record(n->c);
}

bool pf_constant(struct pf_parser *p, const struct pf_node *n, u64 *ret)
{
	const struct pf_run nothing = {0};

	if (!n || depends_on_record(n)) {
		pf_refuse(p, "not a constant");
		return false;
	}
	*ret = pf_eval(&nothing, n);
	return !p->refused;
}
