/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arguments of a USDT note: what the assembler made of operands, separated by blanks, in AT&T
 * syntax on x86:
 *
 *	[-]SIZE[f]@OPERAND		-: signed, f: floating point
 *	OPERAND: %reg | $constant | disp(%base) | disp(%base,%index,scale) | symbol[+-n](%rip)
 *
 * disp is a number, a symbol, or their sum. At the probe the saved instruction pointer is the
 * probe's own address, so "symbol(%rip)" is found at ip + (symbol - probe) whatever the load
 * address.
 */
#include "arch/arch.h"
#include "binary/elf/internal.h"
#include "binary/location.h"

struct place {
	struct elf_file *file; /* NULL: symbols cannot be resolved */
	u64 address; /* of the probe */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Exactly the register [s, s + n), with or without '%'. */
static const struct arch_register *find_register(const char *s, size_t n)
{
	char name[16];

	if (!n || n >= sizeof(name))
		return NULL;
	memcpy(name, s, n);
	name[n] = 0;
	return arch_register_find(name);
}

static bool is_instruction_pointer(const char *s, size_t n)
{
	return (n == 4 && memcmp(s, "%rip", 4) == 0) || (n == 4 && memcmp(s, "%eip", 4) == 0);
}

/* A number in C notation with sign; *end = what follows it. Overflow of 64 bits is refused. */
static bool read_number(const char **s, s64 *ret)
{
	bool negative = **s == '-';
	const char *p = *s + (negative || **s == '+');
	char *end;
	u64 v;

	if (*p < '0' || *p > '9')
		return false;
	errno = 0;
	v = strtoull(p, &end, 0);
	if (errno)
		return false;
	*ret = negative ? (s64)(0 - v) : (s64)v;
	*s = end;
	return true;
}

static bool find_symbol(const struct place *at, const char *s, size_t n, u64 *ret)
{
	struct elf_symbol symbol;
	char *name;
	int err;

	if (!at->file || !n)
		return false;
	name = xstrndup(s, n);
	err = elf_file_find_symbol(at->file, name, &symbol);
	free(name);
	*ret = err ? 0 : symbol.address;
	return !err;
}

/* A sum of numbers and at most one symbol: "-16", "counter", "counter+8", "8+counter". */
static bool read_displacement(const struct place *at, const char *s, const char *end, s64 *ret,
			      bool *ret_has_symbol)
{
	u64 sum = 0, address;
	s64 n;

	*ret_has_symbol = false;
	while (s < end) {
		const char *word = s + (*s == '+');
		size_t len = strcspn(word, "+-( \t\n@");

		if (read_number(&s, &n)) {
			sum += (u64)n;
			continue;
		}
		if (*ret_has_symbol || !len || word + len > end ||
		    !find_symbol(at, word, len, &address))
			return false;
		*ret_has_symbol = true;
		sum += address;
		s = word + len;
	}
	*ret = (s64)sum;
	return s == end;
}

/* [-]SIZE[f]@; old notes leave it out. False: nothing that a program could load. */
static bool read_size(const char **s, struct location *ret)
{
	const char *p = *s + (**s == '-');
	u32 size = 0;

	if (*p < '0' || *p > '9' || !strchr(p, '@'))
		return true;
	for (; *p >= '0' && *p <= '9' && size < 1000; p++)
		size = size * 10 + (u32)(*p - '0');
	if (*p != '@')
		return false;
	ret->is_signed = **s == '-';
	ret->size = (u8)(size <= 8 ? size : 0);
	*s = p + 1;
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* "(%base)", "(%base,%index)", "(%base,%index,scale)" from the parenthesis to the end. */
static bool read_memory(const struct place *at, const char *s, const char *end,
			const char *displacement, struct location *ret)
{
	const char *close = end - 1, *p = s + 1;
	size_t base_len = strcspn(p, ",)"), index_len;
	const struct arch_register *base = NULL, *index = NULL;
	bool has_symbol, relative = is_instruction_pointer(p, base_len);
	s64 value, scale = 1;

	if (*close != ')' || p + base_len > close ||
	    !read_displacement(at, displacement, s, &value, &has_symbol))
		return false;
	/* A number relative to the next instruction means nothing without the instruction. */
	if (relative ? !has_symbol : has_symbol && elf_file_is_dynamic(at->file))
		return false;
	if (!relative && !(base = find_register(p, base_len)))
		return false;
	p += base_len;
	if (*p == ',') {
		index_len = strcspn(++p, ",)");
		index = find_register(p, index_len);
		if (!index || relative)
			return false;
		p += index_len;
	}
	if (*p == ',') {
		p++;
		if (!read_number(&p, &scale) ||
		    (scale != 1 && scale != 2 && scale != 4 && scale != 8))
			return false;
	}
	if (p != close || (base && base->shift) || (index && index->shift))
		return false;
	ret->kind = LOCATION_MEMORY;
	ret->base = relative ? arch_ip_offset() : base->offset;
	ret->index = index ? index->offset : 0xffff;
	ret->scale = index ? (u8)scale : 0;
	ret->value = relative ? (s64)((u64)value - at->address) : value;
	return true;
}

static bool read_constant(const struct place *at, const char *s, const char *end,
			  struct location *ret)
{
	bool has_symbol;

	if (!read_displacement(at, s, end, &ret->value, &has_symbol))
		return false;
	if (has_symbol && elf_file_is_dynamic(at->file)) /* known only once the file is loaded */
		return false;
	ret->kind = LOCATION_CONSTANT;
	if (!ret->size)
		ret->size = 8;
	/* "4@$-1" is 4294967295 */
	if (ret->size < 8) {
		const u32 unused = 64 - 8 * ret->size;
		const u64 top = (u64)ret->value << unused;

		ret->value = ret->is_signed ? (s64)top >> unused : (s64)(top >> unused);
	}
	return true;
}

static bool read_register(const char *s, const char *end, struct location *ret)
{
	const struct arch_register *r = find_register(s, (size_t)(end - s));

	if (!r || r->shift) /* %ah: the second byte of a register has no place of its own */
		return false;
	ret->kind = LOCATION_REGISTER;
	ret->offset = r->offset;
	if (!ret->size)
		ret->size = r->size;
	return ret->size <= 8;
}

static bool read_operand(const struct place *at, const char *s, const char *end,
			 struct location *ret)
{
	const char *open = memchr(s, '(', (size_t)(end - s));

	if (s == end || memchr(s, ':', (size_t)(end - s))) /* a segment: thread-local storage */
		return false;
	if (*s == '$')
		return read_constant(at, s + 1, end, ret);
	if (*s == '%')
		return read_register(s, end, ret);
	if (!open)
		return false;
	if (!ret->size)
		ret->size = 8;
	return read_memory(at, open, end, s, ret);
}

static int parse_args(const struct place *at, const char *args, struct location *ret, u32 max)
{
	u32 n = 0;

	for (const char *s = args, *end; n < max; s = end) {
		struct location l = {.index = 0xffff};
		const char *operand;

		while (is_blank(*s))
			s++;
		if (!*s)
			break;
		for (end = s; *end && !is_blank(*end);)
			end++;
		operand = s;
		if (!read_size(&operand, &l) || operand >= end ||
		    !read_operand(at, operand, end, &l))
			l = (struct location){
				.kind = LOCATION_NONE, .size = l.size, .is_signed = l.is_signed};
		ret[n++] = l;
	}
	return (int)n;
}

int usdt_parse_args(const char *args, struct location *ret, u32 max)
{
	return parse_args(&(struct place){0}, args, ret, max);
}

int usdt_note_args(struct elf_file *f, const struct usdt_note *n, struct location *ret, u32 max)
{
	return parse_args(&(struct place){f, n->address}, n->args, ret, max);
}
