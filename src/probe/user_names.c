/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions in files: as people write them in C++ and Rust, and in lists. */
#include <stdio.h>

#include "probe/user.h"

#include "binary/debug/lines.h"
#include "binary/process/maps.h"

/* ---- one of several ---- */

#define SHOWN 8u /* places that are named */

struct same_name {
	const char *name;
	u64 addresses[SHOWN];
	u32 count;
};

static int count_same(void *arg, const struct elf_symbol *s)
{
	struct same_name *q = arg;

	if (!s->is_function || !s->is_local || !str_eq(s->name, q->name))
		return 0;
	if (q->count < SHOWN)
		q->addresses[q->count] = s->address;
	q->count++;
	return 0;
}

/* "0x1139 (a.c:3), 0x1180 (b.c:7)" */
static void add_places(struct strbuf *out, struct elf_file *f, const struct same_name *q)
{
	for (u32 i = 0; i < MIN(q->count, SHOWN); i++) {
		const char *source;
		u32 line;

		strbuf_addf(out, "%s0x%" PRIx64, i ? ", " : "", q->addresses[i]);
		if (!debug_line_at(f, q->addresses[i], &source, &line))
			strbuf_addf(out, " (%s:%u)", path_base_name(source), line);
	}
	if (q->count > SHOWN)
		strbuf_addf(out, " and %u more", q->count - SHOWN);
}

int user_check_unique(struct probe_env *env, const struct probe_request *r, struct elf_file *f,
		      const struct elf_symbol *s, const char *written)
{
	struct same_name q = {.name = s->name};
	struct strbuf places = STRBUF_INIT;
	const int last = (int)strlen(written) - 1;
	const char *file = elf_file_path(f);

	/* A global one is what its name means. */
	if (!s->is_local || !s->is_function)
		return 0;
	elf_file_each_symbol(f, count_same, &q);
	if (q.count < 2)
		return 0;
	add_places(&places, f, &q);
	diag_error(env->diag, r->span,
		   "cannot attach to %s: the name is not unique: %u functions are called %s, at %s",
		   r->text, q.count, written, places.data);
	diag_hint(env->diag, "%s:%s:0x%" PRIx64 " means the first, %s:%s:%.*s[%c] all of them",
		  r->parts[0], file, q.addresses[0], r->parts[0], file, last, written,
		  written[last]);
	strbuf_release(&places);
	return -EINVAL;
}

/* ---- lists ---- */

struct each_arg {
	const struct probe_listing *listing;
	const char *path, *function_glob;
	const char *language; /* "cpp", "rust": names as people write them; NULL = as in the file */
	struct hashmap seen; /* a name may stand in .symtab at several addresses */
};

static int each_symbol(void *arg, const struct elf_symbol *s)
{
	struct each_arg *a = arg;
	struct strbuf sb = STRBUF_INIT;
	char *readable = NULL;
	bool is_new;
	int err;

	if (!s->is_function || !(a->language ? mangled_name_matches(a->function_glob, s->name)
					     : glob_match(a->function_glob, s->name)))
		return 0;
	hashmap_put(&a->seen, s->name, strlen(s->name), &is_new);
	if (!is_new)
		return 0;
	if (a->language && (readable = demangle(s->name)))
		strbuf_addf(&sb, "%s:%s:%s:\"%s\"", a->listing->provider->name, a->path,
			    a->language, demangled_name(readable));
	else
		strbuf_addf(&sb, "%s:%s:%s", a->listing->provider->name, a->path, s->name);
	err = a->listing->fn(a->listing->arg, sb.data);
	free(readable);
	strbuf_release(&sb);
	return err;
}

static int each_file(void *arg, const char *path)
{
	struct each_arg *a = arg;
	struct elf_file *f;
	int err;

	if (user_open(a->listing->env, NO_SPAN, path, false, &f))
		return 0;
	a->path = path;
	err = elf_file_each_symbol(f, each_symbol, a);
	hashmap_release(&a->seen);
	a->seen = (struct hashmap){0};
	return err ? err : user_check_files(a->listing->env, NO_SPAN);
}

/* "FILE:cpp:NAME", "FILE:rust:NAME": the colon behind FILE; NULL: it is none of these. */
static const char *language_of(struct probe_env *env, const char *words, struct each_arg *a)
{
	static const char *const languages[] = {"cpp", "c++", "rust"};

	for (size_t i = 0; i < ARRAY_SIZE(languages); i++) {
		const char *tag = arena_printf(env->arena, ":%s:", languages[i]);
		const char *at = strstr(words, tag), *name;
		size_t len;

		if (!at)
			continue;
		name = at + strlen(tag);
		len = strlen(name);
		if (*name == '"' && len > 1 && name[len - 1] == '"')
			name = arena_strndup(env->arena, name + 1, len - 2);
		a->language = languages[i];
		a->function_glob = name;
		return at;
	}
	return NULL;
}

/*
 * Only "uprobe:FILE:FUNCTION" can be listed: without a file or a function there is no end to the
 * symbols of a machine.
 */
int user_each_function(const struct probe_listing *l)
{
	struct probe_env *const env = l->env;
	const char *const provider = l->provider->name, *glob = l->glob;
	struct each_arg a = {.listing = l};
	const size_t prefix = strlen(provider) + 1;
	const struct probe_request r = {.span = NO_SPAN, .text = glob, .pid = env->pid};
	const char *colon, *file;

	if (!glob && env->pid && str_eq(provider, "uprobe"))
		glob = "uprobe:*";
	if (!glob || !str_starts(glob, provider) || strlen(glob) <= prefix)
		return 0;
	colon = language_of(env, glob + prefix, &a);
	if (!colon) {
		colon = strrchr(glob + prefix, ':');
		a.function_glob = colon ? colon + 1 : "*";
	}
	file = colon ? arena_strndup(env->arena, glob + prefix, (size_t)(colon - glob) - prefix)
		     : glob + prefix;
	if (!env->pid && (!*file || (str_eq(file, "*") && str_eq(a.function_glob, "*"))))
		return 0;
	return user_each_file(env, &r, file, each_file, &a);
}
