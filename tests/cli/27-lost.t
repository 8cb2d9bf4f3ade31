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
done_testing
