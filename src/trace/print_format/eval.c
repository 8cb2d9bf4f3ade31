/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of expressions, numbers and strings as lib/vsprintf.c writes them. */
#include "trace/print_format/internal.h"

#include "base/escape.h"

static inline u64 load(const u8 *p, u8 size, bool is_signed)
{
	u64 v = 0;

	switch (size) {
	case 1:
		return is_signed ? (u64)(s64)(s8)*p : *p;
	case 2:
		memcpy(&v, p, 2);
		return is_signed ? (u64)(s64)(s16)v : v;
	case 4:
		memcpy(&v, p, 4);
		return is_signed ? (u64)(s64)(s32)v : v;
	default:
		memcpy(&v, p, 8);
		return v;
	}
}

static inline u64 convert(u64 v, struct pf_type t)
{
	switch (t.size) {
	case 1:
		return t.is_signed ? (u64)(s64)(s8)v : (u8)v;
	case 2:
		return t.is_signed ? (u64)(s64)(s16)v : (u16)v;
	case 4:
		return t.is_signed ? (u64)(s64)(s32)v : (u32)v;
	default:
		return v;
	}
}

/* What the kernel would not survive gives 0. */
static u64 divide(u64 a, u64 b, bool is_signed, bool rest)
{
	if (!b)
		return 0;
	if (!is_signed)
		return rest ? a % b : a / b;
	if ((s64)b == -1)
		return rest ? 0 : -a;
	return rest ? (u64)((s64)a % (s64)b) : (u64)((s64)a / (s64)b);
}

static bool is_true(const struct pf_run *r, const struct pf_node *n)
{
	return n->type.value != PF_NUMBER || pf_eval(r, n);
}

static u64 compare(u8 op, u64 a, u64 b, bool is_signed)
{
	switch (op) {
	case PF_EQ:
		return a == b;
	case PF_NE:
		return a != b;
	case '<':
		return is_signed ? (s64)a < (s64)b : a < b;
	case '>':
		return is_signed ? (s64)a > (s64)b : a > b;
	case PF_LE:
		return is_signed ? (s64)a <= (s64)b : a <= b;
	default:
		return is_signed ? (s64)a >= (s64)b : a >= b;
	}
}

/* Operands in the type that they are compared and divided in. */
static struct pf_type operand_type(struct pf_type a, struct pf_type b)
{
	struct pf_type r;

	if (a.size < 4)
		a = pf_integer(4, true);
	if (b.size < 4)
		b = pf_integer(4, true);
	r = a.size > b.size ? a : b.size > a.size ? b : a.is_signed ? b : a;
	return r;
}

static u64 binary(const struct pf_run *r, const struct pf_node *n)
{
	const struct pf_type t = operand_type(n->a->type, n->b->type);
	u64 a, b;

	if (n->op == PF_AND)
		return is_true(r, n->a) && is_true(r, n->b);
	if (n->op == PF_OR)
		return is_true(r, n->a) || is_true(r, n->b);
	/* An address in the record is not NULL, which is all that formats ask. */
	a = n->a->type.value == PF_NUMBER ? pf_eval(r, n->a) : 1;
	b = n->b->type.value == PF_NUMBER ? pf_eval(r, n->b) : 1;
	if (n->op == PF_SHL)
		return convert(a << (b & 63), n->type);
	if (n->op == PF_SHR)
		return n->type.is_signed ? (u64)((s64)a >> (b & 63))
					 : convert(a, n->type) >> (b & 63);
	a = convert(a, t);
	b = convert(b, t);
	switch (n->op) {
	case '+':
		return convert(a + b, n->type);
	case '-':
		return convert(a - b, n->type);
	case '*':
		return convert(a * b, n->type);
	case '/':
	case '%':
		return convert(divide(a, b, t.is_signed, n->op == '%'), n->type);
	case '&':
		return convert(a & b, n->type);
	case '|':
		return convert(a | b, n->type);
	case '^':
		return convert(a ^ b, n->type);
	default:
		return compare(n->op, a, b, t.is_signed);
	}
}

