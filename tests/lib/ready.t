#!/bin/sh
# SPDX-License-Identifier: MIT
# Ready-made instrumentation, preloaded into a program that knows nothing of it; LTTng-UST's own examples, unchanged.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
lib=$(realpath "${LIB_DIR:-build}")
tool=${PANTRACE:-$lib/pantrace}

# record COMMAND...: the events of all its processes as text
record()
{
	rm -rf "$dir/rings" "$dir/ctf"
	mkdir "$dir/rings"
	env PANTRACE_RECORD="$dir/rings" "$@" >"$dir/out" 2>&1
	"$tool" crash "$dir/rings" -o "$dir/ctf" >/dev/null 2>"$dir/err"
	text=$(babeltrace2 "$dir/ctf" 2>>"$dir/err" | grep -v pantrace:)
}
count() { printf '%s\n' "$text" | grep -c "$1"; }

gcc -O1 -finstrument-functions tests/lib/ready.c -o "$dir/ready" -ldl -lpthread
ok "a program without a word of pantrace"
record env LD_PRELOAD="$lib/libpantrace-malloc.so" "$dir/ready"
is "$(count 'heap:malloc: .*size = 7777')" 100 "every malloc()"
is "$(count 'heap:realloc: .*size = 8888')" 100 "every realloc()"
record env LD_PRELOAD="$lib/libpantrace-lock.so" "$dir/ready"
is "$(count 'lock:wait:')" 1 "a mutex that a thread waits for"
ns=$(printf '%s\n' "$text" | sed -n 's/.*lock:acquired: .*waited_ns = \([0-9]*\).*/\1/p')
[ "${ns:-0}" -gt 5000000 ]
ok "and how long (${ns:-none} ns of 200 ms)"
record env LD_PRELOAD="$lib/libpantrace-dl.so" "$dir/ready"
like "$text" 'dl:dlopen: .*path = "libm.so.6"' "dlopen()"
is "$(count 'dl:dlclose:')" 1 "dlclose()"
record env LD_PRELOAD="$lib/libpantrace-process.so" "$dir/ready"
is "$(count 'process:fork:') $(count 'process:child:')" "1 1" "fork(), in parent and child"
like "$text" 'process:exec: .*path = "/bin/true", name = "true"' "exec()"
gcc -O1 -D_GNU_SOURCE tests/lib/process.c -o "$dir/process" -lpthread
record env LD_PRELOAD="$lib/libpantrace-process.so" PANTRACE_EVENTS='process:*' "$dir/process"
is "$(cat "$dir/out")" "" "every way to a new program leads there"
is "$(count 'process:fork:') $(count 'process:child:') $(count 'process:vfork:')" "8 8 1" "each fork and vfork"
is "$(count 'process:exec: .*path = "/bin/true"') $(count 'process:exec: .*path = "true"') $(count 'process:exec: .*path = "/bin/sh"') $(count 'process:exec: .*path = ""')" \
	"4 2 1 1" "each exec"
is "$(count 'process:exec_failed: .*path = "/nowhere/true", error = 2')" 1 "one that fails"
is "$(count 'process:spawn: ') $(count 'process:spawn_failed: .*path = "/nowhere".*error = 2')" "2 1" "posix_spawn"
record env LD_PRELOAD="$lib/libpantrace-process.so:$lib/libpantrace-malloc.so" PANTRACE_EVENTS='process:*' "$dir/process" stress
is "$(count 'process:vfork: ') $(count 'process:exec: .*name = "true"') $(count 'process:exec_failed: ')" "2000 2000 2000" \
	"2000 children of vfork, each with its events in the rings of the parent"
is "$(grep -v "^in " "$dir/err")" "" "babeltrace2 warns of nothing"
record env LD_PRELOAD="$lib/libpantrace-function.so" "$dir/ready"
address=$(nm "$dir/ready" | sed -n 's/^0*\([0-9a-f]*\) t function$/\1/p' | tail -c 4 | tr a-f A-F)
is "$(count "function:entry: .*function = 0x[0-9A-F]*$address,") $(count "function:exit: .*function = 0x[0-9A-F]*$address,")" "3 3" \
	"functions of -finstrument-functions"

