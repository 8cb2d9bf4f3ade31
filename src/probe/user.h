/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What uprobe, uretprobe and usdt share: finding the file, refusing it, and attaching to places in
 * it.
 */
#ifndef PANTRACE_PROBE_USER_H
#define PANTRACE_PROBE_USER_H

#include "binary/elf/file.h"
#include "probe/provider.h"

/* probe_target.private of these providers. */
struct user_site {
	bool at_entry; /* the first instruction of a function: stack arguments can be found */
	bool is_32; /* code of the 32-bit ABI */
	bool is_repeated; /* usdt: not the first site of its event, which counts as one probe */
	bool multi; /* attach by a uprobe_multi link: decided before load */
	const char *usdt_args; /* NULL = no arguments */
	u64 usdt_address; /* virtual address of the note */
	struct elf_file *file; /* of env->cache */
	const char *scope; /* as struct debug_point has it; NULL: target.function */
};

/*
 * An open file, kept in env->cache. 0 or -errno; with a diagnostic if `loud`.
 */
int user_open(struct probe_env *env, struct span at, const char *path, bool loud,
	      struct elf_file **ret);
/*
 * 0; or -errno with a diagnostic if a file was cut short or written over while it was read: what it
 * seems not to have says nothing.
 */
int user_check_files(struct probe_env *env, struct span at);
/* arch_probe_breaks() for a place in a file: the cause, or NULL. */
const char *user_breaks(struct elf_file *f, u64 offset);
/*
 * Refuses a place that breaks programs: -EINVAL with a diagnostic; 0: none of these, or --unsafe.
 */
int user_check_instruction(struct probe_env *env, struct span at, struct elf_file *f, u64 offset,
			   const char *place);
/* Is -p PID alive? 0, or -ESRCH with a diagnostic. */
int user_check_pid(struct probe_env *env, const struct probe_request *r);
/*
 * Calls fn(arg, path) for each file that the word means: a path, a name in $PATH, a soname, a glob,
 * or with -p also "" (the process's executable). "*" is all files that the process maps, without -p
 * all that running processes map. No such file: diagnostic, -ENOENT.
 */
int user_each_file(struct probe_env *env, const struct probe_request *r, const char *word,
		   int (*fn)(void *arg, const char *path), void *arg);
/* A layout key of where the arguments are: equal strings of notes may mean different places. */
const char *user_layout_key(struct probe_env *env, const char *prefix,
			    const struct location *locations, u32 n);
/* Lets the body use the types of the target's debug info. */
void user_describe_types(struct probe_env *env, const struct probe_target *t,
			 struct probe_context *ret);
/* args and retval of the function that begins there, if debug info knows it. */
void user_describe_function(struct probe_env *env, const struct probe_target *t,
			    const struct probe_use *use, struct probe_context *ret);
/* vars of the source at the target's place. */
void user_describe_place(struct probe_env *env, const struct probe_target *t,
			 const struct probe_use *use, struct probe_context *ret);
/* ---- uprobe_places.c ---- */
/*
 * Does an instruction begin `into` bytes behind the start of a function? The kernel would not
 * notice, the program would crash.
 */
bool user_is_boundary(struct elf_file *f, u64 start, u64 into);
/*
 * Nobody calls the code that a program begins with: a return probe there would put its own address
 * where argc is (arch_uretprobe_hijack_return_addr() in arch/x86/kernel/uprobes.c).
 */
bool user_has_no_caller(struct elf_file *f, u64 offset);

/* probe_provider.count of these providers. */
int user_count(struct probe_env *env, const struct probe_target *t, struct perf_event_attr *ret);
/* ---- user_names.c ---- */
/*
 * Is a symbol of a file the only function of its name? Local ones of several sources may share it.
 * 0, or -EINVAL with a diagnostic that says where they are. written: as in the request.
 */
int user_check_unique(struct probe_env *env, const struct probe_request *r, struct elf_file *f,
		      const struct elf_symbol *s, const char *written);
/* For lists: the functions that "PROVIDER:FILE:[cpp:]FUNCTION" matches. */
int user_each_function(const struct probe_listing *l);

/*
 * The file that the kernel is told, malloc'ed, and what is added to offsets in the target's own
 * file (of an archive).
 */
char *user_on_disk(const struct probe_target *t, u64 *ret_base);
/* Makes the last n targets attach by one link per file if the kernel has such links and it pays. */
void user_choose_multi(struct probe_env *env, struct probe_targets *out, size_t first);
int user_attach(struct probe_env *env, int prog_fd, struct probe_target *const *targets, u32 n,
		bool is_return, struct probe_attachments *out);
/*
 * A program that is also run when the functions return: a target counts as the two probes that it
 * was written as.
 */
int user_attach_session(struct probe_env *env, int prog_fd, struct probe_target *const *targets,
			u32 n, struct probe_attachments *out);

#endif
