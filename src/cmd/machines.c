/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/machines.h"

#include <stdio.h>

#include "trace/clock/relation.h"
#include "trace/recording.h"
#include "view/sink.h"

static const struct sink_column columns[] = {
	{"machine", "MACHINE", 20},	 {"exchanges", "EXCHANGES", -9},
	{"by_tsc", "BY TSC", -6},	 {"by_ptp", "BY PTP", -6},
	{"by_kvm", "BY KVM", -6},	 {"jumps", "JUMPS", -5},
	{"drift_ppm", "DRIFT ppm", -9},	 {"best_ns", "BEST +-ns", -12},
	{"worst_ns", "WORST +-ns", -12}, {0},
};

static void print(void *arg, struct clock_relation *r)
{
	u64 best = 0, worst = 0;

	clock_relation_uncertainty(r, &best, &worst);
	sink_row((struct sink *)arg, SINK_TEXT(r->machine),
		 SINK_NUMBER(r->bounds.all.len - (size_t)r->compared[CLOCK_ENTRIES]),
		 SINK_NUMBER(r->compared[CLOCK_TSC]), SINK_NUMBER(r->compared[CLOCK_PTP]),
		 SINK_NUMBER(r->compared[CLOCK_ENTRIES]), SINK_NUMBER(r->bounds.jumps),
		 SINK_NUMBER(r->likely.drift), SINK_NUMBER(best), SINK_NUMBER(worst));
}

int machines_print(const char *path, bool json)
{
	const struct recordings_options options = {.no_symbols = true};
	struct recordings *const all = recordings_new(&options);
	struct strbuf out = STRBUF_INIT;
	struct sink sink = {.format = sink_of(json), .columns = columns, .out = &out};
	struct diag d = DIAG_INIT;
	int rc = recordings_add(all, path, &d);

	if (!rc) {
		recordings_each_machine(all, print, &sink);
		if (!out.len && !json)
			strbuf_addf(&out, "%s: of one machine\n", path);
		fputs(out.data, stdout);
	}
	recordings_release(all);
	strbuf_release(&out);
	return diag_close(&d, rc ? EXIT_FAILED : EXIT_OK);
}
