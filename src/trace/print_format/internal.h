/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of print_format: the expression tree of an argument and the operations of a compiled
 * format.
 *
 * A value is a number (with the size and sign that it has in C), text (literals, __print_flags()
 * ...), or bytes: a place in the record with what is left of it from there (arrays, strings,
 * addresses).
 */
#ifndef PANTRACE_TRACE_PRINT_FORMAT_INTERNAL_H
#define PANTRACE_TRACE_PRINT_FORMAT_INTERNAL_H

#include <ctype.h>

#include "trace/ftrace/number_text.h"
#include "trace/print_format/print_format.h"

/* Columns: more is not believed. */
#define PF_WIDTH_MAX 200

enum pf_value { PF_NUMBER, PF_TEXT, PF_BYTES };

struct pf_type {
	u8 value; /* enum pf_value */
	u8 size; /* PF_NUMBER: 1, 2, 4, 8 */
	bool is_signed;
	bool is_pointer; /* a number that is an address; element_size of what it points to */
	u8 element_size; /* PF_BYTES: of an element; 0 = unknown */
	bool element_signed;
	bool unknown; /* depends on a variable of the kernel */
	const struct type *element; /* struct pointed to or in place; NULL = none */
};

static inline struct pf_type pf_integer(u8 size, bool is_signed)
{
	return (struct pf_type){.value = PF_NUMBER, .size = size, .is_signed = is_signed};
}

enum pf_kind {
	PF_CONST,
	PF_LOAD, /* number at offset */
	PF_PLACE, /* the bytes [offset, offset + bytes) of the record */
	PF_DYNAMIC, /* __data_loc at offset -> bytes */
	PF_RELATIVE, /* __rel_loc at offset -> bytes */
	PF_LENGTH, /* length of a __data_loc or __rel_loc */
	PF_LITERAL, /* text */
	PF_VARIABLE, /* of the kernel, value unknown */
	PF_UNARY, /* op: - ~ ! */
	PF_BINARY, /* op */
	PF_COND, /* a ? b : c; b NULL: a ?: c */
	PF_CAST, /* number a -> type */
	PF_ADVANCE, /* bytes a + number b elements */
	PF_ELEMENT, /* number at bytes a, index b */
	PF_FLAGS, /* a: value, text: delimiter, names */
	PF_SYMBOLIC, /* a: value, names; text: of others, NULL = as number */
	PF_HEX, /* a: bytes, b: length; op: 1 = without blanks */
	PF_ARRAY, /* a: bytes, b: count, c: element size */
	PF_BITMASK, /* a: bytes */
	/* args: prefix text, prefix type, row size, group size, bytes, length, ascii */
	PF_HEX_DUMP,
	PF_STRING, /* bytes a as a string (char *): ends at NUL */
	PF_MSECS, /* jiffies_to_msecs(a) */
	PF_SWAP, /* bytes swapped */
	PF_DRIVER, /* op: a function of trace/print_format/driver.c; args */
	PF_SEQUENCE, /* text that the format prints itself; args: its parts, each with a format */
	PF_STRINGS, /* an array of strings: names */
	PF_PACKED, /* a struct or union of bits: type.element; a: its number, NULL = not yet */
};

struct pf_name {
	u64 value;
	const char *text; /* escapes resolved; NULL = end */
	u32 len;
};

struct pf_node {
	u8 kind, op;
	struct pf_type type;
	u32 offset, bytes;
	u64 number;
	const char *text;
	u32 text_len;
	struct pf_node *a, *b, *c;
	struct pf_node **args;
	const struct pf_name *names;
	u32 count;
	const struct print_format *format; /* part of a PF_SEQUENCE */
	u32 steps; /* to evaluate it; 0 = not yet counted */
};

/* Operators of two characters. */
enum pf_operator { PF_SHL = 128, PF_SHR, PF_LE, PF_GE, PF_EQ, PF_NE, PF_AND, PF_OR };

