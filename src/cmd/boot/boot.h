/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pantrace boot: tracing the kernel from its first moments on.
 *
 *	boot.c		the command line and its words
 *	script.c	a script as options
 *	plan.c		what to trace, checked against the running kernel
 *	line.c		a plan as parameters of the kernel's command line
 *	bootconfig.c	a plan as a boot configuration
 *	install.c	the boot loader's configuration (kernel/boot/grub.h)
 *	status.c	what is installed, and what this boot traced
 *	extract.c	what this boot recorded, as a trace.dat
 *	crash.c		memory that outlives a crash: starts the recording, reads it afterwards
 */
#ifndef PANTRACE_CMD_BOOT_BOOT_H
#define PANTRACE_CMD_BOOT_BOOT_H

#include "base/options.h"
#include "kernel/boot/parameters.h"
#include "record/ftrace/ftrace.h"

#define BOOT_INSTANCE_DEFAULT "boot"

struct boot_options {
	struct record_request request;
	struct option_words events;
	struct string_list probes, histograms;
	const char *name; /* -B; NULL = not given */
	const char *persistent; /* a size; NULL = not given */
	const char *output;
	const char *script; /* a path; NULL = not given */
	bool top, overwrites, bootconfig, json, quiet;
	const char *command; /* the user's command, for whoever finds the installed file */
};

extern const struct command_spec boot_spec;

/* ---- script.c ---- */

/*
 * Adds what o->script says to the other options; all strings live as long as the diag. 0 or -errno
 * with a diagnostic at the place of what the kernel cannot do at boot.
 */
int boot_script_take(struct boot_options *o, struct kernel *k, struct diag *d);

/* ---- plan.c ---- */

struct boot_probe {
	bool is_return;
	const char *event, *definition; /* "vfs_read", "vfs_read+0 count=%dx:x64" */
};

struct boot_trigger {
	const char *system, *event, *text; /* "hist:keys=pid:size=2048 if pid > 1" */
};

/* All strings live as long as the diag, or the command line. */
struct boot_plan {
	const struct boot_options *options;
	struct kernel *kernel;
	struct diag *diag;
	const char *instance; /* "" = the top buffer */
	u64 buffer_kb; /* of each CPU; 0 with persistent memory, which all CPUs share */
	u64 persistent_bytes; /* 0 = none */
	struct kernel_events events; /* by system */
	VECTOR(const char *) conditions; /* of each event, as the kernel has them; NULL = none */
	VECTOR(struct boot_probe) probes;
	VECTOR(struct boot_trigger) triggers;
};

/* Marks each -e as a kernel event. 0, or -errno with a diagnostic if one is not. */
int boot_claim_events(struct record_request *r, struct kernel *k, struct diag *d);
/* The events must be claimed. 0 or -errno with a diagnostic; boot_plan_release() in any case. */
int boot_plan_make(struct boot_plan *p, const struct boot_options *o, struct kernel *k,
		   struct diag *d);
void boot_plan_release(struct boot_plan *p);
/* Is every event of this system in the plan? */
bool boot_plan_has_system(const struct boot_plan *p, const char *system);

/* ---- line.c ---- */

struct boot_setting {
	enum boot_parameter parameter;
	char *value;
};

struct boot_line {
	VECTOR(struct boot_setting) settings;
};

/*
 * The parameters, which the running kernel knows, or may know (a warning says so). 0 or -errno with
 * a diagnostic: one is not known, the plan cannot be said so, or it would be too long together with
 * what this boot's command line has.
 */
int boot_line_make(struct boot_line *l, const struct boot_plan *p);
/* Appends them as the kernel reads them: separated by blanks, values with blanks in quotes. */
void boot_line_text(const struct boot_line *l, struct strbuf *out);
void boot_line_release(struct boot_line *l);

/* ---- bootconfig.c ---- */

/* Appends the configuration. 0, or -errno with a diagnostic if it cannot express a value. */
int boot_config_text(const struct boot_plan *p, struct strbuf *out);

/* ---- install.c, status.c, extract.c; each returns an exit code ---- */

int boot_install(const struct boot_line *l, const struct boot_options *o, struct diag *d);
int boot_remove(const struct boot_options *o, struct diag *d);
int boot_status(const struct boot_options *o, struct kernel *k, struct diag *d);
int boot_extract(const struct boot_options *o, struct kernel *k, struct diag *d);
int boot_arm(const struct boot_options *o, struct kernel *k, struct diag *d);

/*
 * `pantrace crash --kernel`: instance NULL = that of the command line. Returns an exit code.
 */
int crash_kernel(const char *instance, const char *output, bool json, struct diag *d);

int cmd_boot(int argc, char **argv);

#endif
