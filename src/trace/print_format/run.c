/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A compiled format over one record. */
#include "trace/print_format/internal.h"

#define LOAD(type)                                               \
	({                                                       \
		type v_;                                         \
		memcpy(&v_, r->record + op->offset, sizeof(v_)); \
		v_;                                              \
	})

static void run_dynamic_string(const struct pf_run *r, const struct pf_op *op, struct strbuf *out)
{
	const u32 location = LOAD(u32), offset = location & 0xffff, len = location >> 16;

	if (offset > r->size || len > r->size - offset)
		strbuf_addstr(out, "(bad)");
	else
		pf_print_chars(r, r->record + offset,
			       strnlen((const char *)r->record + offset, len), out);
}

/* print_type_string() in kernel/trace/trace_probe.c */
static void run_probe_string(const struct pf_run *r, const struct pf_op *op, struct strbuf *out)
{
	const u32 len = LOAD(u32) >> 16;

	if (!len) {
		strbuf_addstr(out, "(fault)");
		return;
	}
	strbuf_addch(out, '"');
	run_dynamic_string(r, op, out);
	strbuf_addch(out, '"');
}

static void run_probe_address(const struct pf_run *r, const struct pf_op *op, struct strbuf *out)
{
	const u64 address = LOAD(u64);

	if (address >> 63) {
		symbol_print(r->context->symbols, address, op->style, out);
		return;
	}
	strbuf_addstr(out, "0x");
	text_hex(out, address);
}

/* "{1,2,3}" of the fields' form. */
static void run_field_array(const struct pf_run *r, const struct pf_op *op, struct strbuf *out)
{
	const struct pf_type *t = &op->node->type;
	const struct pf_bytes b = pf_eval_bytes(r, op->node);
	const u8 size = t->element_size ? t->element_size : 1;
	const struct pf_spec spec = {.base = t->element_size ? 10 : 16,
				     .conversion = t->element_signed ? 'd' : 'u'};

	if (!b.at) {
		strbuf_addstr(out, "(bad)");
		return;
	}
	strbuf_addch(out, '{');
	for (size_t at = 0; at + size <= b.len; at += size) {
		u64 v = 0;

		memcpy(&v, b.at + at, size);
		if (t->element_signed && size < 8)
			v = (u64)((s64)(v << (64 - 8 * size)) >> (64 - 8 * size));
		if (at)
			strbuf_addch(out, ',');
		pf_print_number(out, v, &spec, -1, -1);
	}
	strbuf_addch(out, '}');
}

static int count_of(const struct pf_run *r, const struct pf_node *n, int fixed)
{
	s64 v;

	if (!n)
		return fixed;
	v = (s64)(s32)pf_eval(r, n);
	return (int)MIN(MAX(v, (s64)-PF_WIDTH_MAX), (s64)65536);
}

/* The argument in the type of its conversion. */
static u64 converted(u64 v, const struct pf_spec *s)
{
	const u32 shift = 64 - 8 * s->size;

	return s->conversion == 'd' ? (u64)((s64)(v << shift) >> shift) : v << shift >> shift;
}

static void pad_string(struct strbuf *out, size_t begin, int width, bool left)
{
	const int pad = width - (int)(out->len - begin);

	if (pad <= 0)
		return;
	strbuf_addchars(out, ' ', pad);
	if (left)
		return;
	memmove(out->data + begin + pad, out->data + begin, out->len - begin - (size_t)pad);
	memset(out->data + begin, ' ', (size_t)pad);
}

static void run_node(const struct pf_run *r, const struct pf_op *op, struct strbuf *out)
{
	struct pf_spec spec = op->spec;
	const size_t begin = out->len;
	int width = count_of(r, op->node_width, spec.width),
	    precision = count_of(r, op->node_precision, spec.precision);

	if (op->node_width && width < 0) {
		spec.left = true;
		width = -width;
	}
	switch (spec.conversion) {
	case 's':
		pf_print_string(r, op->node, precision, out);
		pad_string(out, begin, width, spec.left);
		break;
	case 'p':
		pf_print_pointer(r, &spec, op->node, width, out);
		break;
	case 'c': {
		const u8 ch = (u8)pf_eval(r, op->node);

		pf_print_chars(r, &ch, 1, out);
		pad_string(out, begin, width, spec.left);
		break;
	}
	default:
		pf_print_number(out, converted(pf_eval(r, op->node), &spec), &spec, width,
				precision);
	}
}

static void run_chars(const struct pf_run *r, const struct pf_op *op, struct strbuf *out)
{
	const u8 *s = r->record + op->offset;
	const void *end = memchr(s, 0, op->len);

	pf_print_chars(r, s, end ? (size_t)((const u8 *)end - s) : op->len, out);
}

static void run_text(const struct pf_op *op, struct strbuf *out)
{
	char *p = text_room(out, op->len + 1);

	memcpy(p, op->text, op->len);
	text_end(out, p + op->len);
}

void print_format_run(const struct print_format *f, const struct print_context *c,
		      const void *record, size_t size, struct strbuf *out)
{
	const struct pf_run run = {c, record, size}, *r = &run;

	if (size < f->fixed_end) {
		strbuf_addstr(out, "(record too short)");
		return;
	}
	for (const struct pf_op *op = f->ops, *end = op + f->count; op < end; op++) {
		switch (op->code) {
		case OP_TEXT:
			run_text(op, out);
			break;
		case OP_U8:
			text_unsigned(out, LOAD(u8));
			break;
		case OP_U16:
			text_unsigned(out, LOAD(u16));
			break;
		case OP_U32:
			text_unsigned(out, LOAD(u32));
			break;
		case OP_U64:
			text_unsigned(out, LOAD(u64));
			break;
		case OP_S8:
			text_signed(out, LOAD(s8));
			break;
		case OP_S16:
			text_signed(out, LOAD(s16));
			break;
		case OP_S32:
			text_signed(out, LOAD(s32));
			break;
		case OP_S64:
			text_signed(out, LOAD(s64));
			break;
		case OP_X8:
			text_hex(out, LOAD(u8));
			break;
		case OP_X16:
			text_hex(out, LOAD(u16));
			break;
		case OP_X32:
			text_hex(out, LOAD(u32));
			break;
		case OP_X64:
			text_hex(out, LOAD(u64));
			break;
		case OP_ZX:
			text_hex_padded(out, LOAD(u64), op->width);
			break;
		case OP_CHARS:
			run_chars(r, op, out);
			break;
		case OP_DYNAMIC_STRING:
			run_dynamic_string(r, op, out);
			break;
		case OP_PROBE_STRING:
			run_probe_string(r, op, out);
			break;
		case OP_SYMBOL:
			symbol_print(c->symbols, LOAD(u64), op->style, out);
			break;
		case OP_PROBE_ADDRESS:
			run_probe_address(r, op, out);
			break;
		case OP_UNKNOWN:
			strbuf_addstr(out, "(unknown)");
			break;
		case OP_FIELD_ARRAY:
			run_field_array(r, op, out);
			break;
		default:
			run_node(r, op, out);
		}
	}
}
