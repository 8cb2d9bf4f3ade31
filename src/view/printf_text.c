/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/printf_text.h"

#include "base/escape.h"
#include "view/gfp.h"

#define MAX_WIDTH \
	4096 /* of one conversion; more is cut: a width may come from traced data ("%*d") */

struct spec {
	const struct format_part *part;
	s32 width, precision;
	bool left;
};

static void pad(struct strbuf *out, const struct spec *s, size_t start)
{
	int missing = s->width - (int)(out->len - start);
	size_t n = out->len - start;

	if (missing <= 0)
		return;
	strbuf_addchars(out, ' ', missing);
	if (!s->left) {
		memmove(out->data + start + missing, out->data + start, n);
		memset(out->data + start, ' ', (size_t)missing);
	}
}

static void add_text(struct value_printer *p, struct strbuf *out, const struct spec *s,
		     const struct type *t, const u8 *data)
{
	size_t start = out->len;

	value_text(p, out, t, data);
	if (s->precision >= 0 && out->len - start > (size_t)s->precision) {
		out->len = start + (size_t)s->precision;
		out->data[out->len] = 0;
	}
	pad(out, s, start);
}

/* One word for a shell, whatever it holds: 'it'\''s'. */
static void add_quoted(struct value_printer *p, struct strbuf *out, const struct spec *s,
		       const struct type *t, const u8 *data)
{
	struct strbuf text = STRBUF_INIT;

	add_text(p, &text, s, t, data);
	strbuf_addch(out, '\'');
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '\'')
			strbuf_addstr(out, "'\\''");
		else
			strbuf_addch(out, text.data[i]);
	strbuf_addch(out, '\'');
	strbuf_release(&text);
}

/* How many bytes of an integer argument the conversion shows. */
static u32 shown_bytes(const struct value_printer *p, const struct format_part *part,
		       const struct type *t)
{
	if (memchr(part->text, 'j', part->len) || memchr(part->text, 'z', part->len) ||
	    memchr(part->text, 't', part->len))
		return 8;
	if (part->length_bytes == 1 || part->length_bytes == 2)
		return part->length_bytes;
	if (memchr(part->text, 'l', part->len))
		return 8;
	/* C and bpftrace print an int here and truncate wider values; we print the whole value. */
	if (p->is_compatible)
		return 4;
	return MAX(t->size, 4u);
}

/* Digits of v, most significant first, at the end of buf; returns where they begin. */
static char *digits(char *end, u64 v, u32 base, bool upper)
{
	const char *alphabet = upper ? "0123456789ABCDEF" : "0123456789abcdef";

	do
		*--end = alphabet[v % base];
	while (v /= base);
	return end;
}

/* The same as printf(3), without parsing the format a second time. */
static void add_number(struct strbuf *out, const struct spec *s, char conversion, u64 v,
		       bool negative)
{
	const struct format_part *part = s->part;
	bool is_signed = conversion == 'd' || conversion == 'i', is_zero = !v;
	u32 base = conversion == 'o' ? 8 : (conversion == 'x' || conversion == 'X' ? 16 : 10);
	char buf[32], prefix[3] = "", *end = buf + sizeof(buf);
	char *first = digits(end, v, base, conversion == 'X');
	size_t start = out->len;
	int zeros, n = (int)(end - first);

	if (is_zero && s->precision == 0)
		n = 0;
	if (negative)
		strcpy(prefix, "-");
	else if (is_signed && (part->plus || part->space))
		strcpy(prefix, part->plus ? "+" : " ");
	else if (part->alternate && base == 16 && !is_zero)
		strcpy(prefix, conversion == 'X' ? "0X" : "0x");
	zeros = s->precision - n;
	if (part->alternate && base == 8 && (!is_zero || !n))
		zeros = MAX(zeros, 1);
	if (s->precision < 0 && part->zero && !s->left)
		zeros = MAX(zeros, s->width - n - (int)strlen(prefix));
	strbuf_addstr(out, prefix);
	strbuf_addchars(out, '0', zeros);
	strbuf_add(out, end - n, (size_t)n);
	pad(out, s, start);
}

static void add_integer(struct value_printer *p, struct strbuf *out, const struct spec *s,
			const struct type *t, s64 value)
{
	u32 bits = shown_bytes(p, s->part, t) * 8;
	char conversion = s->part->conversion;
	bool negative = false;
	u64 v = (u64)value;

	if (bits < 64)
		v &= (1ULL << bits) - 1;
	if (conversion == 'd' || conversion == 'i') {
		negative = (v >> (bits - 1)) & 1;
		if (negative)
			v = -v & (bits < 64 ? (1ULL << bits) - 1 : ~0ULL);
	}
	add_number(out, s, conversion, v, negative);
}

static void add_char(struct value_printer *p, struct strbuf *out, const struct spec *s, s64 value)
{
	static const struct type one = {.kind = TYPE_STRING, .size = 2};
	u8 text[2] = {(u8)value, 0};

	add_text(p, out, s, &one, text);
}

static void add_buffer(struct strbuf *out, const struct spec *s, const struct type *t,
		       const u8 *data)
{
	u32 n = 0, room = t->size > 4 ? t->size - 4 : 0;
	size_t start = out->len;
	bool hex = s->part->is_hex_escape || s->part->r_mode == 'x';
	bool plain = s->part->r_mode == 'h';

	if (t->size >= 4)
		memcpy(&n, data, sizeof(n));
	value_buffer_text(out, data + 4, MIN(n, room), !hex && !plain, !plain);
	pad(out, s, start);
}

