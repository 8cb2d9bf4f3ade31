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
static bool matches_unbracketed(const char *pattern, char *name)
{
	char *close = *name == '<' ? strstr(name, ">::") : NULL;

	if (!close)
		return false;
	memmove(close, close + 1, strlen(close));
	return glob_match(pattern, name + 1);
}

bool mangled_name_matches(const char *pattern, const char *mangled)
{
	char *name = demangle(mangled), *end, *bare;
	bool found;

	if (!name)
		return false;
	bare = demangled_name(name);
	found = glob_match(pattern, name) || glob_match(pattern, bare);
	end = strchr(bare, '(');
	if (!found && end) {
		*end = '\0';
		found = glob_match(pattern, bare);
	}
	if (!found && *bare != '<' && (end = strchr(bare, '<'))) {
		*end = '\0';
		found = glob_match(pattern, bare);
	}
	if (!found)
		found = matches_unbracketed(pattern, bare);
	free(name);
	return found;
}
