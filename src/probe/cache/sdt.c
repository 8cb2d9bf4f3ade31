/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/cache/sdt.h"

#include <ctype.h>
#include <stdio.h>

#include "arch/arch.h"
#include "base/hashmap.h"
#include "binary/location.h"

enum { MAX_ARGUMENTS = 12 };

struct scan {
	struct elf_file *file;
	const char *path;
	struct cache_entries *entries;
	struct hashmap seen; /* texts of this scan */
};

/* Names of tracefs are those of C. */
static void add_name(struct strbuf *out, const char *name)
{
	for (; *name; name++)
		strbuf_addch(out, isalnum((unsigned char)*name) ? *name : '_');
}

static bool add_argument(struct strbuf *out, const struct location *l)
{
	const struct arch_register *r;

	switch (l->kind) {
	case LOCATION_CONSTANT:
		strbuf_addf(out, "\\%" PRId64, l->value);
		return true;
	case LOCATION_REGISTER:
		r = arch_register_at(l->offset);
		if (r)
			strbuf_addf(out, "%%%s", r->name);
		return r;
	case LOCATION_MEMORY:
		r = arch_register_at(l->base);
		if (r && l->index == 0xffff)
			strbuf_addf(out, "%+" PRId64 "(%%%s)", l->value, r->name);
		return r && l->index == 0xffff;
	default:
		return false;
	}
}

void sdt_add_arguments(struct strbuf *out, struct elf_file *f, const struct usdt_note *note)
{
	struct location arguments[MAX_ARGUMENTS];
	const int n = usdt_note_args(f, note, arguments, MAX_ARGUMENTS);

	for (int i = 0; i < n; i++) {
		const struct location *l = &arguments[i];
		struct strbuf text = STRBUF_INIT;

		if (add_argument(&text, l))
			strbuf_addf(out, " arg%d=%s:%c%d", i + 1, text.data,
				    l->is_signed ? 's' : 'u', 8 * (l->size ? l->size : 8));
		strbuf_release(&text);
	}
}

static struct cache_entry *entry_of(struct scan *s, const char *text)
{
	struct cache_entry *known = NULL;
	bool is_new;

	hashmap_put(&s->seen, text, strlen(text) + 1, &is_new);
	if (!is_new)
		known = cache_entries_find(s->entries, text);
	return known ? known : cache_entries_put(s->entries, true, text);
}

static int add_note(void *arg, const struct usdt_note *note)
{
	struct strbuf provider = STRBUF_INIT, name = STRBUF_INIT, line = STRBUF_INIT;
	struct scan *s = arg;
	struct cache_entry *entry;
	char *text;

	add_name(&provider, note->provider);
	add_name(&name, note->name);
	text = xasprintf("sdt_%s:%s=%s", provider.data, name.data, name.data);
	strbuf_addf(&line, "p:sdt_%s/%s %s:0x%" PRIx64, provider.data, name.data, s->path,
		    note->offset);
	if (note->semaphore)
		strbuf_addf(&line, "(0x%" PRIx64 ")", note->semaphore);
	sdt_add_arguments(&line, s->file, note);
	entry = entry_of(s, text);
	if (entry)
		cache_entry_add_line(s->entries, entry, line.data);
	strbuf_release(&provider);
	strbuf_release(&name);
	strbuf_release(&line);
	free(text);
	return 0;
}

u32 cache_add_sdt(struct cache_entries *e, struct elf_file *f, const char *path)
{
	struct scan s = {.file = f, .path = path, .entries = e};
	u32 n;

	elf_file_each_usdt(f, add_note, &s);
	n = (u32)s.seen.len;
	hashmap_release(&s.seen);
	return n;
}
