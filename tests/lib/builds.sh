# SPDX-License-Identifier: MIT
# The library in every build that matters, for tests that see what only some compiler or sanitizer shows; after tap.sh, with
# the scratch folder in $dir.
flags="-std=gnu17 -D_GNU_SOURCE -g -Iinclude"

# one TEST NAME BUILD... -- COMMAND...: builds tests/lib/TEST.c, with the library's own sources, as $dir/TEST, and runs COMMAND,
# before which variables may stand; $dir/rings is a new folder each time. No other tool of this machine finds the program.
one()
{
	test=$1 name=$2 build=
	shift 2
	while [ "$1" != -- ]; do
		build="$build $1"
		shift
	done
	shift
	mkdir "$dir/rings"
	# shellcheck disable=SC2086
	if $build $flags "tests/lib/$test.c" lib/*.c -o "$dir/$test" -lpthread 2>"$dir/out"; then
		ok "$name: builds"
		env PANTRACE_RUNTIME="$dir/runtime" "$@" >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
		ok "$name: $(grep -c '^ok' "$dir/out") checks" || grep -A3 '^not ok\|ERROR\|WARNING' "$dir/out" | sed 's/^/# /' | head -20 >&2
	else
		false
		ok "$name: builds" || sed 's/^/# /' "$dir/out" | head -20 >&2
	fi
	rm -rf "$dir/rings"
}

# in_every_build TEST COMMAND...
in_every_build()
{
	in=$1
	shift
	one "$in" "gcc -O2" gcc -O2 -- "$@"
	one "$in" "gcc -O0, CET" gcc -O0 -fcf-protection -- "$@"
	one "$in" "clang -O3" clang -O3 -- "$@"
	one "$in" "gcc LTO" gcc -O2 -flto -- "$@"
	one "$in" "static" gcc -O2 -static -- "$@"
	one "$in" "no rseq of the C library" gcc -O2 -- GLIBC_TUNABLES=glibc.pthread.rseq=0 "$@"
	one "$in" "ASan, UBSan" gcc -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -- "$@"
	one "$in" "TSan" gcc -O1 -fsanitize=thread -- TSAN_OPTIONS=report_signal_unsafe=0:die_after_fork=0 "$@"
}
