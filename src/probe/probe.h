/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event sources. A provider is a table row {name, alias, facts, expand, describe, attach} in its
 * own file; list, scripts, record, stat and probe all go through it, and nobody compares names of
 * providers: what is special about one is a fact of its row.
 *
 *	expand    an attach point as written (wildcards, sonames, symbols) -> concrete targets
 *	describe  one target -> what a program attached there sees (struct probe_context)
 *	attach    a loaded BPF program + its targets -> attachments that die with their file
 *                descriptors
 */
#ifndef PANTRACE_PROBE_PROBE_H
#define PANTRACE_PROBE_PROBE_H

#include "base/diag.h"
#include "binary/location.h"
#include "types/btf.h"
#include "types/type.h"

struct perf_event_attr;
struct probe_place;
struct probe_provider;
struct kernel; /* kernel/kernel.h: what the running kernel offers, asked lazily */

/* What the words of an attach point may refer to. */
struct probe_request {
	struct span span;
	const char *text; /* as written: "uprobe:/bin/bash:readline" */
	/* split at ':', quotes removed; parts[0] is the provider as written */
	const char *const *parts;
	u32 count;
	pid_t pid; /* -p PID or the child of -c; 0 = all */
};

/* The events of recordings, which a script runs over instead of tracing this kernel. */
struct probe_recorded {
	void *arg;
	/* What fn returned if that is not 0. */
	int (*each_event)(void *arg, const char *category_glob, const char *event_glob,
			  int (*fn)(void *fn_arg, const char *category, const char *event),
			  void *fn_arg);
	/*
	 * The text of an event's format file as it was recorded. 0 or -errno: -ENOENT, the
	 * recording has no such text; -EXDEV, several have, which differ.
	 */
	int (*event_format)(void *arg, const char *category, const char *event, const char **ret);
	bool is_live; /* it is the running kernel's, by way of tracefs: it may have probes, too */
};

/* Environment of expand/describe/attach; one per run, passed down, never global. */
struct user_event;

struct probe_env {
	struct type_store *types;
	struct btf_source *btf;
	struct kernel *kernel;
	struct arena *arena; /* targets and their names live here */
	struct diag *diag;
	bool unsafe;
	/* nothing will be attached: probes that this kernel lacks are fine, too (-d) */
	bool compile_only;
	/*
	 * attach: the kernel is asked for the events, which neither count nor run a program
	 * (--dry-run)
	 */
	bool only_ask;
	bool list_only; /* expand for `list`: do not resolve addresses */
	bool list_reasons; /* with list_only: what keeps events off is a warning */
	/*
	 * expand: what glibc moved into libc.so.6 is not looked for there (the script names all
	 * places itself)
	 */
	bool only_where_named;
	u32 max_probes;
	/*
	 * Before the mappings of a request's process are looked at: lets the held child of -c map
	 * its libraries. 0 or -errno; NULL = nothing to do.
	 */
	int (*prepare_process)(void *arg);
	void *prepare_arg;
	/* --debuginfo: more places of separate debug files, separated by ':'; or NULL */
	const char *debug_path;
	/* attach: lines of the session of user events (pantrace/protocol.h); NULL = none */
	const char *user_filters;
	pid_t child; /* of -c: it has not begun; 0 = none */
	pid_t pid; /* -p for each(); expand takes it from the request */
	const struct probe_recorded *recorded; /* NULL: events are those of this machine */
	/* user-filter: this event; NULL = as the programs that run have it */
	const struct user_event *announced;
	/*
	 * the providers' own (open ELF files, lists of functions); NULL at start, freed by
	 * probe_env_release()
	 */
	struct probe_cache *cache;
};

/* What a body uses of what an event gives; describe() need not find out more. */
struct probe_use {
	/*
	 * the record or registers as they stand, or a stack: else events of system calls may be raw
	 * tracepoints
	 */
	bool record;
	/*
	 * any argument, by name or number: else context.args may stay NULL (saves reading formats
	 * and BTF)
	 */
	bool arguments;
	bool names; /* `args` or `retval`: else debug info need not be read */
	bool vars; /* variables of the source */
	bool typed; /* passes arguments to functions that take BTF pointers only (skboutput) */
	bool at_entry,
		at_return; /* reads registers there that arch_register_is_partial() does not name */
};

extern const struct probe_use probe_use_all; /* whatever a body may name, as lists show it */

