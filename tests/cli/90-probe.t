#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# probe: definitions as the kernel gets them, events that stay until they are removed, all of a definition or nothing of it,
# and what is wrong at its place.
. "$(dirname "$0")/lib.sh"
need_root
t=/sys/kernel/tracing
[ -e $t/uprobe_events ] || { echo "1..0 # SKIP needs uprobes"; exit 0; }
cp "$programs/probed.dyn" "$work/probed"
chmod 755 "$work" "$work/probed"
app=$work/probed
entry=0x$(nm "$app" | sed -n 's/^0*\([0-9a-f]*\) T handle$/\1/p')

# As the kernel gets it: offsets from the program headers.
is "$($pantrace probe -x "$app" -D handle)" "p:probe_probed/handle $app:$entry" "a function"
is "$($pantrace probe -x "$app" -D 'my:ev=handle%return $retval:s32')" "r:my/ev__return $app:$entry \$retval:s32" "a return"
is "$($pantrace probe -x "$app" -D 'handle a=%edi b=$arg2 %dx:s32 i=\5')" "p:probe_probed/handle $app:$entry a=%di:x32 b=%si %dx:s32 i=\5" "registers"
is "$($pantrace probe "$app" -D handle)" "p:probe_probed/handle $app:$entry" "an absolute path is the target"

# They stay, are listed, are used by others, and go.
err=$($pantrace probe -x "$app" handle 'back=handle%return $retval:s32' 2>&1)
is "$?" 0 "two are added"
like "$err" "^Added new events:$" "it is said"
like "$err" "^  probe_probed:handle  \(on handle in $app\)$" "each with its place"
like "$err" '^  probe_probed:back__return \(on handle%return in .* with \$retval:s32\)$' "and its arguments"
like "$($pantrace probe -l)" "^  probe_probed:handle  \(on .* in $app\)$" "-l lists them"
is "$($pantrace probe -l --json 'probe_probed:back*' | jq -r '[.event, .is_return, .arguments] | join(" ")')" \
	'back__return true arg1=$retval:s32' "as JSON, too, and by a pattern"
$pantrace probe -q -x "$app" handle 2>"$work/err"
is "$?" 1 "a name that is taken is refused"
like "$(cat "$work/err")" 'event "handle" already exists' "with the reason"
$pantrace probe -q -f -x "$app" handle
is "$($pantrace probe -l 'probe_probed:handle*' | wc -l)" 2 "-f adds a number"
is "$($pantrace probe -d 'probe_probed:handle*' 2>&1)" "$(printf 'Removed event: probe_probed:handle\nRemoved event: probe_probed:handle_1')" "-d takes patterns"
$pantrace probe -q -d probe_probed:back__return
is "$(grep -c probe_probed $t/uprobe_events)" 0 "nothing is left"
$pantrace probe -d probe_probed:none 2>"$work/err"
is "$?" 1 "what is not there cannot be removed"
like "$(cat "$work/err")" '"probe_probed:none" does not hit any event' "it is said"

# One that somebody uses cannot go; who has just ended is waited for.
in_use=in_use$$
$pantrace probe -q -x "$app" $in_use:handle=handle
if mkdir $t/instances/$in_use 2>/dev/null; then
	echo 1 >$t/instances/$in_use/events/$in_use/enable
	$pantrace probe -d "$in_use:*" 2>"$work/err"
	is "$?" 1 "an event that is enabled is not removed"
	like "$(cat "$work/err")" "^HINT: it is enabled, or has a trigger, in instance $in_use; " "it is said where it is enabled"
	rmdir $t/instances/$in_use
fi
$pantrace -e "tracepoint:$in_use:handle { @ = count() } BEGIN { system(\"$pantrace probe -d '$in_use:*'\"); exit() }" --unsafe >/dev/null 2>"$work/err"
like "$(cat "$work/err")" "^HINT: a perf event or a BPF program is attached" "of perf events and programs it is said that it is one"
if command -v strace >/dev/null; then
	strace -qq -P $t/uprobe_events -e inject=write:error=EBUSY:when=1..3 -o "$work/strace" $pantrace probe -q -d "$in_use:*"
	is "$? $(grep -c 'EBUSY' "$work/strace") $(grep -c ":$in_use/" $t/uprobe_events)" "0 3 0" "the kernel is asked again while it is in use"
else
	$pantrace probe -q -d "$in_use:*"
fi

# All or nothing.
$pantrace probe -q -x "$app" 'one=handle' 'two=handle x=%nothing' 2>"$work/err"
is "$?" 1 "the second is refused by the kernel"
like "$(cat "$work/err")" '^two=handle x=%nothing$' "at its place"
is "$(grep -c probe_probed $t/uprobe_events)" 0 "and the first is not there any more"
$pantrace probe -q -n -x "$app" handle
is "$(grep -c probe_probed $t/uprobe_events)" 0 "-n changes nothing"

