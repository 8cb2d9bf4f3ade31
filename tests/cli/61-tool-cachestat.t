#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A process reads a file of 32 MB when it is not in the cache, then when it is, and writes 16 MB of it.
. "$(dirname "$0")/lib.sh"
need_root

file=${TMPDIR:-/var/tmp}/pantrace-cachestat.$$
trap 'rm -rf "$work" "$file"' EXIT
dd if=/dev/urandom of="$file" bs=1M count=32 2>/dev/null
sync "$file"
cat >"$work/io.py" <<'P'
import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None)
libc.mlockall(1) # no page of the interpreter is brought in, with its read-ahead, while it is counted
what, path = sys.argv[1:3]
fd = os.open(path, os.O_RDWR)
buffer = bytearray(65536)
if what == "cold": os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
if what == "warm": # locked, so that no reclaim takes pages away before they are read
    pages = mmap.mmap(fd, 0)
    libc.mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(pages))), ctypes.c_size_t(len(pages)))
def wait_for(name):
    while not os.path.exists(sys.argv[3] + name): time.sleep(0.01)
open(sys.argv[3] + "ready", "w").close() # whatever the interpreter itself reads is read
wait_for("go")
if what == "some":
    for i in range(100): os.pread(fd, 1 << 20, (32 << 20) - 4096) # beyond the end, there is one page
elif what == "write":
    for i in range(256): os.write(fd, buffer)
else:
    while os.readv(fd, [buffer]): pass
open(sys.argv[3] + "done", "w").close()
wait_for("end")
os._exit(0)
P

# measure WHAT: one interval around it, for this process alone; a longer one where the machine is so busy that it was not done in it
measure()
{
	row='$1 ~ /^[0-9]+$/'
	for seconds in 2 10 60; do
		rm -f "$work/ready" "$work/go" "$work/done" "$work/end"
		python3 "$work/io.py" "$1" "$file" "$work/" &
		io=$!
		until_true [ -e "$work/ready" ]
		start cachestat -p $io -D $seconds 1
		: >"$work/go"
		until_true [ -e "$work/done" ]
		sleep 0.3
		early=$(awk "$row" "$work/trace")
		wait $tracer
		: >"$work/end"
		wait $io
		[ -n "$early" ] || break
		echo "# not done within $seconds s" >&2
	done
	# shellcheck disable=SC2046
	set -- $(awk "$row" "$work/trace" | tail -1)
	hits=$1 misses=$2 dirties=$3 ratio=$4
	echo "# $*"
}

measure cold
[ "$misses" -ge 8192 ] && [ "$misses" -le 8300 ]; ok "8192 pages were missing: $misses"
[ "$hits" -le 300 ]; ok "none was found: $hits"
measure warm
[ "$hits" -ge 8192 ] && [ "$hits" -le 8300 ]; ok "8192 pages were found: $hits"
[ "$misses" -le 50 ]; ok "none was missing: $misses"
[ "${ratio%.*}" -ge 99 ]; ok "a ratio of 100 %: $ratio"
measure some
[ "$hits" -ge 100 ] && [ "$hits" -le 260 ]; ok "what lies beyond the end of the file is not counted: $hits"
sync "$file"
measure write
[ "$dirties" -ge 4096 ] && [ "$dirties" -le 4200 ]; ok "4096 pages became dirty: $dirties"
[ "$misses" -le 50 ]; ok "writes are no misses: $misses"
like "$(cat "$work/trace")" '^ +HITS +MISSES +DIRTIES +RATIO BUFFERS_MB CACHE_MB ' "columns"
run cachestat -t 0.3 2
is "$(echo "$out" | grep -c '^[0-2][0-9]:[0-5][0-9]:[0-5][0-9] ')" 2 "-t: rows with the time; COUNT ends it"
done_testing
