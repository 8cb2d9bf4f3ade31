# SPDX-License-Identifier: GPL-2.0-or-later
# record with tracers that few kernels have: what the kernel itself shows of the same run is what report shows.
# guest: older
t=/sys/kernel/tracing
has() { grep -qw "$1" $t/available_tracers; }
state() { cat $t/current_tracer $t/tracing_on $t/tracing_max_latency 2>/dev/null; ls $t/instances; }
from_cpu() { sed 's/^[^[]*\[/[/'; } # the kernel has names of threads only when they have been switched to
before=$(state)

# ---- the lines of a tracer whose events are in the pages are the kernel's own
for tracer in osnoise timerlat hwlat; do
	if ! has $tracer; then
		skip 4 "no $tracer"
		continue
	fi
	pantrace start -p $tracer >/tmp/out 2>&1 || cat /tmp/out
	sleep 3
	pantrace stop >/dev/null 2>&1
	pantrace show 2>/dev/null | grep -v '^#' | from_cpu >/tmp/want
	pantrace extract -o /tmp/x.dat >/dev/null 2>&1
	pantrace reset >/dev/null 2>&1
	pantrace report /tmp/x.dat 2>/dev/null | from_cpu >/tmp/got
	[ $tracer = hwlat ] || [ -s /tmp/want ]
	ok "$tracer: the kernel prints $(wc -l </tmp/want) lines"
	cmp -s /tmp/want /tmp/got
	ok "$tracer: and report the same" || diff /tmp/want /tmp/got | grep '^[-+][^-+]' | head -6
	pantrace record -p $tracer -d 3 -o /tmp/r.dat >/tmp/out 2>&1
	like "$? $(cat /tmp/out)" '^0 ' "record -p $tracer"
	is "$(state)" "$before" "record -p $tracer: all is as it was"
done
if has osnoise; then
	pantrace record -p osnoise -d 4 -o /tmp/r.dat >/dev/null 2>&1
	want=$(pantrace report --json /tmp/r.dat 2>/dev/null | sed -n 's/.*"noise":\([0-9]*\),"runtime":\([0-9]*\).*/\1 \2/p' | awk '{ n++; noise += $1; run += $2 } END { print n, noise * 1000, run * 1000 }')
	is "$(pantrace report --osnoise -f csv /tmp/r.dat 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { n += $at["periods"]; noise += $at["noise_ns"]; run += $at["runtime_ns"] } END { print n, noise, run }')" "$want" "report --osnoise: all periods, with their noise"
else
	skip 1 "no osnoise"
fi
if has timerlat; then
	pantrace record -p timerlat -d 2 -o /tmp/r.dat >/dev/null 2>&1
	is "$(pantrace report --timerlat -f csv /tmp/r.dat 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { n += $at["samples"] } END { print n }')" "$(pantrace report -c /tmp/r.dat 2>/dev/null | awk '{ print $1 }')" "report --timerlat: all samples"
else
	skip 1 "no timerlat"
fi

# ---- the longest latency: what the kernel shows of such a tracer is what is recorded
for tracer in irqsoff preemptoff preemptirqsoff wakeup wakeup_rt wakeup_dl; do
	if ! has $tracer; then
		skip 4 "no $tracer"
		continue
	fi
	# tasks to be waited for: nicer ones, and those of timerlat, which are real-time
	[ $tracer = wakeup_rt ] && has timerlat && pantrace start -p timerlat >/dev/null 2>&1
	pantrace record -p $tracer -e sched:sched_switch -a -o /tmp/l.dat -- sh -c 'for i in 1 2 3 4 5; do sleep 0.1; sleep 0.1; done' >/tmp/out 2>/tmp/err
	like "$? $(cat /tmp/err)" "^0 $tracer: ([0-9]+ us at the longest, CPU [0-9]+|nothing was measured); [0-9]+ bytes, in /tmp/l.dat" "record -p $tracer"
	[ $tracer = wakeup_rt ] && pantrace reset >/dev/null 2>&1
	is "$(state)" "$before" "$tracer: all is as it was"
	pantrace report /tmp/l.dat >/tmp/out 2>/tmp/err
	like "$? $(head -1 /tmp/out)" "^0 $tracer: " "$tracer: report" || cat /tmp/err
	if [ $tracer = wakeup_dl ]; then # there is no deadline task
		like "$(cat /tmp/out)" 'no time was measured in which a deadline task' "$tracer: nothing"
	else
		like "$(pantrace report --json /tmp/l.dat)" '"latency_ns":[1-9][0-9]*,"cpu":[01],"comm":"[^"]+","tid":[0-9]+.*"trace":\["' "$tracer: whose, and what led to it"
	fi
done
