/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the probes of a point go: by symbols, by addresses, by debug information. */
#include <stdio.h>

#include "base/glob.h"
#include "kernel/symbols/ksyms.h"
#include "probe/definition/internal.h"
#include "probe/function.h"
#include "probe/user.h"

#define MAX_PROBES 128 /* of one point, where nobody says otherwise */

struct finder {
	struct translator *t;
	const struct point *point;
	struct places *out;
	const char *breaks; /* why a function that matches was left out; NULL */
	int err;
};

static u32 max_probes(const struct translator *t)
{
	return t->config->max_probes ? t->config->max_probes : MAX_PROBES;
}

/* 0, or -E2BIG with a diagnostic. */
static int add_place(struct finder *f, const struct place *place)
{
	const u32 max = max_probes(f->t);

	for (size_t i = 0; i < f->out->list.len; i++)
		if (f->out->list.items[i].address == place->address && place->address)
			return 0;
	if (f->out->list.len >= max) {
		diag_error(f->t->diag, f->point->at, "Too many( > %u) probe point found.", max);
		diag_hint(f->t->diag, "--max-probes NUMBER allows more of them");
		f->err = -E2BIG;
		return f->err;
	}
	vector_push(&f->out->list, *place);
	return 0;
}

/* ---- programs ---- */

static bool check_user_place(struct finder *f, u64 address, u64 into, u64 *ret_offset)
{
	struct translator *t = f->t;

	if (elf_file_offset(t->file, address, ret_offset) ||
	    !elf_file_is_executable_offset(t->file, *ret_offset)) {
		diag_error(t->diag, f->point->at, "%s is not code in %s", f->point->text, t->path);
		f->err = -EINVAL;
	} else if (!user_is_boundary(t->file, *ret_offset - into, into)) {
		diag_error(t->diag, f->point->at,
			   "no instruction begins there: a probe at %s would crash the program",
			   f->point->text);
		diag_hint(t->diag, "`objdump -d %s` shows where instructions begin", t->path);
		f->err = -EINVAL;
	} else if (f->point->is_return && user_has_no_caller(t->file, *ret_offset)) {
		diag_error(t->diag, f->point->at,
			   "a return probe on %s would crash the program: it begins there, and "
			   "does not return",
			   f->point->text);
		f->err = -EINVAL;
	} else {
		f->err = user_check_instruction(&t->env, f->point->at, t->file, *ret_offset,
						f->point->text);
	}
	return !f->err;
}

/* A function symbol of the file, whose name matches. */
static int add_symbol(struct finder *f, const struct elf_symbol *s)
{
	struct translator *t = f->t;
	u64 offset;

	if (f->point->offset && s->size && f->point->offset >= s->size) {
		diag_error(t->diag, f->point->at,
			   "Offset %" PRIu64 " is bigger than the size of %s", f->point->offset,
			   s->name);
		f->err = -EINVAL;
		return f->err;
	}
	if (t->is_user &&
	    !check_user_place(f, s->address + f->point->offset, f->point->offset, &offset))
		return f->err;
	if (s->is_ifunc) {
		diag_warning(t->diag, f->point->at,
			     "The probe function (%s) is a GNU indirect function: the probe is on "
			     "its resolver, which runs once",
			     s->name);
		diag_hint(t->diag, "probe the implementation that it chooses; -F '*%s*' shows them",
			  s->name);
	}
	return add_place(f, &(struct place){.address = s->address + f->point->offset,
					    .symbol = arena_strdup(&t->arena, s->name),
					    .into = f->point->offset,
					    .module = t->is_user ? NULL : t->config->module,
					    .function = arena_strdup(&t->arena, s->name),
					    .at_entry = !f->point->offset});
}

static int add_matching(void *arg, const struct elf_symbol *s)
{
	struct finder *f = arg;
	u64 offset = 0;

	if (!s->is_function || !glob_match(f->point->function, s->name))
		return 0;
	if (!s->size || (f->t->is_user && elf_file_offset(f->t->file, s->address, &offset)) ||
	    (f->t->is_user && user_breaks(f->t->file, offset)) ||
	    (f->t->is_user && f->point->is_return && user_has_no_caller(f->t->file, offset))) {
		f->out->skipped++;
		return 0;
	}
	return add_symbol(f, s);
}

static bool is_glob(const struct point *p)
{
	return !p->is_exact && glob_has_wildcard(p->function);
}

/* C++ and Rust, as people write them: all overloads of the name, or the one with its parameters. */
static int add_demangled(void *arg, const struct elf_symbol *s)
{
	struct finder *f = arg;

	if (!s->is_function || !mangled_name_matches(f->point->function, s->name))
		return 0;
	return add_symbol(f, s);
}

/* By the symbols of the file. */
static int find_symbols(struct finder *f)
{
	struct elf_file *file = f->t->file;
	struct elf_symbol s;

	if (is_glob(f->point))
		return elf_file_each_symbol(file, add_matching, f);
	if (!elf_file_find_symbol(file, f->point->function, &s))
		return add_symbol(f, &s);
	return elf_file_each_symbol(file, add_demangled, f);
}