/* One conversion of the format string. */
struct pf_spec {
	s16 width, precision; /* -1 = none */
	bool left, plus, space, alternate, zero;
	u8 base; /* 8, 10, 16 */
	bool upper;
	char conversion; /* d (signed), u (unsigned of any base), c, s, p */
	u8 size; /* bytes of the argument */
	char pointer[8]; /* behind %p: "S", "I6c" */
};

enum pf_code {
	OP_TEXT,
	OP_U8,
	OP_U16,
	OP_U32,
	OP_U64, /* field as decimal */
	OP_S8,
	OP_S16,
	OP_S32,
	OP_S64,
	OP_X8,
	OP_X16,
	OP_X32,
	OP_X64, /* as hex */
	OP_ZX, /* u64 as hex with at least `width` digits */
	OP_CHARS, /* char array in place */
	OP_DYNAMIC_STRING,
	/* with its quotes; a string of length 0, without even a NUL, could not be read */
	OP_PROBE_STRING,
	OP_SYMBOL, /* u64 address */
	OP_PROBE_ADDRESS, /* of a probe: symbol with offset, or 0x... of a user address */
	OP_UNKNOWN, /* depends on a variable of the kernel */
	OP_NODE,
	OP_FIELD_ARRAY, /* field=value: {1,2} of node */
};

struct pf_op {
	u8 code, width, style;
	u32 offset, len;
	const char *text;
	struct pf_spec spec;
	const struct pf_node *node, *node_width, *node_precision;
};

struct print_format {
	struct pf_op *ops;
	u32 count;
	u32 fixed_end; /* bytes that every record must have: loads at fixed offsets need no check */
};

/* A record while it is printed. */
struct pf_run {
	const struct print_context *context;
	const u8 *record;
	size_t size;
};

struct pf_bytes {
	const u8 *at; /* NULL: points outside of the record */
	size_t len;
};

/* ---- trace/print_format/parse.c: C expressions ---- */

struct pf_parser {
	struct type_store *store;
	struct arena *arena;
	const struct type *record;
	const char *at; /* in the text */
	const char *refused; /* the first reason; NULL = fine */
	struct pf_local {
		struct pf_local *next;
		const char *name;
		size_t len;
		struct pf_node *value;
	} * locals;
	struct pf_node *sequence; /* where trace_seq_printf() prints to; NULL = nowhere yet */
	u32 depth, nodes;
	u32 fixed_end;
	bool is_syscall; /* sys_enter_x, sys_exit_x */
};

/* ---- trace/print_format/token.c ---- */

static inline bool pf_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static inline bool pf_word_is(const char *w, size_t len, const char *name)
{
	return strlen(name) == len && !memcmp(w, name, len);
}

void pf_skip_blanks(struct pf_parser *p);
struct pf_node *pf_number(struct pf_parser *p); /* at a digit */
struct pf_node *pf_character(struct pf_parser *p); /* at a single quote */
/* ---- trace/print_format/type.c ---- */
/* Reads a type name ("const struct foo *"). False, with nothing read, if there is none. */
bool pf_parse_type(struct pf_parser *p, struct pf_type *ret);
/* ---- trace/print_format/field.c ---- */
/* "->name" behind REC was read up to the name. */
struct pf_node *pf_record_field(struct pf_parser *p);
/* ".name" or "->name" of a struct in the record, up to the name. */
struct pf_node *pf_struct_member(struct pf_parser *p, struct pf_node *base);

