/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/wakeup.h"

#include <linux/bpf.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/bpf/ring.h"
#include "lang/script.h"

/* A million records a second of 130 bytes make 650 KB between two looks. */
#define LOOK_NS		 5000000u
#define LEAST_RING	 (1u << 20)
#define BURST_ROUNDS	 4u
#define EMPTY_LOOKS	 4u
#define AFTER_LOOKING_MS 1000

void wakeup_open(struct wakeup *p, int globals_fd, const struct ring *ring, bool eager)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*p = (struct wakeup){.eager = eager};
	if (globals_fd < 0 || !ring || ring_size(ring) < LEAST_RING)
		return;
	p->globals = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, globals_fd, 0);
	if (p->globals == MAP_FAILED) {
		p->globals = NULL;
		return;
	}
	p->flags = (u64 *)((u8 *)p->globals + offsetof(struct script_globals, wake_flags));
}

void wakeup_close(struct wakeup *p)
{
	if (p->globals)
		munmap(p->globals, (size_t)sysconf(_SC_PAGESIZE));
	p->globals = NULL;
}

static void set_looking(struct wakeup *p, bool is_looking)
{
	p->is_looking = is_looking;
	p->has_just_stopped = !is_looking;
	p->burst = p->empty = 0;
	__atomic_store_n(p->flags, is_looking ? BPF_RB_NO_WAKEUP : 0, __ATOMIC_SEQ_CST);
}

static int sleep_then_look(const struct ring *ring)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};

	if (!ring_is_filling(ring))
		nanosleep(&pause, NULL);
	return 0;
}

/* Do records come so often that looking is cheaper than being woken? */
static bool come_often(struct wakeup *p)
{
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);

	p->burst = now - p->last_ns < LOOK_NS ? p->burst + 1 : 0;
	p->last_ns = now;
	return p->eager || p->burst >= BURST_ROUNDS;
}

int wakeup_wait(struct wakeup *p, u32 read, const struct ring *ring)
{
	bool stopped = p->has_just_stopped;

	if (!p->globals)
		return -1;
	if (p->is_looking) {
		p->empty = read ? 0 : p->empty + 1;
		/*
		 * A program may have read the flag just before it changed, and submit its record
		 * afterwards: poll once more.
		 */
		if (p->empty >= EMPTY_LOOKS)
			set_looking(p, false);
		return sleep_then_look(ring);
	}
	p->has_just_stopped = false;
	if (read && come_often(p)) {
		set_looking(p, true);
		return sleep_then_look(ring);
	}
	/*
	 * If it was delayed for even longer than that, its record is found now and not only with
	 * the next one.
	 */
	return stopped ? AFTER_LOOKING_MS : -1;
}
