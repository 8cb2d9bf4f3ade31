#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The README's two commands where nothing is installed: a minimal Debian 12 with git and make, and a clone of this tree's HEAD.
#   scripts/fresh.sh [DIRECTORY [COMMAND...]]    default: make run, then make check; needs root, debootstrap, 6 GB, the network
# The system lives in DIRECTORY (made anew unless it has one) in a mount namespace of its own, entered by pivot_root, with this kernel's
# /proc, /sys, tracefs and devices, and this machine's PIDs. It is left there to be looked at; remove it with rm -rf when no longer wanted.
set -eu
tree=$(cd "$(dirname "$0")/.." && pwd)
root=${1:-/var/tmp/pantrace-fresh}
[ $# -eq 0 ] || shift
[ "$(id -u)" = 0 ] || { echo "fresh.sh: needs root" >&2; exit 4; }
command -v debootstrap >/dev/null || { echo "fresh.sh: needs debootstrap (apt-get install debootstrap)" >&2; exit 1; }

if [ ! -e "$root/system/etc/debian_version" ]; then
	mkdir -p "$root"
	debootstrap --variant=minbase --include=git,make,ca-certificates bookworm "$root/system" >"$root/debootstrap.log" || {
		tail -3 "$root/debootstrap.log" >&2
		exit 1
	}
fi
# Updates and security, as the installer sets them up, from where debootstrap got the rest: the newer guest's kernel is among them.
mirror=$(sed -n 's/^deb \([^ ]*\) bookworm main.*/\1/p' "$root/system/etc/apt/sources.list")
for suite in " bookworm" " bookworm-updates" "-security bookworm-security"; do
	echo "deb $mirror${suite% *} ${suite##* } main"
done >"$root/system/etc/apt/sources.list"
cp /etc/resolv.conf "$root/system/etc/resolv.conf"
rm -rf "$root/system/root/pantrace"
git clone -q "$tree" "$root/system/root/pantrace"
[ $# -gt 0 ] || set -- sh -c 'make run && make check'

# shellcheck disable=SC2016
exec unshare --mount sh -euc '
	system=$1
	shift
	mount --bind "$system" "$system"
	mount --rbind /dev "$system/dev"
	mount --rbind /sys "$system/sys"
	mount -t proc proc "$system/proc"
	mount -t tmpfs tmpfs "$system/run"
	mount -t tmpfs -o size=2g tmpfs "$system/tmp"
	cd "$system"
	mkdir -p mnt/old
	pivot_root . mnt/old
	umount -l /mnt/old
	cd /root/pantrace
	exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8 CI="${CI:-}" "$@"
' fresh "$root/system" "$@"
