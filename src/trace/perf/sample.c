/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of samples (PERF_RECORD_SAMPLE), and those at the end of other records. */
#include "trace/perf/perf_data.h"

#define SKIP_MAX (1u << 16) /* a record has no more bytes */

static void skip(struct cursor *c, u64 count, size_t each)
{
	if (count > SKIP_MAX)
		c->failed = true;
	else
		cursor_bytes(c, (size_t)count * each);
}

static void skip_read(struct cursor *c, u64 format)
{
	const size_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & (1u << 4)); /* LOST */
	const size_t times = (size_t)__builtin_popcountll(
		format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));

	if (format & PERF_FORMAT_GROUP) {
		const u64 count = cursor_u64(c);

		skip(c, times, 8);
		skip(c, count, each * 8);
	} else {
		skip(c, each + times, 8);
	}
}

static void skip_branches(struct cursor *c, u64 type)
{
	const u64 count = cursor_u64(c);

	if (type & (1u << 17)) /* HW_INDEX */
		cursor_u64(c);
	skip(c, count, 24);
	if (type & (1u << 19)) /* COUNTERS */
		skip(c, count, 8);
}

static void skip_registers(struct cursor *c, u64 mask)
{
	if (cursor_u64(c)) /* abi; 0 = none */
		skip(c, (u64)__builtin_popcountll(mask), 8);
}

static void take_registers(struct cursor *c, u64 mask, struct perf_sample *s)
{
	if (cursor_u64(c)) /* abi; 0 = none */
		s->user_registers = cursor_bytes(c, (size_t)__builtin_popcountll(mask) * 8);
}

static void take_stack(struct cursor *c, struct perf_sample *s)
{
	const u64 size = cursor_u64(c);
	u64 filled;

	if (!size)
		return;
	if (size > SKIP_MAX)
		c->failed = true;
	s->user_stack = cursor_bytes(c, (size_t)size);
	filled = cursor_u64(c);
	s->user_stack_size = MIN(filled, size);
}

static void take_raw(struct cursor *c, struct perf_sample *s)
{
	s->raw_size = cursor_u32(c);
	s->raw = cursor_bytes(c, s->raw_size);
	if (!s->raw)
		s->raw_size = 0;
}

static void take_chain(struct cursor *c, struct perf_sample *s)
{
	s->nr_chain = cursor_u64(c);
	if (s->nr_chain > SKIP_MAX)
		c->failed = true;
	else
		s->chain = cursor_bytes(c, (size_t)s->nr_chain * 8);
	if (!s->chain)
		s->nr_chain = 0;
}

/* In the order of the record. */
bool perf_sample_parse(const struct perf_event_attr *attr, struct cursor c, struct perf_sample *ret)
{
	const u64 type = attr->sample_type;
	struct perf_sample s = {.cpu = UINT32_MAX};

	if (type & PERF_SAMPLE_IDENTIFIER)
		s.id = cursor_u64(&c);
	if (type & PERF_SAMPLE_IP)
		s.ip = cursor_u64(&c);
	if (type & PERF_SAMPLE_TID) {
		s.pid = cursor_u32(&c);
		s.tid = cursor_u32(&c);
	}
	if (type & PERF_SAMPLE_TIME)
		s.time = cursor_u64(&c);
	if (type & PERF_SAMPLE_ADDR)
		s.addr = cursor_u64(&c);
	if (type & PERF_SAMPLE_ID)
		s.id = cursor_u64(&c);
	if (type & PERF_SAMPLE_STREAM_ID)
		cursor_u64(&c);
	if (type & PERF_SAMPLE_CPU)
		s.cpu = (u32)cursor_u64(&c);
	s.period = type & PERF_SAMPLE_PERIOD ? cursor_u64(&c) : attr->sample_period;
	if (type & PERF_SAMPLE_READ)
		skip_read(&c, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		take_chain(&c, &s);
	if (type & PERF_SAMPLE_RAW) {
		take_raw(&c, &s);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(&c, attr->branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER)
		take_registers(&c, attr->sample_regs_user, &s);
	if (type & PERF_SAMPLE_STACK_USER)
		take_stack(&c, &s);
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		s.weight = cursor_u64(&c);
	if (type & PERF_SAMPLE_DATA_SRC)
		s.data_src = cursor_u64(&c);
	if (type & PERF_SAMPLE_TRANSACTION)
		s.transaction = cursor_u64(&c);
	if (type & PERF_SAMPLE_REGS_INTR)
		skip_registers(&c, attr->sample_regs_intr);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		s.phys_addr = cursor_u64(&c);
	if (type & PERF_SAMPLE_CGROUP)
		s.cgroup = cursor_u64(&c);
	if (c.failed)
		return false;
	*ret = s;
	return true;
}

bool perf_sample_id_parse(u64 type, struct cursor *c, struct perf_sample *ret)
{
	const u64 fields =
		type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	const size_t size = (size_t)__builtin_popcountll(fields) * 8;
	struct cursor end = *c;

	*ret = (struct perf_sample){0};
	if (size > c->len - c->pos)
		return false;
	end.pos = c->len - size;
	if (fields & PERF_SAMPLE_TID) {
		ret->pid = cursor_u32(&end);
		ret->tid = cursor_u32(&end);
	}
	if (fields & PERF_SAMPLE_TIME)
		ret->time = cursor_u64(&end);
	if (fields & PERF_SAMPLE_ID)
		ret->id = cursor_u64(&end);
	if (fields & PERF_SAMPLE_STREAM_ID)
		cursor_u64(&end);
	if (fields & PERF_SAMPLE_CPU)
		ret->cpu = (u32)cursor_u64(&end);
	if (fields & PERF_SAMPLE_IDENTIFIER)
		ret->id = cursor_u64(&end);
	c->len -= size;
	return true;
}

int perf_sample_id_at(u64 type)
{
	static const u64 before[] = {PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
				     PERF_SAMPLE_ADDR};
	int at = 0;

	if (type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		at += type & before[i] ? 8 : 0;
	return at;
}
