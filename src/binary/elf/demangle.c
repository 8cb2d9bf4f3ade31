/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libiberty's demangler; names that are absurdly long are left as they are. */
#include <libiberty/demangle.h>

#undef ARRAY_SIZE /* base.h has its own */

#include "base/glob.h"
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

char *demangled_name(char *demangled)
{
	char *start = demangled;
	int depth = 0;

	for (char *p = demangled; *p && (depth || *p != '('); p++) {
		if (str_starts(p, "operator"))
			break;
		depth += *p == '<' ? 1 : *p == '>' ? -1 : 0;
		if (!depth && *p == ' ')
			start = p + 1;
	}
	return start;
}

/* Rust's "<main::deep::P>::show" as it is written, "main::deep::P::show". */
static char *unbracketed(char *name)
{
	char *close = *name == '<' ? strstr(name, ">::") : NULL;

	if (!close)
		return NULL;
	memmove(close, close + 1, strlen(close));
	return name + 1;
}

int mangled_each_name(const char *mangled, int (*fn)(void *arg, const char *name), void *arg)
{
	char *name = demangle(mangled), *end, *bare;
	int result;

	if (!name)
		return 0;
	bare = demangled_name(name);
	result = fn(arg, name);
	if (!result)
		result = fn(arg, bare);
	end = strchr(bare, '(');
	if (!result && end) {
		*end = '\0';
		result = fn(arg, bare);
	}
	if (!result && *bare != '<' && (end = strchr(bare, '<'))) {
		*end = '\0';
		result = fn(arg, bare);
	}
	bare = result ? NULL : unbracketed(bare);
	if (bare)
		result = fn(arg, bare);
	free(name);
	return result;
}

static int matches(void *arg, const char *name)
{
	return glob_match(arg, name);
}

bool mangled_name_matches(const char *pattern, const char *mangled)
{
	return mangled_each_name(mangled, matches, (void *)(uintptr_t)pattern);
}
