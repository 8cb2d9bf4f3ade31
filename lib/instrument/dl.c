// SPDX-License-Identifier: MIT
/*
 * LD_PRELOAD=libpantrace-dl.so: objects that are loaded and unloaded. A name without a slash is
 * then looked up in this library's search path (RUNPATH), not in the caller's.
 */
#include <dlfcn.h>
#include <pantrace/control.h>
#include <pantrace/pantrace.h>

void *dlopen(const char *path, int flags)
{
	static void *(*real)(const char *, int);
	void *result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	result = real(path, flags);
	pantrace_objects();
	PANTRACE(dl, dlopen, path, flags, result);
	return result;
}

int dlclose(void *handle)
{
	static int (*real)(void *);
	int result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "dlclose");
	result = real(handle);
	pantrace_objects();
	PANTRACE(dl, dlclose, handle, result);
	return result;
}
