#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the tests through prove: unit tests, tests on this kernel, of the library, in the guest.
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
	vm) files="$files tests/vm/guest.t tests/vm/guest-newer.t" ;;
	*) files="$files $word" ;;
	esac
done

for file in $files; do
	[ -x "$file" ] && continue
	echo "check.sh: $file cannot be run (chmod +x)"
	exit 1
done
tests/programs/build.sh build/programs

# Tests on this kernel see each other's events and programs, so they run one after the other, with the unit tests that use tracefs; those
# that only record instrumented programs (80 to 82) beside them; one guest after the other; the rest may overlap. They wait more than
# they work.
log=$(mktemp)
# shellcheck disable=SC2086
{
	prove --exec '' --timer -j3 --rules='seq={tests/cli/80*,tests/cli/81*,tests/cli/82*}' --rules='seq={tests/cli/*,tests/differential/*,**/unit/instance,**/unit/trace_live}' --rules='seq=tests/vm/*' --rules='par=**' $files 2>&1 && echo 0 >"$log.status" ||
		echo $? >"$log.status"
} | tee "$log"
status=$(cat "$log.status")
if ! grep -Eq '^Files=[0-9]+, Tests=[1-9]' "$log"; then
	echo "check.sh: no test ran"
	status=1
fi
rm -f "$log" "$log.status"
exit $status
