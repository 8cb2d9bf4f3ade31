# SPDX-License-Identifier: GPL-2.0-or-later
# For tests that look at the directories where programs and recorders meet by default: sourced first, it begins the test again
# with directories of its own (/dev/shm, or those that alone_in names), so that what other tests have there at the moment is not
# seen. A tree below one of them is mounted there again.
if [ "$(id -u)" = 0 ] && [ -z "$TEST_ALONE" ]; then
	tree=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
	TEST_ALONE=1 exec unshare -m sh -c '
		tree=$2
		mount --bind "$tree" /mnt || exit 1
		for d in $3; do mount -t tmpfs -o mode=1777 none $d || exit 1; done
		[ ! -d /run ] || case " $3 " in *" /run "*) chmod 755 /run ;; esac
		[ -e "$tree/Makefile" ] || { mkdir -p "$tree" && mount --bind /mnt "$tree" || exit 1; }
		umount /mnt && cd "$tree" && exec sh "$1"' sh "$(realpath "$0")" "$tree" "${alone_in:-/dev/shm}"
fi
