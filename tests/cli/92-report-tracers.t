#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# report of what the kernel's tracers of latencies and disks recorded, from files with known numbers. Recorded: tests/vm/record-tracers.sh.
# parallel: reads files
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
made() { python3 "$top/tests/made_trace.py" "$1"; }
flat() { printf '%s ' "$@" | tr '\n' ' '; }
table() { "$pantrace" report --json "$@" 2>&1; }

# ---- timerlat: 100 activations, of 1 to 100 us in the interrupt, twice that in the thread
for i in $(seq 100); do
	echo "$((i * 1000000)) 0 ftrace:timerlat seqnum=$i context=0 timer_latency=$((i * 1000))"
	echo "$((i * 1000000 + 10)) 9 ftrace:timerlat seqnum=$i context=1 timer_latency=$((i * 2000))"
done | made timerlat.dat
table --timerlat timerlat.dat >table
is "$(jq -c '[.cpu, .context, .samples, .min_ns, .average_ns, .p99_ns, .max_ns]' table)" '["0","irq",100,1000,50500,99000,100000]
["0","thread",100,2000,101000,198000,200000]' "--timerlat: of the interrupt and of the thread"
run report --timerlat timerlat.dat
like "$(flat "$out")" 'CPU 0 thread, latency, in microseconds:.*\[128, 256\) +37 ' "with their distribution"
is "$("$pantrace" report --timerlat -w 'context == 1' --json timerlat.dat | jq .samples)" 100 "of one context"

# ---- osnoise: two periods of a second; noises that its threshold let pass
made osnoise.dat <<'E'
1000000000 7 ftrace:osnoise noise=190 runtime=1000000 max_sample=9 hw_count=18 nmi_count=0 irq_count=1007 softirq_count=18 thread_count=1
2000000000 7 ftrace:osnoise noise=5675 runtime=1000000 max_sample=202 hw_count=6 nmi_count=1 irq_count=1013 softirq_count=25 thread_count=21
E
is "$(table --osnoise osnoise.dat | jq -c '[.cpu, .noise_ns, .runtime_ns, .available, .periods, .max_noise_ns, .max_single_ns, .hardware, .nmis, .irqs, .softirqs, .threads]')" \
	'["0",5865000,2000000000,99.71,2,5675000,202000,24,1,2020,43,22]' "--osnoise: noise, and what it was made of"
made singles.dat <<'E'
1000 7 osnoise:sample_threshold start=5 duration=6000 interference=1
2000 7 osnoise:sample_threshold start=9 duration=8812 interference=2
1000000000 7 ftrace:osnoise noise=14 runtime=1000000 max_sample=8 hw_count=0 nmi_count=0 irq_count=2 softirq_count=0 thread_count=0
E
run report --osnoise singles.dat
like "$(flat "$out")" 'CPU 0, each noise, in nanoseconds:.*\[4K, 8K\) +1 .*\[8K, 16K\) +1 ' "each noise, where that was recorded"

# ---- hwlat
made hwlat.dat <<'E'
1000000000 3 ftrace:hwlat duration=11 outer_duration=14 nmi_total_ts=0 tv_sec=1 tv_nsec=5 nmi_count=0 seqnum=1 count=1
2000000000 3 ftrace:hwlat duration=30 outer_duration=9 nmi_total_ts=2500 tv_sec=2 tv_nsec=5 nmi_count=2 seqnum=2 count=3
E
is "$(table --hwlat hwlat.dat | jq -c '[.samples, .gaps, .max_inner_ns, .max_outer_ns, .nmis, .nmi_ns, .min_ns, .max_ns]')" '[2,4,30000,14000,2,2500,14000,30000]' "--hwlat: gaps"

# ---- what is not there
run report --hwlat osnoise.dat
like "$(flat $rc "$err")" "^1 .*no event 'ftrace:hwlat' was recorded.*pantrace record -p hwlat" "another tracer's recording"
printf '%s\n' ' osnoise/0-7 [000] 12.500000: osnoise: noise:190 max_sample:9 hw:18' >text
run report --osnoise text
like "$rc $err" "^1 .*1 events of osnoise have no field 'max_sample'" "text without fields is no zero"
done_testing
