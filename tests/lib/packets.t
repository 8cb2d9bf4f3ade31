#!/bin/sh
# SPDX-License-Identifier: MIT
# Packets as readers of CTF want them.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
lib=${LIB_DIR:-build}
gcc -O2 -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude tests/lib/packets.c -o "$dir/packets" "$lib/libpantrace.a" -lpthread
ok "builds" || { done_testing; exit; }
"$dir/packets" "$dir/trace" >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
ok "$(grep -c '^ok' "$dir/out") checks" || sed 's/^/# /' "$dir/out" >&2
if command -v babeltrace2 >/dev/null; then
	babeltrace2 "$dir/trace" >"$dir/text" 2>"$dir/err"
	is $? 0 "babeltrace2 reads it"
	lost=$(sed -n 's/.*discarded \([0-9]*\) events\{0,1\}.*/\1/p' "$dir/err" | awk '{ n += $1 } END { print n + 0 }')
	is "$(($(grep -c packets:small "$dir/text") + lost))" 100000 "and counts what was produced, read and lost"
	like "$(cat "$dir/err")" 'may have discarded .*/ring_none"' "what found no ring it tells of without a number: there is nothing to count from"
fi
done_testing
