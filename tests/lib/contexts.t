#!/bin/sh
# SPDX-License-Identifier: MIT
# What events say of their threads.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/lib/builds.sh

in_builds_that_differ contexts
done_testing
