/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this boot has recorded, as a trace.dat. */
#include "record/ftrace/extract.h"

#include <stdio.h>
#include <unistd.h>

#include "cmd/boot/boot.h"
#include "kernel/tracefs/instance_remove.h"
#include "kernel/tracefs/saved.h"
#include "trace/ring/live.h"

static int refuse_none(struct diag *d)
{
	diag_error(d, NO_SPAN, "the command line of this boot traces nothing");
	diag_hint(d, "`pantrace boot install -e initcall` has the next one traced; `pantrace boot "
		     "status` shows what is installed");
	return -ENOENT;
}

static int refuse_persistent(const char *instance, struct diag *d)
{
	diag_error(d, NO_SPAN, "%s is memory that outlives a boot: it may hold the one before",
		   instance);
	diag_hint(d, "`crash --kernel` reads it");
	return -EINVAL;
}

/* The buffer that the command line of this boot names, or -B. ret_of_boot: the line names it. */
static int open_buffer(const struct boot_options *o, struct kernel *k, struct diag *d,
		       struct instance **ret, bool *ret_of_boot)
{
	char *const line = boot_line();
	struct boot_traced traced = boot_traced_of(line);
	const char *const name = o->top ? "" : o->name ?: traced.instance;
	int err;

	if (!name)
		err = refuse_none(d);
	else if (traced.is_persistent && str_eq(name, traced.instance))
		err = refuse_persistent(name, d);
	else
		err = instance_open_standing(k, d, name, ret);
	*ret_of_boot = name && traced.instance && str_eq(name, traced.instance);
	if (err == -ENOENT && name && !o->name)
		diag_hint(d, "it was removed since, or this kernel does not know trace_instance=");
	free(traced.instance);
	free(line);
	return err;
}

/* Linux 6.1 makes no directories for them, so that nothing says what their ids and fields are. */
static void warn_of_probes(struct kernel *k, struct diag *d)
{
	const char *const root = kernel_tracefs(k);
	char *text, *rest = NULL, name[128];

	if (ring_text(root, "kprobe_events", &text))
		return;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *folder;

		if (sscanf(line, "%*[^:]:%127s", name) != 1)
			continue;
		folder = xasprintf("%s/events/%s", root, name);
		if (access(folder, F_OK)) {
			diag_warning(d, NO_SPAN,
				     "this kernel does not describe the probe %s, which it made at "
				     "boot: its events are recorded as 'unknown event'",
				     name);
			diag_hint(d, "show prints them, as long as they are in the buffer");
		}
		free(folder);
	}
	free(text);
}

static void say(const struct boot_options *o, const struct extracted *e)
{
	if (o->quiet)
		return;
	fprintf(stderr, "%" PRIu64 " event%s of the kernel, %" PRIu64 " bytes, in %s\n",
		e->all.kept, plural(e->all.kept), e->bytes, o->output);
	if (e->all.overwritten)
		fprintf(stderr, "%" PRIu64 " older ones were overwritten\n", e->all.overwritten);
	if (e->all.dropped)
		fprintf(stderr, "%" PRIu64 " came when the buffer was full (-b), and are lost\n",
			e->all.dropped);
	if (e->all.unwritten)
		fprintf(stderr, "%" PRIu64 " could not be written\n", e->all.unwritten);
}

/*
 * The boot's own instance has served its purpose and is removed. An instance that -B names belongs
 * to somebody, and the kernel's own buffer to everybody: these are left to the user.
 */
static void end(const struct boot_options *o, struct kernel *k, const char *directory, bool is_top,
		bool is_of_boot)
{
	if (!is_top && !is_of_boot) {
		if (!o->quiet)
			fprintf(stderr,
				"%s is stopped, and stays: the command line does not name "
				"it\n",
				directory);
		return;
	}
	/* set at boot, too, and the default of new instances */
	if (!o->overwrites)
		tracefs_value_write(kernel_tracefs(k), "options/overwrite", "1");
	if (is_top && !o->quiet)
		fprintf(stderr, "The kernel's own buffer is stopped; `pantrace reset-ftrace` shows "
				"what the boot switched on there, and takes it back.\n");
	if (!is_top && tracefs_instance_remove(directory, INSTANCE_REMOVE_ATTEMPTS) && !o->quiet)
		fprintf(stderr, "%s is still there: somebody has a file of it open\n", directory);
}

int boot_extract(const struct boot_options *o, struct kernel *k, struct diag *d)
{
	const struct extract_request r = {.path = o->output ?: "boot.dat",
					  .version_6 = o->request.version_6,
					  .of_boot = true};
	struct boot_options said = *o;
	struct extracted e = {0};
	struct instance *in = NULL;
	char *directory = NULL;
	bool is_top = false, is_of_boot;
	u64 lost = 0;
	int err = open_buffer(o, k, d, &in, &is_of_boot);

	if (!err)
		err = instance_write(in, "tracing_on", "0");
	if (!err) {
		directory = xstrdup(instance_directory(in));
		is_top = instance_is_top(in);
		warn_of_probes(k, d);
		err = kernel_extract(in, &r, &e);
		if (err)
			instance_try(in, "tracing_on", "1");
	}
	instance_close(in);
	if (!err) {
		said.output = r.path;
		lost = e.all.overwritten + e.all.dropped + e.all.unwritten;
		diag_tell(d);
		say(&said, &e);
		end(o, k, directory, is_top, is_of_boot);
	}
	free(e.each);
	free(directory);
	return err ? EXIT_FAILED : lost ? EXIT_LOST : EXIT_OK;
}
