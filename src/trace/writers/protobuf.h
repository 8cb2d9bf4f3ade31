/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages in protobuf's encoding (protobuf.dev/programming-guides/encoding), appended to a strbuf:
 * a field is its number and type as a varint, then its value. A message within a message is made
 * in place: the room for its length is there before it is known.
 */
#ifndef PANTRACE_TRACE_WRITERS_PROTOBUF_H
#define PANTRACE_TRACE_WRITERS_PROTOBUF_H

#include "base/strbuf.h"

void protobuf_varint(struct strbuf *out, u64 v);
/* Also of a signed one: negative numbers have ten bytes. */
void protobuf_u64(struct strbuf *out, u32 field, u64 v);
void protobuf_fixed64(struct strbuf *out, u32 field, u64 v);
void protobuf_double(struct strbuf *out, u32 field, double v);
/* Strings are UTF-8, and people see them: controls, and what is none, become \xNN. */
void protobuf_string(struct strbuf *out, u32 field, const char *s, size_t n);
void protobuf_bytes(struct strbuf *out, u32 field, const void *p, size_t n);
void protobuf_packed(struct strbuf *out, u32 field, const u64 *values, size_t n);

/* A message: returns where it begins, for its end. Up to 256 MiB. */
size_t protobuf_begin(struct strbuf *out, u32 field);
void protobuf_end(struct strbuf *out, size_t begin);

#endif
