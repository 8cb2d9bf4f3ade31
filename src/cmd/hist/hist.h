/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pantrace hist`: histograms in the kernel, by two engines: the kernel's histogram triggers
 * (cmd/hist/kernel.c), or maps of a BPF program (cmd/hist/bpf.c) if triggers are missing or cannot
 * do it. Both fill the same tables.
 */
#ifndef PANTRACE_CMD_HIST_HIST_H
#define PANTRACE_CMD_HIST_HIST_H

#include <sys/types.h>

#include "cmd/hist/definition.h"
#include "cmd/hist/spec.h"
#include "engine/run_config.h"
#include "kernel/tracefs/dynamic_event.h"
#include "view/output.h"

/* A latency: from one event to the next one with the same number in a field. */
struct hist_latency {
	const char *from_system, *from_event, *from_field;
	const char *to_field; /* of the event of the specification; no other event has one */
	struct span from_at, match_at;
};

/* The command line. */
struct hist_options {
	struct run_config config; /* of the BPF program; ends_with: -p */
	const char *keys, *values, *sort, *size, *filter, *from, *to, *match, *engine, *name;
	u64 interval_ns; /* the interval of reports that carry the time; 0 = only the last report */
	u64 top;
	struct string_list definitions;
	bool as_kernel, clear;
};

struct hist_run {
	const struct hist_options *o;
	struct arena *arena;
	struct diag *diag;
	struct kernel *kernel;
	struct type_store *types;
	VECTOR(struct hist_spec) specs;
	/* one per specification that has a table of its own; see table_of */
	struct hist_table *tables;
	u32 *table_of; /* specification -> table: those with one name= share it */
	u32 ntables;
	struct hist_latency latency; /* from_event NULL: none */
	struct hist_definition *definitions; /* of dynamic events */
	u32 ndefinitions;
	/* made for this run, for the kernel's triggers; NULL = none */
	struct dynamic_events *events;
	struct hist_control *control;
};

/*
 * Each counts until the end, with reports in between, and returns an exit code; errors are in the
 * diag.
 */
int hist_run_kernel(struct hist_run *run);
int hist_run_bpf(struct hist_run *run);
/* Can the kernel's triggers do it? If not, *ret_why says what they cannot do. */
bool hist_kernel_can(struct hist_run *run, const char **ret_why);

/*
 * The kernel's trigger of a specification, without its name and condition:
 * "hist:keys=pid:size=2048".
 */
void hist_trigger(const struct hist_spec *s, struct tracefs_command *t);

/* ---- cmd/hist/resolve.c ---- */

/* Finds a specification's event and looks its fields up. 0 or -errno with a diagnostic. */
int hist_resolve_spec(struct hist_run *run, struct hist_spec *s);
/* The same for --from, --to and --match. */
int hist_resolve_latency(struct hist_run *run);

/* ---- cmd/hist/tables.c ---- */

/* A table for each specification, or for each name= that several share. */
int hist_make_tables(struct hist_run *run);

/*
 * What a report consists of: empties the tables, to be filled; sorts, prints into `out`, empties
 * them.
 */
void hist_report(struct hist_run *run, struct strbuf *out);

/*
 * ---- cmd/hist/control.c: the timer of the reports, and the socket that controls a named run ----
 */

enum hist_order { HIST_NOTHING, HIST_SHOW, HIST_PAUSE, HIST_CONTINUE, HIST_CLEAR, HIST_STOP };

/* name NULL: no socket. interval_ns 0: no reports but the last. 0, or -errno with a diagnostic. */
int hist_control_open(struct hist_control **ret, struct diag *d, const char *name, u64 interval_ns);
int hist_control_fd(const struct hist_control *c); /* readable: there is something to do */
/* Is a report due? */
bool hist_control_tick(struct hist_control *c);
/* The next order, HIST_NOTHING = none. It is answered by hist_control_answer(). */
enum hist_order hist_control_order(struct hist_control *c);
void hist_control_answer(struct hist_control *c, const char *text, size_t len);
void hist_control_close(struct hist_control *c);
/*
 * The other end: sends an order to the run of that name and prints its answer. Returns an exit
 * code.
 */
int hist_control_send(const char *name, enum hist_order order);
extern const char *const hist_order_words[]; /* by enum hist_order; "" the first; ends with NULL */

int cmd_hist(int argc, char **argv);

#endif
