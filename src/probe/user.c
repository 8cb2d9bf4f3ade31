/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/user.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign.h"
#include "binary/debug/lines.h"
#include "binary/elf/zip.h"
#include "binary/process/running_files.h"
#include "probe/uapi.h"
#include "probe/variables.h"

/*
 * Places in the files of one process for which its first thread only is seen where links take it
 * for that (6.6 to 6.9).
 */
#define MULTI_FROM 4
#define NOP_SIZE   5 /* bytes of an instruction that are looked at */

/* "ARCHIVE!/ENTRY" that is no library in an archive: says why. */
static bool refuse_entry(struct probe_env *env, struct span at, const char *path)
{
	const char *separator = zip_separator(path), *why = NULL;
	u64 offset, size;
	char *archive;
	int fd, err;

	if (!separator || !access(path, F_OK))
		return false;
	archive = xstrndup(path, (size_t)(separator - path));
	fd = foreign_open(archive, NULL);
	free(archive);
	if (fd < 0)
		return false;
	err = zip_find(fd, separator + 2, &offset, &size, &why);
	close(fd);
	if (err)
		diag_error(env->diag, at, "cannot probe %s: %s", path, why ? why : strerror(-err));
	return err;
}

int user_open(struct probe_env *env, struct span at, const char *path, bool loud,
	      struct elf_file **ret)
{
	struct probe_cache *c = probe_cache_of(env);
	struct elf_file *f = hashmap_gets(&c->files, path);
	int err = 0;

	if (!f) {
		err = elf_file_open(path, &f);
		if (!err) {
			elf_file_set_debug_path(f, env->debug_path);
			hashmap_puts(&c->files, path, f);
		}
	}
	if (!err) {
		*ret = f;
		return 0;
	}
	if (!loud)
		return err;
	if (refuse_entry(env, at, path))
		return err;
	if (err == -ENOEXEC) {
		diag_error(env->diag, at, "%s is not an ELF executable or library", path);
		diag_hint(env->diag,
			  "give the program itself, not a script or a text file that starts it");
	} else if (err == -ENOENT) {
		diag_error(env->diag, at, "No such file: %s", path);
	} else {
		diag_error(env->diag, at, "cannot open %s: %s", path, strerror(-err));
		if (err == -EACCES || err == -EPERM)
			diag_code(env->diag, EXIT_PRIVILEGE);
	}
	return err;
}

int user_check_files(struct probe_env *env, struct span at)
{
	hashmap_each (&probe_cache_of(env)->files, e) {
		const int err = elf_file_error(e->value);

		if (!err)
			continue;
		diag_error(env->diag, at, "%s cannot be read to its end: %s",
			   elf_file_path(e->value),
			   err == -ESTALE ? "it, or its debug file, was cut short or written over "
					    "meanwhile"
					  : strerror(-err));
		if (err == -ESTALE)
			diag_hint(env->diag, "run pantrace again once the file is complete");
		return err;
	}
	return 0;
}

int user_check_pid(struct probe_env *env, const struct probe_request *r)
{
	if (r->pid <= 0)
		return 0;
	if (!kill(r->pid, 0) || errno != ESRCH)
		return env->prepare_process ? env->prepare_process(env->prepare_arg) : 0;
	diag_error(env->diag, r->span, "process %d does not exist (any more)", r->pid);
	return -ESRCH;
}

struct count_arg {
	int (*fn)(void *arg, const char *path);
	void *arg;
	u32 count;
};

static int count_file(void *arg, const char *path)
{
	struct count_arg *a = arg;

	a->count++;
	return a->fn(a->arg, path);
}

/* The name of a process's executable, if it means the same file in our mount namespace; else the
 * link in /proc. */
static char *process_executable(pid_t pid)
{
	struct stat theirs, ours;
	char link[64], *path;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	path = realpath(link, NULL);
	if (path && !stat(link, &theirs) && !stat(path, &ours) && theirs.st_ino == ours.st_ino &&
	    theirs.st_dev == ours.st_dev)
		return path;
	free(path);
	return xstrdup(link);
}

