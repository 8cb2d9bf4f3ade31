/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/definition/definition.h"

#include <ctype.h>
#include <stdio.h>

#include "probe/definition/internal.h"
#include "probe/function.h"
#include "probe/user.h"

/* ---- words ---- */

static struct definition_word word_at(struct definition *f, size_t begin, size_t end)
{
	return (struct definition_word){
		.text = arena_strndup(&f->arena, f->request->text + begin, end - begin),
		.at = {(u32)begin, (u32)end, f->file},
	};
}

/* "p", "r", "r10" and what follows the colon. False: the first word is the place itself. */
static bool split_kind(struct definition *f, struct definition_word *first)
{
	const char *p = first->text;
	size_t digits;

	if ((*p != 'p' && *p != 'r') || !*p)
		return false;
	digits = strspn(p + 1, "0123456789");
	if ((p[1 + digits] && p[1 + digits] != ':') || (*p == 'p' && digits))
		return false;
	f->is_return = *p == 'r';
	f->modifier = arena_strndup(&f->arena, p + 1, digits);
	digits += 1 + (p[1 + digits] == ':');
	*first = word_at(f, first->at.begin + digits, first->at.end);
	return true;
}

int definition_malformed(struct definition *f, struct span at, const char *what)
{
	diag_error(f->diag, at, "%s", what);
	if (f->request->is_user)
		diag_hint(f->diag,
			  "a definition is {p|r}:[NAME] FILE:FUNCTION [ARGUMENT...], for example "
			  "'r:bash:readline +0($retval):string'");
	else
		diag_hint(f->diag,
			  "a definition is {p|r}:[NAME] FUNCTION [ARGUMENT...], for example "
			  "'p:myopen do_sys_openat2 file=+0(%%si):ustring'");
	diag_code(f->diag, EXIT_USAGE);
	return -EINVAL;
}

/*
 * "p:A B": is A the place, and B a variable? A place has a colon, or is a function of the kernel
 * where B is none.
 */
static bool is_place(struct definition *f, const char *a, const char *b)
{
	if (definition_is_argument(b) || strchr(a, ':'))
		return true;
	return !f->request->is_user && !glob_has_wildcard(b) && !strpbrk(b, ":+") &&
	       kernel_symbol_address(f->kernel, a) && !kernel_symbol_address(f->kernel, b);
}

