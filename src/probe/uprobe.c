/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uprobe and uretprobe: places in executables and libraries, by symbol (mangled, demangled,
 * wildcard), symbol + offset, or address. The kernel wants file offsets; they come from program
 * headers (elf_file_offset()).
 */
#include <stdio.h>

#include "binary/process/maps.h"
#include "probe/uapi.h"
#include "probe/uprobe_places.h"

/* ---- files ---- */

static int expand_file(void *arg, const char *path);

/*
 * glibc 2.34 moved the functions of these libraries into libc.so.6 and left them as shells, so that
 * scripts which name the old place would find nothing. 0 or -errno; -ENOENT: not such a library, or
 * not there either.
 */
static int expand_moved(struct uprobe_expansion *a)
{
	static const char *const merged[] = {"libpthread.so.0", "libdl.so.2", "librt.so.1",
					     "libutil.so.1", "libanl.so.1"};
	const char *name = path_base_name(a->path), *old = a->path;
	struct elf_file *file = a->file;
	int err = -ENOENT;

	if (a->env->only_where_named)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(merged) && err && !a->has_offset; i++) {
		if (!str_eq(name, merged[i]))
			continue;
		a->quiet = true;
		err = expand_file(
			a, arena_printf(a->env->arena, "%.*slibc.so.6", (int)(name - old), old));
		a->quiet = false;
		if (!err && !a->matched)
			err = -ENOENT;
	}
	if (err) {
		a->path = old;
		a->file = file;
	} else {
		diag_warning(
			a->env->diag, a->request->span,
			"%s is part of libc.so.6 here (glibc 2.34 and later): %s is probed there",
			name, a->function);
	}
	return err;
}

static int expand_file(void *arg, const char *path)
{
	struct uprobe_expansion *a = arg;
	const u32 before = a->matched;
	/* Code needs no ELF around it, where somebody knows its offset and maps it. */
	const bool may_be_flat = a->has_address && a->env->unsafe;
	int err = user_open(a->env, a->request->span, path, !a->quiet && !may_be_flat, &a->file);

	if (err == -ENOEXEC && may_be_flat) {
		a->path = arena_strdup(a->env->arena, path);
		uprobe_add_place(a, arena_printf(a->env->arena, "0x%" PRIx64, a->address),
				 a->address, false);
		return 0;
	}
	if (err && may_be_flat && !a->quiet)
		err = user_open(a->env, a->request->span, path, true, &a->file);
	if (err)
		return a->quiet ? 0 : err;
	a->path = arena_strdup(a->env->arena, path);
	if (a->has_address)
		return uprobe_add_address(a);
	if (!a->demangled && !glob_has_wildcard(a->function)) {
		err = uprobe_add_symbol(a);
		if (err != -ENOENT)
			return a->quiet ? 0 : err;
	}
	/* Wildcards, and names as C++ or Rust people write them. */
	if (!a->has_offset &&
	    (a->demangled || glob_has_wildcard(a->function) || strstr(a->function, "::"))) {
		const bool demangled = a->demangled;

		a->demangled |= strstr(a->function, "::") != NULL;
		elf_file_each_symbol(a->file, uprobe_add_matching, a);
		a->demangled = demangled;
		hashmap_release(&a->places);
		a->places = (struct hashmap){0};
	}
	err = user_check_files(a->env, a->request->span);
	if (err || a->matched > before || a->quiet)
		return err;
	return expand_moved(a) ? uprobe_no_symbol(a) : 0;
}

/* function, function+0x10, 0x401000 */
static int parse_place(struct uprobe_expansion *a, const char *word)
{
	struct diag *d = a->env->diag;
	const char *plus = a->demangled ? NULL : strrchr(word, '+');

	a->function = word;
	if (!a->demangled && probe_parse_number(word, &a->address)) {
		a->has_address = true;
		if (!a->wildcard)
			return 0;
		diag_error(d, a->request->span, "Cannot use wildcards with absolute address");
		return -EINVAL;
	}
	if (!plus || strstr(word, "operator"))
		return 0;
	if (a->provider == &probe_uretprobe) {
		diag_error(d, a->request->span, "Offset not allowed");
		diag_hint(
			d,
			"a uretprobe fires when the function returns; only uprobe takes an offset");
		return -EINVAL;
	}
	if (!probe_parse_number(plus + 1, &a->offset)) {
		diag_error(d, a->request->span, "Invalid offset: %s", plus + 1);
		return -EINVAL;
	}
	a->function = arena_strndup(a->env->arena, word, (size_t)(plus - word));
	a->has_offset = true;
	return 0;
}

/* ---- by source line ---- */

