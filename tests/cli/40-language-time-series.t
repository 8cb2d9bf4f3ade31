#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tseries(): the graph, JSON, what stands for an interval, refusals. The time comes from a map, so that output is known.
# parallel: traces only itself or its own child
. "$(dirname "$0")/lib.sh"
need_root
export TZ=UTC BPFTRACE_DUMMY_TS_MAP=@now
quiet='config = { print_maps_on_exit = false }'

run -q -e "$quiet"' begin { @now = (uint64)60000000000; @load = tseries(3, 1s, 4); @now += 2000000000;
	@load = tseries(-1, 1s, 4); @load = tseries(5, 1s, 4); print(@load); }'
is "$out" "@load:
         3                                                   5
hh:mm:ss |___________________________________________________|
00:01:00 *                                                   | 3
00:01:01 |                                                   | -
00:01:02 |                                                   * 5
         v___________________________________________________v
         3                                                   5" "the last value of each second; seconds without one"

run -q -e "$quiet"' begin { @now = (uint64)60000000000; $i = -2; while ($i < 4) { @ = tseries($i, 250us, 4); @now += 250000; $i++; }
	print(@); }'
is "$out" "@:
                0                                                   3
hh:mm:ss.μs    |___________________________________________________|
00:01:00.000500 *                                                   | 0
00:01:00.000750 |                *                                  | 1
00:01:00.001000 |                                 *                 | 2
00:01:00.001250 |                                                   * 3
                v___________________________________________________v
                0                                                   3" "only the last intervals; microseconds"

run -q -f json -e "$quiet"' begin { @now = (uint64)3000000000; @a["k"] = tseries(7, 1s, 3, "sum"); @a["k"] = tseries(5, 1s, 3, "sum");
	@now += 1000000000; @a["k"] = tseries(-4, 1s, 3, "sum"); print(@a); }'
is "$out" '{"type": "tseries", "data": {"@a": {"k": [{"interval_start": "1970-01-01 00:00:03.000000000", "value": 12}, {"interval_start": "1970-01-01 00:00:04.000000000", "value": -4}]}}}' "JSON; sums"

for how in avg:6 min:-2 max:11 sum:18; do
	run -q -f json -e "$quiet begin { @now = (uint64)3000000000; @ = tseries(9, 1s, 3, \"${how%:*}\"); @ = tseries(11, 1s, 3, \"${how%:*}\");
		@ = tseries(-2, 1s, 3, \"${how%:*}\"); print(@); }"
	like "$out" "\"value\": ${how#*:}}" "${how%:*}"
done

run -q -e "$quiet"' begin { @now = (uint64)3000000000; @a = tseries(1, 1s, 3); zero(@a); print(@a); }'
is "$out" "@a:
<no data>" "zero() leaves no interval"

run -e 'begin { @ = tseries(1, 0, 3); }'
like "$err" 'tseries\(\) interval_ns must be >= 1 \(0 provided\)' "an interval of nothing"
run -e 'begin { @ = tseries(1, 1s, 0); }'
like "$err" 'tseries\(\) num_intervals must be >= 1 \(0 provided\)' "no intervals"
run -e 'begin { @ = tseries(1, 1s, 5, "last"); }'
like "$err" 'expects one of the following aggregation functions: avg, max, min, sum \("last" provided\)' "an unknown aggregation"
run -e 'begin { @ = tseries(1, 1s, 5); @ = tseries(1, 1s, 6); }'
like "$err" 'Different tseries bounds in a single map unsupported' "one map, two series"
done_testing
