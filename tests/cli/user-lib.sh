# SPDX-License-Identifier: GPL-2.0-or-later
# For tests of recorded events of instrumented programs; after lib.sh.
need_root
lib=${LIB_DIR:-$top/build}
if [ ! -f "$lib/libpantrace.a" ]; then
	echo "1..0 # SKIP needs libpantrace.a: make"
	exit 0
fi
export PANTRACE_RUNTIME="$work/runtime"
traced=$work/traced
gcc -O1 -g -fno-omit-frame-pointer -I"$top/include" "$top/tests/lib/traced.c" -o "$traced" "$lib/libpantrace.a" -lpthread || exit 1

# same_text DIRECTORY NAME: what babeltrace2 prints equals what report prints; babeltrace2 warns of nothing
same_text()
{
	babeltrace2 "$1" >"$work/theirs" 2>"$work/warnings"
	"$pantrace" report --format babeltrace "$1" >"$work/ours" 2>"$work/err"
	[ -s "$work/ours" ] && cmp "$work/theirs" "$work/ours"
	ok "$2: $(grep -c . "$work/ours") lines equal babeltrace2's" || diff "$work/theirs" "$work/ours" | head -6 | sed 's/^/# /'
}
