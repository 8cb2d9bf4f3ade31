/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kprobe and kretprobe. One function is attached through the kprobe PMU, many through one
 * kprobe_multi link (5.18); both die with their descriptor. The text interface kprobe_events is
 * never used: what it makes outlives a crash.
 */
#include <stdio.h>

#include "probe/function.h"
#include "probe/kernel_cached.h"
#include "probe/kprobe_multi.h"
#include "probe/uapi.h"
#include "probe/variables.h"

/* probe_target.private */
struct kprobe_site {
	u64 entry; /* the function's address; 0 = not known: the kernel looks the name up */
	bool multi;
	bool is_address; /* target.address is absolute */
	bool is_wildcard; /* one program for all: no arguments by name */
	/* A statement of the source; no file and nothing fetched: it is none. */
	struct kernel_image image;
	u64 virtual;
	const char *scope; /* as struct debug_point has it; NULL: target.function */
};

static bool is_statement(const struct kprobe_site *s)
{
	return s->image.file || s->image.fetched;
}

#define MULTI_FROM 2 /* functions of a wildcard */

struct expand_arg {
	struct probe_env *env;
	const struct probe_request *request;
	struct probe_targets *out;
	const struct probe_provider *provider;
	const char *module, *function; /* module NULL = any */
	bool multi, wildcard;
	const struct kprobe_site *first; /* of a wildcard */
	struct strbuf name;
};

static struct probe_target *add(struct expand_arg *a, const char *module, const char *function,
				u64 offset, bool is_address)
{
	struct arena *arena = a->env->arena;
	struct kprobe_site *site = arena_new(arena, struct kprobe_site);
	struct strbuf *name = &a->name;
	struct probe_target *t;

	strbuf_reset(name);
	strbuf_addstr(name, a->provider->name);
	strbuf_addch(name, ':');
	if (a->module)
		strbuf_addf(name, "%s:", module ? module : "vmlinux");
	if (is_address)
		strbuf_addf(name, "%" PRIu64, offset);
	else if (offset)
		strbuf_addf(name, "%s+%" PRIu64, function, offset);
	else
		strbuf_addstr(name, function);
	t = probe_add_target(a->env, a->out, a->provider, a->request,
			     arena_text(arena, name->data, name->len));
	/* The name ends with it. */
	if (function)
		t->function = offset ? arena_strdup(arena, function)
				     : t->name + name->len - strlen(function);
	site->multi = a->multi;
	site->is_address = is_address;
	site->is_wildcard = a->wildcard;
	t->private = site;
	t->module = module ? arena_strdup(arena, module) : NULL;
	t->address = offset;
	return t;
}

static struct kprobe_site *add_found(struct expand_arg *a, const struct kernel_function *f,
				     u64 offset)
{
	struct probe_target *t = add(a, f->module, f->name, offset, false);
	struct kprobe_site *site = (struct kprobe_site *)t->private;

	site->entry = f->address;
	t->alike = a->first;
	return site;
}

static int add_matching(void *arg, const struct kernel_function *f)
{
	struct expand_arg *a = arg;
	struct kprobe_site *site = add_found(a, f, 0);

	if (!a->first)
		a->first = a->out->list.items[a->out->list.len - 1]->alike = site;
	return 0;
}

static int expand_wildcard(struct expand_arg *a)
{
	const size_t first = a->out->list.len;
	struct function_left_out left;
	int err;

	a->wildcard = true;
	a->multi = kernel_ask(a->env->kernel, KERNEL_KPROBE_MULTI)->yes;
	err = function_each_match(a->env, a->module, a->function, add_matching, a, &left);
	if (err < 0)
		return probe_refuse(a->env, a->request->span, err, a->provider->name);
	function_tell_left_out(a->env, a->request, a->out, &left);
	if (a->out->list.len == first)
		return function_no_match(a->env, a->request, a->provider->name, a->module,
					 a->function);
	if (a->out->list.len - first < MULTI_FROM)
		for (size_t i = first; i < a->out->list.len; i++)
			((struct kprobe_site *)a->out->list.items[i]->private)->multi = false;
	return 0;
}

