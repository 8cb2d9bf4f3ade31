#!/bin/sh
# SPDX-License-Identifier: MIT
# Everything of this directory in one run, with what else the machine had to do.   usage: bench/user/all.sh [LIB_DIR] [SECONDS]
set -eu
lib=${1:-build} seconds=${2:-30}
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
load()
{
	printf '\n[%s: load %s]\n' "$1" "$(cut -d' ' -f1-3 /proc/loadavg)"
}
gcc -O2 -D_GNU_SOURCE "$here/floor.c" -o "$dir/floor"
load floor
"$dir/floor"
load run
"$here/run.sh" "$lib"
load cost
"$here/cost.sh" "$lib"
load sessions
"$here/sessions.sh" "$lib" "$seconds"
load read
"$here/read.sh" "$lib"
load end
