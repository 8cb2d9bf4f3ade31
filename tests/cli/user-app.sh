# SPDX-License-Identifier: GPL-2.0-or-later
# For tests with instrumented programs of their own; after lib.sh. The library is in $lib, and nothing but the test's own
# programs and sessions is seen.
need_root
lib=${LIB_DIR:-$top/build}
if [ ! -f "$lib/libpantrace.a" ]; then
	echo "1..0 # SKIP needs libpantrace.a: make"
	exit 0
fi
export PANTRACE_RUNTIME="$work/runtime"

# ready PID: waits until the program can be asked
ready()
{
	until_true [ -S "$PANTRACE_RUNTIME/$1" ]
}

# said NAME WORD COUNT: waits until the program, whose output is in $work/said.NAME, has said WORD so many times
said()
{
	for _ in $(seq 2400); do
		[ "$(grep -c "$2" "$work/said.$1")" -ge "$3" ] && return 0
		sleep 0.05
	done
	return 1
}
