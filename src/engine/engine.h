/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a compiled script in the kernel: maps, programs, attachments, the event loop, and what it
 * prints.
 *
 * Order of a run (as bpftrace's): maps and programs are loaded, `begin` runs, the other probes are
 * attached, the child of -c is let go, events are acted upon until exit(), a signal, or the end of
 * the child or of the process of -p; then everything is detached, `end` runs, what is left in the
 * buffer is read, and the maps are printed.
 */
#ifndef PANTRACE_ENGINE_ENGINE_H
#define PANTRACE_ENGINE_ENGINE_H

#include "binary/debug/unwind.h"
#include "engine/child.h"
#include "engine/maps.h"
#include "engine/run_config.h"
#include "kernel/bpf/ring.h"
#include "engine/watch.h"
#include "lang/script.h"
#include "view/value.h"

/* Of a script; both descriptors are owned by the attachments. */
struct engine_iterator {
	int link;
	int sequence; /* reading it runs the iterator once */
};

struct engine {
	struct script *script;
	struct probe_env *env;
	const struct run_config *options;
	struct output *out;
	struct child *child; /* of -c, held until all is attached; NULL = none */
	struct open_map *maps; /* script->maps.len; fd -1 = not created */
	int *programs; /* script->programs.len; fd or -1 */
	/* engine/in_process_maps.h; NULL: no program counts by itself */
	struct aggregates *aggregates;
	struct ring *ring; /* NULL: the script sends no records */
	struct packets *packets; /* NULL: it has no skboutput() */
	struct probe_attachments attachments;
	VECTOR(struct engine_iterator) iterators;
	struct value_printer printer;
	struct symbolizer *symbols;
	struct hashmap cgroups; /* "id/filter" -> path, see names.c */
	struct strbuf text; /* scratch of one action */
	/* scratch: a record that was shorter than its payload, zero-padded */
	u8 *record;
	size_t record_size;
	u8 *element; /* scratch: one map element with all CPUs */
	bool is_at_rest; /* map_switch_rest() */
	u64 hasty_takes; /* maps that were printed and cleared while updates could get lost */
	struct speculations *speculations; /* NULL: none yet */
	struct watch *watch; /* NULL: no names of processes are printed */
	bool notes_processes; /* user stacks or symbols are printed: noted while they live */
	u64 recorded_ns; /* over recordings: the time, since the epoch; 0 = it is now */
	u64 system_until_ns; /* until then system() is waited for; 0 = until it ends */
	bool was_asked; /* to end, by a signal */
	bool has_exit_code; /* exit() said it, not the command of -c */
	bool is_exiting; /* exit() was called: records after it are dropped */
	bool is_iterating; /* in an iterator exit() ends the run only after the last element */
	bool is_giving_up; /* records are counted as lost instead of handled */
	bool captures_errors; /* errorf() goes where the rest of the output does */
	u64 errors; /* that errorf() and the like said */
	bool was_slow; /* the last action may have taken long */
	u64 given_up;
	int exit_code;
	u64 lost[LOST_COUNT]; /* already reported */
	struct row_style plain_rows; /* if options->rows is NULL */
	struct row_style *rows;
	struct unwind_rows unwind; /* between engine_prepare_unwind() and engine_fill_unwind() */
	u32 unwind_half; /* rows for which each half of the table has room */
	u64 unwind_delay; /* ns before the table is made once more */
	/* CLOCK_MONOTONIC ns when the table is to be made again; 0 = it is good */
	u64 unwind_due;
	bool unwind_second; /* the second half is in use */
	u64 malformed; /* records that did not fit their action */
	u64 attached;
};

/* Returns the exit code of the run; what went wrong is in env->diag, printed by the caller. */
int engine_run(struct script *script, struct probe_env *env, const struct run_config *options,
	       struct output *out, struct child *child);

/* What programs find in MAP_GLOBAL; a script without one does not mind. 0 or -errno. */
int engine_write_globals(struct engine *e, const struct script_globals *g);
/* "Attached N probes". */
void engine_announce(struct engine *e);

/* ---- load.c: maps and programs ---- */
/* The script's map of this name, without '@'; NULL = there is none. */
struct open_map *engine_find_map(struct engine *e, const char *name);
int engine_create_maps(struct engine *e);
/* A second map like one of the script's: its descriptor or -errno. */
int engine_create_spare(struct engine *e, const struct script_map *info);
int engine_load_programs(struct engine *e);
void engine_unload(struct engine *e);

/* ---- unwind.c ---- */
/*
 * Before the maps are created: reads the process's tables, settles the size of the map. 0, or
 * -errno with a diagnostic.
 */
int engine_prepare_unwind(struct engine *e);
/* Writes them into the half that is not in use, and which half into *g. */
int engine_fill_unwind(struct engine *e, struct script_globals *g);

/* Whose frames are unwound; 0 = nobody's. */
pid_t engine_unwind_target(const struct engine *e);
/* The process has mapped other code. */
void engine_expire_unwind(struct engine *e);
/* Makes the table again when it is time. */
void engine_refresh_unwind(struct engine *e);

/* ---- verifier.c ---- */
/*
 * What the verifier said, as a diagnostic at the script's place. log: its log, may be empty. error:
 * -errno of the load.
 */
void verifier_report(struct diag *d, const struct script_program *program, const char *log,
		     int error);

/* ---- attach.c ---- */
/*
 * Attaches all programs but those that the engine runs itself (begin_end.c). 0, or -errno with a
 * diagnostic.
 */
int engine_attach(struct engine *e);
/* Runs the script's iterators once more over all of their objects. 0 or -errno. */
int engine_walk(struct engine *e);

/* ---- begin_end.c ---- */
static inline const struct probe_provider *engine_provider(const struct script_program *p)
{
	return probe_provider_of(p->targets, p->ntargets);
}

/* Attach points of probes that are not the script's own. */
u32 engine_count_internal(const struct engine *e);
u32 engine_count_targets(const struct engine *e, enum probe_runner runner);
/*
 * Runs the programs of this moment, each once per attach point. Returns how many, or -errno with a
 * diagnostic.
 */
int engine_run_begin_end(struct engine *e, enum probe_runner runner);
/* Runs one program without an event; ret_value (may be NULL) is what it returned. 0 or -errno. */
int engine_test_run(int prog_fd, u32 *ret_value);
bool engine_has_signal(const struct engine *e, u32 signo);
/* SIGUSR1 without a probe of its own prints the maps, as bpftrace 0.17 did. */
void engine_run_signal(struct engine *e, u32 signo);

/* ---- test_bench.c ---- */
/*
 * options->trial; drain(arg) acts upon the records that were sent. Returns 0, or -errno with a
 * diagnostic; e->exit_code tells whether all passed.
 */
int engine_run_tests(struct engine *e, void (*drain)(void *arg), void *arg);

/* ---- events.c ---- */
/* A ring_handler; arg is the engine. */
bool engine_handle_record(void *arg, const void *data, u32 size, const void *next, u32 next_size);
/* New losses since the last call, as a line; total: also the sum at the end. */
void engine_report_lost(struct engine *e, bool total);
/* The names of the columns of row(), before the first event. */
void engine_print_header(struct engine *e);

/* ---- speculate.c ---- */
/* The record waits for commit() or discard() of its id. */
void engine_hold(struct engine *e, u32 id, const void *data, u32 size);
void engine_report_speculations(struct engine *e);
void engine_release_speculations(struct engine *e);

/* ---- map_actions.c ---- */
void engine_print_maps(struct engine *e);

/* ---- names.c: what the values of records refer to (callbacks of struct value_printer) ---- */
void engine_printer_init(struct engine *e);
void engine_printer_release(struct engine *e);
/* Are there values of one of these kinds (1 << TYPE_...) among what the script keeps or sends? */
bool engine_prints(const struct engine *e, u64 kinds);
void engine_note_process(struct engine *e, pid_t pid);
/* Before the first attachment, if the script prints names of processes. */
void engine_watch_processes(struct engine *e);
void engine_read_watch(struct engine *e);

/* ---- privileges.c ---- */
/*
 * Reads the names of kernel functions now if they will be printed: later there is no privilege for
 * it.
 */
void engine_read_kernel_names(struct engine *e);
/*
 * Gives up the privileges that reading does not need (kernel/sandbox/sandbox.h). Called when
 * everything is attached.
 */
void engine_drop_privileges(struct engine *e);

#endif
