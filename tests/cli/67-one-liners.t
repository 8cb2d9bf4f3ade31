#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every line of doc/one-liners.md runs, and shows something unless its block is marked quiet. Those marked guest run in the
# guest (tests/vm/one-liners.sh).
# among tracers: asks whether they run and print, not what
. "$(dirname "$0")/lib.sh"
need_root

mkdir "$work/bin"
ln -s "$pantrace" "$work/bin/pantrace"
PATH=$work/bin:$PATH
dd if=/dev/zero of="$work/image" bs=1M count=8 2>/dev/null
loop=$(losetup -f --show "$work/image" 2>/dev/null) || loop=
(
	trap 'exit 0' TERM
	while :; do
		"$programs/opens"
		"$programs/kills"
		[ -z "$loop" ] || dd if="$loop" of=/dev/null bs=4k count=100 iflag=direct
		echo 3 >/proc/self/oom_score_adj
		cat /proc/self/stat "$work/image"
		sleep 0.03
	done
) >/dev/null 2>&1 &
noise=$!
trap 'kill $noise 2>/dev/null; wait $noise 2>/dev/null; [ -z "$loop" ] || losetup -d "$loop"; rm -rf "$work" /tmp/pantrace-opens /tmp/io.html' EXIT

# one_liners BLOCK: its lines without comments
one_liners() { awk -v block="\`\`\`$1" '$0 == block { on = 1; next } /^```/ { on = 0 } on && !/^#/' "$top/doc/one-liners.md"; }

# 124: ended, as Ctrl-C would. 3: events were lost on a busy machine.
ran_well()
{
	case $rc in 0 | 3 | 124) ;; *) return 1 ;; esac
	! grep -Eq 'ERROR|rror:' "$work/err" && { [ "$1" = quiet ] || [ -s "$work/out" ]; }
}

run_lines()
{
	while IFS= read -r line <&3; do
		case $line in
		*exit\(\)* | *' -d '* | *'|'*)
			timeout -s INT -k 120 300 sh -c "$line" >"$work/out" 2>"$work/err" </dev/null
			rc=$?
			;;
		*) run_a_moment 60 "$line" ;;
		esac
		# A busy machine may need longer until the first event.
		if ! ran_well "$1" && { [ $rc = 124 ] || [ $rc = 3 ]; }; then
			timeout -s INT -k 120 60 sh -c "$line" >"$work/out" 2>"$work/err" </dev/null
			rc=$?
		fi
		ran_well "$1"
		ok "$line" || { echo "# code $rc"; sed 's/^/# /' "$work/err" | head -5; }
	done 3<"$work/lines"
}

one_liners sh >"$work/lines"
like "$(wc -l <"$work/lines")" '^ *[5-9][0-9]' "there are many"
run_lines loud
one_liners 'sh quiet' >"$work/lines"
run_lines quiet
is "$(grep -c '^```sh' "$top/doc/one-liners.md")" "$(grep -cE '^```sh( guest)?( quiet)?$' "$top/doc/one-liners.md")" "no line is in a block that nobody runs"
done_testing