static int find_address(struct finder *f)
{
	struct translator *t = f->t;
	struct place place = {.address = f->point->address};
	struct elf_symbol s;
	u64 into, offset;

	if (!t->is_user)
		return add_place(f, &place);
	if (elf_file_symbol_at(t->file, place.address, &s, &into)) {
		place.symbol = place.function = arena_strdup(&t->arena, s.name);
		place.into = into;
		place.at_entry = !into;
	} else {
		into = 0;
		diag_warning(t->diag, f->point->at,
			     "no symbol covers %s: nothing tells whether an instruction begins "
			     "there",
			     f->point->text);
	}
	return check_user_place(f, place.address, into, &offset) ? add_place(f, &place) : f->err;
}

/* ---- the running kernel, by its symbols ---- */

static int add_kernel_function(void *arg, const struct kernel_function *fn)
{
	struct finder *f = arg;
	struct translator *t = f->t;
	struct kernel_symbol s;

	if (t->config->module ? !fn->module || !str_eq(fn->module, t->config->module) : false)
		return 0;
	if (kernel_function_blacklisted(t->kernel, fn->own, fn->address)) {
		diag_warning(t->diag, f->point->at, "%s is blacklisted function, skip it.",
			     fn->name);
		f->out->skipped++;
		return 0;
	}
	if (f->point->offset && ksyms_at(kernel_ksyms(t->kernel), fn->address, KSYM_FIRST, &s) &&
	    f->point->offset >= s.end - s.address) {
		diag_error(t->diag, f->point->at,
			   "Offset %" PRIu64 " is bigger than the size of %s", f->point->offset,
			   fn->name);
		f->err = -EINVAL;
		return f->err;
	}
	return add_place(
		f,
		&(struct place){.address = fn->address ? fn->address + f->point->offset : 0,
				.symbol = arena_strdup(&t->arena, fn->name),
				.into = f->point->offset,
				.module = fn->module ? arena_strdup(&t->arena, fn->module) : NULL,
				.function = arena_strdup(&t->arena, fn->name),
				.at_entry = !f->point->offset});
}

static int find_kernel_functions(struct finder *f)
{
	struct ksyms *const ks = kernel_ksyms(f->t->kernel);
	const u64 address = is_glob(f->point) ? 0 : ksyms_address(ks, f->point->function);
	const int err = ksyms_each_function(ks, f->point->function, add_kernel_function, f);

	if (!err && !f->out->list.len && !f->out->skipped && address &&
	    ksyms_ran_at_boot(ks, address)) {
		diag_warning(f->t->diag, f->point->at, "%s is out of .text, skip it.",
			     f->point->function);
		f->out->skipped++;
	}
	return err;
}

/* ---- SDT ---- */

static int add_note(void *arg, const struct usdt_note *n)
{
	struct finder *f = arg;
	struct arena *a = &f->t->arena;
	const struct point *p = f->point;

	if (!glob_match(p->sdt_event, n->name) ||
	    (p->sdt_provider && !glob_match(p->sdt_provider, n->provider)))
		return 0;
	return add_place(f, &(struct place){.address = n->address,
					    .semaphore = n->semaphore,
					    .sdt_args = arena_strdup(a, n->args ? n->args : ""),
					    .sdt_event = arena_strdup(a, n->name),
					    .sdt_provider = arena_strdup(a, n->provider)});
}

static int find_notes(struct finder *f)
{
	if (f->t->is_user)
		return elf_file_each_usdt(f->t->file, add_note, f);
	diag_error(f->t->diag, f->point->at, "SDT events are in programs and libraries");
	diag_hint(f->t->diag, "name the file that has it by -x FILE");
	f->err = -EINVAL;
	return f->err;
}

/* ---- all ---- */

static int find(struct finder *f)
{
	const struct point *p = f->point;

	if (p->sdt_event)
		return find_notes(f);
	if (p->has_address)
		return find_address(f);
	if (p->source || p->line || p->pattern) {
		diag_error(f->t->diag, p->at, "source lines need debug information");
		f->err = -EOPNOTSUPP;
		return f->err;
	}
	return f->t->file ? find_symbols(f) : find_kernel_functions(f);
}

static void hint_nearest(struct finder *f)
{
	if (!f->t->file && f->point->function)
		function_missing_hint(&f->t->env, "kprobe", f->point->function);
	else if (f->t->is_user)
		diag_hint(f->t->diag, "`pantrace probe -x %s -F` lists the functions", f->t->path);
}

int places_find(struct translator *t, const struct point *p, struct places *ret)
{
	struct finder f = {.t = t, .point = p, .out = ret};
	int err = find(&f);

	if (f.err)
		return f.err;
	if (!err)
		err = t->file ? user_check_files(&t->env, p->at) : 0;
	if (ret->list.len || (err && err != -ENOENT))
		return err;
	diag_error(t->diag, p->at, "Probe point '%s' not found.", p->text);
	hint_nearest(&f);
	return -ENOENT;
}
