/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of events as perf writes them. */
#include "trace/perf/perf_data.h"

static const char *const hardware[] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};

static const char *const software[] = {
	"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
};

const char *perf_kind_name(const struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_HARDWARE && attr->config < ARRAY_SIZE(hardware))
		return hardware[attr->config];
	if (attr->type == PERF_TYPE_SOFTWARE && attr->config < ARRAY_SIZE(software))
		return software[attr->config];
	return NULL;
}
