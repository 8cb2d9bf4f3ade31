/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of `pantrace probe` and `cache`: filters of names, each matched against what it says, and
 * the definitions of a cache, which are read again as they were written.
 */
#include "base/name_filter.h"
#include "probe/cache/entries.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static void filter(const char *text)
{
	struct arena a = ARENA_INIT;
	struct diag d = DIAG_INIT;
	const struct name_filter *f = name_filter_parse(&a, &d, text);

	if (!f != !!d.errors)
		abort();
	if (f) {
		name_filter_match(f, text);
		name_filter_match(f, "main");
	}
	arena_release(&a);
	diag_release(&d);
}

static void definitions(const char *text, size_t len)
{
	struct cache_entries e = {0}, again = {0};
	struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
	u32 line;

	if (!cache_entries_parse(&e, text, len, &line)) {
		cache_entries_format(&e, &first);
		if (cache_entries_parse(&again, first.data, first.len, &line))
			abort();
		cache_entries_format(&again, &second);
		if (first.len != second.len || memcmp(first.data, second.data, first.len))
			abort();
	}
	strbuf_release(&first);
	strbuf_release(&second);
	cache_entries_release(&e);
	cache_entries_release(&again);
}

static void added(const char *text)
{
	struct cache_entries e = {0};
	struct cache_entry *entry;

	entry = cache_entries_put(&e, false, text);
	if (entry)
		cache_entry_add_line(&e, entry, text);
	if (entry && !cache_entries_find(&e, text))
		abort();
	cache_entries_remove(&e, "*a*");
	cache_entries_release(&e);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	char *text = xstrndup((const char *)data, len);

	filter(text);
	added(text);
	definitions((const char *)data, len);
	free(text);
	return 0;
}
