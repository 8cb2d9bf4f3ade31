/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/printf_format.h"

#include <limits.h>

struct parser {
	struct arena *arena;
	const char *p, *end;
	struct format_part *parts;
	u32 nparts, cap;
	/* length of the literal being collected in the arena; at most that of the whole text */
	char *literal;
	u32 literal_len;
	u32 argument;
	const char *error;
};

static struct format_part *add_part(struct parser *f)
{
	if (f->nparts == f->cap) {
		u32 cap = f->cap ? f->cap * 2 : 8;
		struct format_part *parts = arena_new_array(f->arena, struct format_part, cap);

		if (f->nparts)
			memcpy(parts, f->parts, f->nparts * sizeof(*parts));
		f->parts = parts;
		f->cap = cap;
	}
	return &f->parts[f->nparts++];
}

static void flush_literal(struct parser *f)
{
	struct format_part *part;

	if (!f->literal_len)
		return;
	part = add_part(f);
	*part = (struct format_part){
		.kind = CONVERSION_LITERAL,
		.text = arena_text(f->arena, f->literal, f->literal_len),
		.len = f->literal_len,
		.width = -1,
		.precision = -1,
	};
	f->literal_len = 0;
}

static const char *parse_flags(const char *p, const char *end, struct format_part *part)
{
	for (; p < end; p++) {
		switch (*p) {
		case '-':
			part->left = true;
			break;
		case '+':
			part->plus = true;
			break;
		case ' ':
			part->space = true;
			break;
		case '#':
			part->alternate = true;
			break;
		case '0':
			part->zero = true;
			break;
		default:
			return p;
		}
	}
	return p;
}

/* Digits or '*'. *ret: the number, -2 for '*', unchanged if there is neither. */
static const char *parse_number(const char *p, const char *end, s32 *ret)
{
	s32 value = 0;

	if (p < end && *p == '*') {
		*ret = -2;
		return p + 1;
	}
	if (p == end || *p < '0' || *p > '9')
		return p;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		value = MIN(value * 10 + (*p - '0'), FORMAT_MAX_WIDTH + 1);
	*ret = value;
	return p;
}

static const char *parse_length(const char *p, const char *end, struct format_part *part)
{
	for (; p < end && strchr("hlLjzt", *p) && *p; p++) {
		if (*p == 'h')
			part->length_bytes = part->length_bytes == 2 ? 1 : 2;
		else
			part->length_bytes = 8;
	}
	return p;
}

/* One conversion after '%'. Returns its end, or NULL if this is no conversion at all. */
static const char *parse_conversion(const char *p, const char *end, struct format_part *part)
{
	p = parse_flags(p, end, part);
	p = parse_number(p, end, &part->width);
	if (p < end && *p == '.') {
		p = parse_number(p + 1, end, &part->precision);
		if (part->precision == -1)
			part->precision = 0;
	}
	p = parse_length(p, end, part);
	if (p == end || !*p || !strchr("diouxXeEfFgGaAcspnqrT%", *p))
		return NULL;
	part->conversion = *p++;
	if (part->conversion == 'g' && p < end && *p == 'r') {
		part->conversion = 'r';
		part->r_mode = 'g';
		p++;
	} else if (part->conversion == 'r' && p < end && (*p == 'x' || *p == 'h')) {
		part->r_mode = *p++;
		part->is_hex_escape = part->r_mode == 'x';
	}
	return p;
}

static void parse_percent(struct parser *f)
{
	struct format_part part = {.kind = CONVERSION_ARGUMENT, .width = -1, .precision = -1};
	const char *next = parse_conversion(f->p + 1, f->end, &part);

	if (!next) {
		f->literal[f->literal_len++] = *f->p++;
		return;
	}
	if (part.conversion == '%') {
		f->literal[f->literal_len++] = '%';
		f->p = next;
		return;
	}
	if (part.width > FORMAT_MAX_WIDTH || part.precision > FORMAT_MAX_WIDTH) {
		f->error = arena_printf(f->arena,
					"width or precision is too large in '%.*s', must be <= %d",
					(int)(next - f->p), f->p, FORMAT_MAX_WIDTH);
		return;
	}
	flush_literal(f);
	f->argument += (part.width == -2) + (part.precision == -2);
	part.argument = f->argument++;
	part.text = arena_text(f->arena, f->p, next - f->p);
	part.len = next - f->p;
	f->p = next;
	*add_part(f) = part;
}

