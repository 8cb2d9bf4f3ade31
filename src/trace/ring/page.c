/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ring/page.h"

#include <stdio.h>

/* Bits of commit (kernel/trace/ring_buffer.c, RB_MISSED_*). */
#define COMMIT_MASK   0x7ffffffu
#define MISSED_EVENTS (1u << 31)
#define MISSED_STORED (1u << 30)
/* A sub-buffer is at most 2^8 pages of 64 KiB. */
#define MAX_PAGE (1u << 24)

/* "	field: local_t commit;	offset:8;	size:8;	signed:1;" */
static bool find_field(const char *text, const char *name, u32 *ret_offset, u32 *ret_size)
{
	const size_t len = strlen(name);

	for (const char *at = text; (at = strstr(at, name)); at += len)
		if (at > text && (at[-1] == ' ' || at[-1] == '*') && at[len] == ';' &&
		    sscanf(at + len, "; offset:%u; size:%u;", ret_offset, ret_size) == 2)
			return true;
	return false;
}

/* "	padding     : type == 29", "	data max type_len  == 28" */
static void find_type(const char *text, const char *name, u8 *ret)
{
	const char *at = strstr(text, name);
	unsigned int v;

	if (!at)
		return;
	at = strstr(at, "== ");
	if (at && sscanf(at, "== %u", &v) == 1 && v < 32)
		*ret = (u8)v;
}

int page_layout_parse(const char *header_page, const char *header_event, struct page_layout *ret)
{
	struct page_layout l = PAGE_LAYOUT_INIT;
	u32 data_size, offset, size;

	if (!find_field(header_page, "timestamp", &offset, &size) || offset || size != 8 ||
	    !find_field(header_page, "commit", &l.commit_offset, &l.commit_size) ||
	    !find_field(header_page, "data", &l.data_offset, &data_size))
		return -EINVAL;
	if (l.commit_offset < 8 || l.commit_offset > 64 ||
	    (l.commit_size != 4 && l.commit_size != 8) ||
	    l.data_offset < l.commit_offset + l.commit_size || l.data_offset > 128 ||
	    data_size < 64 || data_size > MAX_PAGE)
		return -EINVAL;
	l.size = l.data_offset + data_size;
	if (header_event) {
		find_type(header_event, "padding", &l.padding);
		find_type(header_event, "time_extend", &l.time_extend);
		find_type(header_event, "time_stamp", &l.time_stamp);
		find_type(header_event, "data max type_len", &l.max_type_len);
	}
	*ret = l;
	return 0;
}

static inline u32 load32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

int page_begin(struct page *p, const struct page_layout *l, const void *data, size_t len)
{
	const u8 *bytes = data;
	u32 commit, used;

	if (len < l->data_offset)
		return -EINVAL;
	commit = load32(bytes + l->commit_offset);
	used = commit & COMMIT_MASK;
	if (used > len - l->data_offset)
		return -EINVAL;
	*p = (struct page){
		.at = bytes + l->data_offset,
		.end = bytes + l->data_offset + used,
		.time = page_time(data),
		.padding = l->padding,
		.time_extend = l->time_extend,
		.time_stamp = l->time_stamp,
		.max_type_len = l->max_type_len,
	};
	if (!(commit & MISSED_EVENTS))
		return 0;
	p->lost = PAGE_LOST_UNKNOWN;
	if (commit & MISSED_STORED && len - l->data_offset - used >= l->commit_size) {
		p->lost = 0;
		memcpy(&p->lost, p->end, l->commit_size);
	}
	return 0;
}

/* Not a record: time or padding. Returns false if nothing more can be read. */
static bool skip(struct page *p, u32 type, u64 delta, size_t left)
{
	u32 length;
	u64 time;

	if (type == p->padding && !delta)
		return false;
	if (left < 8) {
		p->damaged = true;
		return false;
	}
	length = load32(p->at + 4);
	if (type == p->padding) {
		/* Its delta does not count, as for the kernel's own reader. */
		if (length > left - 4 || length < 4) {
			p->damaged = true;
			return false;
		}
		p->at += 4 + ALIGN_UP(MIN(length, (u32)left - 4), 4u);
		if (p->at > p->end)
			p->at = p->end;
		return true;
	}
	time = (u64)length << 27 | delta;
	if (type == p->time_extend) {
		p->time += time;
	} else {
		const u64 upper = p->time & ~((1ULL << 59) - 1);

		time |= upper;
		/* Bits 0-58 have wrapped since (rb_fix_abs_ts()). */
		if (upper && time < p->time)
			time += 1ULL << 59;
		p->time = time;
	}
	p->at += 8;
	return true;
}

bool page_next(struct page *p, struct page_event *ret)
{
	for (;;) {
		const size_t left = (size_t)(p->end - p->at);
		u32 head, type, size, begin;

		if (left < 4)
			return false;
		head = load32(p->at);
		type = head & 31;
		if (type > p->max_type_len) {
			if (!skip(p, type, head >> 5, left)) {
				p->at = p->end;
				return false;
			}
			continue;
		}
		begin = 4;
		size = type * 4;
		if (!type) {
			size = left >= 8 ? load32(p->at + 4) : 0;
			if (size < 4 || size > left - 4) {
				p->damaged = true;
				p->at = p->end;
				return false;
			}
			size -= 4;
			begin = 8;
		}
		if (size > left - begin) {
			p->damaged = true;
			p->at = p->end;
			return false;
		}
		p->time += head >> 5;
		ret->time = p->time;
		ret->data = p->at + begin;
		ret->size = size;
		size = ALIGN_UP(size, 4u);
		p->at = size > left - begin ? p->end : p->at + begin + size;
		return true;
	}
}
