/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/print_format/print_format.h"

#include <ctype.h>

#include "base/vector.h"
#include "trace/print_format/internal.h"

struct compiler {
	struct pf_parser parser;
	VECTOR(struct pf_op) ops;
	const char *format; /* what is left of the format string */
	bool ends; /* "%c" of a constant 0 was read: nothing after it is text any more */
	bool is_part; /* of a text that ends so */
	/* of kprobe_events ...: the address at the front is a symbol, strings may be faults */
	bool is_probe;
};

/* ---- the format string ---- */

static void add_text(struct compiler *c, const char *s, size_t n)
{
	struct pf_op op = {.code = OP_TEXT, .text = s, .len = (u32)n};

	if (n && !c->ends)
		vector_push(&c->ops, op);
}

static int parse_count(struct compiler *c, const struct pf_node **ret_node)
{
	int v = 0;

	if (*c->format != '*') {
		for (; isdigit((unsigned char)*c->format); c->format++)
			v = MIN(v * 10 + (*c->format - '0'), PF_WIDTH_MAX);
		return v;
	}
	c->format++;
	*ret_node = pf_expect(&c->parser, ",") ? pf_parse_argument(&c->parser) : NULL;
	if (*ret_node && (*ret_node)->type.value != PF_NUMBER)
		pf_refuse(&c->parser, "a width that is not a number");
	return -1;
}

static void parse_flags(struct compiler *c, struct pf_spec *s)
{
	for (;; c->format++) {
		switch (*c->format) {
		case '-':
			s->left = true;
			break;
		case '+':
			s->plus = true;
			break;
		case ' ':
			s->space = true;
			break;
		case '#':
			s->alternate = true;
			break;
		case '0':
			s->zero = true;
			break;
		default:
			return;
		}
	}
}

static u8 parse_length(struct compiler *c)
{
	if (*c->format == 'h') {
		c->format++;
		if (*c->format != 'h')
			return 2;
		c->format++;
		return 1;
	}
	if (!*c->format || !strchr("lLzZtqj", *c->format))
		return 4;
	if (*c->format++ == 'l' && *c->format == 'l')
		c->format++;
	return 8;
}

static void parse_conversion(struct compiler *c, struct pf_spec *s)
{
	const char conversion = *c->format;
	size_t n = 0;

	if (conversion)
		c->format++;
	s->base = 10;
	switch (conversion) {
	case 'd':
	case 'i':
		s->conversion = 'd';
		break;
	case 'u':
		s->conversion = 'u';
		break;
	case 'X':
		s->upper = true;
		s->conversion = 'u';
		s->base = 16;
		break;
	case 'x':
		s->conversion = 'u';
		s->base = 16;
		break;
	case 'o':
		s->conversion = 'u';
		s->base = 8;
		break;
	case 'c':
	case 's':
		s->conversion = conversion;
		break;
	case 'p':
		s->conversion = 'p';
		s->size = 8;
		/* As vsnprintf() does: all letters and digits after it belong to it. */
		for (; isalnum((unsigned char)*c->format); c->format++)
			if (n < sizeof(s->pointer) - 1)
				s->pointer[n++] = *c->format;
		break;
	default:
		pf_refuse(&c->parser, "the conversion %%%c", conversion);
	}
}

/* ---- fast operations for what is most common ---- */

static bool is_plain(const struct pf_spec *s)
{
	return s->width <= 0 && s->precision < 0 && !s->left && !s->plus && !s->space &&
	       !s->alternate && !s->upper;
}

static u8 size_index(u8 size)
{
	return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
}

static void choose_number(struct pf_op *op)
{
	const struct pf_spec *s = &op->spec;
	const struct pf_node *n = op->node;

	if (n->kind != PF_LOAD || n->type.is_pointer || n->type.size > s->size || op->node_width ||
	    op->node_precision)
		return;
	if (s->base == 16 && s->zero && s->width > 0 && s->width <= 16 && s->precision < 0 &&
	    n->type.size == 8 && !s->left && !s->alternate && !s->upper && s->size == 8) {
		op->code = OP_ZX;
		op->width = (u8)s->width;
		op->offset = n->offset;
		return;
	}
	if (!is_plain(s) || s->base == 8)
		return;
	/* The value must be the same in the type of the conversion. */
	if (n->type.is_signed && (s->conversion != 'd') &&
	    (n->type.size < s->size || s->base == 16))
		if (n->type.size != s->size)
			return;
	if (s->conversion == 'd' && !n->type.is_signed && n->type.size == s->size)
		op->code = (u8)(OP_S8 + size_index(n->type.size));
	else if (s->conversion == 'd')
		op->code = (u8)((n->type.is_signed ? OP_S8 : OP_U8) + size_index(n->type.size));
	else
		op->code = (u8)((s->base == 16 ? OP_X8 : OP_U8) + size_index(n->type.size));
	op->offset = n->offset;
}