enum context_kind {
	CONTEXT_NONE, /* begin, end, self, test: nothing to read */
	CONTEXT_REGISTERS, /* struct pt_regs (kprobe, uprobe, usdt) */
	CONTEXT_TRACEPOINT, /* the event's raw record; args is laid over it */
	CONTEXT_ARGUMENTS, /* u64 array (raw tracepoint, fentry/fexit) */
	/* struct bpf_perf_event_data: pt_regs first (profile, software, hardware, watchpoint) */
	CONTEXT_PERF_EVENT,
	CONTEXT_ITERATOR, /* struct bpf_iter__X */
};

/*
 * How a program on the raw tracepoint of all system calls finds out whether this is one of its own.
 */
struct probe_syscalls {
	u16 number_offset; /* of the call's number in the saved registers */
	u32 status_offset; /* of thread_info.status in struct task_struct */
	u32 compat; /* bits of it: a call of another ABI, which has no event */
};

/*
 * At the first instruction of a user function the return address lies at *sp, and the frame pointer
 * is still the caller's: a walk by frame pointers misses the caller. Since 6.11 the kernel puts it
 * in where the function begins with `push %rbp` or `endbr64`.
 */
enum entry_kind { ENTRY_NONE, ENTRY_PUSH, ENTRY_OTHER };

struct probe_context {
	enum context_kind kind;
	u32 program_type; /* BPF_PROG_TYPE_* */
	u32 expected_attach_type; /* BPF_* or 0 */
	u32 attach_btf_id; /* fentry, fexit, iter, typed raw tracepoint (tp_btf) */
	int attach_btf_fd; /* module BTF object; 0 = vmlinux */
	/* of pointers that come from here without saying more (user for uprobe, usdt) */
	enum address_space space;
	/*
	 * `args`: NULL = this probe has none. CONTEXT_TRACEPOINT: a struct laid over the record.
	 * Otherwise a struct whose members' values are found at locations[i] (same index as
	 * members); offsets are meaningless.
	 */
	const struct type *args;
	const struct location *locations;
	/*
	 * the parameters' types as their source spells them, for lists; NULL = as struct type says
	 */
	const char *const *spellings;
	/* `vars`: where debug info may have the variables of the source; NULL = nowhere */
	struct probe_place *place;
	/*
	 * Types that only the target knows (its debug info), asked before those of the kernel; NULL
	 * = none. Names as in type_named(); called only for names that a body mentions.
	 */
	const struct type *(*find_type)(void *arg, struct type_store *types, const char *name);
	void *find_type_arg;
	/* fexit, kretprobe/uretprobe with known type; NULL = none or plain u64 */
	const struct type *retval;
	struct location retval_location; /* kind NONE: `retval` is not available */
	/* arg0..argN: */
	struct location argn[12];
	u8 argn_count; /* 0 = argN not available */
	bool has_function; /* `func` works (bpf_get_func_ip or the instruction pointer) */
	bool is_return;
	enum entry_kind entry; /* user functions (64 bits) */
	/*
	 * bpf_get_attach_cookie gives target.cookie; false: a shared program cannot know its
	 * target, or the program does not ask
	 */
	bool has_cookie;
	/*
	 * Not NULL: the event may also be attached as a raw tracepoint (cheaper: no record is
	 * filled in) if the body reads neither args nor ctx nor the cookie. The core then sets
	 * program_type to BPF_PROG_TYPE_RAW_TRACEPOINT before load and attach.
	 */
	const char *raw_tracepoint;
	/*
	 * Not NULL: the events of single system calls are views of one raw tracepoint for all, and
	 * the program is attached there: it begins by asking for the number (target.syscall).
	 */
	const struct probe_syscalls *syscalls;
	bool in_process; /* the program runs in the traced process (lib/vm.h), not in the kernel */
	/* The place is shared with other events, and is this one's only when arg0 is `guard`. */
	bool has_guard;
	u64 guard;
	/*
	 * Equal keys = programs may be shared among targets if the body does not use what differs
	 * (args).
	 */
	const char *layout_key;
};

