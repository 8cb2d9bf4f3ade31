#!/bin/sh
# SPDX-License-Identifier: MIT
# The interpreter of filters, with the sanitizers watching; once beside the kernel's.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/lib/builds.sh

one "gcc" asan $built/asan/vm kernel
grep '# SKIP' "$dir/out"
one "clang" clang-asan $built/clang-asan/vm
done_testing
