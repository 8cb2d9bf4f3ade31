#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# cache: programs and definitions by build-id, in perf's ~/.debug: what perf writes is read here, and perf opens what is written here.
# parallel: nothing is traced
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
export HOME="$work" PERF_CONFIG=/dev/null
cache=$work/.debug
app=$work/app sdt=$programs/sdt.dyn
gcc -g -O1 -o app "$top/tests/programs/typed.c" 2>/dev/null || cp "$programs/calls.dyn" app
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
app_id=$(id_of app) sdt_id=$(id_of "$sdt")
has_perf() { command -v perf >/dev/null && perf probe --help >/dev/null 2>&1; }

run cache
is "$rc$out$err" 0 "no cache: nothing is in it, and none is made"
[ ! -e "$cache" ]
ok "and none is made by looking"

run cache add app "$sdt"
is "$rc" 0 "programs are added"
like "$out" "Added $sdt_id .*sdt.dyn, with [0-9]+ USDT event" "with their USDT events"
is "$(readlink "$cache/.build-id/$(echo "$app_id" | cut -c1-2)/$(echo "$app_id" | cut -c3-)")" "../..$app/$app_id" "the link is laid out as perf does"
cmp -s app "$cache$app/$app_id/elf"
ok "the program is there"
is "$(stat -c %a "$cache")" 700 "other users cannot look into it"
run cache list
like "$out" "^$app_id +[0-9]+ +0 $app\$" "list: a program"
like "$out" "^$sdt_id +[0-9]+ +[1-9][0-9]* .*/sdt.dyn\$" "list: with definitions"
run cache --json
is "$(printf '%s\n' "$out" | python3 -c 'import json,sys; print(*sorted(json.loads(l)["path"].rsplit("/")[-1] for l in sys.stdin))')" "app sdt.dyn" "list --json"
run cache add app
like "$out" "Added $app_id $app" "adding again"
run cache verify
is "$rc$out" 0 "verify finds nothing wrong"

if has_perf; then
	like "$(perf buildid-cache --list 2>&1)" "$app_id $app" "perf buildid-cache --list knows the program"
	events=$(grep -c '^%' "$cache$sdt/$sdt_id/probes")
	is "$(perf probe --cache --list 2>/dev/null | grep -c '^sdt_')" "$events" "perf probe --cache --list shows every event of ours"
	# perf says arguments of registers and memory in the same words; it leaves out constants.
	rm -rf theirs
	perf --buildid-dir "$work/theirs" buildid-cache --add "$sdt"
	sed 's/ arg[0-9]*=\\[^ ]*//g; s/(0x[0-9a-f]*)//' "$cache$sdt/$sdt_id/probes" | grep '^%' | sort >mine
	grep '^%' "theirs$sdt/$sdt_id/probes" | sort >perfs
	is "$(cat mine)" "$(cat perfs)" "the same events as perf's"
	perf --buildid-dir "$work/theirs" buildid-cache --add app
	run cache --buildid-dir theirs
	like "$out" "^$app_id .*$app\$" "what perf added is listed"
	run cache verify --buildid-dir theirs
	is "$rc$out" 0 "and is right"
	run cache remove app --buildid-dir theirs
	unlike "$(perf --buildid-dir "$work/theirs" buildid-cache --list)" "$app_id" "and removed"
else
	skip "perf and this cache" "perf is not installed"
fi

# what has gone or changed
gcc -shared -nostdlib -Wl,--build-id=0x0123456789abcdef -o lib.so -x c /dev/null
run cache add lib.so
is "$rc" 0 "a library is added"
gcc -shared -nostdlib -Wl,--build-id=0xfedcba9876543210 -o lib.so -x c /dev/null
run cache
like "$out" '^0123456789abcdef\* ' "list marks a program that has changed since"
run cache prune -n
like "$out" 'Would remove 0123456789abcdef .*lib.so' "prune -n says what it would remove"
[ -e "$cache/.build-id/01/23456789abcdef" ]
ok "and removes nothing"
run cache prune
is "$rc $(printf '%s\n' "$out" | wc -l)" "0 1" "prune removes that one"
# another program's build-id may begin with the same byte
! ls -d "$cache/.build-id/01/23456789abcdef"* 2>/dev/null && ! rmdir "$cache/.build-id/01" 2>/dev/null && [ ! -e "$cache$work/lib.so" ]
ok "with its directories"
run cache remove "$(echo "$app_id" | cut -c1-6)"
like "$out" "^Removed $app_id $app\$" "remove by the beginning of a build-id"
run cache remove app
is "$rc" 1 "what is not there cannot be removed"
like "$err" "nothing in the cache is of app" "and that is said"
gcc -shared -nostdlib -Wl,--build-id=none -o none.so -x c /dev/null
run cache add none.so
like "$err" "no build-id" "a program without build-id is refused"
run cache add /etc/passwd
like "$err" "it is no ELF file" "what is no program, too"

# damage
probes=$cache$sdt/$sdt_id/probes
cp "$probes" kept
printf 'nonsense\n' >>"$probes"
run cache verify
is "$rc" 1 "verify finds damage"
like "$out" "$sdt_id .*definitions are damaged in line [0-9]+" "and says where"
cp kept "$probes"
printf x | dd of="$cache$sdt/$sdt_id/elf" bs=1 conv=notrunc 2>/dev/null
run cache verify
like "$out" "its copy of the program is damaged" "a damaged copy is found"
run cache remove "$sdt"

