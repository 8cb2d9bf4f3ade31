/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C definitions at the head of a script: struct, union, enum and typedef, into the type store.
 * Layouts follow the System V ABI (x86-64 psABI 3.1.2, the same rules on aarch64): members at
 * multiples of their alignment, bit-fields packed into units of their declared type that they may
 * not cross.
 */
#ifndef PANTRACE_LANG_SYNTAX_CDECL_H
#define PANTRACE_LANG_SYNTAX_CDECL_H

#include "lang/syntax/internal.h"

#define CDECL_MAX_SIZE (1u << 30) /* bytes of a type */

/* The attributes that change a layout. */
struct c_attributes {
	bool is_packed;
	u32 align; /* 0 = none */
	u32 mode; /* bytes of an integer that `mode` asks for; 0 = none */
};

struct c_member {
	struct type_member m;
	u32 bits; /* width; UINT32_MAX = not a bit-field */
	struct c_attributes attributes;
	struct span span;
};

/* Lays members out and completes t. 0 or -EINVAL after a diagnostic. (cdecl_layout.c) */
int cdecl_layout(struct parser *p, struct type *t, const struct c_member *members, u32 count,
		 const struct c_attributes *attributes);

#endif
