#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# One condition, wherever one may be given: it selects the same events, and what is wrong with it is said in the same words.
# The truth is arithmetic: three processes write 1 to 50 bytes each; a program counts to a hundred.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-app.sh"
cd "$work" || exit 1

# ---- events of the kernel
write=syscalls:sys_enter_write
cp "$programs/syscalls" ./doors
# CONDITION NUMBER: through a script, the kernel's filter, a histogram, a tool
doors()
{
	run tpoint $write "$1" -- ./doors 50
	is "$(echo "$out" | grep -c 'write(')" "$2" "tpoint: $1"
	run hist --engine bpf $write keys=fd "if $1" -- ./doors 50
	like "$out" "^Totals: $2 hits" "hist: $1"
	run perf-stat-hist -b 1000 -f "$1" $write count -- ./doors 50
	is "$(echo "$out" | sed -n 's/^ *0 -> 1000 *: *\([0-9]*\).*/\1/p')" "$2" "a tool: $1"
}
is "$("$pantrace" -q -e "tracepoint:$write /comm == \"doors\" && args.count > 25/ { @ = count() }" -c './doors 50' | sed -n 's/^@: //p')" 75 "a script"
doors 'comm == "doors" && args.count > 25' 75
doors 'COMM == "doors" && count > 25' 75
doors 'comm ~ "do*" && 25 < count && !(count == 30 || count == 0x1f)' 69
doors "COMM == 'doors' && (count & 1)" 75
run tpoint $write 'count + 1 > fd' -- ./doors 1
is "$rc" 1 "what the kernel's filters cannot say is refused"
like "$err" '^filter:1:1-15: ERROR: the kernel.s filters cannot say this' "at its place"
run hist $write keys=fd 'if comm == "doors" && count * 2 > 50' -- ./doors 50
like "$out" '^Totals: 75 hits' "a histogram can, in BPF"

# ---- a recording of them
t=/sys/kernel/tracing
i=$t/instances/doors.$$
if command -v trace-cmd >/dev/null && mkdir "$i" 2>/dev/null; then
	echo mono >"$i/trace_clock"
	echo 1 >"$i/events/syscalls/sys_enter_write/enable"
	"$PWD/doors" 50 >/dev/null
	echo 0 >"$i/tracing_on"
	trace-cmd extract --date -B "$(basename "$i")" -o doors.dat >/dev/null 2>&1
	rmdir "$i" 2>/dev/null
	for c in 'comm == "doors" && args.count > 25' 'comm ~ "do*" && count > 25' 'COMM == "doors" && 25 < count'; do
		is "$("$pantrace" report -c -w "$c" doors.dat 2>/dev/null | awk '{ print $1, $2 }')" "75 $write" "report: $c"
	done
	is "$("$pantrace" report -c -w comm=doors -w 'count>25' doors.dat 2>/dev/null | awk '{ print $1 }')" 75 "report: FIELD=VALUE"
	run report -w 'cuont > 25' doors.dat
	like "$err" "no event in what was read has a field 'cuont'" "report: no such field"
	like "$err" "did you mean 'count'" "report: with the nearest"
fi

# ---- events of programs
cat >shop.c <<'EOC'
#include <pantrace/pantrace.h>

int main(void)
{
	for (int i = 0; i < 100; i++)
		PANTRACE(shop, order, PT_NAMED(n, i), PT_NAMED(share, i / 100.0), PT_NAMED(url, i % 2 ? "/a/odd.html" : "/even"));
}
EOC
gcc -O2 -std=gnu17 -D_GNU_SOURCE -I"$top/include" shop.c "$lib/libpantrace.a" -lpthread -o shop
run record -u 'shop:*' -o all -- ./shop
is "$rc" 0 "a recording of a program"
k=0
for c in 'args.n >= 60 && args.n < 70' 'n >= 60 && 70 > n' 'n / 10 == 6' 'n >= 60 && !(n >= 70)'; do
	k=$((k + 1))
	run record -u 'shop:*' --filter "$c" -o "f$k" -- ./shop
	is "$("$pantrace" report -c -e shop:order "f$k" | awk '{ print $1 }')" 10 "record --filter: $c"
	is "$("$pantrace" report -c -w "$c" all | awk '{ print $1 }')" 10 "report -w: $c"
done
run record -u 'shop:*' --filter 'url ~ "/a/*"' -o glob -- ./shop
is "$("$pantrace" report -c -e shop:order glob | awk '{ print $1 }') $("$pantrace" report -c -w 'url ~ "/a/*"' all | awk '{ print $1 }')" "50 50" "a pattern"
is "$("$pantrace" report -c -w 'url=*.html' all | awk '{ print $1 }')" 50 "report: FIELD=PATTERN"
is "$("$pantrace" report -c -w 'url!=*.html' all | awk '{ print $1 }')" 50 "report: FIELD!=PATTERN"
is "$("$pantrace" report -c -w 'share >= 0.5 && share < 0.75' all | awk '{ print $1 }')" 25 "report: numbers with fractions"

# ---- wrong ones: the same words everywhere
said='^filter:1:4-5: ERROR: syntax error, unexpected end of file, expected expression$'
run tpoint $write 'n >'
like "$err" "$said" "tpoint"
run hist $write keys=fd 'if n >'
like "$err" "$said" "hist"
run perf-stat-hist -f 'n >' $write count
like "$err" "$said" "a tool"
run report -w 'n >' all
like "$err" "$said" "report"
is "$rc" 2 "report: a wrong option"
run record -u 'shop:*' --filter 'n >' -o wrong -- ./shop
like "$err" "$said" "record --filter"
for c in 'cuont > 1' 'args.cuont > 1'; do
	run tpoint $write "$c"
	first=$(echo "$err" | head -1)
	like "$first" "^filter:1:[0-9]+-[0-9]+: ERROR: the event $write has no field 'cuont'" "no such field: $c"
	run hist $write keys=fd "if $c"
	is "$(echo "$err" | head -1)" "$first" "hist says the same"
	run perf-stat-hist -f "$c" $write count
	is "$(echo "$err" | head -1)" "$first" "a tool, too"
done
done_testing
