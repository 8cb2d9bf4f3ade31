# SPDX-License-Identifier: GPL-2.0-or-later
# Virtual machines inside of this one (QEMU emulates AMD's SVM): exits by reason, and where the time of a virtual CPU goes.
# guest: newer; check-all: older
# modules: kvm_amd
if [ ! -e /dev/kvm ]; then
	skip "virtual machines" "no /dev/kvm"
else
	pantrace record -q -o /tmp/kvm.dat -e 'kvm:*' -e sched:sched_switch -e sched:sched_waking -- kvm 1000 >/tmp/out 2>/tmp/err
	like "$? $(cat /tmp/out)" '^0 1000 writes, then halt' "a virtual machine writes to a port and halts"
	pantrace report --exits --json /tmp/kvm.dat >/tmp/exits 2>/tmp/err
	is $? 0 "report --exits" || cat /tmp/err
	exits() { sed -n "s/.*\"exits\":\([0-9]*\),.*\"exit\":\"$1\".*/\1/p" /tmp/exits; }
	is "$(exits io) $(exits hlt)" "1000 1" "its exits: every write, and the halt"
	is "$(sed 's/.*"exits":\([0-9]*\).*/\1/' /tmp/exits | awk '{ n += $1 } END { print n }')" \
		"$(pantrace report -c -e kvm:kvm_exit /tmp/kvm.dat | awk '{ print $1; exit }')" "all exits are in the table"
	pantrace report --vcpus --json /tmp/kvm.dat >/tmp/vcpu
	like "$(cat /tmp/vcpu)" '"vcpu":"kvm-[0-9]+ vcpu 0"' "--vcpus: its one virtual CPU"

	is "$(pantrace kvm exits --json /tmp/kvm.dat)" "$(cat /tmp/exits)" "kvm exits: the same"
	like "$(pantrace kvm faults /tmp/kvm.dat | tail -n +2)" '^100.00% +1 +(4096|0x1000)$' "kvm faults: the one page of its memory, by its address there"

	# A program that sleeps after each exit: the time is asleep, not the guest's and not the host's.
	pantrace record -q -o /tmp/slow.dat -e 'kvm:*' -e sched:sched_switch -e sched:sched_waking -- kvm 20 50000 >/tmp/out 2>/tmp/err
	pantrace report --vcpus --json /tmp/slow.dat >/tmp/vcpu
	asleep=$(sed 's/.*"asleep_ns":\([0-9]*\).*/\1/' /tmp/vcpu)
	[ "$asleep" -ge 1000000000 ]
	ok "twenty sleeps of 50 ms are a second asleep: $(cat /tmp/vcpu)"
	pantrace report --exits --per-task /tmp/slow.dat >/tmp/out 2>&1
	like "$(cat /tmp/out)" ' 20 .* kvm-[0-9]+ vcpu 0 +io' "--per-task: each virtual CPU"
	pantrace report --exits --json -- kvm 100 >/tmp/out 2>/tmp/err
	is "$(sed -n 's/.*"exits":\([0-9]*\),.*"exit":"io".*/\1/p' /tmp/out)" 100 "--exits -- COMMAND: recorded now" || cat /tmp/out /tmp/err
	pantrace kvm record -q -o /tmp/words.dat -- kvm 100 >/tmp/out 2>/tmp/err
	pantrace kvm stat report --json /tmp/words.dat >/tmp/out
	is "$(sed -n 's/.*"exits":\([0-9]*\),.*"exit":"io".*/\1/p' /tmp/out)" 100 "kvm record, kvm stat report" || cat /tmp/out /tmp/err
	pantrace record -q -o /tmp/none.dat -e sched:sched_switch -d 0.1 2>/dev/null
	like "$(pantrace report --exits /tmp/none.dat 2>&1)" "no event 'kvm:kvm_entry' was recorded" "without virtual machines it says so"
fi
