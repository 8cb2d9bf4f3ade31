/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/writers/thrift.h"

static void zigzag(struct strbuf *out, s64 v)
{
	strbuf_add_leb128(out, (u64)v << 1 ^ (u64)(v >> 63));
}

/* One byte: fields are at most 15 apart. */
static void head(struct thrift *t, u32 field, enum thrift_type type)
{
	u32 *const last = &t->last[t->depth];
	const u32 step = field - *last;

	strbuf_addch(t->out, (char)(step << 4 | type));
	*last = field;
}

void thrift_i8(struct thrift *t, u32 field, u8 v)
{
	head(t, field, THRIFT_I8);
	strbuf_addch(t->out, (char)v);
}

void thrift_bool(struct thrift *t, u32 field, bool v)
{
	head(t, field, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_i32(struct thrift *t, u32 field, s32 v)
{
	head(t, field, THRIFT_I32);
	zigzag(t->out, v);
}

void thrift_i64(struct thrift *t, u32 field, s64 v)
{
	head(t, field, THRIFT_I64);
	zigzag(t->out, v);
}

void thrift_text(struct thrift *t, u32 field, const void *p, size_t n)
{
	head(t, field, THRIFT_BINARY);
	strbuf_add_leb128(t->out, n);
	strbuf_add(t->out, p, n);
}

void thrift_list(struct thrift *t, u32 field, enum thrift_type of, size_t count)
{
	head(t, field, THRIFT_LIST);
	strbuf_addch(t->out, (char)(MIN(count, (size_t)15) << 4 | of));
	if (count >= 15)
		strbuf_add_leb128(t->out, count);
}

void thrift_element(struct thrift *t)
{
	t->last[++t->depth] = 0;
}

void thrift_element_i32(struct thrift *t, s32 v)
{
	zigzag(t->out, v);
}

void thrift_element_text(struct thrift *t, const char *s)
{
	strbuf_add_leb128(t->out, strlen(s));
	strbuf_addstr(t->out, s);
}

void thrift_struct(struct thrift *t, u32 field)
{
	head(t, field, THRIFT_STRUCT);
	thrift_element(t);
}

void thrift_end(struct thrift *t)
{
	strbuf_addch(t->out, 0);
	if (t->depth)
		t->depth--;
}
