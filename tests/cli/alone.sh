# SPDX-License-Identifier: GPL-2.0-or-later
# For tests that look at the directories where programs and recorders meet by default: sourced first, it begins the test again
# with directories of its own, so that what other tests have there at the moment is not seen.
if [ "$(id -u)" = 0 ] && [ -z "$TEST_ALONE" ]; then
	TEST_ALONE=1 exec unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec sh "$0"' "$0"
fi
