#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Connections to an address behind which a network namespace drops everything: their SYNs are sent again.
# parallel: looks at its own connections
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

start tcpretrans
# tcpi_total_retrans of struct tcp_info: just behind the second one; the third is seconds away
python3 - >"$work/total" <<'P'
import socket, struct, time
total = 0
for family, address in ((socket.AF_INET, "10.231.7.2"), (socket.AF_INET6, "fd00:7::2")):
    s = socket.socket(family)
    s.setblocking(False)
    try:
        s.connect((address, 7777))
    except BlockingIOError:
        n = 0
        while n < 2:
            time.sleep(0.005)
            n = struct.unpack_from("I", s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 100)[0]
        total += n
    except OSError: # no IPv6 here
        pass
    s.close()
print(total)
P
stop
like "$out" '^TIME +PID +LADDR:LPORT +-- +RADDR:RPORT +STATE$' "columns"
# another tracer's program may have been at work on the CPU: such events are counted aloud
missed=$(echo "$err" | sed -n 's/.*WARNING: \([0-9]*\) events were missed.*/\1/p')
is "$(($(echo "$out" | grep -c ' \(10\.231\.7\.1\|fd00:7::1\):[0-9]* *R> .*:7777 ') + ${missed:-0}))" "$(cat "$work/total")" "as many as the sockets count (tcpi_total_retrans)" ||
	echo "$out $err" | sed 's/^/# /' >&2
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

# An established connection, IPv4 and IPv6, whose acknowledgements get lost: data is sent again, as often as the kernel says.
if [ $dev = pt0 ]; then
	ip -n $ns addr add 10.231.7.2/24 dev pt1
	ip -n $ns -6 addr add fd00:7::2/64 dev pt1 nodad 2>/dev/null
	ip -n $ns link set pt1 address $mac
	cat >"$work/lossy.py" <<'P'
import socket, struct, subprocess, sys, time
family, here, there, ns = (socket.AF_INET, socket.AF_INET6)[sys.argv[1] == "6"], sys.argv[2], sys.argv[3], sys.argv[4]
server = subprocess.Popen(["ip", "netns", "exec", ns, sys.executable, "-c", """
import socket, sys, time
s = socket.socket(%d)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("%s", 7779)); s.listen(1); print("listening", flush=True)
c, _ = s.accept(); c.recv(100); time.sleep(600)""" % (family, there)], stdout=subprocess.PIPE, text=True)
server.stdout.readline()
c = socket.create_connection((there, 7779))
def info(offset): # of struct tcp_info
    return struct.unpack_from("I", c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), offset)[0]
c.send(b"x")
while info(24): time.sleep(0.005) # tcpi_unacked
subprocess.check_call(["ip", "-n", ns] + (["-6"] if sys.argv[1] == "6" else []) + ["route", "add", "blackhole", here])
c.send(b"y" * 1000)
# tcpi_total_retrans: just behind the fourth, the next is more than a second away; then a reset, so that nothing more is sent
while info(100) < 4: time.sleep(0.005)
print(c.getsockname()[1], info(100))
c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
c.close()
server.kill()
P
	# The timers that send again run on top of any thread.
	established()
	{
		ip -n $ns route del blackhole 10.231.7.1 2>/dev/null
		ip -n $ns -6 route del blackhole fd00:7::1 2>/dev/null
		start tcpretrans
		# shellcheck disable=SC2046
		set -- $(python3 "$work/lossy.py" $version $here $there $ns 2>"$work/python.err")
		port=${1:-} total=${2:-}
		sleep 0.3
		stop
		[ -z "$port" ] || [ "$(echo "$out" | grep -c ":$port *R> ")" = "$total" ]
	}
	for version in 4 6; do
		here=10.231.7.1 there=10.231.7.2 shown='10\.231\.7\.'
		[ $version = 4 ] || { here=fd00:7::1 there=fd00:7::2 shown=fd00:7::; }
		settled established
		if [ -z "$port" ]; then
			skip "IPv$version, established" "no connection: $(tail -1 "$work/python.err")"
			continue
		fi
		like "$out" " ${shown}1:$port +R> ${shown}2:7779 +ESTABLISHED\$" "IPv$version: a connection whose acknowledgements are lost"
		is "$(echo "$out" | grep -c ":$port *R> ")" "$total" "IPv$version: as often as the socket itself says"
	done
	# The side that accepted: its IPv4 addresses say nothing there.
	mkfifo "$work/word"
	accepted()
	{
		start tcpretrans
		ip -n $ns -6 route del blackhole fd00:7::1 2>/dev/null
		timeout 200 "$programs/tcp_lossy" answer fd00:7::1 7780 1000 >"$work/answer" 2>&1 <"$work/word" &
		answer=$!
		exec 3>"$work/word"
		until_true grep -q listening "$work/answer"
		ip netns exec $ns timeout 200 "$programs/tcp_lossy" read fd00:7::1 7780 &
		reader=$!
		until_true grep -q ready "$work/answer"
		ip -n $ns -6 route add blackhole fd00:7::1 2>/dev/null
		echo go >&3
		exec 3>&-
		wait $answer
		kill $reader
		sleep 0.3
		stop
		[ "$(echo "$out" | grep -c ':7780 *R> ')" = "$(sed -n 's/^retransmits //p' "$work/answer")" ]
	}
	settled accepted
	like "$out" ' fd00:7::1:7780 +R> fd00:7::2:[0-9]+ +ESTABLISHED$' "IPv6, the side that accepted"
	is "$(echo "$out" | grep -c ':7780 *R> ')" "$(sed -n 's/^retransmits //p' "$work/answer")" "as often as its socket says"
	run tcpretrans -l -d 0.2
	if [ "$rc" = 0 ] || [ "$rc" = 3 ]; then
		like "$out" '^TIME ' "-l"
	else
		is "$rc" 5 "-l is refused where there are no kprobes"
		like "$err" 'kprobe cannot be used here' "and it is said why"
	fi
fi
done_testing
