#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# bench/fold.sh BINARY [MEGABYTES]: text of perf script is folded by pantrace and, where it is in PATH, by stackcollapse-perf.pl, in
# turns; user time counts. The results are compared.
set -eu
binary=$(realpath "$1")
megabytes=${2:-240}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

perf record -q -g -F 1999 -e cpu-clock -o part.data -- sh -c 'dd if=/dev/zero of=/dev/null bs=1 count=300000; perl -e "for (1 .. 3000000) { \$x .= 1 }"' >/dev/null 2>&1
perf script -i part.data >part 2>/dev/null
awk -v most=$((megabytes * 1000000)) '{ text = text $0 "\n" } END { for (n = 0; n < most; n += length(text)) printf "%s", text }' part >text

user_seconds() # OUT COMMAND...: its user time
{
	to=$1
	shift
	/usr/bin/time -f %U -o time "$@" >"$to" 2>err || { echo "bench/fold.sh: $1 failed: $(tail -1 err)" >&2; exit 1; }
	tail -1 time
}
ours=$(for _ in 1 2 3; do user_seconds ours "$binary" convert --to folded text -; done | sort -n | head -1)
size=$(stat -c %s text)
if theirs=$(command -v stackcollapse-perf.pl); then
	theirs=$(user_seconds theirs "$theirs" text)
	cmp -s ours theirs && same=identical || same=different
	awk -v n="$size" -v a="$ours" -v b="$theirs" -v same="$same" 'BEGIN {
		printf "%d MB of perf script folded (%s):  pantrace %.2f s   stackcollapse-perf.pl %.2f s   ratio %.3f\n", n / 1e6, same, a, b, a / b }'
else
	awk -v n="$size" -v a="$ours" 'BEGIN { printf "%d MB of perf script folded:  pantrace %.2f s\n", n / 1e6, a }'
fi
