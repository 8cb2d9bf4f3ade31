/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/kernel_cached.h"

#include "binary/debug/lines.h"
#include "kernel/symbols/ksyms.h"
#include "probe/cache/cache.h"
#include "probe/function.h"
#include "probe/kernel_debug.h"
#include "probe/probe_event.h"
#include "probe/variables.h"

/* What several definitions of one line fetch at one place of it. */
struct cached_place {
	char *place; /* "vfs_read+351" */
	struct strbuf fetched; /* "ret=%bx:s64 count=%dx:x64" */
};

struct gather {
	const struct kernel_line *line;
	VECTOR(struct cached_place) places;
};

/* "vfs_read:19 ret", "fs/read_write.c:466": a definition of the line that is meant? */
static bool is_of_line(const struct kernel_line *line, const char *command)
{
	char *point = xstrndup(command, strcspn(command, " "));
	char *colon = strrchr(point, ':');
	u64 number;
	bool yes = colon && probe_parse_number(colon + 1, &number) && number == line->line.line;

	if (yes) {
		*colon = '\0';
		yes = line->function ? str_eq(point, line->function)
				     : debug_path_ends_with(point, line->line.source);
	}
	free(point);
	return yes;
}

static struct cached_place *place_of(struct gather *g, const struct cache_line *l)
{
	char *place = xstrndup(l->place, l->place_len);

	for (size_t i = 0; i < g->places.len; i++)
		if (str_eq(g->places.items[i].place, place)) {
			free(place);
			return &g->places.items[i];
		}
	vector_push(&g->places, (struct cached_place){place, STRBUF_INIT});
	return &vector_last(&g->places);
}

static void gather(struct gather *g, const struct cache_entries *e)
{
	struct cache_line l;

	for (size_t i = 0; i < e->list.len; i++) {
		const struct cache_entry *entry = &e->list.items[i];

		if (entry->is_sdt || !is_of_line(g->line, entry->command))
			continue;
		for (size_t k = 0; k < entry->lines.len; k++)
			if (cache_line_parse(entry->lines.items[k], &l) && !l.is_return)
				strbuf_addf(&place_of(g, &l)->fetched, " %s", l.arguments);
	}
}

/* 0, -ENOENT, or -errno with a diagnostic. */
static int read_cache(struct probe_env *env, const char *module, struct gather *g)
{
	char *id = module ? module_build_id(module) : kernel_build_id();
	struct cache_entries e = {0};
	struct probe_cache *cache;
	struct cached_file file;
	int err = id ? probe_cache_open(env->diag, NULL, false, &cache) : -ENOENT;

	if (!err) {
		err = probe_cache_find(cache, env->diag, id, &file);
		if (!err) {
			err = cached_file_read(&file, env->diag, &e);
			cached_file_release(&file);
		}
		probe_cache_close(cache);
	}
	if (!err)
		gather(g, &e);
	cache_entries_release(&e);
	free(id);
	return err;
}

/* Where the function begins; the kernel looks up others by name. */
static int find_entry(struct probe_env *env, const struct probe_request *r,
		      struct kernel_image *image, struct elf_symbol *s, u64 *into)
{
	const u64 begin =
		str_eq(s->name, "_text") ? kernel_symbol_address(env->kernel, "_text") : 0;
	struct kernel_function f = {0};
	struct kernel_symbol found;

	if (begin && kernel_symbol_at(env->kernel, begin + *into, &found)) {
		*into -= found.address - begin;
		image->entry = found.address;
		s->name = found.name;
	} else if (image->module && function_in_module(env, image->module, s->name, &f) == 1) {
		image->entry = f.address;
	}
	return image->entry ? 0 : function_check_unique(env, r, s->name);
}

/*
 * "vfs_read+351", "ext4:ext4_iget+20", and "_text+7047664", which is resolved if the kernel's
 * addresses are known.
 */
static int offer(struct probe_env *env, const struct probe_request *r, const char *module,
		 struct cached_place *p, kernel_line_fn fn, void *arg)
{
	struct kernel_image image = {.module = module,
				     .fetched = arena_strdup(env->arena, p->fetched.data)};
	char *const colon = module ? strchr(p->place, ':') : NULL;
	char *plus = strchr(p->place, '+');
	struct elf_symbol s = {.name = colon ? colon + 1 : p->place};
	u64 into = 0;
	int err;

	if (plus && !probe_parse_number(plus + 1, &into)) {
		diag_error(env->diag, r->span, "the cache has a place that is not understood: %s",
			   p->place);
		return -EINVAL;
	}
	if (plus)
		*plus = '\0';
	err = find_entry(env, r, &image, &s, &into);
	if (!err)
		err = function_check_blacklist(env, r->span, s.name);
	return err ? err : fn(arg, &image, &(struct debug_point){0}, &s, into);
}

int kernel_cached_each(struct probe_env *env, const struct probe_request *r,
		       const struct kernel_line *line, const char *module, kernel_line_fn fn,
		       void *arg)
{
	struct gather g = {.line = line};
	int err = read_cache(env, module, &g);

	if (!err && !g.places.len)
		err = -ENOENT;
	for (size_t i = 0; i < g.places.len; i++) {
		struct cached_place *p = &g.places.items[i];

		if (!err)
			err = offer(env, r, module, p, fn, arg);
		strbuf_release(&p->fetched);
		free(p->place);
	}
	vector_free(&g.places);
	return err;
}

struct probe_place *kernel_cached_place(struct probe_env *env, const struct kernel_image *image)
{
	struct arena *const arena = &env->types->arena;
	struct probe_place *const place = arena_new(arena, struct probe_place);
	const struct probe_variable **end = &place->all;
	char *text = arena_strdup(arena, image->fetched), *word, *rest;

	place->kernel = image;
	place->all_read = true;
	for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		struct probe_variable *v = arena_new(arena, struct probe_variable);

		v->is.kind = DEBUG_LOCAL;
		v->location =
			probe_event_field(env, word, false, false, 0, &v->is.name, &v->is.type);
		*end = v;
		end = &v->next;
	}
	place->known = place->all;
	return place;
}
