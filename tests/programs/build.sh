#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the workloads of the tests (tests/programs/*.c) into a folder: NAME (static, for the guest too) and
# NAME.dyn (dynamic, PIE, with debug info) where the first line says so: /* build: dyn */.
set -eu
out=$1
here=$(dirname "$0")
mkdir -p "$out"
for source in "$here"/*.c; do
	name=$(basename "$source" .c)
	# instrumented ones need the library, which is built beside
	if grep -q pantrace/pantrace.h "$source"; then
		library=$out/../libpantrace.a
		[ -f "$library" ] || continue
		if [ "$out/$name" -nt "$source" ] && [ "$out/$name" -nt "$library" ]; then continue; fi
		gcc -O1 -g -static -pthread -fno-omit-frame-pointer -I"$here/../../include" -o "$out/$name" "$source" "$library"
		continue
	fi
	if [ "$out/$name" -nt "$source" ]; then continue; fi
	gcc -O1 -g -static -pthread -fno-omit-frame-pointer -o "$out/$name" "$source"
	gcc -O1 -g -pthread -fno-omit-frame-pointer -o "$out/$name.dyn" "$source"
done
