#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tests/fuzz/run.sh TARGET SECONDS: runs one fuzz target over seeds made from the project's own scripts.
# Build first: make BUILD=fuzz fuzz
set -eu
target=$1 seconds=$2
corpus=build/fuzz/corpus-$target
mkdir -p "$corpus"
case $target in
parse | compile)
	cp tools/*.bt "$corpus/"
	# every string of the unit tests that looks like a script
	sed -n 's/^[[:space:]]*{\{0,1\}"\(.*[{}].*\)",\{0,1\}.*/\1/p' tests/unit/*.c | sed 's/\\"/"/g; s/\\n/\n/g' |
		split -l 1 - "$corpus/unit-"
	;;
elf) cp build/programs/*.dyn "$corpus/" ;;
esac
exec build/fuzz/"$target" -max_total_time="$seconds" -max_len=16384 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
	-artifact_prefix=build/fuzz/ "$corpus"
