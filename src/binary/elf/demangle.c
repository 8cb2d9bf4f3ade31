/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libiberty's demangler; names that are absurdly long are left as they are. */
#include <libiberty/demangle.h>

#undef ARRAY_SIZE /* base.h has its own */

#include "binary/elf/internal.h"

enum { MAX_MANGLED = 16384 };

static char *demangle_with(const char *mangled, int options)
{
	/* Only what is marked as mangled: _Z (C++, legacy Rust), _R (Rust v0), _D (D). */
	if (mangled[0] != '_' || (mangled[1] != 'Z' && mangled[1] != 'R' && mangled[1] != 'D'))
		return NULL;
	if (strnlen(mangled, MAX_MANGLED) == MAX_MANGLED)
		return NULL;
	return cplus_demangle(mangled,
			      options | DMGL_ANSI | (mangled[1] == 'D' ? DMGL_DLANG : DMGL_AUTO));
}

char *demangle(const char *mangled)
{
	return demangle_with(mangled, DMGL_PARAMS);
}

char *demangle_without_parameters(const char *mangled)
{
	return demangle_with(mangled, 0);
}
