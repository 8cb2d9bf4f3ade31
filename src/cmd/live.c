/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/vector.h"
#include "record/record.h"
#include "record/samples/samples.h"

#define HERTZ "999" /* 999 and not 1000, so that it does not run in step with periodic work */

char *live_name(const struct live *l)
{
	const struct pid_list *const pids = &l->arguments->pids;
	struct strbuf name = STRBUF_INIT;

	for (u32 i = 0; l->command && l->command[i]; i++)
		strbuf_addf(&name, "%s%s", i ? " " : "", l->command[i]);
	for (u32 i = 0; i < pids->count; i++)
		strbuf_addf(&name, "%s %d",
			    i		      ? ","
			    : pids->count > 1 ? "processes"
					      : "process",
			    pids->items[i]);
	if (!name.len)
		strbuf_addstr(&name, "this machine");
	return strbuf_detach(&name);
}

/* A file without a name: on a disk if that works, since recordings may be large; else in memory. */
static int unnamed_file(void)
{
	const char *const directory = getenv("TMPDIR") ?: "/tmp";
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_create("recording", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Restores signals and priority, which the recorder had changed. */
static void give_back(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
}

static int run(struct live *l, const struct record_request *r, struct kernel *k)
{
	static const struct record_source *const samples = &record_samples;
	struct diag d = DIAG_INIT;
	struct record_run all = {.request = r, .diag = &d, .kernel = k};
	const int rc = record_all(&all, &samples, 1, l->command, &l->code);

	give_back();
	l->pid = all.command;
	l->has_lost = all.lost;
	if (rc)
		return diag_close(&d, EXIT_FAILED);
	diag_tell(&d);
	diag_release(&d);
	return all.failed ? EXIT_FAILED : EXIT_OK;
}

int live_open(struct live *l, const char *name)
{
	l->fd = unnamed_file();
	if (l->fd < 0) {
		complain(name, "no file for the recording: %s", strerror(-l->fd));
		return EXIT_FAILED;
	}
	snprintf(l->path, sizeof(l->path), "/proc/self/fd/%d", l->fd);
	return EXIT_OK;
}

int live_record(struct live *l, const struct command_spec *spec)
{
	const struct live_arguments *const a = l->arguments;
	struct record_request r = {
		.has_command = l->command,
		.all = a->all || l->whole_machine,
		.pids = l->whole_machine ? (struct pid_list){0} : a->pids,
		.duration_ns = a->duration_ns,
		.quiet = true,
		.ends_with_reader = l->to_output,
		/* symbols are read from the files of all programs */
		.keep_privileges = true,
		.samples = {.frequency = a->frequency
						 ?: l->events ? NULL
							      : HERTZ,
			    .period = l->period,
			    .frames = l->stacks,
			    .call_graph = a->call_graph},
	};
	struct kernel *k;
	int rc = record_samples.check(spec, &r);

	if (rc != OPTIONS_GO_ON)
		return rc;
	rc = l->fd < 0 ? live_open(l, spec->name) : EXIT_OK;
	if (rc)
		return rc;
	r.file = &l->fd;
	for (u32 i = 0; l->events && l->events[i]; i++)
		vector_push(&r.events, ((struct record_event){.text = l->events[i],
							      .source = &record_samples}));
	k = kernel_new();
	rc = run(l, &r, k);
	vector_free(&r.events);
	kernel_release(k);
	return rc;
}

void live_release(struct live *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}
