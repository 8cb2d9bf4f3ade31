#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record --to: the kernel's events, samples and programs in one recording at a relay, also at one that stands still, is full, or is gone.
# among tracers: counts events of its own commands
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"
need_root
[ -d /sys/kernel/tracing/instances ] || { echo "1..0 # SKIP no tracefs"; exit 0; }
command -v trace-cmd >/dev/null || { echo "1..0 # SKIP no trace-cmd"; exit 0; }
cd "$work" || exit 1

# relay_start ARGS...: in the background, at $work/sock, into $work/store
relay_start()
{
	rm -rf sock store
	"$pantrace" relay -q --listen "unix:$work/sock" "$@" store >relay.out 2>relay.err &
	relay=$!
	until_true [ -S "$work/sock" ]
}
relay_stop() { kill "$1" $relay 2>/dev/null; wait $relay 2>/dev/null; }
trap 'kill -KILL $relay 2>/dev/null; rm -rf "$work"' EXIT
host=$(uname -n)
copy() { printf 'dd if=/dev/zero of=/dev/null bs=1 count=%s 2>/dev/null' "$1"; }
counted() { "$pantrace" report -c ${2:+-e "$2"} "$1" 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'; }
kept() { printf '%s\n' "$err" | sed -n 's/^\([0-9]*\) events of the kernel, .*/\1/p' | tail -1; }
lost() { printf '%s\n' "$err" | sed -n 's/.*; \([0-9]*\) lost$/\1/p' | tail -1; }

# ---- all of a recording
relay_start
run record -e 'raw_syscalls:sys_enter /args.id == 0 || args.id == 1/' -e cpu-clock -u 'traced:*' --to "unix:$work/sock" -- \
	sh -c "$(copy 5000); '$traced' 300"
is "$rc" 0 "the kernel's events, samples, programs" || printf '%s\n' "$err" | sed 's/^/# /' >&2
like "$err" "all of it is at unix:$work/sock" "is said to be there"
here=store/$host
ls $here | grep -v '^traced-' | tr '\n' ' ' >names
is "$(cat names)" "perf.data state.ndjson trace.dat " "its files, as record makes them"
is "$(trace-cmd report -i $here/trace.dat 2>/dev/null | grep -c 'sys_enter:')" "$(kept)" "trace-cmd reads what was kept: $(kept)"
[ "$(trace-cmd report -i $here/trace.dat 2>/dev/null | grep -c 'dd-.*NR 0 ')" -ge 5000 ]
ok "and that is what dd did"
is "$(counted $here 'traced:step')" 300 "events of the program"
perf script -i $here/perf.data -F event >/dev/null 2>&1
ok "perf reads the samples"
[ "$(find $here -type f -size +8000k | wc -l)" = 0 ]
ok "without the holes of a file that grows"
run record -e raw_syscalls --to "unix:$work/sock" -o named -- true
is "$rc $([ -f store/named/trace.dat ] && echo there)" "0 there" "-o names it"

# ---- a relay that stands still: the rings fill, and the kernel counts
run record -b 64 -e 'raw_syscalls:sys_enter /args.id == 0/' --to "unix:$work/sock" -o slow -- \
	sh -c "$(copy 20000); kill -STOP $relay; $(copy 150000); kill -CONT $relay; $(copy 20000)"
is "$rc" 3 "a relay that stood still: losses"
all=$(($(kept) + $(lost)))
[ "$(lost)" -gt 0 ] && [ $all -ge 190000 ] && [ $all -le 191000 ]
ok "kept ($(kept)) + lost ($(lost)) = what dd read: 190,000, and what programs read at their start"
is "$(counted store/slow)" "$(kept)" "kept: what is there"
"$pantrace" report store/slow >/dev/null 2>&1
is "$?" 3 "it says itself that events are lost"
is "$(trace-cmd report -i store/slow/trace.dat 2>/dev/null | grep -c 'sys_enter:')" "$(kept)" "trace-cmd reads it"

# ---- one that is killed, and comes back: the rest goes into the same files
{ until_true [ -e killed ]; exec "$pantrace" relay -q --listen "unix:$work/sock" store; } >back.out 2>back.err &
back=$!
run record -b 64 -e 'raw_syscalls:sys_enter /args.id == 0/' -e cpu-clock --to "unix:$work/sock" -o broken -- \
	sh -c "$(copy 20000); kill -KILL $relay; : >killed; $(copy 150000); $(copy 20000)"
wait $relay 2>/dev/null
relay=$back
like "$rc $err" "^[03] .*WARNING: relay at unix:.*the connection broke; recording continues" "a relay that was killed, and came back: the recording goes on"
all=$(($(kept) + $(lost)))
[ $all -ge 190000 ] && [ $all -le 191000 ]
ok "kept ($(kept)) + lost ($(lost)) = what dd read" || printf '%s\n' "$err" | sed 's/^/# /' >&2
is "$(counted store/broken raw_syscalls:sys_enter)" "$(kept)" "kept: what is there"
is "$(trace-cmd report -i store/broken/trace.dat 2>/dev/null | grep -c 'sys_enter:')" "$(kept)" "trace-cmd reads it"
perf script -i store/broken/perf.data -F event >/dev/null 2>&1
ok "perf reads the samples"

# ---- one that is killed, and does not come back: who asks twice for the end need not wait
mkdir away
"$pantrace" relay -q --listen "unix:$work/away.sock" away >away.relay 2>&1 &
other=$!
until_true [ -S "$work/away.sock" ]
"$pantrace" record -e raw_syscalls:sys_enter --to "unix:$work/away.sock" -o missed >away.out 2>away.err &
recorder=$!
until_true sh -c 'ls away/*/trace.dat'
kill -KILL $other
wait $other 2>/dev/null
kill -INT $recorder
sleep 0.2
kill -INT $recorder
wait $recorder
is "$? $(grep -o 'it was not waited for any longer' away.err)" "1 it was not waited for any longer" "asked twice to end, it does not wait for the relay" || sed 's/^/# /' away.err >&2

# ---- one that is gone
cat >gone.sh <<EOF
$(copy 20000)
until [ "\$("$pantrace" report -c store/gone 2>/dev/null | awk '{ n += \$1 } END { print n + 0 }')" -ge 20000 ]; do sleep 0.1; done
kill -KILL $relay
$(copy 20000)
sleep 1000
EOF
run record -e raw_syscalls:sys_enter --to "unix:$work/sock" -o gone -- sh gone.sh
is "$rc" 1 "a relay that is gone ends the recording"
like "$err" "relay at unix:$work/sock: .*What has arrived|relay at unix:$work/sock: [A-Z]" "is an error"
[ "$(counted store/gone)" -ge 20000 ]
ok "what had arrived can be read: $(counted store/gone)"
wait $relay 2>/dev/null

# ---- one with a limit, and none
relay_start --max-bytes 300000
run record --no-state -e raw_syscalls:sys_enter --to "unix:$work/sock" -- sh -c "$(copy 300000); sleep 1000"
like "$rc $(echo $err)" "^1 .*has used up its 300000 bytes at the relay" "a full one says so"
relay_stop -TERM
run record -e raw_syscalls --to "unix:$work/sock" -- true
like "$rc $(echo $err)" "^1 .*no relay answers at unix:.*pantrace relay --listen" "nobody there"
run record -e raw_syscalls --to nowhere -- true
like "$rc $err" "^1 .*'nowhere' does not name a relay" "no place"
run record -e raw_syscalls --to "unix:$work/sock" --rotate-size 1M --keep 2 -- true
like "$rc $err" "^2 .*nothing is removed at a relay: without --keep" "--keep"

# ---- through ssh
printf '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nexec sh -c "$3"\n' >ssh
chmod +x ssh
PANTRACE_SSH=$work/ssh PANTRACE_REMOTE=$pantrace
export PANTRACE_SSH PANTRACE_REMOTE
run record -e 'raw_syscalls:sys_enter /args.id == 0/' --to "ssh://me@far/$work/by ssh" -o it -- dd if=/dev/zero of=/dev/null bs=1 count=3000
is "$rc $(counted 'by ssh/it')" "0 $(kept)" "through ssh"

done_testing
