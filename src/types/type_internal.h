/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types that need no store; the table of names (type_name.c) points to them. */
#ifndef PANTRACE_TYPES_TYPE_INTERNAL_H
#define PANTRACE_TYPES_TYPE_INTERNAL_H

#include "types/type.h"

extern const struct type type_simple_table[TYPE_KIND_COUNT];
extern const struct type type_integers[10]; /* by log2(size) * 2 + is_signed */
extern const struct type type_char_plain;

#endif