/* What a search of the running processes did not see. */
static void say_unsearched(struct probe_env *env, struct span at, const struct running_files *f)
{
	if (f->refused || f->unreadable)
		diag_warning(env->diag, at,
			     "%u of %u running processes and %u of %u files may not be read: "
			     "probes in them are missing",
			     f->refused, f->refused + f->processes, f->unreadable,
			     f->unreadable + f->files);
	if (f->deleted)
		diag_warning(env->diag, at,
			     "%u programs or libraries were replaced or removed while they run: "
			     "these are not probed until they are started again",
			     f->deleted);
	if (f->is_cut)
		diag_warning(env->diag, at,
			     "more than %u files are running: the others are not searched",
			     RUNNING_MAX_FILES);
}

/* `*` without a process: what runs now. */
static int each_running(struct probe_env *env, const struct probe_request *r,
			int (*fn)(void *arg, const char *path), void *arg)
{
	struct running_files files;
	const int err = binary_each_running(fn, arg, &files);

	if (!err)
		say_unsearched(env, r->span, &files);
	return err;
}

int user_each_file(struct probe_env *env, const struct probe_request *r, const char *word,
		   int (*fn)(void *arg, const char *path), void *arg)
{
	struct count_arg a = {.fn = fn, .arg = arg};
	char *path;
	int err;

	err = user_check_pid(env, r);
	if (err)
		return err;
	if (!*word && r->pid > 0) {
		path = process_executable(r->pid);
		err = fn(arg, path);
		free(path);
		return err;
	}
	if (str_eq(word, "*") && r->pid <= 0)
		return each_running(env, r, fn, arg);
	if (glob_has_wildcard(word)) {
		err = binary_each_path(word, r->pid, count_file, &a);
		if (err || a.count)
			return err;
		diag_error(env->diag, r->span, "No file matches %s", word);
		return -ENOENT;
	}
	path = *word ? binary_resolve(word, r->pid) : NULL;
	if (!path) {
		diag_error(env->diag, r->span,
			   *word ? "No such file or library: %s" : "the file is missing%s", word);
		if (!strchr(word, '/'))
			diag_hint(env->diag, "give a path, a program in $PATH, or a library as in "
					     "`libc` or `libssl.so.3`");
		return -ENOENT;
	}
	err = fn(arg, path);
	free(path);
	return err;
}

/* ---- describe ---- */

const char *user_layout_key(struct probe_env *env, const char *prefix,
			    const struct location *locations, u32 n)
{
	struct strbuf key = STRBUF_INIT;
	const char *ret;

	strbuf_addstr(&key, prefix);
	for (u32 i = 0; i < n; i++) {
		const struct location *at = &locations[i];

		strbuf_addf(&key, " %d%c%d@%d,%d,%d*%d%+" PRId64, at->kind,
			    at->is_signed ? '-' : '+', at->size, at->offset, at->base, at->index,
			    at->scale, at->value);
	}
	ret = arena_strdup(env->arena, key.data);
	strbuf_release(&key);
	return ret;
}

struct type_scope {
	struct elf_file *file;
	struct hashmap *known; /* of the cache */
};

/* Also what is not there is remembered: a name is asked for in every pass of the compiler. */
static const struct type *find_type(void *arg, struct type_store *types, const char *name)
{
	static const char nothing;
	struct type_scope *scope = arg;
	char *key = xasprintf("%s\n%s", elf_file_path(scope->file), name);
	const void *t = hashmap_gets(scope->known, key);

	if (!t) {
		t = debug_type_named(scope->file, types, name);
		hashmap_puts(scope->known, key,
			     t ? (void *)(uintptr_t)t : (void *)(uintptr_t)&nothing);
	}
	free(key);
	return t == &nothing ? NULL : t;
}

