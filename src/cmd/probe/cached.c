/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --cache: stores translated definitions by build-id, for targets without debug information. */
#include <stdio.h>

#include "base/escape.h"
#include "base/json.h"
#include "binary/debug/lines.h"
#include "cmd/probe/commands.h"
#include "probe/cache/cache.h"
#include "probe/kernel_debug.h"

/* ---- texts ---- */

/* Runs of blanks become one. Malloc'ed. */
static char *squeezed(const char *text)
{
	struct strbuf out = STRBUF_INIT;
	bool blank = false;

	for (; *text; text++) {
		if (*text == ' ' || *text == '\t') {
			blank = true;
			continue;
		}
		if (blank && out.len)
			strbuf_addch(&out, ' ');
		blank = false;
		strbuf_addch(&out, *text);
	}
	return strbuf_detach(&out);
}

/* "handle len" of "my:ev=handle len": the part that identifies a definition. */
static char *command_of(const char *text)
{
	struct cache_entries e = {0};
	char *plain = squeezed(text), *command;
	const struct cache_entry *entry = cache_entries_put(&e, false, plain);

	command = xstrdup(entry ? entry->command : plain);
	cache_entries_release(&e);
	free(plain);
	return command;
}

static const struct cache_entry *find_command(const struct cache_entries *e, const char *command)
{
	for (size_t i = 0; i < e->list.len; i++) {
		const struct cache_entry *entry = &e->list.items[i];

		if (!entry->is_sdt && entry->lines.len && str_eq(entry->command, command))
			return entry;
	}
	return NULL;
}

/* ---- the target ---- */

/* Returns the build-id (malloc'ed), or NULL if there is none. */
static char *target_id(struct translator *t)
{
	struct elf_file *f = translator_file(t);
	const char *id = f ? elf_file_build_id(f) : NULL;

	return f ? (id ? xstrdup(id) : NULL) : kernel_build_id();
}

static const char *target_origin(const struct probe_command *p, struct translator *t)
{
	return p->o.exec ? elf_file_path(translator_file(t)) : CACHE_KERNEL;
}

/* ---- use ---- */

struct search {
	struct diag *diag;
	const char *origin, *build_id, *command;
	bool is_said;
};

static int hint_other_build(void *arg, struct cached_file *f)
{
	struct search *s = arg;
	struct cache_entries e = {0};

	if (!str_eq(f->origin, s->origin) || f->directory < 0 ||
	    (s->build_id && str_eq(f->build_id, s->build_id)) || cached_file_read(f, s->diag, &e) ||
	    !find_command(&e, s->command)) {
		cache_entries_release(&e);
		return 0;
	}
	cache_entries_release(&e);
	diag_hint(s->diag,
		  "the cache has this definition for another build of %s (build-id %s), which is "
		  "not this one (%s)",
		  s->origin, f->build_id, s->build_id ? s->build_id : "without build-id");
	return 1;
}

void probe_cached_hint(struct probe_command *p, struct translator *t, const char *text)
{
	char *id = target_id(t), *command = command_of(text);
	struct search s = {&p->diag, target_origin(p, t), id, command, false};
	struct probe_cache *cache;

	if (!probe_cache_open(&p->diag, p->o.buildid_dir, false, &cache)) {
		probe_cache_each(cache, &p->diag, hint_other_build, &s);
		probe_cache_close(cache);
	}
	free(command);
	free(id);
}

static int take_entry(struct probe_command *p, struct translator *t, const struct cached_file *f,
		      const char *text, struct translation *ret)
{
	struct cache_entries e = {0};
	char *command = command_of(text);
	const struct cache_entry *entry;
	int rc = cached_file_read(f, &p->diag, &e);

	entry = rc ? NULL : find_command(&e, command);
	if (entry)
		rc = translate_cached(t, text, (const char *const *)entry->lines.items,
				      entry->lines.len, ret);
	else if (!rc)
		rc = -ENOENT;
	cache_entries_release(&e);
	free(command);
	return rc;
}

