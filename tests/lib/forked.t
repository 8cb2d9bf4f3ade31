#!/bin/sh
# SPDX-License-Identifier: MIT
# A child of a fork() in a signal handler goes on with the event that the signal interrupted.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/lib/builds.sh

one "gcc -O2" plain $built/plain/forked "$dir"
done_testing
