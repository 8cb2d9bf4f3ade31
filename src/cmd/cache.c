/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace cache`: programs and definitions of probes by build-id (probe/cache/cache.h). */
#include "cmd/cache.h"

#include <stdio.h>

#include "base/base.h"
#include "base/escape.h"
#include "base/nearest.h"
#include "base/options.h"
#include "binary/debug/index.h"
#include "binary/elf/file.h"
#include "probe/cache/cache.h"
#include "probe/cache/sdt.h"
#include "view/sink.h"

struct cache_options {
	const char *directory;
	bool dry_run, json;
};

static const struct option_spec options[] = {
	{0, "buildid-dir", "DIR", "the cache; default: ~/.debug, which perf uses, too",
	 OPTION_STRING, offsetof(struct cache_options, directory)},
	{'n', "dry-run", NULL, "remove, prune and purge: only say what would be removed",
	 OPTION_FLAG, offsetof(struct cache_options, dry_run)},
	{'j', "json", NULL, "list, verify and indexes: an object a line", OPTION_FLAG,
	 offsetof(struct cache_options, json)},
	{0},
};

static const struct option_field fields[] = {
	{"BUILD-ID", "of the program; * behind it: the program has gone or changed since"},
	{"SIZE", "bytes of its files in the cache"},
	{"PROBES", "definitions, statically defined events included"},
	{"PATH", "of the program when it was added"},
	{0},
};

static const struct command_spec spec = {
	.name = "cache",
	.synopsis =
		"[list | add FILE... | remove FILE|BUILD-ID... | prune | verify | indexes | purge] "
		"[options]",
	.summary = "programs and definitions of probes that are kept by build-id",
	.examples =
		"  pantrace cache                          # what is in it\n"
		"  pantrace cache add ./app                # a program, with its USDT events\n"
		"  pantrace probe -x ./app --cache -n -a 'parse len'   # a definition, kept for "
		"others\n"
		"  pantrace cache remove 3f8a              # one, by the beginning of its "
		"build-id\n"
		"  pantrace cache prune -n                 # which programs have gone or changed\n"
		"  pantrace cache verify                   # is all of it what it says?\n"
		"  pantrace cache indexes                  # of debug information, and their "
		"sizes\n"
		"  pantrace cache purge                    # removes them\n",
	.details = "Definitions of probes in the cache work on machines without debug "
		   "information: copy the directory there. They apply only to programs and "
		   "kernels with the same build-id.\n\n"
		   "The directory has perf's layout: `perf probe --cache --list` and `perf "
		   "buildid-cache --list` show what is added here, and the other way round. It "
		   "must belong to the user, and nobody else may be able to write to it. "
		   "Programs are copied, not linked, so that the copy survives changes of the "
		   "program.\n\n"
		   "remove takes a file, all of whose build-ids are removed, or a build-id or "
		   "its beginning (4 digits or more). prune removes entries whose program is "
		   "gone or now has another build-id, including those brought from another "
		   "machine.\n\n"
		   "Indexes say which part of a large file of debug information has what (see "
		   "`pantrace probe`). They are kept in ~/.cache/pantrace/index, or below "
		   "$XDG_CACHE_HOME, take at most 512 MB, and are made again when needed: purge "
		   "costs only time.\n",
	.options = options,
	.fields = fields,
};

struct cache_run {
	const struct cache_options *options;
	char **words;
	int count;
	struct diag diag;
	struct probe_cache *cache;
	struct strbuf out;
	struct sink sink;
	u32 found; /* files that were listed, removed, or are wrong */
};

/* ---- list, verify ---- */

static const struct sink_column list_columns[] = {
	{"build_id", "BUILD-ID", 41}, {"size", "SIZE", -10},
	{"probes", "PROBES", -7},     {"outdated"},
	{"path", "PATH", 0},	      {0},
};

static u64 count_definitions(struct cache_run *r, const struct cached_file *f)
{
	struct cache_entries e = {0};
	u64 n = 0;

	if (f->directory >= 0 && !cached_file_read(f, &r->diag, &e))
		n = e.list.len;
	cache_entries_release(&e);
	return n;
}

static int list_one(void *arg, struct cached_file *f)
{
	struct cache_run *r = arg;
	const bool outdated = cached_file_is_outdated(f);
	char *id = xasprintf("%s%s", f->build_id, outdated && !r->options->json ? "*" : "");

	sink_row(&r->sink, SINK_TEXT(id), SINK_NUMBER(f->size),
		 SINK_NUMBER(count_definitions(r, f)), SINK_BOOL(outdated), SINK_TEXT(f->origin));
	free(id);
	return 0;
}

static int list(struct cache_run *r)
{
	r->sink.columns = list_columns;
	if (r->cache && probe_cache_each(r->cache, &r->diag, list_one, r))
		return EXIT_FAILED;
	return EXIT_OK;
}

