#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/man.sh BINARY DIR: every manual page, NAME.8, into DIR. A tool or command with tools/NAME.8.md (tools/pantrace-NAME.8.md
# if it is no word of its own) gets that text, the others the page that their option table makes alone. pantrace.8 is the program's
# own, pantrace-language.7 is doc/language.md.
set -eu
binary=$(realpath "$1")
out=$2
here=$(dirname "$0")
mkdir -p "$out"
rm -f "$out"/*.[78]
for page in "$here"/../tools/*.8.md; do
	name=$(basename "$page" .8.md)
	word=${name#pantrace-}
	[ "$name" != pantrace ] || word=help
	"$binary" "$word" --help-man >"$out/.made"
	[ "$(head -c 3 "$out/.made")" = .TH ] || { echo "man.sh: $page: there is no command $word" >&2; exit 1; }
	awk -f "$here/man.awk" "$out/.made" "$page" >"$out/.page"
	mv "$out/.page" "$out/$name.8"
done
"$binary" help --words | while IFS="$(printf '\t')" read -r name kind; do
	[ ! -e "$out/$name.8" ] && [ ! -e "$out/pantrace-$name.8" ] || continue
	"$binary" "$name" --help-man >"$out/.made" 2>/dev/null </dev/null || continue
	[ "$(head -c 3 "$out/.made")" = .TH ] || continue # version and the like
	case $name:$kind in
	*:tool) mv "$out/.made" "$out/$name.8" ;;
	*) sed "1s/^\.TH [^ ]*/.TH PANTRACE\\\\-$(echo "$name" | tr a-z A-Z)/" "$out/.made" >"$out/pantrace-$name.8" ;;
	esac
done
# The program's page names the others as they are called.
for page in "$out"/*.8; do
	name=$(basename "$page" .8)
	sed -i "s/^\.BR pantrace\\\\-$name \(.*(8)\)/.BR $name \1/" "$out/pantrace.8"
done
{
	printf '.TH PANTRACE\\-LANGUAGE 7 "" "pantrace" "pantrace"\n'
	printf '.SH NAME\npantrace\\-language \\- the language of scripts\n'
} >"$out/.made"
# Headings of a page stand one level higher than in the document; links are their texts.
sed -e 's/^## /### /; s/^\(#*\) `\(.*\)`$/\1 \2/; s/^# .*/# pantrace-language(7)\n\n## DESCRIPTION/; s/^####* /### /' \
	-e 's/\[\([^]]*\)\]([^)]*)/\1/g' "$here/../doc/language.md" >"$out/.text"
awk -f "$here/man.awk" "$out/.made" "$out/.text" >"$out/pantrace-language.7"
rm -f "$out/.made" "$out/.page" "$out/.text"
