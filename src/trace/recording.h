/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recorded events, whatever file they are in: one interface to all recordings, many of which are
 * read at once on one time line.
 *
 *	struct recordings *all = recordings_new(&options);
 *	recordings_add(all, path, d);	// any number: files, directories
 *	recordings_open(all, d);
 *	while ((r = recordings_next(all, d)))
 *		// r->kind, r->ns, recording_value(r, "comm"), recording_print(r)
 *
 * A reader is a row: what it recognises, how it goes on to the next event, and what it knows of the
 * one it stands at. State that events refer to (tasks, what was mapped where, symbols) is the
 * reader's own, as it was at the event's time. Everything streams: nothing is kept of events gone
 * by. A new kind of file is a file with such a row, and a line in recording.c.
 */
#ifndef PANTRACE_TRACE_RECORDING_H
#define PANTRACE_TRACE_RECORDING_H

#include "base/diag.h"
#include "base/options.h"
#include "trace/ctf/print.h"
#include "trace/field_value.h"
#include "trace/recorded_stack.h"
#include "trace/recorded_task.h"

/* A kind of event: "sched:sched_switch". Readers make one when they meet it. */
struct recorded_kind {
	const char *name;
	const char *short_name; /* that it goes by, too: "sched_switch"; NULL = none */
	bool is_inner; /* for the reader's own use: only for people who ask for it */
	/* taken by a clock or a counter: it stands for `period` of what that counts */
	bool is_sample;
	/* of the periods, which may be 0: "nanoseconds", "count"; NULL = nothing says it */
	const char *unit;
	u64 count; /* for whoever counts */
	u8 role; /* for whoever tells kinds apart; 0 = not asked yet */
	const void *listener; /* of whoever runs programs on events; NULL = not asked yet */
	enum {
		KIND_NOT_ASKED,
		KIND_UNWANTED,
		KIND_WANTED
	} choice; /* see recordings_options.events */
};

struct dat_contents; /* trace/dat/writer.h */
struct perf_event_attr; /* linux/perf_event.h */
struct clock_relation;
struct recordings;
struct recording_reader;

/* One of them, which stands at an event. A reader's own struct begins with it. */
struct recording {
	const struct recording_reader *reader;
	struct recordings *all;
	char *path;
	bool has_event;
	s64 ns; /* of the event: since the epoch; in a style of its own, as it was recorded */
	struct recorded_kind *kind;
	bool is_unplaced; /* ns is as it was recorded: nothing says when that was */
	bool is_cycles; /* and is no ns: cycles of unknown length */
	bool has_no_times; /* ns is 0 */
	/* ns - origin_ns is the event's time as it was recorded, unless it is of another machine */
	s64 origin_ns;
	u64 lost; /* that are missing since the event before; RECORDED_LOST_SOME: nobody counted */
	/* it is of another machine, whose clock stands so to ours; NULL = it is not */
	struct clock_relation *relation;
	s64 machine_ns; /* its event's time by that machine's CLOCK_MONOTONIC */
};

#define RECORDED_LOST_SOME UINT64_MAX

/* For readers: so many are missing before the event that comes now. */
static inline void recording_lost(struct recording *r, u64 n)
{
	if (n)
		r->lost = n > UINT64_MAX - r->lost ? RECORDED_LOST_SOME : r->lost + n;
}

/* Where and in whom an event was, whatever its own fields are called. */
struct recorded_place {
	s64 cpu, pid, tid; /* -1 = unknown */
	const char *comm, *host; /* NULL = unknown; comm without a NUL */
	size_t comm_size;
	u64 period; /* of a sample: for how much it stands; 0 = it is none */
	u64 samples; /* that were added up to it: 1, but in profiles */
};

/* What place() may know. */
enum place_part {
	PLACE_CPU = 1,
	PLACE_PID = 2,
	PLACE_TID = 4,
	PLACE_COMM = 8,
	PLACE_STACK = 16, /* stack() */
	PLACE_USER_STACK = 32, /* frames of the program */
	PLACE_LOCALS = 64, /* the registers and the memory that its variables are in */
};

/* How far the clock of a recording is known. */
struct recorded_clock {
	s64 origin_ns; /* its 0, since the epoch */
	u64 frequency;
};

struct recording_loss {
	u64 events, packets;
	u64 damaged; /* parts that could not be read to their end, not told in a diagnostic */
	bool gaps; /* more was lost, and nobody counted it */
};

/* Returning other than 0 ends it. short_name: NULL = none */
typedef int recorded_name_fn(void *arg, const char *name, const char *short_name);

#define RECORDING_HEAD 4096