static u64 unary(const struct pf_run *r, const struct pf_node *n)
{
	if (n->op == '!')
		return !is_true(r, n->a);
	return convert(n->op == '-' ? -pf_eval(r, n->a) : ~pf_eval(r, n->a), n->type);
}

static u64 element(const struct pf_run *r, const struct pf_node *n)
{
	const struct pf_bytes b = pf_eval_bytes(r, n->a);
	const u64 index = n->b ? pf_eval(r, n->b) : 0;

	if (!b.at || index >= b.len || (index + 1) * n->type.size > b.len)
		return 0;
	return load(b.at + index * n->type.size, n->type.size, n->type.is_signed);
}

static u64 swap(u64 v, u8 size)
{
	if (size == 2)
		return __builtin_bswap16((u16)v);
	return size == 4 ? __builtin_bswap32((u32)v) : __builtin_bswap64(v);
}

u64 pf_eval(const struct pf_run *r, const struct pf_node *n)
{
	u64 v;

	switch (n->kind) {
	case PF_CONST:
		return n->number;
	case PF_LOAD:
		return load(r->record + n->offset, n->type.size, n->type.is_signed);
	case PF_LENGTH:
		memcpy(&v, r->record + n->offset, 4);
		return (u32)v >> 16;
	case PF_UNARY:
		return unary(r, n);
	case PF_BINARY:
		return binary(r, n);
	case PF_COND:
		if (!n->b) {
			v = pf_eval(r, n->a);
			return convert(v ? v : pf_eval(r, n->c), n->type);
		}
		return convert(pf_eval(r, is_true(r, n->a) ? n->b : n->c), n->type);
	case PF_CAST:
		return convert(pf_eval(r, n->a), n->type);
	case PF_ELEMENT:
		return element(r, n);
	case PF_SWAP:
		return swap(pf_eval(r, n->a), n->type.size);
	case PF_MSECS:
		v = pf_eval(r, n->a);
		return r->context->hz ? v * (n->op ? 1000000 : 1000) / r->context->hz : 0;
	default:
		return 0;
	}
}

/* ---- bytes ---- */

static struct pf_bytes dynamic(const struct pf_run *r, u32 at, u32 base)
{
	u32 location, offset, len;

	memcpy(&location, r->record + at, 4);
	offset = (location & 0xffff) + base;
	len = location >> 16;
	if (offset > r->size || len > r->size - offset)
		return (struct pf_bytes){0};
	return (struct pf_bytes){r->record + offset, len};
}

static struct pf_bytes advance(const struct pf_run *r, const struct pf_node *n)
{
	struct pf_bytes b = pf_eval_bytes(r, n->a);
	const u64 step = pf_eval(r, n->b) * n->number;

	if (!b.at || step > b.len)
		return (struct pf_bytes){0};
	return (struct pf_bytes){b.at + step, b.len - step};
}

struct pf_bytes pf_eval_bytes(const struct pf_run *r, const struct pf_node *n)
{
	switch (n->kind) {
	case PF_PLACE:
		return (struct pf_bytes){r->record + n->offset,
					 MIN((size_t)n->bytes, r->size - n->offset)};
	case PF_DYNAMIC:
		return dynamic(r, n->offset, 0);
	case PF_RELATIVE:
		return dynamic(r, n->offset, n->offset + 4);
	case PF_ADVANCE:
		return advance(r, n);
	case PF_COND:
		return pf_eval_bytes(r, is_true(r, n->a) ? n->b ? n->b : n->a : n->c);
	default:
		return (struct pf_bytes){0};
	}
}

#define MAX_PAD 200

static char *mempset(char *p, char c, int n)
{
	memset(p, c, (size_t)n);
	return p + n;
}

/* ---- numbers (number() in lib/vsprintf.c) ---- */