/* BTF answers in a millisecond for nearly every function; kallsyms takes tens of them. */
static bool function_exists(struct expand_arg *a)
{
	struct btf_function f;

	if (kernel_traceable_is_given(a->env->kernel))
		return function_is_traceable(a->env, a->function);
	if (!btf_find_function(a->env->btf, a->module, a->function, &f))
		return true;
	return kernel_symbol_address(a->env->kernel, a->function) != 0 ||
	       (!kernel_ask(a->env->kernel, KERNEL_KALLSYMS_ADDRESSES)->yes &&
		function_is_traceable(a->env, a->function));
}

/* The kernel would take it for a place in whatever function is there. */
static int check_offset(struct expand_arg *a, u64 offset)
{
	struct kernel *k = a->env->kernel;
	const u64 address = offset && !a->module && !a->env->unsafe && !a->env->compile_only
				    ? kernel_symbol_address(k, a->function)
				    : 0;
	struct kernel_symbol s;

	if (!address || !kernel_symbol_at(k, address + offset, &s) || s.address == address)
		return 0;
	diag_error(a->env->diag, a->request->span, "Offset outside the function bounds ('%s')",
		   a->function);
	diag_hint(a->env->diag, "%" PRIu64 " bytes behind its beginning is %s", offset, s.name);
	return -EINVAL;
}

/* The kernel is told the address: it takes names of all modules for one. */
static int expand_in_module(struct expand_arg *a, u64 offset)
{
	struct kernel_function found = {.name = a->function, .module = a->module};

	if (function_in_module(a->env, a->module, a->function, &found) > 1)
		return function_check_unique(a->env, a->request, a->function);
	if (found.module && str_eq(found.module, "vmlinux"))
		found.module = NULL;
	add_found(a, &found, offset);
	return 0;
}

static int expand_function(struct expand_arg *a, u64 offset)
{
	int err = function_check_blacklist(a->env, a->request->span, a->function);

	if (!err)
		err = check_offset(a, offset);
	if (err)
		return err;
	if (!function_exists(a)) {
		diag_warning(a->env->diag, a->request->span,
			     "%s is not traceable (either non-existing, inlined, or marked as "
			     "\"notrace\"); attaching to it will likely fail",
			     a->function);
		if (!a->env->unsafe)
			return function_no_match(a->env, a->request, a->provider->name, a->module,
						 a->function);
	}
	if (a->module && !a->env->compile_only && !a->env->list_only)
		return expand_in_module(a, offset);
	add(a, a->module && !str_eq(a->module, "vmlinux") ? a->module : NULL, a->function, offset,
	    false);
	return 0;
}

static int parse_offset(struct expand_arg *a, u64 *ret)
{
	const char *plus = strchr(a->function, '+');
	struct diag *d = a->env->diag;

	*ret = 0;
	if (!plus)
		return 0;
	if (a->provider == &probe_kretprobe) {
		diag_error(d, a->request->span, "Offset not allowed");
		diag_hint(
			d,
			"a kretprobe fires when the function returns; only kprobe takes an offset");
		return -EINVAL;
	}
	if (!probe_parse_number(plus + 1, ret)) {
		diag_error(d, a->request->span, "Invalid offset: %s", plus + 1);
		return -EINVAL;
	}
	a->function = arena_strndup(a->env->arena, a->function, (size_t)(plus - a->function));
	return 0;
}

/* ---- by source line ---- */

static int add_statement(void *arg, const struct kernel_image *image, const struct debug_point *p,
			 const struct elf_symbol *s, u64 into)
{
	struct expand_arg *a = arg;
	struct kprobe_site *site;
	struct probe_target *t = add(a, image->module, s->name, into, false);

	t->name = a->request->text;
	site = (struct kprobe_site *)t->private;
	site->image = *image;
	site->virtual = p->address;
	site->scope = p->function ? arena_strdup(a->env->arena, p->function) : NULL;
	site->entry = image->entry;
	return 0;
}

static int expand_line(struct expand_arg *a, const struct kernel_line *line)
{
	const struct probe_request *r = a->request;
	int err;

	if (a->provider == &probe_kretprobe) {
		diag_error(a->env->diag, r->span, "Source code location not allowed");
		diag_hint(a->env->diag, "a kretprobe fires when a function returns; use kprobe");
		return -EINVAL;
	}
	err = probe_require(a->env, r->span, KERNEL_KPROBES, a->provider->name);
	return err ? err : kernel_line_each(a->env, r, line, add_statement, a);
}

