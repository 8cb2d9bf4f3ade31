/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/uprobe_places.h"

#define MAX_FUNCTION (1u << 24) /* bytes that are decoded to find where instructions begin */

struct probe_target *uprobe_add_place(struct uprobe_expansion *a, const char *what, u64 file_offset,
				      bool at_entry)
{
	struct arena *arena = a->env->arena;
	struct user_site *site = arena_new(arena, struct user_site);
	struct probe_target *t =
		probe_add_target(a->env, a->out, a->provider, a->request,
				 arena_printf(arena, "%s:%s:%s", a->provider->name, a->path, what));

	site->at_entry = at_entry;
	site->file = a->file;
	site->is_32 = a->file && !elf_file_is_64(a->file);
	t->private = site;
	t->path = a->path;
	t->function = arena_strdup(arena, what);
	t->address = file_offset;
	a->matched++;
	return t;
}

/* Several symbols of one address: one probe, under the plainest name. */
static int add_alias(struct uprobe_expansion *a, const struct elf_symbol *s, u64 file_offset)
{
	struct arena *arena = a->env->arena;
	bool is_new;
	void **slot = hashmap_put(&a->places, &file_offset, sizeof(file_offset), &is_new);
	struct probe_target *t = *slot;

	if (is_new) {
		*slot = uprobe_add_place(a, s->name, file_offset, true);
		return 0;
	}
	if (t && t->function[0] == '_' && s->name[0] != '_') {
		t->function = arena_strdup(arena, s->name);
		t->name = arena_printf(arena, "%s:%s:%s", a->provider->name, a->path, s->name);
	}
	return 0;
}

bool user_has_no_caller(struct elf_file *f, u64 offset)
{
	u64 entry;

	return elf_file_entry(f) && !elf_file_offset(f, elf_file_entry(f), &entry) &&
	       entry == offset;
}

static bool has_no_caller(const struct uprobe_expansion *a, u64 offset)
{
	return a->provider == &probe_uretprobe && user_has_no_caller(a->file, offset);
}

int uprobe_add_matching(void *arg, const struct elf_symbol *s)
{
	struct uprobe_expansion *a = arg;
	const char *breaks;
	u64 offset;

	if (!s->is_function && !s->is_ifunc)
		return 0;
	if (!(a->demangled && mangled_name_matches(a->function, s->name)) &&
	    !glob_match(a->function, s->name))
		return 0;
	/* Of an indirect function the symbol is only its resolver; without a size nothing says that
	 * it is code. */
	if (s->is_ifunc || !s->size || elf_file_offset(a->file, s->address, &offset) ||
	    !elf_file_is_executable_offset(a->file, offset) || has_no_caller(a, offset)) {
		a->out->skipped++;
		return 0;
	}
	breaks = a->env->unsafe ? NULL : user_breaks(a->file, offset);
	if (breaks) {
		a->breaks = breaks;
		a->out->skipped++;
		return 0;
	}
	return add_alias(a, s, offset);
}

/* ---- one symbol ---- */

static int check_symbol(struct uprobe_expansion *a, const struct elf_symbol *s)
{
	struct diag *d = a->env->diag;

	if (!s->size && !a->env->unsafe) {
		diag_error(d, NO_SPAN,
			   "Could not determine boundary for %s (symbol has size 0).\n"
			   "Use --unsafe to force attachment. WARNING: This option could lead to "
			   "data corruption in the target process.",
			   a->function);
		return -EINVAL;
	}
	if (s->size && a->offset >= s->size) {
		diag_error(d, a->request->span,
			   "Offset outside the function bounds ('%s' size is %" PRIu64 ")",
			   a->function, s->size);
		return -EINVAL;
	}
	if (s->is_ifunc) {
		diag_warning(
			d, a->request->span,
			"%s is an indirect function: the probe is on its resolver, which runs once",
			a->function);
		diag_hint(d,
			  "probe the implementation: `pantrace list '%s:%s:*%s*'` shows the "
			  "candidates",
			  a->provider->name, a->path, a->function);
	}
	return 0;
}

static int offer_symbol(void *arg, const struct elf_symbol *s)
{
	if (s->is_function)
		nearest_offer(arg, s->name);
	return 0;
}

