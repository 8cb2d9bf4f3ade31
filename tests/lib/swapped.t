#!/bin/sh
# SPDX-License-Identifier: MIT
# A session that takes another's place has no event of threads that slept on their way to that one.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/lib/builds.sh

one "gcc -O2" plain $built/plain/swapped
done_testing