static bool is_language(const char *word)
{
	return str_eq(word, "cpp") || str_eq(word, "c++") || str_eq(word, "rust");
}

static int add_line_address(void *arg, const struct debug_point *p)
{
	struct uprobe_expansion *a = arg;
	const u64 address = p->address;
	struct probe_target *t;
	struct elf_symbol s;
	u64 offset, into = 1;

	if (elf_file_offset(a->file, address, &offset) ||
	    !elf_file_is_executable_offset(a->file, offset)) {
		a->out->skipped++;
		return 0;
	}
	if (!elf_file_symbol_at(a->file, address, &s, &into))
		into = 1;
	t = uprobe_add_place(a, arena_printf(a->env->arena, "%" PRIu64, address), offset, !into);
	t->name = a->request->text;
	if (p->function)
		((struct user_site *)t->private)->scope = arena_strdup(a->env->arena, p->function);
	return 0;
}

static int open_line_file(void *arg, const char *path)
{
	struct uprobe_expansion *a = arg;
	int err = user_open(a->env, a->request->span, path, true, &a->file);

	if (err)
		return err;
	a->path = arena_strdup(a->env->arena, path);
	return a->function ? function_line_each(a->env, a->request, a->file, a->function,
						a->line.line, add_line_address, a)
			   : source_line_each(a->env, a->request, a->file, &a->line,
					      add_line_address, a);
}

/* FILE:[cpp:]FUNCTION:LINE. 1: it is one, 0: it is none. */
static int parse_function_line(struct uprobe_expansion *a)
{
	const struct probe_request *r = a->request;
	u64 line;

	if (r->count < 4 || r->count > 5 || !probe_parse_number(r->parts[r->count - 1], &line) ||
	    line > UINT32_MAX || (r->count == 5 && !is_language(r->parts[2])) ||
	    (r->count == 4 && is_language(r->parts[2])))
		return 0;
	a->line = (struct source_line){.target = r->parts[1], .line = (u32)line};
	a->function = r->parts[r->count - 2];
	return 1;
}

static int expand_line(struct uprobe_expansion *a)
{
	struct probe_env *env = a->env;
	int err;

	if (a->provider == &probe_uretprobe) {
		diag_error(env->diag, a->request->span, "Source code location not allowed");
		diag_hint(env->diag, "a uretprobe fires when a function returns; use uprobe");
		return -EINVAL;
	}
	err = probe_require(env, a->request->span, KERNEL_UPROBES, a->provider->name);
	if (!err)
		err = user_each_file(env, a->request, a->line.target, open_line_file, a);
	if (err || a->matched)
		return err;
	diag_error(env->diag, a->request->span, "No matches for %s.", a->request->text);
	return -ENOENT;
}

static int expand(struct probe_env *env, const struct probe_request *r, struct probe_targets *out,
		  const struct probe_provider *p)
{
	struct uprobe_expansion a = {.env = env, .request = r, .out = out, .provider = p};
	/* With -p the file may be left out: the process's executable. */
	const bool implied =
		r->pid > 0 && (r->count == 2 || (r->count == 3 && is_language(r->parts[1])));
	const size_t first = out->list.len;
	const char *file;
	int err;

	err = source_line_parse(env, r, &a.line);
	if (!err)
		err = parse_function_line(&a);
	if (err)
		return err < 0 ? err : expand_line(&a);
	if (!implied && probe_check_parts(env, r, p, 2, 3))
		return -EINVAL;
	file = implied ? "" : r->parts[1];
	if (r->count == (implied ? 3u : 4u)) {
		a.demangled = is_language(r->parts[r->count - 2]);
		if (!a.demangled) {
			diag_error(env->diag, r->span,
				   "%s is not a language whose names can be matched",
				   r->parts[r->count - 2]);
			diag_hint(env->diag, "languages are cpp and rust");
			return -EINVAL;
		}
	}
	a.wildcard = glob_has_wildcard(file);
	a.quiet = a.wildcard;
	err = parse_place(&a, r->parts[r->count - 1]);
	a.wildcard |= !a.has_address && glob_has_wildcard(a.function);
	if (!err && a.has_offset && a.wildcard) {
		diag_error(env->diag, r->span, "wildcards cannot be combined with an offset");
		err = -EINVAL;
	}
	if (!err)
		err = probe_require(env, r->span, KERNEL_UPROBES, p->name);
	if (!err)
		err = user_each_file(env, r, file, expand_file, &a);
	if (err)
		return err;
	if (!a.matched) {
		diag_error(env->diag, r->span, "No matches for %s %s:%s.", p->name, file,
			   a.function);
		if (str_eq(file, "*") && r->pid <= 0)
			diag_hint(env->diag, "no program or library that is running has it; a path "
					     "names one that is not");
		return -ENOENT;
	}
	user_choose_multi(env, out, first);
	return 0;
}

