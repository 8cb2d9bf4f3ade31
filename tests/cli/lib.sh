# SPDX-License-Identifier: GPL-2.0-or-later
# For tests of this kernel: TAP, the binary, a scratch folder that goes away.
. "$(dirname "$0")/../tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
pantrace=${PANTRACE:-$top/build/pantrace}
programs=$top/build/programs
work=$(mktemp -d /tmp/pantrace-test.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT # a test that is killed may leave mounts
trap 'exit 1' INT TERM

# Without root nothing can be traced: say so once and leave.
need_root()
{
	[ "$(id -u)" = 0 ] && return
	echo "1..0 # SKIP needs root"
	exit 0
}

# run ARGS...: stdout in $out, stderr in $err, code in $rc
run()
{
	"$pantrace" "$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	out=$(cat "$work/out")
	err=$(cat "$work/err")
}

# start ARGS...: a tracer in the background, attached when this returns; its pid in $tracer, output in $work/trace
start()
{
	: >"$work/trace" # what the last one said must not be taken for this one's
	__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 "$pantrace" "$@" >"$work/trace" 2>"$work/trace.err" </dev/null &
	tracer=$!
	for _ in $(seq 1200); do
		grep -q __BPFTRACE_NOTIFY_PROBES_ATTACHED "$work/trace" && return 0
		kill -0 $tracer 2>/dev/null || break
		sleep 0.05
	done
	echo "# tracer did not attach:"
	sed 's/^/#   /' "$work/trace.err"
	return 1
}

# stop: ends it as Ctrl-C would; its output in $out without the notification
stop()
{
	kill -INT $tracer 2>/dev/null
	wait $tracer
	rc=$?
	sed -i '/__BPFTRACE_NOTIFY_PROBES_ATTACHED/d' "$work/trace"
	out=$(cat "$work/trace")
	err=$(cat "$work/trace.err")
}

# run_a_moment SECONDS LINE: a line for a shell. What does not end by itself is ended as Ctrl-C would: half a second after it traces, or
# as soon as it traces and has shown something; after SECONDS in any case. Output in $work/out and $work/err, code in $rc; 124: it was ended.
run_a_moment()
{
	: >"$work/out"
	__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 timeout -s KILL 180 sh -c "$2" >"$work/out" 2>"$work/err" </dev/null &
	runner=$! rc='' traced=0 looks=0
	while [ $traced -lt 5 ] && [ $((looks += 1)) -le "${1}0" ] && kill -0 $runner 2>/dev/null; do
		sleep 0.1
		grep -q __BPFTRACE_NOTIFY_PROBES_ATTACHED "$work/out" || continue
		traced=$((traced + 1))
		[ "$(grep -vc __BPFTRACE_NOTIFY_PROBES_ATTACHED "$work/out")" = 0 ] || break
	done
	! kill -INT $runner 2>/dev/null || rc=124
	wait $runner
	set -- $?
	case $1 in 0 | 130) rc=${rc:-$1} ;; *) rc=$1 ;; esac
	sed -i '/__BPFTRACE_NOTIFY_PROBES_ATTACHED/d' "$work/out"
}

# until_true COMMAND...: waits until it succeeds, a minute or more; fails if it never does
until_true()
{
	for _ in $(seq 1200); do
		"$@" 2>/dev/null && return 0
		sleep 0.05
	done
	return 1
}

# settled FUNCTION ARGS...: again until it succeeds, three times at most. For exact counts of what ends in interrupts: they come
# on top of any thread, and there are kernels that run no programs on top of some. A defect of ours fails each time.
settled()
{
	for _ in 1 2 3; do
		"$@" && return 0
		echo "# $* once more" >&2
	done
	return 1
}