static const struct sink_column verify_columns[] = {
	{"build_id", "BUILD-ID", 41},
	{"path", "PATH", 32},
	{"wrong", "WHAT IS WRONG", 0},
	{0},
};

static int verify_one(void *arg, struct cached_file *f)
{
	struct cache_run *r = arg;
	char *what = cached_file_check(f);

	if (what) {
		r->found++;
		sink_row(&r->sink, SINK_TEXT(f->build_id), SINK_TEXT(f->origin), SINK_TEXT(what));
	}
	free(what);
	return 0;
}

static int verify(struct cache_run *r)
{
	r->sink.columns = verify_columns;
	if (r->cache && probe_cache_each(r->cache, &r->diag, verify_one, r))
		return EXIT_FAILED;
	return r->found || r->diag.warnings ? EXIT_FAILED : EXIT_OK;
}

/* ---- add ---- */

struct sdt_of {
	struct elf_file *elf;
	const char *path;
	u32 events;
};

static int add_sdt(void *arg, struct cache_entries *e)
{
	struct sdt_of *s = arg;

	s->events = cache_add_sdt(e, s->elf, s->path);
	return 0;
}

static int add_file(struct cache_run *r, const char *path, struct elf_file *elf)
{
	struct cached_file file;
	struct sdt_of sdt = {.elf = elf, .path = path};
	const char *id = elf_file_build_id(elf);
	int err;

	if (!id) {
		diag_error(&r->diag, NO_SPAN, "%s has no build-id, by which it could be found",
			   path);
		diag_hint(&r->diag, "link it with -Wl,--build-id");
		return -ENODATA;
	}
	err = probe_cache_add(r->cache, &r->diag, id, path, &file);
	if (err)
		return err;
	err = cached_file_change(&file, &r->diag, add_sdt, &sdt);
	if (!err) {
		strbuf_addf(&r->out, "Added %s ", id);
		escape_line(&r->out, path, strlen(path));
		if (!str_eq(file.origin, path)) {
			strbuf_addstr(&r->out, ", which is there as ");
			escape_line(&r->out, file.origin, strlen(file.origin));
		}
		if (sdt.events)
			strbuf_addf(&r->out, ", with %u USDT event%s", sdt.events,
				    plural(sdt.events));
		strbuf_addch(&r->out, '\n');
	}
	cached_file_release(&file);
	return err;
}

static int add(struct cache_run *r)
{
	for (int i = 0; i < r->count; i++) {
		char *found = binary_resolve_here(r->words[i], 0);
		char *path = found ? realpath(found, NULL) : NULL;
		struct elf_file *elf;
		int err = path ? elf_file_open(path, &elf) : -ENOENT;

		if (err)
			diag_error(&r->diag, NO_SPAN, "cannot add %s: %s", r->words[i],
				   err == -ENOEXEC ? "it is no ELF file" : strerror(-err));
		else
			add_file(r, path, elf);
		if (!err)
			elf_file_close(elf);
		free(path);
		free(found);
	}
	return EXIT_OK;
}

/* ---- remove, prune ---- */

struct removal {
	struct cache_run *run;
	const char *word, *path; /* word NULL: what is outdated */
	u32 count;
};

static bool is_meant(const struct removal *m, const struct cached_file *f)
{
	if (!m->word)
		return f->directory < 0 || cached_file_is_outdated(f);
	return (strlen(m->word) >= 4 && str_starts(f->build_id, m->word)) ||
	       str_eq(f->origin, m->path ? m->path : m->word);
}

static int remove_one(void *arg, struct cached_file *f)
{
	struct removal *m = arg;
	struct cache_run *r = m->run;

	if (!is_meant(m, f))
		return 0;
	m->count++;
	if (!r->options->dry_run && probe_cache_remove(r->cache, &r->diag, f))
		return -EIO;
	strbuf_addf(&r->out, "%s %s ", r->options->dry_run ? "Would remove" : "Removed",
		    f->build_id);
	escape_line(&r->out, f->origin, strlen(f->origin));
	strbuf_addch(&r->out, '\n');
	return 0;
}

static int remove_words(struct cache_run *r)
{
	for (int i = 0; i < r->count; i++) {
		char *path = realpath(r->words[i], NULL);
		struct removal m = {.run = r, .word = r->words[i], .path = path};
		const int rc = r->cache ? probe_cache_each(r->cache, &r->diag, remove_one, &m) : 0;

		free(path);
		if (rc)
			return EXIT_FAILED;
		if (!m.count)
			diag_error(&r->diag, NO_SPAN, "nothing in the cache is of %s", r->words[i]);
	}
	return EXIT_OK;
}

static int prune(struct cache_run *r)
{
	struct removal m = {.run = r};

	return r->cache && probe_cache_each(r->cache, &r->diag, remove_one, &m) ? EXIT_FAILED
										: EXIT_OK;
}

