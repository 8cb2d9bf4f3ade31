/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace boot`: sets up tracing of the next boot, and reads what this one recorded. */
#include "cmd/boot/boot.h"

#include <signal.h>
#include <stdio.h>

#include "base/escape.h"
#include "base/json.h"
#include "base/nearest.h"
#include "cmd/buffer/buffer.h"
#include "cmd/record/record.h"
#include "kernel/boot/grub.h"

#define O(field) offsetof(struct boot_options, field)
static const struct option_spec table[] = {
	{0, NULL, NULL, "What to trace", OPTION_HEADING, 0},
	{'e', "event", "TRACEPOINT",
	 "SYSTEM:EVENT, SYSTEM or EVENT, with * and ?, separated by commas (may be repeated); a "
	 "condition behind it is for --bootconfig",
	 OPTION_WORDS, O(events)},
	{'f', NULL, "CONDITION", "of the -e before it", OPTION_WORDS, O(events)},
	KERNEL_EVENT_OPTIONS(O(events), O(request), 'T', 'n', 'g'),
	{'x', "exclude", "EVENT", "but not these events (may be repeated)", OPTION_LIST,
	 O(request.excluded)},
	{'p', "tracer", "TRACER", "a tracer of the kernel, as function or function_graph",
	 OPTION_STRING, O(request.tracer)},
	{'k', "kprobe", "DEFINITION",
	 "a probe, as probe defines it: 'vfs_read count', 'do_exit%return $retval' (may "
	 "be repeated)",
	 OPTION_LIST, O(probes)},
	{0, "hist", "SPECIFICATION",
	 "a histogram, as hist counts it: 'initcall_start:keys=func' (may be repeated); "
	 "status shows it",
	 OPTION_LIST, O(histograms)},
	{0, "script", "FILE",
	 "a script, of which the kernel has to be able to do everything itself: empty probes of "
	 "tracepoints and functions, and @[args.FIELD] = count(), sum() or hist()",
	 OPTION_STRING, O(script)},
	{0, NULL, NULL, "Where to", OPTION_HEADING, 0},
	{'b', "buffer", "SIZE",
	 "size of each CPU's buffer: in KB, or with a unit, as 64M (default: 4M)", OPTION_STRING,
	 O(request.buffer)},
	{'w', "overwrite", NULL,
	 "keep the newest events; without, the first ones, and what finds the buffer full is "
	 "counted",
	 OPTION_FLAG, O(overwrites)},
	{0, "persistent", "SIZE",
	 "into memory that outlives a crash and a warm reboot, of all CPUs together: after each "
	 "boot `boot arm` begins the recording, after a crash `crash --kernel` reads it",
	 OPTION_STRING, O(persistent)},
	{'B', "name", "BUFFER",
	 "the instance (default: " BOOT_INSTANCE_DEFAULT ", where the kernel makes them at boot)",
	 OPTION_STRING, O(name)},
	{'t', "top", NULL, "the kernel's own buffer, which all programs share", OPTION_FLAG,
	 O(top)},
	{0, "bootconfig", NULL, "print a boot configuration instead of a command line", OPTION_FLAG,
	 O(bootconfig)},
	{0, NULL, NULL, "Of extract", OPTION_HEADING, 0},
	{'o', "output", "FILE", "the file (default: boot.dat)", OPTION_STRING, O(output)},
	{0, "v6", NULL, "a trace.dat of version 6, as older viewers want it", OPTION_FLAG,
	 O(request.version_6)},
	{0, NULL, NULL, "Printing", OPTION_HEADING, 0},
	{'q', "quiet", NULL, "say nothing", OPTION_FLAG, O(quiet)},
	{'j', "json", NULL, "of the line, and of status: a JSON object", OPTION_FLAG, O(json)},
	{0},
};
#undef O

const struct command_spec boot_spec = {
	.name = "boot",
	.synopsis =
		"[install|remove|status|extract|arm] [-e TRACEPOINT | -p TRACER | -k DEFINITION "
		"...] [options]",
	.summary = "trace the kernel from its first moments on, before there is any process",
	.examples = "pantrace boot -e initcall   # prints the parameters for the kernel\n"
		    "pantrace boot install -e initcall -e sched:sched_process_exec   # into "
		    "GRUB's menu\n"
		    "pantrace boot extract -o boot.dat   # after the reboot\n"
		    "pantrace report --initcalls boot.dat   # which parts took long to start\n"
		    "pantrace timeline -o boot.html boot.dat\n"
		    "pantrace boot remove   # GRUB's menu is as it was\n"
		    "pantrace boot -p function_graph -g do_one_initcall -b 32M\n"
		    "pantrace boot --script first.bt   # what the kernel can run by itself\n"
		    "pantrace boot install --persistent 16M -e sched,irq   # for the next crash\n"
		    "pantrace boot arm   # after each boot: start recording\n"
		    "pantrace crash --kernel   # after the crash\n"
		    "pantrace boot --bootconfig -e 'sched:sched_switch /args.prev_prio < 120/'\n",
	.details = "Without a command it only prints. Names, parameters and the length of the "
		   "line are checked against the running kernel: what it does not know is "
		   "refused, and where nothing can tell, a warning says so.\n\n"
		   "install writes " GRUB_FILE " and runs update-grub; remove deletes this file "
		   "and runs update-grub again. Nobody else's file is touched. With another boot "
		   "loader, add the printed line to its configuration yourself.\n\n"
		   "Times are of the kernel's clock `local`, the only one that runs from the "
		   "start. extract measures its offset from CLOCK_MONOTONIC, so that report and "
		   "timeline show the boot and later recordings on one time line. It stops the "
		   "recording and removes the boot's instance; the exit code is 3 if the buffer "
		   "was too small.\n\n"
		   "--persistent needs Linux 6.12, and firmware that leaves memory as it was. "
		   "The newest events are kept. arm saves this boot's formats, symbols and tasks "
		   "below /var/lib/pantrace, because the memory alone does not explain its "
		   "events. It refuses while the memory holds events of the boot before.\n\n"
		   "The command line takes no conditions, and triggers only without a comma; "
		   "tracers, probes and triggers work only in the kernel's own buffer. Probes "
		   "within functions, and variables, are valid for this build of the kernel "
		   "only. A boot configuration has none of these limits, but needs a kernel with "
		   "CONFIG_BOOT_CONFIG and CONFIG_BOOTTIME_TRACING (Debian's have neither): "
		   "`bootconfig -a FILE INITRD` appends it to an initrd, and the command line "
		   "needs the word bootconfig.\n",
	.options = table,
};

/* ---- printing ---- */

static int print_line(const struct boot_line *l, const struct boot_options *o, struct diag *d)
{
	struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
	struct json j = JSON_INIT(&out);

	boot_line_text(l, &text);
	if (o->json) {
		json_object(&j);
		json_member_text(&j, "line", text.data);
		json_key(&j, "parameters");
		json_object(&j);
		for (size_t i = 0; i < l->settings.len; i++)
			json_member_text(&j, boot_parameter_name(l->settings.items[i].parameter),
					 l->settings.items[i].value);
		json_end(&j, '}');
		json_end(&j, '}');
		json_end_line(&j);
	} else {
		strbuf_addf(&out, "%s\n", text.data);
	}
	fwrite(out.data, 1, out.len, stdout);
	strbuf_release(&out);
	strbuf_release(&text);
	return EXIT_OK;
}

/* Whether this kernel reads such a configuration at all. */
static void judge_config(struct kernel *k, struct diag *d)
{
	static const char *const options[] = {"BOOT_CONFIG", "BOOTTIME_TRACING"};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const char has = kernel_config(k, options[i]);

		if (has == 'n')
			diag_warning(
				d, NO_SPAN,
				"this kernel was built without CONFIG_%s, and does not read it",
				options[i]);
		else if (has == '?')
			diag_warning(d, NO_SPAN,
				     "whether this kernel was built with CONFIG_%s cannot be told",
				     options[i]);
	}
}

static int print_config(const struct boot_options *o, struct kernel *k, struct diag *d)
{
	struct strbuf text = STRBUF_INIT;
	struct boot_plan p;
	const int err = boot_plan_make(&p, o, k, d) ?: boot_config_text(&p, &text);

	if (!err) {
		judge_config(k, d);
		fwrite(text.data, 1, text.len, stdout);
	}
	strbuf_release(&text);
	boot_plan_release(&p);
	return err ? EXIT_FAILED : EXIT_OK;
}

/* ---- words ---- */

/* Makes the command line and calls fn with it. */
static int with_line(const struct boot_options *o, struct kernel *k, struct diag *d,
		     int (*fn)(const struct boot_line *l, const struct boot_options *o,
			       struct diag *d))
{
	struct boot_plan p;
	struct boot_line l = {0};
	int rc = EXIT_FAILED;

	if (!boot_plan_make(&p, o, k, d) && !boot_line_make(&l, &p))
		rc = fn(&l, o, d);
	boot_line_release(&l);
	boot_plan_release(&p);
	return rc;
}

static int do_install(const struct boot_options *o, struct kernel *k, struct diag *d)
{
	return with_line(o, k, d, boot_install);
}

static int do_print(const struct boot_options *o, struct kernel *k, struct diag *d)
{
	return o->bootconfig ? print_config(o, k, d) : with_line(o, k, d, print_line);
}

static int do_remove(const struct boot_options *o, struct kernel *k, struct diag *d)
{
	return boot_remove(o, d);
}

static const struct word {
	const char *name;
	int (*run)(const struct boot_options *o, struct kernel *k, struct diag *d);
	bool traces; /* it takes what to trace */
} words[] = {
	{"install", do_install, true},	{"remove", do_remove, false},
	{"status", boot_status, false}, {"extract", boot_extract, false},
	{"arm", boot_arm, false},
};

static const struct word printing = {"", do_print, true};

static int find_word(char **argv, int first, int argc, const struct word **ret)
{
	struct nearest near;

	*ret = &printing;
	if (first == argc)
		return OPTIONS_GO_ON;
	nearest_init(&near, argv[first]);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		nearest_offer(&near, words[i].name);
		if (str_eq(words[i].name, argv[first]))
			*ret = &words[i];
	}
	if (*ret == &printing)
		return options_usage_error(&boot_spec, "there is no word '%s'%s", argv[first],
					   nearest_question(&near));
	if (first + 1 < argc)
		return options_usage_error(&boot_spec, "'%s' is one word too many",
					   argv[first + 1]);
	return OPTIONS_GO_ON;
}

static int check(const struct boot_options *o, const struct word *word)
{
	const struct record_request *const r = &o->request;
	const bool traces =
		r->events.len || r->tracer || o->probes.count || o->histograms.count || o->script;

	if (word->traces && !traces)
		return options_usage_error(&boot_spec, "what is to be traced? -e TRACEPOINT, -p "
						       "TRACER, -k DEFINITION, --hist, "
						       "--script");
	if (!word->traces && traces)
		return options_usage_error(&boot_spec, "%s takes nothing to trace", word->name);
	if (o->bootconfig && word != &printing)
		return options_usage_error(&boot_spec, "--bootconfig is only printed: it has its "
						       "place behind an initrd");
	return record_kernel.check(&boot_spec, r);
}

int cmd_boot(int argc, char **argv)
{
	struct strbuf command = STRBUF_INIT;
	struct boot_options o = {0};
	struct diag d = DIAG_INIT;
	const struct word *word;
	struct kernel *k;
	int first, rc;

	strbuf_addstr(&command, "pantrace ");
	escape_shell(&command, argv, argc);
	rc = options_parse(&boot_spec, argc, argv, &o, &first);
	if (rc == OPTIONS_GO_ON)
		rc = find_word(argv, first, argc, &word);
	if (rc == OPTIONS_GO_ON)
		rc = record_take_events(&boot_spec, &o.events, &o.request);
	if (rc == OPTIONS_GO_ON)
		rc = check(&o, word);
	if (rc == OPTIONS_GO_ON) {
		signal(SIGXFSZ, SIG_IGN); /* beyond RLIMIT_FSIZE, write() fails instead */
		o.command = command.data;
		k = kernel_new();
		if ((o.script && boot_script_take(&o, k, &d)) ||
		    boot_claim_events(&o.request, k, &d))
			rc = EXIT_FAILED;
		else
			rc = word->run(&o, k, &d);
		kernel_release(k);
	}
	record_request_release(&o.request);
	options_release(&boot_spec, &o);
	strbuf_release(&command);
	return diag_close(&d, rc);
}
