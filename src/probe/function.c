/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/function.h"

#include "base/glob.h"

#include <stdio.h>
#include <unistd.h>

/* ---- those that match ---- */

struct match_arg {
	struct probe_env *env;
	const char *module;
	kernel_function_fn fn;
	void *arg;
	struct function_left_out *left;
};

static int each_match(void *arg, const struct kernel_function *f, enum traceable_answer answer)
{
	const struct match_arg *a = arg;

	if (!function_module_matches(a->module, f->module))
		return 0;
	if (answer == TRACEABLE_NOT)
		a->left->notrace++;
	else if (answer == TRACEABLE_AMBIGUOUS)
		a->left->ambiguous++;
	else if (kernel_function_blacklisted(a->env->kernel, f->own, f->address))
		a->left->blacklisted++;
	else if (str_starts(f->name, "rcu_") || str_starts(f->name, "__rcu_"))
		a->left->of_rcu++; /* they run inside of what a probe needs */
	else
		return a->fn(a->arg, f);
	return 0;
}

int function_each_match(struct probe_env *env, const char *module, const char *names,
			kernel_function_fn fn, void *arg, struct function_left_out *left)
{
	struct match_arg a = {.env = env, .module = module, .fn = fn, .arg = arg, .left = left};

	*left = (struct function_left_out){.notrace = 0};
	return kernel_each_function(env->kernel, names, each_match, &a);
}

void function_tell_left_out(struct probe_env *env, const struct probe_request *r,
			    struct probe_targets *out, const struct function_left_out *left)
{
	const struct {
		u32 count;
		const char *why;
	} rows[] = {
		{left->notrace, "notrace (the kernel allows no tracing of them)"},
		{left->blacklisted, "on the kernel's kprobe blacklist"},
		{left->of_rcu, "RCU's own, which probes need themselves"},
		{left->ambiguous,
		 "of a name that others have, too, some of which cannot be traced"},
		{left->shared, "of a name that others have, too (a kprobe can be put on them)"},
	};
	struct strbuf text = STRBUF_INIT;
	u32 all = 0;

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!rows[i].count)
			continue;
		strbuf_addf(&text, "%s%u %s", all ? ", " : "", rows[i].count, rows[i].why);
		all += rows[i].count;
	}
	if (all && !env->list_only)
		diag_warning(env->diag, r->span, "%u function%s that match%s %s %s left out: %s",
			     all, plural(all), all == 1 ? "es" : "", r->text, is_are(all),
			     text.data);
	out->skipped += all;
	strbuf_release(&text);
}

struct listed_arg {
	struct kernel *kernel;
	kernel_function_fn fn;
	void *arg;
};

static int each_listed(void *arg, const struct kernel_function *f, enum traceable_answer answer)
{
	const struct listed_arg *a = arg;

	if (answer == TRACEABLE_NOT || (answer == TRACEABLE_UNKNOWN &&
					kernel_function_blacklisted(a->kernel, f->own, f->address)))
		return 0;
	return a->fn(a->arg, f);
}

int function_each_listed(struct probe_env *env, const char *names, kernel_function_fn fn, void *arg)
{
	struct listed_arg a = {.kernel = env->kernel, .fn = fn, .arg = arg};

	return kernel_each_function(env->kernel, names, each_listed, &a);
}

/* ---- one by its name ---- */

bool function_is_traceable(struct probe_env *env, const char *name)
{
	const enum traceable_answer answer = kernel_name_traceable(env->kernel, name);

	return answer == TRACEABLE || answer == TRACEABLE_UNKNOWN;
}

bool function_is_traceable_once(struct probe_env *env, const char *name)
{
	return kernel_name_traceable(env->kernel, name) == TRACEABLE &&
	       ksyms_count(kernel_ksyms(env->kernel), name) == 1;
}

/* "foo" -> "fo[o]", a wildcard that means nothing else. */
static const char *as_wildcard(struct probe_env *env, const char *name)
{
	const int last = (int)strlen(name) - 1;

	return arena_printf(env->arena, "%.*s[%c]", last, name, name[last]);
}

static const char *shared_reason(struct probe_env *env, const char *name, const char **ret_hint)
{
	const u32 n = *name ? ksyms_count(kernel_ksyms(env->kernel), name) : 0;

	if (n < 2)
		return NULL;
	*ret_hint = arena_printf(
		env->arena, "kprobe:%s means all of them; kprobe:MODULE:%s the one of a module",
		as_wildcard(env, name), name);
	return arena_printf(env->arena, "the name is not unique: %u functions are called %s", n,
			    name);
}

int function_check_unique(struct probe_env *env, const struct probe_request *r, const char *name)
{
	const char *hint, *reason = shared_reason(env, name, &hint);

	if (!reason)
		return 0;
	diag_error(env->diag, r->span, "cannot attach to %s: %s", r->text, reason);
	diag_hint(env->diag, "%s", hint);
	return -EINVAL;
}

u32 function_register_parameters(const struct type *function)
{
	u32 n = 0;

	/* A struct by value takes several registers and moves all that follow. */
	while (n < function->count && arch_argument_offset(n) >= 0 &&
	       !type_is_record(function->members[n].type) && function->members[n].type->size &&
	       function->members[n].type->size <= 8)
		n++;
	return n;
}

