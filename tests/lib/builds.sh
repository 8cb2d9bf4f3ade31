# SPDX-License-Identifier: MIT
# The library in every build that matters, for tests that see what only some compiler or sanitizer shows; after tap.sh, with
# the scratch folder in $dir. make builds the programs (tests/lib/tests.mk: make lib-tests).
built=${O:-build}/lib-tests

# one NAME BUILD COMMAND...: runs COMMAND, with a program of BUILD in it, before which variables may stand; $dir/rings is a new
# folder each time.
one()
{
	name=$1 build=$2
	shift 2
	if [ "${build#clang}" != "$build" ] && ! command -v clang >/dev/null; then
		skip "$name" "clang is not installed"
		return
	fi
	mkdir "$dir/rings"
	env PANTRACE_RUNTIME="$dir/runtime" "$@" >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
	ok "$name: $(grep -c '^ok' "$dir/out") checks" || grep -A3 '^not ok\|ERROR\|WARNING\|No such file' "$dir/out" | sed 's/^/# /' | head -20 >&2
	rm -rf "$dir/rings"
}

# in_every_build PROGRAM ARGS...
in_every_build()
{
	program=$1
	shift
	one "gcc -O2" plain $built/plain/$program "$@"
	in_builds_that_differ $program "$@"
	one "static" static $built/static/$program "$@"
}

in_builds_that_differ()
{
	program=$1
	shift
	one "gcc -O0, CET" cet $built/cet/$program "$@"
	one "clang -O3" clang $built/clang/$program "$@"
	one "gcc LTO" lto $built/lto/$program "$@"
	one "no rseq of the C library" plain GLIBC_TUNABLES=glibc.pthread.rseq=0 $built/plain/$program "$@"
	one "ASan, UBSan" asan $built/asan/$program "$@"
	one "TSan" tsan TSAN_OPTIONS=report_signal_unsafe=0:die_after_fork=0 $built/tsan/$program "$@"
}
