/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages in protobuf's encoding (protobuf.dev/programming-guides/encoding), appended to a strbuf:
 * a field is its number and type as a varint, then its value. A nested message is built in place:
 * room for its length is reserved, and filled in at its end.
 */
#ifndef PANTRACE_TRACE_WRITERS_PROTOBUF_H
#define PANTRACE_TRACE_WRITERS_PROTOBUF_H

#include "base/strbuf.h"

/* Also for signed values: negative ones take ten bytes. */
void protobuf_u64(struct strbuf *out, u32 field, u64 v);
void protobuf_fixed64(struct strbuf *out, u32 field, u64 v);
void protobuf_double(struct strbuf *out, u32 field, double v);
/* For people: control characters and invalid UTF-8 become \xNN. */
void protobuf_string(struct strbuf *out, u32 field, const char *s, size_t n);
void protobuf_bytes(struct strbuf *out, u32 field, const void *p, size_t n);
void protobuf_packed(struct strbuf *out, u32 field, const u64 *values, size_t n);

/* A nested message, up to 256 MiB. protobuf_end() takes what protobuf_begin() returned. */
size_t protobuf_begin(struct strbuf *out, u32 field);
void protobuf_end(struct strbuf *out, size_t begin);

#endif
