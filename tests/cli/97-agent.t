#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record --guest: an agent of this machine at a Unix socket and at a pipe (as ssh has it), so that the truth is known: both clocks are
# one, and both sides see the same events. What the socket could not take is counted; who dies, stands still or babbles ends nothing.
# among tracers: its events are those of programs with names of its own
. "$(dirname "$0")/lib.sh"
need_root
. "$(dirname "$0")/user-lib.sh"
mkdir "/sys/kernel/tracing/instances/record_test.$$" 2>/dev/null || { echo "1..0 # SKIP no instance can be made"; exit 0; }
rmdir "/sys/kernel/tracing/instances/record_test.$$"
cd "$work" || exit 1
ours=ag$$ # the beginning of all names of our programs
cp /bin/true "$ours-true"
cp /bin/dd "$ours-dd"

trap 'kill -9 $agent $liar $named $twin $other 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
agent='' liar='' named='' twin='' other=''
# agent: at $work/socket; its number in $agent
agent()
{
	"$pantrace" agent "$work/socket" >/dev/null 2>agent.err &
	agent=$!
	until_true grep -q "waiting at" agent.err
}

# instances OF: how many buffers there are of these processes
instances() { ls -d /sys/kernel/tracing/instances/pantrace-"$1"-* 2>/dev/null | wc -l; }

is_gone() { [ "$(instances "$1")" = 0 ]; }

# ---- both sides see the same
agent
run record -e sched:sched_process_exec --guest "there=$work/socket" -e sched:sched_process_exec -F -o both -- \
	sh -c "for i in \$(seq 200); do ./$ours-true; done"
like "$rc $err" '^2 .*-F needs' "a mistake in the guest's words is told here, before anybody is connected to"
run record -e sched:sched_process_exec --guest "there=$work/socket" -e sched:sched_process_exec -o both -- \
	sh -c "for i in \$(seq 200); do ./$ours-true; done"
is "$rc" 0 "record here and there" || printf '%s\n' "$err" >&2
is "$(ls both both/there | tr '\n' ' ')" "both: state.ndjson there trace.dat  both/there: clock state.ndjson trace.dat " "a directory of the machine's name"
ours_of() { "$pantrace" report --json "$1" | grep "\"filename\":\"./$ours-true\""; }
ours_of both >events
is "$(grep -c '"host":"there"' events) $(grep -vc '"host":"there"' events)" "200 200" "report: all events of both, with the machine's name"
is "$(trace-cmd report -i both/there/trace.dat 2>/dev/null | grep -c "filename=./$ours-true ")" 200 "trace-cmd opens the guest's part"
[ "$(stat -c %s both/there/trace.dat)" -lt 20000000 ] && [ "$(stat -c '%b' both/there/trace.dat)" -lt 40000 ]
ok "which is packed"
cat >truth.py <<'PY'
# The true offset of the two clocks is 0: is it within what each exchange says, and is each time within what `info` says?
import json, subprocess, sys
pantrace, directory, name = sys.argv[1:]
rows = [list(map(int, l.split()[1:])) for l in open(directory + '/there/clock') if l.startswith('exchange')]
assert len(rows) >= 2, rows
assert all(a <= b <= c <= d for a, b, c, d in rows), 'an exchange against time'
worst = json.loads(subprocess.run([pantrace, 'info', '--json', directory], capture_output=True, check=True).stdout)
host = next(int(l.split()[1]) for l in open(directory + '/there/clock') if l.startswith('host-realtime'))
def times(where, host):
    out = subprocess.run([pantrace, 'report', '--json', where], capture_output=True, check=True).stdout.decode()
    events = [json.loads(l) for l in out.splitlines()]
    return [int(e['time_ns']) for e in events if e['host'] == host and e['fields'].get('filename') == './' + name]
raw = []
for l in subprocess.run(['trace-cmd', 'report', '-t', '-i', directory + '/there/trace.dat'], capture_output=True).stdout.decode(errors='replace').splitlines():
    if 'filename=./' + name + ' ' in l:
        s, ns = l.split(': sched_process_exec')[0].split()[-1].split('.')
        raw.append(int(s) * 10**9 + int(ns))
