#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Names that no parser of text survives, disks that go away, queues, pages that are half there.
. "$(dirname "$0")/lib.sh"
need_root

dd if=/dev/urandom of="$work/image" bs=1M count=16 2>/dev/null
loop=$(losetup -f --show "$work/image" 2>/dev/null) || loop=
trap '[ -z "$loop" ] || losetup -d "$loop" 2>/dev/null; rm -rf "$work"' EXIT
name=${loop#/dev/}

# A thread with a name of its own opens a file that is not there and reads a disk; prints its pid.
cat >"$work/odd.py" <<'P'
import ctypes, mmap, os, sys
ctypes.CDLL(None).prctl(15, os.fsencode(sys.argv[1]))
try: os.open("/nonexistent/odd", 0)
except OSError: pass
os.kill(os.getpid(), 0)
if len(sys.argv) > 2:
    fd = os.open(sys.argv[2], os.O_RDONLY | os.O_DIRECT)
    for i in range(5): os.preadv(fd, [mmap.mmap(-1, 4096)], i * 4096)
print(os.getpid())
P
for comm in 'two words' '-1-[x] (y)' 'a"b\c' "$(printf 'l1\nl2\tx')" "$(printf '\033[2Jgone')" '<...>-7' 'é€' "$(printf '\377\376')"; do
	shown=$(python3 -c '
import sys
out = ""
for c in sys.argv[1].encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"):
    out += "\\x%02x" % (ord(c) - 0xdc00) if 0xdc80 <= ord(c) <= 0xdcff else "\\x%02x" % ord(c) if ord(c) < 32 else c
print(out)' "$comm")
	start opensnoop 'nonexistent/odd$'
	pid=$(python3 "$work/odd.py" "$comm")
	sleep 0.2
	stop
	is "$(grep -c "$pid" "$work/trace")" 1 "opensnoop, name '$shown': one row"
	is "$(grep "$pid" "$work/trace" | sed "s/ *$pid .*//")" "$shown" "opensnoop: the name is escaped, the columns are where they are"
done
if [ -n "$loop" ]; then
	names_in_json()
	{
		start iosnoop --json -d "$name"
		pid=$(python3 "$work/odd.py" "$1" "$loop")
		sleep 0.2
		stop
		python3 -c '
import json, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
rows = [r for r in rows if r["pid"] == int(sys.argv[3])]
assert [r["block"] for r in rows] == [0, 8, 16, 24, 32], rows
assert all(r["comm"] == sys.argv[2] for r in rows), rows' "$work/trace" "$1" "$pid"
	}
	for comm in 'two words' '-1-[x] (y)' "$(printf 'l1\nl2\tx')"; do
		settled names_in_json "$comm"
		ok "iosnoop --json: a name as it is"
	done
	name_with_blank()
	{
		start iosnoop -d "$name" -n '^two words$'
		python3 "$work/odd.py" 'two words' "$loop" >"$work/pid"
		python3 "$work/odd.py" 'two  words' "$loop" >"$work/pid2"
		sleep 0.2
		stop
		rows="$(grep -c "^two words  *$(cat "$work/pid") " "$work/trace") $(wc -l <"$work/trace" | tr -d ' ')"
		[ "$rows" = "5 6" ]
	}
	settled name_with_blank
	is "$rows" "5 6" "iosnoop -n with a blank"

	# A disk that goes away while requests to it are traced, and another one under its name.
	dd if=/dev/urandom of="$work/image2" bs=1M count=1 2>/dev/null
	goes_away()
	{
		start iosnoop
		dd if="$loop" of=/dev/null bs=4k count=3 iflag=direct 2>/dev/null
		losetup -d "$loop"
		until_true losetup "$loop" "$work/image2"
		dd if="$loop" of=/dev/null bs=8k count=4 iflag=direct 2>/dev/null
		sleep 0.2
		stop
		rows=$(awk -v d="$name" '$1 == "dd" && $4 == d { print $6 }' "$work/trace" | sort | uniq -c | awk '{ print $1, $2 }' | tr '\n' ';')
		[ "$rows" = "3 4096;4 8192;" ]
	}
	settled goes_away
	is "$rows" "3 4096;4 8192;" "a disk that goes away and comes back"
	is "$rc" 0 "is no failure"

	# The queue: with a scheduler requests wait there, and with -Q that time counts.
	queue=/sys/block/$name/queue/scheduler
	all_queued()
	{
		start iosnoop -Q "$@" -d "$name"
		dd if="$loop" of=/dev/null bs=4k count=100 iflag=direct 2>/dev/null
		sleep 0.2
		stop
		rows=$(grep -cw dd "$work/trace")
		[ "$rows" = 100 ]
	}
	if grep -q mq-deadline "$queue" 2>/dev/null && before=$(sed 's/.*\[\(.*\)\].*/\1/' "$queue") && echo mq-deadline >"$queue" 2>/dev/null; then
		settled all_queued -st
		echo "$before" >"$queue"
		is "$rows" 100 "iosnoop -Q: every request, once"
		is "$(awk '$3 == "dd" && ($9 <= 0 || $2 < $1) { n++ } END { print n + 0 }' "$work/trace")" 0 "iosnoop -Q: times go forward"
	else
		settled all_queued
		is "$rows" 100 "iosnoop -Q: without a scheduler time begins at the issue"
	fi
fi

run funccount -F -d 0.3 'vfs_*'
case $rc in
0 | 3) like "$out" '^FUNC +COUNT$' "funccount -F" ;;
*)
	[ "$rc" = 4 ] || [ "$rc" = 5 ]
	ok "funccount -F is refused where the function tracer is (code $rc)"
	like "$err" "tracer 'function'" "and it is said why"
	;;