struct probe_target {
	const struct probe_provider *provider;
	const char *name; /* what `probe` prints: "kprobe:vfs_read" */
	const char *path; /* uprobe, usdt: file as the kernel opens it */
	const char *module; /* kernel module or NULL; tracepoint category; usdt provider */
	const char *function; /* function, event; NULL */
	/* uprobe/usdt: file offset; kprobe: offset in function; watchpoint: address; or 0 */
	u64 address;
	u64 semaphore; /* usdt: file offset of the semaphore (ref_ctr_offset); 0 = none */
	/* perf: event config; profile/interval: period (ns) or frequency (Hz, is_frequency) */
	u64 config;
	u32 perf_type; /* PERF_TYPE_* */
	u32 length; /* watchpoint: bytes; */
	u32 mode; /* watchpoint: HW_BREAKPOINT_* */
	bool is_frequency;
	pid_t pid; /* 0 = all */
	s32 syscall; /* tracepoint:syscalls:*: the call's number; -1 = unknown */
	/*
	 * index into script.probe_names, delivered by bpf_get_attach_cookie where the kernel has it
	 */
	u32 cookie;
	const void *private; /* the provider's own (usdt argument string ...) */
	/* describe() says the same of all that have the same one; NULL = of no other */
	const void *alike;
};

struct probe_targets {
	VECTOR(struct probe_target *) list;
	u32 skipped; /* matched by a wildcard, but cannot be probed (blacklist, not traceable) */
};

/* A live attachment. Closing it (or dying) detaches. */
struct probe_attachment {
	int fd; /* link or perf event */
	/*
	 * perf event below the link; iter: the sequence file, whose reading to the end runs the
	 * program; or -1
	 */
	int event_fd;
	u32 targets; /* how many probes it stands for (multi-links) */
	u64 watched; /* the address of a watchpoint; 0 = it is none */
};

struct probe_attachments {
	VECTOR(struct probe_attachment) list;
	u32 attached; /* probes */
	u32 failed; /* probes that could not be attached (missing_probes) */
};

/* Who runs the programs of a provider, and when. */
enum probe_runner {
	PROBE_BY_EVENT, /* the kernel, at the events that attach() joins them to */
	PROBE_AT_BEGIN, /* the engine, before anything is attached */
	PROBE_AT_END, /* the engine, after everything is detached */
	PROBE_BY_SIGNAL, /* the engine, when it gets the signal target.config */
	PROBE_AS_TEST, /* the engine, with --test */
	PROBE_AS_BENCH, /* the engine, with --bench */
	PROBE_IN_PROCESS, /* the program that has the event, for counts of its own (lib/vm.h) */
	PROBE_AS_FILTER, /* the program that has the event, to see whether anybody wants it */
};

/* Asks a provider for its probes: each that matches goes to fn, which ends it by a value not 0. */
struct probe_listing {
	struct probe_env *env;
	const struct probe_provider *provider;
	const char *glob; /* NULL = all */
	int (*fn)(void *arg, const char *name);
	void *arg;
};

