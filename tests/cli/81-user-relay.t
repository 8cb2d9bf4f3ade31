#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# relay: recordings that go elsewhere, breaks, bounds, refusals.
# parallel: has directories of its own where programs and recorders meet
. "$(dirname "$0")/alone.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"

cd "$work" || exit 1

# relay_start ARGS...: listens at $work/sock
relay_start()
{
	"$pantrace" relay --listen "unix:$work/sock" "$@" >relay.out 2>relay.err &
	relay=$!
	until_true [ -S "$work/sock" ]
}

relay_stop()
{
	kill "$1" $relay 2>/dev/null
	wait $relay 2>/dev/null
}

steps()
{
	"$pantrace" report -c "$1" 2>/dev/null | sed -n 's/ *\([0-9]*\)  traced:step/\1/p'
}

# what ssh does, without ssh
cat >ssh <<EOF
#!/bin/sh
echo "\$@" >>"$work/ssh.log"
while [ "\$1" != -- ]; do shift; done
exec sh -c "\$3"
EOF
chmod +x ssh
PANTRACE_SSH=$work/ssh PANTRACE_REMOTE=$pantrace
export PANTRACE_SSH PANTRACE_REMOTE
run record -u 'traced:*' --to "ssh://me@far:2222/$work/by ssh" -- "$traced" 2000 10
is "$rc" 0 "a recording through ssh"
is "$(cut -d' ' -f1-4 ssh.log)" "-p 2222 -- me@far" "user, host and port are ssh's to know"
same_text "by ssh" "what arrived"
is "$(cat warnings)" "" "babeltrace2 warns of nothing"
is "$(steps "by ssh")" 2000 "every event arrived"
run record -u 'traced:*' --to ssh://-oProxyCommand=x/y -- true
is "$rc" 1 "a host that is an option is refused"
run record -u 'traced:*' --to "unix:$work/nobody" -- true
is "$rc" 1 "no relay there"
like "$err" "no relay answers at unix:" "is said"

if [ -x /usr/sbin/sshd ]; then
	ssh_serve 2299 "$work/real-ssh"
	PANTRACE_SSH=$work/real-ssh
	run record -u 'traced:*' --to "ssh://root@127.0.0.1:2299/$work/real" -- "$traced" 1000 10
	is "$(steps real)" 1000 "the same through sshd" || sed 's/^/# /' sshd.log err | tail -5 >&2
	ssh_end
	PANTRACE_SSH=$work/ssh
else
	skip "the same through sshd" "openssh-server is not installed"
fi

# many at once
relay_start many
is "$(stat -c %a sock)" 600 "the socket is its owner's"
for i in 1 2 3; do
	"$pantrace" record -q -s "many$i" -u 'traced:*' -p 1 --to "unix:$work/sock" -o "host$i" -d 0.1 >/dev/null 2>&1 &
	"$pantrace" record -q -u 'traced:*' --to "unix:$work/sock" -o "host$i" -- "$traced" 1000 10 >"many$i.log" 2>&1 &
done
wait_for() { for _ in $(seq 1200); do [ "$(eval "$1")" = "$2" ] && return; sleep 0.05; done; }
wait_for 'steps many' 3000
is "$(steps many)" 3000 "three recorders at once: every event arrived"
for i in 1 2 3; do
	[ "$(find many -path "*/host$i*" -name 'ring_*' | wc -l)" -gt 0 ]
	ok "host$i has a trace"
done
relay_stop -TERM
[ ! -e sock ]
ok "the socket is removed at the end"

# a break: the relay is killed in the middle, twice, and comes again
relay_start broken
"$pantrace" record -u 'traced:*' --sub-size 4096 --subs 1024 --to "unix:$work/sock" -o here -- "$traced" 6000 500 >record.out 2>record.err &
recorder=$!
# arrived N: bytes of events, at the relay
arrived() { [ "$(find broken -name 'ring_*' -exec cat {} + | wc -c)" -ge "$1" ]; }
for n in 20000 100000; do
	until_true arrived $n
	relay_stop -KILL
	sleep 0.8 # the program ends meanwhile: what the relay takes when it is back is not lost
	relay_start broken
done
wait $recorder
rc=$? lost=$(sed -n 's/.*; \([0-9]*\) lost.*/\1/p' record.err)
is "$rc" "$([ "$lost" = 0 ] && echo 0 || echo 3)" "a recording over two breaks; what a busy machine lost is told" || sed 's/^/# /' record.err >&2
relay_stop -TERM
is "$(($(steps broken) + lost))" 6000 "every event arrived, once"
same_text broken "what arrived"
is "$([ "$lost" = 0 ] && cat warnings || grep -v 'Tracer discarded' warnings)" "" "babeltrace2 warns of nothing"

