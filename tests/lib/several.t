#!/bin/sh
# SPDX-License-Identifier: MIT
# Several sessions and every set of contexts, in every build that matters.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/lib/builds.sh

in_every_build several
done_testing
