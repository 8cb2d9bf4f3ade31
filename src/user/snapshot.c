// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/snapshot.h"

#include <stdio.h>

int user_snapshot(const struct user_session *session, const struct ctf_output_options *where,
		  struct diag *d, struct user_snapshot *ret)
{
	struct ctf_output_totals totals;
	struct ctf_output *output;
	struct recorder r;
	int rc, written;

	rc = ctf_output_open(where, d, &output);
	if (rc)
		return rc;
	recorder_open(&r, session, output, false);
	recorder_find(&r, true);
	written = recorder_drain(&r, CTF_ALL);
	*ret = (struct user_snapshot){
		.processes = r.nr_processes, .damaged = r.nr_damaged, .refused = r.owners.refused};
	recorder_close(&r);
	totals = ctf_output_totals(output);
	ret->events = totals.events;
	ret->bytes = totals.bytes;
	rc = ctf_output_close(output, 10000);
	if (!rc && written < 0)
		rc = written;
	if (rc)
		diag_error(d, NO_SPAN, "%s: %s", where->to ? where->to : where->directory,
			   strerror(-rc));
	return rc;
}

void user_snapshot_say(const struct user_snapshot *s, const char *directory, const u64 *lost)
{
	fprintf(stderr, "%" PRIu64 " event%s of %u process%s, %" PRIu64 " bytes, in %s", s->events,
		plural(s->events), s->processes, s->processes == 1 ? "" : "es", s->bytes,
		directory);
	if (lost)
		fprintf(stderr, "; %" PRIu64 " lost", *lost);
	fputc('\n', stderr);
	if (!s->processes)
		fputs("HINT: no program took part: it needs libpantrace of this version and an "
		      "event that "
		      "is asked for; `pantrace user list` shows the events of those that run\n",
		      stderr);
	if (s->damaged)
		fprintf(stderr,
			"WARNING: the rings of %u of them are damaged; what stood before the "
			"damage is there\n",
			s->damaged);
	if (s->refused)
		fprintf(stderr,
			"WARNING: %u file%s of rings %s not read: the owner is not the user "
			"of the process that is named\n",
			s->refused, plural(s->refused), is_are(s->refused));
}

u32 user_session_clear(const struct user_session *session)
{
	struct recorder r;
	u32 cleared = 0;

	recorder_open(&r, session, NULL, true);
	recorder_find(&r, true);
	for (size_t i = 0; i < r.sources.len; i++) {
		struct pantrace_reader *const reader = r.sources.items[i].reader;

		for (u32 ring = 0; ring < pantrace_reader_rings(reader); ring++) {
			struct pantrace_ring_state state;

			if (!pantrace_reader_state(reader, ring, &state))
				pantrace_reader_release(reader, ring, state.position);
		}
		cleared++;
	}
	recorder_close(&r);
	return cleared;
}
