#!/bin/sh
# SPDX-License-Identifier: MIT
# A session that takes another's place has no event of threads that slept on their way to that one.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/lib/builds.sh

one swapped "gcc -O2" gcc -O2 -- "$dir/swapped"
done_testing