static int expand_parts(struct expand_arg *a)
{
	const struct probe_request *r = a->request;
	const char *provider = a->provider->name;
	struct probe_env *env = a->env;
	struct kernel_line line;
	u64 offset, address;
	int err = kernel_line_parse(env, r, &line);

	if (err)
		return err < 0 ? err : expand_line(a, &line);
	err = probe_check_parts(env, r, a->provider, 1, 2);
	if (err)
		return err;
	a->module = r->count == 3 ? r->parts[1] : NULL;
	a->function = r->parts[r->count - 1];
	err = parse_offset(a, &offset);
	if (err)
		return err;
	if (probe_parse_number(a->function, &address)) {
		if (!env->unsafe) {
			diag_error(env->diag, r->span, "Probing by address requires --unsafe");
			return -EINVAL;
		}
		err = probe_require(env, r->span, KERNEL_KPROBES, provider);
		if (!err)
			add(a, NULL, NULL, address + offset, true);
		return err;
	}
	if (glob_has_wildcard(a->function) && offset) {
		diag_error(env->diag, r->span, "wildcards cannot be combined with an offset");
		return -EINVAL;
	}
	err = function_check_module(env, r, a->module);
	if (!err)
		err = probe_require(env, r->span, KERNEL_KPROBES, provider);
	if (err)
		return err;
	if (glob_has_wildcard(a->function) || (a->module && glob_has_wildcard(a->module)))
		return expand_wildcard(a);
	return expand_function(a, offset);
}

static int expand(struct probe_env *env, const struct probe_request *r, struct probe_targets *out,
		  const struct probe_provider *p)
{
	struct expand_arg a = {
		.env = env, .request = r, .out = out, .provider = p, .name = STRBUF_INIT};
	const int err = expand_parts(&a);

	strbuf_release(&a.name);
	return err;
}

/* ---- describe ---- */

/* `args` of a kprobe: parameters that came in registers, typed by BTF. Those on the stack are left
 * out. */
static void describe_arguments(struct probe_env *env, const struct probe_target *t,
			       struct probe_context *ret)
{
	struct location *locations;
	const struct type *args;
	struct btf_function f;
	u32 known;

	if (btf_find_function(env->btf, t->module, t->function, &f))
		return;
	args = probe_arguments_type(env, f.type,
				    arena_printf(&env->types->arena, "kprobe:%s", t->function));
	if (!args)
		return;
	locations = arena_new_array(env->arena, struct location, args->count);
	known = function_register_parameters(args);
	for (u32 n = 0; n < known; n++) {
		const struct type *m = args->members[n].type;

		locations[n] = (struct location){.kind = LOCATION_REGISTER,
						 .size = (u8)m->size,
						 .is_signed = m->is_signed,
						 .offset = (u16)arch_argument_offset(n)};
	}
	ret->layout_key = t->name;
	ret->args = args; /* the rest stays LOCATION_NONE */
	ret->locations = locations;
}

/*
 * Since 6.14 multi-links use the function graph tracer, and programs see only the registers that it
 * saves (ftrace_partial_regs()). Before, struct fprobe had a struct rethook for returns, and
 * programs saw all registers.
 */
static bool has_partial_registers(struct probe_env *env)
{
	struct probe_cache *c = probe_cache_of(env);
	const struct type *t;
	u32 offset;

	if (c->fprobe_tried)
		return c->fprobe_is_partial;
	c->fprobe_tried = true;
	t = btf_available(env->btf) ? NULL : type_named(env->types, "struct fprobe");
	c->fprobe_is_partial = !t || !type_find_member(env->types, t, "rethook", &offset);
	return c->fprobe_is_partial;
}

/* A function that is known: the file, and its address there. False: not there, or another one. */
static bool find_in_image(const struct probe_target *t, const struct kernel_image *image,
			  u64 *ret_address)
{
	const u64 entry = ((const struct kprobe_site *)t->private)->entry;
	struct elf_symbol s;
	u64 in_memory;

	if (elf_file_find_symbol(image->file, t->function, &s))
		return false;
	*ret_address = s.address + t->address;
	return !image->is_loaded || !entry ||
	       (!kernel_image_locate(image, s.address, &in_memory) && in_memory == entry);
}

