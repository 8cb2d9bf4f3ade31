/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols of code that was generated at run time: /tmp/perf-PID.map
 * (tools/perf/Documentation/jit-interface.txt in Linux). */
#ifndef PANTRACE_BINARY_PROCESS_PERF_MAP_H
#define PANTRACE_BINARY_PROCESS_PERF_MAP_H

#include <sys/types.h>

#include "base/base.h"

struct perf_map;

/*
 * Lines are "START SIZE NAME", numbers in hexadecimal; of overlapping entries the last one written
 * counts. The file must be a regular file that is owned by `uid`, `uid2` or root: anyone may create
 * files in /tmp. 0 or -errno (-EPERM: not trusted, -EFBIG).
 */
int perf_map_read(const char *path, uid_t uid, uid_t uid2, struct perf_map **ret);
struct perf_map *perf_map_parse(const char *text, size_t len);
/* Valid as long as the map. */
const char *perf_map_find(const struct perf_map *map, u64 address, u64 *ret_offset);
void perf_map_release(struct perf_map *map); /* NULL is fine */

#endif