esac
run funccount -F -u /bin/true 'x*'
is "$rc" 2 "funccount: -F and -u exclude each other"

# Every second page is in the cache: half of what is read is found.
file=${TMPDIR:-/var/tmp}/pantrace-half.$$
trap '[ -z "$loop" ] || losetup -d "$loop" 2>/dev/null; rm -rf "$work" "$file"' EXIT
dd if=/dev/urandom of="$file" bs=1M count=8 2>/dev/null
sync "$file"
cat >"$work/half.py" <<'P'
import ctypes, mmap, os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM) # no read-ahead
ctypes.CDLL(None).mlockall(1) # no page of the interpreter is brought in, with its read-ahead, while it is counted
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
held = libc.mmap(None, ctypes.c_size_t(2048 * 4096), mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0))
there = (ctypes.c_ubyte * 2048)()
for i in range(0, 2048, 2): os.pread(fd, 4096, i * 4096)
open(sys.argv[2], "w").close()
while not os.path.exists(sys.argv[3]): time.sleep(0.01)
libc.mincore(ctypes.c_void_p(held), ctypes.c_size_t(2048 * 4096), there) # the kernel may have taken some back
for i in range(2048): os.pread(fd, 4096, i * 4096)
with open(sys.argv[4] + ".new", "w") as out: print(sum(b & 1 for b in there), file=out)
os.rename(sys.argv[4] + ".new", sys.argv[4])
time.sleep(1000) # its end would end cachestat
P
for seconds in 3 10 60; do # a longer interval where the machine is so busy that it was not done in one
	rm -f "$work/ready" "$work/go" "$work/done"
	python3 "$work/half.py" "$file" "$work/ready" "$work/go" "$work/done" &
	io=$!
	until_true [ -e "$work/ready" ]
	start cachestat -p $io $seconds 1
	: >"$work/go"
	until_true [ -e "$work/done" ]
	sleep 0.3
	early=$(awk '$1 ~ /^[0-9]+$/' "$work/trace")
	wait $tracer
	kill $io
	wait $io 2>/dev/null
	[ -n "$early" ] || break
done
# shellcheck disable=SC2046
set -- $(awk '$1 ~ /^[0-9]+$/' "$work/trace" | tail -1)
echo "# $*"
there=$(cat "$work/done")
[ "$there" -ge 900 ] && [ "${1:-0}" -ge $((there - 24)) ] && [ "$1" -le $((there + 76)) ]
ok "cachestat: those of 2048 pages that are there are found: ${1:-} of $there"
[ "${2:-0}" -ge $((2024 - there)) ] && [ "$2" -le $((2124 - there)) ]
ok "cachestat: the others are missing: ${2:-}"
awk -v ratio="${4:-0}" -v there="$there" 'BEGIN { d = ratio + 0 - there / 20.48; exit !(d > -2 && d < 2) }'
ok "cachestat: a ratio of about a half: ${4:-}"
done_testing
