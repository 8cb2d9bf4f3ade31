/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/definition/translate.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "binary/debug/lines.h"
#include "kernel/symbols/ksyms.h"
#include "kernel/tracefs/lasting_event.h"
#include "probe/cache/entries.h"
#include "probe/cache/sdt.h"
#include "probe/definition/internal.h"
#include "probe/kernel_debug.h"
#include "probe/user.h"

/* ---- the target ---- */

static int open_target(struct translator *t, const char *given)
{
	const struct translate_config *c = t->config;
	char *path, *real, *below;
	int err;

	path = c->file ? binary_resolve_here(c->file, c->pid) : xstrdup(given);
	below = xasprintf("%s%s%s", c->symfs ? c->symfs : "", c->symfs ? "/" : "",
			  c->symfs ? given
			  : path   ? path
				   : given);
	/* Out of another process's root no link of ours may lead. */
	real = c->pid && str_starts(below, "/proc/") ? (access(below, F_OK) ? NULL : xstrdup(below))
						     : realpath(below, NULL);
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
	t->module = config->module ? module_name(&t->arena, config->module) : NULL;
	type_store_init(&t->types);
	t->env = (struct probe_env){
		.types = &t->types,
		.kernel = k,
		.arena = &t->arena,
		.diag = d,
		.compile_only = !config->is_live,
		.debug_path = config->debug_path,
	};
	if ((config->file || config->vmlinux) &&
	    open_target(t, config->file ? config->file : config->vmlinux)) {
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
	btf_release(t->env.btf);
	type_store_release(&t->types);
	arena_release(&t->arena);
	free(t);
}

bool translator_find_debug(struct translator *t)
{
	char *path;

	if (t->file || t->config->symfs)
		return t->file != NULL;
	path = t->module ? module_debug_file(t->config->debug_path, t->config->module)
			 : kernel_debug_file(t->config->debug_path);
	if (path && !user_open(&t->env, NO_SPAN, path, false, &t->file))
		t->path = arena_strdup(&t->arena, path);
	free(path);
	/* A path may be of any build: what is told to the kernel must be of its own. */
	if (t->file && t->module && t->config->is_live &&
	    !module_is_build(t->module, elf_file_build_id(t->file))) {
		diag_warning(t->diag, NO_SPAN, "%s is not of the build of %s that is loaded",
			     t->path, t->module);
		t->file = NULL;
	}
	return t->file != NULL;
}

bool translator_find_btf(struct translator *t)
{
	if (!t->env.btf && !t->is_user && !t->config->vmlinux && !t->config->symfs)
		t->env.btf = btf_attach(&t->types, NULL);
	return t->env.btf && !btf_available(t->env.btf);
}

struct elf_file *translator_file(struct translator *t)
{
	return t->file;
}

int translator_refuse(struct translator *t, struct span at)
{
	const char *const lacks = t->file ? debug_lacks(t->file) : NULL;

	if (lacks) {
		diag_error(t->diag, at, "A part of the debug information of %s is missing: %s",
			   t->path, lacks);
		diag_hint(t->diag, "put that file there, or a package of all of them, %s.dwp",
			  t->path);
	} else if (t->file) {
		diag_error(t->diag, at, "The %s file has no debug information.", t->path);
		diag_hint(t->diag, "Rebuild with -g, or install an appropriate debuginfo package.");
	} else if (t->module) {
		diag_error(t->diag, at,
			   "no debug information of the module %s is installed, or it is of "
			   "another build",
			   t->module);
		diag_hint(t->diag, "install the kernel's debug symbols (linux-image-...-dbg, "
				   "kernel-debuginfo), or give the path of the module's .ko with "
				   "debug information");
	} else {
		diag_error(t->diag, at,
			   "Failed to find the path for the kernel: no vmlinux with debug "
			   "information is installed");
		diag_hint(t->diag,
			  "install the kernel's debug symbols (linux-image-...-dbg, "
			  "kernel-debuginfo); probe -k FILE -D prints a definition by a vmlinux "
			  "from elsewhere");
	}
	return -ENODATA;
}

int translator_check(struct translator *t)
{
	return user_check_files(&t->env, NO_SPAN);
}

/* ---- names ---- */

#define ANONYMOUS "(anonymous namespace)::"

/* As a C name: without what the compiler, the linker or C++ put behind it. */
static const char *plain_name(struct translator *t, const char *function)
{
	char *name = arena_strdup(&t->arena, function + (*function == '.')), *end;

	while ((end = strstr(name, ANONYMOUS)) != NULL)
		memmove(end, end + strlen(ANONYMOUS), strlen(end + strlen(ANONYMOUS)) + 1);
	end = strpbrk(name, ".@(");
	if (end && end != name)
		*end = '\0';
	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			*p = '_';
	return isdigit((unsigned char)*name) ? arena_printf(&t->arena, "_%s", name) : name;
}

/* "probe_demo" of "/tmp/demo-1.2", "probe" of the kernel. */
static const char *group_of(struct translator *t, const struct point *p, const struct place *place)
{
	const char *base;
	size_t n = 0;

	if (p->group)
		return p->group;
	if (place->sdt.name)
		return arena_printf(&t->arena, "sdt_%s", plain_name(t, place->sdt.provider));
	if (!t->is_user)
		return "probe";
	base = strrchr(t->path, '/');
	base = base ? base + 1 : t->path;
	while (isalnum((unsigned char)base[n]) || base[n] == '_')
		n++;
	return arena_printf(&t->arena, "probe_%.*s", (int)MIN(n, (size_t)EVENT_NAME_MAX - 6), base);
}

static const char *event_of(struct translator *t, const struct point *p, const struct place *place)
{
	const bool is_pattern = p->function && !p->is_exact && glob_has_wildcard(p->function);
	const char *name = p->event;

	if (!name && place->sdt.name)
		name = plain_name(t, place->sdt.name);
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

	if (tracefs_path_check(t->path, t->diag) ||
	    elf_file_offset(t->file, place->address, &offset))
		return -EINVAL;
	disk = elf_file_on_disk(t->file, &base);
	text = xasprintf("%s:0x%" PRIx64, t->config->symfs ? t->path : disk, base + offset);
	tracefs_command_stands_for(c, text, p->at);
	if (place->sdt.semaphore)
		tracefs_command_add(c, "(0x%" PRIx64 ")", base + place->sdt.semaphore);
	free(text);
	free(disk);
	return 0;
}

/* As an offset from the kernel's beginning several functions of one name are told apart. */
static void add_kernel_place(struct translator *t, const struct point *p, const struct place *place,
			     struct tracefs_command *c)
{
	struct strbuf text = STRBUF_INIT;
	struct elf_symbol s;
	u64 begin = 0;

	/* In the file and in memory the kernel is the same, but for where it begins. */
	if (!t->config->vmlinux && !t->config->by_symbol && !place->module &&
	    kernel_symbol_address(t->kernel, "_text"))
		begin = !t->file ? kernel_symbol_address(t->kernel, "_text")
			: elf_file_find_symbol(t->file, "_text", &s) ? 0
								     : s.address;
	if (p->has_address)
		strbuf_addf(&text, "0x%" PRIx64, p->address);
	else if (begin && place->address >= begin)
		strbuf_addf(&text, "_text+%" PRIu64, place->address - begin);
	else
		strbuf_addf(&text, "%s%s%s+%" PRIu64, place->module ? place->module : "",
			    place->module ? ":" : "", place->symbol ? place->symbol : "_text",
			    place->into);
	tracefs_command_stands_for(c, text.data, p->at);
	strbuf_release(&text);
}

/* ---- the arguments ---- */

/* An argument that some place has. */
static bool is_found(const struct fetched_list *lists, size_t count, const struct point_argument *a)
{
	for (size_t i = 0; i < count; i++)
		for (size_t n = 0; n < lists[i].list.len; n++)
			if (lists[i].list.items[n].from == a && lists[i].list.items[n].text)
				return true;
	return false;
}

/*
 * What cannot be fetched: where it was named, and no place has it, it is refused; else it is left
 * out there, aloud.
 */
static int tell_missing(struct translator *t, const struct place *place, const struct fetched *f,
			bool is_refused, bool is_one_of_several)
{
	struct diag *d = t->diag;

	if (f->is_one_of_many) {
		diag_warning(d, f->at, "left out, %s", f->why);
		return 0;
	}
	if (!is_refused) {
		diag_warning(d, f->at, "at 0x%" PRIx64 " in %s left out, %s: %s", place->address,
			     place->symbol ? place->symbol : "the file", f->from->variable, f->why);
		return 0;
	}
	diag_error(d, f->at, "%s%s%s%s: %s", "Failed to find the location of the '",
		   f->from->variable, "' variable at this address",
		   is_one_of_several ? " and the others" : "", f->why);
	if (f->hint)
		diag_hint(d, "%s", f->hint);
	return -ENOENT;
}

static void add_argument(const struct fetched *f, struct tracefs_command *c,
			 struct strbuf *signature)
{
	struct strbuf text = STRBUF_INIT;

	if (f->name)
		strbuf_addf(&text, "%s=", f->name);
	strbuf_addstr(&text, f->text);
	if (f->type)
		strbuf_addf(&text, ":%s", f->type);
	tracefs_command_add(c, " ");
	tracefs_command_stands_for(c, text.data, f->from->at);
	strbuf_addf(signature, " %s:%s", f->name ? f->name : "", f->type ? f->type : f->text);
	strbuf_release(&text);
}

static int add_arguments(struct translator *t, const struct place *place,
			 const struct fetched_list *lists, size_t count, size_t at,
			 struct translated_place *new)
{
	struct strbuf signature = STRBUF_INIT;
	u32 added = 0;
	int err = 0;

	for (size_t i = 0; i < lists[at].list.len; i++) {
		const struct fetched *f = &lists[at].list.items[i];
		const bool is_refused = !f->text && !is_found(lists, count, f->from);
		int missing;

		if (f->text) {
			added++;
			add_argument(f, &new->command, &signature);
			continue;
		}
		missing = tell_missing(t, place, f, is_refused, count > 1);
		err = err ? err : missing;
	}
	if (!err && added > ARGUMENTS_MAX) {
		diag_error(t->diag, lists[at].list.items[0].at,
			   "Too many probe arguments (%u): the kernel takes %d", added,
			   ARGUMENTS_MAX);
		err = -E2BIG;
	}
	new->signature = arena_strdup(&t->arena, signature.data);
	strbuf_release(&signature);
	return err;
}

static void add_sdt_arguments(struct translator *t, const struct place *place,
			      struct translated_place *ret)
{
	struct strbuf text = STRBUF_INIT, signature = STRBUF_INIT;

	sdt_add_arguments(&text, t->file, &place->sdt);
	tracefs_command_add(&ret->command, "%s", text.data);
	/* " arg1=+8(%si):s32": its name and its type */
	for (const char *p = text.data, *end; *p == ' '; p = end) {
		const size_t len = strcspn(p + 1, " ");

		end = p + 1 + len;
		strbuf_add(&signature, p, strcspn(p, "="));
		strbuf_add(&signature, end - strlen(":s32"), strlen(":s32"));
	}
	ret->signature = arena_strdup(&t->arena, signature.data);
	strbuf_release(&signature);
	strbuf_release(&text);
}

static int add_place(struct translator *t, const struct point_definition *def,
		     const struct place *place, struct translation *ret)
{
	struct translated_place new = {.command = TRACEFS_COMMAND_INIT, .signature = ""};
	int err = 0;

	if (t->is_user)
		err = add_user_place(t, &def->point, place, &new.command);
	else
		add_kernel_place(t, &def->point, place, &new.command);
	new.group = group_of(t, &def->point, place);
	new.event = event_of(t, &def->point, place);
	vector_push(&ret->places, new);
	return err;
}

static int add_all(struct translator *t, const struct point_definition *def, struct places *places,
		   struct translation *ret)
{
	const size_t count = places->list.len;
	struct fetched_list *lists = xzalloc(count * sizeof(*lists));
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		struct place *place = &places->list.items[i];

		place_skip_prologue(t, def, place);
		if (t->is_user && !elf_file_offset(t->file, place->address, &place->bias))
			place->bias = place->address - place->bias;
		err = add_place(t, def, place, ret);
		if (!err && place->sdt.name && !def->arguments.len)
			add_sdt_arguments(t, place, &ret->places.items[i]);
		else if (!err)
			err = fetch_arguments(t, def, place, &lists[i]);
	}
	for (size_t i = 0; i < count && !err; i++)
		if (lists[i].list.len)
			err = add_arguments(t, &places->list.items[i], lists, count, i,
					    &ret->places.items[i]);
	for (size_t i = 0; i < count; i++)
		vector_free(&lists[i].list);
	free(lists);
	return err;
}