/* A group before the name is the kernel's business; ours is our own. */
static int take_name(struct definition *f, struct definition_word name)
{
	const char *const slash = strrchr(name.text, '/');

	if (slash)
		name = word_at(f, name.at.begin + (size_t)(slash + 1 - name.text), name.at.end);
	for (const char *p = name.text; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			return definition_malformed(
				f, name.at, "a probe's name has letters, digits and '_' only");
	if (*name.text)
		f->name = name;
	return 0;
}

static int parse(struct definition *f)
{
	struct definition_word *first;
	bool has_kind;
	size_t at = 0;
	char *percent;

	if (words_split(&f->arena, f->diag, f->request->text, f->file, &f->words))
		return -EINVAL;
	if (!f->words.list.len)
		return definition_malformed(f, NO_SPAN, "the definition is empty");
	f->modifier = "";
	first = &f->words.list.items[0];
	has_kind = split_kind(f, first);
	if (has_kind && f->words.list.len > 1 &&
	    !is_place(f, first->text, f->words.list.items[1].text)) {
		if (take_name(f, *first))
			return -EINVAL;
		at = 1;
	} else if (!*first->text) {
		return definition_malformed(f, first->at, "the definition names no function");
	}
	f->place = f->words.list.items[at];
	f->first_argument = at + 1;
	percent = strstr(f->place.text, "%return");
	if (percent && !percent[7] && !f->request->is_user) {
		f->place = word_at(f, f->place.at.begin, f->place.at.end - 7);
		f->is_return = true;
	}
	f->place.text = word_plain(&f->arena, f->place.text, strlen(f->place.text), NULL);
	f->result->is_return = f->is_return;
	return 0;
}

/* ---- the kernel's functions ---- */

/* Code that was thrown away after boot has names still (__init). */
static bool outside_text(struct kernel *k, const char *function)
{
	const u64 begin = kernel_symbol_address(k, "_stext"),
		  at = kernel_symbol_address(k, function);

	/* Modules lie elsewhere. */
	return ksyms_ran_at_boot(kernel_ksyms(k), at) ||
	       (begin && at < begin && at >= begin - ((u64)1 << 24));
}

/* What kprobe's own checks let through. */
static int check_function(struct definition *f, const struct probe_target *t)
{
	if (!t->function || f->request->force)
		return 0;
	if (outside_text(f->kernel, t->function)) {
		diag_error(f->diag, f->place.at,
			   "%s cannot be probed: it ran at boot and is not in the kernel's text "
			   "any more",
			   t->function);
		return -EINVAL;
	}
	if (!function_is_traceable(&f->env, t->function)) {
		diag_error(f->diag, f->place.at,
			   "%s is not in the list of functions that can be traced: the kernel "
			   "marks it notrace",
			   t->function);
		diag_hint(f->diag, "probe one of its callers or callees; -F tries it all the same");
		return -EINVAL;
	}
	return 0;
}

/* "[MODULE:]FUNCTION[+OFFSET]" or an address. */
static void add_kernel_place(struct definition *f, const struct probe_target *t,
			     struct tracefs_command *c)
{
	struct strbuf place = STRBUF_INIT;

	if (!t->function) {
		strbuf_addf(&place, "0x%" PRIx64, t->address);
	} else {
		if (t->module && *t->module && !str_eq(t->module, "vmlinux"))
			strbuf_addf(&place, "%s:", t->module);
		strbuf_addstr(&place, t->function);
		if (t->address)
			strbuf_addf(&place, "+%" PRIu64, t->address);
	}
	tracefs_command_stands_for(c, place.data, f->place.at);
	strbuf_release(&place);
}

static void kernel_request(struct definition *f, struct probe_request *r, const char **parts)
{
	char *place = arena_strdup(&f->arena, f->place.text), *colon = strchr(place, ':');

	parts[r->count++] = f->is_return ? "kretprobe" : "kprobe";
	if (colon) {
		*colon = '\0';
		parts[r->count++] = place;
		place = colon + 1;
	}
	parts[r->count++] = place;
}

/* ---- files ---- */

const char *definition_address(struct definition *f, const char *file, const char *number)
{
	struct elf_file *elf;
	u64 offset, address;
	char *path;
	bool known;

	if (!probe_parse_number(number, &offset))
		return number;
	path = binary_resolve(file, f->request->pid);
	known = path && !user_open(&f->env, f->place.at, path, false, &elf) &&
		!elf_file_address(elf, offset, &address);
	free(path);
	return known ? arena_printf(&f->arena, "0x%" PRIx64, address) : number;
}

static int user_request(struct definition *f, struct probe_request *r, const char **parts)
{
	char *file = arena_strdup(&f->arena, f->place.text);
	char *colon = strchr(file, ':');
	const char *const at_sign = strchr(file, '@');

	parts[r->count++] = f->is_return ? "uretprobe" : "uprobe";
	if (!colon)
		return definition_malformed(f, f->place.at,
					    "the place of a user probe is FILE:FUNCTION");
	*colon = '\0';
	parts[r->count++] = file;
	/* FILE@SOURCE:LINE goes on as it is. */
	parts[r->count++] =
		at_sign && at_sign < colon ? colon + 1 : definition_address(f, file, colon + 1);
	return 0;
}

/* A virtual address of a target is already an offset in its file. */
static int add_user_place(struct definition *f, const struct probe_target *t,
			  struct tracefs_command *c)
{
	char *place, *path;
	u64 base;

	if (strpbrk(t->path, " \t\n")) {
		diag_error(f->diag, f->place.at, "the kernel does not take a path with blanks: %s",
			   t->path);
		diag_hint(f->diag, "make a link without blanks to it, and name that");
		return -EINVAL;
	}
	path = user_on_disk(t, &base);
	place = xasprintf("%s:0x%" PRIx64, path, base + t->address);
	tracefs_command_stands_for(c, place, f->place.at);
	if (t->semaphore)
		tracefs_command_add(c, "(0x%" PRIx64 ")", base + t->semaphore);
	free(place);
	free(path);
	return 0;
}

/* ---- making events ---- */

/* What the event is called: the user's name, else the function's. */
static const char *shown_name(struct definition *f, const struct probe_target *t)
{
	const char *name = t->function && *t->function ? t->function : "probe";
	char *plain, *paren;

	if (f->name.text)
		return f->name.text;
	if (f->request->is_user && isdigit((unsigned char)*name))
		return arena_printf(&f->arena, "probe_%" PRIx64, t->address);
	if (!f->request->is_user || (!str_starts(name, "_Z") && !str_starts(name, "_R")))
		return name;
	/* C++: as people write it. */
	plain = demangle(name);
	if (!plain)
		return name;
	paren = strchr(plain, '(');
	if (paren)
		*paren = '\0';
	name = arena_strdup(&f->arena, plain);
	free(plain);
	return name;
}

static enum dynamic_kind kind_of(const struct definition *f)
{
	if (f->request->is_user)
		return f->is_return ? DYNAMIC_URETPROBE : DYNAMIC_UPROBE;
	return f->is_return ? DYNAMIC_KRETPROBE : DYNAMIC_KPROBE;
}

static int add_arguments(struct definition *f, const struct probe_target *t,
			 struct tracefs_command *c)
{
	const struct user_site *site = f->request->is_user ? t->private : NULL;
	const struct argument_place place = {
		.diag = f->diag,
		.is_user = f->request->is_user,
		.is_return = f->is_return,
		.at_entry = site && site->at_entry,
		.file = site ? site->file : NULL,
		.offset = t->address,
	};
	int err = 0;

	for (size_t i = f->first_argument; i < f->words.list.len && !err; i++)
		err = definition_argument(&place, &f->words.list.items[i], c);
	return err;
}

static int define(struct definition *f, const struct probe_target *t)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	const struct dynamic_event *e;
	const char *const shown = shown_name(f, t);
	int err = 0;

	if (f->request->is_user)
		err = add_user_place(f, t, &c);
	else
		add_kernel_place(f, t, &c);
	if (!err)
		err = add_arguments(f, t, &c);
	if (!err)
		err = dynamic_events_define_as(f->set, kind_of(f), f->modifier, shown, &c, &e);
	if (err && definition_has_variables(f))
		diag_hint(f->diag, "variables by name need the kernel's debug symbols, which are "
				   "not installed");
	if (!err && !f->result->count++)
		f->result->text = xasprintf("%c%s:%s %s", f->is_return ? 'r' : 'p', f->modifier,
					    shown, c.text.data);
	tracefs_command_release(&c);
	return err;
}

