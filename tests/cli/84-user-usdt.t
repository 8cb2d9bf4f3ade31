#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every event is a USDT probe, too: gdb and perf list it, bpftrace and we count it, with the same result as our own recording.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"
cd "$work" || exit 1

cat >shop.c <<'EOF'
#include <pantrace/pantrace.h>
int main(void)
{
	for (int i = 0; i < 1234; i++) {
		PANTRACE(shop, request, i, PT_NAMED(url, "/x"));
		if (i % 2)
			PANTRACE_USDT(shop, odd, i, PT_NAMED(twice, 2 * i));
	}
	return 0;
}
EOF
gcc -O2 -g -I"$top/include" shop.c -o shop "$lib/libpantrace.a" -lpthread
ok "a program with two events" || { done_testing; exit; }
run record -u 'shop:*' -o ours -- ./shop
is "$(babeltrace2 ours | grep -c shop:request:) $(babeltrace2 ours | grep -c shop:odd:)" "1234 617" "our own recording"
out=$(timeout 300 "$pantrace" -q -c ./shop -e 'usdt:./shop:shop:request { @r = count(); } usdt:./shop:shop:odd { @o = count(); @s = sum(arg0); }' 2>&1)
like "$out" '@r: 1234' "our script counts the USDT probe"
like "$out" '@o: 617' "and the one with arguments"
like "$out" "@s: $((617 * 617))" "whose first argument is the first field"
if command -v bpftrace >/dev/null; then
	out=$(timeout 300 bpftrace -c ./shop -e "usdt:$work/shop:shop:request { @r = count(); } usdt:$work/shop:shop:odd { @o = count(); @s = sum(arg1); }" 2>&1)
	like "$out" '@r: 1234' "bpftrace's count equals ours" || printf '%s\n' "$out" | sed 's/^/# /'
	like "$out" '@o: 617' "of both"
	like "$out" "@s: $((2 * 617 * 617))" "and the sum of the second argument"
	like "$(bpftrace -l "usdt:$work/shop:*" 2>/dev/null)" 'usdt:.*:shop:request' "bpftrace lists it"
else
	skip "bpftrace counts the same" "not installed"
fi
if command -v gdb >/dev/null; then
	out=$(gdb -q -batch -ex 'info probes stap shop' ./shop 2>&1)
	like "$out" 'stap +shop +request' "gdb lists it"
	like "$out" 'stap +shop +odd' "and the other"
	out=$(gdb -q -batch -ex 'set breakpoint pending off' -ex 'break -probe-stap shop:odd' -ex run -ex 'print $_probe_argc' -ex 'print $_probe_arg0' -ex 'print $_probe_arg1' ./shop 2>&1)
	like "$(printf '%s' "$out" | tr '\n' ' ')" '= 2 .*= 1 .*= 2' "gdb stops there and has the arguments" || printf '%s\n' "$out" | sed 's/^/# /'
else
	skip "gdb lists it" "not installed"
fi
if command -v perf >/dev/null; then
	export HOME="$work/home"
	mkdir -p "$HOME"
	perf buildid-cache --add ./shop >perf.out 2>&1
	out=$(perf list sdt 2>/dev/null)
	like "$out" 'sdt_shop:request' "perf lists it" || cat perf.out
	if perf probe sdt_shop:odd >perf.out 2>&1; then
		perf stat -e sdt_shop:odd -x, ./shop >perf.out 2>&1
		like "$(cat perf.out)" '^617,' "perf counts the same" || sed 's/^/# /' perf.out >&2
		perf probe -d 'sdt_shop:*' >/dev/null 2>&1
	else
		skip "perf counts the same" "perf probe: $(grep -m1 -i -e error -e fail perf.out)"
	fi
else
	skip "perf lists it" "not installed"
fi
done_testing
