/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statically defined events (USDT) of a program, as definitions for a cache. */
#ifndef PANTRACE_PROBE_CACHE_SDT_H
#define PANTRACE_PROBE_CACHE_SDT_H

#include "binary/elf/file.h"
#include "probe/cache/entries.h"

/*
 * Adds "%sdt_PROVIDER:NAME=NAME" and a line for each of its places, in `path`, to the entries;
 * those of these names that were there before are replaced. Arguments that no line for tracefs can
 * say (floating point, base + index * scale) are left out, the others keep their number. How many
 * events.
 */
u32 cache_add_sdt(struct cache_entries *e, struct elf_file *f, const char *path);
/*
 * Appends " arg1=%di:s32 arg2=..." for what the kernel can fetch of the event's arguments.
 */
void sdt_add_arguments(struct strbuf *out, struct elf_file *f, const struct usdt_note *note);

#endif
