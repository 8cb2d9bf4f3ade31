/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A compiled script: what the compiler hands to the engine. Nothing in it refers to the running
 * kernel's objects; the engine creates maps in order, patches relocations with their descriptors,
 * loads, attaches.
 *
 * Output records, little endian:
 *
 *	u32 action    index into script.actions
 *	u32 speculation  0, or the id under which it is held back
 *	payload       laid out as actions[action].payload (a TYPE_RECORD/TYPE_TUPLE; may be NULL =
 *                    empty)
 *
 * If action.has_tail, the last member of the payload is a TYPE_STRING or TYPE_BUFFER that is cut to
 * what was used: the record may end early.
 */
#ifndef PANTRACE_LANG_SCRIPT_H
#define PANTRACE_LANG_SCRIPT_H

#include <regex.h>

#include "lang/syntax/parse.h"
#include "kernel/kernel.h"
#include "lang/bpf/emit.h"
#include "probe/probe.h"
#include "view/printf_format.h"

enum map_role {
	MAP_USER, /* a script's @map: printed at exit */
	MAP_OUTPUT, /* BPF ring buffer, or perf event array */
	MAP_SCRATCH, /* per-CPU array: one entry per program */
	/*
	 * task storage: scratch of the programs of user probes. They may be preempted, and then the
	 * same program runs again on the CPU for another task, so their memory belongs to the task
	 * (bpf_prog_run_array_uprobe() in include/linux/bpf.h)
	 */
	MAP_TASK_SCRATCH,
	/* array of one map: the generation of `switched` that programs update now */
	MAP_SWITCH,
	MAP_LOST, /* per-CPU array[LOST_COUNT] of u64 counters, enum lost_counter */
	MAP_KSTACKS, /* hash: u64 id -> struct { u32 count; u32 pad; u64 frames[depth] } */
	MAP_USTACKS,
	MAP_JOIN, /* anything else internal */
	/*
	 * array of struct unwind_row (binary/debug/unwind.h): how to get from frame to frame in the
	 * process of -p or -c
	 */
	MAP_UNWIND,
	MAP_PACKETS, /* perf event array: what skboutput() sends */
	/* array of one: struct script_globals, written by the engine before attach */
	MAP_GLOBAL,
};

/* Per-CPU counters of what did not arrive. */
enum lost_counter { LOST_EVENTS, LOST_MAP_FULL, LOST_STACKS, LOST_COUNT };

/* The value of MAP_GLOBAL. */
struct script_globals {
	u64 start_ns; /* CLOCK_MONOTONIC at start, for `elapsed` */
	u64 self_pid; /* tgid of pantrace, so that tools can leave themselves out */
	u64 speculations; /* ids given out by speculation() */
	u64 child_pid; /* cpid: the child of -c, 0 = none */
	u64 unwind_pid; /* whose frames the unwind table describes */
	u64 unwind_table; /* index of its first row << 32 | rows */
	u64 is_over; /* 1 + exit code: exit() was called */
	u64 wake_flags; /* for bpf_ringbuf_submit() and _output(); engine/wakeup.h */
};

struct script_map {
	enum map_role role;
	const char *name; /* "@x" without '@'; internal maps: a word */
	u32 bpf_type; /* BPF_MAP_TYPE_* */
	u32 key_size, value_size, max_entries, map_flags;
	bool is_percpu;
	/* TYPE_NONE = scalar; several keys = TYPE_TUPLE with is_key_list */
	const struct type *key;
	/* @x[a, b]: keys of the tuple print as "a, b" without parentheses */
	bool key_is_list;
	/* language type; TYPE_HIST ...: bucket key appended, see type.h */
	const struct type *value;
	/* hist/lhist: the BPF key is key ++ u64 bucket (scalar: array index = bucket) */
	bool is_bucketed;
	bool is_read;
	/* number + 1 among the maps that traced programs count into (in_process.h); 0 = none */
	u32 process;
	/* MAP_SWITCH: the user map; MAP_USER: its MAP_SWITCH + 1, 0 = none */
	u32 switched;
	/* MAP_JOIN: an array map's elements at start, max_entries of them; NULL = zeroes */
	const u32 *contents;
};

enum action_kind {
	ACTION_PRINTF, /* also errorf/warnf/debugf: stream below */
	ACTION_PRINT, /* print(value): payload member 0 */
	ACTION_PRINT_MAP, /* map; payload: u64 top, u64 div; */
	/* print(@m[k]): payload: key, value for non-aggregations; key only for aggregations */
	ACTION_PRINT_MAP_KEY,
	ACTION_CLEAR,
	ACTION_ZERO,
	ACTION_TIME, /* format = strftime format */
	/*
	 * payload: u64 count, then a buffer (the tail): the strings one after the other, each with
	 * its NUL
	 */
	ACTION_JOIN,
	ACTION_CAT,
	ACTION_SYSTEM, /* format + arguments */
	ACTION_EXIT, /* payload: u8 code */
	ACTION_HELPER_ERROR, /* payload: s32 return value; helper below */
	ACTION_RUNTIME_ERROR, /* format.text says what went wrong */
	ACTION_ROW, /* a row of a table: format + arguments (view/row.h) */
	ACTION_TABLE, /* map as a table: format; payload: u64 top */
	ACTION_PRINTA,
	ACTION_FAIL,
	ACTION_SKBOUTPUT,
	ACTION_WATCHPOINT,
	ACTION_TEST_RESULT,
	ACTION_STRFTIME,
	ACTION_TRUNC, /* map; payload: s64 how many of the largest (negative: smallest) stay */
	ACTION_NORMALIZE, /* map; payload: s64 divisor, 1 = none */
	ACTION_SORT, /* map; payload: u64 enum map_order, u64 descending */
	ACTION_COMMIT,
	ACTION_DISCARD, /* payload: u64 id of the speculation */
};

