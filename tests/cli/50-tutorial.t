#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every command line of doc/tutorial.md runs. Those marked kprobe run in the guest (tests/vm/tutorial.sh).
# among tracers: asks whether they run
. "$(dirname "$0")/lib.sh"
need_root

mkdir "$work/bin"
ln -s "$pantrace" "$work/bin/pantrace"
PATH=$work/bin:$PATH
awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$top/doc/tutorial.md" >"$work/lines"
like "$(wc -l <"$work/lines")" '^[2-9][0-9]' "the tutorial has commands"
while IFS= read -r line <&3; do
	run_a_moment 60 "exec $line"
	# 124: it was ended. 3: events were lost on a busy machine.
	case $rc in 0 | 3 | 124) ! grep -q ERROR "$work/err" ;; *) false ;; esac
	ok "$line" || sed 's/^/# /' "$work/err" | head -5 >&2
done 3<"$work/lines"
done_testing
