#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# probe, cache: files, homes and caches that others have made: names with escapes, notes with paths, links, FIFOs, another user's home,
# several writers.
# parallel: nothing is traced
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
chmod 755 "$work"
cp "$pantrace" tool
chmod 755 tool
mkdir own
export HOME="$work/own" PERF_CONFIG=/dev/null
cat >demo.c <<'C'
struct Sevil { int mevil; };
int gevil;
__attribute__((noinline)) int fevil(struct Sevil *pevil, int levil) { __asm__ volatile("" : : : "memory"); return pevil->mevil + levil + gevil; }
int main(int c, char **v) { struct Sevil s = {c}; return fevil(&s, c); }
C
gcc -g -O1 -o demo demo.c || exit 1
id=$(readelf -n demo | sed -n 's/.*Build ID: //p')
esc=$(printf '\033')

# ---- names that control a terminal ----
gcc -g -O1 -gdwarf-4 -gno-as-loc-support -S -o demo.s demo.c 2>/dev/null || gcc -g -O1 -S -o demo.s demo.c
LC_ALL=C sed 's/\(\.string.*\)evil/\1\\033[1m/' demo.s >names.s
gcc -o names names.s
LC_ALL=C sed -i "s/fevil\x00/f$esc[1m\x00/g; s/gevil\x00/g$esc[1m\x00/g" names
shown=0
while read -r option word; do
	$pantrace probe -x names "$option" ${word:+"$word"} >out 2>&1
	[ -s out ] && shown=$((shown + 1))
	[ "$(grep -c "$esc" out)" = 0 ]
	ok "$option $word: no escape reaches the terminal"
	$pantrace probe -x names --json "$option" ${word:+"$word"} >out 2>&1
	[ "$(grep -c "$esc" out)" = 0 ]
	ok "$option $word --json: nor in JSON"
done <<'L'
-F
-F f*
-V f*
-V main
-L main
-D f*
-D f* $params
-D f*%return
-D f* nosuch
L
is "$shown" 9 "and all of them say something"
for option in --range --externs -v; do
	$pantrace probe -x names -V 'f*' $option >out 2>&1
	[ "$(grep -c "$esc" out)" = 0 ]
	ok "-V $option: no escape reaches the terminal"
done
$pantrace probe -k names -D 'f*' >out 2>&1
[ -s out ] && [ "$(grep -c "$esc" out)" = 0 ]
ok "-k -D: a symbol of a kernel's file"

# ---- SDT notes ----
cat >sdt.s <<'S'
	.text
	.globl main
main:	nop
	nop
	ret
	.macro note provider, name, args, address
	.4byte 991f-990f, 993f-992f, 3
990:	.asciz "stapsdt"
991:	.balign 4
992:	.8byte \address, 0, 0
	.asciz "\provider"
	.asciz "\name"
	.asciz "\args"
993:	.balign 4
	.endm
	.section .note.stapsdt,"","note"
	.balign 4
	note "../../etc", "pa/ss\033[31m", "8@%rdi", main
	note "a b\np:x/y", "ev;il#", "8@%rdi -4@$5 8@(%rsi) 8@8(%rax,%rbx,8)", main+1
	note "ok", "outside", "8@%rdi", 0xdeadbeef000
	.section .note.GNU-stack,"","progbits"
S
gcc -o sdt sdt.s -Wl,--build-id
run cache add sdt
like "$out" "with 2 USDT events" "notes with paths, blanks and lines in their names"
$pantrace probe --cache -l | tail -n +2 | grep -v '^sdt_[a-zA-Z0-9_]*:[a-zA-Z0-9_]*=[a-zA-Z0-9_]*$' >out
is "$(cat out)" "" "have plain names in the cache"
is "$($pantrace probe -x sdt -D '%*:*' | sed 's/ .*//' | sort | tr '\n' ' ')" "p:sdt______etc/pa_ss__31m p:sdt_a_b_p_x_y/ev_il_ " "each in the group of its own provider"
run cache verify
is "$rc" 0 "and the cache is right"
run probe -x sdt -D '%ok:outside'
is "$rc$out" 1 "a note of an address that the program does not have"

# ---- what the kernel would cut or split ----
mkdir 'a#b' 'a b'
for folder in 'a#b' 'a b'; do
	cp demo "$folder/demo"
	run probe -x "$folder/demo" -D main
	is "$rc$out" 1 "a path as $folder"
	like "$err" "does not take a path with blanks or '#'" "and why"
done

# ---- the cache ----
run cache add demo
files=own/.debug$work/demo/$id
for kind in fifo link device directory; do
	for name in probes elf; do
		rm -rf "${files:?}/$name"
		case $kind in
		fifo) mkfifo "$files/$name" ;;
		link) ln -s /etc/passwd "$files/$name" ;;
		directory) mkdir "$files/$name" ;;
		device) mknod "$files/$name" c 1 5 2>/dev/null || mkfifo "$files/$name" ;;
		esac
		run cache verify
		is "$rc" 1 "$name is a $kind: verify"
		like "$out" "cannot be read: it is (no regular file|a link)" "$name is a $kind: what is wrong"
		run cache list
		like "$out" "$id" "$name is a $kind: list ends"
		rm -rf "${files:?}/$name"
		cp demo "$files/elf"
	done
