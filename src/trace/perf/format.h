/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of perf.data, for its reader and its writer. perf_data.h draws the file. */
#ifndef PANTRACE_TRACE_PERF_FORMAT_H
#define PANTRACE_TRACE_PERF_FORMAT_H

#define PERF_FILE_MAGIC	 "PERFILE2"
#define PERF_FILE_HEADER 104
#define PERF_PIPE_HEADER 16

/* perf's own records (tools/perf/util/event.h) */
enum {
	PERF_USER_ATTR = 64,
	PERF_USER_TRACING_DATA = 66,
	PERF_USER_BUILD_ID = 67,
	PERF_USER_FINISHED_ROUND = 68,
	PERF_USER_AUXTRACE = 71,
	PERF_USER_EVENT_UPDATE = 78,
	PERF_USER_FEATURE = 80,
	PERF_USER_COMPRESSED = 81,
	PERF_USER_KNOWN = 83, /* the last one that is known: COMPRESSED2 */
};

/* Features of the file (tools/perf/util/header.h) */
enum {
	PERF_FEATURE_TRACING_DATA = 1,
	PERF_FEATURE_BUILD_ID = 2,
	PERF_FEATURE_HOSTNAME = 3,
	PERF_FEATURE_OSRELEASE = 4,
	PERF_FEATURE_VERSION = 5,
	PERF_FEATURE_ARCH = 6,
	PERF_FEATURE_NRCPUS = 7,
	PERF_FEATURE_CPUDESC = 8,
	PERF_FEATURE_TOTAL_MEM = 10,
	PERF_FEATURE_CMDLINE = 11,
	PERF_FEATURE_EVENT_DESC = 12,
	PERF_FEATURE_SAMPLE_TIME = 21,
	PERF_FEATURE_CLOCKID = 23,
	PERF_FEATURE_COMPRESSED = 27,
	PERF_FEATURE_CLOCK_DATA = 29,
	/*
	 * Ours, which perf skips: the kernel's functions, lines of kallsyms as one frame of zstd.
	 */
	PERF_FEATURE_KERNEL_SYMBOLS = 200,
	PERF_FEATURES = 256,
};

#define PERF_KERNEL_NAME	"[kernel.kallsyms]"
#define PERF_MISC_BUILD_ID_SIZE (1u << 15) /* of build-ids: their size is said */

#endif