/* vars: at a statement, and wherever else debug information knows the function. */
static int describe_place(struct probe_env *env, const struct probe_target *t, struct span at,
			  struct probe_context *ret)
{
	const struct kprobe_site *site = t->private;
	const struct kernel_image *image = &site->image;
	struct kernel_image *own;
	u64 address = site->virtual;
	int err;

	if (site->is_address || site->is_wildcard)
		return 0;
	if (image->fetched) {
		ret->place = kernel_cached_place(env, image);
		ret->layout_key =
			arena_printf(env->arena, "%s vars@%s", ret->layout_key, image->fetched);
		return 0;
	}
	if (!image->file) {
		image = own = arena_new(env->arena, struct kernel_image);
		err = kernel_image_open(
			env, at, t->module ? t->module : function_module(env, t->function), own);
		if (err || !find_in_image(t, own, &address))
			return err;
	}
	ret->place = arena_new(env->arena, struct probe_place);
	*ret->place = (struct probe_place){
		.at = {image->file, address, site->scope ? site->scope : t->function},
		.kernel = image};
	ret->layout_key = arena_printf(env->arena, "%s vars@%" PRIx64, ret->layout_key, address);
	return 0;
}

static int describe(struct probe_env *env, const struct probe_target *t,
		    const struct probe_use *use, struct span at, struct probe_context *ret)
{
	struct kprobe_site *site = (struct kprobe_site *)t->private;
	const bool is_return = t->provider == &probe_kretprobe;
	const bool at_entry = !t->address;

	/* A register that was not saved has no value: attach one by one. */
	if (site->multi && (is_return ? use->at_return : use->at_entry) &&
	    has_partial_registers(env))
		site->multi = false;
	*ret = (struct probe_context){
		.space = SPACE_KERNEL,
		.has_cookie = kernel_features(env->kernel)->attach_cookie,
		.has_function = true,
		.is_return = is_return,
		.layout_key = is_return	    ? (site->multi ? "kretprobe/multi" : "kretprobe")
			      : site->multi ? "kprobe/multi"
			      : at_entry    ? "kprobe"
					    : "kprobe+",
	};
	probe_describe_registers(ret, at_entry && !is_return);
	if (site->multi)
		ret->expected_attach_type = BPF_TRACE_KPROBE_MULTI;
	if (is_return) {
		ret->argn_count = 0; /* the registers have other values by now */
		ret->retval_location = (struct location){
			.kind = LOCATION_REGISTER, .size = 8, .offset = arch_retval_offset()};
	} else if (at_entry && !site->is_wildcard && use->arguments) {
		describe_arguments(env, t, ret);
	}
	if (is_return || (!use->vars && !(use->names && is_statement(site) && !ret->args)))
		return 0;
	return describe_place(env, t, at, ret);
}

/* ---- attach ---- */

struct pmu_arg {
	int type;
	bool is_return;
};

static struct perf_event_attr pmu_attr(const struct probe_target *t, const struct pmu_arg *p)
{
	const struct kprobe_site *site = t->private;

	return (struct perf_event_attr){
		.type = (u32)p->type,
		.config = p->is_return, /* bit 0: retprobe */
		/* By address where it is known: kernels before 6.2 go through all of kallsyms for a
		   name. */
		.kprobe_func = site->is_address || site->entry ? 0 : (u64)(uintptr_t)t->function,
		.probe_offset = site->entry + t->address, /* or kprobe_addr, the same field */
	};
}

static int count(struct probe_env *env, const struct probe_target *t, struct perf_event_attr *ret)
{
	const struct pmu_arg arg = {.type = kernel_pmu_type("kprobe"),
				    .is_return = t->provider == &probe_kretprobe};

	*ret = pmu_attr(t, &arg);
	return arg.type < 0 ? -EOPNOTSUPP : 0;
}

