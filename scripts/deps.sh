#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every Debian package that pantrace is built, tested and measured with, by purpose. Installs what is
# missing, and only that, and says what it does.   usage: scripts/deps.sh [test] [bench]
set -eu

build='gcc libc6-dev make libbpf-dev libelf-dev libdw-dev libiberty-dev zlib1g-dev libzstd-dev
       liblzma-dev libbz2-dev liblzo2-dev'
# the judges: strace, gdb, readelf; the guest: qemu, busybox, a Debian kernel; sdt.h for USDT programs
test='perl strace gdb binutils iproute2 qemu-system-x86 busybox-static cpio kmod systemtap-sdt-dev g++ procps zstd xz-utils trace-cmd openssh-client openssh-server
      python3 python3-jsonschema protobuf-compiler jq util-linux clang libclang-rt-14-dev dwz linux-perf bpftrace babeltrace2 man-db pkg-config zsh fish clang-format
      chromium e2fsprogs mount libkshark-dev libjson-c-dev tmux grub-common'
bench='python3 bpftrace fio lttng-tools liblttng-ust-dev linux-perf trace-cmd babeltrace2 strace procps util-linux'
# unpacked into build/vm, never installed: the kernels of the guest, Debian's own and a newer one
kernels='linux-image-cloud-amd64:kernel linux-image-6.12-cloud-amd64:kernel-newer'

wanted=$build
for group in "$@"; do
	case $group in
	test) wanted="$wanted $test" ;;
	bench) wanted="$wanted $bench" ;;
	*) echo "deps.sh: unknown group '$group' (test, bench)" >&2; exit 2 ;;
	esac
done

missing=
for package in $wanted; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
		missing="$missing $package"
done

as_root()
{
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

updated=
update()
{
	[ -n "$updated" ] || as_root apt-get update -qq
	updated=yes
}

if [ -n "$missing" ]; then
	echo "Installing:$missing"
	update
	# shellcheck disable=SC2086
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		$missing >/dev/null
fi

case " $* " in *' test '*) ;; *) exit 0 ;; esac

# The guest's kernels: each the newest that its meta package asks for.
mkdir -p build/vm
for kernel in $kernels; do
	package=${kernel%:*}
	directory=build/vm/${kernel#*:}
	[ ! -e "$directory/vmlinuz" ] || continue
	update
	image=$(apt-cache depends --important "$package" 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -1)
	if [ -z "$image" ]; then
		echo "deps.sh: no kernel image behind $package" >&2
		[ "$directory" != build/vm/kernel ] || exit 1
		continue # the tests on it are skipped, and say so
	fi
	echo "Unpacking $image into $directory (not installed)"
	rm -rf build/vm/unpacked
	(cd build/vm && apt-get download -qq "$image" && dpkg-deb -x "$image"_*.deb unpacked && rm "$image"_*.deb)
	mkdir -p "$directory"
	/sbin/depmod -b build/vm/unpacked "$(ls build/vm/unpacked/lib/modules)"
	cp build/vm/unpacked/boot/config-* "$directory/config"
	cp -a build/vm/unpacked/lib/modules "$directory/"
	cp build/vm/unpacked/boot/vmlinuz-* "$directory/vmlinuz" # last: its presence says "complete"
	rm -rf build/vm/unpacked
done