void user_describe_types(struct probe_env *env, const struct probe_target *t,
			 struct probe_context *ret)
{
	const struct user_site *site = t->private;
	struct type_scope *scope;

	if (!site->file)
		return;
	scope = arena_new(env->arena, struct type_scope);
	*scope = (struct type_scope){site->file, &probe_cache_of(env)->types};
	ret->find_type = find_type;
	ret->find_type_arg = scope;
	ret->layout_key = arena_printf(env->arena, "%s %s", ret->layout_key, t->path);
}

/*
 * A pointer to a plain value stays the number that it always was: scripts print it and use it as a
 * key. What a number cannot say is the sign, the width, and what a struct holds.
 */
static bool is_worth_a_type(const struct type *t)
{
	if (t->kind == TYPE_POINTER)
		return t->element->kind == TYPE_STRUCT || t->element->kind == TYPE_UNION;
	return t->kind == TYPE_INT || t->kind == TYPE_BOOL;
}

void user_describe_function(struct probe_env *env, const struct probe_target *t,
			    const struct probe_use *use, struct probe_context *ret)
{
	const struct user_site *site = t->private;
	struct debug_function f;
	u64 address;

	if (!use->names || !site->at_entry || site->is_32 ||
	    elf_file_address(site->file, t->address, &address) ||
	    debug_function_at(site->file, address, env->types, &f))
		return;
	if (!ret->is_return) {
		ret->args = f.args;
		ret->locations = f.locations;
		ret->spellings = f.spellings;
	} else if (f.retval_location.kind != LOCATION_NONE &&
		   (env->list_only || is_worth_a_type(f.retval))) {
		ret->retval = f.retval;
		ret->retval_location = f.retval_location;
	}
	ret->layout_key = arena_printf(env->arena, "%s@%" PRIx64, ret->layout_key, address);
}

void user_describe_place(struct probe_env *env, const struct probe_target *t,
			 const struct probe_use *use, struct probe_context *ret)
{
	const struct user_site *site = t->private;
	u64 address;

	const bool is_used = use->vars || (use->names && !site->at_entry);

	if (!is_used || !site->file || elf_file_address(site->file, t->address, &address))
		return;
	ret->place = arena_new(env->arena, struct probe_place);
	*ret->place = (struct probe_place){
		.at = {site->file, address, site->scope ? site->scope : t->function}};
	ret->layout_key = arena_printf(env->arena, "%s vars@%" PRIx64, ret->layout_key, address);
}

const char *user_breaks(struct elf_file *f, u64 offset)
{
	const u8 *code = elf_file_bytes(f, offset, NOP_SIZE);
	const size_t size = code ? NOP_SIZE : 1;

	if (!code)
		code = elf_file_bytes(f, offset, 1);
	return code && elf_file_is_64(f) ? arch_probe_breaks(code, size, offset) : NULL;
}

int user_check_instruction(struct probe_env *env, struct span at, struct elf_file *f, u64 offset,
			   const char *place)
{
	const char *cause = env->unsafe ? NULL : user_breaks(f, offset);

	if (!cause)
		return 0;
	diag_error(env->diag, at, "a probe on %s would crash programs: %s", place, cause);
	diag_hint(env->diag,
		  "probe its callers, or a place behind it (+OFFSET); --unsafe (-F of the "
		  "tools) attaches all the same");
	return -EINVAL;
}

/* One place, too, is attached and let go in a third of the time that a perf event takes. */
static bool is_multi_better(struct probe_env *env, const struct probe_targets *out, size_t first)
{
	if (env->list_only || first == out->list.len ||
	    !kernel_ask(env->kernel, KERNEL_UPROBE_MULTI)->yes)
		return false;
	return out->list.items[first]->pid <= 0 || out->list.len - first >= MULTI_FROM ||
	       kernel_ask(env->kernel, KERNEL_UPROBE_SESSION)->yes;
}

