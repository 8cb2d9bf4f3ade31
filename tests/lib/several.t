#!/bin/sh
# SPDX-License-Identifier: MIT
# Several sessions and every set of contexts, in every build that matters.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
flags="-std=gnu17 -D_GNU_SOURCE -g -Iinclude"

# one NAME BUILD... -- ENVIRONMENT
one()
{
	name=$1
	shift
	build=
	while [ "$1" != -- ]; do
		build="$build $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	$build $flags tests/lib/several.c lib/*.c -o "$dir/several" -lpthread 2>"$dir/out"
	ok "$name: builds" || { sed 's/^/# /' "$dir/out" | head -20 >&2; return; }
	env "$@" "$dir/several" >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
	ok "$name: $(grep -c '^ok' "$dir/out") checks" || grep -A3 '^not ok\|ERROR\|WARNING' "$dir/out" | sed 's/^/# /' | head -20 >&2
}

one "gcc -O2" gcc -O2 -- A=1
one "gcc -O0, CET" gcc -O0 -fcf-protection -- A=1
one "clang -O3" clang -O3 -- A=1
one "gcc LTO" gcc -O2 -flto -- A=1
one "static" gcc -O2 -static -- A=1
one "rseq registered by the library" gcc -O2 -- GLIBC_TUNABLES=glibc.pthread.rseq=0
one "ASan, UBSan" gcc -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -- A=1
one "TSan" gcc -O1 -fsanitize=thread -- TSAN_OPTIONS=report_signal_unsafe=0:die_after_fork=0
done_testing
