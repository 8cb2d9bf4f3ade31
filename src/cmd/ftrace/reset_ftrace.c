/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pantrace reset-ftrace`: shows what in tracefs differs from its state after boot, and resets it.
 */
#include "cmd/ftrace/reset_ftrace.h"

#include <stdio.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/json.h"
#include "base/options.h"
#include "cmd/buffer/buffer.h"
#include "kernel/tracefs/lasting_buffer.h"
#include "kernel/tracefs/sweep.h"
#include "kernel/tracefs/state.h"

struct reset_options {
	bool force, quiet, dry_run, stale, all, json;
	int verbose;
};

static const struct option_spec options[] = {
	{'f', "force", NULL, "do it without asking", OPTION_FLAG,
	 offsetof(struct reset_options, force)},
	{'d', "dry-run", NULL, "only show what would be taken back", OPTION_FLAG,
	 offsetof(struct reset_options, dry_run)},
	{0, "stale", NULL, "only what runs of pantrace left that are dead", OPTION_FLAG,
	 offsetof(struct reset_options, stale)},
	{'a', "all", NULL, "ring buffers (instances) of other programs, too", OPTION_FLAG,
	 offsetof(struct reset_options, all)},
	{'q', "quiet", NULL, "say nothing; implies --force", OPTION_FLAG,
	 offsetof(struct reset_options, quiet)},
	{'v', "verbose", NULL, "show what is written where", OPTION_COUNT,
	 offsetof(struct reset_options, verbose)},
	{'j', "json", NULL, "one JSON object per thing that is not as after boot", OPTION_FLAG,
	 offsetof(struct reset_options, json)},
	{0},
};

static const struct command_spec spec = {
	.name = "reset-ftrace",
	.synopsis = "[-fdqvaj] [--stale]",
	.summary = "show what ftrace has switched on, and switch it off",
	.examples = "  pantrace reset-ftrace           # shows what is not as after boot, asks, "
		    "takes it back\n"
		    "  pantrace reset-ftrace -d        # only shows\n"
		    "  pantrace reset-ftrace --stale   # only what killed runs of pantrace left\n"
		    "  pantrace reset-ftrace -f        # without asking\n",
	.details = "Tracers, events, filters, triggers, lists of functions and threads, options "
		   "and sizes of\n"
		   "the top trace buffer, probes, synthetic events, and instances that dead runs "
		   "left are taken\n"
		   "back to what they are after boot. What belongs to a run of pantrace that "
		   "lives, and sessions of pantrace start and instances\n"
		   "of other programs (without -a) are left alone.",
	.options = options,
	.takes_no_argument = true,
};

struct reset {
	struct reset_options o;
	struct kernel *kernel;
	struct strbuf out;
};

static void flush(struct reset *r)
{
	if (!r->o.quiet)
		fwrite(r->out.data, 1, r->out.len, stdout);
	strbuf_reset(&r->out);
}

/* ---- what is chosen ---- */

/* Why an item is not reset; NULL = it is. */
static const char *left_alone(const struct reset *r, const struct state_item *i)
{
	if (i->alive)
		return "a run of pantrace that lives";
	if (i->session && !r->o.all)
		return "a session, see `pantrace status`; -a takes it";
	if (!i->owner && *i->instance && !r->o.all)
		return "another program's; -a takes it";
	return NULL;
}

static bool choose(void *arg, const struct state_item *i)
{
	return !left_alone(arg, i);
}

/* ---- output ---- */

static void text_item(struct reset *r, const struct state_item *i)
{
	const char *const why = left_alone(r, i);
	struct strbuf value = STRBUF_INIT;

	escape_line(&value, i->value, strlen(i->value));
	strbuf_addf(&r->out, "  %-15s %s", state_kind_name(i->kind), i->file);
	if (value.len && i->kind != STATE_EVENT)
		strbuf_addf(&r->out, ": %s", value.data);
	if (why && i->owner > 0)
		strbuf_addf(&r->out, "  (%s: process %d; left alone)", why, (int)i->owner);
	else if (why)
		strbuf_addf(&r->out, "  (%s)", why);
	else if (r->o.verbose && i->kind == STATE_INSTANCE)
		strbuf_addstr(&r->out, "  -> removed");
	else if (r->o.verbose)
		strbuf_addf(&r->out, "  -> '%s'", i->undo);
	strbuf_addch(&r->out, '\n');
	strbuf_release(&value);
}

static void text_state(struct reset *r, const struct tracefs_state *s)
{
	const char *heading = NULL;

	for (size_t n = 0; n < s->items.len; n++) {
		const struct state_item *i = &s->items.items[n];

		if (!heading || !str_eq(heading, i->instance)) {
			if (*i->instance)
				strbuf_addf(&r->out, "instance %s\n", i->instance);
			else if (i->kind == STATE_PROBE || i->kind == STATE_SYNTHETIC)
				strbuf_addstr(&r->out, "dynamic events\n");
			else
				strbuf_addstr(&r->out, "top buffer\n");
		}
		heading = i->instance;
		text_item(r, i);
	}
	if (!s->items.len)
		strbuf_addstr(&r->out, "everything is as after boot\n");
	if (s->unreadable && r->o.verbose)
		strbuf_addf(&r->out, "%u file%s could not be read\n", s->unreadable,
			    plural(s->unreadable));
}

static void json_state(struct reset *r, const struct tracefs_state *s)
{
	struct json j = JSON_INIT(&r->out);

	for (size_t n = 0; n < s->items.len; n++) {
		const struct state_item *i = &s->items.items[n];

		json_object(&j);
		json_member_text(&j, "kind", state_kind_name(i->kind));
		json_member_text(&j, "instance", i->instance);
		json_member_text(&j, "file", i->file);
		json_member_text(&j, "value", i->value);
		json_member_s64(&j, "owner", i->owner);
		json_member_bool(&j, "alive", i->alive);
		json_member_bool(&j, "left_alone", left_alone(r, i));
		json_end(&j, '}');
		json_end_line(&j);
	}
}

/* ---- --stale ---- */

static int reset_stale(struct reset *r)
{
	static const char *const kinds[] = {
		[SWEPT_INSTANCE] = "instance",
		[SWEPT_PROBE] = "probe",
		[SWEPT_SYNTHETIC] = "synthetic event",
		[SWEPT_SETTING] = "setting",
	};
	struct sweep_report report = {0};
	const int err = tracefs_sweep(r->kernel, r->o.dry_run, &report);
	struct json j = JSON_INIT(&r->out);
	const u32 failed = report.failed;

	for (size_t n = 0; n < report.items.len; n++) {
		const struct swept *s = &report.items.items[n];

		if (r->o.json) {
			json_object(&j);
			json_member_text(&j, "kind", kinds[s->kind]);
			json_member_text(&j, "name", s->name);
			json_member_s64(&j, "errno", s->error);
			json_end(&j, '}');
			json_end_line(&j);
		} else {
			strbuf_addf(&r->out, "%-15s %s%s%s\n", kinds[s->kind], s->name,
				    s->error ? ": still there: " : "",
				    s->error ? strerror(s->error) : "");
		}
	}
	if (!report.items.len && !r->o.json)
		strbuf_addstr(&r->out, "nothing is left of dead runs\n");
	sweep_report_release(&report);
	flush(r);
	return err || failed ? EXIT_FAILED : EXIT_OK;
}

/* ---- all ---- */

static u32 count_chosen(struct reset *r, const struct tracefs_state *s)
{
	u32 n = 0;

	for (size_t i = 0; i < s->items.len; i++)
		n += choose(r, &s->items.items[i]);
	return n;
}

static bool confirmed(u32 count)
{
	char line[16];

	fprintf(stderr, "Take back these %u? [y/N] ", count);
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static void say_failures(const struct tracefs_state *s)
{
	for (size_t n = 0; n < s->items.len; n++) {
		const struct state_item *i = &s->items.items[n];

		if (i->error)
			complain("reset-ftrace", "%s%s%s could not be taken back: %s", i->instance,
				 *i->instance ? ": " : "", i->file, strerror(i->error));
	}
}

/* What of it could not be put back is seen next. */
static void ignore(void *arg, const char *file, int error)
{
}

static void remove_session(void *arg, const char *name)
{
	lasting_buffer_remove(arg, name, ignore, NULL);
}

static int take_back(struct reset *r)
{
	struct tracefs_state s;
	u32 failed;

	/*
	 * First what a killed run had changed: its values are in a journal, which must not be
	 * applied later.
	 */
	tracefs_sweep(r->kernel, false, NULL);
	if (r->o.all) /* they know what is to be put back */
		buffer_each_session(remove_session, r->kernel);
	if (tracefs_state_read(r->kernel, STATE_OF_OTHERS, &s))
		return EXIT_FAILED;
	failed = tracefs_state_undo(r->kernel, &s, choose, r);
	if (!r->o.quiet)
		say_failures(&s);
	tracefs_state_release(&s);
	return failed ? EXIT_FAILED : EXIT_OK;
}

static int reset_all(struct reset *r)
{
	struct tracefs_state s;
	u32 chosen;

	if (tracefs_state_read(r->kernel, STATE_OF_OTHERS, &s)) {
		tracefs_state_release(&s);
		return EXIT_FAILED;
	}
	if (r->o.json)
		json_state(r, &s);
	else
		text_state(r, &s);
	chosen = count_chosen(r, &s);
	tracefs_state_release(&s);
	flush(r);
	if (r->o.dry_run || !chosen)
		return EXIT_OK;
	if (!r->o.force && !r->o.quiet) {
		if (!isatty(STDIN_FILENO)) {
			complain("reset-ftrace", "nothing was changed: `pantrace reset-ftrace -f` "
						 "takes it back without asking");
			return EXIT_FAILED;
		}
		if (!confirmed(chosen))
			return EXIT_FAILED;
	}
	return take_back(r);
}

int cmd_reset_ftrace(int argc, char **argv)
{
	struct reset r = {.out = STRBUF_INIT};
	struct diag d = DIAG_INIT;
	int first, rc = options_parse(&spec, argc, argv, &r.o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	r.kernel = kernel_new();
	if (!kernel_ask(r.kernel, KERNEL_TRACEFS)->yes ||
	    access(kernel_tracefs(r.kernel), R_OK | X_OK | (r.o.dry_run ? 0 : W_OK))) {
		const struct kernel_answer *a = kernel_ask(r.kernel, KERNEL_TRACEFS);

		diag_error(&d, NO_SPAN, "tracefs cannot be used: %s",
			   a->why ? a->why : strerror(errno));
		diag_hint(&d, "%s", a->hint ? a->hint : "run it as root");
		diag_code(&d, geteuid() ? EXIT_PRIVILEGE : EXIT_UNSUPPORTED);
	} else {
		rc = r.o.stale ? reset_stale(&r) : reset_all(&r);
	}
	strbuf_release(&r.out);
	kernel_release(r.kernel);
	return diag_close(&d, rc);
}
