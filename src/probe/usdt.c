/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usdt: static events of programs and libraries (SystemTap SDT notes). A uprobe sits on the nop of
 * each site; where the program guards the event by a semaphore, the kernel counts it up through
 * ref_ctr_offset while we are attached. Sites of one event may keep their arguments in different
 * places, so each site is a target and the layout key names its argument string.
 */
#include <stdio.h>

#include "probe/uapi.h"
#include "probe/user.h"

struct expand_arg {
	struct probe_env *env;
	const struct probe_request *request;
	struct probe_targets *out;
	const char *provider, *name; /* globs */
	const char *path;
	struct elf_file *file;
	bool quiet;
	const char *breaks; /* why an event that matches was left out; NULL */
	struct hashmap events; /* "provider:name" of the file */
	u32 matched;
};

static int add_note(void *arg, const struct usdt_note *n)
{
	struct expand_arg *a = arg;
	struct arena *arena = a->env->arena;
	struct user_site *site;
	struct probe_target *t;
	const char *full;
	bool is_new;

	if (!glob_match(a->provider, n->provider) || !glob_match(a->name, n->name))
		return 0;
	if (!elf_file_is_executable_offset(a->file, n->offset)) {
		a->out->skipped++;
		return 0;
	}
	if (a->quiet && !a->env->unsafe && user_breaks(a->file, n->offset)) {
		a->out->skipped++; /* one of many: the others are probed */
		a->breaks = user_breaks(a->file, n->offset);
		return 0;
	}
	if (!a->env->list_only &&
	    user_check_instruction(a->env, a->request->span, a->file, n->offset, n->name))
		return -EINVAL;
	site = arena_new(arena, struct user_site);
	site->is_32 = !elf_file_is_64(a->file);
	site->file = a->file;
	site->usdt_address = n->address;
	site->usdt_args = n->args && *n->args ? arena_strdup(arena, n->args) : NULL;
	full = arena_printf(arena, "%s:%s", n->provider, n->name);
	hashmap_put(&a->events, full, strlen(full), &is_new);
	site->is_repeated = !is_new;
	t = probe_add_target(a->env, a->out, &probe_usdt, a->request,
			     arena_printf(arena, "usdt:%s:%s:%s", a->path, n->provider, n->name));
	t->private = site;
	t->path = a->path;
	t->module = arena_strdup(arena, n->provider);
	t->function = arena_strdup(arena, n->name);
	t->address = n->offset;
	t->semaphore = n->semaphore;
	a->matched++;
	return 0;
}

static int expand_file(void *arg, const char *path)
{
	struct expand_arg *a = arg;
	int err = user_open(a->env, a->request->span, path, !a->quiet, &a->file);

	if (err)
		return a->quiet ? 0 : err;
	a->path = arena_strdup(a->env->arena, path);
	err = elf_file_each_usdt(a->file, add_note, a);
	hashmap_release(&a->events);
	a->events = (struct hashmap){0};
	return err == -EINVAL ? err : 0;
}

struct offer_arg {
	struct nearest nearest;
	u32 count;
};

static int offer_note(void *arg, const struct usdt_note *n)
{
	struct offer_arg *o = arg;

	o->count++;
	nearest_offer(&o->nearest, n->name);
	return 0;
}

static int no_match(struct expand_arg *a, const char *file)
{
	struct diag *d = a->env->diag;
	struct offer_arg o = {.count = 0};

	if (user_check_files(a->env, a->request->span))
		return -ESTALE;
	diag_error(d, a->request->span, "No matches for usdt %s:%s:%s.", file, a->provider,
		   a->name);
	if (a->breaks)
		diag_hint(d,
			  "a probe on what matches would crash programs: %s; --unsafe attaches "
			  "all the same",
			  a->breaks);
	else if (str_eq(file, "*"))
		diag_hint(
			d, "%s",
			a->request->pid > 0
				? "no file that the process maps has it"
				: "no program or library that is running has it; a path names one "
				  "that is not");
	if (!a->file || a->quiet)
		return -ENOENT;
	nearest_init(&o.nearest, a->name);
	elf_file_each_usdt(a->file, offer_note, &o);
	if (!o.count)
		diag_hint(d,
			  "%s has no USDT probes; programs have them when they are built with "
			  "<sys/sdt.h>",
			  a->path);
	else if (o.nearest.best[0][0])
		nearest_hint(&o.nearest, d, "");
	else
		diag_hint(d, "`pantrace list 'usdt:%s:*'` shows what is there", a->path);
	return -ENOENT;
}

