#!/bin/sh
# SPDX-License-Identifier: MIT
# Control over the socket: with the library's own code under the sanitizers, static, and as users have it.
. tests/tap.sh
dir=$(mktemp -d)
trap 'umount "$dir"/*/full 2>/dev/null; rm -rf "$dir"' EXIT
flags="-std=gnu17 -D_GNU_SOURCE -g -Iinclude"

# one NAME BUILD...
one()
{
	name=$1
	shift
	mkdir -m 700 "$dir/$name"
	# shellcheck disable=SC2086
	"$@" $flags tests/lib/control.c lib/*.c -o "$dir/$name/control" -lpthread
	ok "$name: builds" || return
	# shellcheck disable=SC2086
	ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=die_after_fork=0 timeout 900 "$dir/$name/control" "$dir/$name" $arguments >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
	ok "$name: $(grep -c '^ok' "$dir/out") checks" || grep -A4 '^not ok\|ERROR\|WARNING' "$dir/out" | sed 's/^/# /' | head -40
}

arguments=
one plain gcc -O2
one static gcc -O2 -static
one asan gcc -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined
# a table of descriptors of the helper's own is what TSan does not know of
arguments=no-unshare
one shared gcc -O2
one tsan gcc -O1 -fsanitize=thread
# shellcheck disable=SC2086
gcc -DALONE -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined $flags tests/lib/fuzz_control.c lib/*.c -o "$dir/fuzz" -lpthread &&
	PANTRACE_CONTROL=0 "$dir/fuzz" 20000 >"$dir/out" 2>&1
ok "20000 mutated requests" || sed 's/^/# /' "$dir/out" | head -20
done_testing