int translate(struct translator *t, const char *text, struct translation *ret)
{
	struct places places = {0};
	int err;

	*ret = (struct translation){.is_user = t->is_user};
	err = point_parse(&t->arena, t->diag, text, &ret->definition);
	if (!err)
		err = places_find(t, &ret->definition, &places);
	if (!err) {
		const struct point *const p = &ret->definition.point;

		ret->is_return = p->is_return;
		ret->shown = t->is_user ? arena_printf(&t->arena, "%s in %s", p->text, t->path)
					: p->text;
		err = add_all(t, &ret->definition, &places, ret);
	}
	if (!err)
		err = translator_check(t);
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

/* Names and types of " a=%di:s32 b=+0(%si):string", as signatures have them. */
static const char *signature_of(struct translator *t, const char *arguments)
{
	struct strbuf out = STRBUF_INIT;
	const char *signature;

	for (const char *p = arguments, *end; *p; p = end + strspn(end, " ")) {
		const char *equals, *colon;

		end = p + strcspn(p, " ");
		equals = memchr(p, '=', (size_t)(end - p));
		colon = memrchr(p, ':', (size_t)(end - p));
		strbuf_addch(&out, ' ');
		if (equals)
			strbuf_add(&out, p, (size_t)(equals - p));
		if (colon)
			strbuf_add(&out, colon, (size_t)(end - colon));
	}
	signature = arena_strdup(&t->arena, out.data);
	strbuf_release(&out);
	return signature;
}

/* The file may lie elsewhere now: its path is replaced. */
static int add_cached(struct translator *t, const char *line, const struct point *p,
		      struct translation *ret)
{
	struct translated_place new = {.command = TRACEFS_COMMAND_INIT};
	const char *colon;
	struct cache_line l;

	if (!cache_line_parse(line, &l) || l.is_return != p->is_return)
		return -EINVAL;
	colon = memrchr(l.place, ':', l.place_len);
	if (t->is_user != (l.place_len && *l.place == '/') || (t->is_user && !colon))
		return -EINVAL;
	if (t->is_user)
		tracefs_command_add(&new.command, "%s%.*s", t->path,
				    (int)(l.place + l.place_len - colon), colon);
	else
		tracefs_command_add(&new.command, "%.*s", (int)l.place_len, l.place);
	if (*l.arguments)
		tracefs_command_add(&new.command, " %s", l.arguments);
	new.signature = signature_of(t, l.arguments);
	new.event = arena_strndup(&t->arena, l.event, l.event_len);
	if (p->event)
		new.event =
			p->is_return ? arena_printf(&t->arena, "%s__return", p->event) : p->event;
	new.group = p->group ? p->group : arena_strndup(&t->arena, l.group, l.group_len);
	vector_push(&ret->places, new);
	return 0;
}

int translate_cached(struct translator *t, const char *text, const char *const *lines, size_t count,
		     struct translation *ret)
{
	const struct point *const p = &ret->definition.point;
	int err;

	*ret = (struct translation){.is_user = t->is_user};
	err = point_parse(&t->arena, t->diag, text, &ret->definition);
	if (err)
		return err;
	ret->is_return = p->is_return;
	ret->shown = t->is_user ? arena_printf(&t->arena, "%s in %s", p->text, t->path) : p->text;
	for (size_t i = 0; i < count && !err; i++)
		err = add_cached(t, lines[i], p, ret);
	if (err)
		diag_error(t->diag, p->at,
			   "what the cache has for this definition is of another kind of target");
	return err;
}

int translator_each_place(struct translator *t, const char *text,
			  int (*fn)(void *arg, const struct point_place *place), void *arg)
{
	const struct point_argument all = {.kind = VALUE_VARIABLES};
	struct point_definition def;
	struct places places = {0};
	int err = point_parse(&t->arena, t->diag, text, &def);

	if (!err && def.arguments.len) {
		diag_error(t->diag, def.arguments.items[0].at,
			   "a point has no arguments: is it a definition for -a or -D?");
		diag_code(t->diag, EXIT_USAGE);
		err = -EINVAL;
	}
	if (!err && def.point.is_return) {
		diag_error(t->diag, def.point.at, "when a function returns its variables are gone");
		diag_hint(t->diag, "$retval is what it returns");
		diag_code(t->diag, EXIT_USAGE);
		err = -EINVAL;
	}
	if (!err)
		err = places_find(t, &def, &places);
	vector_push(&def.arguments, all); /* a probe that wants variables goes behind prologues */
	for (size_t i = 0; i < places.list.len && !err; i++) {
		struct place *const place = &places.list.items[i];

		place_skip_prologue(t, &def, place);
		err = fn(arg, &(struct point_place){
				      .at = {t->file, place->address, place->scope},
				      .is_line = !def.point.function && def.point.source,
			      });
	}
	vector_free(&places.list);
	point_definition_release(&def);
	return err;
}
