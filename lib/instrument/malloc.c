// SPDX-License-Identifier: MIT
/* LD_PRELOAD=libpantrace-malloc.so: events of the heap. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pantrace/pantrace.h>
#include <stdlib.h>
#include <string.h>

/* glibc's own names: dlsym() itself allocates, so it cannot be used to find the allocator. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *p);

/* Allocations of the library itself, while it handles an event, are no events. */
static __thread int busy __attribute__((tls_model("initial-exec")));

#define EVENT(...)                             \
	do {                                   \
		if (!busy) {                   \
			busy = 1;              \
			PANTRACE(__VA_ARGS__); \
			busy = 0;              \
		}                              \
	} while (0)

void *malloc(size_t size)
{
	void *const result = __libc_malloc(size);

	EVENT(heap, malloc, size, result);
	return result;
}

void *calloc(size_t n, size_t size)
{
	void *const result = __libc_calloc(n, size);

	EVENT(heap, calloc, n, size, result);
	return result;
}

void *realloc(void *old, size_t size)
{
	void *const result = __libc_realloc(old, size);

	EVENT(heap, realloc, old, size, result);
	return result;
}

/* The event comes before the call: afterwards another thread may already have the address. */
void free(void *p)
{
	EVENT(heap, free, p);
	__libc_free(p);
}

void *memalign(size_t alignment, size_t size)
{
	void *const result = __libc_memalign(alignment, size);

	EVENT(heap, memalign, alignment, size, result);
	return result;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *result;

	if (alignment < sizeof(void *) || alignment & (alignment - 1))
		return EINVAL;
	result = memalign(alignment, size);
	if (!result)
		return ENOMEM;
	*ret = result;
	return 0;
}