#define PRINTA_MAP 0x10000u

/* Helper over recordings: the thread's id, also where nothing tells which process it is of. */
#define RECORDED_TID 0x7076

/* The u32 behind a record's action is 0, or the id of the speculation that the record waits for. */
#define SPECULATION_NONE UINT32_MAX /* speculate(0): the record is dropped */

struct action {
	enum action_kind kind;
	struct span span;
	struct format format;
	const struct type *payload;
	bool has_tail;
	u32 map; /* index into maps */
	/*
	 * ACTION_PRINTA, and ACTION_PRINT_MAP with a format: the maps side by side, and for each
	 * conversion in order where its value comes from: a part of the key, or PRINTA_MAP | index
	 * into printa_maps.
	 */
	const u32 *printa_maps, *printa_sources;
	u32 nprinta_maps;
	/*
	 * Actions that print maps: those (bit 0: `map`; printa: bits in the order of printa_maps)
	 * that are cleared or zeroed as they are read, because a clear() or zero() follows in the
	 * same block: no update between the two is lost or shown twice.
	 */
	u64 clears, zeroes;
	u32 helper; /* ACTION_HELPER_ERROR: BPF_FUNC_* */
	/* ACTION_SKBOUTPUT: bytes of the packet to leave out; format.text is the file */
	u32 packet_offset;
	u8 stream; /* ACTION_PRINTF: 0 stdout, 1 stderr error, 2 stderr warning */
	/* join; ACTION_TABLE: bounds of a distribution (row_ranges()), NULL = a table */
	const char *separator;
};

/* One BPF program and where it is attached. */
struct script_program {
	const char *name;
	const struct probe *probe; /* syntax */
	const struct block *body; /* this program's own copy */
	struct probe_context context; /* in_process: the kernel never sees it */
	struct probe_target **targets;
	u32 ntargets;
	bool uses_cookie; /* bpf_get_attach_cookie gives target.cookie */
	/* tracepoint whose fields are not used: may be attached as a raw tracepoint */
	bool can_share_raw;
	struct ir_program *ir;
	struct bpf_code code;
};

struct script_config {
	u64 max_strlen, max_map_keys, max_probes, max_bpf_progs, max_cat_bytes, on_stack_limit,
		perf_rb_pages, log_size;
	bool print_maps_on_exit, cpp_demangle, lazy_symbolication, unstable_checks, show_debug_info;
	u8 missing_probes; /* 0 error, 1 warn, 2 ignore */
	u8 cache_user_symbols; /* 0 none, 1 per program, 2 per pid */
	enum stack_mode stack_mode;
	const char *str_trunc_trailer, *license;
	const char *clock_map; /* tests: tseries() takes the time from this map */
};

struct script {
	struct arena *arena;
	struct ast ast;
	struct script_config config;
	VECTOR(struct script_map) maps;
	VECTOR(struct action) actions;
	VECTOR(struct script_program) programs;
	VECTOR(const char *) probe_names; /* by probe_target.cookie */
	VECTOR(const char *) strings; /* strftime formats, cgroup filters */
	u32 output_map, scratch_map, lost_map, global_map; /* indexes or IR_NO_MAP */
	u32 kstack_map, ustack_map, unwind_map, packet_map;
	u32 nprocess_maps;
	bool has_no_probes; /* compiling failed because nothing is left to attach */
	bool only_begin_end; /* nothing but begin/end: the run ends after begin */
	bool needs_child; /* cpid is used: -c is required */
	bool has_exit; /* exit() is called somewhere */
};

struct script_file; /* lang/syntax/parse.h */

struct compile_options {
	struct script_input input;
	bool system_headers; /* as in parse_options */
	const char *kernel_source, *kernel_build;
	pid_t pid; /* -p */
	bool has_child; /* -c */
	/* --probe-filter: only probes whose name it matches; NULL = all */
	const regex_t *probe_filter;
	bool has_unwind_target; /* -p, -c or --dwarf-pid: dw_ustack can be used */
	bool in_process; /* probes that can run in the traced programs shall */
	bool unsafe;
	/* what the setting of this name is unless the script or the environment says it */
	bool show_debug_info;
	bool report_helpers; /* -k: send ACTION_HELPER_ERROR when a helper fails */
	/*
	 * The programs run over recordings (engine/recorded/), one after the other: per-CPU maps
	 * have one value, and nothing happens while a map is printed.
	 */
	bool recorded;
	struct kernel_features features;
	struct probe_env *env; /* types, btf, kernel, diag */
	/* BPFTRACE_NAME and PANTRACE_NAME override settings of the script */
	bool reads_environment;
	/*
	 * Called after each stage so that `-d STAGE` can print it; NULL = none. stage: "ast",
	 * "types", "ir", "bpf".
	 */
	void (*dump)(void *arg, const char *stage, const char *text);
	void *dump_arg;
	const char *dump_stage; /* only this one */
};

/*
 * Compiles diag->sources[file] completely. Returns 0 or -errno with diagnostics. Probes whose
 * attach point matches nothing are an error, a warning or nothing as config.missing_probes says.
 */
int script_compile(struct arena *arena, u16 file, const struct compile_options *options,
		   struct script *ret);
/* Frees the vectors of a script, also after an error; zeros are fine. The rest is in the arena. */
void script_release(struct script *s);

#endif