const char *format_parse(struct arena *a, const char *text, size_t len, struct format *ret,
			 u32 *ret_arguments)
{
	struct parser f = {.arena = a, .p = text, .end = text + len};

	if (len > INT_MAX / 2)
		return "format string is too long";
	f.literal = arena_alloc(a, len + 1);
	while (f.p < f.end && !f.error) {
		if (*f.p == '%')
			parse_percent(&f);
		else
			f.literal[f.literal_len++] = *f.p++;
	}
	if (f.error)
		return f.error;
	flush_literal(&f);
	*ret = (struct format){
		.text = arena_text(a, text, len), .parts = f.parts, .nparts = f.nparts};
	*ret_arguments = f.argument;
	return NULL;
}

/* ---- checks ---- */

/* Prints as a number: integers, pointers, and aggregations that have one number. */
static bool is_number(const struct type *t)
{
	switch (t->kind) {
	case TYPE_POINTER:
	case TYPE_COUNT:
	case TYPE_SUM:
	case TYPE_MIN:
	case TYPE_MAX:
	case TYPE_AVG:
	case TYPE_FUNCTION:
		return true;
	default:
		return type_is_integer(t);
	}
}

/* "d", "rx", "gr": as the messages name a conversion. */
static const char *conversion_name(struct arena *a, const struct format_part *part)
{
	if (part->conversion != 'r' || !part->r_mode)
		return arena_printf(a, "%c", part->conversion);
	return part->r_mode == 'g' ? "gr" : arena_printf(a, "r%c", part->r_mode);
}

/* %r, %rx, %rh: bytes; %a: an argument vector. */
static bool wants_buffer(const struct format_part *part)
{
	return part->conversion == 'a' || (part->conversion == 'r' && part->r_mode != 'g');
}

static const char *check_part(struct arena *a, const struct format_part *part, const struct type *t)
{
	const char *name = conversion_name(a, part);

	if (t->kind == TYPE_NONE || t->kind == TYPE_VOID)
		return arena_printf(a, "unable to print none type for specifier: %s", name);
	if (!strchr("diuoxXcpsqraT", part->conversion))
		return arena_printf(a, "unsupported format specifier: %s", name);
	if (part->conversion == 's' || (part->conversion == 'q' && t->kind != TYPE_BUFFER))
		return NULL;
	if (wants_buffer(part) ? t->kind == TYPE_BUFFER : is_number(t))
		return NULL;
	return arena_printf(a, "unsupported format specifier for type '%s': %s", type_str(a, t),
			    name);
}

static u32 arguments_used(const struct format *f)
{
	u32 n = 0;

	for (u32 i = 0; i < f->nparts; i++)
		if (f->parts[i].kind == CONVERSION_ARGUMENT)
			n = f->parts[i].argument + 1;
	return n;
}

const char *format_check(struct arena *a, const struct format *f, const struct type *const *types,
			 u32 ntypes, u32 *ret_argument)
{
	const u32 expected = arguments_used(f);

	*ret_argument = UINT32_MAX;
	if (ntypes != expected)
		return arena_printf(a, "%s arguments for format string (%u supplied, %u expected)",
				    ntypes < expected ? "not enough" : "too many", ntypes,
				    expected);
	for (u32 i = 0; i < f->nparts; i++) {
		const struct format_part *part = &f->parts[i];
		const u32 stars = (part->width == -2) + (part->precision == -2);
		const char *complaint;

		if (part->kind != CONVERSION_ARGUMENT)
			continue;
		for (u32 k = part->argument - stars; k < part->argument; k++) {
			*ret_argument = k;
			if (!type_is_integer(types[k]))
				return arena_printf(a,
						    "the argument for '*' in '%s' must be an "
						    "integer (%s provided)",
						    part->text, type_str(a, types[k]));
		}
		*ret_argument = part->argument;
		complaint = check_part(a, part, types[part->argument]);
		if (complaint)
			return complaint;
	}
	return NULL;
}