/* Reads "..." "..." at p->at; NULL if there is none. Escapes are resolved. */
char *pf_parse_string(struct pf_parser *p, u32 *ret_len);
/* One argument: up to a comma or the end. NULL with p->refused. */
struct pf_node *pf_parse_argument(struct pf_parser *p);
void pf_refuse(struct pf_parser *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct pf_node *pf_new(struct pf_parser *p, u8 kind, struct pf_type type);
/* A field of the record as the value of REC->name. */
struct pf_node *pf_field_node(struct pf_parser *p, const struct type_member *m);
bool pf_accept(struct pf_parser *p, const char *token);
bool pf_expect(struct pf_parser *p, const char *token);
/* The next word; 0 if there is none. */
size_t pf_word(struct pf_parser *p, const char **ret);
struct pf_node *pf_parse_expression(struct pf_parser *p);
/* NULL: no such variable. */
struct pf_node *pf_local_value(struct pf_parser *p, const char *w, size_t len);
/* The value of an expression without fields. */
bool pf_constant(struct pf_parser *p, const struct pf_node *n, u64 *ret);
const struct type_member *pf_member(struct pf_parser *p, const char *name, size_t len);

/* ---- trace/print_format/call.c: NAME(...) ---- */
/* The word was a function's name and '(' was read. NULL with p->refused. */
struct pf_node *pf_parse_call(struct pf_parser *p, const char *name, size_t len);

/* ---- trace/print_format/eval.c ---- */
u64 pf_eval(const struct pf_run *r, const struct pf_node *n);
struct pf_bytes pf_eval_bytes(const struct pf_run *r, const struct pf_node *n);
/* A number as the kernel's vsnprintf prints it. */
void pf_print_number(struct strbuf *out, u64 v, const struct pf_spec *spec, int width,
		     int precision);
/* Text or bytes as %s. precision -1 = all. */
void pf_print_string(const struct pf_run *r, const struct pf_node *n, int precision,
		     struct strbuf *out);
/* Escaped unless raw. */
void pf_print_chars(const struct pf_run *r, const u8 *s, size_t n, struct strbuf *out);

/* ---- trace/print_format/text.c: __print_x() ---- */
void pf_print_text(const struct pf_run *r, const struct pf_node *n, struct strbuf *out);

/* ---- trace/print_format/driver.c: functions of drivers ---- */
/* Its number, or -1. */
int pf_driver_find(const char *name, size_t len);
/* args: all of the call. NULL with p->refused. */
struct pf_node *pf_driver_call(struct pf_parser *p, int function, struct pf_node **args, u32 count);
void pf_print_driver(const struct pf_run *r, const struct pf_node *n, struct strbuf *out);

/* ---- trace/print_format/names.c: functions that give a number's name ---- */
/* Its number, or -1. */
int pf_names_find(const char *name, size_t len);
struct pf_node *pf_names_call(struct pf_parser *p, int function, struct pf_node **args, u32 count);

/* ---- print_format.c ---- */
/* "FORMAT", ARGUMENTS. *ret_ends: it has a NUL, which ends the text. NULL with p->refused. */
const struct print_format *pf_parse_format(struct pf_parser *p, bool *ret_ends);

/* ---- trace/print_format/sequence.c: formats that print themselves ---- */
bool pf_is_sequence_call(const char *name, size_t len);
/* '(' was read. */
struct pf_node *pf_sequence_call(struct pf_parser *p, const char *name, size_t len);
/*
 * Behind "TYPE NAME": an array of strings, or a union that is assigned to later. NULL, with nothing
 * read: neither, or refused.
 */
struct pf_node *pf_declaration(struct pf_parser *p, const struct pf_type *t);
/* "UNION.MEMBER = VALUE"; false, with nothing read, if it is none. */
bool pf_assignment(struct pf_parser *p);
struct pf_node *pf_packed_member(struct pf_parser *p, struct pf_node *base,
				 const struct type_member *m, u32 offset);
void pf_print_sequence(const struct pf_run *r, const struct pf_node *n, struct strbuf *out);

/* ---- trace/print_format/pointer.c: %pX ---- */
/* NULL if the kernel's extension is known for this kind of value, else why not. */
const char *pf_pointer_check(const struct pf_spec *spec, const struct pf_node *n);
void pf_print_pointer(const struct pf_run *r, const struct pf_spec *spec, const struct pf_node *n,
		      int width, struct strbuf *out);

#endif