# the host's own file says where its clock stands, and was asked a moment later
shown = times(directory, 'there')
off = [s - r - host for s, r in zip(shown, raw)]
assert len(shown) == len(raw) == 200, (len(shown), len(raw))
# within half an exchange's gap the clocks may drift by what info does not count
assert max(map(abs, off)) <= worst['worst_ns'] + 1000000, (max(off), min(off), worst)
print(worst['exchanges'] >= 2, worst['jumps'], worst['best_ns'] <= worst['worst_ns'])
PY
is "$(python3 truth.py "$pantrace" both "$ours-true" 2>&1)" "True 0 True" "one clock: every exchange is in order, every time is the true one within what info says"

# ---- a clock that jumped, and one that nobody compared
jump() { sed -n "1,4p" both/there/clock; }
mkdir -p jumped/there alone/there
cp both/there/trace.dat jumped/there
cp both/there/trace.dat alone/there
jump >alone/there/clock
{ jump; sed -n 's/^exchange//p' both/there/clock | sed -n '1p;$p' | awk 'NR == 1 { print "exchange" $0 } NR == 2 { printf "exchange %.0f %s %s %.0f\n", $1 + 5e9, $2, $3, $4 + 5e9 }'; } >jumped/there/clock
run report -c jumped
like "$rc $(printf '%s' "$err" | tr '\n' ' ')" "^0 WARNING: jumped/there: messages arrived before they were sent.*jumped 1 time," "a clock that jumped is told"
is "$("$pantrace" info --json jumped | sed 's/.*"jumps":\([0-9]*\).*/\1/')" 1 "info, too"
run report -c alone
like "$rc $err" "^0 WARNING: alone/there: its clock was never compared" "so is one that was not compared"

# ---- standard input and output, as ssh runs it; two guests; events of programs
cat >ssh <<'SH'
#!/bin/sh
# "ssh -- HOST COMMAND" of this machine
shift 2
exec sh -c "$*"
SH
chmod 755 ssh
mkdir busy && cp "$traced" "busy/$ours-app"
PANTRACE_SSH=$work/ssh PANTRACE_REMOTE=$pantrace run record --guest ssh:root@one -u 'traced:*' -n "$ours-app" \
	--guest "two=$work/socket" -e sched:sched_process_exec -F 99 -a -o three -- "busy/$ours-app" 2000
is "$rc $(printf '%s\n' "$err" | grep -c '^two: ')" "0 2" "by ssh, and two guests" || printf '%s\n' "$err" >&2
machine=$(uname -n)
is "$("$pantrace" report -c -e traced:step three | awk '{ print $1; exit }')" 2000 "events of programs there" || ls -R three >&2
is "$(babeltrace2 "three/$machine" 2>/dev/null | grep -c traced:step)" 2000 "babeltrace2 opens them"
is "$(ls three/two | tr '\n' ' ')" "clock perf.data state.ndjson " "samples"
like "$(perf report --stdio -i three/two/perf.data 2>&1)" "sched:sched_process_exec|Samples" "perf opens them"

# ---- a host that stands still: kept + lost = what was written
: >go
start record --guest "there=$work/socket" -e "syscalls:sys_enter_write /comm == \"$ours-dd\" && args.count == 1 && args.fd == 1/" -b 64 --compress none -o full
recorder=$(pgrep -P "$agent" | head -1)
kill -STOP "$tracer"
"./$ours-dd" if=/dev/zero of=/dev/null bs=1 count=600000 2>/dev/null
kill -CONT "$tracer"
stop
kept=$("$pantrace" report -c full | awk '{ n += $1 } END { print n + 0 }')
lost=$(printf '%s\n' "$err" | sed -n 's/^there: .* in trace.dat; \([0-9]*\) lost$/\1/p')
is "$((kept + lost)) $rc" "600000 3" "a host that stops reading: kept + lost = produced, and the exit code says it" || printf '%s\n' "$kept kept; $err" >&2
[ "$lost" -gt 0 ] && [ "$kept" -gt 0 ]
ok "some of both: $kept kept, $lost lost"
is "$(instances "$recorder")" 0 "nothing stays of its buffer"