struct recording_reader {
	const char *name; /* "trace.dat" */
	/* -f's name for the lines of the tool that it comes from; NULL = none */
	const char *style;
	bool is_kernel; /* events are tracepoints: "tracepoint:" may stand before their names */
	bool comm_says_who; /* without the tid */
	/* By the first RECORDING_HEAD bytes of a file, or all. NULL: it is for directories. */
	bool (*recognise)(const void *head, size_t len);
	/* NULL in *ret: of directories, nothing is there. 0 or -errno with the reason in d. */
	int (*open)(struct recordings *all, const char *path, struct diag *d,
		    struct recording **ret);
	/*
	 * Goes on to the next event: sets ns and kind. False: the end; in a recording that grows,
	 * for now. Damage is reported.
	 */
	bool (*next)(struct recording *r, struct diag *d);
	/* A field of the event or, unless only a field is meant, comm, pid, tid or cpu. */
	struct field_value (*value)(struct recording *r, const char *name, bool only_field);
	/* *ret says of all that it is unknown. */
	void (*place)(struct recording *r, struct recorded_place *ret);
	/* The event's own fields, as one object; what `report --json` calls "fields". */
	void (*fields)(struct recording *r, struct json *j);
	/* The same, value by value; what is none of field_kind's is FIELD_NONE. */
	void (*values)(struct recording *r, field_value_fn *fn, void *arg);
	/* The event's line, in the style that was asked for. 0 or -errno of a write. */
	int (*print)(struct recording *r, struct ctf_printer *printer);
	/* As far as it was read: adds to *ret. */
	void (*loss)(struct recording *r, struct diag *d, struct recording_loss *ret);
	/* Names of its events, and of their fields. */
	int (*each_event)(struct recording *r, recorded_name_fn *fn, void *arg);
	int (*each_field)(struct recording *r, recorded_name_fn *fn, void *arg);
	/* Names of events in a file or directory that is not opened otherwise; quickly, silent. */
	void (*names)(const char *path, recorded_name_fn *fn, void *arg);
	void (*close)(struct recording *r);
	/* ---- what not all have ---- */
	bool marks_losses; /* in lines of its own style */
	/* Where this host's clock of this name lies; host NULL: of the only one there is. */
	bool (*clock)(const struct recording *r, const char *host, const char *name,
		      struct recorded_clock *ret);
	/* Adds the event's call chain to *ret, which is empty. False: it has none. */
	bool (*stack)(struct recording *r, struct recorded_stack *ret);
	/*
	 * What is mapped at an address of its event's process, or of the kernel. False: it does not
	 * say.
	 */
	bool (*mapping)(struct recording *r, u64 address, bool is_kernel,
			struct recorded_mapping *ret);
	/* Of which event of perf its event is a sample; NULL = of none. */
	const struct perf_event_attr *(*attr)(struct recording *r);
	/* Threads that there were when the event it stands at came, as far as it knows. */
	void (*tasks)(struct recording *r, recorded_task_fn *fn, void *arg);
	/* Bits of what place() and stack() tell of no event. NULL: only what it lacks. */
	u32 (*unplaced)(struct recording *r);
	/*
	 * The text of the format of a tracepoint whose records raw() gives, as tracefs had it; it
	 * stays. NULL: none is recorded.
	 */
	const char *(*format)(struct recording *r, const char *system, const char *name);
	/* The event as the kernel laid it out; valid until next(). NULL: not as it was. */
	const u8 *(*raw)(struct recording *r, u32 *ret_size);
	/*
	 * What a trace.dat of it would say besides events: names, clock, options. *ret is
	 * initialised; strings stay the reader's. 0 or -errno with a diagnostic.
	 */
	int (*contents)(struct recording *r, struct dat_contents *ret, struct diag *d);
	/* The kernel's function at an address, as it was named there. NULL: unknown. */
	const char *(*function)(struct recording *r, u64 address);
	/*
	 * Starts again, before its first event; those outside of these times are not asked for: it
	 * passes over what it can without reading it.
	 */
	void (*narrow)(struct recording *r, s64 begin_ns, s64 end_ns);
	/* A further path for the same recording; 0 or -errno. */
	int (*add)(struct recording *r, const char *path, struct diag *d);
	void (*refresh)(struct recording *r, struct diag *d); /* what has grown since */
	/* What it has in place of events: a latency trace's text; NULL: events. */
	const char *(*text)(struct recording *r);
	/* Its host is known as NAME, which stays, whatever the recording says. */
	void (*rename_host)(struct recording *r, const char *name);
};

/* How values of a program's variables are printed; `view/` knows. */
struct recorded_values {
	struct type_store *types; /* that their types are in */
	/* To out, or, where that is not NULL, to j. print NULL = they are not asked for. */
	void (*print)(void *arg, const struct type *t, const void *value, struct strbuf *out,
		      struct json *j);
	void *arg;
};