/* The words of an argument vector, each with its NUL, as one line. */
static void add_words(struct strbuf *out, const struct value_printer *p, const struct type *t,
		      const u8 *data)
{
	u32 n = 0, begin = 0;

	if (t->size < 4)
		return;
	memcpy(&n, data, sizeof(n));
	n = MIN(n, t->size - 4);
	data += 4;
	while (n && !data[n - 1])
		n--;
	for (u32 i = 0; i <= n; i++) {
		if (i < n && data[i])
			continue;
		if (begin)
			strbuf_addch(out, ' ');
		if (p->raw)
			strbuf_add(out, data + begin, i - begin);
		else
			escape_line(out, (const char *)data + begin, i - begin);
		begin = i + 1;
	}
}

static void add_seconds(struct strbuf *out, const struct spec *s, u64 ns)
{
	size_t start = out->len;

	char buf[32], *end = buf + sizeof(buf), *p = end;
	u64 us = ns % 1000000000 / 1000;

	for (int i = 0; i < 6; i++, us /= 10)
		*--p = (char)('0' + us % 10);
	*--p = '.';
	p = digits(p, ns / 1000000000, 10, false);
	strbuf_add(out, p, (size_t)(end - p));
	pad(out, s, start);
}

static void add_gfp(struct value_printer *p, struct strbuf *out, const struct spec *s, u64 flags)
{
	const size_t start = out->len;

	gfp_text(out, p->types, flags);
	pad(out, s, start);
}

/* The number of a value that is printed with %d or %x: integers, pointers, symbols, errno ... */
static bool as_integer(const struct type *t, const u8 *data, s64 *ret)
{
	switch (t->kind) {
	case TYPE_INT:
	case TYPE_BOOL:
	case TYPE_ENUM:
	case TYPE_POINTER:
	case TYPE_KSYM:
	case TYPE_STRERROR:
	case TYPE_ERRNO_NAME:
	case TYPE_USERNAME:
	case TYPE_SYSCALL_NAME:
	case TYPE_SIGNAL_NAME:
	case TYPE_DISK_NAME:
	case TYPE_MEMINFO:
		*ret = value_integer(t, data);
		return true;
	case TYPE_USYM:
	case TYPE_TIMESTAMP:
		memcpy(ret, data, sizeof(*ret));
		return true;
	default:
		return false;
	}
}

static void add_conversion(struct value_printer *p, struct strbuf *out, const struct spec *s,
			   const struct type *t, const u8 *data)
{
	static const struct type address = {.kind = TYPE_POINTER, .size = 8};
	s64 value = 0;
	u64 pointer;

	if (t->kind == TYPE_BUFFER && s->part->conversion == 'a') {
		add_words(out, p, t, data);
		return;
	}
	if (t->kind == TYPE_BUFFER) {
		add_buffer(out, s, t, data);
		return;
	}
	if (s->part->conversion == 'q') {
		add_quoted(p, out, s, t, data);
		return;
	}
	if (s->part->conversion == 's' || !as_integer(t, data, &value)) {
		add_text(p, out, s, t, data);
		return;
	}
	switch (s->part->conversion) {
	case 'd':
	case 'i':
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		add_integer(p, out, s, t, value);
		return;
	case 'r': /* %gr: of the conversions with r it alone takes a number */
		add_gfp(p, out, s, (u64)value);
		return;
	case 'T':
		add_seconds(out, s, (u64)value);
		return;
	case 'c':
		add_char(p, out, s, value);
		return;
	case 'p':
		pointer = (u64)value;
		add_text(p, out, s, &address, (const u8 *)&pointer);
		return;
	default:
		add_text(p, out, s, t, data);
	}
}

static s32 star(s32 written, const struct type *payload, const u8 *data, u32 *argument)
{
	s64 v = 0;

	if (written != -2)
		return written;
	if (*argument < payload->count)
		as_integer(payload->members[*argument].type,
			   data + payload->members[*argument].offset, &v);
	(*argument)++;
	return (s32)MAX(MIN(v, MAX_WIDTH), -MAX_WIDTH);
}

void format_text(struct value_printer *p, struct strbuf *out, const struct format *f,
		 const struct type *payload_type, const u8 *payload)
{
	static const struct type nothing = {.kind = TYPE_TUPLE};
	const struct type *t = payload_type ? payload_type : &nothing;

	for (u32 i = 0; i < f->nparts; i++) {
		const struct format_part *part = &f->parts[i];
		struct spec s = {.part = part, .left = part->left};
		u32 argument = part->argument;

		if (part->kind == CONVERSION_LITERAL) {
			strbuf_add(out, part->text, part->len);
			continue;
		}
		/* '*' takes the arguments right before the converted one. */
		if (part->width == -2 || part->precision == -2) {
			u32 stars = (part->width == -2) + (part->precision == -2);

			argument = part->argument >= stars ? part->argument - stars : 0;
		}
		s.width = star(part->width, t, payload, &argument);
		s.precision = star(part->precision, t, payload, &argument);
		if (s.width < -1) {
			s.left = true;
			s.width = -s.width;
		}
		s.width = MIN(s.width, MAX_WIDTH);
		if (part->argument >= t->count)
			continue;
		add_conversion(p, out, &s, t->members[part->argument].type,
			       payload + t->members[part->argument].offset);
	}
}
