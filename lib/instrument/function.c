// SPDX-License-Identifier: MIT
/* For programs built with -finstrument-functions: linked, or LD_PRELOAD=libpantrace-function.so. */
#include <pantrace/pantrace.h>

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
	PANTRACE(function, entry, function, caller);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	PANTRACE(function, exit, function, caller);
}
