#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every example of doc/language.md ("$ command", then its output) prints what the page says; every example of `pantrace help NAME`
# compiles; the generated part of the page is up to date.
# among tracers: looks at itself and its own children
. "$(dirname "$0")/lib.sh"
need_root

mkdir "$work/bin"
ln -s "$pantrace" "$work/bin/pantrace"
PATH=$work/bin:$programs:$PATH

# case.N: the command in the first line, the output below
awk -v dir="$work" '/^```console$/ { on = 1; n++; next } /^```/ { on = 0 } on { print > (dir "/case." n) }' "$top/doc/language.md"
for file in $(ls "$work"/case.* | sort -t. -k3n); do
	command=$(sed -n '1s/^\$ //p' "$file")
	got=$(timeout -k 5 300 sh -c "$command" 2>&1 </dev/null | sed 's/[[:space:]]*$//' | grep -v '^$')
	is "$got" "$(sed 1d "$file" | sed 's/[[:space:]]*$//')" "$command"
done

# What this kernel cannot do is no fault of the example.
impossible='cannot be used here|not in a cgroup|bpf_probe_write_user|__per_cpu_offset|is required|requires a target|has no BTF|Missing required'
"$pantrace" help --examples >"$work/examples"
tab=$(printf '\t')
while IFS=$tab read -r name script <&3; do
	[ -n "$script" ] || continue
	timeout -k 5 300 "$pantrace" --unsafe --dry-run -c true -e "$script" >"$work/out" 2>&1 </dev/null
	rc=$?
	if [ $rc != 0 ] && grep -Eq "$impossible" "$work/out"; then
		skip "help $name" "$(grep -Eo "$impossible" "$work/out" | head -1)"
		continue
	fi
	if [ "$name" = fail ]; then
		[ $rc = 1 ]
	else
		[ $rc = 0 ]
	fi
	ok "help $name" || sed 's/^/# /' "$work/out" | head -5 >&2
done 3<"$work/examples"

like "$("$pantrace" help llhist)" '^llhist_t llhist\(' "help of a function"
"$pantrace" help lhits >/dev/null 2>"$work/err"
is "$?" 2 "help of what does not exist: exit code"
like "$(cat "$work/err")" "did you mean 'lhist'" "help of what does not exist: the nearest"
"$top/scripts/doc.sh" "$pantrace" --check >"$work/diff" 2>&1
ok "doc/language.md is up to date (make doc)" || head -20 "$work/diff" | sed 's/^/# /'
done_testing
