#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `pantrace fmt` and bpftrace's --fmt: scripts laid out anew, their meaning and their comments kept.
# parallel: traces nothing
. "$(dirname "$0")/lib.sh"
inputs=$(dirname "$0")/fmt

# --- what it prints: fmt/NAME.bt becomes fmt/NAME.out ---
for input in "$inputs"/*.bt; do
	name=$(basename "$input" .bt)
	run fmt "$input"
	is "$rc$err" 0 "$name: exit code"
	cmp "$work/out" "$inputs/$name.out" >&2
	ok "$name: laid out as expected" || diff -u "$inputs/$name.out" "$work/out" >&2
	run fmt "$inputs/$name.out"
	cmp "$work/out" "$inputs/$name.out" >&2
	ok "$name: what is laid out stays as it is"
	run fmt --check "$inputs/$name.out"
	is "$rc$out$err" 0 "$name: --check says so, too"
done

# --- people's scripts: the same tree before and after, and nothing changes the second time ---
# laid_out FILE: names it if there is something wrong
laid_out()
{
	"$pantrace" fmt "$1" >"$work/once.bt" 2>"$work/error" || { echo "$1: $(head -1 "$work/error")"; return; }
	"$pantrace" fmt "$work/once.bt" >"$work/twice.bt" 2>&1
	cmp -s "$work/once.bt" "$work/twice.bt" || echo "$1: changes again"
	"$pantrace" -d ast "$1" >"$work/before" 2>/dev/null
	"$pantrace" -d ast "$work/once.bt" >"$work/after" 2>/dev/null
	cmp -s "$work/before" "$work/after" || echo "$1: another tree"
	[ -s "$work/after" ] || echo "$1: no tree"
}


scripts=$(dpkg -L bpftrace 2>/dev/null | grep '\.bt$')
if [ -n "$scripts" ]; then
	wrong=
	for script in $scripts; do
		wrong=$wrong$(laid_out "$script")
	done
	is "$wrong" "" "every script of Debian's bpftrace means the same"
else
	skip "scripts of bpftrace" "the package is not installed"
fi

# --- the command line ---
echo 'BEGIN{exit()}' >"$work/a.bt"
cp "$work/a.bt" "$work/b.bt"
want='BEGIN
{
  exit();
}'
printf '%s\n' "$want" >"$work/good.bt"
run fmt -e 'BEGIN{exit()}'
is "$out" "$want" "-e"
is "$("$pantrace" fmt <"$work/a.bt")" "$want" "standard input"
is "$("$pantrace" fmt - <"$work/a.bt")" "$want" "-"
run fmt --check "$work/a.bt" "$work/good.bt" "$work/b.bt"
is "$rc $out" "1 $work/a.bt
$work/b.bt" "--check names what would change, and fails"
run fmt --check "$work/good.bt"
is "$rc$out" 0 "--check: nothing to do"
is "$(cat "$work/a.bt")" 'BEGIN{exit()}' "--check changes nothing"
chmod 751 "$work/a.bt"
ln -s a.bt "$work/link.bt"
touch -d 2001-01-01 "$work/good.bt"
run fmt -i "$work/link.bt" "$work/good.bt"
is "$rc$out$err" 0 "-i"
is "$(cat "$work/a.bt")" "$want" "-i writes what a link points to"
[ -L "$work/link.bt" ]
ok "-i leaves the link"
is "$(stat -c %a "$work/a.bt")" 751 "-i keeps the mode"
is "$(stat -c %Y "$work/good.bt")" "$(date -d 2001-01-01 +%s)" "-i does not touch what is right already"
is "$(ls "$work" | grep -c 'bt\.')" 0 "-i leaves nothing behind"
run fmt -o "$work/new.bt" "$work/b.bt"
is "$rc$out" 0 "-o: exit code"
is "$(cat "$work/new.bt")" "$want" "-o writes to a file"
ln -s b.bt "$work/link2.bt"
run fmt -o "$work/link2.bt" "$work/a.bt"
is "$rc$(cat "$work/b.bt") $(stat -c %F "$work/link2.bt")" "0BEGIN{exit()} regular file" "-o replaces a link, not what it points to"
mkfifo "$work/pipe.bt"
(cat "$work/b.bt" >"$work/pipe.bt") &
run fmt -i "$work/pipe.bt"
is "$rc" 1 "-i: a pipe cannot be written back"
like "$err" "pipe.bt': it is not a regular file" "and why"
run fmt -i --check "$work/a.bt"
is "$rc" 2 "-i or --check"
run fmt -i
is "$rc" 2 "-i needs files"
run fmt --help
like "$out" 'pantrace fmt --check' "--help begins with examples"

# --- names that other users exchange ---
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work"
	mkdir -m 1777 "$work/open"
	as_evil="setpriv --reuid=4343 --regid=4343 --clear-groups"
	echo 'of root' >"$work/victim"
	$as_evil ln -s "$work/victim" "$work/open/out.bt"
	run fmt -o "$work/open/out.bt" "$work/b.bt"
	is "$rc$(cat "$work/victim")" "0of root" "-o follows no link of another user"
	$as_evil mkfifo "$work/open/pipe.bt"
	run fmt -o "$work/open/pipe.bt" "$work/b.bt"
	is "$rc" 1 "-o does not wait at another user's pipe"
	$as_evil mkfifo "$work/open/in.bt"
	"$pantrace" fmt -i "$work/open/in.bt" 2>"$work/err" &
	fmt=$!
	exec 8>"$work/open/in.bt" # it has opened the pipe
	$as_evil sh -c "rm '$work/open/in.bt' && ln -s '$work/victim' '$work/open/in.bt'"
	cat "$work/b.bt" >&8
	exec 8>&-
	wait "$fmt"
	is "$?$(cat "$work/victim")" "1of root" "-i writes to no other file than it has read"
else
	skip "names that other users exchange" "needs root"
fi

# --- bpftrace's own ---
ln -s "$pantrace" "$work/bpftrace"
is "$("$work/bpftrace" --fmt "$work/b.bt")" "$want" "bpftrace --fmt FILE"
is "$("$work/bpftrace" --fmt -e 'BEGIN{exit()}')" "$want" "bpftrace --fmt -e"
is "$("$work/bpftrace" --fmt - <"$work/b.bt")" "$want" "bpftrace --fmt -"
is "$("$work/bpftrace" --mode format "$work/b.bt")" "$want" "bpftrace --mode format"
"$work/bpftrace" --fmt "$work/b.bt" -o "$work/b.bt"
is "$(cat "$work/b.bt")" "$want" "bpftrace --fmt FILE -o FILE"
"$work/bpftrace" --test --fmt "$work/b.bt" 2>"$work/err"
is "$?" 1 "--test and --fmt"
like "$(cat "$work/err")" 'conflicts with existing --mode' "says why"

# --- what is refused, with nothing printed ---
printf 'BEGIN\n{\n  exit(;\n}\n' >"$work/bad.bt"
run fmt "$work/bad.bt"
is "$rc$out" 1 "a script with an error is not printed"
like "$err" 'bad.bt:3:8-9: ERROR: syntax error' "the place is named"
run fmt -i "$work/bad.bt" "$work/missing.bt"
is "$rc" 1 "files that cannot be laid out"
like "$err" 'missing.bt.: No such file' "each is named"
is "$(head -1 "$work/bad.bt")$(wc -l <"$work/bad.bt")" BEGIN4 "and left alone"
run fmt -e '// only this'
is "$rc$out" '0// only this' "a script of comments"

done_testing