done
# lines that perf or others may have left
{
	printf '#probe_demo:good=main\np:probe_demo/good %s:0x1129\n' "$work/demo"
	printf '#probe_demo:empty=fevil\n'
} >"$files/probes"
run probe --cache -l
is "$(printf '%s\n' "$out" | grep -A2 "^$work/demo ($id):$" | tail -n 2 | tr '\n' ' ')" "probe_demo:good=main probe_demo:empty=fevil " \
	"a definition without places is listed"
objcopy --strip-all demo bare
run probe -x bare --cache -D 'good=main'
like "$out" "^p:probe_demo/good $work/bare:0x1129$" "one with a place is used"
for line in 'p:x/y /bin/sh:0x10 a=1' '%' '#' 'p:' '-:probe_demo/good' "$(printf 'x\033[31m')" "#$(head -c 9000 /dev/zero | tr '\0' a)"; do
	printf '#probe_demo:good=main\np:probe_demo/good %s:0x1129\n%s\n' "$work/demo" "$line" >"$files/probes"
	run probe -x bare --cache -D 'good=main'
	case $rc in 0 | 1) ;; *) false ;; esac
	ok "a file of definitions with '$(printf %.12s "$line" | tr -d '\033')': a result or an error"
	run cache verify
	case $rc in 0 | 1) ;; *) false ;; esac
	ok "and verify"
	unlike "$out$err" "$esc" "without escapes"
done
printf '#probe_demo:good=main\nr:probe_demo/good %s:0x1129\n' "$work/demo" >"$files/probes"
run probe -x bare --cache -D 'good=main'
is "$rc$out" 1 "a return is not taken for an entry"
rm "$files/probes"
for i in 1 2 3 4 5 6 7 8; do
	(for k in 1 2 3; do "$pantrace" probe -x demo --cache -n -q -a "w${i}_$k=main"; done) &
done
wait
is "$(grep -c '^#' "$files/probes")" 24 "eight writers: nothing is lost"
for i in 1 2 3 4; do
	("$pantrace" cache add demo "$work/sdt" && "$pantrace" cache remove demo) >/dev/null 2>&1 &
done
wait
run cache verify
is "$rc$out" 0 "adding and removing at once leaves a cache that is right"
is "$(find own/.debug -name '*.new')" "" "and no half of a file"

if [ "$(id -u)" = 0 ]; then
	# ---- a program names what only root may read as its source ----
	echo 'a line that is secret' >secret
	chmod 600 secret
	printf '#line 1 "%s/secret"\nint main(void) { volatile unsigned long n = 0; while (n < 300000000) n++; return 0; }\n' "$work" >named.c
	gcc -g -O0 -o named named.c
	"$pantrace" record -q -F 999 -o named.data -- ./named
	shows() { # WORDS...: of the secret, of why
		run "$@"
		echo "$(printf '%s\n' "$out$err" | grep -c 'line that is secret')$(printf '%s\n' "$err" | grep -c 'not everybody may read it')"
	}
	is "$(shows probe -x named -L main) $(shows probe -x named -n 'main;*secret*') $(shows report --annotate=main named.data)" "01 01 01" \
		"a file that only root may read is shown for no program"
	chmod 644 secret
	is "$(shows probe -x named -L main) $(shows report --annotate=main named.data | cut -c2)" "10 0" "one that all may read is"

	# ---- whose home it is ----
	mkdir theirs
	chown 4343 theirs
	export HOME="$work/theirs"
	run cache add demo
	is "$rc" 1 "root with another user's HOME: no cache is made"
	like "$err" "home directory is another user's" "and why"
	is "$(ls -A theirs)" "" "nothing is left there"
	run probe -x demo --cache -n -q main
	is "$rc$(ls -A theirs)" 1 "nor by probe --cache"
	mkdir rootly
	ln -s "$work/rootly" theirs/.debug
	chown -h 4343 theirs/.debug
	run cache add demo
	is "$rc$(ls -A rootly)" 1 "a link that another user has laid is not followed"
	rm theirs/.debug
	ln -s "$work/rootly" theirs/.debug
	run cache add demo
	is "$rc" 0 "a link of our own is"
	rm theirs/.debug
	setpriv --reuid 4343 --clear-groups ./tool cache add demo >out 2>&1
	is "$?" 0 "that user's own cache"
	run cache list
	is "$rc" 1 "is not root's"
	[ "$(stat -c %u theirs/.debug)" = 4343 ]
	ok "and stays that user's"
	for home in '' relative; do
		HOME=$home run cache list
		is "$rc" 1 "HOME='$home'"
		like "$err" "HOME is not set" "HOME='$home': what is missing"
	done
else
	skip "another user's home" "needs root"
fi
done_testing