/* ---- describe ---- */

/* The i386 convention: all arguments on the stack, four bytes each, above the return address. */
static void describe_32(struct probe_context *ret)
{
	for (u32 i = 0; i < ARRAY_SIZE(ret->argn); i++)
		ret->argn[i] = (struct location){.kind = LOCATION_MEMORY,
						 .size = 4,
						 .base = arch_sp_offset(),
						 .index = 0xffff,
						 .value = 4 + 4 * i};
	ret->argn_count = ARRAY_SIZE(ret->argn);
}

/* As is_uprobe_at_func_entry() in arch/x86/events/core.c has it. */
static enum entry_kind entry_of(const struct user_site *site, u64 offset)
{
	static const u8 endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	const u8 *code = site->file ? elf_file_bytes(site->file, offset, sizeof(endbr64)) : NULL;

	if (!site->at_entry || site->is_32 || !code)
		return ENTRY_NONE;
	return code[0] == 0x55 || !memcmp(code, endbr64, sizeof(endbr64)) ? ENTRY_PUSH
									  : ENTRY_OTHER;
}

static int describe(struct probe_env *env, const struct probe_target *t,
		    const struct probe_use *use, struct span at, struct probe_context *ret)
{
	const struct user_site *site = t->private;
	const bool is_return = t->provider == &probe_uretprobe;

	*ret = (struct probe_context){
		.space = SPACE_USER,
		.has_cookie = kernel_features(env->kernel)->attach_cookie,
		.has_function = true,
		.is_return = is_return,
		.layout_key = arena_printf(env->arena, "%s%s%s%s", t->provider->name,
					   site->at_entry ? "" : "+", site->is_32 ? "/32" : "",
					   site->multi ? "/multi" : ""),
	};
	probe_describe_registers(ret, site->at_entry && !is_return);
	if (site->is_32 && site->at_entry)
		describe_32(ret);
	if (site->multi)
		ret->expected_attach_type = UAPI_BPF_TRACE_UPROBE_MULTI;
	user_describe_types(env, t, ret);
	if (!is_return) {
		ret->entry = entry_of(site, t->address);
		user_describe_function(env, t, use, ret);
		user_describe_place(env, t, use, ret);
		return user_check_files(env, at);
	}
	ret->argn_count = 0; /* the registers have other values by now */
	ret->retval_location = (struct location){.kind = LOCATION_REGISTER,
						 .size = site->is_32 ? 4 : 8,
						 .offset = arch_retval_offset()};
	user_describe_function(env, t, use, ret);
	return user_check_files(env, at);
}

static int attach(struct probe_env *env, int prog_fd, const struct probe_context *context,
		  struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	if (context->expected_attach_type == UAPI_BPF_TRACE_UPROBE_SESSION)
		return user_attach_session(env, prog_fd, targets, n, out);
	return user_attach(env, prog_fd, targets, n, n && targets[0]->provider == &probe_uretprobe,
			   out);
}

static u32 session(struct probe_env *env, struct probe_target *const *targets, u32 n,
		   bool needs_registers)
{
	return kernel_ask(env->kernel, KERNEL_UPROBE_SESSION)->yes ? UAPI_BPF_TRACE_UPROBE_SESSION
								   : 0;
}

const struct probe_provider probe_uprobe = {
	.name = "uprobe",
	.aliases = {"u"},
	.form = "uprobe:FILE:[cpp:]FUNCTION[+OFFSET], uprobe:FILE:FUNCTION:LINE, "
		"uprobe:FILE:ADDRESS or uprobe:FILE@SOURCE:LINE[:COLUMN]",
	.doc = "functions and addresses of programs and libraries",
	.needs = KERNEL_UPROBES,
	.runs_in_reverse = true,
	.takes_path = true,
	.expand = expand,
	.is_made_live = true,
	.describe = describe,
	.attach = attach,
	.count = user_count,
	.returns = &probe_uretprobe,
	.session = session,
	.each = user_each_function,
};

const struct probe_provider probe_uretprobe = {
	.name = "uretprobe",
	.aliases = {"ur"},
	.form = "uretprobe:FILE:[cpp:]FUNCTION",
	.doc = "returns of functions of programs and libraries",
	.needs = KERNEL_UPROBES,
	.runs_in_reverse = true,
	.takes_path = true,
	.expand = expand,
	.is_made_live = true,
	.describe = describe,
	.attach = attach,
	.count = user_count,
	.each = user_each_function,
};