/* One of the targets. Of several, what the kernel does not take is left out, as long as it takes
 * any. */
static int define_target(struct definition *f, struct probe_targets *targets,
			 const struct probe_target *t, bool is_last)
{
	const size_t messages = f->diag->messages.len;
	const unsigned int errors = f->diag->errors;
	const bool single = targets->list.len == 1;
	int err = 0;

	if (!single && !f->request->is_user && outside_text(f->kernel, t->function)) {
		targets->skipped++;
		return 0;
	}
	if (single && !f->request->is_user)
		err = check_function(f, t);
	if (!err)
		err = define(f, t);
	if (!err || single || (is_last && !f->result->count))
		return err;
	f->diag->messages.len = messages;
	f->diag->errors = errors;
	targets->skipped++;
	return 0;
}

static int expand(struct definition *f)
{
	const char *parts[4] = {NULL};
	struct probe_request r = {
		.span = f->place.at, .text = f->place.text, .parts = parts, .pid = f->request->pid};
	struct probe_targets targets = {0};
	int err = 0;

	if (f->request->is_user)
		err = user_request(f, &r, parts);
	else
		kernel_request(f, &r, parts);
	if (!err)
		err = probe_expand(&f->env, &r, &targets);
	for (size_t i = 0; i < targets.list.len && !err; i++)
		err = define_target(f, &targets, targets.list.items[i], i + 1 == targets.list.len);
	f->result->skipped = targets.skipped;
	vector_free(&targets.list);
	return err;
}