# ---- an agent that is killed; one that stands still
start record --guest "there=$work/socket" -e sched:sched_process_exec -e sched:sched_process_exit -o killed
recorder=$(pgrep -P "$agent" | head -1)
for i in 1 2 3; do "./$ours-true"; done
kill -STOP "$agent"
until_true grep -q 'there does not answer' trace.err
ok "an agent that stands still is named, and waited for"
kill -CONT "$agent"
kill -KILL "$agent"
wait "$agent" 2>/dev/null
until_true sh -c '! kill -0 '"$tracer"' 2>/dev/null'
stop
like "$rc $(printf '%s' "$err" | tr '\n' ' ')" '^3 .*there: the connection has ended' "an agent that is killed: it is said, and the recording of nothing else ends"
"$pantrace" report killed >out 2>err
is $? 0 "what it had sent is a recording" || cat err >&2
until_true is_gone "$recorder"
ok "its recorder and its buffer are gone"

# ---- refusals
agent
run record --guest "there=$work/socket" -e no:such -o nothing
like "$rc $err" '^1 .*there: .*no:such' "an event that is not there is told by the guest"
[ ! -e nothing ]
ok "and nothing is left here"
run record --guest "there=$work/nobody" -e sched:sched_switch -o nothing
like "$rc $(printf '%s' "$err" | tr '\n' ' ')" "^1 .*no agent is there.*HINT: in the guest: pantrace agent" "no agent"
for words in "-e a -- true --guest" "--guest" "--guest x" "--guest x -e a --session s" "--guest x -e a --guest y -e b --to unix:z"; do
	run record $words
	[ "$rc" = 2 ] || [ "$words" = "-e a -- true --guest" ] && [ ! -e nothing ]
	ok "refused: record $words"
done
# ---- scripts
run run --guest "$work/socket" -e 'BEGIN { printf("%s %d\n", str($1), $2); @a["x"] = 2; exit(7) }' word 5
is "$rc $(printf '%s' "$out" | tr '\n' ' ')" "7 word 5   @a[x]: 2" "a script there: what it prints, its maps, its code" || printf '%s\n' "$err" >&2
echo 'BEGIN { @a = 1; @b = getopt("name", "none"); exit() }' >script.bt
run run --guest "$work/socket" -f json script.bt -- --name=value
like "$rc $(printf '%s' "$out" | tr -d '\n')" '^0 .*"@a": *1' "of a file, as JSON" || printf '%s\n' "$err" >&2
like "$out" '"@b": *"value"' "with named arguments"
run run --guest "$work/socket" -e 'BEGIN { nonsense() }'
like "$rc $(printf '%s' "$err" | tr '\n' ' ')" "^1 stdin:1:.*nonsense" "a mistake is told at its place"
run run --guest "$work/socket" -e 'BEGIN { system("true"); }'
like "$rc $err" "^1 .*unsafe" "it may not run commands"
run run --guest "$work/socket" --unsafe -e 'BEGIN { system("true"); }'
like "$rc $err" "^2 .*in a guest: without --unsafe" "nor be allowed to"
start run --guest "$work/socket" -e "BEGIN { printf(\"__BPFTRACE_NOTIFY_PROBES_ATTACHED\n\"); } tracepoint:sched:sched_process_exec /str(args.filename) == \"./$ours-true\"/ { printf(\"one\n\"); @n = count(); }"
for i in $(seq 20); do "./$ours-true"; done
until_true sh -c "grep -c one trace | grep -q 20"
ok "its lines come while it runs"
stop
like "$rc $(printf '%s' "$out" | tr '\n' ' ')" '^0 (one ){20} *@n: 20 *$' "Ctrl-C: its maps come, too"
"$pantrace" run --guest "$work/socket" -e 'interval:ms:1 { printf("again\n"); }' 2>err | head -1 >out
is "$(cat out)" again "a reader that leaves ends it"
until_true sh -c "! pgrep -P $agent"
ok "there, too"

