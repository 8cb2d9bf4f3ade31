#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# bench/vm.sh BINARY [PATTERN...]: kprobes by wildcard in the guest (kprobes need a kernel that has them), beside bpftrace.
# Attaching by funccount, too, and the kernel's own part of each. RUNS (3): how often the tracers take turns.
#   VM_KERNEL=DIR boots another kernel: build/vm/kernel (Debian's own, 6.1) has no multi-links, build/vm/kernel-newer (6.12), which is
#   taken where it is there, has them.
set -eu
[ -n "${VM_KERNEL:-}" ] || [ ! -e build/vm/kernel-newer/vmlinuz ] || VM_KERNEL=build/vm/kernel-newer
export VM_KERNEL="${VM_KERNEL:-build/vm/kernel}"
binary=$1
shift
extra=build/bench/guest
rm -rf "$extra"
mkdir -p "$extra/tests" "$extra/lib64" "$extra/lib/x86_64-linux-gnu" "$extra/bin"
cp bench/vm/scale.sh "$extra/tests/"
gcc -O2 -static -o "$extra/bin/startstop" bench/startstop.c
echo "${RUNS:-3} $*" >"$extra/patterns"
peer=$(command -v bpftrace || true)
if [ -n "$peer" ]; then
	cp -L "$peer" "$extra/bin/bpftrace"
	ldd "$peer" | awk '/=>/ { print $3 } /ld-linux/ { print $1 }' | while read -r l; do
		case $l in
		*/ld-linux*) cp -L "$l" "$extra/lib64/" ;;
		*) cp -L "$l" "$extra/lib/x86_64-linux-gnu/" ;;
		esac
	done
fi
VM_TESTS=scale VM_EXTRA=$extra VM_MEMORY=4096 VM_TIMEOUT=1200 PANTRACE=$binary exec sh tests/vm/guest.t