/* Digits of v that end at `end`, the first one's place. */
static char *digits_of(char *end, u64 v, const struct pf_spec *spec)
{
	static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
	const char *digits = spec->upper ? upper : lower;
	const int shift = spec->base == 8 ? 3 : 4;

	if (spec->base == 10)
		return text_digits(end, v);
	do {
		*--end = digits[v & (spec->base - 1u)];
		v >>= shift;
	} while (v);
	return end;
}

void pf_print_number(struct strbuf *out, u64 v, const struct pf_spec *spec, int width,
		     int precision)
{
	const bool prefix = spec->alternate && spec->base != 10;
	const bool zero = spec->zero && !spec->left;
	char digits[32], sign = 0, *begin, *p;
	int n, pad;

	if (spec->conversion == 'd') {
		if ((s64)v < 0) {
			sign = '-';
			v = -v;
		} else if (spec->plus) {
			sign = '+';
		} else if (spec->space) {
			sign = ' ';
		}
	}
	begin = digits_of(digits + sizeof(digits), v, spec);
	n = (int)(digits + sizeof(digits) - begin);
	width -= sign != 0;
	if (prefix)
		width -= spec->base == 16 ? 2 : v != 0;
	precision = MIN(MAX(precision, n), MAX_PAD);
	pad = MAX(MIN(width, MAX_PAD) - precision, 0);
	p = text_room(out, 2 * MAX_PAD + 64);
	if (!zero && !spec->left)
		p = mempset(p, ' ', pad);
	if (sign)
		*p++ = sign;
	if (prefix && (spec->base == 16 || v))
		*p++ = '0';
	if (prefix && spec->base == 16)
		*p++ = spec->upper ? 'X' : 'x';
	if (zero)
		p = mempset(p, '0', pad);
	p = mempset(p, '0', precision - n);
	memcpy(p, begin, (size_t)n);
	p += n;
	if (spec->left)
		p = mempset(p, ' ', pad);
	text_end(out, p);
}

/* ---- strings ---- */

void pf_print_chars(const struct pf_run *r, const u8 *s, size_t n, struct strbuf *out)
{
	bool plain = true;
	char *p;

	if (r->context->raw_strings) {
		strbuf_add(out, s, n);
		return;
	}
	/* Mostly it is ASCII, and short. */
	for (size_t i = 0; i < n; i++)
		plain &= s[i] >= ' ' && s[i] < 0x7f;
	if (!plain) {
		escape_line(out, (const char *)s, n);
		return;
	}
	p = text_room(out, n + 1);
	memcpy(p, s, n);
	text_end(out, p + n);
}

static void print_pointed(const struct pf_run *r, u64 address, int precision, struct strbuf *out)
{
	const char *s = string_table_at(r->context->strings, address);

	if (!address)
		s = "(null)";
	if (s) {
		pf_print_chars(r, (const u8 *)s,
			       strnlen(s, precision < 0 ? SIZE_MAX : (size_t)precision), out);
		return;
	}
	/* In the kernel's memory, which the record does not have. */
	strbuf_addstr(out, "(0x");
	text_hex(out, address);
	strbuf_addch(out, ')');
}

void pf_print_string(const struct pf_run *r, const struct pf_node *n, int precision,
		     struct strbuf *out)
{
	if (n->kind == PF_COND) {
		pf_print_string(r, is_true(r, n->a) ? n->b ? n->b : n->a : n->c, precision, out);
		return;
	}
	if (n->type.value == PF_BYTES) {
		const struct pf_bytes b = pf_eval_bytes(r, n);

		if (!b.at)
			strbuf_addstr(out, "(bad)");
		else
			pf_print_chars(
				r, b.at,
				strnlen((const char *)b.at,
					precision < 0 ? b.len : MIN(b.len, (size_t)precision)),
				out);
	} else if (n->type.value == PF_TEXT) {
		const size_t begin = out->len;

		pf_print_text(r, n, out);
		if (precision >= 0 && out->len - begin > (size_t)precision)
			out->len = begin + (size_t)precision;
	} else {
		print_pointed(r, pf_eval(r, n), precision, out);
	}
}