static void choose_string(struct pf_op *op)
{
	if (op->spec.width > 0 || op->spec.precision >= 0 || op->node_width || op->node_precision)
		return;
	if (op->node->kind == PF_PLACE && op->node->bytes != UINT32_MAX) {
		op->code = OP_CHARS;
		op->offset = op->node->offset;
		op->len = op->node->bytes;
	} else if (op->node->kind == PF_DYNAMIC) {
		op->code = OP_DYNAMIC_STRING;
		op->offset = op->node->offset;
	}
}

static void choose_pointer(struct compiler *c, struct pf_op *op)
{
	const char kind = op->spec.pointer[0];
	const char *why = pf_pointer_check(&op->spec, op->node);

	if (why)
		pf_refuse(&c->parser, "%%p%s: %s", op->spec.pointer, why);
	if ((kind != 'S' && kind != 's') || op->node->kind != PF_LOAD || op->node->type.size != 8 ||
	    op->spec.width > 0 || op->node_width)
		return;
	op->code = OP_SYMBOL;
	op->style = kind == 'S' ? SYMBOL_OFFSET : SYMBOL_MODULE;
	op->offset = op->node->offset;
}

/* "%lx" of __probe_ip and its kind. */
static bool is_probe_address(struct compiler *c, const struct pf_op *op)
{
	const struct type_member *m;

	if (!c->is_probe || op->node->kind != PF_LOAD || op->node->type.size != 8)
		return false;
	m = pf_member(&c->parser, "__probe_ip", 10);
	if (m && m->offset == op->node->offset)
		return true;
	m = pf_member(&c->parser, "__probe_ret_ip", 14);
	if (m && m->offset == op->node->offset)
		return true;
	m = pf_member(&c->parser, "__probe_func", 12);
	return m && m->offset == op->node->offset;
}

/*
 * Of a return probe the format says (FUNC <- RETURN), and the kernel prints (RETURN+OFFSET <- FUNC)
 * (kernel/trace/trace_kprobe.c: print_kretprobe_event(), trace_uprobe.c: print_uprobe_event()).
 */
static void choose_probe_address(struct compiler *c, struct pf_op *op)
{
	const struct type_member *func = pf_member(&c->parser, "__probe_func", 12);
	const struct type_member *ret = pf_member(&c->parser, "__probe_ret_ip", 14);

	op->code = OP_PROBE_ADDRESS;
	op->style = SYMBOL_OFFSET;
	op->offset = op->node->offset;
	if (!func || !ret)
		return;
	if (op->offset == func->offset) {
		op->offset = ret->offset;
	} else {
		op->offset = func->offset;
		op->style = SYMBOL_PLAIN;
	}
}

static void choose(struct compiler *c, struct pf_op *op)
{
	if (op->node->type.unknown) {
		op->code = OP_UNKNOWN;
		return;
	}
	if (is_probe_address(c, op)) {
		choose_probe_address(c, op);
		return;
	}
	switch (op->spec.conversion) {
	case 'd':
	case 'u':
	case 'c':
		if (op->node->type.value != PF_NUMBER)
			pf_refuse(&c->parser, "text printed as a number");
		else if (op->spec.conversion != 'c')
			choose_number(op);
		break;
	case 's':
		choose_string(op);
		break;
	case 'p':
		choose_pointer(c, op);
		break;
	default:
		break;
	}
}

/* The \"%s\" of a probe's argument: what could not be read is printed without quotes. */
static void take_quotes(struct compiler *c, struct pf_op *op)
{
	struct pf_op *before = c->ops.len ? &vector_last(&c->ops) : NULL;

	if (*c->format != '"' || !before || before->code != OP_TEXT ||
	    before->text[before->len - 1] != '"')
		return;
	before->len--;
	c->format++;
	op->code = OP_PROBE_STRING;
}

static void compile_conversion(struct compiler *c)
{
	struct pf_op op = {.code = OP_NODE, .spec = {.width = -1, .precision = -1}};

	parse_flags(c, &op.spec);
	op.spec.width = (s16)parse_count(c, &op.node_width);
	if (*c->format == '.') {
		c->format++;
		op.spec.precision = (s16)parse_count(c, &op.node_precision);
	}
	op.spec.size = parse_length(c);
	parse_conversion(c, &op.spec);
	if (c->parser.refused || !pf_expect(&c->parser, ","))
		return;
	op.node = pf_parse_argument(&c->parser);
	if (!op.node)
		return;
	choose(c, &op);
	if (c->is_probe && op.code == OP_DYNAMIC_STRING)
		take_quotes(c, &op);
	c->ends |= c->is_part && op.spec.conversion == 'c' && op.node->kind == PF_CONST &&
		   !op.node->number;
	if (!c->parser.refused && !c->ends)
		vector_push(&c->ops, op);
}

