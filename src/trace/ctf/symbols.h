/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for addresses in recorded events: the trace says which file was loaded where (its stream of
 * objects), the files say what is at an address. A file counts only if its build-id is the one that
 * was recorded.
 */
#ifndef PANTRACE_TRACE_CTF_SYMBOLS_H
#define PANTRACE_TRACE_CTF_SYMBOLS_H

#include "base/strbuf.h"
#include "trace/ctf/trace.h"

struct ctf_symbols;

/*
 * places: directories in which files are looked for first: as PLACE/path,
 * PLACE/.build-id/xx/yyy[.debug] and PLACE/name.
 */
struct ctf_symbols *ctf_symbols_new(const char *const *places, size_t count);
/* Adds " function+0x12", or " [file+0x1234]" when only the file is known, or nothing. */
void ctf_symbols_put(struct ctf_symbols *s, struct ctf_trace *trace, s64 ns, u64 address,
		     struct strbuf *out);
void ctf_symbols_release(struct ctf_symbols *s);

#endif
