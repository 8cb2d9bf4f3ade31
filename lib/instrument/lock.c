// SPDX-License-Identifier: MIT
/* LD_PRELOAD=libpantrace-lock.so: mutexes that threads wait for. One that is free costs a trylock.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pantrace/pantrace.h>
#include <pthread.h>
#include <time.h>

static int (*real_lock)(pthread_mutex_t *);
static int (*real_trylock)(pthread_mutex_t *);

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((constructor(101))) static void find(void)
{
	*(void **)&real_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	*(void **)&real_trylock = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	uint64_t start, waited_ns;
	int result;

	if (!real_lock)
		find();
	if (!PANTRACE_ENABLED(lock, acquired) && !PANTRACE_ENABLED(lock, wait))
		return real_lock(mutex);
	result = real_trylock(mutex);
	if (result != EBUSY)
		return result;
	PANTRACE(lock, wait, mutex);
	start = now_ns();
	result = real_lock(mutex);
	waited_ns = now_ns() - start;
	PANTRACE(lock, acquired, mutex, waited_ns, result);
	return result;
}
