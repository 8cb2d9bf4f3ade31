#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# bench/ftrace.sh BINARY: what the tools that need kprobes or the function tracers cost what they trace, in the guest. It is emulated, so that only the
# ratio of the times with and without a tool means anything; both take turns, RUNS (5) times, and the median of the ratios counts.
set -eu
binary=$1
extra=build/bench/guest-ftrace
rm -rf "$extra"
mkdir -p "$extra/tests"
cp bench/vm/overhead.sh "$extra/tests/"
echo "${RUNS:-5} ${ONLY:-.}" >"$extra/runs"
VM_TESTS=overhead VM_EXTRA=$extra VM_TIMEOUT=${VM_TIMEOUT:-600} PANTRACE=$binary exec sh tests/vm/guest.t