static int open_kprobe(const struct probe_target *t, void *arg)
{
	const struct pmu_arg *p = arg;
	struct perf_event_attr attr = pmu_attr(t, p);

	attr.size = sizeof(attr);
	attr.sample_period = attr.wakeup_events = 1;
	return perf_event_open_fd(&attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

static int attach_multi(struct probe_env *env, int prog_fd, const struct probe_context *context,
			struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	u64 *entries = xreallocarray(NULL, n, sizeof(*entries));
	int err;

	for (u32 i = 0; i < n; i++)
		entries[i] = ((const struct kprobe_site *)targets[i]->private)->entry;
	err = kprobe_multi_attach(env, prog_fd, context, targets, entries, n, out);
	free(entries);
	return err;
}

static int attach(struct probe_env *env, int prog_fd, const struct probe_context *context,
		  struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	const bool is_return = n && targets[0]->provider == &probe_kretprobe;
	struct pmu_arg arg = {.is_return = is_return};

	if (!n)
		return 0;
	if (context->expected_attach_type)
		return attach_multi(env, prog_fd, context, targets, n, out);
	arg.type = kernel_pmu_type("kprobe");
	if (arg.type < 0) {
		attach_failed(env, targets[0], -EOPNOTSUPP, out);
		out->failed += n - 1;
		return -EOPNOTSUPP;
	}
	return attach_perf_events(env, prog_fd, targets, n, open_kprobe, &arg, out);
}

/*
 * A session hangs on ftrace (kernel/trace/fprobe.c), like any multi-link: it can be on functions
 * that ftrace knows, by names that mean one function, and since 6.14 it sees arguments, result and
 * stack pointer only (ftrace_partial_regs()). So it is taken for functions that were matched, which
 * get a multi-link anyway, and for one that was named where nothing is lost by it.
 */
static u32 session(struct probe_env *env, struct probe_target *const *targets, u32 n,
		   bool needs_registers)
{
	const struct kprobe_site *site = targets[0]->private;
	const struct probe_target *t = targets[0];

	if (site->multi)
		return kernel_ask(env->kernel, KERNEL_KPROBE_SESSION)->yes
			       ? UAPI_BPF_TRACE_KPROBE_SESSION
			       : 0;
	if (n > 1 || needs_registers || site->is_address || is_statement(site) || t->address ||
	    t->module || !kernel_ask(env->kernel, KERNEL_KPROBE_SESSION)->yes ||
	    !function_is_traceable_once(env, t->function))
		return 0;
	return UAPI_BPF_TRACE_KPROBE_SESSION;
}

/* ---- list ---- */

struct each_arg {
	const struct probe_listing *listing;
	bool with_module;
};

static int each_function(void *arg, const struct kernel_function *f)
{
	const struct each_arg *a = arg;
	const char *parts[] = {a->listing->provider->name,
			       f->module && *f->module ? f->module : "vmlinux", f->name};
	char full[3 * 513], *at = full;

	/* By hand: this runs for each of 60,000 functions. */
	for (u32 i = 0; i < ARRAY_SIZE(parts); i++) {
		const size_t n = strlen(parts[i]);

		if (i == 1 && !a->with_module)
			continue;
		if (n >= 512)
			return 0;
		memcpy(at, parts[i], n);
		at += n;
		*at++ = ':';
	}
	at[-1] = '\0';
	return probe_offer(a->listing, full);
}

static int each(const struct probe_listing *l)
{
	const char *const colon = l->glob ? strchr(l->glob, ':') : NULL;
	const char *const last = l->glob ? strrchr(l->glob, ':') : NULL;
	struct each_arg a = {l, colon && last != colon};

	return function_each_listed(l->env, last ? last + 1 : NULL, each_function, &a);
}

const struct probe_provider probe_kprobe = {
	.name = "kprobe",
	.aliases = {"k"},
	.form = "kprobe:[MODULE:]FUNCTION[+OFFSET], kprobe:[MODULE:]FUNCTION:LINE or "
		"kprobe:[MODULE]@SOURCE:LINE",
	.doc = "entries of kernel functions, and places in them",
	.needs = KERNEL_KPROBES,
	.runs_in_reverse = true,
	.needs_pid_filter = true,
	.can_override = true,
	.expand = expand,
	.is_made_live = true,
	.describe = describe,
	.attach = attach,
	.count = count,
	.returns = &probe_kretprobe,
	.session = session,
	.each = each,
};

const struct probe_provider probe_kretprobe = {
	.name = "kretprobe",
	.aliases = {"kr"},
	.form = "kretprobe:[MODULE:]FUNCTION",
	.doc = "returns of kernel functions",
	.needs = KERNEL_KPROBES,
	.needs_pid_filter = true,
	.expand = expand,
	.is_made_live = true,
	.describe = describe,
	.attach = attach,
	.count = count,
	.each = each,
};
