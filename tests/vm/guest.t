#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Boots a Debian kernel under QEMU once and runs every second of the tests/vm/*.sh in it that name it in their heads (guest-2.t runs the
# others, beside it); their TAP becomes this file's. To add a test of the guest, add a file tests/vm/NAME.sh (busybox sh; tests/vm/lib is
# sourced; ok, is, skip, done_testing) with a line "# guest: older" (or newer, or both), and "# modules: veth" if it needs any. NAME.host runs outside of the guest meanwhile.
#   VM_KERNEL=DIR boots another kernel (DIR/vmlinuz, config, modules/RELEASE); guest-newer.t does.
#   VM_TESTS='kprobe fentry' runs only these; VM_ALL=1 those of make check-all, too; VM_TIMEOUT seconds (5400), VM_THREADS=multi runs
#   both CPUs at once. build/vm/console.log says what each test cost.
cd "$(dirname "$0")/../.." || exit 1
VM_PART=1/2
export VM_PART
exec perl tests/vm/boot.pl
