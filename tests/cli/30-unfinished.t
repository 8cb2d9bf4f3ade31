#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Files that get their names when they are whole: what a kill leaves between two steps, the next run in that directory removes. strace
# kills at a system call, and hides that a file system has unnamed files.
# parallel: it traces its own children only
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"
need_root
command -v strace >/dev/null || { echo "1..0 # SKIP no strace"; exit 0; }
mkdir "$work/d" && cd "$work/d" || exit 1
echo 'main;f 7' >stacks.txt

left() { find . -name '.?*' | grep -c .; }
# killed_at CALL[:when=N] WORDS...: the tool, at its first (or Nth) CALL
killed_at()
{
	call=$1
	shift
	strace -qq -o "$work/strace" -e trace="${call%:*}" -e inject="$call":signal=KILL "$pantrace" "$@" >/dev/null 2>&1
}
# without_unnamed INJECTED WORDS...: the tool, which makes $made, where no file can be without a name. Which call asks for one, a first run
# shows.
without_unnamed()
{
	injected=$1
	shift
	n=$(strace -qq -P "$work/d" -e trace=openat "$pantrace" "$@" 2>&1 >/dev/null | grep -n O_TMPFILE | cut -d: -f1 | head -n 1)
	rm -rf "$made"
	strace -qq -o "$work/strace" -P "$work/d" -e trace=openat,renameat2 -e inject=openat:error=EOPNOTSUPP:when="$n" \
		-e inject="$injected" "$pantrace" "$@" >/dev/null 2>&1
}

run flame -o f.svg stacks.txt
killed_at renameat flame -o f.svg stacks.txt
is "$(left) $(grep -c '^<svg' f.svg)" "1 1" "a picture that takes the place of one: killed between its two steps"
run flame -o f.svg stacks.txt
is "$rc $(left)" "0 0" "the next one removes what was left"

# what is not ours to remove
perl -MFcntl=:flock -e 'open F, ">", ".pantrace-new-1"; flock F, LOCK_EX; $| = 1; print "held\n"; sleep 1000' >held &
holder=$!
until [ -s held ]; do sleep 0.02; done
echo text >.pantrace-new-2 && chown 4343 .pantrace-new-2
ln -s stacks.txt .pantrace-new-3
mkfifo .pantrace-new-4
mkdir .pantrace-new-5 && : >.pantrace-new-5/file && chmod 777 .
run flame -o f.svg stacks.txt
is "$rc $(left)" "0 5" "one that is being written, another user's, a link, a FIFO, a directory where others may give names stay"
chmod 755 .
kill $holder
wait $holder 2>/dev/null
rm .pantrace-new-[234] held
run flame -o f.svg stacks.txt
is "$rc $(left) $(cat stacks.txt)" "0 0 main;f 7" "a dead one's file and directory go"

# recordings
run record -q -e sched_process_exit -o r.dat -d 0.1
n=$(find . -name '*.dat' -size +0 | grep -c .)
killed_at renameat record -q -e sched_process_exit -o k.dat -d 0.1
run report --count k.dat
is "$(left) $n $rc" "1 1 0" "a recording, killed when its holes are out"
run record -q -e sched_process_exit -o k2.dat -d 0.1
is "$rc $(left)" "0 0" "the next one removes what was left"

run record -q -u 'traced:*' -o user -- "$traced" 100
run report user
want=$(echo "$out" | wc -l)
gzip -k user/*/ring_* user/*/objects # as after a kill before the plain ones go
run report user
is "$rc $(echo "$out" | wc -l)" "0 $want" "streams that are there plain and compressed: each event once"

# where no file can be without a name
for made in f.csv f.ctf; do
	without_unnamed renameat2:signal=KILL convert user $made
	is "$(left) $(ls $made 2>/dev/null | grep -c .)" "1 0" "$made: killed before it gets its own name"
	run convert user $made
	is "$rc $(left)" "0 0" "the next one removes that"
done
done_testing
