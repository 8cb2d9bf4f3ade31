#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Events that probe has made, in scripts and tools: their fields are what the program prints of its variables; what no program can be
# attached to is refused with the reason.
. "$(dirname "$0")/lib.sh"
need_root
t=/sys/kernel/tracing
[ -e $t/uprobe_events ] || { echo "1..0 # SKIP needs uprobes"; exit 0; }
chmod 755 "$work"
trap '$pantrace probe -q -d "scripted:*" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
cat >"$work/t.c" <<'C'
#include <stdio.h>
struct item { int id; const char *name; short kinds[3]; struct item *next; unsigned a : 3, b : 7; };
long total = 100;
__attribute__((noinline)) int work(struct item *p, int n, const char *text, unsigned char small)
{
	total += n;
	return p->next->id * n + text[0] + small;
}
int main(void)
{
	struct item second = {.id = -77, .name = "second"}, first = {.kinds = {7, -8, 9}, .next = &second, .a = 5, .b = 99};
	printf("%s\n", second.name);
	for (int i = 0; i < 3; i++) {
		char text[8] = {(char)('a' + i), 'b', 0};
		printf("WORK %d %s %d %d %s %d %d %d %ld %u\n", i - 1, text, 200 + i, second.id, second.name, first.kinds[0], first.kinds[1],
		       first.kinds[2], total, first.b);
		printf("BACK %d\n", work(&first, i - 1, text, (unsigned char)(200 + i)));
	}
	return 0;
}
C
gcc -O1 -g -o "$work/t" "$work/t.c"
$pantrace probe -q -x "$work/t" 'scripted:work=work n text:string small next=p->next->id name=p->next->name:string kinds=p->kinds total b=p->b:u me=$comm' \
	'scripted:back=work%return $retval:s32'
is "$?" 0 "events are made"
run -q -c "$work/t" -e 'tracepoint:scripted:work { printf("IS %d %s %d %d %s %d %d %d %d %d\n", args.n, str(args.text_string), args.small, args.next,
	str(args.name), args.kinds[0], args.kinds[1], args.kinds[2], args.total, args.b); }
	scripted:back__return { printf("RETURNED %d %d\n", args.arg1, retval); }'
is "$rc$err" 0 "a script uses them"
is "$(sed -n 's/^IS //p' "$work/out")" "$(sed -n 's/^WORK //p' "$work/out")" "numbers, texts, members, arrays, globals, bit-fields"
is "$(sed -n 's/^RETURNED //p' "$work/out")" "$(sed -n 's/^BACK \(.*\)/\1 \1/p' "$work/out")" "what a function returns"
run -q -c "$work/t" -e 't:scripted:* { @[probe] = count(); } t:scripted:work { @sum[func, strlen(str(args.text_string))] = sum(args.n + 2); }'
like "$out" '@sum\[work, 2\]: 6$' "func, and values that are counted"
like "$out" '@\[tracepoint:scripted:back__return\]: 3$' "both by a pattern"
run -e 'tracepoint:scripted:work { print(args.me); }'
like "$err" "Can't read field me here" "what a program cannot read"
like "$err" "HINT: it is the name of the thread: comm" "and what can be used"
run -e 'tracepoint:scripted:work { print(args.other); }'
like "$err" "Can't find field other" "no such field"
like "$($pantrace list -v 'tracepoint:scripted:work')" 'char \*text_string' "list -v shows the types"
run stat -e scripted:work -- "$work/t"
like "$out$err" ' 3 +scripted:work' "stat counts it"
run hist scripted:work keys=n:vals=small -- "$work/t"
like "$out" '^ *-1 +1 +200 ' "hist has its fields"

# Several places that have the field elsewhere are one event for the kernel; a program could not tell them apart.
second=$(sed -n "/scripted.work/{s/0x[0-9a-f]*/0x$(nm "$work/t" | sed -n 's/^0*\([0-9a-f]*\) T main$/\1/p')/; s/n=%si/n=%di/p}" $t/uprobe_events)
if echo "$second" >>$t/uprobe_events 2>/dev/null; then
	run -e 'tracepoint:scripted:work { print(args.n); }'
	like "$err" "the event has several places" "several places"
else
	skip "several places" "this kernel takes no second place"
fi
$pantrace probe -d 'scripted:*' 2>"$work/err"
is "$? $(grep -c . "$work/err")" "0 2" "an event of several places is removed once"

# Events made of others have no program.
if { echo 'scripted_made int x' >>$t/synthetic_events; } 2>/dev/null; then
	run -e 'tracepoint:synthetic:scripted_made { print(args.x); }'
	is "$rc" 1 "a synthetic event is refused"
	like "$err" "is made by ftrace of other events: no program can be attached to it" "with the reason"
	like "$err" "HINT: .*pantrace tpoint synthetic:scripted_made" "and what can be done"
	echo '!scripted_made int x' >>$t/synthetic_events
else
	skip "synthetic events" "this kernel has none"
fi
done_testing
