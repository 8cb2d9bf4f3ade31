#!/bin/sh
# SPDX-License-Identifier: MIT
# The interpreter of filters, with the sanitizers watching; once beside the kernel's.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
kernel=kernel
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	$cc -std=gnu17 -D_GNU_SOURCE -g -O1 -Wall -Wextra -fsanitize=address,undefined -fno-sanitize-recover=undefined -Iinclude \
		tests/lib/vm.c lib/vm*.c lib/aggregate.c -o "$dir/vm"
	ok "$cc: builds" || continue
	"$dir/vm" $kernel >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
	ok "$cc: $(grep -c '^ok' "$dir/out") checks" || sed 's/^/# /' "$dir/out" | grep -A3 -v '^# ok' | head -30
	grep '# SKIP' "$dir/out"
	kernel=
done
done_testing