struct recordings_options {
	struct ctf_print_options print; /* what a reader needs for its own lines it adds */
	struct string_list events; /* globs of names; none = all */
	struct string_list files; /* directories where programs' files are looked for */
	/* NULL = on the time line; "" = as the recording's own tool shows it; a reader's style */
	const char *style;
	/* as that tool prints them, events that were recorded late come late */
	bool tool_order;
	const char *clock; /* that kernel events were recorded with; NULL = as they say */
	u64 tsc_hz; /* of the clock x86-tsc; 0 = as recordings say */
	/* where nothing says when its clock began, its times stay as recorded: of one alone */
	bool recorded_times;
	bool shows_inner;
	bool takes_text; /* else recordings that have only that are refused */
	bool no_symbols; /* addresses stay numbers */
	bool keeps_lines; /* printed events stay in recordings_lines() */
	struct recorded_values locals; /* variables of the frames of stacks */
	bool live; /* recordings may grow */
	s64 hold_ns; /* live: events younger than this wait for slower streams */
};

struct recordings *recordings_new(const struct recordings_options *options);
void recordings_release(struct recordings *all);
/* A path's reader; NULL: it is a directory, or nothing that anyone knows. */
const struct recording_reader *recording_recognise(const char *path);
/* The name of the reader whose style this is; NULL: nobody's. */
const char *recording_is_style(const char *name);
/* Adds what is at PATH, and looks into directories. 0 or -errno with a diagnostic. */
int recordings_add(struct recordings *all, const char *path, struct diag *d);
/* One that its maker opened; all closes it. It stands before its first event. */
void recordings_take(struct recordings *all, struct recording *r);
/* Once, when all are added: each stands at its first event. 0 or -errno with a diagnostic. */
int recordings_open(struct recordings *all, struct diag *d);
/* The one that cannot do what CTF traces can (grow, be printed as babeltrace does); or NULL. */
const struct recording *recordings_fixed(const struct recordings *all);

/* Calls fn for each machine that recordings of other machines are of. */
void recordings_each_machine(struct recordings *all,
			     void (*fn)(void *arg, struct clock_relation *r), void *arg);
/* The time of the event that recordings_next() would give now. False: there is none. */
bool recordings_peek(const struct recordings *all, s64 *ret_ns);
/* Events outside of these times are not asked for any more; some may come all the same. */
void recordings_narrow(struct recordings *all, s64 begin_ns, s64 end_ns, struct diag *d);
/* The recording with the oldest event that is wanted, behind the one before. NULL: the end. */
struct recording *recordings_next(struct recordings *all, struct diag *d);
void recordings_refresh(struct recordings *all, struct diag *d);
/*
 * The call chain of the event it stands at, in place of what *ret held. Of a sample without one,
 * the function that it was in. False: it has none.
 */
bool recording_stack(struct recording *r, struct recorded_stack *ret);
/* Adds its names to an object, the innermost first, as "frames"; nothing if it has none. */
void recording_add_frames(struct recording *r, struct json *j);
/* Where and in whom its event was. */
struct recorded_place recording_place(struct recording *r);
/* A field of its event that is a number. False: it has none. */
bool recorded_number(struct recording *r, const char *name, s64 *ret);
/* One that is text; without a NUL. */
bool recorded_text(struct recording *r, const char *name, const char **ret, size_t *ret_size);
/*
 * Its event's line, to standard output; in text after one of events that are missing before it.
 * 0 or -errno of a write.
 */
int recording_print(struct recording *r);
int recordings_flush(struct recordings *all);
/* With keeps_lines: all that was printed. */
const struct strbuf *recordings_lines(const struct recordings *all);
/* The error of one whose times would be needed, and there are none. Returns -errno. */
int recording_refuse_timeless(const char *path, struct diag *d);
/* The error of one whose times would be needed, and are cycles. */
void recording_refuse_cycles(const char *path, struct diag *d);
struct recording_loss recordings_loss(struct recordings *all, struct diag *d);
size_t recordings_count(const struct recordings *all);
/* Until fn returns other than 0; that is returned. */
int recordings_each(struct recordings *all, int (*fn)(struct recording *r, void *arg), void *arg);
void recordings_each_kind(struct recordings *all, void (*fn)(void *arg, struct recorded_kind *k),
			  void *arg);
/* Names of a path's events, for the shells: no event is read. */
void recording_names(const char *path, recorded_name_fn *fn, void *arg);

/* ---- for readers ---- */

struct recordings_options *recordings_options(struct recordings *all);
/* Both names are copied; short_name may be NULL. Stays until all is released. */
struct recorded_kind *recorded_kind_new(struct recordings *all, const char *name,
					const char *short_name);
/* What another recording knows of a host's clock; as its reader's clock(). */
bool recordings_clock(const struct recordings *all, const char *host, const char *name,
		      struct recorded_clock *ret);

extern const struct recording_reader ctf_reader; /* trace/ctf/reader.c */
extern const struct recording_reader dat_reader; /* trace/dat/reader.c */
extern const struct recording_reader perf_reader; /* trace/perf/reader.c */
extern const struct recording_reader xen_reader; /* trace/xen/reader.c */
extern const struct recording_reader pprof_reader; /* trace/pprof/reader.c */
/* trace/text/reader.c */
extern const struct recording_reader perf_script_reader, trace_cmd_reader, folded_reader;

#endif
