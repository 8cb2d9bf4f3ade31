#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/man.sh BINARY DIR: every manual page, NAME.8, into DIR. A tool or command with tools/NAME.8.md (tools/pantrace-NAME.8.md
# if it is no word of its own) gets that text, the others the page that their option table makes alone.
set -eu
binary=$(realpath "$1")
out=$2
here=$(dirname "$0")
mkdir -p "$out"
rm -f "$out"/*.8
for page in "$here"/../tools/*.8.md; do
	name=$(basename "$page" .8.md)
	"$binary" "${name#pantrace-}" --help-man >"$out/.made"
	[ "$(head -c 3 "$out/.made")" = .TH ] || { echo "man.sh: $page: there is no command ${name#pantrace-}" >&2; exit 1; }
	awk -f "$here/man.awk" "$out/.made" "$page" >"$out/.page"
	mv "$out/.page" "$out/$name.8"
done
"$binary" help --words | while IFS="$(printf '\t')" read -r name kind; do
	[ ! -e "$out/$name.8" ] && [ ! -e "$out/pantrace-$name.8" ] || continue
	"$binary" "$name" --help-man >"$out/.made" 2>/dev/null </dev/null || continue
	[ "$(head -c 3 "$out/.made")" = .TH ] || continue # version and the like
	case $name:$kind in
	run:*) sed '1s/RUN/PANTRACE/; s/^run \\-/pantrace \\-/' "$out/.made" >"$out/pantrace.8" ;;
	*:tool) mv "$out/.made" "$out/$name.8" ;;
	*) sed "1s/^\.TH [^ ]*/.TH PANTRACE\\\\-$(echo "$name" | tr a-z A-Z)/" "$out/.made" >"$out/pantrace-$name.8" ;;
	esac
done
rm -f "$out/.made" "$out/.page"
