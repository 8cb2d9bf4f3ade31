/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The definitions that a cache keeps for one build-id, in the text that perf keeps, too:
 *
 *	#probe_demo:myev=handle len name=n->name:string      a definition, as it was typed
 *	p:probe_demo/myev /tmp/demo:0x1240 len=%dx:s32 ...   what it became: a line for each place
 *	%sdt_prov:one=one                                    a statically defined event
 *	p:sdt_prov/one /tmp/sdt:0x1042 arg1=%ax:s32
 */
#ifndef PANTRACE_PROBE_CACHE_ENTRIES_H
#define PANTRACE_PROBE_CACHE_ENTRIES_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vector.h"

enum {
	CACHE_TEXT_MAX = 8 << 20, /* bytes of such a file */
	CACHE_LINE_MAX = 8 << 10,
};

struct cache_entry {
	bool is_sdt;
	const char *text; /* the line without its first character */
	const char *event; /* "GROUP:EVENT" or "EVENT"; NULL = the definition names none */
	const char *command; /* behind the '=': "handle len name=n->name:string" */
	VECTOR(const char *) lines; /* as tracefs takes them */
};

struct cache_entries {
	struct arena arena;
	VECTOR(struct cache_entry) list;
};

/* Zeros are fine. */
void cache_entries_release(struct cache_entries *e);
/*
 * Adds what the text says. 0, or -EINVAL with the number of the line that cannot be understood, and
 * then nothing was added. Also refused: lines that hold anything but one line for tracefs.
 */
int cache_entries_parse(struct cache_entries *e, const char *text, size_t len, u32 *ret_line);
void cache_entries_format(const struct cache_entries *e, struct strbuf *out);
/*
 * The entry of this very definition, NULL = none. One of the same name that was defined in another
 * way is not it.
 */
struct cache_entry *cache_entries_find(const struct cache_entries *e, const char *text);
/* The one whose name is GROUP:EVENT, or EVENT of any group. */
const struct cache_entry *cache_entries_named(const struct cache_entries *e, const char *event);
/*
 * Adds a definition without lines, in place of one of the same name or text. It is valid until the
 * next call. NULL: the text is longer than a line may be, or more than a line.
 */
struct cache_entry *cache_entries_put(struct cache_entries *e, bool is_sdt, const char *text);
/* False: such a line is not for tracefs, or too long. */
bool cache_entry_add_line(struct cache_entries *e, struct cache_entry *entry, const char *line);
/*
 * Whether a wildcard means this entry: by GROUP:EVENT, by EVENT, or by its text if it has no name.
 */
bool cache_entry_matches(const struct cache_entry *entry, const char *glob);
/* Removes those; how many. */
u32 cache_entries_remove(struct cache_entries *e, const char *glob);

/* The parts of a line for tracefs, in place: not terminated. */
struct cache_line {
	bool is_return;
	const char *group, *event, *place, *arguments;
	size_t group_len, event_len, place_len;
};
/* "p:GROUP/EVENT PLACE ARGUMENTS"; false: it is none. arguments may be "". */
bool cache_line_parse(const char *line, struct cache_line *ret);

#endif
