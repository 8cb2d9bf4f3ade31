/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fills the table by which programs unwind user stacks. The table has two halves: when the process
 * maps a new library, its rows go into the unused half, then one word switches over.
 */
#include "binary/debug/unwind.h"

#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/engine.h"

#define SPARE_ROWS 65536u
/*
 * The kernel tells of a mapping before /proc shows it, and the process may be set aside in between:
 * the table is made 1, 10 and 100 ms later.
 */
#define DELAY_NS 1000000

static pid_t target(const struct engine *e)
{
	return e->child		 ? e->child->pid
	       : e->options->pid ? e->options->pid
				 : e->options->unwind_pid;
}

static bool is_used(const struct engine *e)
{
	return e->script->unwind_map < e->script->maps.len;
}

int engine_prepare_unwind(struct engine *e)
{
	struct script_map *m;
	int err = 0;

	if (!is_used(e))
		return 0;
	m = &e->script->maps.items[e->script->unwind_map];
	if (e->child && e->env->prepare_process)
		err = e->env->prepare_process(e->env->prepare_arg);
	if (!err)
		err = unwind_read_process(&e->unwind, target(e));
	if (err < 0) {
		diag_error(e->env->diag, NO_SPAN, "cannot read the code of process %d: %s",
			   target(e), strerror(-err));
		return err;
	}
	if (e->unwind.list.len > UINT32_MAX / 8) {
		diag_error(e->env->diag, NO_SPAN,
			   "process %d has too much code to unwind: %zu rows", target(e),
			   e->unwind.list.len);
		return -E2BIG;
	}
	e->unwind_half = (u32)(e->unwind.list.len + e->unwind.list.len / 2) + SPARE_ROWS;
	m->max_entries = 2 * e->unwind_half;
	m->map_flags |= BPF_F_MMAPABLE;
	return 0;
}

int engine_fill_unwind(struct engine *e, struct script_globals *g)
{
	const u32 n = (u32)MIN(e->unwind.list.len, (size_t)e->unwind_half);
	const u32 first = e->unwind_second ? 0 : e->unwind_half;
	const size_t size = ALIGN_UP((size_t)e->unwind_half * 2 * sizeof(struct unwind_row),
				     (size_t)sysconf(_SC_PAGESIZE));
	struct unwind_row *rows;

	if (!is_used(e))
		return 0;
	rows = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    e->maps[e->script->unwind_map].fd, 0);
	if (rows == MAP_FAILED) {
		diag_error(e->env->diag, NO_SPAN, "cannot write the table of frames: %s",
			   strerror(errno));
		return -errno;
	}
	memcpy(rows + first, e->unwind.list.items, n * sizeof(*rows));
	munmap(rows, size);
	unwind_release(&e->unwind);
	e->unwind_second = !e->unwind_second;
	g->unwind_table = (u64)first << 32 | n;
	g->unwind_pid = (u64)target(e);
	return 0;
}

pid_t engine_unwind_target(const struct engine *e)
{
	return is_used(e) ? target(e) : 0;
}

void engine_expire_unwind(struct engine *e)
{
	e->unwind_due = clock_now_ns(CLOCK_MONOTONIC) + DELAY_NS;
	e->unwind_delay = DELAY_NS;
}

void engine_refresh_unwind(struct engine *e)
{
	const struct open_map *m = is_used(e) ? &e->maps[e->script->global_map] : NULL;
	struct script_globals g;
	const u32 zero = 0;

	if (!e->unwind_due || clock_now_ns(CLOCK_MONOTONIC) < e->unwind_due)
		return;
	e->unwind_delay *= 10;
	e->unwind_due = e->unwind_delay <= 100 * DELAY_NS
				? clock_now_ns(CLOCK_MONOTONIC) + e->unwind_delay
				: 0;
	if (unwind_read_process(&e->unwind, target(e)) < 0 || !e->unwind.list.len ||
	    map_lookup(m, &zero, &g) < 0 || engine_fill_unwind(e, &g) < 0) {
		unwind_release(&e->unwind);
		return;
	}
	map_update(m, &zero, &g);
}