static void definition_open(struct definition *f, struct kernel *k, struct diag *d)
{
	f->kernel = k;
	f->diag = d;
	type_store_init(&f->types);
	f->env = (struct probe_env){
		.types = &f->types,
		.btf = btf_attach(&f->types, NULL),
		.kernel = k,
		.arena = &f->arena,
		.diag = d,
		.max_probes = 1024,
	};
}

static void definition_close(struct definition *f)
{
	vector_free(&f->words.list);
	probe_env_release(&f->env);
	btf_release(f->env.btf);
	type_store_release(&f->types);
	arena_release(&f->arena);
}

static int parse_text(struct definition *f)
{
	f->env.unsafe = f->request->force;
	f->file =
		diag_add_source(f->diag, "definition", f->request->text, strlen(f->request->text));
	return parse(f);
}

int definition_translate(struct kernel *k, struct diag *d, const struct definition_request *r,
			 char **ret)
{
	struct definition_result result = {0};
	struct definition f = {.request = r, .result = &result};
	int err;

	definition_open(&f, k, d);
	err = parse_text(&f);
	if (!err)
		err = definition_by_source(&f);
	definition_close(&f);
	*ret = result.text;
	return err;
}

int definition_make(struct kernel *k, struct diag *d, struct dynamic_events *set,
		    const struct definition_request *r, struct definition_result *ret)
{
	struct definition f = {.set = set, .request = r, .result = ret};
	int err;

	*ret = (struct definition_result){.first = (u32)dynamic_events_count(set)};
	definition_open(&f, k, d);
	err = parse_text(&f);
	if (!err)
		err = definition_by_source(&f);
	if (err == 1)
		err = expand(&f);
	definition_close(&f);
	return err;
}

void definition_result_release(struct definition_result *r)
{
	free(r->text);
	r->text = NULL;
}

/* ---- uprobe -l ---- */

typedef VECTOR(char *) name_vector;

static int collect(void *arg, const struct elf_symbol *s)
{
	name_vector *names = arg;

	if (s->is_function && s->size)
		vector_push(names, xstrdup(s->name));
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

int definition_each_function(struct kernel *k, struct diag *d, const char *file, pid_t pid,
			     int (*fn)(void *arg, const char *name), void *arg)
{
	char *path = binary_resolve(file, pid);
	struct definition f = {0};
	name_vector names = {0};
	struct elf_file *elf;
	int err;

	if (!path) {
		diag_error(d, NO_SPAN, "there is no program or library '%s'", file);
		diag_hint(d, "a path, a program in $PATH, or a library as libc or libssl.so.3");
		return -ENOENT;
	}
	definition_open(&f, k, d);
	err = user_open(&f.env, NO_SPAN, path, true, &elf);
	if (!err)
		elf_file_each_symbol(elf, collect, &names);
	if (names.len)
		qsort(names.items, names.len, sizeof(*names.items), compare_names);
	for (size_t i = 0; i < names.len && !err; i++)
		if (!i || !str_eq(names.items[i], names.items[i - 1]))
			err = fn(arg, names.items[i]);
	for (size_t i = 0; i < names.len; i++)
		free(names.items[i]);
	vector_free(&names);
	definition_close(&f);
	free(path);
	return err;
}
