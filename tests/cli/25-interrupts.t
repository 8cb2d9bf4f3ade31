#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# softirq:NAME and hardirq:NAME: against /proc/softirqs and /proc/interrupts, read around the run and within it.
. "$(dirname "$0")/lib.sh"
need_root
# total FILE ROW: of all CPUs
total() { awk -v row="$2:" '$1 == row { for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n += $i } END { printf "%d\n", n }' "$1"; }
cat >"$work/packets" <<'END'
cat /proc/softirqs >"$1"
python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
for i in range(500):
    s.sendto(b"x", s.getsockname())
    s.recv(1)
'
cat /proc/softirqs >"$2"
END
# entries of what the packets raised, and of no more than came while the programs were there
packets()
{
	cat /proc/softirqs >"$work/1"
	run -q -c "sh $work/packets $work/2 $work/3" -e 'softirq:net_rx { @in[args.vec] = count() } softirq:net_rx:exit { @out[probe] = count() } softirq:net_rx:raise { @raised = count() }'
	cat /proc/softirqs >"$work/4"
	entries=$(printf '%s\n' "$out" | sed -n 's/^@in\[3\]: //p')
	least=$(($(total "$work/3" NET_RX) - $(total "$work/2" NET_RX)))
	most=$(($(total "$work/4" NET_RX) - $(total "$work/1" NET_RX)))
	text="softirq:net_rx: ${entries:-0} entries, $least to $most in /proc/softirqs"
	[ "${entries:-0}" -ge "$least" ] && [ "${entries:-0}" -le "$most" ] && [ "$least" -ge 400 ]
}
settled packets
ok "$text"
like "$out" "^@out\[softirq:net_rx:exit\]: [0-9]+\$" "exits"
like "$out" "^@raised: [0-9]+\$" "raised"
run -q -e 'softirq:* { @[probe, args.vec] = count() } interval:ms:500 { exit() }'
vectors=$(printf '%s\n' "$out" | sed -n 's/^@\[\(softirq:[a-z_]*, [0-9]*\)\].*/\1/p' | sort -u)
expected=$(awk 'NR > 1 { sub(":", "", $1); print "softirq:" tolower($1) ", " NR - 2 }' /proc/softirqs)
is "$(printf '%s\n' "$vectors" | grep -vxF "$expected")" "" "each with the name of its own vector"
like "$out" '@\[softirq:timer, 1\]: ' "the first vector but one"

# the line that had most interrupts so far
line=$(awk '$1 ~ /^[0-9]+:$/ { n = 0; for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n += $i; if (n > most) { most = n; line = $1 } } END { sub(":", "", line); print line }' /proc/interrupts)
name=$(cat "/sys/kernel/irq/$line/actions" 2>/dev/null)
case $name in
'' | *,*) skip "hardirq" "no line of a single handler was ever used here" ;;
*)
	cat >"$work/lines" <<'END'
cat /proc/interrupts >"$1"
dd if=/dev/urandom of="$3" bs=64k count=10 oflag=sync 2>/dev/null
cat /proc/interrupts >"$2"
END
	written()
	{
		cat /proc/interrupts >"$work/1"
		run -q -c "sh $work/lines $work/2 $work/3 $work/written" -e "hardirq:\"$name\" { @in[args.irq, str(args.name)] = count() } hardirq:$line:exit { @out[probe, args.ret] = count() }"
		cat /proc/interrupts >"$work/4"
		entries=$(printf '%s\n' "$out" | sed -n "s/^@in\[$line, .*\]: //p")
		least=$(($(total "$work/3" "$line") - $(total "$work/2" "$line")))
		most=$(($(total "$work/4" "$line") - $(total "$work/1" "$line")))
		# those that came while a program of another tracer ran on the CPU are told
		missed=$(printf '%s\n' "$err" | sed -n 's/.*WARNING: \([0-9]*\) events .*/\1/p')
		text="hardirq:$name: ${entries:-0} entries, ${missed:-0} missed, $least to $most in /proc/interrupts"
		[ "$((${entries:-0} + ${missed:-0}))" -ge "$least" ] && [ "${entries:-0}" -le "$most" ]
	}
	settled written
	ok "$text"
	[ "$least" = 0 ] || like "$out" "@out\[hardirq:$line:exit, 1\]: " "by its number, at the exit"
	;;
esac

run -e 'softirq:net_xx { }'
like "$err" "did you mean 'net_tx' or 'net_rx'" "an unknown name"
run -e 'hardirq:no-such-line { }'
like "$err" "pantrace list 'hardirq:\*'" "  of a line"
run list 'softirq:*'
is "$(printf '%s\n' "$out" | grep -cvE ':(exit|raise)$')" "$(($(wc -l </proc/softirqs) - 1))" "all are listed"
like "$("$pantrace" list -v softirq:net_rx)" 'vec' "with their fields"
is "$("$pantrace" complete pantrace list softirq:net_r | head -1 | cut -f1)" softirq:net_rx "and completed"
run -q -e 'irq:softirq_entry { @ = count() } interval:ms:300 { exit() }'
like "$out" '^@: [0-9]+$' "irq:EVENT is a tracepoint, as perf writes it"
done_testing
