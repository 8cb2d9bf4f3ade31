/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace extract`: writes the events of a buffer to a trace.dat. */
#include "record/ftrace/extract.h"

#include <signal.h>
#include <stdio.h>

#include "cmd/buffer/buffer.h"

struct extract_options {
	struct buffer_choice buffer;
	const char *output, *compress;
	bool snapshot, version_6, verbose, quiet;
};

#define O(field) offsetof(struct extract_options, field)
static const struct option_spec extract_table[] = {
	BUFFER_OPTIONS(struct extract_options, buffer),
	{'o', "output", "FILE", "the file (default: trace.dat)", OPTION_STRING, O(output)},
	{'s', "snapshot", NULL, "the snapshot taken by snapshot -s", OPTION_FLAG, O(snapshot)},
	{0, "v6", NULL, "a trace.dat of version 6, uncompressed, as older viewers want it",
	 OPTION_FLAG, O(version_6)},
	{0, "compress", "zstd|none", "of version 7 (default: zstd)", OPTION_STRING, O(compress)},
	{'v', "verbose", NULL, "events kept and lost, CPU by CPU", OPTION_FLAG, O(verbose)},
	{'q', "quiet", NULL, "no summary", OPTION_FLAG, O(quiet)},
	{0},
};
#undef O

static const struct command_spec extract_spec = {
	.name = "extract",
	.synopsis = "[-B NAME | -t] [-o FILE] [-s]",
	.summary = "write what is in a buffer into a trace.dat",
	.examples = "pantrace extract -o sched.dat   # of the session of `pantrace start`\n"
		    "pantrace stop && pantrace extract && pantrace report trace.dat\n"
		    "pantrace extract --top --v6 -o top.dat   # what `trace-cmd start` began\n"
		    "pantrace extract -s -o before.dat   # the snapshot\n",
	.details = "The file is the same as one of `pantrace record`: `pantrace report`, trace-cmd "
		   "and KernelShark open it. The events are taken out of the buffer, and tracing "
		   "goes on; the next extract has what came since. An older FILE becomes "
		   "FILE.old.\n\n"
		   "The exit code is 3 if events were overwritten since the buffer was cleared, "
		   "because it was too small, or if the disk was full.\n\n"
		   "For users of trace-cmd: only one buffer is written (no -a), and the instance "
		   "stays until `pantrace reset`.\n",
	.options = extract_table,
	.takes_no_argument = true,
};

static void say_cpu(const struct extract_counts *c)
{
	fprintf(stderr,
		"  CPU %u: %" PRIu64 " kept, %" PRIu64 " overwritten, %" PRIu64
		" without room, %" PRIu64 " not written\n",
		c->cpu, c->kept, c->overwritten, c->dropped, c->unwritten);
}

static void say(const struct extract_options *o, const struct extracted *e, u64 lost)
{
	if (!o->quiet)
		fprintf(stderr,
			"%" PRIu64 " event%s of the kernel, %" PRIu64 " bytes, in %s; %" PRIu64
			" lost\n",
			e->all.kept, plural(e->all.kept), e->bytes, o->output, lost);
	for (u32 i = 0; i < e->cpu_count; i++)
		if (o->verbose || (lost && !o->quiet))
			say_cpu(&e->each[i]);
}

/* 0 or -errno; *ret_lost: events that are not in the file. */
static int extract(const struct extract_options *o, struct kernel *k, struct diag *d, u64 *ret_lost)
{
	const struct extract_request r = {.path = o->output,
					  .is_snapshot = o->snapshot,
					  .version_6 = o->version_6,
					  .is_plain = o->compress && str_eq(o->compress, "none")};
	struct extracted e = {0};
	struct chosen_buffer b;
	int err = buffer_choose(&o->buffer, BUFFER_CHANGE, k, d, &b);

	if (!err && o->snapshot && !instance_has(b.instance, "snapshot")) {
		diag_error(d, NO_SPAN, "this kernel has no snapshots");
		diag_code(d, EXIT_UNSUPPORTED);
		err = -EOPNOTSUPP;
	}
	if (!err)
		err = kernel_extract(b.instance, &r, &e);
	if (!err) {
		*ret_lost = e.all.overwritten + e.all.dropped + e.all.unwritten;
		diag_tell(d);
		say(o, &e, *ret_lost);
	}
	free(e.each);
	buffer_release(&b);
	return err;
}

int cmd_extract(int argc, char **argv)
{
	struct extract_options o = {0};
	struct diag d = DIAG_INIT;
	struct kernel *k;
	u64 lost = 0;
	int first, rc = options_parse(&extract_spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (o.compress && !str_eq(o.compress, "zstd") && !str_eq(o.compress, "none"))
		return options_usage_error(&extract_spec,
					   "a trace.dat is compressed by zstd or none, not '%s'",
					   o.compress);
	o.output = o.output ?: "trace.dat";
	signal(SIGXFSZ, SIG_IGN); /* a limit of files' size is an error of a write */
	k = kernel_new();
	rc = extract(&o, k, &d, &lost) ? EXIT_FAILED : lost ? EXIT_LOST : EXIT_OK;
	kernel_release(k);
	return diag_close(&d, rc);
}