void user_choose_multi(struct probe_env *env, struct probe_targets *out, size_t first)
{
	if (!is_multi_better(env, out, first))
		return;
	for (size_t i = first; i < out->list.len; i++)
		((struct user_site *)out->list.items[i]->private)->multi = true;
}

/* ---- one link per place: the uprobe PMU (Documentation/ABI:
 * /sys/bus/event_source/devices/uprobe/format) ---- */

struct pmu_arg {
	int type;
	bool is_return;
};

char *user_on_disk(const struct probe_target *t, u64 *ret_base)
{
	const struct user_site *site = t->private;

	*ret_base = 0;
	return site && site->file ? elf_file_on_disk(site->file, ret_base) : xstrdup(t->path);
}

/* *ret_path is in *ret, and malloc'ed. */
static int pmu_attr(const struct probe_target *t, const struct pmu_arg *p,
		    struct perf_event_attr *ret, char **ret_path)
{
	u64 base, semaphore;

	*ret_path = user_on_disk(t, &base);
	semaphore = t->semaphore ? base + t->semaphore : 0;
	*ret = (struct perf_event_attr){
		.type = (u32)p->type,
		.config = (u64)p->is_return |
			  semaphore << 32, /* bit 0: retprobe; 32-63: ref_ctr_offset */
		.uprobe_path = (u64)(uintptr_t)*ret_path,
		.probe_offset = base + t->address,
	};
	return semaphore >> 32 ? -ERANGE : 0;
}

int user_count(struct probe_env *env, const struct probe_target *t, struct perf_event_attr *ret)
{
	const struct pmu_arg arg = {.type = kernel_pmu_type("uprobe"),
				    .is_return = t->provider == &probe_uretprobe};
	char *path;
	int err;

	if (arg.type < 0)
		return -EOPNOTSUPP;
	err = pmu_attr(t, &arg, ret, &path);
	ret->uprobe_path = (u64)(uintptr_t)arena_strdup(env->arena, path);
	free(path);
	return err;
}

static int open_uprobe(const struct probe_target *t, void *arg)
{
	struct perf_event_attr attr;
	char *path;
	int fd = pmu_attr(t, arg, &attr, &path);

	attr.size = sizeof(attr);
	attr.sample_period = attr.wakeup_events = 1;
	if (!fd)
		fd = perf_event_open_fd(&attr, t->pid > 0 ? t->pid : -1, t->pid > 0 ? -1 : 0, -1,
					PERF_FLAG_FD_CLOEXEC);
	free(path);
	return fd;
}

static int attach_single(struct probe_env *env, int prog_fd, struct probe_target *const *targets,
			 u32 n, bool is_return, struct probe_attachments *out)
{
	struct pmu_arg arg = {.type = kernel_pmu_type("uprobe"), .is_return = is_return};

	if (arg.type < 0) {
		for (u32 i = 0; i < n; i++)
			attach_failed(env, targets[i], -EOPNOTSUPP, out);
		return n ? -EOPNOTSUPP : 0;
	}
	return attach_perf_events(env, prog_fd, targets, n, open_uprobe, &arg, out);
}

/* ---- one link per file ---- */

struct multi {
	struct probe_env *env;
	int prog_fd;
	u32 attach_type;
	bool is_return;
	u32 counts_as; /* probes that a place stands for */
	struct probe_attachments *out;
	u64 *offsets, *semaphores, *cookies;
	struct probe_target **targets; /* of one file */
	char *path; /* of it */
};

static int link_range(struct multi *m, u32 first, u32 n)
{
	const struct probe_target *t = m->targets[first];
	struct uapi_link_create_uprobe_multi attr = {
		.prog_fd = (u32)m->prog_fd,
		.attach_type = m->attach_type,
		.path = (u64)(uintptr_t)m->path,
		.offsets = (u64)(uintptr_t)(m->offsets + first),
		.ref_ctr_offsets = (u64)(uintptr_t)(m->semaphores + first),
		.cookies = (u64)(uintptr_t)(m->cookies + first),
		.cnt = n,
		.multi_flags = m->is_return ? UAPI_BPF_F_UPROBE_MULTI_RETURN : 0,
		.pid = t->pid > 0 ? (u32)t->pid : 0,
	};
	int fd = attach_link_create(&attr, sizeof(attr));

	if (fd < 0)
		return fd;
	attach_done(m->out, (struct probe_attachment){
				    .fd = fd, .event_fd = -1, .targets = n * m->counts_as});
	return 0;
}

