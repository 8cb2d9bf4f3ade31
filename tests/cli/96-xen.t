#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Traces of Xen. tests/cli/xen/ has what xentrace of Xen 4.17.7 wrote (Debian 12 in QEMU: dom0 is PV, d1 PVH by emulated SVM, d2 PV):
#	boot.xz		all events while d1 starts
#	lost.xz		a part of a trace of which xentrace was stopped for a second: CPU 1 lost records
#	dom0.xz		events of the scheduler, while a program in dom0 recorded events of its own (programs.tar.xz, `pantrace record -u`)
# The judges: what xenalyze of Debian's xen-utils-4.17 printed of these files (its numbers stand below), a reader in Python
# (tests/cli/xen/records.py), and for what that machine does not do, files that Python writes.
# parallel: reads files
. "$(dirname "$0")/lib.sh"
for command in xz python3 jq; do
	command -v $command >/dev/null || { echo "1..0 # SKIP no $command"; exit 0; }
done
data=$top/tests/cli/xen
cd "$work" || exit 1
for file in boot lost dom0; do xz -dc "$data/$file.xz" >$file; done
tar xJf "$data/programs.tar.xz"
mhz=2596.149 # as `xl info` said
records() { python3 "$data/records.py" "$@"; }

# ---- lines and counts ----
records count boot >want
"$pantrace" report --count boot | awk '{ n += $1 } END { print n }' >got
is "$(cat got)" "$(awk '{ n += $1 } END { print n }' want)" "every record is an event"
is "$("$pantrace" report --count -e 'xen_hvm:vmexit' boot | awk '{ print $1 }')" "$(awk '$2 == "81102" || $2 == "81002" { n += $1 } END { print n }' want)" "exits"
is "$("$pantrace" report --count -e '*:unknown' -e 'xen_gen:*' boot)" "" "no record is unknown"
# ]  1.165671818 x| d1v0 vmexit exit_reason VMEXIT_CR4_READ eip 100087a
is "$("$pantrace" report -e '*:vmexit' -n 1 boot)" "        d1v0 [000] 417096808221: xen_hvm:vmexit: exit_reason=read_cr4 rip=0x100087a isa=svm" "a line, with cycles"
is "$("$pantrace" report --tsc-mhz $mhz -e '*:vmexit' -n 1 boot)" "        d1v0 [000]   160.659811213: xen_hvm:vmexit: exit_reason=read_cr4 rip=0x100087a isa=svm" "the same, with the frequency"
is "$("$pantrace" report -w 'old_state == blocked && dom == 1' boot; "$pantrace" report -w 'comm == "d1v0" && op == iret' boot)" "" "conditions: labels, who"
"$pantrace" report --top comm,op -e 'xen_pv:hypercall*' --json boot 2>/dev/null | jq -r 'select(.op) | "\(.comm) \(.op) \(.count)"' | grep -E '^d.*(iret|mmu_update|sched_op|mmuext)' | sort >got
cat >want <<'X'
d0v0 iret 255
d0v0 mmu_update 12
d0v0 mmuext_op 17
d0v0 sched_op 110
d0v1 iret 671
d0v1 mmu_update 1351
d0v1 mmuext_op 171
d0v1 sched_op 12
X
cmp got want
ok "hypercalls of each virtual CPU by name, as xenalyze counts them" || diff got want | sed 's/^/# /'

# ---- exits ----
# xenalyze prints the number and the average in cycles
"$pantrace" report --exits --tsc-mhz $mhz --json boot | jq -r "\"\(.exit) \(.exits) \(.total_ns * $mhz / 1000 / .exits | round)\"" | sort >got
cat >want <<'X'
cpuid 63 2056221
interrupt 22 1845179
io 2 22633624
msr 5 543041
read_cr4 4 41698143
write_cr0 2 52330226
write_cr4 6 17896861
X
awk 'NR == FNR { n[$1] = $2; cycles[$1] = $3; next } { d = cycles[$1] - $3; if (n[$1] != $2 || d > 2 || d < -2) bad = 1; delete n[$1] } END { for (x in n) bad = 1; exit bad }' want got
ok "--exits: numbers and times are those of xenalyze" || sed 's/^/# /' got

