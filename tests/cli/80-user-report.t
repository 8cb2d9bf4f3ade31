#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# report: CTF traces, ours and LTTng's, as text that equals babeltrace2's.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"

cd "$work" || exit 1
run record -q -u 'traced:*' -o plain -- "$traced" 4000
is "$rc" 0 "a program is recorded"
same_text plain "a recorded program"
is "$(cat "$work/warnings")" "" "babeltrace2 warns of nothing"
is "$(grep -c 'traced:step:' "$work/ours")" 4000 "every event is there"

run record -q -u 'traced:*' -c vpid,vtid,procname,cpu_id,context_switches,page_faults,ip,user_stack -o contexts -- "$traced" 2000
same_text contexts "with contexts"
is "$(cat "$work/warnings")" "" "babeltrace2 warns of nothing"
run report -e traced:step -n 1 contexts
like "$out" 'vpid = [0-9]+, vtid = [0-9]+, procname = "traced", cpu_id = [01]?[0-9]*, perf_thread_context_switches = [0-9]+, perf_thread_page_faults = [0-9]+, ip = 0x' "contexts are in the text"
# of the other thread the helper may not know the stack yet
like "$("$pantrace" report -e traced:step contexts)" 'callstack_user = \[.*traced_work.*run' "return addresses have names"
like "$out" 'ip = 0x[0-9A-F]+ traced_work(\.cold)?\+0x' "ip has a name"
run report --no-symbols -e traced:step -n 1 contexts
unlike "$out" 'traced_work' "--no-symbols"

run record -u 'nothing:*' -o none -- "$traced" 10
like "$err" 'HINT: no program took part: .*pantrace user list' "nobody has such an event: how to find out"
run record -u 'traced:*' -o one -- "$traced" 10
unlike "$err" 'HINT' "and nothing of that where one took part"

run report --count plain
like "$out" '4000  traced:step' "--count"
like "$out" '400  traced:every' "--count of another event"
run report -e 'traced:e*' plain
is "$(printf '%s\n' "$out" | grep -c .)" 400 "events by glob"
run report -w 'i>=1990' -e traced:step plain
is "$(printf '%s\n' "$out" | grep -c .)" 20 "fields by number"
run report -w 'text=*end*' -w 'i<30' plain
is "$(printf '%s\n' "$out" | grep -c .)" 20 "fields by glob, several conditions"
run report -e traced:stpe plain
like "$err" "did you mean 'traced:step'" "an event that there is not: the nearest"
like "$("$pantrace" complete pantrace report plain -e traced:s | cut -f1)" '^traced:step$' "completion knows the events of the recording"
run report -w 'txet=*end*' plain
like "$err" "did you mean 'text'" "a field that there is not: the nearest"
run report -w 'i<0' -e traced:step plain
is "$err" "" "nothing is said of names that there are"
run report -w 'i~5' plain
is "$rc" 2 "a condition that is none is refused"
run report -n 7 plain
is "$(printf '%s\n' "$out" | grep -c .)" 7 "--limit"
run report --json -e traced:every -n 1 plain
printf '%s' "$out" | python3 -c 'import json,sys; e=json.load(sys.stdin)["fields"]; assert e["bounded"]=="bounded" and e["pointer"]==0xabc0 and e["big"]=="18446744073709551615" and e["small"]==-1, e'
ok "--json is JSON with the fields"
first=$("$pantrace" report --seconds -e traced:step -n 1 plain | sed 's/^.\([0-9.]*\).*/\1/')
run report --end "$first" -e traced:step plain
like "$(printf '%s\n' "$out" | grep -c .)" '^[12]$' "--end"
run report --begin "$first" -e traced:step plain
is "$(printf '%s\n' "$out" | grep -c .)" 4000 "--begin"

