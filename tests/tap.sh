# SPDX-License-Identifier: GPL-2.0-or-later
# TAP in busybox sh, for tests of the guest and of this kernel alike. What is said of a failure goes to stderr: prove passes
# that on, so that the log of a run says what failed and how.
tests_run=0
tests_failed=0

# ok NAME: success of the command before
ok()
{
	tap_rc=$?
	tests_run=$((tests_run + 1))
	if [ $tap_rc -eq 0 ]; then
		printf '%s\n' "ok $tests_run - $1"
	else
		printf '%s\n' "not ok $tests_run - $1"
		printf '%s\n' "# Failed test $tests_run of $0: $1" >&2
		tests_failed=$((tests_failed + 1))
	fi
	return $tap_rc
}

# is GOT WANT NAME
is()
{
	[ "$1" = "$2" ]
	ok "$3" || {
		echo "# got:"
		printf '%s\n' "$1" | sed 's/^/#   /' | head -40
		echo "# want:"
		printf '%s\n' "$2" | sed 's/^/#   /' | head -40
		return 1
	} >&2
}

# like GOT EXTENDED-REGEX NAME
like()
{
	printf '%s\n' "$1" | grep -Eq -- "$2"
	ok "$3" || {
		echo "# got:"
		printf '%s\n' "$1" | sed 's/^/#   /' | head -40
		echo "# does not match: $2"
		return 1
	} >&2
}

unlike()
{
	! printf '%s\n' "$1" | grep -Eq -- "$2"
	ok "$3" || {
		printf '%s\n' "$1" | sed 's/^/#   /' | head -40
		echo "# should not match: $2"
		return 1
	} >&2
}

# skip NAME WHY
skip()
{
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1 # SKIP $2"
}

done_testing()
{
	echo "1..$tests_run"
	[ $tests_failed -eq 0 ]
}
