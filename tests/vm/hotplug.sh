# SPDX-License-Identifier: GPL-2.0-or-later
# A CPU goes and comes back while an instrumented program records from two threads: events published = read + lost.
# guest: older
if [ ! -x /programs/hotplug ] || [ ! -w /sys/devices/system/cpu/cpu1/online ]; then
	skip "CPU hotplug" "no program, or the kernel cannot take CPU 1 away"
else
	cpu=/sys/devices/system/cpu/cpu1/online
	mkdir -p /dev/shm
	mount -t tmpfs shm /dev/shm 2>/dev/null
	cd /tmp || exit
	for mode in discard overwrite; do
		rm -rf /tmp/hot /tmp/published
		case $mode in
		discard) pantrace record -u 'hot:*' --sub-size 64K --subs 16 -o /tmp/hot -- /programs/hotplug /tmp/published >/tmp/said 2>&1 & ;;
		# a flight recorder that is larger than what is published
		overwrite) pantrace record -u 'hot:*' --mode overwrite --sub-size 1M --subs 8 -o /tmp/hot -- /programs/hotplug /tmp/published >/tmp/said 2>&1 & ;;
		esac
		recorder=$!
		sleep 1
		for _ in 1 2 3; do
			echo 0 >$cpu
			sleep 0.7
			state=$(cat $cpu)
			echo 1 >$cpu
			sleep 0.7
		done
		is "$state $(cat $cpu)" "0 1" "$mode: CPU 1 goes and comes back"
		wait $recorder
		published=$(cat /tmp/published)
		read=$(sed -n 's/.*\b\([0-9][0-9]*\) events of.*/\1/p' /tmp/said | tail -1)
		lost=$(sed -n 's/.*; \([0-9]*\) lost$/\1/p' /tmp/said | tail -1)
		[ "${published:-0}" -gt 1000 ]
		ok "$mode: $published events are published meanwhile"
		is "$((${read:-0} + ${lost:-0}))" "$published" "$mode: ${read:-none} read and ${lost:-0} lost are all of them" || cat /tmp/said
		trace=/tmp/hot
		[ -d /tmp/hot/snapshot-1 ] && trace=/tmp/hot/snapshot-1
		is "$(pantrace report --json -e hot:event $trace 2>/dev/null | grep -c '"event":"hot:event"')" "${read:-none}" "$mode: the trace has them"
	done
	echo 1 >$cpu
fi
