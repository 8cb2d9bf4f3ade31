#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Connections to an address behind which a network namespace drops everything: their SYNs are sent again.
. "$(dirname "$0")/lib.sh"
need_root
ns=pantrace$$
ip netns add $ns 2>/dev/null && ip link add pt0 type veth peer name pt1 netns $ns 2>/dev/null || {
	ip netns del $ns 2>/dev/null
	# Without veth: a dummy device swallows everything.
	ip link add ptd0 type dummy 2>/dev/null || { echo "1..0 # SKIP neither veth nor dummy devices"; exit 0; }
}
trap 'ip link del pt0 2>/dev/null; ip link del ptd0 2>/dev/null; ip netns del $ns 2>/dev/null; rm -rf "$work"' EXIT
dev=pt0
ip link show pt0 >/dev/null 2>&1 || dev=ptd0
ip addr add 10.231.7.1/24 dev $dev
ip -6 addr add fd00:7::1/64 dev $dev nodad 2>/dev/null
ip link set $dev up
[ $dev = pt0 ] && ip -n $ns link set pt1 up
mac=02:00:00:00:07:02
ip neigh replace 10.231.7.2 lladdr $mac dev $dev nud permanent
ip -6 neigh replace fd00:7::2 lladdr $mac dev $dev nud permanent 2>/dev/null

retransmits() { awk '/^Tcp:/ && !h { h = $0; next } /^Tcp:/ { print $13 }' /proc/net/snmp; }
start tcpretrans
before=$(retransmits)
python3 - <<'P'
import socket
for family, address in ((socket.AF_INET, "10.231.7.2"), (socket.AF_INET6, "fd00:7::2")):
    s = socket.socket(family)
    s.settimeout(3.5)
    try:
        s.connect((address, 7777))
    except OSError as e:
        print(e)
    s.close()
P
after=$(retransmits)
sleep 0.3
stop
like "$out" '^TIME +PID +LADDR:LPORT +-- +RADDR:RPORT +STATE$' "columns"
is "$(echo "$out" | grep -c ':[0-9]* *R> ')" "$((after - before))" "as many as /proc/net/snmp counts (RetransSegs)"
like "$out" '^[0-2][0-9]:[0-5][0-9]:[0-5][0-9] [0-9]+ +10\.231\.7\.1:[0-9]+ +R> 10\.231\.7\.2:7777 +SYN_SENT$' "IPv4, with addresses, ports and state"
if ip -6 addr show dev $dev 2>/dev/null | grep -q fd00:7::1; then
	like "$out" ' fd00:7::1:[0-9]+ +R> fd00:7::2:7777 +SYN_SENT$' "IPv6"
else
	skip "IPv6" "no IPv6 here"
fi

start tcpretrans -s
python3 -c '
import socket
s = socket.socket(); s.settimeout(1.5)
try: s.connect(("10.231.7.2", 7778))
except OSError: pass'
sleep 0.3
stop
like "$out" 'tcp_retransmit_timer|tcp_write_timer' "-s: the kernel's stack"
done_testing
