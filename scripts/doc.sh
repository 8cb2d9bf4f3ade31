#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Regenerates the reference of functions in doc/language.md from the binary.
#   scripts/doc.sh BINARY [FILE]    FILE: doc/language.md; the result replaces it
#   scripts/doc.sh BINARY --check   fails if it is not up to date
set -eu
binary=$1
file=$(dirname "$0")/../doc/language.md
new=$(mktemp)
trap 'rm -f "$new"' EXIT
{
	sed '/^<!-- begin generated -->$/q' "$file"
	echo
	"$binary" help --reference
	sed -n '/^<!-- end generated -->$/,$p' "$file"
} >"$new"
if [ "${2:-}" = --check ]; then
	diff -u "$file" "$new"
else
	cat "$new" >"$file"
fi
