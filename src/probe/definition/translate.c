/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/definition/translate.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>

#include "kernel/symbols/ksyms.h"
#include "kernel/tracefs/lasting_event.h"
#include "probe/definition/internal.h"
#include "probe/user.h"

/* ---- the target ---- */

static int open_target(struct translator *t)
{
	const struct translate_config *c = t->config;
	const char *const given = c->file ? c->file : c->vmlinux;
	char *path, *real, *below;
	int err;

	path = c->file ? binary_resolve(c->file, c->pid) : xstrdup(given);
	below = xasprintf("%s%s%s", c->symfs ? c->symfs : "", c->symfs ? "/" : "",
			  c->symfs ? given
			  : path   ? path
				   : given);
	real = realpath(below, NULL);
	free(path);
	free(below);
	if (!real) {
		diag_error(t->diag, NO_SPAN, "Failed to get the absolute path of %s: %s", given,
			   strerror(ENOENT));
		if (c->file)
			diag_hint(
				t->diag,
				"a path, a program in $PATH, or a library as libc or libssl.so.3");
		return -ENOENT;
	}
	err = user_open(&t->env, NO_SPAN, real, true, &t->file);
	t->path = arena_strdup(&t->arena, c->symfs ? given : real);
	free(real);
	return err;
}

struct translator *translator_new(struct kernel *k, struct diag *d,
				  const struct translate_config *config)
{
	struct translator *t = xzalloc(sizeof(*t));

	t->kernel = k;
	t->diag = d;
	t->config = config;
	t->is_user = config->file != NULL;
	type_store_init(&t->types);
	t->env = (struct probe_env){
		.types = &t->types,
		.kernel = k,
		.arena = &t->arena,
		.diag = d,
		.compile_only = !config->is_live,
		.debug_path = config->debug_path,
	};
	if ((config->file || config->vmlinux) && open_target(t)) {
		translator_release(t);
		return NULL;
	}
	return t;
}

void translator_release(struct translator *t)
{
	if (!t)
		return;
	probe_env_release(&t->env);
	type_store_release(&t->types);
	arena_release(&t->arena);
	free(t);
}

struct elf_file *translator_file(struct translator *t)
{
	return t->file;
}

/* ---- names ---- */

/* "probe_demo" of "/tmp/demo-1.2", "probe" of the kernel. */
static const char *group_of(struct translator *t, const struct point *p, const struct place *place)
{
	const char *base;
	size_t n = 0;

	if (p->group)
		return p->group;
	if (place->sdt_provider)
		return arena_printf(&t->arena, "sdt_%s", place->sdt_provider);
	if (!t->is_user)
		return "probe";
	base = strrchr(t->path, '/');
	base = base ? base + 1 : t->path;
	while (isalnum((unsigned char)base[n]) || base[n] == '_')
		n++;
	return arena_printf(&t->arena, "probe_%.*s", (int)MIN(n, (size_t)EVENT_NAME_MAX - 6), base);
}

/* As a C name: without what the compiler, the linker or C++ put behind it. */
static const char *plain_name(struct translator *t, const char *function)
{
	char *name = arena_strdup(&t->arena, function + (*function == '.')), *end;

	end = strpbrk(name, ".@(");
	if (end && end != name)
		*end = '\0';
	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			*p = '_';
	return isdigit((unsigned char)*name) ? arena_printf(&t->arena, "_%s", name) : name;
}

static const char *event_of(struct translator *t, const struct point *p, const struct place *place)
{
	const bool is_pattern = p->function && !p->is_exact && glob_has_wildcard(p->function);
	const char *name = p->event;

	if (!name && place->sdt_event)
		name = place->sdt_event;
	if (!name && p->has_address)
		name = arena_printf(&t->arena, "abs_%" PRIx64, p->address);
	if (!name && p->function && !is_pattern) {
		name = plain_name(t, p->function);
		if (p->line)
			name = arena_printf(&t->arena, "%s_L%u", name, p->line);
	}
	if (!name)
		name = place->function ? plain_name(t, place->function) : "line";
	return p->is_return ? arena_printf(&t->arena, "%s__return", name) : name;
}

/* ---- the place ---- */

static int add_user_place(struct translator *t, const struct point *p, const struct place *place,
			  struct tracefs_command *c)
{
	u64 offset, base;
	char *disk, *text;

	if (strpbrk(t->path, " \t\n")) {
		diag_error(t->diag, NO_SPAN, "the kernel does not take a path with blanks: %s",
			   t->path);
		diag_hint(t->diag, "make a link without blanks to it, and name that");
		return -EINVAL;
	}
	if (elf_file_offset(t->file, place->address, &offset))
		return -EINVAL;
	disk = elf_file_on_disk(t->file, &base);
	text = xasprintf("%s:0x%" PRIx64, t->config->symfs ? t->path : disk, base + offset);
	tracefs_command_stands_for(c, text, p->at);
	if (place->semaphore)
		tracefs_command_add(c, "(0x%" PRIx64 ")", base + place->semaphore);
	free(text);
	free(disk);
	return 0;
}

/* As an offset from the kernel's beginning several functions of one name are told apart. */
static void add_kernel_place(struct translator *t, const struct point *p, const struct place *place,
			     struct tracefs_command *c)
{
	const u64 begin =
		t->config->vmlinux || place->module ? 0 : kernel_symbol_address(t->kernel, "_text");
	struct strbuf text = STRBUF_INIT;

	if (p->has_address)
		strbuf_addf(&text, "0x%" PRIx64, p->address);
	else if (begin && place->address >= begin)
		strbuf_addf(&text, "_text+%" PRIu64, place->address - begin);
	else
		strbuf_addf(&text, "%s%s%s+%" PRIu64, place->module ? place->module : "",
			    place->module ? ":" : "", place->symbol, place->into);
	tracefs_command_stands_for(c, text.data, p->at);
	strbuf_release(&text);
}

static int add_translation(struct translator *t, const struct point_definition *def,
			   const struct place *place, struct translation *ret)
{
	struct translated_place new = {.command = TRACEFS_COMMAND_INIT, .signature = ""};
	int err = 0;

	if (t->is_user)
		err = add_user_place(t, &def->point, place, &new.command);
	else
		add_kernel_place(t, &def->point, place, &new.command);
	new.function = place->function;
	if (!err)
		err = fetch_arguments(t, def, place, &new);
	vector_push(&ret->places, new);
	return err;
}

int translate(struct translator *t, const char *text, struct translation *ret)
{
	struct places places = {0};
	int err;

	*ret = (struct translation){.is_user = t->is_user};
	err = point_parse(&t->arena, t->diag, text, &ret->definition);
	if (!err)
		err = places_find(t, &ret->definition.point, &places);
	if (!err) {
		const struct point *const p = &ret->definition.point;

		ret->is_return = p->is_return;
		ret->group = group_of(t, p, &places.list.items[0]);
		ret->event = event_of(t, p, &places.list.items[0]);
		ret->shown = t->is_user ? arena_printf(&t->arena, "%s in %s", p->text, t->path)
					: p->text;
	}
	for (size_t i = 0; i < places.list.len && !err; i++)
		err = add_translation(t, &ret->definition, &places.list.items[i], ret);
	vector_free(&places.list);
	return err;
}

void translation_release(struct translation *r)
{
	for (size_t i = 0; i < r->places.len; i++)
		tracefs_command_release(&r->places.items[i].command);
	vector_free(&r->places);
	point_definition_release(&r->definition);
}
