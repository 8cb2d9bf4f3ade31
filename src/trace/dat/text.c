/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace.dat with text in place of pages. */
#include "base/recording_file.h"
#include "trace/dat/head.h"
#include "trace/dat/internal.h"

/* ---- read ---- */

const char *trace_dat_latency(const struct trace_dat *t)
{
	return t->latency;
}

/* Compressed it is in chunks, as pages are: u32 count, {u32 packed, u32 size, data}* */
static int unpack(struct trace_dat *t, struct cursor *c, struct strbuf *ret)
{
	for (u32 chunks = cursor_u32(c); chunks && !c->failed; chunks--) {
		const u32 from = cursor_u32(c), size = cursor_u32(c);
		const void *const packed = cursor_bytes(c, from);

		if (!packed || size > TRACE_DAT_UNPACKED_MAX - ret->len ||
		    !trace_dat_unpack(t, packed, from, (u8 *)strbuf_reserve(ret, size), size))
			c->failed = true;
		else
			ret->len += size;
	}
	return c->failed ? trace_dat_damaged(t, "the text of a latency trace") : 0;
}

int trace_dat_read_latency(struct trace_dat *t, u64 offset)
{
	struct strbuf text = STRBUF_INIT;
	u8 head[16], *data;
	struct cursor c = cursor_of(head, sizeof(head));
	bool is_packed;
	u64 size;
	int err = 0;

	if (offset > t->len || t->len - offset < sizeof(head))
		return trace_dat_damaged(t, "a section is beyond its end");
	if (!trace_dat_read_into(t, offset, head, sizeof(head)))
		return -EINVAL;
	if (cursor_u16(&c) != OPTION_BUFFER_TEXT)
		return trace_dat_damaged(t, "a section is not where it should be");
	is_packed = cursor_u16(&c) & 1;
	cursor_u32(&c);
	size = cursor_u64(&c);
	if (size > t->len - offset - sizeof(head) || size > TRACE_DAT_UNPACKED_MAX)
		return trace_dat_damaged(t, "a section goes beyond its end");
	data = trace_dat_read(t, offset + sizeof(head), size);
	if (!data)
		return -EINVAL;
	c = cursor_of(data, size);
	if (is_packed)
		err = unpack(t, &c, &text);
	else
		strbuf_add(&text, data, size);
	if (!err)
		t->latency = arena_strndup(&t->arena, text.data, text.len);
	free(data);
	strbuf_release(&text);
	return err;
}

/* ---- written ---- */

static int open_file(const char *path, const struct dat_writer_options *o,
		     struct recording_file *ret)
{
	return o->carrier ? recording_file_open_carried(ret, o->carrier, path)
			  : recording_file_open(ret, o->directory ?: -1, path, 0600);
}

int dat_text_write(const char *path, const struct dat_writer_options *o,
		   const struct dat_contents *c, const struct strbuf *text, struct diag *d,
		   u64 *ret_size)
{
	struct dat_writer_options as_text = *o;
	struct recording_file f = RECORDING_FILE_NONE;
	struct dat_head h;
	const u64 size = text->len;
	int err;

	as_text.is_text = true;
	h = dat_head_make(&as_text, c);
	if (o->version == 7)
		memcpy(h.out.data + h.buffer + DAT_SECTION_HEAD - sizeof(size), &size,
		       sizeof(size));
	err = open_file(path, o, &f);
	if (!err) {
		err = recording_file_write(&f, h.out.data, h.out.len, 0);
		if (!err)
			err = recording_file_write(&f, text->data, text->len, h.out.len);
		if (err)
			recording_file_undo(&f);
	}
	*ret_size = h.out.len + text->len;
	if (err)
		diag_error(d, NO_SPAN, "cannot write '%s': %s", path, recording_file_why(err));
	recording_file_close(&f);
	dat_head_release(&h);
	return err;
}