# chunks, live readers
relay_start live
"$pantrace" report --live --hold 5000 live >live.out 2>live.err &
reader=$!
run record -q -u 'traced:*' --rotate-size 30000 --to "unix:$work/sock" -o here -- "$traced" 3000 300
wait_for 'grep -c traced:step: live.out' 3000
is "$(grep -c traced:step: live.out)" 3000 "a live reader saw every event" || sed 's/^/# /' live.err >&2
kill -INT $reader
wait $reader
grep traced: live.out | sort -s -c -k1,1
ok "in the order of time"
[ "$(ls -d live/here/chunk-* | wc -l)" -gt 1 ]
ok "in more than one chunk"
relay_stop -TERM

# bounds
relay_start --max-bytes 60000 little
run record -u 'traced:*' --subs 2 --sub-size 8192 --to "unix:$work/sock" -o here -- "$traced" 4000 100
unlike "$rc" '^0$' "more than its allowance is not silently lost"
like "$err" "used up its 60000 bytes" "and named"
[ "$(du -sb --apparent-size little | cut -f1)" -lt 90000 ]
ok "no more than the allowance is on disk"
babeltrace2 little >/dev/null 2>warnings
ok "what arrived is whole" || head -3 warnings
relay_stop -TERM
if mkdir full && mount -t tmpfs -o size=100k none full 2>/dev/null; then
	relay_start full/store
	run record -u 'traced:*' --subs 2 --sub-size 8192 --to "unix:$work/sock" -o here -- "$traced" 6000 100
	unlike "$rc" '^0$' "a full disk at the relay"
	like "$err" "No space left" "is named"
	kill -0 $relay
	ok "and the relay goes on"
	relay_stop -TERM
	umount full
else
	skip "a full disk at the relay" "cannot mount"
fi

# a relay that takes nothing: the program and the recorder are not held up for ever
python3 - "$work/sock" <<'EOF' &
import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(5)
c, _ = s.accept(); c.recv(200)
import struct
c.sendall(struct.pack('<IIQ', 2, 0, 40) + struct.pack('<II32s', 1, 0, b'x'))
time.sleep(600)
EOF
stalled=$!
until_true [ -S sock ]
timeout 300 "$pantrace" record -u 'traced:*' --subs 2 --sub-size 4096 --to "unix:$work/sock" -- "$traced" 3000 10 >out 2>err
rc=$?
case $rc in 0 | 124) false ;; *) true ;; esac
ok "a stalled relay: the recording ends, and not with success ($rc)"
kill $stalled
rm -f sock

# another user of this machine connects as often as it can, and says nothing
cat >crowd.py <<'EOF'
import os, socket, sys, time
os.setgid(65534); os.setuid(65534)
held = []
for _ in range(600):
    s = socket.socket(); s.settimeout(60); s.connect(("127.0.0.1", int(sys.argv[1]))); held.append(s)
print("held", flush=True)
sys.stdin.read()
EOF
port=$((20000 + $$ % 10000))
"$pantrace" relay --listen tcp:127.0.0.1:$port crowded >relay.out 2>relay.err &
relay=$!
mkfifo hold
exec 3<>hold
answers() { python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])))' $port 2>/dev/null; }
until_true answers
ulimit -n 4096; python3 crowd.py $port <hold >crowd.out &
crowd=$!
until_true [ -s crowd.out ]
run record -u 'traced:*' --to tcp:127.0.0.1:$port -- "$traced" 500 10
is "$rc $(steps crowded)" "0 500" "connections of a stranger do not keep a recorder out" || printf '%s\n' "$err" | sed 's/^/# /'
is "$(grep -c 'user 65534 here holds 256 places' relay.err)" 1 "who holds half of the places is named, once"
kill $crowd
relay_stop -TERM

# others at the other end
relay_start strict
printf 'GET / HTTP/1.0\r\n\r\n' | python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect("sock"); s.sendall(sys.stdin.buffer.read()); s.settimeout(60); s.recv(1000)' 2>/dev/null
python3 - <<'EOF'
import socket, struct
def hello(protocol, host):
    s = socket.socket(socket.AF_UNIX); s.connect("sock"); s.settimeout(60)
    s.sendall(struct.pack('<IIQ', 1, 0, 120) + struct.pack('<II32s64s16s', 0x4c525450, protocol, b'9.9', host, b'0123456789abcdef'))
    return s