const char *function_refusal(struct probe_env *env, const struct probe_target *t, int error,
			     const char **ret_hint)
{
	struct ksyms *ks = kernel_ksyms(env->kernel);
	const u64 address = ksyms_address(ks, t->function);

	*ret_hint = NULL;
	if (!address)
		return NULL;
	if (error == EADDRNOTAVAIL)
		return shared_reason(env, t->function, ret_hint);
	if (ksyms_ran_at_boot(ks, address))
		return "the function ran at boot, and its memory was given back since";
	*ret_hint = "probe one of its callers or callees instead; `pantrace list 'kprobe:*'` shows "
		    "what can be traced";
	if ((t->provider == &probe_kprobe || t->provider == &probe_kretprobe) &&
	    kernel_function_blacklisted(env->kernel, t->function, address))
		return "it is on the kernel's kprobe blacklist (probing it could crash the "
		       "machine)";
	if (kernel_name_traceable(env->kernel, t->function) == TRACEABLE_NOT)
		return "the kernel does not allow this function to be traced (notrace)";
	*ret_hint = NULL;
	return NULL;
}

int probe_use_functions(struct probe_env *env, const char *path)
{
	const int err = kernel_set_traceable(env->kernel, path);

	if (err)
		diag_error(env->diag, NO_SPAN, "Could not read functions from %s: %s", path,
			   strerror(-err));
	return err;
}

bool function_module_matches(const char *glob, const char *module)
{
	return !glob || glob_match(glob, module && *module ? module : "vmlinux");
}

const char *function_forbidden(struct probe_env *env, const char *name, u64 address,
			       bool is_one_of_many)
{
	if (kernel_function_blacklisted(env->kernel, name, address))
		return "is blacklisted function";
	if (is_one_of_many && kernel_name_traceable(env->kernel, name) == TRACEABLE_NOT)
		return "cannot be traced (notrace)";
	return NULL;
}

struct in_module {
	const char *module, *name;
	struct kernel_function *found;
	u32 count;
};

static int find_in_module(void *arg, const struct kernel_function *f)
{
	struct in_module *q = arg;

	if (function_module_matches(q->module, f->module) && str_eq(f->name, q->name)) {
		*q->found = *f;
		q->count++;
	}
	return 0;
}

u32 function_in_module(struct probe_env *env, const char *module, const char *name,
		       struct kernel_function *ret)
{
	struct in_module q = {.module = module, .name = name, .found = ret};

	ksyms_each_function(kernel_ksyms(env->kernel), name, find_in_module, &q);
	return q.count;
}

const char *function_module(struct probe_env *env, const char *name)
{
	struct kernel_function f;

	return function_in_module(env, NULL, name, &f) == 1 ? f.module : NULL;
}

int function_check_module(struct probe_env *env, const struct probe_request *r, const char *module)
{
	char path[256];

	if (!module || str_eq(module, "vmlinux") || glob_has_wildcard(module))
		return 0;
	snprintf(path, sizeof(path), "/sys/module/%s", module);
	if (!strchr(module, '/') && !str_eq(module, "..") && *module && !access(path, F_OK))
		return 0;
	diag_error(env->diag, r->span, "specified module %s in probe %s is not loaded.", module,
		   r->text);
	diag_hint(env->diag, "load it first: modprobe %s", module);
	return -ENOENT;
}

int function_check_blacklist(struct probe_env *env, struct span at, const char *name)
{
	if (!kernel_function_blacklisted(env->kernel, name, 0))
		return 0;
	diag_error(env->diag, at,
		   "%s cannot be probed: it is on the kernel's kprobe blacklist (probing it could "
		   "crash the machine)",
		   name);
	diag_hint(env->diag, "probe one of its callers or callees instead; the list is "
			     "/sys/kernel/debug/kprobes/blacklist");
	return -EINVAL;
}

struct find_arg {
	const char *name;
	size_t len;
	struct nearest nearest;
	char suffixed[128]; /* name.isra.0, name.constprop.0, name.cold ... */
	bool exists, is_part; /* is_part: others have it in their name */
};

static int find_near(void *arg, const struct kernel_function *function)
{
	struct find_arg *f = arg;
	const char *name = function->name;

	if (!strncmp(name, f->name, f->len)) {
		if (!name[f->len])
			f->exists = true;
		else if (name[f->len] == '.' && !f->suffixed[0] && !strstr(name, ".cold"))
			snprintf(f->suffixed, sizeof(f->suffixed), "%s", name);
	}
	f->is_part |= strstr(name, f->name) != NULL;
	if (!f->exists)
		nearest_offer(&f->nearest, name);
	return 0;
}

static int find_near_listed(void *arg, const struct traceable_function *t)
{
	return find_near(arg, &(struct kernel_function){.name = t->name});
}

void function_missing_hint(struct probe_env *env, const char *provider, const char *name)
{
	struct find_arg f = {.name = name, .len = strlen(name)};

	f.exists = kernel_symbol_address(env->kernel, name) != 0; /* under any of its names */
	nearest_init(&f.nearest, name);
	if (ksyms_each_function(kernel_ksyms(env->kernel), NULL, find_near, &f) < 0)
		kernel_each_traceable(env->kernel, find_near_listed, &f);
	if (f.exists)
		diag_hint(env->diag, "the function exists, but it is not traceable (marked "
				     "notrace, or in a section that is not)");
	else if (f.suffixed[0])
		diag_hint(env->diag,
			  "the compiler changed its name (and its arguments): it exists as '%s'",
			  f.suffixed);
	else if (f.nearest.best[0][0])
		nearest_hint(&f.nearest, env->diag, "");
	else
		diag_hint(env->diag,
			  "the function does not exist here, or it is inlined everywhere; "
			  "`pantrace list '%s:*%s%s'` shows what there is",
			  provider, f.is_part ? name : "", f.is_part ? "*" : "");
}

int function_no_match(struct probe_env *env, const struct probe_request *r, const char *provider,
		      const char *module, const char *name)
{
	diag_error(env->diag, r->span, "No matches for %s %s%s%s.", provider, module ? module : "",
		   module ? ":" : "", name);
	if (!glob_has_wildcard(name) && *name)
		function_missing_hint(env, provider, name);
	return -ENOENT;
}
