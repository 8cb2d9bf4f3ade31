#!/bin/sh
# SPDX-License-Identifier: MIT
# Tables in which programs count, with the sanitizers watching.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/lib/builds.sh

aggregate()
{
	one "$1" $2 $built/$2/aggregate $3
}
aggregate "gcc" plain
aggregate "gcc, addresses" asan
aggregate "gcc, threads" tsan short
aggregate "clang" clang
aggregate "clang, addresses" clang-asan
aggregate "clang, threads" clang-tsan short
done_testing
