#!/bin/sh
# SPDX-License-Identifier: MIT
# A session that takes another's place has no event of threads that slept on their way to that one.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/lib/builds.sh

# no helper: a recorder of all programs of the machine would take one of the places that are counted
one "gcc -O2" plain PANTRACE_CONTROL=0 $built/plain/swapped
done_testing