struct probe_provider {
	const char *name;
	const char *aliases[4]; /* "k", older names */
	const char *form; /* "kprobe:[module:]function[+offset]", for help and errors */
	const char *doc;
	u32 needs; /* enum kernel_capability without which it cannot be attached; 0 = KERNEL_BPF */
	const char *type; /* what `probetype` says; NULL = name */
	enum probe_runner runner;
	bool runs_once; /* begin, end: a script with nothing else is over after them */
	/* attached last, as attaching the others may take seconds; stands still after exit() */
	bool is_timer;
	bool is_slow; /* fires a few times between two looks at the buffer, at most */
	/* the kernel runs the programs of one event from the one that was attached last */
	bool runs_in_reverse;
	/* attachments are sequence files: reading event_fd to the end runs the program */
	bool runs_when_read;
	bool returns_value; /* what the body returns is the result */
	/*
	 * What programs return else. perf makes nothing of an event for which one of the programs
	 * on it returns 0, no count and no record, whoever they are for (trace_call_bpf()): on
	 * events that others may count, too, 1.
	 */
	u32 result;
	bool takes_path; /* the part behind the name is a file */
	bool takes_any_name; /* NAME is the user's own text, once in a script */
	bool is_always_kept; /* by --probe-filter: no event of the traced world */
	/* the last part of a target is how often it fires; bpftrace lists it without */
	bool ends_in_count;
	bool may_match_nothing; /* the event may rightly be missing on another kernel */
	bool needs_pid_filter; /* cannot be attached to one process only */
	bool has_types; /* arguments are typed by BTF: missing ones cannot be read */
	/* arg0 ... are those of the event, not what a call has in registers and on the stack */
	bool has_own_arguments;
	bool has_fields; /* what `args` has is called so, and not parameters of a function */
	bool can_override; /* override() */
	/* of programs that are built with libpantrace: target.private is a struct user_event */
	bool is_user_event;
	/*
	 * Not NULL: the providers by which such an event's program may run in the traced process.
	 */
	const struct probe_provider *in_process, *filter;
	/*
	 * Appends targets; 0 or -errno with a diagnostic (place, cause, hint). No match of a
	 * wildcard: -ENOENT, diagnostic. p: this row.
	 */
	int (*expand)(struct probe_env *env, const struct probe_request *request,
		      struct probe_targets *out, const struct probe_provider *p);
	/* Fills in *ret for a body that uses this much; 0 or -errno with a diagnostic at `at`. */
	int (*describe)(struct probe_env *env, const struct probe_target *t,
			const struct probe_use *use, struct span at, struct probe_context *ret);
	/*
	 * Attaches one loaded program to n targets (all of this provider and compatible contexts),
	 * as few links as the kernel allows. Failures of single targets are counted in out->failed,
	 * the first one's reason in a diagnostic. NULL: the engine runs it itself (begin, end,
	 * self, test, interval on old kernels).
	 */
	int (*attach)(struct probe_env *env, int prog_fd, const struct probe_context *context,
		      struct probe_target *const *targets, u32 n, struct probe_attachments *out);
	/*
	 * Sessions: one program that is run at the entries of functions and at their returns (Linux
	 * 6.10). `returns`: the provider of the latter, NULL = there are none. session() gives the
	 * expected_attach_type with which attach() joins a program to the targets as a session; 0 =
	 * the kernel or the targets do not allow it. needs_registers: its bodies read more of the
	 * registers than arguments and results.
	 */
	const struct probe_provider *returns;
	u32 (*session)(struct probe_env *env, struct probe_target *const *targets, u32 n,
		       bool needs_registers);
	bool asks; /* attach() minds env->only_ask */
	/* recordings have such events, or make them: expand() and describe() mind env->recorded */
	bool is_recorded;
	/* tracefs can make an event of it, which has all registers: engine/recorded/live.h */
	bool is_made_live;
	/*
	 * Fills in what perf_event_open(2) counts t by, but for its size; texts are in env->arena.
	 * 0 or -errno. NULL: only programs see such events.
	 */
	int (*count)(struct probe_env *env, const struct probe_target *t,
		     struct perf_event_attr *ret);
	/* What fn returned if that is not 0, or -errno. NULL: such probes cannot be listed. */
	int (*each)(const struct probe_listing *l);
};

/* All rows, in the order of `list`; ends with NULL. */
extern const struct probe_provider *const probe_providers[];
/*
 * That of a program's targets, which all have the same; one without any facts, "special", where
 * there are no targets.
 */
const struct probe_provider *probe_provider_of(struct probe_target *const *targets, u32 n);
/* By name or alias, ignoring case; NULL if unknown. */
const struct probe_provider *probe_find_provider(const char *name);
/*
 * The target for a program in the process of what t is a target for; NULL: another target stands
 * for the same event.
 */
struct probe_target *probe_to_process(struct arena *arena, const struct probe_target *t);
/* The target of a filter for what t is a target for; NULL: none is needed. */
struct probe_target *probe_to_filter(struct arena *arena, const struct probe_target *t);
/*
 * An attach point as it is written, split at ':' with quotes removed; everything but the text is in
 * the arena.
 */
struct probe_request probe_split(struct arena *arena, const char *text);
/*
 * `sched:sched_switch` is an event of the kernel as perf and trace-cmd write it: the request with
 * "tracepoint:" before it. False: the first word is a provider's name, or no group of events.
 */
bool probe_complete(struct probe_env *env, const struct probe_request *request,
		    struct probe_request *ret);
/* Unknown provider, bad form ... -> diagnostic with the nearest names. */
int probe_expand(struct probe_env *env, const struct probe_request *request,
		 struct probe_targets *out);
/* Lists the probes of a provider (struct probe_listing). */
int probe_each(struct probe_env *env, const struct probe_provider *p, const char *glob,
	       int (*fn)(void *arg, const char *name), void *arg);
/*
 * Programs that start later may have events of attached targets in files of their own: readable
 * when probe_later() has to look; -1: not needed. Only while the attachments live.
 */
int probe_later_fd(struct probe_env *env);
void probe_later(struct probe_env *env);
/*
 * From now on a file says which functions of the kernel can be traced, laid out as
 * available_filter_functions. 0, or -errno with a diagnostic.
 */
int probe_use_functions(struct probe_env *env, const char *path);
void probe_env_release(struct probe_env *env); /* frees env->cache */
/* closes all, in parallel where that is faster */
void probe_detach_all(struct probe_attachments *a);

#endif