# what others could have laid there
mkdir -p outside/1234567890
echo precious >outside/1234567890/elf
mkdir -p "$cache/.build-id/ab" "$cache/.build-id/cd"
ln -s ../../../outside/1234567890 "$cache/.build-id/ab/1234567890"
ln -s ../../link/cd1234567890 "$cache/.build-id/cd/1234567890"
ln -s "$work/outside" "$cache/link"
run cache list
like "$err" "ab/1234567890 is passed over: it is no link of a cache" "a link that leads out of the cache is not followed"
like "$err" "cd/1234567890 is passed over" "nor one by way of a directory that is a link"
run cache prune
run cache remove cd12
is "$(cat outside/1234567890/elf)" precious "and nothing outside is removed"
run cache verify
is "$rc" 1 "verify does not call that right"
chmod 777 "$cache"
run cache list
is "$rc" 1 "a cache that others can write to is refused"
like "$err" "nobody else may write to it" "and why"
chmod 700 "$cache"
if [ "$(id -u)" = 0 ]; then
	chown 12345 "$cache"
	run cache list
	like "$err" "must belong to this user" "another user's is refused"
	chown 0 "$cache"
else
	skip "another user's cache" "needs root"
fi

# ---- definitions: made where debug information is, used where it is not ----
cat >demo.c <<'C'
struct node { long id; struct node *next; const char *name; };
volatile int sink;
__attribute__((noinline)) int handle(struct node *n, const char *msg, int len)
{
	for (int i = 0; i < len; i++)
		sink += msg[i];
	return sink + (int)n->next->id;
}
int main(int argc, char **argv)
{
	struct node n = {.next = &n, .name = argv[0]};
	return handle(&n, argv[0], argc) & 1;
}
C
gcc -g -O2 -o demo demo.c
other=elsewhere
mkdir "$other"
run probe -x demo --cache -n -a 'myev=handle len  id=n->next->id' -a 'handle:3 sink' -a 'handle%return $retval:s32' --buildid-dir defs
is "$rc" 0 "definitions are kept"
demo_id=$(id_of demo)
full=$("$pantrace" probe -x demo -D 'myev=handle len id=n->next->id')
line=$("$pantrace" probe -x demo -D 'handle:3 sink')
like "$(cat "defs$work/demo/$demo_id/probes")" '^#probe_demo:myev=handle len id=n->next->id$' "as perf writes them"
is "$("$pantrace" probe --cache -l --buildid-dir defs | head -n 2)" "$work/demo ($demo_id):
probe_demo:myev=handle len id=n->next->id" "--cache -l shows them"
is "$("$pantrace" probe --cache -l 'my*' --json --buildid-dir defs | jq -r .lines[0])" "$full" "as JSON"
if has_perf; then
	is "$(perf --buildid-dir "$work/defs" probe --cache --list 2>/dev/null)" "$("$pantrace" probe --cache -l --buildid-dir defs)" "perf probe --cache --list shows the same"
else
	skip "perf and these definitions" "perf is not installed"
fi
# the other machine: the directory, and a program without debug information at another place
objcopy --strip-all demo "$other/demo"
run probe -x "$other/demo" -D 'handle:3 sink'
is "$rc" 1 "without the cache: there is no debug information"
is "$("$pantrace" probe -x "$other/demo" --cache --buildid-dir defs -D 'handle:3 sink')" "$(echo "$line" | sed "s|$work/demo|$work/$other/demo|")" "with it: the same, where the program is now"
is "$("$pantrace" probe -x "$other/demo" --cache --buildid-dir defs -D 'myev=handle len id=n->next->id')" "$(echo "$full" | sed "s|$work/demo|$work/$other/demo|")" "members, too"
is "$("$pantrace" probe -x "$other/demo" --cache --buildid-dir defs -D 'mine=handle   len id=n->next->id')" "$(echo "$full" | sed "s|$work/demo|$work/$other/demo|; s|/myev|/mine|")" "under another name"
run probe -x "$other/demo" --cache --buildid-dir defs -D 'myev=handle len'
is "$rc$out" 1 "another definition of that name is not mistaken for it"
# another build
sed -i 's/long id/int other; long id/' demo.c
gcc -g -O2 -o demo demo.c
objcopy --strip-all demo
run probe -x demo --cache --buildid-dir defs -D 'handle:3 sink'
is "$rc$out" 1 "another build-id: the definition is refused"
like "$err" "another build of $work/demo \\(build-id $demo_id\\), which is not this one \\($(id_of demo)\\)" "and why"
run probe --cache -d 'nosuch' --buildid-dir defs
is "$rc" 1 "removing what is not there"
like "$err" '"nosuch" does not hit any event' "is said"
run probe --cache -d 'myev' --buildid-dir defs
like "$err" "Removed cached event: probe_demo:myev" "--cache -d removes by the event's name"
unlike "$("$pantrace" probe --cache -l --buildid-dir defs)" myev "and it is gone"
if has_perf; then
	# what perf keeps is used
	gcc -g -O2 -o demo demo.c
	perf --buildid-dir "$work/theirdefs" probe -x ./demo --cache -n -a 'theirs=handle len' >/dev/null 2>&1
	want=$("$pantrace" probe -x demo -D 'theirs=handle len')
	objcopy --strip-all demo
	is "$("$pantrace" probe -x demo --cache --buildid-dir theirdefs -D 'theirs=handle len')" "$want" "a definition that perf has kept"
else
	skip "a definition of perf" "perf is not installed"
fi

run cache lst
is "$rc" 2 "an unknown command"
like "$err" "did you mean 'list'" "the nearest is named"
run cache add
is "$rc" 2 "add without a file"
run cache list x
is "$rc" 2 "list takes no word"
run cache add --json app
is "$rc" 2 "--json is not for add"
done_testing