static void compile_format(struct compiler *c)
{
	const char *percent;

	while (!c->parser.refused && (percent = strchr(c->format, '%'))) {
		add_text(c, c->format, (size_t)(percent - c->format));
		c->format = percent + 1;
		if (*c->format == '%') {
			add_text(c, c->format, 1);
			c->format++;
			continue;
		}
		compile_conversion(c);
	}
	add_text(c, c->format, strlen(c->format));
}

static struct print_format *finish(struct compiler *c)
{
	struct print_format *f = arena_new(c->parser.arena, struct print_format);

	f->ops = arena_memdup(c->parser.arena, c->ops.items,
			      MAX(c->ops.len, (size_t)1) * sizeof(*c->ops.items));
	f->count = (u32)c->ops.len;
	f->fixed_end = c->parser.fixed_end;
	vector_free(&c->ops);
	return f;
}

static void compiler_init(struct compiler *c, struct type_store *store, const struct type *record)
{
	*c = (struct compiler){
		.parser = {.store = store, .arena = &store->arena, .record = record}};
	vector_reserve(&c->ops, 8);
}

const struct print_format *pf_parse_format(struct pf_parser *p, bool *ret_ends)
{
	struct compiler c = {.parser = *p, .is_part = true};
	const struct print_format *f = NULL;
	u32 len = 0;

	vector_reserve(&c.ops, 8);
	c.format = pf_parse_string(&c.parser, &len);
	if (!c.format || strlen(c.format) != len)
		pf_refuse(&c.parser, "a format that is not a string");
	else
		compile_format(&c);
	if (!c.parser.refused)
		f = finish(&c);
	else
		vector_free(&c.ops);
	*p = c.parser;
	*ret_ends = c.ends;
	return f;
}

/* Probe events and uprobes have one of these fields. */
static bool has_probe_field(struct compiler *c)
{
	return pf_member(&c->parser, "__probe_ip", 10) ||
	       pf_member(&c->parser, "__probe_func", 12) ||
	       pf_member(&c->parser, "__probe_ret_ip", 14);
}

struct print_format *print_format_compile(struct type_store *store, const char *system,
					  const char *name, const struct type *record,
					  const char *text, const char **ret_refused)
{
	struct compiler c;
	u32 len = 0;

	compiler_init(&c, store, record);
	c.is_probe = has_probe_field(&c);
	c.parser.is_syscall = str_eq(system, "syscalls");
	c.parser.at = text;
	c.format = pf_parse_string(&c.parser, &len);
	/* Those of event probes have no such field; no other event's format begins with a blank. */
	c.is_probe |= c.format && *c.format == ' ';
	if (!c.format)
		pf_refuse(&c.parser, *text ? "the print format does not begin with a string"
					   : "no print format");
	else if (strlen(c.format) != len)
		pf_refuse(&c.parser, "a NUL in the print format");
	else
		compile_format(&c);
	while (isspace((unsigned char)*c.parser.at))
		c.parser.at++;
	if (!c.parser.refused && *c.parser.at)
		pf_refuse(&c.parser, "not understood: '%.20s'", c.parser.at);
	if (ret_refused)
		*ret_refused = c.parser.refused;
	if (!c.parser.refused)
		return finish(&c);
	vector_free(&c.ops);
	return print_format_fields(store, record);
}

/* ---- field=value ---- */

static void add_field(struct compiler *c, const struct type_member *m)
{
	const struct type *t = m->type;
	struct pf_op op = {.code = OP_NODE,
			   .spec = {.width = -1, .precision = -1, .base = 10, .size = 8}};
	char *label = arena_printf(c->parser.arena, "%s%s=", c->ops.len ? " " : "", m->name);
	const struct type *element = t->kind == TYPE_ARRAY ? t->element : NULL;

	add_text(c, label, strlen(label));
	op.node = pf_field_node(&c->parser, m);
	if (op.node->type.value == PF_BYTES && element && element->is_char) {
		op.spec.conversion = 's';
		choose_string(&op);
	} else if (op.node->type.value == PF_BYTES) {
		op.code = OP_FIELD_ARRAY;
	} else if (op.node->type.is_pointer) {
		op.spec.conversion = 'u';
		op.spec.base = 16;
		op.spec.alternate = true;
	} else {
		op.spec.conversion = op.node->type.is_signed ? 'd' : 'u';
		choose_number(&op);
	}
	vector_push(&c->ops, op);
}

struct print_format *print_format_fields(struct type_store *store, const struct type *record)
{
	struct compiler c;

	compiler_init(&c, store, record);
	for (u32 i = 0; i < record->count; i++)
		if (!str_starts(record->members[i].name, "common_"))
			add_field(&c, &record->members[i]);
	return finish(&c);
}
