# SPDX-License-Identifier: GPL-2.0-or-later
# tcpretrans -l: tail loss probes, those that send the last segment again and those that send a new one. Truth: the kernel's own
# counters (TCPLossProbes of /proc/net/netstat) and the socket's (tcpi_total_retrans).
# guest: older
# modules: veth
unshare -n sleep 3000 &
ns=$!
apart() { [ "$(readlink /proc/$ns/ns/net)" != "$(readlink /proc/self/ns/net)" ] && [ "$(cat /proc/$ns/comm)" = sleep ]; }
until_true apart
ip link add pt0 type veth
peer=$(ip link | sed -n 's/^[0-9]*: \(.*\)@pt0:.*/\1/p')
ip link set $peer netns $ns
in_ns() { nsenter -t $ns -n "$@"; }
ip addr add 10.231.7.1/24 dev pt0
ip -6 addr add fd00:7::1/64 dev pt0
ip link set pt0 up
in_ns ip addr add 10.231.7.2/24 dev $peer
in_ns ip -6 addr add fd00:7::2/64 dev $peer
in_ns ip link set $peer up
in_ns ip link set lo up
# duplicate address detection
usable() { ! ip -6 addr | grep -q tentative && ! in_ns ip -6 addr | grep -q tentative; }
until_true usable
listens() { in_ns cat /proc/net/tcp /proc/net/tcp6 | grep -q ":$(printf %04X "$1") .* 0A "; }

probes() { awk '/^TcpExt:/ && !n { for (i = 2; i <= NF; i++) if ($i == "TCPLossProbes") n = i; next } /^TcpExt:/ { print $n }' /proc/net/netstat; }

# lose HERE THERE BYTES PORT: the tool's lines of that port in /tmp/rows, the counts in $loss, $total
lose()
{
	rm -f /tmp/word
	mkfifo /tmp/word
	in_ns ip route del blackhole $1 2>/dev/null
	in_ns timeout 600 /programs/tcp_lossy serve $2 $4 >/dev/null &
	until_true listens $4
	before=$(probes)
	begin pantrace tcpretrans -l $5
	timeout 600 /programs/tcp_lossy send $2 $4 $3 </tmp/word >/tmp/sent &
	sender=$!
	exec 3<>/tmp/word
	until_true grep -q ready /tmp/sent
	in_ns ip route add blackhole $1
	echo go >&3
	exec 3>&-
	wait $sender
	end
	port=$(sed -n 's/^ready //p' /tmp/sent)
	grep ":$port " /tmp/out >/tmp/rows
	total=$(sed -n 's/^retransmits //p' /tmp/sent)
	loss=$(($(probes) - before))
}

lose 10.231.7.1 10.231.7.2 1000 7001
[ $loss -ge 1 ]
ok "a lost tail is probed ($loss)"
is "$(grep -c ' L> ' /tmp/rows)" "$loss" "IPv4: as many as the kernel counts (TCPLossProbes)"
is "$(grep -c ' [LR]> ' /tmp/rows)" "$total" "as many segments as the socket sent again" || cat /tmp/rows /tmp/err | sed 's/^/# /'
like "$(cat /tmp/rows)" "10\.231\.7\.1:$port +L> 10\.231\.7\.2:7001 +ESTABLISHED\$" "with both ends"

# More than may be sent at once: the probe is a segment that was not sent yet.
lose 10.231.7.1 10.231.7.2 60000 7002
[ $loss -ge 1 ]
ok "a lost flight is probed ($loss)"
is "$(grep -c ' L> ' /tmp/rows)" "$loss" "new segments count"
[ "$(grep -c ' [LR]> ' /tmp/rows)" -gt "$total" ]
ok "though they are not sent again ($total were)" || cat /tmp/rows /tmp/err | sed 's/^/# /'
like "$(cat /tmp/rows)" "10\.231\.7\.1:$port +L> 10\.231\.7\.2:7002 +ESTABLISHED\$" "with both ends"

lose fd00:7::1 fd00:7::2 60000 7003 -s
is "$(grep -c ' L> ' /tmp/rows)" "$loss" "IPv6"
like "$(cat /tmp/rows)" "fd00:7::1:$port +L> fd00:7::2:7003 +ESTABLISHED\$" "with both ends"
like "$(cat /tmp/out)" 'tcp_write_timer|tcp_send_loss_probe' "and stacks"
is "$(head -1 /tmp/err)" "" "nothing to complain of"
kill $ns
ip link del pt0 2>/dev/null
done_testing