# What is wrong: perf's words, with a place.
refused()
{
	$pantrace probe -x "$app" -D "$1" >"$work/out" 2>"$work/err"
	is "$?" "$2" "$1: the code"
	like "$(cat "$work/err")" "$3" "$1: the reason"
}
refused 'handle:x' 2 "There is non-digit char in line number"
refused 'handle+x' 2 "There is non-digit character in offset"
refused 'handle:4+4' 2 "Offset can't be used with line number"
refused 'handle;a*:4' 1 "."
refused 'handle+4;a' 2 "Lazy pattern can't be used with offset"
refused 'handle:4%return' 2 "Offset/Line/Lazy pattern can't be used with return probe"
refused 'handle@a.c@b.c' 2 "SRC@SRC is not allowed"
refused 'handle%foo' 2 "%foo is not supported"
refused 'handle%return n' 2 "You can't specify local variable for kretprobe"
refused 'a-b=handle' 2 "a-b is bad for event name -it must follow C symbol-naming rule"
refused 'handle n[x]' 2 "Array index must be a number"
refused '0xzz' 2 "Invalid absolute address"
refused 'nosuch' 1 "Probe point 'nosuch' not found"
refused "'handle" 2 "the quote is not closed"
refused "handle $(seq -s ' $comm' 130)" 2 "Too many probe arguments"
refused handle+99999 1 "Offset 99999 is bigger than the size of handle"

# The kernel's limits are counted before anything is written.
cat >"$work/deep.c" <<'END'
struct a { char pad[100000]; struct a *next; int value; char name[200]; struct { int below : 4; unsigned above : 4; } bits; };
struct a top;
#define LONG(n) a_function_whose_name_is_so_long_that_no_event_can_have_it_as_its_name_##n
__attribute__((noinline)) int LONG(1)(struct a *p, int x, double d) { __asm__ volatile("" ::: "memory"); return p->value + x + (int)d; }
__attribute__((noinline)) int LONG(2)(struct a *p, int x, double d) { __asm__ volatile("" ::: "memory"); return p->value - x - (int)d; }
int main(void) { top.next = &top; top.value = 5; return LONG(1)(&top, 3, 1) + LONG(2)(&top, 3, 2); }
END
gcc -g -O1 -o "$work/deep" "$work/deep.c"
long=a_function_whose_name_is_so_long_that_no_event_can_have_it_as_its_name_
deep()
{
	$pantrace probe -x "$work/deep" -D "$@" >"$work/out" 2>"$work/err"
}
deep "e=${long}1 p->next->next->next->next->next->next->value"
like "$(cat "$work/err")" 'its fetch argument would have [67][0-9] characters, the kernel takes 63' "an expression that is too long"
deep "e=${long}1 p->next$(printf -- '->next%.0s' $(seq 15))->value"
is "$?" 1 "too many accesses"
deep "${long}*"
is "$(sed 's/ .*//; s/.*deep.//' "$work/out" | awk '{print length($0) < 64}' | sort -u)" 1 "names are cut"
is "$(sort -u "$work/out" | wc -l)" 2 "and stay different"
deep "$(printf '%070d' 1 | tr 01 ab)=${long}1"
like "$(cat "$work/err")" 'the event.s name has 70 characters, the kernel takes 63' "a name that was given is not cut"
deep "e=${long}1 \$params"
is "$?:$(sed 's/.* p=/p=/' "$work/out")" '0:p=%di:x64 x=%si:s32' "a floating-point parameter does not take the others down"
like "$(cat "$work/err")" 'left out, d: it is in a floating-point register' "and is named"
deep "e=${long}1 d"
is "$?" 1 "asked for by name it is refused"
deep "e=${long}1 p->bits.below"
like "$(cat "$work/err")" 'signed bit-field' "a signed bit-field is refused"
deep "e=${long}1 p->bits.below:u p->bits.above"
like "$(cat "$work/out")" 'below=\+[0-9]+\(%di\):b4@0/32 above=\+[0-9]+\(%di\):b4@4/32$' "bits count from the lowest"
deep "e=${long}1 p->name x x"
like "$(cat "$work/out")" 'name=\+[0-9]+\(%di\):string x=%si:s32 x_2=%si:s32$' "text, and a name twice"

cp "$pantrace" "$work/pantrace"
chmod 755 "$work/pantrace"
setpriv --reuid 65534 --clear-groups "$work/pantrace" probe -x "$app" handle 2>"$work/err"
is "$?" 4 "without privilege: the code"
is "$(setpriv --reuid 65534 --clear-groups "$work/pantrace" probe -x "$app" -D handle)" "p:probe_probed/handle $app:$entry" "-D needs none"

$pantrace probe -a x -l 2>"$work/err"
is "$?" 2 "modes exclude each other"
like "$(cat "$work/err")" "switch \`l' cannot be used with switch \`a'" "in perf's words"
done_testing