# ---- domains ----
"$pantrace" report --domains --tsc-mhz $mhz --json boot | jq -r '"\(.domain)\(.vcpu) \(.running_ns) \(.runnable_ns) \(.blocked_ns) \(.offline_ns) \(.waits)"' >got
records times boot $mhz >want
awk 'NR == FNR { for (i = 2; i <= 6; i++) w[$1, i] = $i; next } { for (i = 2; i <= 6; i++) { d = w[$1, i] - $i; if (!(($1, i) in w) || d > 400 || d < -400) bad = 1 } } END { exit bad || !NR }' want got
ok "--domains: the times of $(wc -l <want) virtual CPUs" || paste got want | sed 's/^/# /'
# xenalyze gives number and average in cycles. Of all times that it and we count alike: those that a virtual CPU was preempted, and d0v1 blocked
"$pantrace" report --domains --tsc-mhz $mhz --json boot | jq -r "\"\(.domain)\(.vcpu) \(.preempted_ns * $mhz / 1e8 | round) \(.blocked_ns * $mhz / 1e8 | round)\"" >got
is "$(awk '{ print $1, $2 } $1 == "d0v1" { print $1, $3 }' got | head -5)" \
	"$(awk 'BEGIN { f = "%s %.0f\n"; printf f, "d0v0", 57985024 * 19 / 1e5; printf f, "d0v1", 47156651 * 21 / 1e5; printf f, "d0v1", 47030709 * 9 / 1e5
		printf f, "d1v0", 69492011 * 25 / 1e5; printf f, "d[IDLE]v0", 19888900 * 110 / 1e5 }')" "--domains: as xenalyze"

# ---- pictures and other programs ----
"$pantrace" timeline --tsc-mhz $mhz --json boot 2>/dev/null | jq -r 'select(.what == "state" and .ended) | "\(.row | sub("-.*"; "")) \(.name) \(.duration_ns)"' |
	awk '{ n[$1] = 1; t[$1 " " $2] += $3 } END { for (x in n) printf "%s %.0f %.0f %.0f\n", x, t[x " running"] / 1000, (t[x " runnable"] + t[x " preempted"]) / 1000, t[x " sleeping"] / 1000 }' | sort >got
is "$(cat got)" "$(records times boot $mhz | awk '!/IDLE/ { printf "%s %.0f %.0f %.0f\n", $1, $2 / 1000, $3 / 1000, $4 / 1000 }' | sort)" "timeline: states of virtual CPUs"
"$pantrace" convert --to chrome --tsc-mhz $mhz boot out.json 2>/dev/null
is "$(jq '[.traceEvents[] | select(.name == "cpuid" and .ph == "X")] | length' out.json)" 63 "convert: exits are slices"
is "$(jq '[.traceEvents[] | select(.name == "d1v0" and .ph == "X")] | length' out.json)" "$(records runs boot 65536)" "and so is what each CPU ran"

# ---- losses ----
run report --domains --tsc-mhz $mhz --json lost
is $rc 3 "lost records: the exit code"
like "$err" 'lost 20315 events, at 1 place' "how many, as xenalyze says"
is "$(printf '%s\n' "$out" | jq -r "select(.domain != \"d[IDLE]\") | \"\(.domain)\(.vcpu) \(.runnable_ns * $mhz / 1e6 | round) \(.blocked_ns * $mhz / 1e6 | round)\"")" \
	"$(awk 'BEGIN { printf "d0v0 %.0f %.0f\nd0v1 %.0f %.0f\nd2v0 %.0f 0\n", 4883728 * 12 / 1e3, 17755088 * 12 / 1e3, 35285804 * 3 / 1e3, 12068572 * 4 / 1e3, 1699647 * 10 / 1e3 }')" "times behind it are those of xenalyze"