# ---- guests by the names that QEMU gives them
qemu() # NAME OPTIONS...: a process that looks like it
{
	bash -c 'name=$1; shift; exec -a /usr/bin/qemu-system-x86_64 perl -e "require POSIX; POSIX::setuid(\$ENV{user} // 0); sleep 1000" -- -name "$name,debug-threads=on" "$@"' - "$@" >/dev/null 2>&1 &
}
qemu "guest=db$$" -device virtserialport,chardev=pt,name=pantrace.0 -chardev "socket,id=other,path=/nothing" -chardev "socket,id=pt,path=socket,server=on"
named=$!
qemu "bare$$" -device '{"driver":"vhost-vsock-pci","guest-cid":7}'
twin=$!
qemu "bare$$"
other=$!
until_true sh -c "for p in $named $twin $other; do tr '\\0' ' ' </proc/\$p/cmdline | grep -q '^/usr/bin/qemu.*-name' || exit 1; done"
run record --guest "db$$" -e sched:sched_process_exec -d 0.2 -q -o named
is "$rc $err $(ls named)" "0  db$$" "a guest by its name"
run record --guest "pid=$named" -e sched:sched_process_exec -d 0.2 -q -o pid
is "$rc $err $(ls pid)" "0  pid" "by the number of its process"
run record --guest "bare$$" -e sched:sched_process_exec -o nothing
like "$rc $err" "^1 .*bare$$': 2 guests are called so" "two of one name are told apart by nobody"
kill $other
until_true sh -c "! kill -0 $other 2>/dev/null"
# of another user: its /proc directory is root's all the same, as it may not be dumped
user=65534 qemu "posing$$" -device virtserialport,chardev=pt,name=pantrace.0 -chardev "socket,id=pt,path=socket,server=on"
other=$!
until_true grep -q '^Uid:.*65534.*65534' /proc/$other/status
run record --guest "posing$$" -e sched:sched_process_exec -o nothing
like "$rc $(printf '%s' "$err" | tr '\n' ' ')" "^1 .*'posing$$': the name or PID.*HINT: guests of QEMU here: .*$other" "another user's process is no guest by the name that it gives itself"
run record --guest "posing=$other" -e sched:sched_process_exec -d 0.2 -q -o posing
is "$rc $err $(ls posing)" "0  posing" "by its number it is"
kill $other
run record --guest "bare$$" -e sched:sched_process_exec -o nothing
like "$rc $err" "^1 .*bare$$': no agent is there" "one with vsock, which this machine has not, or where nobody listens"
run record --guest "nobody$$" -e sched:sched_process_exec -o nothing
like "$rc $(printf '%s' "$err" | tr '\n' ' ')" "^1 .*'nobody$$': the name or PID.*HINT: guests of QEMU here: .*db$$" "one that is not there: those that are are named"
# as libvirt starts it: devices in JSON, the socket by its descriptor
bash -c 'exec -a /usr/bin/qemu-system-x86_64 /usr/bin/python3 -c "$1" - -name guest=virt'$$',debug-threads=on -chardev socket,id=charchannel0,fd=30,server=on,wait=off \
	-device "{\"driver\":\"virtserialport\",\"nr\":1,\"chardev\":\"charchannel0\",\"id\":\"channel0\",\"name\":\"pantrace.0\"}"' - "
import os, socket, time
s = socket.socket(socket.AF_UNIX)
s.bind('$work/channel')
s.listen()
os.dup2(s.fileno(), 30)
os.rename('$work/channel', '$work/channel.own')
os.symlink('$work/socket', '$work/channel') # to the agent, which would be behind it
time.sleep(1000)" >/dev/null 2>&1 &
other=$!
until_true [ -L channel ]
run record --guest "virt$$" -e sched:sched_process_exec -d 0.2 -q -o virt
is "$rc $err $(ls virt)" "0  virt$$" "one of libvirt's"
kill $named $twin $other
cat >babble.py <<'PY'
# A host that is none: each of these must end its own conversation, and nothing else.
import socket, struct, sys
def frame(kind, body, n): return struct.pack('<IIQ', kind, len(body), n) + body
mark = b'\x89PTHOST\n' + b'12345678'
hello = lambda protocol: frame(1, struct.pack('<II32s', protocol, 0, b'9'), 0)
for said, want in ((mark + hello(99), b'protocol 99'),
                   (mark + hello(3) + frame(4, bytes(72), 7), b'missing'),
                   (mark + hello(3) + frame(99, b'', 1), b'unknown'),
                   (mark + hello(3) + frame(5, b'-e\0sched:sched_switch', 1), b'without an end'),
                   (mark + hello(3) + struct.pack('<IIQ', 5, 1 << 30, 1), b'size'),
                   (mark + frame(5, b'', 0), b'out of turn'),
                   (b'garbage' * 999 + mark + hello(3) + hello(3)[:8] + struct.pack('<Q', 1) + bytes(40), b'out of turn')):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.settimeout(60)
    s.sendall(said)
    got = b''
    while True:
        part = s.recv(4096)
        if not part: break
        got += part
    print('yes' if want in got else (want, got))
