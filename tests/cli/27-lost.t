#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What is lost is counted: printed + lost = produced. And what is not lost is all there.
. "$(dirname "$0")/lib.sh"
need_root

cat >"$work/flood.bt" <<'B'
config = { perf_rb_pages = 1; }
tracepoint:syscalls:sys_enter_getppid /comm == "syscalls"/ { printf("event %d\n", tid); @n = count(); }
B
run -q -c "$programs/syscalls 20000" "$work/flood.bt"
printed=$(grep -c '^event' "$work/out")
produced=$(sed -n 's/^@n: //p' "$work/out")
lost=$(sed -n 's/^Lost \([0-9]*\) events$/\1/p' "$work/err" | awk '{ n += $1 } END { print n + 0 }')
is "$produced" 60000 "every event was seen"
is "$((printed + lost))" "$produced" "printed ($printed) + lost ($lost) = produced"
[ "$lost" -eq 0 ] || [ "$rc" -eq 3 ]; ok "exit code 3 if events were lost (code $rc)"

start -q -e 'tracepoint:syscalls:sys_enter_getppid /comm == "syscalls"/ { @[tid] = count(); }
interval:ms:20 { print(@); clear(@); }'
for _ in 1 2 3 4 5; do "$programs/syscalls" 2000; done
sleep 0.2
stop
total=$(echo "$out" | sed -n 's/^@\[[0-9]*\]: //p' | awk '{ n += $1 } END { print n + 0 }')
is "$total" 30000 "print and clear in an interval neither lose nor count twice"
# A program that takes long is interrupted, and what the interrupt frees is not seen: the kernel counts that (fdinfo of the program).
sh -c 'while :; do cat /etc/passwd >/dev/null; done' &
load=$!
start -e 'tracepoint:kmem:kmem_cache_free { @n = 0; for ($i : 0..2000) { @n += $i } @ = count(); }'
missed=0
for _ in $(seq 300); do
	missed=$(cat /proc/$tracer/fdinfo/* 2>/dev/null | awk '/^recursion_misses/ { n += $2 } END { print n + 0 }')
	[ "$missed" -gt 0 ] && break
	sleep 0.1
done
stop
kill $load
wait $load 2>/dev/null
[ "$missed" -gt 0 ]; ok "the kernel counted events that a busy program missed"
told=$(echo "$err" | sed -n 's/^WARNING: \([0-9]*\) events were missed: .*/\1/p')
[ "${told:-0}" -ge "$missed" ]; ok "and as many are said ($missed then, ${told:-none} at the end)"

done_testing
