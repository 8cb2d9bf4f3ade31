# SPDX-License-Identifier: GPL-2.0-or-later
# This machine is the host of another one (nested.t), which asks for a leaf of cpuid again and again (programs/cpuid.c): what KVM says
# of it here must lie between the two system calls around it there.
# guest: nested
# modules: kvm_amd
cd /tmp
/usr/bin/qemu-system-x86_64 -name inner -accel kvm -cpu host -M pc -smp 1 -m 256 -nodefaults -display none -serial file:/tmp/console -no-reboot \
	-kernel /inner/vmlinuz -initrd /inner/initramfs -append 'console=ttyS0 quiet panic=-1 mitigations=off nokaslr' \
	-device virtio-serial-pci -chardev socket,id=pt,path=/tmp/inner.sock,server=on,wait=off \
	-device virtserialport,chardev=pt,name=pantrace.0 >/tmp/qemu.out 2>&1 &
qemu=$!
until_true grep -q 'waiting at' /tmp/console
ok "a machine runs in this one, and its agent waits" || cat /tmp/qemu.out /tmp/console; [ -e /tmp/console ] || done_testing; [ -e /tmp/console ] || exit

# counted DIRECTORY COUNT: so many events have come from the inner machine
counted() { [ "$(pantrace report -c "$1/inner" 2>/dev/null | awk '{ n += $1 } END { print n + 0 }')" -ge "$2" ]; }

# record_both NAME: until the inner machine has asked a thousand times
record_both()
{
	pantrace record -e kvm:kvm_entry -e kvm:kvm_exit -e kvm:kvm_cpuid -f 'function == 0x4badf00d' --guest inner -e 'raw_syscalls:sys_enter /args.id == 110/' -o "$1" 2>"$1.err" &
	recorder=$!
	until_true counted "$1" 2100
	kill -INT $recorder
	wait $recorder
	is $? 0 "$1: both machines in one recording"
	sed 's/^/# /' "$1.err"
	pantrace info --json "$1" >"$1.info"
	sed 's/^/# /' "$1.info"
	pantrace report --json "$1" >"$1.events" 2>/dev/null
}

# windows NAME: how many questions were seen from both sides, how many of them outside of their windows, and how many by more than what
# `info` says of the clocks. Of a time the last 15 digits are compared: awk has 53 bits.
windows()
{
	worst=$(sed 's/.*"worst_ns":\([0-9]*\).*/\1/' "$1.info")
	awk -v worst="$worst" '
		{ match($0, /"time_ns":"[0-9]+/); time = substr($0, RSTART + RLENGTH - 15, 15) }
		match($0, /"index":[0-9]+/) { asked[substr($0, RSTART + 8, RLENGTH - 8)] = time }
		match($0, /"args":\[[0-9]+,[01]/) { window[substr($0, RSTART + 8, RLENGTH - 8)] = time }
		END {
			for (n in asked) {
				if (!((n ",0") in window) || !((n ",1") in window)) continue
				early = window[n ",0"] - asked[n]
				late = asked[n] - window[n ",1"]
				seen++
				outside += early > 0 || late > 0
				beyond += early > worst || late > worst
			}
			print (seen >= 1000 ? "thousand" : seen + 0), outside + 0, beyond + 0
		}' "$1.events"
}

record_both told
like "$(cat told.info)" '"by_tsc":[1-9][0-9]*,.*"jumps":0' "told: KVM says how the TSC of the inner machine is made of ours"
is "$(windows told)" "thousand 0 0" "told: every question stands in its window"
pantrace kvm exits --json told >exits
is "$(sed -n 's/.*"exits":\([0-9]*\),.*"exit":"cpuid".*/\1/p' exits | awk -v n="$(grep -c '"index"' told.events)" '{ print ($1 >= n - 2) }')" 1 "kvm exits: the questions are among them, but for one at each end" || cat exits
umount -l /sys/kernel/debug
record_both messages
like "$(cat messages.info)" '"by_tsc":0,.*"by_kvm":[1-9]' "messages: without debugfs only they bound the clock, and the entries into the guest"
like "$(cat messages.err)" 'by its clock alone [0-9]+ of [0-9]+ events stood where its virtual CPUs were not running' "messages: what had stood elsewhere is said"
like "$(windows messages)" '^thousand [0-9]+ 0$' "messages: every question stands in its window, or as far from it as is said"

# Another program wants the only CPU, too: what the inner machine counts as stolen is what its virtual CPU waited here, but for ticks and
# for the moments in which only one of the two recordings ran.
(while :; do :; done) &
busy=$!
pantrace record -e kvm:kvm_entry -e kvm:kvm_exit -e sched:sched_switch -e sched:sched_waking --guest inner -e sched:sched_process_exit -d 20 -o stolen 2>stolen.err
is $? 0 "stolen: beside a busy program" || cat stolen.err
kill $busy
pantrace kvm vcpus stolen >vcpus 2>&1
sed 's/^/# /' vcpus
is "$(sed -n 's/.*vcpu 0 waited \([0-9.]*\) ms in all; inside, inner counted \([0-9.]*\) ms of steal/\1 \2/p' vcpus |
	awk '{ print ($2 > 0 && $2 < $1 * 1.25 + 50 && $2 > $1 / 1.25 - 50) }')" 1 "stolen: inside and outside tell the same"

kill $qemu
wait $qemu
done_testing
