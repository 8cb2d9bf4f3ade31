/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pantrace crash --kernel VMCORE. */
#include "cmd/crash/crash.h"

#include <stdio.h>

#include "trace/vmcore/extract.h"
#include "view/sink.h"

static const struct sink_column columns[] = {{"cpu", "CPU", -4},
					     {"events", "EVENTS", -12},
					     {"overwritten", "OVERWRITTEN", -12},
					     {"dropped", "DROPPED", -12},
					     {"unreadable", "UNREADABLE", -11},
					     {"instance", "INSTANCE", 0},
					     {0}};

static void say(const struct vmcore_extracted *e, const char *path, bool json)
{
	struct strbuf out = STRBUF_INIT;
	struct sink s = {.format = sink_of(json), .columns = columns, .out = &out};

	for (size_t i = 0; i < e->all.len; i++) {
		const struct vmcore_counts *const c = &e->all.items[i];

		sink_row(&s, SINK_NUMBER(c->cpu), SINK_NUMBER(c->kept), SINK_NUMBER(c->overwritten),
			 SINK_NUMBER(c->dropped), SINK_NUMBER(c->unreadable),
			 SINK_TEXT(c->instance));
	}
	fwrite(out.data, 1, out.len, stdout);
	strbuf_release(&out);
	if (!json)
		fprintf(stderr, "in %s\n", path);
}

int crash_vmcore(const char *dump, const char *instance, const char *output, bool json,
		 struct diag *d)
{
	struct vmcore_extracted e;
	const int err = vmcore_extract(dump, instance, output, d, &e);
	const bool lost = e.unreadable;

	if (!err) {
		if (lost)
			diag_warning(d, NO_SPAN,
				     "%s: events that could not be read, because their pages are "
				     "not in the dump or damaged: %" PRIu64,
				     dump, e.unreadable);
		diag_tell(d);
		say(&e, output, json);
	}
	vmcore_extracted_release(&e);
	return err ? EXIT_FAILED : lost ? EXIT_LOST : EXIT_OK;
}
