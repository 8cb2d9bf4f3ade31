#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever the moment in which a recorder is killed, the next one finds what it left, and removes nothing else.
# parallel: has directories of its own where programs and recorders meet
. "$(dirname "$0")/alone.sh"
. "$(dirname "$0")/lib.sh"
export PANTRACE_RUNTIME="$work/runtime"
rings=/dev/shm/pantrace-$(id -u)
cd "$work" || exit 1
command -v strace >/dev/null || { echo "1..0 # SKIP needs strace"; exit 0; }
mkdir -m 700 "$PANTRACE_RUNTIME"

# left: names of sockets, descriptions and rings
left() { ls -A "$PANTRACE_RUNTIME" "$PANTRACE_RUNTIME/sessions" "$rings" 2>/dev/null | grep -E -v '^(clock|sessions|[.]lock|/.*:|)$'; }
nothing_left() { [ -z "$(left)" ]; }
# killed SYSCALL NUMBER WORDS...: before its call of this number
killed()
{
	point="$1:when=$2"
	name=$1
	shift 2
	rm -rf recorded
	strace -o /dev/null -e "trace=$name" -e "inject=$point:signal=KILL" "$pantrace" "$@" >killed.out 2>&1
	code=$?
}
next() { rm -rf next; run record -q -u none:one -o next -- true; }

next
until_true nothing_left
ok "a recorder that ends leaves nothing"
for at in bind:1 chmod:1 listen:1 mkdir:3 mkdir:4 symlinkat:1 renameat2:1 link:1 unlink:2 unlink:3 rename:1 unlink:4; do
	killed "${at%:*}" "${at#*:}" record -q -u none:one -d 0.05 -o recorded
	is "$code" 137 "killed before $at: $(left | tr '\n' ' ')"
	next
	until_true nothing_left
	ok "nothing is left after the next run" || left | sed 's/^/# /'
done
for at in bind:1 listen:1 symlinkat:1 link:1; do
	killed "${at%:*}" "${at#*:}" user trigger none:one notify -d 0.05
	next
	until_true nothing_left
	ok "user trigger, killed before $at: nothing" || left | sed 's/^/# /'
done

# ---- a session that is there, whose recorder was killed, and one of another runtime directory
rm -rf recorded
run user start box -u none:one
"$pantrace" record --session box -q -o recorded >/dev/null 2>&1 &
recorder=$!
until_true grep -q "recorder $recorder" "$PANTRACE_RUNTIME/sessions/box"
kill -9 $recorder
wait $recorder 2>/dev/null
"$pantrace" record --session kept -u none:one -q -o second >/dev/null 2>&1 &
recorder=$!
until_true grep -q "recorder $recorder" "$PANTRACE_RUNTIME/sessions/kept"
kill -9 $recorder
wait $recorder 2>/dev/null
PANTRACE_RUNTIME=$work/other "$pantrace" user start other -u none:one
run user start gone -u none:one
rm "$PANTRACE_RUNTIME/sessions/gone"
mkdir "$rings/strange"
touch "$PANTRACE_RUNTIME/ask-1x" "$PANTRACE_RUNTIME/ask-4194305"
next
removed() { [ ! -e "$rings/gone" ]; }
until_true removed
ok "rings whose session is gone are removed"
is "$(ls "$rings" | tr '\n' ' ')" "box kept other strange " "those of sessions that are there, of other directories' and nobody's are not"
is "$(ls "$PANTRACE_RUNTIME" | grep ask- | sort | tr '\n' ' ')" "$(printf "%s\n" ask-1x ask-4194305 "ask-$recorder" | sort | tr "\n" " ")" "nor the socket for the next recorder of a session, nor what is no socket"
rm "$PANTRACE_RUNTIME/ask-1x" "$PANTRACE_RUNTIME/ask-4194305"
PANTRACE_RUNTIME=$work/other "$pantrace" user destroy other
run user destroy box
run user destroy kept
rmdir "$rings/strange"
until_true nothing_left
ok "their ends leave nothing" || left | sed 's/^/# /'

# ---- rings of an older session are not taken for those of a new one with its name
run user start again -u none:one
touch "$rings/again/0-0.pantrace"
rm "$PANTRACE_RUNTIME/sessions/again"
run user start again -u none:one
is "$rc $(ls "$rings/again")" "0 " "a new session begins without another's rings"
run user destroy again
done_testing
