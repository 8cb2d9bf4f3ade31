#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What is there already when a command writes: recordings are kept as FILE.old, directories refused, conversions refused without --force,
# pictures replaced.
# among tracers: looks at files only
. "$(dirname "$0")/lib.sh"
need_root
cd "$work" || exit 1
inode() { stat -c %i "$1" 2>/dev/null; }

# kept FILE WORDS...: the command writes FILE; what was there is FILE.old then, and where the command fails, FILE still
kept()
{
	file=$1
	shift
	before=$(inode "$file")
	run "$@"
	[ "$rc" = 0 ] && [ "$(inode "$file.old")" = "$before" ] && [ "$(inode "$file")" != "$before" ]
	ok "$1: the older $file is $file.old" || { ls -li; echo "# $err"; }
}
record() { run record -q "$@" -- true; }
record -e sched_switch -o t.dat
record -F 99 -o p.data
kept t.dat record -q -e sched_switch -o t.dat -- true
kept p.data record -q -F 99 -o p.data -- true
cp t.dat t-0.dat
kept t-0.dat split -q -c t.dat
cp t.dat r.dat
kept r.dat restore -q -o r.dat t.dat
for file in t.dat p.data; do
	before=$(inode $file)
	run record -q -e sched_switch -F 99 -o $file -- "$work/nosuch"
	is "$rc$(inode $file)" "1$before" "a recording that does not begin leaves $file as it was"
done
: >empty.dat
record -e sched_switch -o empty.dat
is "$rc$(ls empty.dat.old 2>/dev/null)" 0 "of an empty file nothing is kept"
mkdir t.dat.old.d && rm -f t.dat.old && mv t.dat.old.d t.dat.old
before=$(inode t.dat)
record -e sched_switch -o t.dat
is "$rc$(inode t.dat)" "1$before" "a directory in the way of FILE.old: refused"
like "$err" "^ERROR: cannot write 't\.dat': there is one already" "in words"
rmdir t.dat.old
chmod 1777 "$work"
echo theirs >t.dat.old && chown 4343 t.dat.old
record -e sched_switch -o t.dat
is "$rc$(cat t.dat.old)" 1theirs "another user's FILE.old in a directory for all: refused"
chmod 700 "$work"

for words in '-e sched_switch -F 99' '-u none:* -e sched_switch' '-F 99 -G nosuch'; do
	# shellcheck disable=SC2086
	run record -q $words -o failed -- "$work/nosuch"
	[ "$rc" != 0 ] && [ ! -e failed ]
	ok "$words: what does not begin leaves no directory, and may be tried again" || { ls failed; echo "# $err"; }
done
record -e sched_switch -o directory
before=$(find directory -type f -exec md5sum {} + | sort)
record -e sched_switch -o directory
is "$rc$(find directory -type f -exec md5sum {} + | sort)" "1$before" "a directory with a recording: refused, and as it was"
mkdir new
record -e sched_switch -o new
is "$rc" 0 "an empty one is taken"

# who may rename the directory above leads the recorder nowhere else
mkdir above victim
echo theirs >victim/t.dat
start record -q -e sched:sched_switch -o above/t.dat
mv above moved && ln -s victim above
stop
is "$rc$(head -c 10 victim/t.dat | tr -cd a-z)" 0theirs "a directory that is exchanged while it is recorded: nothing is written elsewhere"
rm above && mv moved above
start record -q -e sched:sched_switch -o above/r.dat --rotate-time 0.1 --keep 2
mv above moved && ln -s victim above
until_true [ -e moved/r-000004.dat ]
stop
is "$rc$(ls victim | tr '\n' ' ')" "0t.dat " "nor are the next files of a series made elsewhere"
is "$(ls moved | grep -c '^r-')" 2 "and the oldest go from where they are"
[ "$("$pantrace" report --count moved/t.dat | grep -c sched_switch)" = 1 ]
ok "the recording is where it was begun"

# ---- what is made of recordings
run convert t.dat c.csv
before=$(inode c.csv)
run convert t.dat c.csv
is "$rc$(inode c.csv)" "1$before" "convert: what is there is refused"
run convert --force t.dat c.csv
[ "$rc" = 0 ] && [ "$(inode c.csv)" != "$before" ]
ok "convert --force: replaced"
run heatmap --offset -o h.html t.dat
before=$(inode h.html)
run heatmap --offset -o h.html t.dat
[ "$rc" = 0 ] && [ "$(inode h.html)" != "$before" ]
ok "a picture is replaced"
before=$(inode t.dat)
for words in 'heatmap --offset -o t.dat t.dat' 'heatmap --offset --json -o t.dat t.dat' 'flame -o t.dat t.dat' 'flame -o t.dat -d 0.1'; do
	# shellcheck disable=SC2086
	run $words
	[ "$rc" != 0 ] && [ "$(inode t.dat)" = "$before" ]
	ok "$words: a recording is not replaced by a picture"
done
done_testing