# chunks
run record -q -u 'traced:*' --rotate-size 30000 -o chunks -- "$traced" 4000 100
[ "$(ls -d chunks/chunk-* | wc -l)" -gt 1 ]
ok "there is more than one chunk"
same_text chunks "chunks"
is "$(cat "$work/warnings")" "" "babeltrace2 warns of nothing"
is "$(grep -c 'traced:step:' "$work/ours")" 4000 "no event is lost between chunks"
total=0
for chunk in chunks/chunk-*; do total=$((total + $(babeltrace2 "$chunk" | grep -c traced:step))); done
is "$total" 4000 "each chunk is a trace of its own"
for how in zstd gzip; do
	run record -q -u 'traced:*' --rotate-size 30000 --compress $how -o "$how" -- "$traced" 2000 100
	[ -z "$(find "$how" -name 'ring_*' ! -name '*.zst' ! -name '*.gz')" ]
	ok "$how: everything is compressed"
	run report -c "$how"
	like "$out" '2000  traced:step' "$how: is read as it is"
	case $how in zstd) find zstd -name '*.zst' -exec zstd -q -d --rm {} + ;; gzip) gunzip -r gzip ;; esac
	same_text "$how" "$how: unpacked"
done

# damage
cp -r plain damaged
ring=$(ls -S damaged/*/ring_* | head -1)
truncate -s 10000 "$ring"
run report damaged
is "$rc" 1 "a trace that is cut short: exit code 1"
like "$err" 'ring_[0-9]+: byte [0-9]+: the file ends within this packet' "and where"
[ -n "$out" ]
ok "the events before the damage are read"
printf 'rubbish' >damaged/"$(ls damaged)"/metadata
run report damaged
is "$rc" 1 "metadata that are none"
like "$err" "metadata:1: " "with the line"
run report "$work/runtime-not-there"
is "$rc" 1 "no such trace"

# LTTng
if command -v lttng >/dev/null && [ -n "$(find /usr/include -path '*lttng/tracepoint.h' -print -quit)" ]; then
	cat >tp.h <<-'EOF'
	#undef LTTNG_UST_TRACEPOINT_PROVIDER
	#define LTTNG_UST_TRACEPOINT_PROVIDER tst
	#undef LTTNG_UST_TRACEPOINT_INCLUDE
	#define LTTNG_UST_TRACEPOINT_INCLUDE "tp.h"
	#if !defined(TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
	#define TP_H
	#include <lttng/tracepoint.h>
	LTTNG_UST_TRACEPOINT_ENUM(tst, colour, LTTNG_UST_TP_ENUM_VALUES(lttng_ust_field_enum_value("red", 0)
		lttng_ust_field_enum_range("some blue", 2, 5) lttng_ust_field_enum_value("neg", -3) lttng_ust_field_enum_value("also4", 4)))
	LTTNG_UST_TRACEPOINT_EVENT(tst, all, LTTNG_UST_TP_ARGS(int, i, const char *, s, double, d, int *, a, int, n),
		LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i) lttng_ust_field_integer_hex(int, hex, i)
		lttng_ust_field_integer_network(int, net, i) lttng_ust_field_string(s, s) lttng_ust_field_float(double, d, d)
		lttng_ust_field_array(int, arr, a, 3) lttng_ust_field_array_text(char, txt, s, 5)
		lttng_ust_field_sequence(int, seq, a, size_t, n) lttng_ust_field_sequence_text(char, st, s, size_t, n)
		lttng_ust_field_enum(tst, colour, int, col, i)))
	LTTNG_UST_TRACEPOINT_EVENT(tst, one, LTTNG_UST_TP_ARGS(int, i), LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))
	LTTNG_UST_TRACEPOINT_EVENT(tst, hexes, LTTNG_UST_TP_ARGS(int, i, int *, a, unsigned char *, b),
		LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(int, seven, 7) lttng_ust_field_integer_hex(short, negative, i)
		lttng_ust_field_integer_hex(unsigned long, most, ~0ul) lttng_ust_field_integer_hex(signed char, octet, i)
		lttng_ust_field_integer_network_hex(unsigned short, port, 0x5000) lttng_ust_field_array_hex(unsigned char, id, b, 4)
		lttng_ust_field_array_network_hex(int, net, a, 2) lttng_ust_field_sequence_hex(int, some, a, size_t, 3)
		lttng_ust_field_sequence_network_hex(int, nets, a, size_t, 1) lttng_ust_field_integer(int, plain, 7)))
	#endif
	#include <lttng/tracepoint-event.h>
	EOF
	cat >ust.c <<-'EOF'
	#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
	#define LTTNG_UST_TRACEPOINT_DEFINE
	#include "tp.h"
	#include <stdlib.h>
	int main(int argc, char **argv)
	{
		int a[3] = {-1, 2, 300};

		for (int i = 0; i < atoi(argv[1]); i++) {
			if (!(i % 100))
				lttng_ust_tracepoint(tst, all, i / 100 % 7 - 3, "str'ing?\n\xc3\xa9", i / 3.0, a, i % 4);
			lttng_ust_tracepoint(tst, one, i);
		}
		lttng_ust_tracepoint(tst, hexes, -2, a, (unsigned char *)"\x7f\x45LF");
		return 0;
	}
	EOF
	gcc -O2 -I. ust.c -o ust -llttng-ust -ldl
	export LTTNG_HOME="$work"
	lttng-sessiond --no-kernel >/dev/null 2>&1 &
	sessiond=$!
	until_true lttng list >/dev/null 2>&1
	# lttng NAME SUB-BUFFERS CONTEXTS...: a trace in the directory NAME
	lttng_trace()
	{
		name=$1-$$ dir=$1
		lttng create "$name" --output="$work/$dir" >/dev/null
		lttng enable-channel -u -s "$name" --subbuf-size="$2" --num-subbuf=2 c >/dev/null
		lttng enable-event -u -s "$name" -c c 'tst:*' >/dev/null
		shift 2
		[ $# -eq 0 ] || lttng add-context -u -s "$name" "$@" >/dev/null
		lttng start "$name" >/dev/null
		./ust "$events"
		lttng stop "$name" >/dev/null
		lttng destroy "$name" >/dev/null
	}
	events=20000
	lttng_trace lttng-all 4M -t vpid -t vtid -t procname -t ip
	same_text lttng-all "LTTng-UST, packetised metadata"
	is "$(grep -c . "$work/ours")" 20201 "every event of LTTng's is there"
	# the same source with our headers: the same fields in the same base, whoever prints them
	theirs=$(babeltrace2 lttng-all | sed -n 's/.*tst:hexes: .*\({ seven\)/\1/p')
	gcc -O2 -I. -I"$top/include/pantrace" -I"$top/include" ust.c -o ust-ours "$lib/libpantrace.a" -lpthread
	run record -q -u tst:hexes -o hexes -- ./ust-ours 1
	is "$rc" 0 "the same source with our headers"
	is "$(babeltrace2 hexes | sed -n 's/.*tst:hexes: .*\({ seven\)/\1/p')" "$theirs" "babeltrace2 shows its _hex fields as it shows LTTng's"
	like "$theirs" '^\{ seven = 0x7, .*plain = 7' "which is with base 16"
	same_text hexes "fields with base 16"
	ours=$("$pantrace" report plain | grep -c .)
	is "$("$pantrace" report --seconds lttng-all plain | awk '
		{ t = substr($1, 2, length($1) - 2); if (t < last) back++; last = t; if (/ traced:/) ours++; else theirs++ }
		END { print theirs + 0, ours + 0, back + 0 }')" "20201 $ours 0" "with a trace of ours, by time"
	events=500000
	lttng_trace lttng-lost 4k
	same_text lttng-lost "LTTng-UST with losses"
	theirs=$(sed -n 's/.*discarded \([0-9]*\) events\{0,1\}.*/\1/p' "$work/warnings" | awk '{ n += $1 } END { print n + 0 }')
	run report -c lttng-lost
	like "$err" "the tracer lost ${theirs:-0} events" "the losses are those that babeltrace2 tells of"
	is "$rc" 3 "losses: exit code 3"
	kill $sessiond 2>/dev/null
	wait $sessiond 2>/dev/null
else
	skip "LTTng's traces" "lttng-tools or liblttng-ust-dev is not installed"
fi
done_testing
