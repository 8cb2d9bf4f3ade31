// SPDX-License-Identifier: MIT
/* The state page and its lock, which a forked child finds free: the kernel wipes it there. */
#include "internal.h"
#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define PAGE   4096ull
#define PAUSES (1u << 20) /* some 10 to 50 ms */

struct pt_state *pt_state;

bool pt_trylock(void)
{
	int32_t free = 0;

	return __atomic_compare_exchange_n(&pt_state->lock, &free, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

void pt_lock(void)
{
	/* nobody may be woken here: see below */
	const struct timespec limit = {.tv_nsec = 10000000};

	if (pt_trylock())
		return;
	while (__atomic_exchange_n(&pt_state->lock, 2, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &pt_state->lock, FUTEX_WAIT_PRIVATE, 2, &limit, NULL, 0);
}

void pt_unlock(void)
{
	if (__atomic_exchange_n(&pt_state->lock, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, &pt_state->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool pt_lock_quietly(void)
{
	for (unsigned int i = 0; i < PAUSES; i++) {
		if (pt_trylock())
			return true;
		_mm_pause();
	}
	return false;
}

void pt_unlock_quietly(void)
{
	__atomic_store_n(&pt_state->lock, 0, __ATOMIC_RELEASE);
}

int pt_state_get(void)
{
	const size_t size = (sizeof(struct pt_state) + PAGE - 1) & ~(PAGE - 1);
	struct pt_state *state, *none = NULL;

	if (__atomic_load_n(&pt_state, __ATOMIC_ACQUIRE))
		return 0;
	state = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (state == MAP_FAILED)
		return -errno;
	if (madvise(state, size, MADV_WIPEONFORK)) {
		const int error = errno;

		munmap(state, size);
		return -error;
	}
	state->pid = (int32_t)getpid();
	if (!__atomic_compare_exchange_n(&pt_state, &none, state, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		munmap(state, size);
	return 0;
}
