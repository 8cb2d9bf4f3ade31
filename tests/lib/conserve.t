#!/bin/sh
# SPDX-License-Identifier: MIT
# Conservation in every build that matters; TSan and ASan see the library's own code.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
flags="-std=gnu17 -D_GNU_SOURCE -g -Iinclude"

# one NAME BUILD... -- RUN...
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
	mkdir "$dir/rings"
	# shellcheck disable=SC2086
	$build $flags tests/lib/conserve.c lib/*.c -o "$dir/conserve" -lpthread
	ok "$name: builds" || return
	case $* in
	thread) "$dir/conserve" "$dir/rings" per_thread ;;
	*) env "$@" "$dir/conserve" "$dir/rings" ;;
	esac >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
	ok "$name: $(grep -c '^ok' "$dir/out") checks" || grep -A3 '^not ok\|ERROR\|WARNING' "$dir/out" | sed 's/^/# /' | head -20
	rm -rf "$dir/rings"
}

one "gcc -O2" gcc -O2 -- A=1
one "gcc -O0" gcc -O0 -- A=1
one "clang -O3" clang -O3 -- A=1
one "gcc LTO" gcc -O2 -flto -- A=1
one "static" gcc -O2 -static -- A=1
one "rseq registered by the library" gcc -O2 -- GLIBC_TUNABLES=glibc.pthread.rseq=0
one "rings of threads" gcc -O2 -- thread
one "ASan, UBSan" gcc -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -- A=1
one "TSan" gcc -O1 -fsanitize=thread -- TSAN_OPTIONS=report_signal_unsafe=0:die_after_fork=0

# shellcheck disable=SC2086
gcc -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined $flags tests/lib/damage.c lib/*.c -o "$dir/damage" -lpthread &&
	"$dir/damage" >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
ok "damaged files do no harm" || sed 's/^/# /' "$dir/out" | head -20
done_testing
