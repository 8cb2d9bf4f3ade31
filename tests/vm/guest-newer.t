#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest again with Debian's newer kernel (6.12), for tests that name it in their heads (boot.pl): what goes another way where there are multi-links for kprobes, addresses in
# available_filter_functions, function_graph in instances, function return values.
cd "$(dirname "$0")/../.." || exit 1
VM_KERNEL=build/vm/kernel-newer
if [ ! -e $VM_KERNEL/vmlinuz ]; then
	echo "1..0 # SKIP Debian has no newer kernel than its own here"
	exit 0
fi
VM_GUEST=newer
export VM_KERNEL VM_GUEST
exec perl tests/vm/boot.pl
