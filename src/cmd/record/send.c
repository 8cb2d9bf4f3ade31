/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --to of a recording with files of the kernel's events: all of it goes by one connection. */
#include <stdio.h>

#include "cmd/record/record.h"

static struct file_relay *relay_of(const struct record_request *r)
{
	return &record_options_of(r)->relay;
}

void record_send(struct record_request *r)
{
	struct file_relay *const relay = relay_of(r);

	file_relay_init(relay, r->to, r->output);
	r->carrier = &relay->carrier;
}

static bool wanted(const struct record_request *r)
{
	return r->carrier == &relay_of(r)->carrier;
}

static int check(const struct command_spec *spec, const struct record_request *r)
{
	if (r->keep)
		return options_usage_error(spec, "nothing is removed at a relay: without --keep");
	return OPTIONS_GO_ON;
}

static int begin(struct record_run *run, void **ret)
{
	struct file_relay *const relay = relay_of(run->request);

	*ret = relay;
	relay->end_asked = record_end_asked;
	return file_relay_open(relay, run->diag);
}

/* A recording that arrives nowhere is no recording. */
static int round_send(struct record_run *run, void *state)
{
	if (file_relay_check(state, run->diag))
		run->failed = run->end = true;
	diag_tell(run->diag);
	return 0;
}

static int poll_fd(void *state)
{
	return -1;
}

/* All others have written what they had. */
static int end(struct record_run *run, void *state)
{
	struct file_relay *const relay = state;
	const int err = file_relay_finish(relay, run->diag);

	diag_tell(run->diag);
	if (!err && !run->request->quiet)
		fprintf(stderr, "all of it is at %s\n", relay->to);
	file_relay_close(relay);
	return err;
}

const struct record_source record_sent = {
	.name = "relay",
	.needs = SANDBOX_PROGRAMS, /* a socket */
	.idle_ms = 100,
	.wanted = wanted,
	.check = check,
	.begin = begin,
	.round = round_send,
	.poll_fd = poll_fd,
	.end = end,
};
