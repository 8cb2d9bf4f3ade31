/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/shared_range.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

static struct shared_range *ranges;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before; /* the handler for any other SIGBUS */

static struct shared_range *range_at(uintptr_t address)
{
	struct shared_range *r = __atomic_load_n(&ranges, __ATOMIC_ACQUIRE);

	while (r && address - (uintptr_t)r->start >= r->len)
		r = __atomic_load_n(&r->next, __ATOMIC_ACQUIRE);
	return r;
}

/* All pages after the first missing one are missing, too. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
	const uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)4095;
	struct shared_range *r =
		info->si_code == BUS_ADRERR ? range_at((uintptr_t)info->si_addr) : NULL;

	(void)context;
	/* Otherwise the access is repeated and ends the process, as it would have without us. */
	if (!r || mmap((void *)page, r->len - (page - (uintptr_t)r->start), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		sigaction(number, &before, NULL);
	else
		r->is_cut = true;
}

void shared_range_add(struct shared_range *r, const void *start, size_t len)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

	*r = (struct shared_range){.start = start, .len = len};
	pthread_mutex_lock(&lock);
	r->next = ranges;
	if (!ranges)
		sigaction(SIGBUS, &action, &before);
	__atomic_store_n(&ranges, r, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

void shared_range_remove(struct shared_range *r)
{
	if (!r->start)
		return;
	pthread_mutex_lock(&lock);
	for (struct shared_range **at = &ranges; *at; at = &(*at)->next) {
		if (*at != r)
			continue;
		__atomic_store_n(at, r->next, __ATOMIC_RELEASE);
		break;
	}
	if (!ranges)
		sigaction(SIGBUS, &before, NULL);
	pthread_mutex_unlock(&lock);
	r->start = NULL;
}
