/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes all elements out of a map without losing an update. A program looks an element up and then
 * adds to it; if the element is read and deleted in between, the addition is lost. So a map that is
 * cleared when it is printed exists twice, and programs find the current one through an array of
 * maps. To store the other one there makes the kernel wait until no program uses the first any more
 * (maybe_wait_bpf_programs() in kernel/bpf/syscall.c, 5.0). Then the first one is read and emptied.
 */
#include "base/clock.h"
#include "engine/in_process_maps.h"
#include "engine/map_switch.h"

#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static int store(const struct open_map *outer, int inner)
{
	const u32 zero = 0;
	u32 fd = (u32)inner;

	return map_update(outer, &zero, &fd);
}

int map_switch_init(struct engine *e, u32 index)
{
	const struct open_map *outer = &e->maps[index];

	return store(outer, e->maps[outer->info->switched].fd);
}

/* zero(): the keys stay, as zeros, unless a program has made them anew already. */
static void put_zeros(const struct open_map *m, const struct map_elements *keys)
{
	u8 *zeros = xzalloc(m->stride);

	for (size_t i = 0; i < keys->count; i++)
		map_insert(m, keys->keys + i * m->info->key_size, zeros);
	free(zeros);
}

/* Without a switch: what is added to an element while it is deleted is lost. */
static int take_plain(struct open_map *m, bool is_zero, struct map_view *ret)
{
	int err;

	if (is_zero) {
		err = map_view_read(m, false, ret);
		return err < 0 ? err : map_zero(m);
	}
	err = map_view_read(m, !m->is_array, ret);
	if (err < 0)
		return err;
	if (m->is_array)
		return map_clear(m);
	m->zeroed = false;
	m->cleared = true;
	return 0;
}

/*
 * The kernel's wait takes some ms, more on a busy machine. A script that prints a thousand times a
 * second would wait all the time and lose events for it. So while the event buffer fills up, each
 * wait is followed by a period in which maps are taken without one; how often that happened is
 * reported at the end of the run.
 */
#define WAIT_SHARE  4
#define MAX_REST_NS 200000000u

static int change_to_spare(struct engine *e, struct open_map *m)
{
	const u64 start = clock_now_ns(CLOCK_MONOTONIC);
	const int err = store(&e->maps[m->info->switched - 1], m->spare_fd);
	const u64 end = clock_now_ns(CLOCK_MONOTONIC);

	m->switch_after = end + MIN((end - start) * WAIT_SHARE, (u64)MAX_REST_NS);
	if (!err)
		m->taken_until = ring_produced(e->ring);
	return err;
}

void map_switch_rest(struct engine *e)
{
	bool any = false;

	for (size_t i = 0; i < e->script->maps.len; i++)
		any |= e->script->maps.items[i].role == MAP_SWITCH;
	if (!any)
		return;
	/*
	 * Waits for programs that still run (synchronize_rcu()). Where that is not permitted, the
	 * switch stays in use.
	 */
	e->is_at_rest = syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0;
}

/*
 * A request that was sent while an earlier one waited for its switch is answered by that one, which
 * took all there was by then; what came later belongs to a later request. So a script that prints
 * more often than the kernel's wait allows loses nothing, and waits once for many requests.
 */
bool map_switch_is_answered(const struct engine *e, const struct open_map *m)
{
	return m->info->switched && !m->is_array && !m->zeroed && m->taken_until &&
	       ring_position(e->ring) < m->taken_until;
}

static int take(struct engine *e, u32 index, bool is_zero, struct map_view *ret)
{
	struct open_map *m = &e->maps[index], old;
	struct map_elements keys = {0};
	int err;

	*ret = (struct map_view){0};
	if (!m->info->switched || e->is_at_rest)
		return take_plain(m, is_zero, ret);
	if (!is_zero && map_switch_is_answered(e, m)) {
		old = *m;
		old.fd = m->spare_fd; /* at rest, and empty */
		return map_view_read(&old, false, ret);
	}
	if (ring_is_filling(e->ring) && clock_now_ns(CLOCK_MONOTONIC) < m->switch_after) {
		e->hasty_takes++;
		return take_plain(m, is_zero, ret);
	}
	if (m->spare_fd < 0)
		m->spare_fd = engine_create_spare(e, m->info);
	if (m->spare_fd < 0)
		return m->spare_fd;
	err = change_to_spare(e, m);
	if (err < 0)
		return err;
	old = *m;
	m->fd = old.spare_fd;
	m->spare_fd = old.fd;
	m->zeroed = is_zero;
	m->cleared |= !is_zero;
	if (is_zero && !m->is_array && map_read(&old, false, &keys) == 0)
		put_zeros(m, &keys);
	map_elements_release(&keys);
	err = map_view_read(&old, !m->is_array, ret);
	if (!err && m->is_array)
		err = map_clear(&old);
	return err;
}

int engine_take_map(struct engine *e, u32 index, bool is_zero, struct map_view *ret)
{
	struct open_map *m = &e->maps[index];
	int err;

	in_process_freeze(m, is_zero);
	err = take(e, index, is_zero, ret);
	in_process_thaw(m);
	return err;
}
