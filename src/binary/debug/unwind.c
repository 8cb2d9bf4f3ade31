/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/debug/unwind.h"

#include "binary/debug/call_frame.h"
#include "binary/debug/evaluate.h"
#include "binary/debug/internal.h"
#include "binary/elf/internal.h"
#include "binary/process/maps.h"
#include "binary/process/vdso.h"

int unwind_add_file(struct unwind_rows *rows, struct elf_file *f, u64 start, u64 end, u64 bias)
{
	struct call_frames r = {.rows = rows, .start = start, .end = end, .bias = bias};
	const int err = call_frames_open(&r, f, ".eh_frame");

	return err ? err : call_frames_read(&r);
}

/* ---- one address ---- */

enum { SECTIONS = 3 };

struct debug_frames {
	struct call_frames sections[SECTIONS];
};

static struct debug_frames *frames_of(struct elf_file *f)
{
	struct debug_frames **const slot = &debug_of(f)->frames;
	struct debug_frames *q = *slot;
	struct elf_file *const separate = elf_debug_file(f);

	if (q)
		return q;
	*slot = q = xzalloc(sizeof(*q));
	call_frames_open(&q->sections[0], f, ".eh_frame");
	call_frames_open(&q->sections[1], f, ".debug_frame");
	if (separate)
		call_frames_open(&q->sections[2], separate, ".debug_frame");
	for (u32 i = 0; i < SECTIONS; i++)
		call_frames_sort(&q->sections[i]);
	return q;
}

void debug_frames_release(struct debug_frames *q)
{
	for (u32 i = 0; q && i < SECTIONS; i++)
		call_frames_release(&q->sections[i]);
	free(q);
}

/* The row that holds at an address. saved: as struct call_frames has it. */
static struct unwind_row row_at(struct elf_file *f, u64 address, struct unwind_saved *saved)
{
	struct debug_frames *const q = frames_of(f);
	struct unwind_rows rows = {0};
	struct unwind_row row = {0};

	for (u32 i = 0; i < SECTIONS && !rows.list.len; i++) {
		q->sections[i].rows = &rows;
		q->sections[i].saved = saved;
		call_frames_read_at(&q->sections[i], address);
	}
	/* In the order of addresses; what lies behind the entry is no row of it. */
	for (size_t i = 0; i < rows.list.len; i++)
		if (rows.list.items[i].address <= address)
			row = rows.list.items[i];
	unwind_release(&rows);
	return row;
}

static bool has_cfa(const struct unwind_row *row)
{
	return row->kind == UNWIND_SP || row->kind == UNWIND_BP || row->kind == UNWIND_BP_DEREF;
}

int unwind_cfa_at(struct elf_file *f, u64 address, struct unwind_row *ret)
{
	const struct unwind_row row = row_at(f, address, NULL);

	if (!has_cfa(&row))
		return -ENODATA;
	*ret = row;
	return 0;
}

/* bx, bp, r12 to r15 */
static bool is_preserved(u32 reg)
{
	return reg == 3 || reg == 6 || (reg >= 12 && reg <= 15);
}

bool unwind_is_preserved(u16 offset)
{
	for (u32 i = 0; i < UNWIND_REGISTERS - 1; i++)
		if (is_preserved(i) && dwarf_register(i)->offset == offset)
			return true;
	return false;
}

int unwind_saved_at(struct elf_file *f, u64 address, struct unwind_saved *ret)
{
	const struct unwind_row row = row_at(f, address, ret);

	if (!has_cfa(&row))
		return -ENODATA;
	for (u32 i = 0; i < UNWIND_REGISTERS; i++)
		if (ret[i].how == SAVED_IN_PLACE && !is_preserved(i))
			ret[i].how = SAVED_NOWHERE;
	return 0;
}

/* ---- processes ---- */

static struct elf_file *open_mapping(pid_t pid, const struct process_mapping *m)
{
	struct elf_file *f = NULL;
	char *path;

	if (m->kind == MAPPING_VDSO) /* the same pages as ours */
		return vdso_open(&f) ? NULL : f;
	path = xasprintf("/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, m->start, m->end);
	if (elf_file_open(path, &f)) {
		free(path);
		path = xasprintf("/proc/%d/root%s", pid, m->path);
		if (elf_file_open(path, &f))
			f = NULL;
	}
	free(path);
	return f;
}

struct read_process {
	struct unwind_rows *rows;
	pid_t pid;
};

static int add_mapping(void *arg, const struct process_mapping *m)
{
	struct read_process *q = arg;
	struct elf_file *f;
	u64 bias, start;

	if (m->kind != MAPPING_FILE && m->kind != MAPPING_VDSO && m->kind != MAPPING_DELETED)
		return 0;
	f = open_mapping(q->pid, m);
	if (f && !elf_file_load_bias(f, m->start, m->kind == MAPPING_VDSO ? 0 : m->offset, &bias)) {
		start = m->start - bias;
		unwind_add_file(q->rows, f, start, start + (m->end - m->start), bias);
		vector_push(&q->rows->list, (struct unwind_row){.address = m->end});
	}
	elf_file_close(f);
	return 0;
}

int unwind_read_process(struct unwind_rows *rows, pid_t pid)
{
	struct read_process q = {rows, pid};
	int err = process_each_mapping(pid, add_mapping, &q);

	unwind_sort(rows);
	return err < 0 ? err : 0;
}

/* Where one function ends and the next begins, what is known counts. */
static int compare_rows(const void *a, const void *b)
{
	const struct unwind_row *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (int)(x->kind != UNWIND_NONE) - (int)(y->kind != UNWIND_NONE);
}

void unwind_sort(struct unwind_rows *rows)
{
	struct unwind_row *r = rows->list.items;
	size_t n = 0;

	if (!rows->list.len)
		return;
	qsort(r, rows->list.len, sizeof(*r), compare_rows);
	for (size_t i = 0; i < rows->list.len; i++) {
		if (n && r[n - 1].address == r[i].address)
			n--;
		if (n && !memcmp((const u8 *)&r[n - 1] + 8, (const u8 *)&r[i] + 8, sizeof(*r) - 8))
			continue;
		r[n++] = r[i];
	}
	rows->list.len = n;
}

void unwind_release(struct unwind_rows *rows)
{
	vector_free(&rows->list);
}
