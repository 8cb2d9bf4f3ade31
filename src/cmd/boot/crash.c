/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that outlives a crash: starts the recording, reads it afterwards. */
#include <stdio.h>

#include "cmd/boot/boot.h"
#include "record/ftrace/last_boot.h"
#include "view/sink.h"

/* The instance that is named, or the persistent one of this boot's command line. */
static int open_instance(const char *name, struct kernel *k, struct diag *d, struct instance **ret)
{
	char *const line = boot_line();
	struct boot_traced traced = boot_traced_of(line);
	int err;

	if (name || traced.is_persistent) {
		err = instance_open_standing(k, d, name ?: traced.instance, ret);
	} else {
		diag_error(d, NO_SPAN,
			   "the kernel's command line has no memory for recordings that "
			   "outlives a crash");
		diag_hint(d, "`pantrace boot --persistent 16M -e sched` prints what it needs");
		err = -ENOENT;
	}
	free(traced.instance);
	free(line);
	return err;
}

int boot_arm(const struct boot_options *o, struct kernel *k, struct diag *d)
{
	struct instance *in = NULL;
	int err = open_instance(o->name, k, d, &in);

	if (!err)
		err = last_boot_arm(in);
	if (!err && !o->quiet)
		fprintf(stderr, "%s records from now on, until the kernel ends\n",
			instance_name(in));
	instance_close(in);
	return err ? EXIT_FAILED : EXIT_OK;
}

static const struct sink_column columns[] = {{"cpu", "CPU", -4},
					     {"events", "EVENTS", -12},
					     {"overwritten", "OVERWRITTEN", -12},
					     {"unwritten", "UNWRITTEN", -10},
					     {0}};

static void say(const struct extracted *e, const char *path, bool json)
{
	struct strbuf out = STRBUF_INIT;
	struct sink s = {.format = sink_of(json), .columns = columns, .out = &out};

	for (u32 i = 0; i < e->cpu_count; i++)
		sink_row(&s, SINK_NUMBER(e->each[i].cpu), SINK_NUMBER(e->each[i].kept),
			 SINK_NUMBER(e->each[i].overwritten), SINK_NUMBER(e->each[i].unwritten));
	fwrite(out.data, 1, out.len, stdout);
	strbuf_release(&out);
	if (!json)
		fprintf(stderr, "in %s\n", path);
}

int crash_kernel(const char *instance, const char *output, bool json, struct diag *d)
{
	struct kernel *const k = kernel_new();
	struct extracted e = {0};
	struct instance *in = NULL;
	int err = open_instance(instance, k, d, &in);

	if (!err)
		err = last_boot_read(in, output, false, &e);
	if (!err) {
		diag_tell(d);
		say(&e, output, json);
	}
	instance_close(in);
	kernel_release(k);
	free(e.each);
	return err ? EXIT_FAILED : e.all.unwritten ? EXIT_LOST : EXIT_OK;
}
