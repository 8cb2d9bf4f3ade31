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
for words in "exits" "stat report" "stat live"; do
	is "$("$pantrace" kvm $words --json --tsc-mhz 2596.149 boot)" "$(cat want)" "kvm $words: what report --exits prints"
done
run kvm vcpus --tsc-mhz 2596.149 boot
like "$rc $err" "^1 .*'kvm:kvm_entry' was recorded" "what the recording lacks is said"
run kvm
like "$rc $err" '^2 .*which command\? exits, vcpus' "without a command"
run kvm exit
like "$rc $err" "^2 .*no command 'exit'; did you mean 'exits'" "one that is not there"
run kvm stat top
like "$rc $err" "^2 .*no command 'top'" "nor behind stat"
run kvm --help
like "$rc $(printf '%s' "$out" | tr '\n' ' ')" "^0 .*kvm vcpus -d 5 .*stat report" "--help"
run kvm exits --no-such
like "$rc $err" "^2 .*--no-such" "an option that is not there"
words() { "$pantrace" complete pantrace kvm "$@" | cut -f1 | tr '\n' ' '; }
is "$(words '')" "exits vcpus faults interrupts record stat " "completion: the commands"
is "$(words stat '')" "live report record " "behind stat"
is "$(words exits --per-t)$(words stat report --per-t)" "--per-task --per-task " "their options"
done_testing
