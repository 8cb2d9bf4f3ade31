#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A process reads a file of 32 MB that is in the cache, and writes 16 MB of it; one that asks the kernel what is there before each access.
# parallel: looks at its own processes
. "$(dirname "$0")/lib.sh"
need_root

file=${TMPDIR:-/var/tmp}/pantrace-cachestat.$$
layers=$file.layers
trap 'rm -rf "$work" "$file" "$file.ahead" "$layers"' EXIT
dd if=/dev/urandom of="$file" bs=1M count=32 2>/dev/null
sync "$file"
cat >"$work/io.py" <<'P'
import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None)
libc.mlockall(1) # no page of the interpreter is brought in, with its read-ahead, while it is counted
what, path = sys.argv[1:3]
fd = os.open(path, os.O_RDWR)
buffer = bytearray(65536)
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

# watch MODES...: what programs/pagecache asked the kernel before each access, in $truth; what the tool says of it, added up, in $told.
# A row each $every seconds; $asleep: the tool is stopped meanwhile.
every=0.2 asleep=''
watch()
{
	rm -f "$work/ready" "$work/go"
	${inside:-env} "$programs/pagecache" "$where" "$work/ready" "$work/go" "$@" >"$work/truth" &
	io=$!
	until_true [ -e "$work/ready" ]
	start cachestat -p $io $every
	[ -z "$asleep" ] || kill -STOP $tracer
	: >"$work/go"
	wait $io
	sleep 0.3
	[ -z "$asleep" ] || kill -CONT $tracer
	stop
	told=$(awk '$1 ~ /^[0-9]+$/ { hits += $1; misses += $2 } END { print hits, misses }' "$work/trace")
	truth=$(cat "$work/truth")
}
judged()
{
	watch "$@"
	is "$told" "$truth" "$*: hits and misses ($truth)"
}
head -c $((128 * 4096 + 100)) /dev/urandom >"$file"
sync "$file"
where=$file
judged cold bytes bytes
judged cold some bytes
judged cold whole whole
judged cold map map
judged cold ahead bytes
judged cold send send
judged cold direct write
asleep=yes
judged cold bytes some # the tool comes to read when several rows are due
every=100 asleep=''
judged cold bytes some # the process ends before a row is due
every=0.2

# Another file system above it; and one whose pages are memory and no cache.
mkdir -p "$layers/lower" "$layers/upper" "$layers/inner" "$layers/merged"
cp "$file" "$layers/lower/f"
cat >"$work/inside" <<'S'
set -e
mount -t overlay overlay -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/inner" "$1/merged"
HELD_BY=$1/upper/f # the program opens it for writing
export HELD_BY
shift
exec "$@"
S
inside="unshare -m sh $work/inside $layers" where=$layers/merged/f
if unshare -m sh "$work/inside" "$layers" true 2>/dev/null; then
	judged cold bytes map send
else
	skip "overlay" "no overlay can be mounted on $layers"
fi
cp "$file" "/dev/shm/pantrace-cachestat.$$"
inside='' where=/dev/shm/pantrace-cachestat.$$
watch bytes map
rm -f "$where"
is "$told" "0 0" "tmpfs is not counted ($truth)"

# While one process reads what is in the cache, another one has a file read ahead that nobody reads.
dd if=/dev/zero of="$file.ahead" bs=1M count=64 2>/dev/null
sync "$file.ahead"
beside_read_ahead()
{
	python3 -c 'import os, sys; os.posix_fadvise(os.open(sys.argv[1], os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)' "$file.ahead"
	"$programs/pagecache" "$file" "$work/r" "$work/ready" whole >/dev/null # in the cache from here on
	start cachestat 1
	python3 - "$file" "$file.ahead" <<-'P'
	import os, sys
	warm, cold = (os.open(f, os.O_RDONLY) for f in sys.argv[1:3])
	for i in range(8):
	    os.posix_fadvise(cold, i << 23, 1 << 23, os.POSIX_FADV_WILLNEED)
	    for n in range(500): os.pread(warm, 4096, n % 128 * 4096)
	P
	sleep 1.2
	stop
	awk '$1 ~ /^[0-9]+$/ { hits += $1; misses += $2; ahead += $7 } END { print hits, misses, ahead }' "$work/trace" >"$work/seen"
	[ "$(cut -d' ' -f2 "$work/seen")" -le 8000 ] # other programs may begin meanwhile, and miss
}
settled beside_read_ahead
# shellcheck disable=SC2046
set -- $(cat "$work/seen")
[ "$1" -ge 4000 ]; ok "4000 hits beside read-ahead: $1"
[ "$3" -ge 8000 ]; ok "which is counted by itself: $3"
[ "$2" -le 8000 ]; ok "and is no miss: $2"

# Where reads cannot be seen: refused, no zeros.
if [ -e /sys/kernel/debug/kprobes ] || ! unshare -m true 2>/dev/null; then
	skip "a kernel that does not show reads" "this one has kprobes, or no mount namespaces"
else
	out=$(unshare -m sh -c 'mount -t tmpfs none /sys/kernel/tracing/events/filemap && exec "$@"' sh "$pantrace" cachestat 0.2 1 2>&1)
	is "$?" 5 "a kernel that does not show reads: unsupported"
	is "$out" "pantrace cachestat: how reads use the page cache cannot be seen here: it takes kprobes and the function filemap_read, or Linux 6.12" "and the reason"
fi

run cachestat -t 0.3 2
is "$(echo "$out" | grep -c '^[0-2][0-9]:[0-5][0-9]:[0-5][0-9] ')" 2 "-t: rows with the time; COUNT ends it"
done_testing