/* One bad place fails the whole link: halve until the bad ones stand alone. */
static void attach_range(struct multi *m, u32 first, u32 n)
{
	const int err = link_range(m, first, n);

	if (!err)
		return;
	if (n == 1) {
		attach_failed(m->env, m->targets[first], err, m->out);
		return;
	}
	if (err == -EPERM || err == -EACCES || err == -EOPNOTSUPP || err == -ESRCH ||
	    err == -ENOENT) {
		attach_failed(m->env, m->targets[first], err, m->out);
		m->out->failed += n - 1;
		return;
	}
	attach_range(m, first, n / 2);
	attach_range(m, first + n / 2, n - n / 2);
}

static int attach_files(struct multi *m, struct probe_target *const *targets, u32 n)
{
	const u32 attached = m->out->attached;
	u64 base;
	u32 k = 0;

	m->offsets = xreallocarray(NULL, n, sizeof(u64));
	m->semaphores = xreallocarray(NULL, n, sizeof(u64));
	m->cookies = xreallocarray(NULL, n, sizeof(u64));
	m->targets = xreallocarray(NULL, n, sizeof(*m->targets));
	/* Targets of a file stand together, as expand made them. */
	for (u32 i = 0; i < n; i++) {
		free(m->path);
		m->path = user_on_disk(targets[i], &base);
		m->targets[k] = targets[i];
		m->offsets[k] = base + targets[i]->address;
		m->semaphores[k] = targets[i]->semaphore ? base + targets[i]->semaphore : 0;
		m->cookies[k++] = targets[i]->cookie;
		if (i + 1 < n && str_eq(targets[i + 1]->path, targets[i]->path) &&
		    targets[i + 1]->pid == targets[i]->pid)
			continue;
		attach_range(m, 0, k);
		k = 0;
	}
	free(m->offsets);
	free(m->semaphores);
	free(m->cookies);
	free(m->targets);
	free(m->path);
	return m->out->attached > attached || !n ? 0 : -EIO;
}

static int attach_multi(struct probe_env *env, int prog_fd, struct probe_target *const *targets,
			u32 n, bool is_return, struct probe_attachments *out)
{
	struct multi m = {.env = env,
			  .prog_fd = prog_fd,
			  .attach_type = UAPI_BPF_TRACE_UPROBE_MULTI,
			  .is_return = is_return,
			  .counts_as = 1,
			  .out = out};

	return attach_files(&m, targets, n);
}

int user_attach_session(struct probe_env *env, int prog_fd, struct probe_target *const *targets,
			u32 n, struct probe_attachments *out)
{
	struct multi m = {.env = env,
			  .prog_fd = prog_fd,
			  .attach_type = UAPI_BPF_TRACE_UPROBE_SESSION,
			  .counts_as = 2,
			  .out = out};

	return attach_files(&m, targets, n);
}

int user_attach(struct probe_env *env, int prog_fd, struct probe_target *const *targets, u32 n,
		bool is_return, struct probe_attachments *out)
{
	const struct user_site *site = n ? targets[0]->private : NULL;
	const u32 failed = out->failed;
	u32 repeated = 0;
	int err;

	err = site && site->multi ? attach_multi(env, prog_fd, targets, n, is_return, out)
				  : attach_single(env, prog_fd, targets, n, is_return, out);
	for (u32 i = 0; i < n && out->failed == failed; i++)
		repeated += ((const struct user_site *)targets[i]->private)->is_repeated;
	out->attached -= repeated;
	return err;
}