/* ---- indexes of debug information ---- */

static const struct sink_column index_columns[] = {
	{"build_id", "BUILD-ID", 41},
	{"size", "SIZE", -10},
	{"used", "USED", 0},
	{0},
};

static int list_index(void *arg, const struct index_kept *k)
{
	struct cache_run *r = arg;
	char used[32] = "";
	struct tm tm;

	if (localtime_r(&k->used, &tm))
		strftime(used, sizeof(used), "%Y-%m-%d", &tm);
	sink_row(&r->sink, SINK_TEXT(k->build_id), SINK_NUMBER(k->size), SINK_TEXT(used));
	return 0;
}

static int purge_index(void *arg, const struct index_kept *k)
{
	struct cache_run *r = arg;
	const int err = r->options->dry_run ? 0 : index_remove(k->build_id);

	if (err)
		diag_error(&r->diag, NO_SPAN, "cannot remove the index of %s: %s", k->build_id,
			   strerror(-err));
	else
		strbuf_addf(&r->out, "%s the index of %s, %" PRIu64 " bytes\n",
			    r->options->dry_run ? "Would remove" : "Removed", k->build_id, k->size);
	return 0;
}

static int each_index(struct cache_run *r, int (*fn)(void *arg, const struct index_kept *k))
{
	const int err = index_each_kept(fn, r);

	if (!err || err == -ENOENT)
		return EXIT_OK;
	diag_error(&r->diag, NO_SPAN, "the indexes cannot be read: %s",
		   err == -EPERM ? "their folder, or one above it, belongs to others, or they may "
				   "write there"
				 : strerror(-err));
	return EXIT_FAILED;
}

static int indexes(struct cache_run *r)
{
	r->sink.columns = index_columns;
	return each_index(r, list_index);
}

static int purge(struct cache_run *r)
{
	return each_index(r, purge_index);
}

/* ---- the command ---- */

static const struct verb {
	const char *name;
	int (*run)(struct cache_run *r);
	bool takes_words, makes, shows_rows;
	bool is_of_indexes; /* --buildid-dir has no part in it */
} verbs[] = {
	{"list", list, .shows_rows = true},
	{"add", add, .takes_words = true, .makes = true},
	{"remove", remove_words, .takes_words = true},
	{"prune", prune},
	{"verify", verify, .shows_rows = true},
	{"indexes", indexes, .shows_rows = true, .is_of_indexes = true},
	{"purge", purge, .is_of_indexes = true},
};

static const struct verb *find_verb(const char *word)
{
	struct nearest near;

	nearest_init(&near, word);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (str_eq(verbs[i].name, word))
			return &verbs[i];
		nearest_offer(&near, verbs[i].name);
	}
	options_usage_error(&spec, "there is no command '%s'%s", word, nearest_question(&near));
	return NULL;
}

static int run(const struct verb *verb, const struct cache_options *o, char **words, int count)
{
	struct cache_run r = {.options = o,
			      .words = words,
			      .count = count,
			      .diag = DIAG_INIT,
			      .out = STRBUF_INIT};
	int rc, err;

	r.sink = (struct sink){.format = sink_of(o->json), .out = &r.out};
	err = verb->is_of_indexes ? 0
				  : probe_cache_open(&r.diag, o->directory, verb->makes, &r.cache);
	if (err == -ENOENT && !r.diag.errors && o->directory)
		diag_error(&r.diag, NO_SPAN, "there is no cache %s", o->directory);
	rc = r.diag.errors ? EXIT_FAILED : verb->run(&r);
	fwrite(r.out.data, 1, r.out.len, stdout);
	strbuf_release(&r.out);
	probe_cache_close(r.cache);
	return diag_close(&r.diag, rc);
}

int cmd_cache(int argc, char **argv)
{
	struct cache_options o = {0};
	const struct verb *verb = verbs;
	int first, rc = options_parse(&spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (first < argc)
		verb = find_verb(argv[first++]);
	if (!verb)
		return EXIT_USAGE;
	if (verb->takes_words && first == argc)
		return options_usage_error(&spec, "%s needs a file%s", verb->name,
					   verb->makes ? "" : " or a build-id");
	if (!verb->takes_words && first < argc)
		return options_usage_error(&spec, "unexpected argument '%s'", argv[first]);
	if (o.json && !verb->shows_rows)
		return options_usage_error(&spec, "--json is for list, verify and indexes");
	if (o.dry_run && (verb->makes || verb->shows_rows))
		return options_usage_error(&spec, "-n is for remove, prune and purge");
	if (o.directory && verb->is_of_indexes)
		return options_usage_error(&spec, "--buildid-dir is not where indexes are kept");
	return run(verb, &o, argv + first, argc - first);
}
