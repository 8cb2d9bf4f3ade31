/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/ftrace/last_boot.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "kernel/symbols/ksyms.h"
#include "trace/dat/trace_dat.h"
#include "trace/ring/live.h"

static char *state_path(const struct instance *in)
{
	return xasprintf(LAST_BOOT_FOLDER "/%s.dat", instance_name(in));
}

static bool is_on(const struct instance *in)
{
	char *text;
	bool on;

	if (instance_read(in, "tracing_on", &text))
		return false;
	on = *text == '1';
	free(text);
	return on;
}

static u64 entries(const struct instance *in)
{
	return ring_counts_of_all(instance_directory(in), NULL).entries;
}

/* ---- recording ---- */

/* A crash may come at once: what is not on the disk is lost. */
static int make_durable(void)
{
	const int fd = open(LAST_BOOT_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = fd < 0 || syncfs(fd) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

static int write_state(struct instance *in)
{
	char *const path = state_path(in);
	const struct extract_request r = {.path = path, .of_boot = true, .only_head = true};
	struct extracted none;
	int err = mkdir(LAST_BOOT_FOLDER, 0700) && errno != EEXIST ? -errno : 0;

	if (!err)
		err = kernel_extract(in, &r, &none);
	if (!err)
		err = make_durable();
	if (err && !instance_diag(in)->errors)
		diag_error(instance_diag(in), NO_SPAN, "cannot write %s: %s", path, strerror(-err));
	free(path);
	return err;
}

int last_boot_arm(struct instance *in)
{
	struct diag *const d = instance_diag(in);
	int err;

	if (is_on(in)) {
		diag_error(d, NO_SPAN, "%s records already", instance_name(in));
		return -EALREADY;
	}
	if (entries(in)) {
		diag_error(d, NO_SPAN, "%s holds what the boot before has recorded",
			   instance_name(in));
		diag_hint(d, "`crash --kernel` reads it, and makes room");
		return -EBUSY;
	}
	err = write_state(in);
	return err ? err : instance_write(in, "tracing_on", "1");
}

/* ---- reading ---- */

static int refuse(struct diag *d, const char *name, const char *why, const char *hint)
{
	diag_error(d, NO_SPAN, "%s: %s", name, why);
	if (hint)
		diag_hint(d, "%s", hint);
	return -ENODATA;
}

/*
 * Where the kernel that wrote the buffer began, as this one found it: how far it has moved since
 * ("text delta:\tN"), or, in later kernels, the address ("ADDRESS\t[kernel]"). False: it does not
 * say.
 */
static bool writers_text(struct instance *in, u64 *ret)
{
	const u64 now = kernel_symbol_address(instance_kernel(in), "_text");
	const char *found;
	long long delta;
	bool known = false;
	char *text;

	if (!now || instance_read(in, "last_boot_info", &text))
		return false;
	found = strstr(text, "text delta:");
	if (found && sscanf(found, "text delta: %lld", &delta) == 1) {
		*ret = now - (u64)delta;
		known = true;
	} else if (strstr(text, "[kernel]")) {
		known = sscanf(text, "%" SCNx64 " [kernel]", ret) == 1;
	}
	free(text);
	return known;
}

/* Is the state that of the boot which wrote the buffer? */
static int check_state(struct instance *in, const char *path)
{
	struct diag *const d = instance_diag(in);
	const char *const name = instance_name(in);
	struct trace_text text;
	struct trace_dat *t;
	u64 written, recorded;
	char *boot;
	int err;

	if (access(path, F_OK))
		return refuse(d, name,
			      "nothing says what its events are: the boot before has not written "
			      "down its formats and symbols",
			      "`boot arm` does, and begins the recording");
	err = trace_dat_open(path, d, &t);
	if (err)
		return err;
	trace_dat_text(t, &text);
	recorded = text.context.symbols ? ksyms_address(text.context.symbols, "_text") : 0;
	boot = kernel_boot_id();
	if (str_eq(boot, trace_dat_boot(t)))
		err = refuse(d, name, "its recording began in this boot: there was no crash",
			     "`extract -B NAME` writes what it holds");
	else if (writers_text(in, &written) && recorded && written != recorded)
		err = refuse(d, name,
			     "it was not written by the boot whose formats and symbols are known",
			     NULL);
	free(boot);
	trace_dat_close(t);
	return err;
}

int last_boot_read(struct instance *in, const char *path, bool version_6, struct extracted *ret)
{
	char *const state = state_path(in);
	const struct extract_request r = {.path = path, .version_6 = version_6, .head = state};
	int err;

	*ret = (struct extracted){0};
	if (is_on(in))
		err = refuse(instance_diag(in), instance_name(in),
			     "it records now: what it holds is of this boot",
			     "`extract -B NAME` writes it");
	else if (!entries(in))
		err = refuse(instance_diag(in), instance_name(in),
			     "the boot before has left nothing in it",
			     "`boot arm` has this one recorded; memory does not outlive "
			     "a loss of power");
	else
		err = check_state(in, state);
	if (!err)
		err = kernel_extract(in, &r, ret);
	free(state);
	return err;
}