/* usdt:FILE:NAME, usdt:FILE:PROVIDER:NAME; with -p also usdt:NAME and usdt::NAME. */
static int expand(struct probe_env *env, const struct probe_request *r, struct probe_targets *out,
		  const struct probe_provider *p)
{
	struct expand_arg a = {.env = env, .request = r, .out = out};
	const bool implied = r->pid > 0 && r->count == 2;
	const size_t first = out->list.len;
	const char *file;
	int err;

	if (!implied && probe_check_parts(env, r, &probe_usdt, 2, 3))
		return -EINVAL;
	file = implied ? "" : r->parts[1];
	a.provider = r->count == 4 && *r->parts[2] ? r->parts[2] : "*";
	a.name = r->parts[r->count - 1];
	if (!*a.name) {
		diag_error(env->diag, r->span,
			   "usdt probe must have a target function or wildcard");
		diag_hint(env->diag, "the form is %s", probe_usdt.form);
		return -EINVAL;
	}
	/* The event may be in any library of the process. */
	if (!*file && r->pid > 0)
		file = "*";
	a.quiet = glob_has_wildcard(file);
	err = probe_require(env, r->span, KERNEL_UPROBES, "usdt");
	if (!err)
		err = user_each_file(env, r, file, expand_file, &a);
	if (err)
		return err;
	if (!a.matched)
		return no_match(&a, file);
	if (a.breaks)
		diag_warning(env->diag, r->span,
			     "some events that match are left out, a probe on them would crash "
			     "programs: %s",
			     a.breaks);
	for (size_t i = first; i < out->list.len; i++) {
		if (!out->list.items[i]->semaphore)
			continue;
		err = probe_require(env, r->span, KERNEL_USDT_SEMAPHORE,
				    "a USDT probe with a semaphore");
		if (err)
			return err;
		break;
	}
	user_choose_multi(env, out, first);
	return 0;
}

static int describe(struct probe_env *env, const struct probe_target *t,
		    const struct probe_use *use, struct span at, struct probe_context *ret)
{
	const struct user_site *site = t->private;
	int n = 0;

	*ret = (struct probe_context){
		.kind = CONTEXT_REGISTERS,
		.program_type = BPF_PROG_TYPE_KPROBE,
		.expected_attach_type = site->multi ? UAPI_BPF_TRACE_UPROBE_MULTI : 0,
		.space = SPACE_USER,
		.has_cookie = kernel_features(env->kernel)->attach_cookie,
		.has_function = true,
	};
	if (site->usdt_args)
		n = usdt_note_args(
			site->file,
			&(struct usdt_note){.args = site->usdt_args, .address = site->usdt_address},
			ret->argn, ARRAY_SIZE(ret->argn));
	if (n < 0) {
		diag_error(env->diag, at, "the arguments of %s cannot be understood: \"%s\"",
			   t->name, site->usdt_args);
		return n;
	}
	ret->argn_count = (u8)n;
	ret->layout_key =
		user_layout_key(env, site->multi ? "usdt/multi" : "usdt", ret->argn, (u32)n);
	user_describe_types(env, t, ret);
	return 0;
}

static int attach(struct probe_env *env, int prog_fd, const struct probe_context *context,
		  struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	return user_attach(env, prog_fd, targets, n, false, out);
}

/* ---- list ---- */

struct each_arg {
	const struct probe_listing *listing;
	const char *provider, *name, *path;
	struct hashmap seen; /* an event may have many sites */
};

static int each_note(void *arg, const struct usdt_note *n)
{
	struct each_arg *a = arg;
	struct strbuf sb = STRBUF_INIT;
	bool is_new;
	int err = 0;

	if (!glob_match(a->provider, n->provider) || !glob_match(a->name, n->name))
		return 0;
	strbuf_addf(&sb, "usdt:%s:%s:%s", a->path, n->provider, n->name);
	hashmap_put(&a->seen, sb.data, sb.len, &is_new);
	if (is_new)
		err = a->listing->fn(a->listing->arg, sb.data);
	strbuf_release(&sb);
	return err;
}

static int each_file(void *arg, const char *path)
{
	struct each_arg *a = arg;
	struct elf_file *f;

	if (user_open(a->listing->env, NO_SPAN, path, false, &f))
		return 0;
	a->path = path;
	return elf_file_each_usdt(f, each_note, a);
}

static int each(const struct probe_listing *l)
{
	struct probe_env *const env = l->env;
	const char *glob = l->glob;
	struct each_arg a = {.listing = l, .provider = "*", .name = "*"};
	const struct probe_request r = {.span = NO_SPAN, .text = glob, .pid = env->pid};
	char *parts[3] = {0}, *rest;
	u32 n = 0;
	int err;

	/* Without a file (or a process) there is nothing to look into. */
	if (!glob && env->pid)
		glob = "usdt:*";
	if (!glob || !str_starts(glob, "usdt:"))
		return 0;
	rest = arena_strdup(env->arena, glob + 5);
	while (n < 3 && (parts[n] = strsep(&rest, ":")))
		n++;
	if (n == 2)
		a.name = parts[1];
	if (n == 3) {
		if (*parts[1])
			a.provider = parts[1];
		a.name = parts[2];
	}
	if (!env->pid && (!*parts[0] || (str_eq(parts[0], "*") && (n == 1 || str_eq(a.name, "*")))))
		return 0;
	err = user_each_file(env, &r, parts[0], each_file, &a);
	hashmap_release(&a.seen);
	return err;
}

const struct probe_provider probe_usdt = {
	.name = "usdt",
	.aliases = {"U"},
	.form = "usdt:FILE:[PROVIDER:]NAME",
	.doc = "static events that programs and libraries define",
	.needs = KERNEL_UPROBES,
	.runs_in_reverse = true,
	.takes_path = true,
	.has_own_arguments = true,
	.expand = expand,
	.describe = describe,
	.attach = attach,
	.count = user_count,
	.each = each,
};