PY
is "$(python3 babble.py "$work/socket" 2>&1 | sort | uniq -c | tr -d '\n ')" 7yes "a host that babbles is told so, and is left"
cat >asks.py <<'PY'
# A host that asks for the time again and again, and never listens.
import socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b'\x89PTHOST\n' + b'12345678' + struct.pack('<IIQ', 1, 40, 0) + struct.pack('<II32s', 3, 0, b'9'))
s.settimeout(5)
try:
    for n in range(1, 1000000, 1000):
        s.sendall(b''.join(struct.pack('<IIQ72x', 4, 72, n + i) for i in range(1000)))
    print('all were taken')
except TimeoutError:
    print('no longer heard')
PY
is "$(python3 asks.py "$work/socket")" "no longer heard" "nor does one that only asks fill its memory"
cat >takes-over.py <<'PY'
# On a port one host takes the place of another without an end between them: the first has begun a recording, and ends within a message.
import socket, struct, sys
def frame(kind, body, n): return struct.pack('<IIQ', kind, len(body), n) + body
def greet(nonce): return b'\x89PTHOST\n' + nonce + frame(1, struct.pack('<II32s', 3, 0, b'9'), 0)
def until(want, got=b''):
    while want not in got: got += s.recv(65536) or sys.exit('%s did not come: %s' % (want, got[-200:]))
    return got.split(want, 1)[1]
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.settimeout(60)
s.sendall(greet(b'thefirst') + frame(5, b'-e\0sched:sched_process_exec\0', 1))
until(struct.pack('<II', 10, 0), until(b'\x89PTAGNT\nthefirst'))
s.sendall(frame(4, bytes(24), 2)[:10] + greet(b'the next') + frame(14, b'text\0BEGIN { print(7); exit() }\0', 1))
until(b'7\n', until(b'\x89PTAGNT\nthe next'))
print('both were served')
PY
is "$(python3 takes-over.py "$work/socket" 2>&1)" "both were served" "a host that takes the place of another one is served anew"
until_true sh -c "! pgrep -P $agent"
ok "and the recording of the first has ended"
run record --guest "there=$work/socket" -e sched:sched_process_exec -d 0.2 -q -o after
is "$rc $err" "0 " "and the next one is served"
cat >liar.py <<'PY'
# An agent that means harm: names and places outside of the directory.
import socket, struct, sys
def frame(kind, body, n): return struct.pack('<IIQ', kind, len(body), n) + body
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
for said in ([(6, struct.pack('<II', 1, 0) + b'../evil')], [(6, struct.pack('<II', 1, 0) + b'/tmp/evil')], [(6, struct.pack('<II', 1, 0) + b'clock')],
             [(7, struct.pack('<IIQ', 5, 0, 0) + b'x')], [(6, struct.pack('<II', 1, 0) + b'trace.dat'), (8, struct.pack('<II', 1, 0) + b'x' * 64)],
             [(12, bytes(16))], [(3, b'\x1b[31mred')]):
    c = s.accept()[0]
    head = c.recv(16, socket.MSG_WAITALL)
    c.sendall(b'\x89PTAGNT\n' + head[8:] + frame(2, struct.pack('<II32s64sq', 3, 0, b'9', b'liar', 0), 0))
    for n, (kind, body) in enumerate(said): c.sendall(frame(kind, body, n + 1))
    c.recv(1 << 16)
    c.close()
PY
python3 liar.py "$work/liar" >/dev/null 2>&1 &
liar=$!
until_true [ -S liar ]
for i in 1 2 3 4 5 6 7; do
	run record --guest "$work/liar" -e sched:sched_switch -o "lied$i"
	printf '%s %s\n' "$rc" "$err"