open("version", "wb").write(hello(99, b'h').recv(1000))
open("outside", "wb").write(hello(1, b'../x').recv(1000))
s = hello(1, b'good'); s.recv(1000)
s.sendall(struct.pack('<IIQ64s', 5, 1, 64, b'../../etc'))
open("trace", "wb").write(s.recv(1000))
s = hello(1, b'good2'); s.recv(1000)
s.sendall(struct.pack('<IIQ64s', 5, 1, 64, b'fine')); s.recv(1000)
s.sendall(struct.pack('<IIQ32sQ', 7, 1, 200, b'../metadata', 0) + bytes(200))
open("file", "wb").write(s.recv(1000))
EOF
like "$(tr -d '\0' <version)" "relay is pantrace .* \(protocol 1\), the recorder is 9.9 \(protocol 99\)" "other versions are refused, both named"
like "$(tr -d '\0' <outside)" "not a plain name" "a host is a name in the relay's directory"
like "$(tr -d '\0' <trace)" "not a plain name" "so is a trace"
like "$(tr -d '\0' <file)" "not a plain name" "so is a file"
is "$(find strict -mindepth 1 -name '*x*' ; ls "$work" | grep -c '^etc$')" 0 "nothing was made elsewhere"
relay_stop -TERM
run relay --listen tcp:0.0.0.0:0 x
is "$rc" 2 "an address that others reach is refused"
like "$err" "insecure-listen" "without --insecure-listen"
"$pantrace" relay --listen tcp:127.0.0.1:7199 tcp-store 2>/dev/null &
relay=$!
listens() { grep -q ":$(printf %04X "$1") .* 0A " /proc/net/tcp; }
until_true listens 7199
run record -q -u 'traced:*' --to tcp:127.0.0.1:7199 -o here -- "$traced" 500 10
is "$(steps tcp-store)" 500 "over TCP on loopback"
relay_stop -TERM

# TLS with client certificates, in front
if command -v stunnel >/dev/null && command -v openssl >/dev/null; then
	for who in server client stranger; do
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$who" -keyout $who.key -out $who.crt 2>/dev/null
		cat $who.key $who.crt >$who.pem
		chmod 600 $who.pem
	done
	relay_start tls-store
	printf 'foreground = yes\npid =\n[relay]\naccept = 127.0.0.1:7443\nconnect = %s\ncert = %s\nverifyPeer = yes\nCAfile = %s\n' \
		"$work/sock" "$work/server.pem" "$work/client.crt" >server.conf
	for who in client stranger; do
		port=$((7100 + ${#who}))
		printf 'foreground = yes\npid =\nclient = yes\n[relay]\naccept = 127.0.0.1:%s\nconnect = 127.0.0.1:7443\ncert = %s\nverifyPeer = yes\nCAfile = %s\n' \
			$port "$work/$who.pem" "$work/server.crt" >$who.conf
	done
	stunnel server.conf >stunnel.log 2>&1 & tls1=$!
	stunnel client.conf >client.log 2>&1 & tls2=$!
	stunnel stranger.conf >stranger.log 2>&1 & tls3=$!
	until_true listens 7443
	until_true listens 7106
	until_true listens 7108
	run record -q -u 'traced:*' --to tcp:127.0.0.1:7106 -o here -- "$traced" 500 10
	is "$(steps tls-store)" 500 "through stunnel with a client certificate"
	run record -q -u 'traced:*' --to tcp:127.0.0.1:7108 -o there -- true
	[ "$rc" != 0 ] && [ ! -d tls-store/there ]
	ok "a stranger's certificate does not get in"
	kill $tls1 $tls2 $tls3
	relay_stop -TERM
else
	skip "through stunnel with a client certificate" "stunnel4 is not installed"
fi

# ---- peers that stay silent, or take nothing
relay_start silence
timeout 120 perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die; exit(defined <$s>)' "$work/sock"
is "$?" 0 "a connection that says nothing is closed"
like "$(cat relay.err)" "without a greeting: silent" "which is told"
relay_stop -TERM
# a relay whose answer nobody reads, on a pipe that is full
cat >full.pl <<'END'
my ($relay, $dir) = @ARGV;
pipe(my $in, my $to) && pipe(my $from, my $out) or die;
$out->blocking(0);
1 while syswrite($out, "x" x 4096);
$out->blocking(1);
syswrite($to, pack("LLQ", 1, 0, 120) . pack("LLa32a64a16", 0x4c525450, 1, "1", "host", "session"));
my $pid = fork;
if (!$pid) {
	open(STDIN, "<&", $in);
	open(STDOUT, ">&", $out);
	exec($relay, "relay", "--stdio", $dir);
}
for (1 .. 600) {
	last if -d "$dir/host";
	select(undef, undef, undef, 0.1);
}
select(undef, undef, undef, 0.3);
kill("TERM", $pid);
for (1 .. 300) {
	exit(0) if waitpid($pid, 1) > 0;
	select(undef, undef, undef, 0.1);
}
kill("KILL", $pid);
exit(1);
END
perl -MIO::Handle full.pl "$pantrace" "$work/full"
is "$?" 0 "SIGTERM is heard while an answer waits"
[ -d full/host ]
ok "which it was"
# a recorder at a relay that never answers
perl -MIO::Socket::UNIX -e 'unlink $ARGV[0]; $s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 5) or die; sleep 100' "$work/mute" &
mute=$!
until_true [ -S "$work/mute" ]
"$pantrace" record -u 'traced:*' --to "unix:$work/mute" -- true 2>mute.err &
recorder=$!
sleep 1
kill -INT $recorder
wait $recorder
is "$?" 1 "a recorder whose relay says nothing hears Ctrl-C"
like "$(cat mute.err)" "interrupted before the relay" "and says what it waited for"
kill $mute
done_testing