int probe_cached_translate(struct probe_command *p, struct translator *t, const char *text,
			   struct translation *ret)
{
	struct elf_file *f = translator_file(t);
	struct probe_cache *cache;
	struct cached_file file;
	char *id;
	int rc;

	/* The cache is not used where debug information is available. */
	if (f && !debug_available(f))
		return -ENOENT;
	id = target_id(t);
	rc = id ? probe_cache_open(&p->diag, p->o.buildid_dir, false, &cache) : -ENOENT;
	if (rc) {
		free(id);
		return rc;
	}
	rc = probe_cache_find(cache, &p->diag, id, &file);
	if (!rc) {
		rc = take_entry(p, t, &file, text, ret);
		cached_file_release(&file);
	}
	probe_cache_close(cache);
	free(id);
	return rc;
}

/* ---- keeping ---- */

static int put_definitions(void *arg, struct cache_entries *e)
{
	const struct probe_kept *k = arg;
	const struct translation *r = k->translation;
	char *plain = squeezed(k->text), *text;
	struct cache_entries names = {0};
	struct cache_entry *entry = cache_entries_put(&names, false, plain);
	bool good;

	/* Like perf, the cache writes the group before the event. */
	text = entry && entry->event && !strchr(entry->event, ':')
		       ? xasprintf("%s:%s", r->places.items[0].group, plain)
		       : xstrdup(plain);
	cache_entries_release(&names);
	entry = cache_entries_put(e, false, text);
	good = entry != NULL;
	for (size_t i = 0; i < r->places.len && good; i++) {
		const struct translated_place *place = &r->places.items[i];
		char *line = xasprintf("%c:%s/%s %s", r->is_return ? 'r' : 'p', place->group,
				       place->event, place->command.text.data);

		good = cache_entry_add_line(e, entry, line);
		free(line);
	}
	free(text);
	free(plain);
	return good ? 0 : -E2BIG;
}

int probe_cached_keep(struct probe_command *p, struct translator *t, const struct probe_kept *kept,
		      u32 count)
{
	char *id = target_id(t);
	struct probe_cache *cache;
	struct cached_file file;
	int rc;

	if (!id) {
		diag_error(&p->diag, NO_SPAN, "%s has no build-id, which the cache needs",
			   target_origin(p, t));
		return -ENODATA;
	}
	rc = probe_cache_open(&p->diag, p->o.buildid_dir, true, &cache);
	if (rc) {
		free(id);
		return rc;
	}
	rc = probe_cache_add(cache, &p->diag, id, target_origin(p, t), &file);
	for (u32 i = 0; i < count && !rc; i++) {
		struct probe_kept one = kept[i];

		rc = cached_file_change(&file, &p->diag, put_definitions, &one);
		if (rc == -E2BIG)
			diag_error(&p->diag, NO_SPAN, "'%s' is too long for the cache", one.text);
		if (i + 1 == count || rc)
			cached_file_release(&file);
	}
	probe_cache_close(cache);
	free(id);
	return rc;
}

/* ---- -l, -d ---- */

struct listing {
	struct probe_command *command;
	const char *glob, *build_id; /* NULL = all */
	struct strbuf out;
	u32 found;
};

static bool is_meant(const struct listing *l, const struct cached_file *f)
{
	return f->directory >= 0 && (!l->build_id || str_eq(l->build_id, f->build_id));
}

static void print_json(struct listing *l, const struct cached_file *f,
		       const struct cache_entry *entry)
{
	struct json j = JSON_INIT(&l->out);

	json_object(&j);
	json_member_text(&j, "path", f->origin);
	json_member_text(&j, "build_id", f->build_id);
	json_member_text(&j, "event", entry->event);
	json_member_text(&j, "command", entry->command);
	json_member_bool(&j, "is_sdt", entry->is_sdt);
	json_key(&j, "lines");
	json_array(&j);
	for (size_t i = 0; i < entry->lines.len; i++)
		json_text(&j, entry->lines.items[i]);
	json_end(&j, ']');
	json_end(&j, '}');
	json_end_line(&j);
}

