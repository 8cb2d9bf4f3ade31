#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# 1,000 of 1,000 short-lived processes, with their arguments.
. "$(dirname "$0")/lib.sh"
need_root

# A copy of its own: other tests run /bin/true, too.
chmod 755 "$work"
cp /bin/true "$work/true"
start execsnoop
"$programs/spawn" 1000 "$work/true" "an argument with blanks" -x
sleep 0.5
stop
seq 0 999 | sed "s,^,$work/true an argument with blanks -x ," | sort >"$work/want"
awk -v file="$work/true" '$3 == file { sub(/^ *[0-9]+ +[0-9]+ +/, ""); print }' "$work/trace" | sort >"$work/got"
is "$(wc -l <"$work/got" | tr -d ' ')" 1000 "1000 of 1000 processes"
cmp -s "$work/got" "$work/want"; ok "all arguments, in order"
like "$out" '^ *PID +PPID +ARGS$' "columns"
like "$err" '^Attached [0-9]+ probes|^$' "no losses are reported"

many=$(seq -s ' ' 1 300)
start execsnoop
# shellcheck disable=SC2086
"$work/true" $many
"$work/true" "$(printf 'esc\033[31mred\nline')"
sleep 0.3
stop
like "$out" "$work/true $many\$" "300 arguments are complete"
like "$out" 'esc\\x1b\[31mred\\x0aline$' "control characters do not reach the terminal"

start execsnoop
"$work/true" "$(head -c 8000 /dev/zero | tr '\0' x)"
"$work/true" "$(head -c 20000 /dev/zero | tr '\0' y)"
sleep 0.3
stop
is "$(echo "$out" | awk '/xxxxx/ { print length($4), NF }')" "8000 4" "8,000 bytes are complete"
like "$out" 'yyyy \[\.\.\.\]$' "what is cut is marked"

start execsnoop -x
"$programs/spawn" 1 /nonexistent/program one two 2>/dev/null
sleep 0.3
stop
like "$out" 'ENOENT +/nonexistent/program /nonexistent/program one two 0' "-x: a failed exec with error and arguments"

start execsnoop --json
"$work/true" 'a b' c
sleep 0.3
stop
echo "$out" | grep "\"$work/true\"" | python3 -c '
import json, sys
rows = [json.loads(l) for l in sys.stdin]
assert [r["args"] for r in rows] == [[sys.argv[1], "a b", "c"]] and isinstance(rows[0]["pid"], int), rows' "$work/true"
ok "--json: one object per exec, the arguments as a list"
done_testing