int uprobe_no_symbol(struct uprobe_expansion *a)
{
	struct diag *d = a->env->diag;
	struct nearest n;

	diag_error(d, a->request->span, "No matches for %s %s:%s.", a->provider->name, a->path,
		   a->function);
	if (a->breaks)
		diag_hint(d,
			  "a probe on what matches would crash programs: %s; --unsafe attaches "
			  "all the same",
			  a->breaks);
	if (a->wildcard)
		return -ENOENT;
	nearest_init(&n, a->function);
	elf_file_each_symbol(a->file, offer_symbol, &n);
	if (n.best[0][0])
		nearest_hint(&n, d, "");
	else
		diag_hint(d,
			  "the function may be inlined or its symbol stripped; `pantrace list "
			  "'%s:%s:*'` shows what is there",
			  a->provider->name, a->path);
	return -ENOENT;
}

bool user_is_boundary(struct elf_file *f, u64 start, u64 into)
{
	const u8 *code = into && into <= MAX_FUNCTION ? elf_file_bytes(f, start, into) : NULL;
	u64 at = 0;
	int length;

	while (code && at < into && (length = arch_instruction_length(code + at, into - at)) > 0)
		at += (u64)length;
	return at == into;
}

static int check_boundary(struct uprobe_expansion *a, u64 start, u64 into)
{
	struct diag *d = a->env->diag;

	if (user_is_boundary(a->file, start, into))
		return 0;
	if (a->env->unsafe) {
		diag_warning(d, a->request->span,
			     "no instruction of %s seems to begin there: it may crash", a->path);
		return 0;
	}
	diag_error(d, a->request->span, "Could not add uprobe into middle of instruction: %s",
		   a->request->text);
	diag_hint(d, "`objdump -d %s` shows where instructions begin", a->path);
	return -EINVAL;
}

static int check_instruction(struct uprobe_expansion *a, u64 offset, const char *place)
{
	if (a->env->unsafe)
		return 0;
	if (has_no_caller(a, offset)) {
		diag_error(a->env->diag, a->request->span,
			   "a return probe on %s would crash the program: it begins there, and "
			   "does not return",
			   place);
		diag_hint(a->env->diag, "a uprobe can be there");
		return -EINVAL;
	}
	return user_check_instruction(a->env, a->request->span, a->file, offset, place);
}

int uprobe_add_symbol(struct uprobe_expansion *a)
{
	struct elf_symbol s;
	u64 offset;
	int err;

	if (elf_file_find_symbol(a->file, a->function, &s))
		return -ENOENT;
	err = check_symbol(a, &s);
	if (!err)
		err = user_check_unique(a->env, a->request, a->file, &s, a->function);
	if (err)
		return err;
	if (elf_file_offset(a->file, s.address + a->offset, &offset) ||
	    !elf_file_is_executable_offset(a->file, offset)) {
		diag_error(a->env->diag, a->request->span, "%s in %s is not code", a->function,
			   a->path);
		return -EINVAL;
	}
	err = check_boundary(a, offset - a->offset, a->offset);
	if (err)
		return err;
	err = check_instruction(a, offset, a->function);
	if (err)
		return err;
	uprobe_add_place(
		a,
		a->has_offset ? arena_printf(a->env->arena, "%s+%" PRIu64, a->function, a->offset)
			      : a->function,
		offset, !a->offset);
	return 0;
}

int uprobe_add_address(struct uprobe_expansion *a)
{
	struct elf_symbol s;
	u64 offset = 0, into = 0;
	const char *place;
	bool known;
	int err;

	if (elf_file_offset(a->file, a->address, &offset) ||
	    !elf_file_is_executable_offset(a->file, offset)) {
		/* Not a virtual address: then an offset in the file. */
		if (!elf_file_is_executable_offset(a->file, a->address)) {
			diag_error(a->env->diag, NO_SPAN,
				   "Could not resolve address: %s:0x%" PRIx64, a->path, a->address);
			diag_hint(a->env->diag, "it is neither a virtual address nor a file offset "
						"of code in this file");
			return -EINVAL;
		}
		offset = a->address;
	}
	known = !elf_file_address(a->file, offset, &into) &&
		elf_file_symbol_at(a->file, into, &s, &into);
	if (!known && !a->env->unsafe) {
		diag_error(a->env->diag, NO_SPAN, "Could not resolve address: %s:0x%" PRIx64,
			   a->path, a->address);
		diag_hint(a->env->diag, "no symbol covers it, so nothing tells whether an "
					"instruction begins there; --unsafe attaches all the same");
		return -EINVAL;
	}
	err = known ? check_boundary(a, offset - into, into) : 0;
	place = arena_printf(a->env->arena, "0x%" PRIx64, a->address);
	if (!err)
		err = check_instruction(a, offset, place);
	if (err)
		return err;
	uprobe_add_place(a, place, offset, known && !into);
	return 0;
}
