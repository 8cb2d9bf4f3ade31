#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# pantrace kvm: perf kvm's words are command lines of report and record. With real guests: tests/vm/kvm.sh.
# parallel: reads a file
. "$(dirname "$0")/lib.sh"
command -v xz >/dev/null || { echo "1..0 # SKIP no xz"; exit 0; }
cd "$work" || exit 1
xz -dc "$top/tests/cli/xen/boot.xz" >boot
"$pantrace" report --exits --json --tsc-mhz 2596.149 boot >want
[ -s want ]
ok "a recording with exits"
for words in "exits" "stat report"; do
	is "$("$pantrace" kvm $words --json --tsc-mhz 2596.149 boot)" "$(cat want)" "kvm $words: what report --exits prints"
done
# A guest that has a guest: it runs it, the host handles one of its exits and hands on another.
python3 "$top/tests/made_trace.py" nested.dat <<'E'
1000 10 kvm:kvm_entry vcpu_id=0
2000 10 kvm:kvm_exit exit_reason=0x80 isa=2 vcpu_id=0
2500 10 kvm:kvm_entry vcpu_id=0
5500 10 kvm:kvm_exit exit_reason=0x400 isa=2 vcpu_id=0
5600 10 kvm:kvm_nested_vmexit exit_reason=0x400 isa=2 vcpu_id=0
6500 10 kvm:kvm_entry vcpu_id=0
8500 10 kvm:kvm_exit exit_reason=0x72 isa=2 vcpu_id=0
8600 10 kvm:kvm_nested_vmexit exit_reason=0x72 isa=2 vcpu_id=0
8700 10 kvm:kvm_nested_vmexit_inject exit_reason=0x72
9000 10 kvm:kvm_entry vcpu_id=0
9500 10 kvm:kvm_exit exit_reason=0x72 isa=2 vcpu_id=0
9700 10 kvm:kvm_entry vcpu_id=0
E
is "$("$pantrace" kvm exits --json nested.dat | sed 's/.*"total_ns":\([0-9]*\),"exits":\([0-9]*\).*"exit":"\(.*\)"}/\1 \2 \3/')" "1000 1 npf (nested)
500 1 cpuid (nested, for its hypervisor)
500 1 vmrun
200 1 cpuid" "exits of nested guests, and who handled them"
like "$("$pantrace" kvm vcpus --json nested.dat 2>/dev/null)" '"guest_ns":1500,"nested_ns":5000,"host_ns":2200,' "and their time"
# A guest that was recorded, too: what it counted as stolen, beside how long its virtual CPUs waited. Thread 11 is not of it.
mkdir -p both/inner
python3 "$top/tests/made_trace.py" both/trace.dat <<'E'
1000 10 kvm:kvm_entry vcpu_id=0
1500 11 kvm:kvm_entry vcpu_id=0
2000 10 kvm:kvm_exit exit_reason=0x60 isa=2 vcpu_id=0
3000 10 sched:sched_switch prev_pid=10 prev_state=0 next_pid=4711
20003000 4711 sched:sched_switch prev_pid=4711 prev_state=0 next_pid=10
20004000 10 kvm:kvm_entry vcpu_id=0
20005000 10 kvm:kvm_exit exit_reason=0x60 isa=2 vcpu_id=0
E
python3 "$top/tests/made_trace.py" both/inner/trace.dat <<'E'
1700 1 sched:sched_waking pid=1
E
printf 'pantrace-clock 1\nmachine in\033ner\nrealtime 5\nhost-realtime 5\nexchange 1600 1600 1610 1620\nthread 9\nthread 10\nsteal 0 20000000\nsteal 1 70000000\n' >both/inner/clock
run kvm vcpus both
like "$rc $out" "-10 vcpu 0 waited 20.000 ms for -4711" "who had its CPU"
is "$(printf '%s\n' "$out" | grep -o 'vcpu 0 waited .* in all.*')" 'vcpu 0 waited 20.000 ms in all; inside, in\x1bner counted 20.000 ms of steal' "and the steal that it saw"
run kvm vcpus --tsc-mhz 2596.149 boot
like "$rc $err" "^1 .*'kvm:kvm_entry' was recorded" "what the recording lacks is said"
run kvm
like "$rc $err" '^2 .*which command\? exits, live, vcpus' "without a command"
run kvm exit
like "$rc $err" "^2 .*no command 'exit'; did you mean 'exits'" "one that is not there"
run kvm stat top
like "$rc $err" "^2 .*no command 'top'" "nor behind stat"
run kvm --help
like "$rc $(printf '%s' "$out" | tr '\n' ' ')" "^0 .*kvm vcpus -d 5 .*stat report" "--help"
run kvm exits --no-such
like "$rc $err" "^2 .*--no-such" "an option that is not there"
words() { "$pantrace" complete pantrace kvm "$@" | cut -f1 | tr '\n' ' '; }
is "$(words '')" "exits live vcpus faults interrupts record stat " "completion: the commands"
is "$(words stat '')" "live report record " "behind stat"
is "$(words exits --per-t)$(words stat report --per-t)" "--per-task --per-task " "their options"
done_testing
