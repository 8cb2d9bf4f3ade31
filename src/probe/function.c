/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/function.h"

#include "base/glob.h"

#include <stdio.h>
#include <unistd.h>

struct each_arg {
	struct probe_env *env;
	const char *glob;
	kernel_function_fn fn;
	void *arg;
	bool once;
	bool any;
	struct hashmap seen;
};

static int each_entry(void *arg, const struct kernel_function *f)
{
	struct each_arg *a = arg;
	bool is_new = true;

	a->any = true;
	/* ftrace shows functions of discarded sections under this name. */
	if (str_starts(f->name, "__ftrace_invalid_address__"))
		return 0;
	if (a->once)
		hashmap_put(&a->seen, f->name, strlen(f->name), &is_new);
	return is_new ? a->fn(a->arg, f) : 0;
}

static int each_once(void *arg, const struct kernel_function *f)
{
	struct each_arg *a = arg;

	a->any = true;
	return a->glob && !glob_match(a->glob, f->name) ? 0 : each_entry(a, f);
}

static int each_named(void *arg, const char *name, const char *module)
{
	return each_once(arg, &(struct kernel_function){name, module, 0, 0});
}

static int each_symbol(void *arg, const char *name, const char *module, u64 address)
{
	struct each_arg *a = arg;

	if (module && str_eq(module, "bpf")) /* programs and trampolines, which come and go */
		return 0;
	return kernel_function_blacklisted(a->env->kernel, name, address)
		       ? 0
		       : each_once(arg, &(struct kernel_function){name, module, address, 0});
}

static int each_traceable(struct each_arg *a)
{
	int err;

	a->seen.keys_stay = true;
	err = kernel_each_entry(a->env->kernel, a->glob, each_entry, a);
	if (!a->any)
		a->seen.keys_stay = false; /* the names of the others come and go */
	if (err == -EOPNOTSUPP && !a->any)
		err = kernel_each_traceable(a->env->kernel, each_named, a);
	if (err < 0 && !a->any)
		err = kernel_each_function(a->env->kernel, each_symbol, a);
	hashmap_release(&a->seen);
	return err;
}

int function_each_traceable(struct probe_env *env, const char *glob, kernel_function_fn fn,
			    void *arg)
{
	struct each_arg a = {.env = env, .glob = glob, .fn = fn, .arg = arg, .once = true};

	return each_traceable(&a);
}

int function_each_listed(struct probe_env *env, kernel_function_fn fn, void *arg)
{
	struct each_arg a = {.env = env, .fn = fn, .arg = arg};

	return each_traceable(&a);
}

static int remember(void *arg, const char *name, const char *module)
{
	struct probe_cache *c = arg;

	if (hashmap_gets(&c->functions, name))
		hashmap_puts(&c->repeated, name, c);
	hashmap_puts(&c->functions, name, module ? arena_strdup(&c->strings, module) : "");
	return 0;
}

static const struct probe_cache *known_functions(struct probe_env *env)
{
	struct probe_cache *c = probe_cache_of(env);

	if (!c->functions_known) {
		c->functions_known = true;
		c->functions_readable =
			kernel_each_traceable(env->kernel, remember, c) >= 0 &&
			(c->functions.len || kernel_traceable_is_given(env->kernel));
	}
	return c;
}

bool function_is_traceable(struct probe_env *env, const char *name)
{
	const struct probe_cache *c = known_functions(env);

	return !c->functions_readable || hashmap_gets(&c->functions, name);
}

bool function_is_traceable_once(struct probe_env *env, const char *name)
{
	const struct probe_cache *c = known_functions(env);

	return c->functions_readable && hashmap_gets(&c->functions, name) &&
	       !hashmap_gets(&c->repeated, name);
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
		   "crash the "
		   "machine)",
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
	bool exists;
};

static int find_near(void *arg, const char *name, const char *module, u64 address)
{
	struct find_arg *f = arg;

	if (!strncmp(name, f->name, f->len)) {
		if (!name[f->len])
			f->exists = true;
		else if (name[f->len] == '.' && !f->suffixed[0] && !strstr(name, ".cold"))
			snprintf(f->suffixed, sizeof(f->suffixed), "%s", name);
	}
	if (!f->exists)
		nearest_offer(&f->nearest, name);
	return 0;
}

static int find_near_traceable(void *arg, const char *name, const char *module)
{
	return find_near(arg, name, module, 0);
}

void function_missing_hint(struct probe_env *env, const char *provider, const char *name)
{
	struct find_arg f = {.name = name, .len = strlen(name)};

	nearest_init(&f.nearest, name);
	if (kernel_each_function(env->kernel, find_near, &f) < 0)
		kernel_each_traceable(env->kernel, find_near_traceable, &f);
	if (f.exists)
		diag_hint(env->diag, "the function exists, but it is not traceable (marked "
				     "notrace, or in a section that is "
				     "not)");
	else if (f.suffixed[0])
		diag_hint(env->diag,
			  "the compiler changed its name (and its arguments): it exists as '%s'",
			  f.suffixed);
	else if (f.nearest.best[0][0])
		nearest_hint(&f.nearest, env->diag, "");
	else
		diag_hint(env->diag,
			  "the function does not exist here, or it is inlined everywhere; "
			  "`pantrace list '%s:*%s*'` "
			  "searches",
			  provider, name);
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