static int list_file(void *arg, struct cached_file *f)
{
	struct listing *l = arg;
	struct cache_entries e = {0};
	bool is_first = true;

	if (!is_meant(l, f) || cached_file_read(f, &l->command->diag, &e)) {
		cache_entries_release(&e);
		return 0;
	}
	for (size_t i = 0; i < e.list.len; i++) {
		const struct cache_entry *entry = &e.list.items[i];

		if (!cache_entry_matches(entry, l->glob))
			continue;
		if (l->command->o.json) {
			print_json(l, f, entry);
			continue;
		}
		if (is_first) {
			escape_line(&l->out, f->origin, strlen(f->origin));
			strbuf_addf(&l->out, " (%s):\n", f->build_id);
		}
		is_first = false;
		escape_line(&l->out, entry->text, strlen(entry->text));
		strbuf_addch(&l->out, '\n');
	}
	cache_entries_release(&e);
	return 0;
}

static int remove_matching(void *arg, struct cache_entries *e)
{
	struct listing *l = arg;
	u32 count = 0;

	for (size_t i = 0; i < e->list.len; i++) {
		const struct cache_entry *entry = &e->list.items[i];

		if (!cache_entry_matches(entry, l->glob))
			continue;
		count++;
		strbuf_addstr(&l->out, "Removed cached event: ");
		escape_line(&l->out, entry->event ? entry->event : entry->text,
			    strlen(entry->event ? entry->event : entry->text));
		strbuf_addch(&l->out, '\n');
	}
	if (!l->command->o.dry_run)
		cache_entries_remove(e, l->glob);
	l->found += count;
	return count && !l->command->o.dry_run ? 0 : 1; /* 1: not written back */
}

static int remove_from_file(void *arg, struct cached_file *f)
{
	struct listing *l = arg;

	if (is_meant(l, f))
		cached_file_change(f, &l->command->diag, remove_matching, l);
	return 0;
}

/* With -x or -k only for that file. */
static int with_cache(struct listing *l, int (*fn)(void *arg, struct cached_file *f))
{
	struct probe_command *p = l->command;
	struct translate_config config = probe_target_of(p);
	struct translator *t = NULL;
	struct probe_cache *cache;
	char *id = NULL;
	int rc;

	if (config.file || config.vmlinux) {
		t = translator_new(p->kernel, &p->diag, &config);
		id = t ? target_id(t) : NULL;
		l->build_id = id ? id : "";
	}
	rc = p->diag.errors ? -ENOENT : probe_cache_open(&p->diag, p->o.buildid_dir, false, &cache);
	if (!rc) {
		rc = probe_cache_each(cache, &p->diag, fn, l);
		probe_cache_close(cache);
	} else if (rc == -ENOENT && !p->diag.errors) {
		rc = 0; /* nothing is cached yet */
	}
	translator_release(t);
	free(id);
	return rc;
}

int probe_cached_list(struct probe_command *p)
{
	struct listing l = {.command = p, .glob = *p->o.list ? p->o.list : "*", .out = STRBUF_INIT};
	const int rc = with_cache(&l, list_file);

	fwrite(l.out.data, 1, l.out.len, stdout);
	strbuf_release(&l.out);
	return rc ? EXIT_FAILED : EXIT_OK;
}

int probe_cached_delete(struct probe_command *p)
{
	struct listing l = {.command = p, .out = STRBUF_INIT};
	int rc = 0;

	for (u32 i = 0; i < p->o.del.count && !rc; i++) {
		l.glob = p->o.del.items[i];
		l.found = 0;
		rc = with_cache(&l, remove_from_file);
		if (!rc && !l.found && !p->diag.errors) {
			diag_error(&p->diag, NO_SPAN, "\"%s\" does not hit any event.", l.glob);
			diag_hint(&p->diag, "--cache -l shows what is cached");
		}
	}
	if (!p->o.quiet)
		fwrite(l.out.data, 1, l.out.len, stderr);
	strbuf_release(&l.out);
	return rc ? EXIT_FAILED : EXIT_OK;
}
