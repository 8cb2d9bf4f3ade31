#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of addresses where the program is not: from debug files by build-id, in all places where such files are kept; nothing from another build.
# parallel: traces only its own child
. "$(dirname "$0")/lib.sh"

command -v perf >/dev/null || { echo "1..0 # SKIP no perf"; exit 0; }
cd "$work" || exit 1
HOME=$work/nobody
unset XDG_CACHE_HOME DEBUGINFOD_CACHE_PATH DEBUGINFOD_URLS
export HOME

cat >busy.c <<'C'
static volatile unsigned long sink;
static inline __attribute__((always_inline)) void inner_one(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}
__attribute__((noinline)) void outer_busy(unsigned long n) { inner_one(n); }
int main(int argc, char **argv) { for (int i = 0; i < 200; i++) outer_busy(300000 + argc); return 0; }
C
gcc -O1 -g -fno-omit-frame-pointer -Wl,--build-id=sha1 -o busy busy.c
gcc -O1 -g -fno-omit-frame-pointer -Wl,--build-id=sha1 -DOTHER -Dinner_one=another_one -o other busy.c
objcopy --only-keep-debug busy busy.debug
objcopy --only-keep-debug other other.debug
strip busy
id=$(readelf -n busy | sed -n 's/.*Build ID: //p')
head=$(echo "$id" | cut -c1-2) rest=$(echo "$id" | cut -c3-)
perf record -q -F 2000 -k mono -e cpu-clock:u -g -o perf.data ./busy >/dev/null 2>&1
perf record -q -F 2000 -k mono -e cpu-clock:u --call-graph dwarf,4096 -o dwarf.data ./busy >/dev/null 2>&1
run record -q -F 2000 -e cpu-clock:u -g -o ours.data -- ./busy
mv busy gone

named() { # FILE, options: how much of it has the name of the inlined function, in percent, rounded down
	f=$1
	shift
	"$pantrace" report --top symbol "$@" "$f" 2>&1 | awk '$3 == "inner_one" { print int($1) }'
}
most() { [ "${1:-0}" -ge 80 ]; }

is "$(named perf.data)" "" "the program is gone, and so are its names"
mkdir -p dir/.build-id/"$head"
cp other.debug dir/.build-id/"$head"/"$rest".debug
is "$(named perf.data --files dir)" "" "a debug file of another build is not believed"
cp busy.debug dir/.build-id/"$head"/"$rest".debug
for f in perf.data ours.data; do
	most "$(named $f --files dir)"
	ok "$f: a debug file by build-id, the function inlined"
done
run convert --files dir ours.data ours.folded
like "$(cat ours.folded)" ';outer_busy;inner_one [0-9]' "convert has them"
mkdir -p symfs/"$work" system/usr/lib/debug/.build-id/"$head" perf-cache/.build-id/"$head"/"$rest"
cp busy.debug symfs/"$work"/busy.debug
cp busy.debug system/usr/lib/debug/.build-id/"$head"/"$rest".debug
cp gone perf-cache/.build-id/"$head"/"$rest"/elf
cp busy.debug perf-cache/.build-id/"$head"/"$rest"/debug
most "$(named perf.data --symfs symfs)"
ok "--symfs: below another root, by path"
most "$(named perf.data --symfs system)"
ok "--symfs: below another root, by build-id"
mkdir -p "$HOME/.cache/debuginfod_client/$id" client/"$id"
cp busy.debug "$HOME/.cache/debuginfod_client/$id/debuginfo"
most "$(named perf.data)"
ok "debuginfod's cache"
rm -r "$HOME/.cache"
cp busy.debug client/"$id"/debuginfo
most "$(DEBUGINFOD_CACHE_PATH=$work/client named perf.data)"
ok "debuginfod's cache elsewhere"
mkdir -p "$HOME/.debug/.build-id/$head/$rest"
cp busy.debug "$HOME/.debug/.build-id/$head/$rest/debug"
most "$(named perf.data)"
ok "perf's cache"
rm -r "$HOME/.debug"

# another machine: nothing is there but the recording and debug files
if [ "$(id -u)" = 0 ] && mkdir -p root/proc && cp "$pantrace" root/pantrace && cp -r dir ours.data root &&
	chroot root /pantrace --version >/dev/null 2>&1 && mount -t proc none root/proc 2>/dev/null; then
	most "$(chroot root /pantrace report --top symbol --files /dir ours.data 2>/dev/null | awk '$3 == "inner_one" { print int($1) }')"
	ok "in an empty root with debug files"
	umount root/proc
else
	skip "in an empty root with debug files" "no chroot, or no static binary"
fi

# another kernel: its functions are in the recording. Here: the same recording, said to be of another one.
if [ "$(id -u)" = 0 ] && run record -q -F 999 -e cpu-clock:k -g -o kernel.data -- dd if=/dev/zero of=/dev/null bs=1 count=300000 && [ "$rc" = 0 ]; then
	python3 - <<'P'
import re
notes, data = open('/sys/kernel/notes', 'rb').read(), open('kernel.data', 'rb').read()
id = re.search(rb'\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})', notes, re.S).group(1)
data = data.replace(id, b'\xaa' * 20)
open('elsewhere.data', 'wb').write(data)
frame = data.rindex(b'\x28\xb5\x2f\xfd') # of zstd
open('damaged.data', 'wb').write(data[:frame + 64] + b'\xff' * 4096 + data[frame + 64 + 4096:])
P
	# names of modules' functions are those of this moment, which bpf programs come to and leave
	"$pantrace" report kernel.data | grep -v '\[bpf\]' >want
	"$pantrace" report elsewhere.data | grep -v '\[bpf\]' | cmp -s - want && grep -q 'vfs_\(read\|write\)+0x' want
	ok "functions of the kernel, on a machine with another one"
	run report damaged.data
	unlike "$rc $out" '^1|vfs_read\+' "a table of functions that is damaged: no names"
	is "$(perf script -i kernel.data 2>/dev/null | grep -c '^dd ')" "$("$pantrace" report kernel.data | grep -c '^ *dd ')" "perf reads the file"
else
	skip 3 "the kernel is not to be sampled"
fi

# what the same program says of itself is the truth: every named address lies in that function
mv gone busy
"$pantrace" report --files dir perf.data | awk '/busy\)$/ { print $1, $2 }' | grep -v unknown | sort -u >named
nm busy.debug | awk '$3 == "outer_busy" || $3 == "main" { print $1, $3 }' >functions
ok=1
while read -r address name; do
	f=${name%+*}
	at=$(awk -v f="$f" '$2 == f { print $1 }' functions)
	[ -n "$at" ] || continue
	[ "$(printf '%x' $((0x$at + ${name#*+})))" = "$address" ] || ok=0
done <named
[ -s named ] && [ $ok = 1 ]
ok "names and offsets are those of nm"

done_testing
