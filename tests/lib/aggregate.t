#!/bin/sh
# SPDX-License-Identifier: MIT
# Tables in which programs count, with the sanitizers watching.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# build NAME CC FLAGS...
build()
{
	name=$1 cc=$2
	shift 2
	$cc -std=gnu17 -D_GNU_SOURCE -g -O1 -Wall -Wextra "$@" -Iinclude tests/lib/aggregate.c lib/aggregate.c -o "$dir/$name" -lpthread
	ok "$cc: builds ($*)"
}
runs()
{
	"$dir/$1" $3 >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
	ok "$2: $(grep -c '^ok' "$dir/out") checks" || sed 's/^/# /' "$dir/out" | grep -A5 -v '^# ok' | head -30 >&2
}
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	build plain $cc && runs plain "$cc" ""
	build asan $cc -fsanitize=address,undefined -fno-sanitize-recover=undefined && runs asan "$cc, addresses" ""
	build tsan $cc -fsanitize=thread -DTSAN && runs tsan "$cc, threads" short
done
done_testing
