/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/perf/side_records.h"

#include <stdio.h>
#include <sys/mman.h>

#define PATH_ROOM 4096
#define NAME_ROOM 64

void perf_side_record(const struct perf_side *s, u32 type, u16 misc, struct strbuf *body, u32 pid,
		      u32 tid)
{
	const u64 tail[] = {pid | (u64)tid << 32, s->time, 0, s->event};

	strbuf_addchars(body, 0, (int)(ALIGN_UP(body->len, (size_t)8) - body->len));
	strbuf_add(body, tail, sizeof(tail));
	perf_writer_record(s->writer, type, misc, body->data, body->len);
	strbuf_release(body);
}

static void add_text(struct strbuf *to, const char *text, size_t size)
{
	strbuf_add(to, text, size);
	strbuf_addch(to, 0);
}

void perf_side_comm(const struct perf_side *s, u32 pid, u32 tid, const char *name, size_t size)
{
	const u32 ids[] = {pid, tid};
	struct strbuf body = STRBUF_INIT;

	strbuf_add(&body, ids, sizeof(ids));
	add_text(&body, name, MIN(size, (size_t)NAME_ROOM));
	perf_side_record(s, PERF_RECORD_COMM, 0, &body, pid, tid);
}

void perf_side_mapping(const struct perf_side *s, u16 misc, const struct perf_side_mapping *m)
{
	const bool has_id = m->id && m->id->size;
	const u32 tid = m->pid == PERF_KERNEL_PID ? 0 : m->pid;
	const u32 task[] = {m->pid, tid}, device[] = {m->major, m->minor};
	const u32 access[] = {PROT_READ | (misc & PERF_RECORD_MISC_MMAP_DATA ? 0 : PROT_EXEC),
			      MAP_PRIVATE};
	const u64 place[] = {m->start, m->length, m->offset}, no_generation = 0;
	struct strbuf body = STRBUF_INIT;
	u8 id[24] = {0};

	strbuf_add(&body, task, sizeof(task));
	strbuf_add(&body, place, sizeof(place));
	if (has_id) { /* u8 size, three bytes, id */
		id[0] = m->id->size;
		memcpy(id + 4, m->id->bytes, m->id->size);
		strbuf_add(&body, id, sizeof(id));
	} else {
		strbuf_add(&body, device, sizeof(device));
		strbuf_add(&body, &m->inode, sizeof(m->inode));
		strbuf_add(&body, &no_generation, sizeof(no_generation));
	}
	strbuf_add(&body, access, sizeof(access));
	add_text(&body, m->path, MIN(strlen(m->path), (size_t)PATH_ROOM));
	perf_side_record(s, PERF_RECORD_MMAP2, misc | (has_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0),
			 &body, m->pid, m->pid);
}

/* u64 start, u32 length, u16 type, u16 flags, name */
void perf_side_symbol(const struct perf_side *s, u64 start, u32 length, const char *name)
{
	const u32 words[] = {length, PERF_RECORD_KSYMBOL_TYPE_BPF};
	struct strbuf body = STRBUF_INIT;

	strbuf_add(&body, &start, sizeof(start));
	strbuf_add(&body, words, sizeof(words));
	add_text(&body, name, MIN(strlen(name), (size_t)PATH_ROOM));
	perf_side_record(s, PERF_RECORD_KSYMBOL, 0, &body, 0, 0);
}

struct perf_build_id perf_build_id_of_text(const char *hex)
{
	struct perf_build_id id = {0};
	unsigned int byte;

	while (hex && hex[0] && hex[1] && id.size < sizeof(id.bytes) &&
	       sscanf(hex, "%2x", &byte) == 1) {
		id.bytes[id.size++] = (u8)byte;
		hex += 2;
	}
	return id;
}
