#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# probe -a is all or nothing: killed at any point it leaves no event behind; runs at the same time do not take each other's names.
. "$(dirname "$0")/lib.sh"
need_root
t=/sys/kernel/tracing
[ -e $t/uprobe_events ] || { echo "1..0 # SKIP needs uprobes"; exit 0; }
chmod 755 "$work"
cp "$programs/probed.dyn" "$work/probed"
app=$work/probed
trap '$pantrace probe -q -d "killed:*" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
events()
{
	grep -c ':killed/' $t/uprobe_events
}
none()
{
	[ "$(events)" = 0 ]
}
add()
{
	"$@" $pantrace probe -q -x "$app" killed:a=handle 'killed:b=handle%return $retval:s32' 'killed:c=handle a=%di'
}

# Killed at each write: of the journal, of each event.
command -v strace >/dev/null || { echo "1..0 # SKIP needs strace"; exit 0; }
for call in write unlink; do
	for n in 1 2 3 4 5 6 7 8 9 10; do
		add strace -qq -o "$work/strace" -e trace=$call -e inject=$call:signal=KILL:when=$n 2>"$work/err"
		rc=$?
		[ $rc != 0 ] || break
		until_true none
		is "$rc $(events)" "137 0" "killed at $call $n: no event is left"
	done
	is "$rc $(events)" "0 3" "not killed: all are there"
	is "$((n > 1))" 1 "it was killed before"
	$pantrace probe -q -d 'killed:*'
done
is "$(ls /run/pantrace | grep -c '^pantrace-')" 0 "nor a journal"

# The guard was killed, too: the next run takes back what was being made, and nothing else of that name.
entry=0x$(nm "$app" | sed -n 's/^0*\([0-9a-f]*\) T handle$/\1/p')
main=0x$(nm "$app" | sed -n 's/^0*\([0-9a-f]*\) T main$/\1/p')
printf 'p:killed/left %s:%s\np:killed/other %s:%s\n' "$app" "$entry" "$app" "$main" >>$t/uprobe_events
journal=/run/pantrace/pantrace-4194304-1
for name in left other; do
	record="killed/$name $app:$entry"
	printf 'uprobe_events %d\n%s\n' ${#record} "$record"
done >$journal
is "$($pantrace reset-ftrace --stale -d 2>&1 | grep -c "killed/left $app")" 1 "reset-ftrace shows it"
add
is "$(sed -n 's/^.:killed.\([a-z_]*\) .*/\1/p' $t/uprobe_events | sort | tr '\n' ' ')" "a b__return c other " "the next run takes back what has that name and place"
is "$(test -e $journal && echo there)" "" "and the journal"
$pantrace probe -q -d 'killed:*'

# At the same time.
for i in 1 2 3 4 5 6; do
	$pantrace probe -q -x "$app" killed:one=handle 2>"$work/err.$i" && echo won >>"$work/won" &
done
wait
is "$(wc -l <"$work/won") $(events)" "1 1" "of six runs with the same name one adds it"
is "$(cat "$work"/err.* | grep -c 'event "one" already exists')" 5 "the others say that it is taken"
for i in 1 2 3 4 5 6; do
	$pantrace probe -q -f -x "$app" killed:many=handle 2>>"$work/many" &
done
wait
is "$(cat "$work/many")$(sed -n 's/^p:killed.\(many[_0-9]*\) .*/\1/p' $t/uprobe_events | sort -u | wc -l)" 6 "with -f each has a name of its own"
done_testing
