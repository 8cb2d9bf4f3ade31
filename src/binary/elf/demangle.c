/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libiberty's demangler. Names are anybody's: what they may refer to, parts of themselves, doubles
 * their length each time (200 bytes give 70 MB), so that names are left as they are which would
 * become absurdly long.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>

#undef ARRAY_SIZE /* base.h has its own */

#include "base/glob.h"
#include "base/strbuf.h"
#include "binary/elf/internal.h"

enum {
	MAX_MANGLED = 16384,
	MAX_DEMANGLED = 65536,
	MAX_D_REFERENCES = 8, /* there, what comes out cannot be watched */
};

struct demangling {
	struct strbuf text;
	jmp_buf too_long;
};

/* The demanglers that call this hold no memory. */
static void add(const char *text, size_t len, void *arg)
{
	struct demangling *const d = arg;

	if (d->text.len + len > MAX_DEMANGLED)
		longjmp(d->too_long, 1);
	strbuf_add(&d->text, text, len);
}

/* Rust's names look like those of C++. */
static bool demangle_into(struct demangling *d, const char *mangled, int options)
{
	if (setjmp(d->too_long))
		return false;
	if (rust_demangle_callback(mangled, options, add, d))
		return true;
	d->text.len = 0;
	return cplus_demangle_v3_callback(mangled, options, add, d);
}

static char *demangle_d(const char *mangled, int options)
{
	u32 references = 0;

	for (const char *p = mangled; *p; p++)
		references += *p == 'Q';
	return references > MAX_D_REFERENCES ? NULL : cplus_demangle(mangled, options | DMGL_DLANG);
}

static char *demangle_with(const char *mangled, int options)
{
	struct demangling d = {.text = STRBUF_INIT};

	/* Only what is marked as mangled: _Z (C++, legacy Rust), _R (Rust v0), _D (D). */
	if (mangled[0] != '_' || (mangled[1] != 'Z' && mangled[1] != 'R' && mangled[1] != 'D'))
		return NULL;
	if (strnlen(mangled, MAX_MANGLED) == MAX_MANGLED)
		return NULL;
	options |= DMGL_ANSI;
	if (mangled[1] == 'D')
		return demangle_d(mangled, options);
	if (demangle_into(&d, mangled, options | DMGL_AUTO) && d.text.len)
		return strbuf_detach(&d.text);
	strbuf_release(&d.text);
	return NULL;
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
