#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The other half of the guest's tests (guest.t), in a guest of their own.
cd "$(dirname "$0")/../.." || exit 1
VM_PART=2/2
export VM_PART
exec perl tests/vm/boot.pl