# ---- clocks ----
run report --domains boot
is $rc 1 "a table of times of unknown length is refused"
like "$err" 'tsc-mhz' "what to do"
run report --json boot
is "$rc $(printf '%s\n' "$err" | grep -c 'kernel-clock x86-tsc')" "1 1" "so is a time line"
run report --kernel-clock mono boot
like "$err" "the clock of xentrace is x86-tsc, not 'mono'" "another clock is refused"
is "$("$pantrace" convert --to ndjson --tsc-mhz $mhz boot - 2>/dev/null | jq -r 'select(.event == "xen_hvm:vmexit") | "\(.time_ns) \(.cpu) \(.context.procname) \(.fields.exit_reason) \(.fields.rip)"' | head -1)" "160659811213 0 d1v0 read_cr4 16779386" "convert"
# a program of dom0 runs on a virtual CPU of dom0 while Xen runs that one
"$pantrace" report --kernel-clock x86-tsc --json dom0 ctf >line 2>err
records causes line >got
is "$(cut -d ' ' -f 1,3 got)" "0 0" "events of dom0's program lie where Xen runs its virtual CPU (early, and strange)" || cat got err
like "$(cat got)" ' [1-9][0-9]* ' "of which there are some"

# ---- what that machine does not do ----
records write all
"$pantrace" report vmx >got 2>&1
cat >want <<'X'
        d3v1 [001] 1000: xen_sched:runstate_change: vcpu=1 dom=3 old_state=runnable new_state=running
        d3v1 [001] 1010: xen_hvm:vmexit: exit_reason=EXCEPTION_NMI rip=0xffffffff81000000 isa=vmx
        d3v1 [001] 1010: xen_hvm:pf_xen: error_code=0x2 address=0x7fff00001000
        d3v1 [001] 1020: xen_hvm:vmentry:
        d3v1 [001] 1030: xen_hvm:vmexit: exit_reason=CPUID rip=0x1234 isa=vmx
        d3v1 [001] 1030: xen_hvm:cpuid: leaf=0x1 eax=0x2 ebx=0x3 ecx=0x4 edx=0x5
        d3v1 [001] 1030: xen_hvm:unknown: event=0x82fff word1=0x1 word2=0x2 word3=0x3 word4=0x4 word5=0x5 word6=0x6 word7=0x7
        d3v1 [001] 1040: xen_pv:hypercall: op=grant_table_op arg0=0x14 arg2=0x500000006
        d3v1 [001] 1050: xen_mem:pod_populate: gfn=0x100000002 mfn=0x3 dom=3 order=9
        d3v1 [001] 1050: xen_sched:switch_infprev: event=0x2800e word1=0x3
X
cmp got want
ok "VMX, records without a time, seven words, what is unknown or too short" || diff got want | sed 's/^/# /'
is "$("$pantrace" report -e '*vmexit' new | sed 's/.*exit_reason/exit_reason/' | tr '\n' ' ')" "exit_reason=write_cr3 rip=0x1 isa=svm exit_reason=hlt rip=0x2 isa=svm " "SVM by its own event, as from 4.18 on"
is "$("$pantrace" report -e '*vmexit' unproven | sed 's/.*exit_reason/exit_reason/')" "exit_reason=0x0 rip=0x1" "what may be a reason of either stays a number"
run report --domains --tsc-mhz 1000 --json blind
is "$(printf '%s\n' "$out" | jq -r '"\(.vcpu) \(.blocked_ns) \(.runnable_ns)"' | tr '\n' ' ')" "v0 100 50 " "no time with a loss in it, or begun in one, is counted"
is "$rc $(printf '%s\n' "$err" | grep -c 'lost 7 events')" "3 1" "it is said"
head -c 100 vmx >cut
run report cut
is "$rc $(printf '%s\n' "$err" | grep -c 'is cut short')" "1 1" "a file that is cut short"
(cat vmx; echo something else) >strange
run report strange
is "$rc $(printf '%s\n' "$err" | grep -c 'records of a CPU should begin')" "1 1" "what is no trace behind it"
done_testing