done >lies
wait $liar
is "$(grep -c '^1 ERROR: liar: ' lies) $(ls -d evil ../evil /tmp/evil lied* 2>/dev/null | wc -l)" "7 0" "an agent that lies: refused each time, nothing is left" || cat lies >&2
unlike "$(cat lies)" "$(printf '\033')" "what it says is escaped"
cat >steals.py <<'PY'
# An agent that tells of steal at the beginning, at the end, and once more.
import socket, struct, sys
def frame(kind, body, n): return struct.pack('<IIQ', kind, len(body), n) + body
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
c = s.accept()[0]
head = c.recv(16, socket.MSG_WAITALL)
c.sendall(b'\x89PTAGNT\n' + head[8:] + frame(2, struct.pack('<II32s64sq', 3, 0, b'9', b'steals', 0), 0))
while b'sched:sched_switch' not in c.recv(65536): pass
c.sendall(frame(10, b'', 1) + b''.join(frame(16, bytes(16), n) for n in (2, 3, 4)))
while c.recv(65536): pass
PY
python3 steals.py "$work/steals" >/dev/null 2>&1 &
liar=$!
until_true [ -S steals ]
run record --guest "$work/steals" -e sched:sched_switch -o stolen -d 20
like "$rc $err" "^[13] .*steals: its agent sent a message out of turn" "steal is told twice: a third time is refused"
unlike "$err" "clock: No such file" "and nothing is looked for that was taken back"
wait $liar
cat >endless.py <<'PY'
# An agent that sends and sends: before the recording is on, then after it was asked to end.
import socket, struct, sys, threading
def frame(kind, body, n): return struct.pack('<IIQ', kind, len(body), n) + body
def hear(c):
    said = b''
    while struct.pack('<II', 11, 0) not in said[-24:]: said += c.recv(1)
    print('asked to end', flush=True)
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
for begun in (0, 1):
    c = s.accept()[0]
    head = c.recv(16, socket.MSG_WAITALL)
    c.sendall(b'\x89PTAGNT\n' + head[8:] + frame(2, struct.pack('<II32s64sq', 3, 0, b'9', b'trace.dat', 0), 0))
    try:
        while c.recv(65536)[:4] != b'\x05\0\0\0': pass
        n = 1
        if begun:
            threading.Thread(target=hear, args=(c,), daemon=True).start()
            c.sendall(frame(10, b'', n)); n += 1
        while True: c.sendall(frame(9, b'more', n)); n += 1
    except OSError:
        pass
PY
python3 endless.py "$work/endless" >endless.said 2>&1 &
liar=$!
until_true [ -S endless ]
"$pantrace" record --guest "$work/endless" -e sched:sched_switch -o endless1 >/dev/null 2>endless.out &
tracer=$!
until_true grep -q more endless.out
kill -INT $tracer
wait $tracer
is "$? $(grep -c 'interrupted before' endless.out) $(ls -d endless1 2>/dev/null)" "1 1 " "an agent that sends without end: Ctrl-C ends it before it has begun"
start record -e sched:sched_process_exec --guest "$work/endless" -e sched:sched_switch -o endless2
until_true grep -q more trace.err
kill -INT $tracer
until_true grep -q 'asked to end' endless.said
stop
is "$rc $(grep -c 'when a second signal came' trace.err)" "3 1" "a second one, after it was asked to end"
like "$(cat trace.err)" 'WARNING: machine-trace.dat: [0-9]* more lines of its agent are not shown' "what it says without end does not fill the terminal"
[ "$(grep -c ': more$' trace.err)" -ge 1000 ] && [ "$(stat -c %s trace.err)" -lt 1000000 ]
ok "a thousand lines at once, and ten a second" || stat trace.err >&2
is "$(ls endless2 | tr '\n' ' ')" "machine-trace.dat state.ndjson trace.dat " "a machine that is called as a file of the recording keeps nothing from beginning"
wait $liar
kill "$agent"
wait "$agent"
is "$? $(grep -c refused agent.err) $(ls socket 2>/dev/null)" "0 7 " "the agent ends, and takes its socket with it"

# 0, 1, 2, the socket and the signals: no descriptor is left for a host
(ulimit -n 5; exec strace -qq -e trace=accept4 -o tries "$pantrace" agent -q "$work/few") 2>/dev/null &
agent=$!
until_true [ -S few ]
run record --guest "$work/few" -e sched:sched_process_exec -o nothing
like "$rc $err" "^1 .*its agent does not answer" "an agent without descriptors"
[ "$(grep -c EMFILE tries)" -gt 0 ] && [ "$(grep -c EMFILE tries)" -lt 1000 ]
ok "which does not spin: $(grep -c EMFILE tries) tries"
pkill -P $agent
wait $agent
done_testing
