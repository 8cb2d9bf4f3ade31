#!/bin/sh
# SPDX-License-Identifier: MIT
# Control over the socket: with the library's own code under the sanitizers, static, and as users have it.
. tests/tap.sh
dir=$(mktemp -d)
trap 'umount "$dir"/*/full 2>/dev/null; rm -rf "$dir"' EXIT
built=${O:-build}/lib-tests

# one NAME BUILD
one()
{
	name=$1 build=$2
	mkdir -m 700 "$dir/$name"
	# shellcheck disable=SC2086
	ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=die_after_fork=0 timeout 900 "$built/$build/control" "$dir/$name" $arguments >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
	ok "$name: $(grep -c '^ok' "$dir/out") checks" || grep -A4 '^not ok\|ERROR\|WARNING' "$dir/out" | sed 's/^/# /' | head -40
}

arguments=
one plain plain
one static static
one asan asan
# a table of descriptors of the helper's own is what TSan does not know of
arguments=no-unshare
one shared plain
one tsan tsan
PANTRACE_CONTROL=0 $built/asan/fuzz_control 20000 >"$dir/out" 2>&1
ok "20000 mutated requests" || sed 's/^/# /' "$dir/out" | head -20
done_testing
