/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of Thrift's compact protocol (thrift-compact-protocol.md of Apache Thrift) that Parquet
 * needs. Fields must be written in the order of their numbers.
 */
#ifndef PANTRACE_TRACE_WRITERS_THRIFT_H
#define PANTRACE_TRACE_WRITERS_THRIFT_H

#include "base/strbuf.h"

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_I8 = 3,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

struct thrift {
	struct strbuf *out;
	u32 last[8]; /* number of the last field, for each open struct */
	u32 depth;
};

void thrift_i8(struct thrift *t, u32 field, u8 v);
void thrift_bool(struct thrift *t, u32 field, bool v);
void thrift_i32(struct thrift *t, u32 field, s32 v);
void thrift_i64(struct thrift *t, u32 field, s64 v);
void thrift_text(struct thrift *t, u32 field, const void *p, size_t n);
/* Elements follow: structs between thrift_element() and thrift_end(), others by themselves. */
void thrift_list(struct thrift *t, u32 field, enum thrift_type of, size_t count);
void thrift_element(struct thrift *t);
void thrift_element_i32(struct thrift *t, s32 v);
void thrift_element_text(struct thrift *t, const char *s);
void thrift_struct(struct thrift *t, u32 field);
/* Ends a struct, also the outermost. */
void thrift_end(struct thrift *t);

#endif
