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

is "$("$pantrace" report hwlat.dat | sed 's/.*: #/#/' | tail -1)" "#2     inner/outer(us):   30/9     ts:2.000000005 count:3 nmi-total:2500 nmi-count:2" "the kernel's line of hwlat"
is "$("$pantrace" report osnoise.dat | sed 's/.*[0-9]: //' | tail -1)" "1000000       5675  99.43250     202      6      1   1013     25     21" "of osnoise"
is "$("$pantrace" report timerlat.dat | sed 's/.*: #/#/' | tail -1)" "#100   context thread timer_latency    200000 ns" "of timerlat"

# ---- mmiotrace: a device's registers
made mmio.dat <<'E'
1000 5 ftrace:mmiotrace_map phys=0xfebc0000 virt=0xffffc90000100000 len=4096 map_id=1 opcode=3
2000 5 ftrace:mmiotrace_rw phys=0xfebc0010 value=7 pc=1 map_id=1 opcode=1 width=4
3000 5 ftrace:mmiotrace_rw phys=0xfebc0010 value=8 pc=1 map_id=1 opcode=2 width=4
4000 5 ftrace:mmiotrace_rw phys=0xfebc0018 value=8 pc=1 map_id=1 opcode=2 width=8
5000 5 ftrace:mmiotrace_rw phys=0xfed00000 value=8 pc=1 map_id=2 opcode=5 width=0
E
is "$(table --mmiotrace mmio.dat | jq -c '[.map, .reads, .read_bytes, .writes, .written_bytes, .unknown]')" '["0xfebc0000, 4096 bytes",1,4,2,12,0]
["at 0xfed00000",0,0,0,0,1]' "--mmiotrace: accesses"

# ---- latency tracers: the text that the kernel prints (Documentation/trace/ftrace.rst), in a trace.dat as trace-cmd keeps it
latency() { python3 -c 'import sys; made = open("hwlat.dat", "rb").read(); sys.stdout.buffer.write(made[:made.index(b"flyrecord\0")] + b"latency  \0" + sys.stdin.buffer.read())'; }
cat >text <<'E'
# tracer: wakeup_rt
#
# wakeup_rt latency trace v1.1.5 on 3.8.0-test+
# --------------------------------------------------------------------
# latency: 5 us, #4/7, CPU#3 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)
#    -----------------
#    | task: a (uid:9)-b-2389 (uid:0 nice:-4 policy:1 rt_prio:98)
#    -----------------
#  => started at: run_timer_softirq
#  => ended at:   __do_softirq+0x1
#
#
#                  _------=> CPU#            
#  cmd     pid   ||||| time  |   caller      
#     \   /      |||||  \    |   /           
  <idle>-0       3d.h4    0us :      0:120:R   + [003]  2389: 98:R sleep
  <idle>-0       3d.h4    1us : ttwu_do_activate.constprop.87 <-try_to_wake_up
  <idle>-0       3d..3    5us : __schedule <-schedule
  <idle>-0       3d..3    5us :      0:120:R ==> [003]  2389: 98:R sleep
E
latency <text >latency.dat
is "$("$pantrace" report --json latency.dat | jq -c '[.tracer, .latency_ns, .cpu, .comm, .tid, .uid, .nice, .policy, .rt_priority, .begin, .end, .entries, .written, (.trace | length)]')" \
	'["wakeup_rt",5000,3,"a (uid:9)-b",2389,0,-4,"SCHED_FIFO",98,"run_timer_softirq","__do_softirq+0x1",4,7,4]' "the longest latency: how long, whose, from where to where"
run report latency.dat
like "$(flat "$out")" '^wakeup_rt: 5 us at the longest, in which a real-time task .* CPU 3, in a \(uid:9\)-b-2389 .*SCHED_FIFO, real-time priority 98\).* 4 of 7 entries: .*==> \[003\]' "and what led to it"
is "$("$pantrace" report -f trace-cmd latency.dat)" "$(cat text)" "-f trace-cmd: the text"
echo '# tracer: irqsoff
#' | latency >none.dat
like "$("$pantrace" report none.dat)" '^irqsoff: no time was measured in which interrupts were off' "nothing was measured"
for words in "-e sched_switch" "--top" "-c"; do
	run report $words latency.dat
	like "$(flat $rc "$err")" '^1 .*latency.dat: what a latency tracer left is text: it has no events' "report $words: there are no events"
done
run convert latency.dat x.json
like "$(flat $rc "$err")" '^1 .*it has no events.*pantrace report latency.dat' "nor for convert"
printf 'nonsense\n' | latency >odd.dat
run report odd.dat
like "$rc $err" '^1 .*odd.dat: its text is not what a latency tracer leaves' "another text"

# ---- what is not there
run report --hwlat osnoise.dat
like "$(flat $rc "$err")" "^1 .*no event 'ftrace:hwlat' was recorded.*pantrace record -p hwlat" "another tracer's recording"
printf '%s\n' ' osnoise/0-7 [000] 12.500000: osnoise: noise:190 max_sample:9 hw:18' >text
run report --osnoise text
like "$rc $err" "^1 .*1 event of osnoise has no field 'max_sample'" "text without fields is no zero"
done_testing