examples=/usr/share/doc/liblttng-ust-dev/examples
if [ -d $examples ]; then
	cp -r $examples "$dir/examples"
	find "$dir/examples" -name '*.gz' -exec gunzip {} +
	include="-I$(realpath include)/pantrace -I$(realpath include)"
	cd "$dir/examples/easy-ust" || exit
	# shellcheck disable=SC2086
	gcc -Wall -Werror $include -I. sample.c tp.c -o sample "$lib/libpantrace.a" -lpthread
	ok "LTTng's easy-ust compiles unchanged"
	record timeout 2 ./sample
	like "$text" 'sample_component:message: .*message = "Hello World"' "and its events are recorded"
	cd "$dir/examples/demo" || exit
	# shellcheck disable=SC2086
	gcc -Wall -Werror $include -I. demo.c tp*.c -o demo "$lib/libpantrace.a" -lpthread -ldl
	ok "LTTng's demo compiles unchanged"
	record ./demo 0
	like "$text" 'ust_tests_demo2:loop: .*intfield = 4, .*netintfield = 4, .*arrfield1 = \[ \[0\] = 1, \[1\] = 2, \[2\] = 3 \].*arrfield2 = "test".*stringfield = "test", floatfield = 2222, doublefield = 2' \
		"with all their fields"
	is "$(count 'ust_tests_demo2:loop')" 5 "and as many"
	cd "$dir/examples/hello-static-lib" || exit
	# shellcheck disable=SC2086
	gcc -Wall -Werror $include -I. hello.c tp.c -o hello "$lib/libpantrace.a" -lpthread -ldl
	ok "hello-static-lib compiles unchanged"
	record ./hello 0
	like "$text" 'ust_tests_hello:tptest: .*intfield = 4, intfield2 = 0x4, .*arrfield1 = \[ \[0\] = 1' "and its events are recorded, _hex fields with base 16"
	cd "$dir/examples/gen-tp" || exit
	if command -v lttng-gen-tp >/dev/null; then
		lttng-gen-tp sample_tracepoint.tp -o sample_tracepoint.h -o sample_tracepoint.c >/dev/null
		# shellcheck disable=SC2086
		gcc -Wall -Werror $include -I. sample.c sample_tracepoint.c -o sample "$lib/libpantrace.a" -lpthread
		ok "gen-tp: what lttng-gen-tp writes compiles unchanged"
		record timeout 2 ./sample
		like "$text" 'sample_tracepoint:message: .*"Hello World\\n"' "and its events are recorded"
	fi
	cd "$dir/examples/cmake-multiple-shared-libraries" || exit
	for name in aligner tester; do
		# shellcheck disable=SC2086
		g++ -Wall -Werror -fPIC -shared $include -I. $name-lib.cpp tracepoint-provider.cpp -o lib$name-lib.so -L"$lib" -lpantrace -Wl,-rpath,"$(realpath "$lib")"
		ok "cmake-multiple-shared-libraries: lib$name compiles unchanged"
	done
	g++ -I. tester.cpp -o tester -L. -ltester-lib -laligner-lib -L"$lib" -lpantrace -Wl,-rpath,"$PWD:$(realpath "$lib")"
	record ./tester
	like "$text" 'gydle_om:align_query: .*"moleculeX"' "the events of one library"
	like "$text" 'gydle_om:test_alignment: .*"my-alignment"' "and of the other"
	for name in clock getcpu; do
		cd "$dir/examples/$name-override" || exit
		# shellcheck disable=SC2086
		gcc $include -fPIC -shared lttng-ust-$name-override-example.c -o override.so 2>"$dir/err"
		is "$? $(grep -o -m1 "pantrace has no $name plugins" "$dir/err" | head -n 1)" "1 pantrace has no $name plugins" "$name-override is refused, with the reason"
	done
	for name in demo-tracef/demo-tracef demo-tracef/demo-vtracef demo-tracelog/demo-tracelog demo-tracelog/demo-vtracelog; do
		# shellcheck disable=SC2086
		gcc -Wall -Werror $include "$dir/examples/$name.c" -o "$dir/log" "$lib/libpantrace.a" -lpthread
		ok "$name compiles unchanged"
		record "$dir/log" 0
		is "$(count 'log:message: .*message = "\(This is a \\"mystring test\\" formatted [0-4] .*event 42\|Error condition [0-4]\)"')" 5 "and says what it says to LTTng"
	done
	cat >"$dir/net.h" <<'EOC'
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER net
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./net.h"
#if !defined(NET_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define NET_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_ENUM(net, kinds, LTTNG_UST_TP_ENUM_VALUES(
	lttng_ust_field_enum_auto("nought")
	lttng_ust_field_enum_value("five", 5)
	lttng_ust_field_enum_auto("six")
	lttng_ust_field_enum_range("some", 10, 20)
	lttng_ust_field_enum_auto("more")))
LTTNG_UST_TRACEPOINT_EVENT(net, packet, LTTNG_UST_TP_ARGS(const unsigned short *, a, const unsigned int *, b),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_array_network(unsigned short, ports, a, 2)
		lttng_ust_field_array_network(unsigned int, pair, b, 2)
		lttng_ust_field_sequence_network(unsigned int, some, b, unsigned int, 2)
		lttng_ust_field_integer_network(unsigned short, port, a[0])
		lttng_ust_field_enum(net, kinds, int, none, 0)
		lttng_ust_field_enum(net, kinds, int, six, 6)
		lttng_ust_field_enum(net, kinds, int, within, 15)
		lttng_ust_field_enum(net, kinds, int, after, 21)))
#endif
#include <lttng/tracepoint-event.h>
EOC
	cat >"$dir/net.c" <<'EOC'
#include <arpa/inet.h>
#include "net.h"
int main(void)
{
	unsigned short ports[] = {htons(80), htons(8080)};
	unsigned int pair[] = {htonl(7), htonl(1 << 20)};

	lttng_ust_tracepoint(net, packet, ports, pair);
	return 0;
}
EOC
	# shellcheck disable=SC2086
	gcc -Wall -Werror $include -I"$dir" "$dir/net.c" -o "$dir/net" "$lib/libpantrace.a" -lpthread
	record "$dir/net"
	like "$text" 'ports = \[ \[0\] = 80, \[1\] = 8080 \], pair = \[ \[0\] = 7, \[1\] = 1048576 \], .*some = \[ \[0\] = 7, \[1\] = 1048576 \], port = 80' \
		"arrays and sequences from a network are numbers, as LTTng has them"
	like "$text" 'none = \( "nought" : container = 0 \), six = \( "six" : container = 6 \), within = \( "some" : container = 15 \), after = \( "more" : container = 21 \)' \
		"and values of enumerations have their names, in ranges and one after the other"
fi
done_testing
