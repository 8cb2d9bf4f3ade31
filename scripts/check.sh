#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the tests through prove: unit tests, tests on this kernel, of the library, in the guests.
#   scripts/check.sh BINARY UNIT_DIR [unit] [cli] [differential] [lib] [vm] [FILE...]
set -eu

PANTRACE=$(realpath "$1")
units=$2
shift 2
export PANTRACE
[ $# -gt 0 ] || set -- unit cli differential lib vm

files=
for word in "$@"; do
	case $word in
	unit) files="$files $(find "$units" -maxdepth 1 -type f -perm -u+x | sort | tr '\n' ' ')" ;;
	cli) files="$files $(ls tests/cli/*.t | tr '\n' ' ')" ;;
	differential) files="$files $(ls tests/differential/*.t | tr '\n' ' ')" ;;
	lib) files="$files $(ls tests/lib/*.t | tr '\n' ' ')" ;;
	vm) files="$files tests/vm/guest.t tests/vm/guest-2.t tests/vm/guest-newer.t ${VM_ALL:+tests/vm/nested.t}" ;;
	*) files="$files $word" ;;
	esac
done

for file in $files; do
	[ -x "$file" ] && continue
	echo "check.sh: $file cannot be run (chmod +x)"
	exit 1
done
tests/programs/build.sh build/programs

# lane_of FILE: the queue that it stands in. Tests on this kernel see each other's events and what others leave, so they run one after
# the other, with the unit tests that use tracefs, and so do those that only record instrumented programs. A test that traces nothing,
# or only its own child, or nothing that others see says "# parallel: ..." in its head; one that other tracers do not harm, nor it them,
# "# among tracers: ...": it counts nothing that others cause, and neither looks at nor changes what they have in the kernel.
lane_of()
{
	case $1 in
	*/vm/*) echo guests ;;
	*/unit/instance | */unit/trace_live) echo machine ;;
	*/cli/* | */differential/*)
		if grep -q '^# parallel: ' "$1"; then
			echo rest
		elif grep -q '^# among tracers: ' "$1"; then
			echo tracers
		else
			case $1 in */cli/8?-user-*) echo programs ;; *) echo machine ;; esac
		fi
		;;
	*) echo rest ;;
	esac
}

log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
# what runs in the background does not hear of Ctrl-C
trap 'trap "" INT TERM; kill 0; exit 1' INT TERM

# The end of each tracer waits for the kernel's grace periods, several times: they are hurried meanwhile. Who puts them back outlives a
# SIGKILL of this script: he waits for the end of a pipe that only the script holds open.
hurry=/sys/kernel/rcu_expedited
if [ -w $hurry ] && [ "$(cat $hurry)" = 0 ]; then
	mkfifo "$log/alive"
	exec 9<>"$log/alive" 8<"$log/alive"
	(setsid sh -c 'read -r _; echo 0 >"$1"' sh $hurry <&8 8<&- 9>&- >/dev/null 2>&1 &)
	exec 8<&-
	echo 1 2>/dev/null >$hurry || :
fi

# run_lane NAME JOBS [NICE]
run_lane()
{
	list=$log/$1
	[ -e "$list" ] || return 0
	# shellcheck disable=SC2046
	{
		code=0
		nice -n "${3:-0}" prove --exec '' --timer --comments "-j$2" $(cat "$list") 2>&1 || code=$?
		echo $code >"$list.code"
	} | tee "$list.out"
}

# All queues run at once. Those that only one test at a time may stand in are the longest, and wait more than they work: the others
# leave them the CPU when they want it.
for file in $files; do
	echo "$file" >>"$log/$(lane_of "$file")"
done
run_lane guests 3 10 9>&- &
{
	run_lane machine 1
	run_lane tracers 3
} 9>&- &
run_lane programs 1 9>&- &
run_lane rest 3 10 9>&- &
wait
status=0
for out in "$log"/*.out; do
	# no code: prove itself was killed
	[ "$(cat "${out%.out}.code" 2>/dev/null)" = 0 ] && continue
	# What failing tests say of themselves, once more: a log is often kept by its end only. What they say to stderr stands before the line
	# of their end, what they say to stdout behind it.
	awk '/^(# )+(Failed test|got:|want:)/ { n = 20 }
		/^\[/ { lines = 0; said = "" }
		/^#/ && n-- > 0 { print; next }
		/^#/ && lines++ < 20 { said = said $0 "\n" }
		/^(Dubious|Failed)/ { printf "%s", said; said = "" }' "$out"
	sed -n '/^Test Summary Report/,$p' "$out"
	sed -n 's/^\([^ ]*\) *(Wstat: .*/\1/p' "$out" >"$log/failed"
	[ -s "$log/failed" ] || status=1
	cat "$log/failed" >>"$log/again"
done

# Beside the others a test sees their work, too. A few that failed run once more when all else has ended, one after the other: what
# fails alone is a fault. What passes alone is named: it is to be looked at, but nobody's change is to blame.
if [ -s "$log/again" ]; then
	if [ "$(echo $files | wc -w)" = 1 ] || [ "$(wc -l <"$log/again")" -gt 3 ]; then
		status=1
	else
		# of the guests only the tests that failed, which guest.t runs for its second part, too
		VM_TESTS=$(sed -n 's/^# Failed test [0-9]* of the guest: \([a-z0-9-]*\): .*/\1/p' "$log"/*.out | sort -u | tr '\n' ' ')
		export VM_TESTS
		# shellcheck disable=SC2046
		prove --exec '' --timer --comments $(sed 's/guest-2/guest/' "$log/again" | sort -u) || status=1
		[ $status = 1 ] || sed 's/^/check.sh: failed beside other tests, passed alone: /' "$log/again"
	fi
fi

# Where the time went, by queue. With several files at once the CPU that prove shows for one is that of its neighbours, too.
for out in "$log"/*.out; do
	sed -n "s/^Files=\([0-9]*\), Tests=\([0-9]*\), *\([0-9]*\) wallclock.*= *\([0-9.]*\) CPU.*/$(basename "$out" .out) \1 \2 \3 \4/p" "$out"
done | awk '
	function line(name, files, tests, seconds, cpu) { printf "check.sh: %-8s %3d files, %4d tests, %3d s, %3d s of CPU\n", name, files, tests, seconds, cpu }
	{ line($1, $2, $3, $4, $5); files += $2; tests += $3; cpu += $5; if ($4 > seconds) seconds = $4 }
	END { line("all", files, tests, seconds, cpu); exit !tests }' || {
	echo "check.sh: no test ran"
	status=1
}
[ $status = 0 ] && echo "check.sh: all tests passed" || echo "check.sh: FAILED"
exit $status
